package httpapi

import (
	"net/http"
	"net/url"

	"github.com/howdah/howdah/internal/statement"
	"github.com/howdah/howdah/internal/verb"
)

// simpleGet serves GET /get?key=: the raw value.
func (a *api) simpleGet(w http.ResponseWriter, r *http.Request) error {
	values, err := query(r, "key", "key64", "cache")
	if err != nil {
		return err
	}
	t, err := a.simpleTarget(r, values)
	if err != nil {
		return err
	}
	return a.serveEntry(w, r, t)
}

// simpleSet serves POST /set?key=&ttl=: the raw body becomes the value. It
// answers nothing that it would have to ask the database for, so it is the
// fastest way to write.
func (a *api) simpleSet(w http.ResponseWriter, r *http.Request) error {
	values, err := query(r, "key", "key64", "ttl", "cache")
	if err != nil {
		return err
	}
	t, err := a.simpleTarget(r, values)
	if err != nil {
		return err
	}
	ttl, err := ttlOf(r, values)
	if err != nil {
		return err
	}
	if err := unconditional(r); err != nil {
		return err
	}
	tags, err := tagsOf(r)
	if err != nil {
		return err
	}
	value, err := readBody(w, r, a.maxValueBytes)
	if err != nil {
		return err
	}
	if tags != nil {
		return t.putTagged(w, r, value, verb.ExpireIn(ttl), tags)
	}
	call := &verb.Call{Verb: statement.Set, Value: value, Expiry: verb.ExpireIn(ttl)}
	if err := t.do(r.Context(), call); err != nil {
		return err
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

func (a *api) simpleTarget(r *http.Request, values url.Values) (target, error) {
	key, given, err := queryKey(values)
	if err != nil {
		return target{}, err
	}
	if !given {
		return target{}, problemf(badRequest, "Name the key: ?key=...; an empty one, ?key=, is a key too.")
	}
	name := values.Get("cache")
	if name == "" {
		name = defaultCache
	}
	return target{a.cacheNamed(r, name), key}, nil
}
