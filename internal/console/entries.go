package console

import (
	"bytes"
	"context"
	"encoding/base64"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/howdah/howdah/internal/core"
	"github.com/howdah/howdah/internal/values"
	"github.com/howdah/howdah/internal/verb"
)

// Bounds of a page of entries.
const (
	entriesShown  = 100    // a page ends when it has as many
	entriesLooked = 10_000 // and when it has looked at so many
	scanPage      = 500
)

// shownKey is a key as the visitor may see it.
type shownKey struct {
	Text   string
	Link   string // the key in base64url; "" where the key is masked
	Masked bool
}

// shown returns a key for the visitor.
func (r *request) shown(key []byte) shownKey {
	if r.visitor.rights.has(manage) {
		return shownKey{Text: visible(string(key)), Link: key64(key)}
	}
	text, masked := r.console.mask.Key(key)
	k := shownKey{Text: visible(text), Masked: masked}
	if !masked {
		k.Link = key64(key)
	}
	return k
}

// entryRow is one entry in a list.
type entryRow struct {
	Key     shownKey
	Kind    string
	Bytes   int64
	Version int64
	TTL     string
}

// entriesView is the page of entries.
type entriesView struct {
	Cache       string
	Prefix      string // as it was asked for
	PrefixBytes []byte
	Rows        []entryRow
	LookedAt    int64 // entries, at most
	About       int64 // entries of the cache, by estimate
	Next        string
	First       bool
	TimedOut    bool
}

func ttlText(ttl time.Duration) string {
	if ttl == verb.NoExpiry {
		return "no expiry"
	}
	return duration(ttl)
}

// entries lists a page of the entries whose keys begin with a prefix. It looks at a bounded
// number of entries, and says how many.
func (c *Console) entries(r *request) error {
	q := r.URL.Query()
	view := entriesView{Cache: r.PathValue("cache"), Prefix: q.Get("prefix")}
	prefix := []byte(view.Prefix)
	if text := q.Get("prefix64"); text != "" {
		decoded, err := base64.RawURLEncoding.DecodeString(text)
		if err != nil {
			return badRequest("The prefix in the address is not base64url.")
		}
		prefix, view.Prefix = decoded, string(decoded)
	}
	cursor := uint64(0)
	if text := q.Get("cursor"); text != "" {
		var err error
		if cursor, err = strconv.ParseUint(text, 10, 53); err != nil {
			return badRequest("The position in the address is not one that this console gave. Begin without it.")
		}
	}
	view.First, view.PrefixBytes = cursor == 0, prefix
	ctx, cancel := r.bounded()
	defer cancel()
	cache := c.db.Cache(view.Cache)
	about, err := cache.Estimate(ctx)
	if err != nil {
		return err
	}
	view.About = about
	found, next, err := c.look(ctx, cache, cursor, prefix, &view)
	if err != nil {
		return err
	}
	if next != 0 {
		view.Next = strconv.FormatUint(next, 10)
	}
	for i := range found {
		e := &found[i]
		view.Rows = append(view.Rows, entryRow{
			Key: r.shown(e.Key), Kind: values.Kind(e.Kind).String(), Bytes: int64(e.Length), Version: e.Version, TTL: ttlText(e.TTL),
		})
	}
	return r.show(http.StatusOK, "entries.html", frame{Title: view.Cache + ": entries", Section: "caches", Page: view})
}

// look reads pages until it has enough entries, has looked at enough, or its time is over.
func (c *Console) look(ctx context.Context, cache *core.Cache, cursor uint64, prefix []byte, view *entriesView) (found []verb.Entry, next uint64, err error) {
	release, err := c.lookup(ctx)
	if err != nil {
		return nil, 0, err
	}
	defer release()
	count := scanPage
	if len(prefix) == 0 {
		count = entriesShown
	}
	for {
		page, after, err := cache.Scan(ctx, cursor, core.ScanOptions{Count: count, Prefix: prefix})
		if err != nil {
			if view.LookedAt > 0 && ctx.Err() != nil { // what was found is worth showing
				view.TimedOut = true
				break
			}
			return nil, 0, err
		}
		found = append(found, page...)
		cursor = after
		view.LookedAt += int64(count)
		if cursor == 0 || len(found) >= entriesShown || view.LookedAt >= entriesLooked {
			break
		}
	}
	slices.SortFunc(found, func(a, b verb.Entry) int { return bytes.Compare(a.Key, b.Key) })
	return found, cursor, nil
}

func badRequest(detail string) error {
	return &refusal{http.StatusBadRequest, "The request cannot be understood", detail}
}
