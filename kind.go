package howdah

import (
	"context"

	"github.com/howdah/howdah/internal/values"
)

// Kind is what a key holds.
type Kind uint8

// The values of Kind.
const (
	KindString    = Kind(values.KindString) // bytes, as Set stores them
	KindHash      = Kind(values.KindHash)
	KindList      = Kind(values.KindList)
	KindSet       = Kind(values.KindSet)
	KindSortedSet = Kind(values.KindSortedSet)
)

// String returns the name that Redis gives a kind: string, hash, list, set or zset.
func (k Kind) String() string { return values.Kind(k).String() }

// Type returns what a key holds, or ErrMiss.
func (c *Cache) Type(ctx context.Context, key string) (Kind, error) {
	kind, err := c.core().Type(ctx, []byte(key))
	return Kind(kind), err
}
