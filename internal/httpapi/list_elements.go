package httpapi

import (
	"net/http"
)

// getList answers the elements of a list, from start to stop.
func (a *api) getList(w http.ResponseWriter, r *http.Request) error {
	c, err := a.collection(r, r.PathValue("key"), "start", "stop", "encoding")
	if err != nil {
		return err
	}
	start, err := c.integer("start", 0)
	if err != nil {
		return err
	}
	stop, err := c.integer("stop", -1)
	if err != nil {
		return err
	}
	found, err := c.cache.LRange(r.Context(), c.key, start, stop)
	if err != nil {
		return err
	}
	list := make([]string, len(found))
	for i, element := range found {
		list[i] = string(element)
	}
	written, encoding, err := c.encodeAll(list)
	if err != nil {
		return err
	}
	return c.write(w, r, struct {
		Elements []string `json:"elements"`
		Encoding string   `json:"encoding,omitempty"`
	}{written, encoding})
}

// patchList adds elements at the end of a list, or with left at its beginning.
func (a *api) patchList(w http.ResponseWriter, r *http.Request) error {
	c, err := a.collection(r, r.PathValue("key"))
	if err != nil {
		return err
	}
	var body struct {
		Push     []string `json:"push"`
		Left     bool     `json:"left"`
		Encoding string   `json:"encoding"`
		TTL      jsonTTL  `json:"ttl"`
	}
	if err := readJSON(w, r, a.maxManyBytes, &body); err != nil {
		return err
	}
	if err := checkEncoding(body.Encoding); err != nil {
		return err
	}
	elements := make([][]byte, len(body.Push))
	for i, text := range body.Push {
		if elements[i], err = decode(text, body.Encoding); err != nil {
			return err
		}
	}
	push := c.cache.RPush
	if body.Left {
		push = c.cache.LPush
	}
	length, err := push(r.Context(), c.key, elements, body.TTL.duration)
	if err != nil {
		return err
	}
	return writeJSON(w, http.StatusOK, map[string]int{"length": length})
}

// popList serves POST .../lists/{key}/pop: it removes the last element, or with left
// the first, and answers it.
func (a *api) popList(w http.ResponseWriter, r *http.Request) error {
	encoded, err := collectionAction(r, "pop")
	if err != nil {
		return err
	}
	c, err := a.collection(r, encoded, "left", "encoding")
	if err != nil {
		return err
	}
	left, err := c.flag("left")
	if err != nil {
		return err
	}
	if err := checkEncoding(c.values.Get("encoding")); err != nil { // before the element is gone
		return err
	}
	pop := c.cache.RPop
	if left {
		pop = c.cache.LPop
	}
	element, err := pop(r.Context(), c.key)
	if err != nil {
		return err
	}
	written, encoding, err := c.encodeAll([]string{string(element)})
	if err != nil {
		return err
	}
	return writeJSON(w, http.StatusOK, struct {
		Element  string `json:"element"`
		Encoding string `json:"encoding,omitempty"`
	}{written[0], encoding})
}
