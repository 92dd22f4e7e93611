package console

import (
	"cmp"
	"context"
	"encoding/base64"
	"errors"
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
	Link   string // the key in base64url, where it is Named
	Named  bool   // Link names the key: it is neither masked nor cut
	Masked bool
}

// seesKeys says whether the visitor sees keys as they are, those that hold secrets too.
func (r *request) seesKeys() bool { return r.visitor.rights.has(manage) }

// lookable refuses the part of keys that a visitor asks for if it reaches into what is masked
// for the visitor: the answers to one guess after the other would tell the secret.
func (r *request) lookable(prefix []byte) error {
	if !r.seesKeys() && r.console.mask.Reaches(prefix, len(prefix)) {
		return &refusal{http.StatusForbidden, "The keys are masked",
			"Keys like these can be secrets, and your token shows their beginnings only: ask for less of the key, or log in with the server's token."}
	}
	return nil
}

// shown returns a key for the visitor.
func (r *request) shown(key []byte) shownKey {
	if r.seesKeys() {
		return shownKey{Text: visible(string(key)), Link: key64(key), Named: true}
	}
	text, masked := r.console.mask.Key(key)
	k := shownKey{Text: visible(text), Masked: masked}
	if !masked {
		k.Link, k.Named = key64(key), true
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
	Cursor      uint64 // where this page begins
	LookedAt    int64  // entries, at most
	About       int64  // entries of the cache, by estimate
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
	if err := r.lookable(prefix); err != nil {
		return err
	}
	view.First, view.Cursor, view.PrefixBytes = cursor == 0, cursor, prefix
	ctx, cancel := r.bounded()
	defer cancel()
	release, err := c.lookup(ctx)
	if err != nil {
		return err
	}
	defer release()
	cache := c.db.Cache(view.Cache)
	about, err := limited(ctx, cache).Estimate(ctx)
	if err != nil {
		return err
	}
	view.About = about
	found, next, err := r.look(ctx, cache, cursor, prefix, &view)
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
	// Among keys that look alike to the visitor, the order of the keys would say more than they do.
	slices.SortFunc(view.Rows, func(a, b entryRow) int {
		return cmp.Or(cmp.Compare(a.Key.Text, b.Key.Text), cmp.Compare(a.Version, b.Version))
	})
	return r.show(http.StatusOK, "entries.html", frame{Title: view.Cache + ": entries", Section: "caches", Page: view})
}

// look is for whoever has a place among the lookups. It reads pages until it has enough entries, has looked at enough, or its time is over.
// Keys whose secret the prefix reaches into are as if they were not there.
func (r *request) look(ctx context.Context, cache *core.Cache, cursor uint64, prefix []byte, view *entriesView) (found []verb.Entry, next uint64, err error) {
	count := scanPage
	if len(prefix) == 0 {
		count = entriesShown
	}
	for {
		page, after, err := limited(ctx, cache).Scan(ctx, cursor, core.ScanOptions{Count: count, Prefix: prefix})
		if err != nil {
			if view.LookedAt > 0 && errors.Is(err, context.DeadlineExceeded) { // what was found is worth showing
				view.TimedOut = true
				break
			}
			return nil, 0, err
		}
		for i := range page {
			if r.seesKeys() || !r.console.mask.Reaches(page[i].Key, len(prefix)) {
				found = append(found, page[i])
			}
		}
		cursor = after
		view.LookedAt += int64(count)
		if cursor == 0 || len(found) >= entriesShown || view.LookedAt >= entriesLooked {
			break
		}
	}
	return found, cursor, nil
}

func badRequest(detail string) error {
	return &refusal{http.StatusBadRequest, "The request cannot be understood", detail}
}
