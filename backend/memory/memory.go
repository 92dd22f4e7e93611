// Package memory is a store in the memory of one process, bounded by bytes or
// by entries: for tests, for development, and for applications that run as
// one process. Its entries end with the process.
package memory

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"sync/atomic"
	"time"

	"github.com/maypok86/otter/v2"

	"github.com/howdah/howdah"
)

// DefaultMaxBytes is the budget of a store that was given none: 64 MiB.
const DefaultMaxBytes = 64 << 20

// entryOverhead is what an entry is reckoned to cost beside its key and
// value: the cache's node, the table's slot, two headers.
const entryOverhead = 128

// Options tune a Store. The zero value of every field is its default.
type Options struct {
	// MaxBytes bounds keys, values and 128 bytes for each entry; at most 4 GiB
	// fit one entry. Default 64 MiB, unless MaxEntries is given.
	MaxBytes int64

	// MaxEntries bounds the number of entries instead. Not with MaxBytes.
	MaxEntries int

	// MaxValueBytes bounds one value. Default howdah.DefaultMaxValueBytes, or
	// what fits MaxBytes if that is less.
	MaxValueBytes int

	// DefaultTTL is used where a TTL of 0 is asked for. Default: none.
	DefaultTTL time.Duration
}

// Store is a howdah.Backend in memory. A full store drops the entries that
// are least likely to be used again. It is safe for concurrent use.
type Store struct {
	cache         *otter.Cache[string, entry]
	maxValueBytes int
	maxBytes      int64 // 0: bounded by entries
	defaultTTL    time.Duration
	closed        atomic.Bool
}

var _ howdah.Backend = (*Store)(nil)

// entry carries its own TTL, because the cache computes an expiry from the
// entry it stores.
type entry struct {
	value []byte
	ttl   time.Duration
}

// New makes an empty store; nil options are the defaults. The error says
// which option is wrong. Close ends the goroutine that drops expired entries.
func New(opts *Options) (*Store, error) {
	var o Options
	if opts != nil {
		o = *opts
	}
	switch {
	case o.MaxBytes < 0 || o.MaxEntries < 0 || o.MaxValueBytes < 0 || o.DefaultTTL < 0:
		return nil, errors.New("memory: a limit or TTL is negative; leave it 0 for the default")
	case o.MaxBytes > 0 && o.MaxEntries > 0:
		return nil, errors.New("memory: give MaxBytes or MaxEntries, not both")
	case o.MaxBytes > 0 && o.MaxBytes <= entryOverhead:
		return nil, fmt.Errorf("memory: MaxBytes %d holds no entry; each costs %d bytes beside its key and value", o.MaxBytes, entryOverhead)
	case o.MaxBytes == 0 && o.MaxEntries == 0:
		o.MaxBytes = DefaultMaxBytes
	}
	if o.MaxValueBytes == 0 {
		o.MaxValueBytes = howdah.DefaultMaxValueBytes
	}
	if o.MaxBytes > 0 {
		o.MaxValueBytes = int(min(int64(o.MaxValueBytes), o.MaxBytes-entryOverhead))
	}
	if o.MaxValueBytes > math.MaxUint32-entryOverhead-howdah.MaxKeyBytes {
		return nil, errors.New("memory: MaxValueBytes must be below 4 GiB")
	}
	if o.DefaultTTL == 0 {
		o.DefaultTTL = howdah.NoExpiry
	}

	settings := &otter.Options[string, entry]{
		MaximumSize:      o.MaxEntries,
		ExpiryCalculator: otter.ExpiryWritingFunc(func(e otter.Entry[string, entry]) time.Duration { return e.Value.ttl }),
	}
	if o.MaxBytes > 0 {
		settings.MaximumWeight = uint64(o.MaxBytes)
		settings.Weigher = func(key string, e entry) uint32 { return uint32(cost(key, e.value)) }
	}
	cache, err := otter.New(settings)
	if err != nil {
		return nil, fmt.Errorf("memory: %w", err)
	}
	return &Store{cache: cache, maxValueBytes: o.MaxValueBytes, maxBytes: o.MaxBytes, defaultTTL: o.DefaultTTL}, nil
}

