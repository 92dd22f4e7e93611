package howdah

import "context"

// RenameOptions restrict Rename. The zero value replaces what is at the new key.
type RenameOptions struct {
	IfAbsent bool // only if the new key is absent; otherwise ErrNotStored
}

// CopyOptions restrict Copy. The zero value keeps what is at the target.
type CopyOptions struct {
	Replace bool // replace what is at the target; otherwise ErrNotStored if the key exists
}

// Rename gives an entry another key, with its TTL. Errors: ErrMiss, ErrNotStored.
func (c *Cache) Rename(ctx context.Context, from, to string, opts RenameOptions) error {
	return c.core().Rename(ctx, from, to, opts.IfAbsent)
}

// Copy copies an entry, with its TTL, to another key, of the same cache or of
// another of the same database. Errors: ErrMiss, ErrNotStored.
func (c *Cache) Copy(ctx context.Context, from string, target *Cache, to string, opts CopyOptions) error {
	return c.core().Copy(ctx, from, target.core(), to, opts.Replace)
}

// Move puts an entry, with its TTL, into another cache of the same database
// under the same key. ErrMiss if there is none, ErrNotStored if the key exists
// there.
func (c *Cache) Move(ctx context.Context, key string, target *Cache) error {
	return c.core().Move(ctx, key, target.core())
}
