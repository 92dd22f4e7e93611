package howdah

import (
	"context"

	"github.com/howdah/howdah/internal/statement"
	"github.com/howdah/howdah/internal/verb"
)

// Delete removes a key. That it was absent is no error.
func (c *Cache) Delete(ctx context.Context, key string) error {
	return c.core().Do(ctx, &verb.Call{Verb: statement.Delete, Key: []byte(key)})
}

// DeleteMany removes keys, all or none, and returns how many existed. In a database
// with partitions that holds of the keys of each partition: after an error those of
// others may have been removed.
func (c *Cache) DeleteMany(ctx context.Context, keys []string) (int64, error) {
	call := &verb.Call{Verb: statement.DeleteMany, Keys: toBytes(keys)}
	if err := c.one(ctx, call); err != nil {
		return 0, err
	}
	return call.Count, nil
}

// GetAndDelete removes a key and returns what it held, or ErrMiss. Of several
// callers at once, one gets the value.
func (c *Cache) GetAndDelete(ctx context.Context, key string) ([]byte, error) {
	call := &verb.Call{Verb: statement.GetDelete, Key: []byte(key)}
	if err := c.one(ctx, call); err != nil {
		return nil, err
	}
	return owned(call, call.Result.Value), nil
}

// CompareAndDelete removes a key if it still has the version that GetEntry or
// Stat returned; otherwise ErrNotStored. A version is at least 1.
func (c *Cache) CompareAndDelete(ctx context.Context, key string, version int64) error {
	return c.one(ctx, &verb.Call{Verb: statement.CompareDelete, Key: []byte(key), Condition: verb.IfVersion, IfVersion: version})
}

// CompareValueAndDelete removes a key if it holds exactly this value, as the
// owner of a lock does; otherwise ErrNotStored.
func (c *Cache) CompareValueAndDelete(ctx context.Context, key string, value []byte) error {
	return c.one(ctx, &verb.Call{Verb: statement.CompareDelete, Key: []byte(key), Condition: verb.IfValue, Value: value})
}

// DeletePrefix removes the entries whose keys begin with prefix ("": all) and
// returns how many live ones that were. It goes through the cache in pieces, so
// it is not atomic: what is stored meanwhile may stay. With
// CacheConfig.PrefixIndex it goes through the keys with the prefix only. After an error some
// of them may be gone.
func (c *Cache) DeletePrefix(ctx context.Context, prefix string) (int64, error) {
	return c.core().DeletePrefix(ctx, []byte(prefix))
}

// Flush empties the cache: at once by TRUNCATE if no other transaction is
// using it, else by deleting every entry. If one holds an entry, that is done
// in pieces, as DeletePrefix does, until ctx ends (without a deadline, for 30 s). After an error
// some entries may be gone.
func (c *Cache) Flush(ctx context.Context) error { return c.core().Flush(ctx) }
