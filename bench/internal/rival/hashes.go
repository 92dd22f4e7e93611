package rival

import (
	"context"

	"github.com/howdah/howdah"
)

// Hashes stores fields of hashes. It is safe for concurrent use.
type Hashes interface {
	Rival
	// HSet stores fields of the hash of a key.
	HSet(ctx context.Context, key string, fields map[string][]byte) error
}

// HSet is Cache.HSet; a hash that it makes does not expire.
func (r *Howdah) HSet(ctx context.Context, key string, fields map[string][]byte) error {
	_, err := r.cache.HSet(ctx, key, fields, howdah.NoExpiry)
	return err
}

func (r *goRedis) HSet(ctx context.Context, key string, fields map[string][]byte) error {
	words := make([]any, 0, 2*len(fields))
	for field, value := range fields {
		words = append(words, field, value)
	}
	return r.client.HSet(ctx, key, words...).Err()
}
