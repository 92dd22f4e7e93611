package howdah

import (
	"bytes"
	"context"
	"encoding/gob"
	"encoding/json"
	"fmt"
	"time"
)

// Codec turns values into bytes and back. It must be safe for concurrent use.
type Codec[T any] interface {
	Encode(value T) ([]byte, error)
	Decode(data []byte) (T, error)
}

// JSON is the Codec of package encoding/json: readable in psql and by every
// language.
type JSON[T any] struct{}

// Encode implements Codec.
func (JSON[T]) Encode(value T) ([]byte, error) { return json.Marshal(value) }

// Decode implements Codec.
func (JSON[T]) Decode(data []byte) (value T, err error) {
	err = json.Unmarshal(data, &value)
	return value, err
}

// Gob is the Codec of package encoding/gob: for Go only, with every type that it
// knows.
type Gob[T any] struct{}

// Encode implements Codec.
func (Gob[T]) Encode(value T) ([]byte, error) {
	var buffer bytes.Buffer
	err := gob.NewEncoder(&buffer).Encode(value)
	return buffer.Bytes(), err
}

// Decode implements Codec.
func (Gob[T]) Decode(data []byte) (value T, err error) {
	err = gob.NewDecoder(bytes.NewReader(data)).Decode(&value)
	return value, err
}

// Typed is a cache whose values are of one type.
//
//	articles := howdah.NewTyped(db.Cache("pages"), howdah.JSON[Article]{})
//	article, err := articles.Fetch(ctx, "article:7", time.Minute, load, howdah.FetchOptions{})
type Typed[T any] struct {
	cache *Cache
	codec Codec[T]
}

// NewTyped returns a cache as one of values that codec encodes. Keys of other types
// may live in the same cache. If the type changes, change the keys too ("v2:"):
// what an older program has stored may not decode.
func NewTyped[T any](cache *Cache, codec Codec[T]) *Typed[T] { return &Typed[T]{cache, codec} }

// Cache returns the cache beneath.
func (t *Typed[T]) Cache() *Cache { return t.cache }

// Get is Cache.Get. Errors: also that of the codec.
func (t *Typed[T]) Get(ctx context.Context, key string) (value T, err error) {
	data, err := t.cache.Get(ctx, key)
	if err != nil {
		return value, err
	}
	return t.decode(key, data)
}

// Set is Cache.Set. Errors: also that of the codec.
func (t *Typed[T]) Set(ctx context.Context, key string, value T, ttl time.Duration) error {
	data, err := t.encode(key, value)
	if err != nil {
		return err
	}
	return t.cache.Set(ctx, key, data, ttl)
}

// Fetch is Cache.Fetch. Each caller gets a value of its own. Errors: also that of
// the codec.
func (t *Typed[T]) Fetch(ctx context.Context, key string, ttl time.Duration, load func(ctx context.Context) (T, error), o FetchOptions) (value T, err error) {
	data, err := t.cache.Fetch(ctx, key, ttl, func(ctx context.Context) ([]byte, error) {
		loaded, err := load(ctx)
		if err != nil {
			return nil, err
		}
		return t.encode(key, loaded)
	}, o)
	if err != nil {
		return value, err
	}
	return t.decode(key, data)
}

// FetchMany is Cache.FetchMany. Errors: also that of the codec.
func (t *Typed[T]) FetchMany(ctx context.Context, keys []string, ttl time.Duration, load func(ctx context.Context, missing []string) (map[string]T, error), o FetchOptions) (map[string]T, error) {
	found, err := t.cache.FetchMany(ctx, keys, ttl, func(ctx context.Context, missing []string) (map[string][]byte, error) {
		loaded, err := load(ctx, missing)
		if err != nil {
			return nil, err
		}
		encoded := make(map[string][]byte, len(loaded))
		for key, value := range loaded {
			if encoded[key], err = t.encode(key, value); err != nil {
				return nil, err
			}
		}
		return encoded, nil
	}, o)
	values := make(map[string]T, len(found))
	for key, data := range found {
		value, e := t.decode(key, data)
		if e != nil {
			return nil, e
		}
		values[key] = value
	}
	return values, err
}

func (t *Typed[T]) encode(key string, value T) ([]byte, error) {
	data, err := t.codec.Encode(value)
	if err != nil {
		return nil, fmt.Errorf("howdah: the value of %q cannot be encoded: %w", key, err)
	}
	return data, nil
}

func (t *Typed[T]) decode(key string, data []byte) (value T, err error) {
	value, err = t.codec.Decode(data)
	if err != nil {
		return value, fmt.Errorf("howdah: the value of %q cannot be decoded as %T: %w", key, value, err)
	}
	return value, nil
}
