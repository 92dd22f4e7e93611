package httpapi

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"time"

	"github.com/howdah/howdah/internal/core"
	"github.com/howdah/howdah/internal/fault"
	"github.com/howdah/howdah/internal/statement"
	"github.com/howdah/howdah/internal/verb"
)

// target is the entry that a request is for.
type target struct {
	cache *core.Cache
	key   []byte
}

// do runs one call on the entry. What is not OK becomes an error.
func (t target) do(ctx context.Context, call *verb.Call) error {
	call.Key = t.key
	if err := t.cache.Do(ctx, call); err != nil {
		return err
	}
	return call.Status.Err()
}

// getEntry serves GET and HEAD. HEAD does not read the value.
func (a *api) getEntry(w http.ResponseWriter, r *http.Request) error {
	values, err := query(r, "key", "key64")
	if err != nil {
		return err
	}
	key, err := entryKey(r.PathValue("key"), values)
	if err != nil {
		return err
	}
	lease, err := wantsLease(r)
	if err != nil {
		return err
	}
	t := target{a.cache(r), key}
	if lease > 0 && r.Method == http.MethodGet {
		return a.claimEntry(w, r, t, lease)
	}
	return a.serveEntry(w, r, t)
}

func (a *api) serveEntry(w http.ResponseWriter, r *http.Request, t target) error {
	call := &verb.Call{Verb: statement.GetEntry, Recall: true, Fresh: wantsFresh(r)}
	if r.Method == http.MethodHead {
		call.Verb = statement.Stat
	}
	err := t.do(r.Context(), call)
	if err == nil && call.Result.Kind != 0 {
		err = fault.ErrWrongType // a Stat takes every kind
	}
	if err == nil || errors.Is(err, fault.ErrMiss) { // else a call that was left may still be written to
		a.setCacheStatus(w, r, call)
	}
	if err != nil {
		if errors.Is(err, fault.ErrMiss) && fieldOf(r, "If-Match") != "" {
			return problemf(preconditionFailed, "The key is absent or expired.")
		}
		return err
	}
	w.Header().Set("Howdah-TTL", ttlSeconds(call.Result.TTL))
	return writeEntry(w, r, &call.Result)
}

// writeEntry answers with an entry, or that the client's copy is still good.
func writeEntry(w http.ResponseWriter, r *http.Request, entry *verb.Entry) error {
	notModified, err := readCondition(r, entry.Version)
	if err != nil {
		return err
	}
	header := w.Header()
	setVersion(header, entry.Version)
	if notModified {
		w.WriteHeader(http.StatusNotModified)
		return nil
	}
	// Never a type that a browser would run.
	header.Set("Content-Type", "application/octet-stream")
	header.Set("Content-Length", strconv.Itoa(entry.Length))
	_, _ = w.Write(entry.Value) // HEAD: nothing
	return nil
}

func setVersion(header http.Header, version int64) {
	header.Set("ETag", etag(version))
	header.Set("Howdah-Version", strconv.FormatInt(version, 10))
}

// putEntry stores a value: 201 if the key was absent, 204 if it was not.
func (a *api) putEntry(w http.ResponseWriter, r *http.Request) error {
	token, leased, err := leaseOf(r)
	if err != nil {
		return err
	}
	known := []string{"key", "key64", "ttl"}
	if leased {
		known = append(known, "stale", "absent")
	}
	values, err := query(r, known...)
	if err != nil {
		return err
	}
	key, err := entryKey(r.PathValue("key"), values)
	if err != nil {
		return err
	}
	ttl, err := ttlOf(r, values)
	if err != nil {
		return err
	}
	load, err := readLoaded(token, ttl, values.Get("stale"), values.Get("absent"))
	if err != nil {
		return err
	}
	condition, err := writeCondition(r)
	if err != nil {
		return err
	}
	tags, err := tagsOf(r)
	if err != nil {
		return err
	}
	if tags != nil && condition.given {
		return problemf(badRequest, "A write with Cache-Tag takes no condition.")
	}
	if r.Header.Get("Content-Range") != "" {
		return problemf(badRequest, "Content-Range is not taken: a value is stored as a whole.")
	}
	value, err := readBody(w, r, a.maxValueBytes)
	if err != nil {
		return err
	}
	t := target{a.cache(r), key}
	if leased {
		load.tags = tags
		return storeLoaded(w, r, t, value, load)
	}
	if tags != nil {
		return t.putTagged(w, r, value, verb.ExpireIn(ttl), tags)
	}
	version, created, err := put(r.Context(), t, value, verb.ExpireIn(ttl), condition)
	if err != nil {
		return err
	}
	setVersion(w.Header(), version)
	if created {
		w.WriteHeader(http.StatusCreated)
	} else {
		w.WriteHeader(http.StatusNoContent)
	}
	return nil
}