// MaxValueBytes is the longest value that the store takes.
func (s *Store) MaxValueBytes() int { return s.maxValueBytes }

// Get implements howdah.Backend.
func (s *Store) Get(ctx context.Context, key string) ([]byte, error) {
	if err := s.ready(ctx, key); err != nil {
		return nil, err
	}
	e, ok := s.cache.GetIfPresent(key)
	if !ok {
		return nil, howdah.ErrMiss
	}
	return clone(e.value), nil
}

// Set implements howdah.Backend. The value is copied.
func (s *Store) Set(ctx context.Context, key string, value []byte, ttl time.Duration) error {
	return s.SetMany(ctx, []howdah.Item{{Key: key, Value: value}}, ttl)
}

// Delete implements howdah.Backend.
func (s *Store) Delete(ctx context.Context, key string) error {
	if err := s.ready(ctx, key); err != nil {
		return err
	}
	s.cache.Invalidate(key)
	return nil
}

// GetMany implements howdah.Backend.
func (s *Store) GetMany(ctx context.Context, keys []string) (map[string][]byte, error) {
	if err := s.ready(ctx, keys...); err != nil {
		return nil, err
	}
	found := make(map[string][]byte, len(keys))
	for i, key := range keys {
		if i%1024 == 0 && ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if e, ok := s.cache.GetIfPresent(key); ok {
			found[key] = clone(e.value)
		}
	}
	return found, nil
}

// SetMany implements howdah.Backend. Nothing is stored if one item is
// refused; other callers may see some items before the rest.
func (s *Store) SetMany(ctx context.Context, items []howdah.Item, ttl time.Duration) error {
	if err := s.ready(ctx); err != nil {
		return err
	}
	switch {
	case ttl < 0:
		return fmt.Errorf("%w: %v is negative; use 0 for the default or howdah.NoExpiry", howdah.ErrInvalidTTL, ttl)
	case ttl == 0:
		ttl = s.defaultTTL
	}
	for _, item := range items {
		if err := s.check(item); err != nil {
			return err
		}
	}
	for i, item := range items {
		if i%1024 == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		s.cache.Set(strings.Clone(item.Key), entry{value: clone(item.Value), ttl: ttl})
	}
	return nil
}

// Close drops every entry and ends the store's goroutine. It may be called twice.
func (s *Store) Close() error {
	if s.closed.CompareAndSwap(false, true) {
		s.cache.StopAllGoroutines()
		s.cache.InvalidateAll()
	}
	return nil
}

func (s *Store) ready(ctx context.Context, keys ...string) error {
	if s.closed.Load() {
		return howdah.ErrClosed
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	for _, key := range keys {
		if err := checkKey(key); err != nil {
			return err
		}
	}
	return nil
}

func checkKey(key string) error {
	if len(key) > howdah.MaxKeyBytes {
		return fmt.Errorf("%w: %d bytes, at most %d", howdah.ErrKeyTooLong, len(key), howdah.MaxKeyBytes)
	}
	return nil
}

func (s *Store) check(item howdah.Item) error {
	if err := checkKey(item.Key); err != nil {
		return err
	}
	switch {
	case len(item.Value) > s.maxValueBytes:
		return fmt.Errorf("%w: %d bytes, at most %d", howdah.ErrValueTooLarge, len(item.Value), s.maxValueBytes)
	case s.maxBytes > 0 && cost(item.Key, item.Value) > s.maxBytes:
		return fmt.Errorf("%w: key and value need %d bytes of a budget of %d", howdah.ErrValueTooLarge, cost(item.Key, item.Value), s.maxBytes)
	}
	return nil
}

func cost(key string, value []byte) int64 {
	return entryOverhead + int64(len(key)) + int64(len(value))
}

// clone never returns nil: an empty value is a value.
func clone(value []byte) []byte {
	if len(value) == 0 {
		return []byte{}
	}
	return bytes.Clone(value)
}
