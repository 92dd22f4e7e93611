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
	firstLook     = 200    // entries of the first statement of a page with a filter
	largestLook   = 2000   // of the last one
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
	Filter      entryFilter
	Kinds       []string // that the filter offers
	Rows        []entryRow
	Cursor      uint64 // where this page begins
	LookedAt    int64  // entries, on this page
	Before      int64  // likewise, on the pages before
	About       int64  // entries of the cache, by estimate
	Next        string // address of the next page; "": there is none
	First       bool
	TimedOut    bool
}

// LookedInAll is how many entries this page and those before have looked at.
func (v *entriesView) LookedInAll() int64 { return v.Before + v.LookedAt }

// Filtered says whether entries that were looked at may be missing from the page.
func (v *entriesView) Filtered() bool { return len(v.PrefixBytes) > 0 || v.Filter != (entryFilter{}) }

// Whole says whether the page has all entries that there are, or all that the filter lets through.
func (v *entriesView) Whole() bool { return v.First && v.Next == "" && !v.TimedOut }

// Progress says how many entries were looked at, and of about how many, unless the estimate is behind.
func (v *entriesView) Progress() string {
	if v.About <= v.LookedInAll() {
		return entriesText(v.LookedInAll())
	}
	return number(v.LookedInAll()) + " of about " + entriesText(v.About)
}

func ttlText(ttl time.Duration) string {
	if ttl == verb.NoExpiry {
		return "no expiry"
	}
	return duration(ttl)
}

// entries lists a page of the entries whose keys begin with a prefix and that a filter lets through.
// It looks at a bounded number of entries, and says how many.
func (c *Console) entries(r *request) error {
	q := r.URL.Query()
	view := entriesView{Cache: r.PathValue("cache"), Prefix: q.Get("prefix"), Kinds: entryKinds}
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
	var err error
	if view.Filter, err = filterOf(q); err != nil {
		return err
	}
	if err := r.lookable(prefix); err != nil {
		return err
	}
	view.First, view.Cursor, view.PrefixBytes = cursor == 0, cursor, prefix
	if before, err := strconv.ParseInt(q.Get("looked"), 10, 52); err == nil && before > 0 && !view.First {
		view.Before = before
	}
	found, next, err := r.findEntries(&view)
	if err != nil {
		return err
	}
	if next != 0 {
		view.Next = up(r.Request) + "caches/" + view.Cache + "/entries?" + view.query(next)
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
	return r.show(http.StatusOK, "entries.html", frame{Title: view.Cache + ": entries", Section: "caches", Page: &view})
}

// query names the page after this one.
func (v *entriesView) query(next uint64) string {
	q := v.Filter.query()
	if len(v.PrefixBytes) > 0 {
		q.Set("prefix64", base64.RawURLEncoding.EncodeToString(v.PrefixBytes))
	}
	q.Set("cursor", strconv.FormatUint(next, 10))
	q.Set("looked", strconv.FormatInt(v.LookedInAll(), 10))
	return q.Encode()
}

// findEntries has a place among the lookups while it looks.
func (r *request) findEntries(view *entriesView) (found []verb.Entry, next uint64, err error) {
	ctx, cancel := r.bounded()
	defer cancel()
	release, err := r.console.lookup(ctx)
	if err != nil {
		return nil, 0, err
	}
	defer release()
	cache := r.console.db.Cache(view.Cache)
	if view.About, err = limited(ctx, cache).Estimate(ctx); err != nil {
		return nil, 0, err
	}
	return r.look(ctx, cache, view)
}

// look reads pages until it has enough entries, has looked at enough, or its time is over. Where few
// of the entries are wanted, each statement looks at more of them.
// Keys whose secret the prefix reaches into are as if they were not there.
func (r *request) look(ctx context.Context, cache *core.Cache, view *entriesView) (found []verb.Entry, next uint64, err error) {
	cursor, prefix, count := view.Cursor, view.PrefixBytes, firstLook
	if !view.Filtered() {
		count = entriesShown
	}
	for {
		options := core.ScanOptions{Count: min(count, entriesLooked-int(view.LookedAt)), Prefix: r.soughtPrefix(view)}
		page, after, looked, err := limited(ctx, cache).ScanCounted(ctx, cursor, options)
		if err != nil {
			if view.LookedAt > 0 && errors.Is(err, context.DeadlineExceeded) { // what was found is worth showing
				view.TimedOut = true
				break
			}
			return nil, 0, err
		}
		for i := range page {
			if r.seesKeys() || !r.console.mask.Reaches(page[i].Key, len(prefix)) {
				if view.Filter.admits(&page[i], r.asSeen(page[i].Key)) {
					found = append(found, page[i])
				}
			}
		}
		cursor = after
		view.LookedAt += int64(looked)
		if cursor == 0 || len(found) >= entriesShown || view.LookedAt >= entriesLooked {
			break
		}
		if len(found) < entriesShown/4 {
			count = min(2*count, largestLook)
		}
	}
	return found, cursor, nil
}

// soughtPrefix is the beginning of keys that PostgreSQL seeks. The pattern of those who see masked keys
// is compared with what they see, so nothing of it is sought.
func (r *request) soughtPrefix(view *entriesView) []byte {
	if len(view.PrefixBytes) == 0 && r.seesKeys() {
		return values.MatchPrefix([]byte(view.Filter.Match))
	}
	return view.PrefixBytes
}

// asSeen is a key as the visitor sees it, in the bytes that a pattern is compared with.
func (r *request) asSeen(key []byte) []byte {
	if r.seesKeys() {
		return key
	}
	text, _ := r.console.mask.Key(key)
	return []byte(text)
}

func badRequest(detail string) error {
	return &refusal{http.StatusBadRequest, "The request cannot be understood", detail}
}
