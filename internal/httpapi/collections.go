package httpapi

import (
	"encoding/base64"
	"net/http"
	"net/url"
	"strconv"
	"time"
	"unicode/utf8"

	"github.com/howdah/howdah/internal/core"
)

// collectionMethods are the methods of collections, by the segment of their path.
// DELETE removes a collection as a whole, as it does any entry.
func (a *api) collectionMethods() map[string]map[string]handler {
	return map[string]map[string]handler{
		"hashes": {
			http.MethodGet: a.getHash, http.MethodPatch: a.patchHash, http.MethodDelete: a.deleteEntry, http.MethodPost: a.incrementField,
		},
		"sets": {
			http.MethodGet: a.getSet, http.MethodPatch: a.patchSet, http.MethodDelete: a.deleteEntry,
		},
		"sorted-sets": {
			http.MethodGet: a.getSortedSet, http.MethodPatch: a.patchSortedSet, http.MethodDelete: a.deleteEntry, http.MethodPost: a.incrementScore,
		},
		"lists": {
			http.MethodGet: a.getList, http.MethodPatch: a.patchList, http.MethodDelete: a.deleteEntry, http.MethodPost: a.popList,
		},
	}
}

// collection is the collection that a request is for.
type collection struct {
	cache  *core.Cache
	key    []byte
	values url.Values
	seen   *core.Seen // by a GET
}

// collection reads the path, the query and the condition of a request on a collection.
// known are the parameters that the route takes besides the key.
func (a *api) collection(r *http.Request, encoded string, known ...string) (collection, error) {
	if err := without(r, "If-Lease"); err != nil {
		return collection{}, err
	}
	values, err := query(r, append(known, "key", "key64")...)
	if err != nil {
		return collection{}, err
	}
	key, err := entryKey(encoded, values)
	if err != nil {
		return collection{}, err
	}
	cache := a.cache(r)
	if wantsFresh(r) {
		cache = cache.Fresh()
	}
	if r.Method == http.MethodGet {
		seen := new(core.Seen)
		return collection{cache.Seeing(seen), key, values, seen}, nil
	}
	switch condition, err := writeCondition(r); {
	case err != nil:
		return collection{}, err
	case condition.given:
		cache = cache.Guarded(core.Guard{Absent: condition.absent, Present: condition.present, Versions: condition.versions})
	}
	return collection{cache, key, values, nil}, nil
}

// write answers a GET, or says that the client's copy is still good. A hash with fields
// that expire has no ETag: they go without another version.
func (c *collection) write(w http.ResponseWriter, r *http.Request, answer any) error {
	if c.seen.Version == 0 {
		if fieldOf(r, "If-Match") != "" {
			return problemf(preconditionFailed, "The key is absent or expired.")
		}
		return writeJSON(w, http.StatusOK, answer)
	}
	notModified, err := readCondition(r, c.seen.Version)
	if err != nil {
		return err
	}
	setVersion(w.Header(), c.seen.Version)
	switch {
	case !c.seen.Lasting:
		w.Header().Del("ETag")
	case notModified:
		w.WriteHeader(http.StatusNotModified)
		return nil
	}
	return writeJSON(w, http.StatusOK, answer)
}

// integer reads a parameter, and gives its default if it is left out.
func (c *collection) integer(name string, otherwise int64) (int64, error) {
	text := c.values.Get(name)
	if text == "" {
		return otherwise, nil
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return 0, problemf(badRequest, "%s=%.50q is not an integer of 64 bits.", name, text)
	}
	return n, nil
}

// flag reads a parameter that is true or false.
func (c *collection) flag(name string) (bool, error) {
	switch text := c.values.Get(name); text {
	case "", "false":
		return false, nil
	case "true":
		return true, nil
	default:
		return false, problemf(badRequest, "%s=%.50q is neither true nor false.", name, text)
	}
}

// encoding says how the strings of an answer are written: as text, if all of them are
// and nothing else was asked for.
func (c *collection) encoding(strings func(yield func(string) bool)) (string, error) {
	asked := c.values.Get("encoding")
	if err := checkEncoding(asked); err != nil || asked == asBase64 {
		return asked, err
	}
	for s := range strings {
		if !utf8.ValidString(s) {
			return asBase64, nil
		}
	}
	return "", nil
}

func encode(s, encoding string) string {
	if encoding == asBase64 {
		return base64.StdEncoding.EncodeToString([]byte(s))
	}
	return s
}

// encodeAll writes a list for JSON and says how.
func (c *collection) encodeAll(list []string) (written []string, encoding string, err error) {
	encoding, err = c.encoding(func(yield func(string) bool) {
		for _, s := range list {
			if !yield(s) {
				return
			}
		}
	})
	written = make([]string, len(list))
	for i, s := range list {
		written[i] = encode(s, encoding)
	}
	return written, encoding, err
}

// decodeAll reads a list of a request.
func decodeAll(list []string, encoding string) ([]string, error) {
	read := make([]string, len(list))
	for i, text := range list {
		b, err := decode(text, encoding)
		if err != nil {
			return nil, err
		}
		read[i] = string(b)
	}
	return read, nil
}

// change is what the bodies of all PATCH requests have.
type change struct {
	Remove   []string `json:"remove"`
	Encoding string   `json:"encoding"`
	TTL      jsonTTL  `json:"ttl"`
}

func (c *change) ttl() time.Duration { return c.TTL.duration }

// changed is the answer to a PATCH.
type changed struct {
	Added   int `json:"added"`
	Removed int `json:"removed"`
}

func writeChanged(w http.ResponseWriter, n core.Changed) error {
	return writeJSON(w, http.StatusOK, changed{n.Added, n.Removed})
}
