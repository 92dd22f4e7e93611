package httpapi

import (
	"encoding/base64"
	"net/http"
	"unicode/utf8"

	"github.com/howdah/howdah/internal/statement"
	"github.com/howdah/howdah/internal/verb"
)

// The encodings of keys and values in JSON.
const (
	asText   = "text"
	asBase64 = "base64"
)

// jsonEntry is an entry in JSON. Encoding says how its key and value are
// written: "text", which may be left out, or "base64". Fields that a route
// does not use are left out.
type jsonEntry struct {
	Key      string  `json:"key"`
	Value    *string `json:"value,omitempty"`
	Encoding string  `json:"encoding,omitempty"`
	Found    *bool   `json:"found,omitempty"`
	Bytes    *int    `json:"bytes,omitempty"`
	Version  int64   `json:"version,omitempty"`
	TTL      string  `json:"ttl,omitempty"`
}

// encode writes the key, and the value if there is one, as text if both are
// text and base64 was not asked for.
func (e *jsonEntry) encode(key, value []byte, withValue bool, encoding string) {
	e.Encoding = ""
	write := func(b []byte) string { return string(b) }
	if encoding == asBase64 || !utf8.Valid(key) || !utf8.Valid(value) {
		e.Encoding = asBase64
		write = base64.StdEncoding.EncodeToString
	}
	e.Key = write(key)
	if withValue {
		text := write(value)
		e.Value = &text
	}
}

func checkEncoding(encoding string) error {
	switch encoding {
	case "", asText, asBase64:
		return nil
	}
	return problemf(badRequest, `The encoding %.50q is not known; use "text" or "base64".`, encoding)
}

func decode(text, encoding string) ([]byte, error) {
	if encoding != asBase64 {
		return []byte(text), nil
	}
	b, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		return nil, problemf(badRequest, "%.50q is not base64 (RFC 4648, section 4).", text)
	}
	return b, nil
}

// keysRequest is the body of get-many and delete-many.
type keysRequest struct {
	Keys     []string `json:"keys"`
	Encoding string   `json:"encoding"`
}

func (a *api) readKeys(w http.ResponseWriter, r *http.Request) (keys [][]byte, encoding string, err error) {
	if _, err := query(r); err != nil {
		return nil, "", err
	}
	if err := unconditional(r); err != nil {
		return nil, "", err
	}
	var request keysRequest
	if err := readJSON(w, r, a.maxManyBytes, &request); err != nil {
		return nil, "", err
	}
	if err := checkEncoding(request.Encoding); err != nil {
		return nil, "", err
	}
	if request.Keys == nil {
		return nil, "", problemf(badRequest, `Name the keys: {"keys":["a","b"]}.`)
	}
	if err := checkCount(len(request.Keys)); err != nil {
		return nil, "", err
	}
	keys = make([][]byte, len(request.Keys))
	for i, text := range request.Keys {
		if keys[i], err = decode(text, request.Encoding); err != nil {
			return nil, "", err
		}
	}
	return keys, request.Encoding, nil
}

func checkCount(n int) error {
	if n > maxManyKeys {
		return problemf(tooLarge, "The request names %d keys; name at most %d at a time.", n, maxManyKeys)
	}
	return nil
}

// getMany answers entries in the order of the keys, misses included. The
// values are measured before they are read, because keys that are few and
// short may name more than fits in memory.
func (a *api) getMany(w http.ResponseWriter, r *http.Request) error {
	keys, encoding, err := a.readKeys(w, r)
	if err != nil {
		return err
	}
	cache := a.cache(r)
	stat := &verb.Call{Verb: statement.StatMany, Keys: keys}
	if err := cache.Do(r.Context(), stat); err != nil {
		return err
	}
	total := int64(0)
	for _, entry := range stat.Entries {
		if entry.Kind == 0 { // others are not answered
			total += int64(entry.Length)
		}
	}
	if total > a.maxManyBytes {
		return problemf(tooLarge, "The values have %d bytes together, and at most %d are answered at once. Name fewer keys.", total, a.maxManyBytes)
	}
	get := &verb.Call{Verb: statement.GetMany, Keys: keys}
	if err := cache.Do(r.Context(), get); err != nil {
		return err
	}
	entries := make([]jsonEntry, len(get.Entries))
	for i, entry := range get.Entries {
		entries[i].Found = &entry.Found
		entries[i].encode(keys[i], entry.Value, entry.Found, encoding)
	}
	return writeJSON(w, http.StatusOK, map[string]any{"entries": entries})
}

// setManyRequest is the body of set-many. Encoding holds for entries that name
// none of their own.
type setManyRequest struct {
	Entries []struct {
		Key      *string `json:"key"`
		Value    *string `json:"value"`
		Encoding string  `json:"encoding"`
	} `json:"entries"`
	Encoding string  `json:"encoding"`
	TTL      jsonTTL `json:"ttl"`
}

// setMany stores all entries or none, with one TTL.
func (a *api) setMany(w http.ResponseWriter, r *http.Request) error {
	if _, err := query(r); err != nil {
		return err
	}
	if err := unconditional(r); err != nil {
		return err
	}
	var request setManyRequest
	if err := readJSON(w, r, a.maxManyBytes, &request); err != nil {
		return err
	}
	if request.Entries == nil {
		return problemf(badRequest, `Name the entries: {"entries":[{"key":"a","value":"1"}],"ttl":"10m"}.`)
	}
	if err := checkCount(len(request.Entries)); err != nil {
		return err
	}
	if err := checkEncoding(request.Encoding); err != nil {
		return err
	}
	call := &verb.Call{
		Verb:   statement.SetMany,
		Keys:   make([][]byte, len(request.Entries)),
		Values: make([][]byte, len(request.Entries)),
		Expiry: verb.ExpireIn(request.TTL.duration),
	}
	for i, entry := range request.Entries {
		if entry.Key == nil || entry.Value == nil {
			return problemf(badRequest, "Entry %d lacks its key or its value.", i)
		}
		if err := checkEncoding(entry.Encoding); err != nil {
			return err
		}
		encoding := entry.Encoding
		if encoding == "" {
			encoding = request.Encoding
		}
		var err error
		if call.Keys[i], err = decode(*entry.Key, encoding); err != nil {
			return err
		}
		if call.Values[i], err = decode(*entry.Value, encoding); err != nil {
			return err
		}
		if int64(len(call.Values[i])) > a.maxValueBytes {
			return problemf(tooLarge, "The value of entry %d has %d bytes, and at most %d are taken. Store less, or raise the server's limit.", i, len(call.Values[i]), a.maxValueBytes)
		}
	}
	if err := a.cache(r).Do(r.Context(), call); err != nil {
		return err
	}
	if err := call.Status.Err(); err != nil {
		return err
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

// deleteMany removes keys, all or none, and answers how many there were.
func (a *api) deleteMany(w http.ResponseWriter, r *http.Request) error {
	keys, _, err := a.readKeys(w, r)
	if err != nil {
		return err
	}
	call := &verb.Call{Verb: statement.DeleteMany, Keys: keys}
	if err := a.cache(r).Do(r.Context(), call); err != nil {
		return err
	}
	return writeJSON(w, http.StatusOK, map[string]int64{"deleted": call.Count})
}
