package httpapi

import (
	"net/http"
	"strconv"
	"strings"

	"github.com/howdah/howdah/internal/statement"
	"github.com/howdah/howdah/internal/verb"
)

// entryAction serves POST .../entries/{key}/{action}. The action is the last
// segment; what stands before it is the key, slashes included.
func (a *api) entryAction(w http.ResponseWriter, r *http.Request) error {
	path := r.PathValue("key")
	slash := strings.LastIndexByte(path, '/')
	encoded, action := path[:max(slash, 0)], path[slash+1:]
	if err := unconditional(r); err != nil {
		return err
	}
	named := r.URL.Query()
	switch {
	case action != "increment" && action != "touch" && action != "expire":
		return problemf(notFound, "POST to an entry ends in /increment, /touch or /expire. To store a value, use PUT.")
	case slash < 0 && !named.Has("key") && !named.Has("key64"): // forgotten: the empty key is named too
		return problemf(badRequest, "Name the key: /entries/{key}/%s, or ?key=. That of the empty one is /entries//%[1]s.", action)
	case action == "increment":
		return a.increment(w, r, encoded)
	case action == "touch":
		return a.changeTTL(w, r, encoded, statement.Touch)
	}
	return a.changeTTL(w, r, encoded, statement.Expire)
}

// increment adds to a counter: delta, by default 1. The TTL is that of a
// counter which begins now; one that exists keeps its own.
func (a *api) increment(w http.ResponseWriter, r *http.Request, encoded string) error {
	values, err := query(r, "delta", "ttl", "key", "key64")
	if err != nil {
		return err
	}
	key, err := entryKey(encoded, values)
	if err != nil {
		return err
	}
	ttl, err := ttlOf(r, values)
	if err != nil {
		return err
	}
	delta := int64(1)
	if text := values.Get("delta"); text != "" {
		if delta, err = strconv.ParseInt(text, 10, 64); err != nil {
			return problemf(badRequest, "delta=%.50q is not an integer of 64 bits.", text)
		}
	}
	call := &verb.Call{Verb: statement.Increment, Delta: delta, Expiry: verb.ExpireIn(ttl)}
	if err := (target{a.cache(r), key}).do(r.Context(), call); err != nil {
		return err
	}
	setVersion(w.Header(), call.Result.Version)
	return writeJSON(w, http.StatusOK, map[string]int64{"value": call.Int, "version": call.Result.Version})
}

// changeTTL sets a TTL (expire) or extends it (touch).
func (a *api) changeTTL(w http.ResponseWriter, r *http.Request, encoded string, verb *verb.Verb) error {
	values, err := query(r, "ttl", "key", "key64")
	if err != nil {
		return err
	}
	key, err := entryKey(encoded, values)
	if err != nil {
		return err
	}
	ttl, err := ttlOf(r, values)
	if err != nil {
		return err
	}
	if err := setTTL(r.Context(), target{a.cache(r), key}, verb, ttl); err != nil {
		return err
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

// collectionAction returns the still encoded key of POST .../{key}/{action}.
func collectionAction(r *http.Request, action string) (encoded string, err error) {
	path, named := r.PathValue("key"), r.URL.Query()
	slash := strings.LastIndexByte(path, '/')
	switch {
	case path[slash+1:] != action:
		return "", problemf(notFound, "POST here ends in /%s. To change elements, use PATCH.", action)
	case slash < 0 && !named.Has("key") && !named.Has("key64"):
		return "", problemf(badRequest, "Name the key: {key}/%s, or ?key=.", action)
	}
	return path[:max(slash, 0)], nil
}
