package httpapi

import (
	"net/http"

	"github.com/howdah/howdah/internal/core"
)

// getHash answers the fields of a hash, or those that the parameters "field" name.
func (a *api) getHash(w http.ResponseWriter, r *http.Request) error {
	c, err := a.collection(r, r.PathValue("key"), "field", "encoding")
	if err != nil {
		return err
	}
	var fields map[string][]byte
	if c.values.Has("field") {
		fields, err = c.cache.HGetMany(r.Context(), c.key, c.values["field"])
	} else {
		fields, err = c.cache.HGetAll(r.Context(), c.key)
	}
	if err != nil {
		return err
	}
	encoding, err := c.encoding(func(yield func(string) bool) {
		for field, value := range fields {
			if !yield(field) || !yield(string(value)) {
				return
			}
		}
	})
	if err != nil {
		return err
	}
	answer := struct {
		Fields   map[string]string `json:"fields"`
		Encoding string            `json:"encoding,omitempty"`
	}{make(map[string]string, len(fields)), encoding}
	for field, value := range fields {
		answer.Fields[encode(field, encoding)] = encode(string(value), encoding)
	}
	return c.write(w, r, answer)
}

// patchHash removes and stores fields, all or none.
func (a *api) patchHash(w http.ResponseWriter, r *http.Request) error {
	c, err := a.collection(r, r.PathValue("key"))
	if err != nil {
		return err
	}
	var body struct {
		change
		Fields map[string]string `json:"fields"`
	}
	if err := readJSON(w, r, a.maxManyBytes, &body); err != nil {
		return err
	}
	if err := checkEncoding(body.Encoding); err != nil {
		return err
	}
	edit := core.HChange{Set: make(map[string][]byte, len(body.Fields)), TTL: body.ttl()}
	for field, value := range body.Fields {
		name, err := decode(field, body.Encoding)
		if err != nil {
			return err
		}
		if edit.Set[string(name)], err = decode(value, body.Encoding); err != nil {
			return err
		}
	}
	if edit.Remove, err = decodeAll(body.Remove, body.Encoding); err != nil {
		return err
	}
	n, err := c.cache.HEdit(r.Context(), c.key, edit)
	if err != nil {
		return err
	}
	return writeChanged(w, n)
}

// incrementField serves POST .../hashes/{key}/increment?field=.
func (a *api) incrementField(w http.ResponseWriter, r *http.Request) error {
	encoded, err := collectionAction(r, "increment")
	if err != nil {
		return err
	}
	c, err := a.collection(r, encoded, "field", "delta", "ttl")
	if err != nil {
		return err
	}
	if len(c.values["field"]) != 1 {
		return problemf(badRequest, "Name one field: ?field=.")
	}
	delta, err := c.integer("delta", 1)
	if err != nil {
		return err
	}
	ttl, err := ttlOf(r, c.values)
	if err != nil {
		return err
	}
	sum, err := c.cache.HIncrement(r.Context(), c.key, c.values.Get("field"), delta, ttl)
	if err != nil {
		return err
	}
	return writeJSON(w, http.StatusOK, map[string]int64{"value": sum})
}