// put stores under a condition. Without one it replaces, and adds if there is
// nothing to replace: two statements at most, each of which is atomic and
// shares a batch with others, and the answer knows which of them it was.
func put(ctx context.Context, t target, value []byte, expiry verb.Expiry, c condition) (version int64, created bool, err error) {
	set := func(when verb.Condition, version int64) (int64, error) {
		call := &verb.Call{Verb: statement.Set, Value: value, Expiry: expiry, Condition: when, IfVersion: version}
		if err := t.do(ctx, call); err != nil {
			return 0, err // a call that was left may still be written to
		}
		return call.Result.Version, nil
	}
	switch {
	case c.absent:
		version, err = set(verb.IfAbsent, 0)
		return version, true, err
	case c.present:
		version, err = set(verb.IfPresent, 0)
		return version, false, err
	case c.given:
		err = fault.ErrNotStored
		for _, expected := range c.versions {
			version, err = set(verb.IfVersion, expected)
			if !errors.Is(err, fault.ErrNotStored) {
				break
			}
		}
		return version, false, err
	}
	// Only writers and deleters that alternate on the key keep this going.
	for ctx.Err() == nil {
		version, err = set(verb.IfPresent, 0)
		if !errors.Is(err, fault.ErrNotStored) {
			return version, false, err
		}
		version, err = set(verb.IfAbsent, 0)
		if !errors.Is(err, fault.ErrNotStored) {
			return version, true, err
		}
	}
	return 0, false, ctx.Err()
}

// deleteEntry removes an entry: 204, or 404 if it was absent.
func (a *api) deleteEntry(w http.ResponseWriter, r *http.Request) error {
	values, err := query(r, "key", "key64")
	if err != nil {
		return err
	}
	key, err := entryKey(r.PathValue("key"), values)
	if err != nil {
		return err
	}
	condition, err := writeCondition(r)
	if err != nil {
		return err
	}
	t := target{a.cache(r), key}
	token, leased, err := leaseOf(r)
	switch {
	case err != nil:
	case leased:
		return releaseLease(w, r, t, token)
	case condition.absent:
		return problemf(badRequest, "DELETE takes no If-None-Match.")
	case condition.given && !condition.present:
		err = deleteVersion(r.Context(), t, condition.versions)
	default:
		err = t.do(r.Context(), &verb.Call{Verb: statement.Delete})
		if condition.present && errors.Is(err, fault.ErrMiss) {
			err = fault.ErrNotStored
		}
	}
	if err != nil {
		return err
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

// deleteVersion removes an entry that has one of the versions.
func deleteVersion(ctx context.Context, t target, versions []int64) error {
	for _, version := range versions {
		err := t.do(ctx, &verb.Call{Verb: statement.CompareDelete, Condition: verb.IfVersion, IfVersion: version})
		if !errors.Is(err, fault.ErrNotStored) {
			return err
		}
	}
	return fault.ErrNotStored
}

// setTTL is what POST .../touch and .../expire do.
func setTTL(ctx context.Context, t target, v *verb.Verb, ttl time.Duration) error {
	err := t.do(ctx, &verb.Call{Verb: v, Expiry: verb.ExpireIn(ttl)})
	if errors.Is(err, fault.ErrNotStored) {
		// There was no TTL to take away: the entry has none, or is absent.
		err = t.do(ctx, &verb.Call{Verb: statement.Stat})
	}
	return err
}
