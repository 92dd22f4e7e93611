package howdah

import (
	"context"
	"time"

	"github.com/howdah/howdah/internal/statement"
	"github.com/howdah/howdah/internal/verb"
)

// Limits of tags.
const (
	MaxTagBytes = verb.MaxTagBytes // the longest tag, in UTF-8; there is no empty one
	MaxTags     = verb.MaxTags     // of one entry
)

// SetOptions say more of what SetWith stores.
type SetOptions struct {
	// Tags are what the entry is invalidated by: InvalidateTag removes it. They
	// replace those of an older entry of the key. None: an older entry's stay.
	Tags []string
}

// SetWith is Set with options. With Tags it may return ErrNotStored: a transaction
// that is not over yet, or ended while the call was under way, invalidates one of
// them, so that the value may be older than what was changed there; nothing was
// stored. Load it again, or use Fetch, which finds an older value in every case.
// Errors: ErrInvalidTag and ErrIsolation too.
func (c *Cache) SetWith(ctx context.Context, key string, value []byte, ttl time.Duration, o SetOptions) error {
	if len(o.Tags) == 0 {
		return c.Set(ctx, key, value, ttl)
	}
	return c.store(ctx, &verb.Call{Verb: statement.Set, Key: []byte(key), Value: value, Tags: o.Tags}, ttl)
}

// InvalidateTag removes every entry that was stored with a tag, and voids the loads
// of such entries that are under way. It returns how many entries existed. Memory
// (Options.Near) of this process drops them before the call returns, for which it
// polls the change log once, and keeps the others; of more than 1,000 it drops the
// whole cache.
//
// Bound to the transaction that changes what the entries were made from (With), it
// takes effect when that commits; until then nothing is stored with the tag. The
// transaction's isolation level must be READ COMMITTED, else ErrIsolation. Error:
// ErrInvalidTag too.
func (c *Cache) InvalidateTag(ctx context.Context, tag string) (int64, error) {
	return c.core().InvalidateTags(ctx, []string{tag})
}

// InvalidateTags is InvalidateTag for several tags, all or none. In a database with
// partitions that holds of the entries of each partition: after an error those of some
// may be gone.
func (c *Cache) InvalidateTags(ctx context.Context, tags []string) (int64, error) {
	return c.core().InvalidateTags(ctx, tags)
}
