package howdah

import (
	"context"
	"iter"
	"time"

	"github.com/howdah/howdah/internal/core"
)

// ScanOptions choose what Scan returns. The zero value is every key, in pages of
// 100.
type ScanOptions struct {
	// Count is about how many entries a page holds. Default 100, at most 10,000.
	Count int
	// Prefix restricts to keys that begin with it. Pages then hold what of
	// about Count entries matches, perhaps nothing.
	Prefix string
}

// Scan returns one page of live entries, without their values, and the cursor
// of the next page, 0 at the end. It begins with cursor 0 and keeps no state:
// entries go by the hash of their keys, so whatever exists during the whole
// scan is returned, once.
func (c *Cache) Scan(ctx context.Context, cursor uint64, opts ScanOptions) (page []Entry, next uint64, err error) {
	found, next, err := c.core().Scan(ctx, cursor, core.ScanOptions{Count: opts.Count, Prefix: []byte(opts.Prefix)})
	for _, e := range found {
		page = append(page, entryOf(string(e.Key), e))
	}
	return page, next, err
}

// All iterates over the live entries whose keys begin with prefix ("": all),
// without their values, page by page as Scan does. It ends at the first error.
func (c *Cache) All(ctx context.Context, prefix string) iter.Seq2[Entry, error] {
	return func(yield func(Entry, error) bool) {
		for e, err := range c.core().All(ctx, []byte(prefix)) {
			if !yield(entryOf(string(e.Key), e), err) {
				return
			}
		}
	}
}

// Keys returns the live keys that begin with prefix ("": all), in no order
// and in one snapshot, of each partition if there are some. All does the same in
// pieces.
func (c *Cache) Keys(ctx context.Context, prefix string) ([]string, error) {
	found, err := c.core().Keys(ctx, []byte(prefix))
	keys := make([]string, len(found))
	for i, key := range found {
		keys[i] = string(key)
	}
	return keys, err
}

// RandomKey returns the key of some live entry, or ErrMiss if there is none.
func (c *Cache) RandomKey(ctx context.Context) (string, error) {
	key, err := c.core().RandomKey(ctx)
	return string(key), err
}

// Count returns how many live entries there are, exactly: it reads the whole
// table. SELECT * FROM howdah.caches() gives a cheap estimate.
func (c *Cache) Count(ctx context.Context) (int64, error) { return c.core().Count(ctx) }

// TTLCount is how many entries a cache holds, with and without a TTL.
type TTLCount struct {
	Entries int64         // that live
	WithTTL int64         // of these, the ones that will expire
	MeanTTL time.Duration // of the ones that will expire; 0 if there are none
}

// CountTTLs is Count with a look at the TTLs. It too reads the whole table.
func (c *Cache) CountTTLs(ctx context.Context) (TTLCount, error) {
	n, err := c.core().CountTTLs(ctx)
	return TTLCount(n), err
}
