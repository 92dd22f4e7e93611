package httpapi

import (
	"encoding/base64"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/howdah/howdah/internal/core"
)

// maxPage is the longest page of listEntries.
const maxPage = 10_000

// listEntries answers one page of the cache's entries, without their values.
// The cursor of the next page is null after the last.
func (a *api) listEntries(w http.ResponseWriter, r *http.Request) error {
	values, err := query(r, "prefix", "prefix64", "cursor", "count")
	if err != nil {
		return err
	}
	opts := core.ScanOptions{Count: 100}
	if opts.Prefix, err = prefixOf(values); err != nil {
		return err
	}
	if text := values.Get("count"); text != "" {
		if opts.Count, err = strconv.Atoi(text); err != nil || opts.Count < 1 || opts.Count > maxPage {
			return problemf(badRequest, "count=%.50q is not a number from 1 to %d.", text, maxPage)
		}
	}
	cursor := uint64(0)
	if text := values.Get("cursor"); text != "" {
		if cursor, err = strconv.ParseUint(text, 10, 53); err != nil {
			return problemf(badRequest, "cursor=%.50q is not one that this server gave; begin without it.", text)
		}
	}
	page, next, err := a.cache(r).Scan(r.Context(), cursor, opts)
	if err != nil {
		return err
	}
	answer := struct {
		Entries []jsonEntry `json:"entries"`
		Cursor  *string     `json:"cursor"`
	}{Entries: make([]jsonEntry, len(page))}
	for i, entry := range page {
		answer.Entries[i] = jsonEntry{Bytes: &entry.Length, Version: entry.Version, TTL: ttlText(entry.TTL)}
		answer.Entries[i].encode(entry.Key, nil, false, asText)
	}
	if next != 0 {
		text := strconv.FormatUint(next, 10)
		answer.Cursor = &text
	}
	return writeJSON(w, http.StatusOK, answer)
}

// prefixOf is the prefix of keys that the query names.
func prefixOf(values url.Values) ([]byte, error) {
	if !values.Has("prefix64") {
		return []byte(values.Get("prefix")), nil
	}
	if values.Has("prefix") {
		return nil, problemf(badRequest, "Give prefix or prefix64, not both.")
	}
	prefix, err := base64.RawURLEncoding.DecodeString(strings.TrimRight(values.Get("prefix64"), "="))
	if err != nil {
		return nil, problemf(badRequest, "prefix64 is not base64url (RFC 4648, section 5).")
	}
	return prefix, nil
}

// flush empties the cache.
func (a *api) flush(w http.ResponseWriter, r *http.Request) error {
	if _, err := query(r); err != nil {
		return err
	}
	if err := unconditional(r); err != nil {
		return err
	}
	if err := a.cache(r).Flush(r.Context()); err != nil {
		return err
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}
