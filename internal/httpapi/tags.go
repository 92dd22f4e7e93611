package httpapi

import (
	"errors"
	"net/http"
	"strings"

	"github.com/howdah/howdah/internal/fault"
	"github.com/howdah/howdah/internal/statement"
	"github.com/howdah/howdah/internal/verb"
)

// tagInvalidated is the answer to a write whose tag is being invalidated.
var tagInvalidated = kind{"tag-invalidated", http.StatusConflict, "A tag of the entry is being invalidated"}

// tagsOf returns the tags of a write: the header Cache-Tag, separated by commas.
func tagsOf(r *http.Request) ([]string, error) {
	field := fieldOf(r, "Cache-Tag")
	if field == "" {
		return nil, nil
	}
	var tags []string
	for tag := range strings.SplitSeq(field, ",") {
		if tag = strings.TrimSpace(tag); tag != "" {
			tags = append(tags, tag)
		}
	}
	return tags, verb.CheckTags(tags)
}

// putTagged stores a value with tags, and does not learn whether the key existed.
func (t target) putTagged(w http.ResponseWriter, r *http.Request, value []byte, expiry verb.Expiry, tags []string) error {
	call := &verb.Call{Verb: statement.Set, Value: value, Expiry: expiry, Tags: tags}
	err := t.do(r.Context(), call)
	if errors.Is(err, fault.ErrNotStored) {
		return problemf(tagInvalidated, "A transaction that is not over yet invalidates a tag of the entry, so that the value may be outdated; nothing was stored. Make it anew, and try again.")
	}
	if err != nil {
		return err
	}
	setVersion(w.Header(), call.Result.Version)
	w.WriteHeader(http.StatusNoContent)
	return nil
}

// invalidateTag removes the entries with a tag.
func (a *api) invalidateTag(w http.ResponseWriter, r *http.Request) error {
	if _, err := query(r); err != nil {
		return err
	}
	if err := unconditional(r); err != nil {
		return err
	}
	deleted, err := a.cache(r).InvalidateTags(r.Context(), []string{r.PathValue("tag")})
	if err != nil {
		return err
	}
	return writeJSON(w, http.StatusOK, map[string]int64{"deleted": deleted})
}
