package rival

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/howdah/howdah"
)

// HowdahName is Howdah in the report.
const HowdahName = "Howdah"

// Howdah is the library in this process.
type Howdah struct {
	db    *howdah.DB
	cache *howdah.Cache
}

// NewHowdah uses a cache with the library's defaults, but a timeout that a
// saturated machine does not meet.
func NewHowdah(ctx context.Context, url, cache string) (*Howdah, error) {
	return openHowdah(ctx, url, cache, &howdah.Options{Timeout: patience})
}

// NewHowdahBatches is NewHowdah with a bound of the keys of a batch; 0: the library's own.
func NewHowdahBatches(ctx context.Context, url, cache string, keys int) (*Howdah, error) {
	return openHowdah(ctx, url, cache, &howdah.Options{Timeout: patience, MaxBatchKeys: keys})
}

// patience is a timeout that a saturated machine does not meet.
const patience = 10 * time.Second

func openHowdah(ctx context.Context, url, cache string, o *howdah.Options) (*Howdah, error) {
	db, err := howdah.Open(ctx, url, o)
	if err != nil {
		return nil, err
	}
	return &Howdah{db, db.Cache(cache)}, nil
}

// NewHowdahClass makes a cache of a durability class, empty, and uses it.
func NewHowdahClass(ctx context.Context, url, durability string) (*Howdah, error) {
	name := "bench_" + durability
	h, err := NewHowdah(ctx, url, name)
	if err != nil {
		return nil, err
	}
	return h, h.create(ctx, howdah.CacheConfig{Name: name, Durability: howdah.Durability(durability)})
}

// CreateCache makes the cache, UNLOGGED and empty.
func (r *Howdah) CreateCache(ctx context.Context) error {
	return r.create(ctx, howdah.CacheConfig{Name: r.cache.Name()})
}

// create makes the cache, empty.
func (r *Howdah) create(ctx context.Context, c howdah.CacheConfig) error {
	if err := r.db.DropCache(ctx, c.Name); err != nil && !errors.Is(err, howdah.ErrCacheNotFound) {
		return err
	}
	return r.db.CreateCache(ctx, c)
}

// Name is HowdahName.
func (r *Howdah) Name() string { return HowdahName }

// Get is Cache.Get.
func (r *Howdah) Get(ctx context.Context, key string) ([]byte, error) { return r.cache.Get(ctx, key) }

// Set is Cache.Set, without expiry.
func (r *Howdah) Set(ctx context.Context, key string, value []byte) error {
	return r.cache.Set(ctx, key, value, howdah.NoExpiry)
}

// Close closes the database.
func (r *Howdah) Close() error { return r.db.Close() }

// Counts is what the library counted itself.
type Counts struct {
	Reads, Hits, Misses, Errors uint64
	Batches                     uint64
	Keys                        float64 // in all batches
}

// Counts reads the library's counters, to set them beside what the harness
// saw.
func (r *Howdah) Counts() Counts {
	var n Counts
	for _, c := range r.db.Stats().Caches {
		if c.Name != r.cache.Name() {
			continue
		}
		n.Batches += c.Batches
		n.Keys += c.BatchKeys.Sum
		for _, v := range c.Verbs {
			n.Errors += v.Errors
			if v.Verb == "get" {
				n.Reads, n.Hits, n.Misses = n.Reads+v.Calls, n.Hits+v.Hits, n.Misses+v.Misses
			}
		}
	}
	return n
}

// Since is what was counted after an earlier reading.
func (n Counts) Since(before Counts) Counts {
	return Counts{
		Reads: n.Reads - before.Reads, Hits: n.Hits - before.Hits, Misses: n.Misses - before.Misses,
		Errors: n.Errors - before.Errors, Batches: n.Batches - before.Batches, Keys: n.Keys - before.Keys,
	}
}

// BatchSize is the mean of the keys in a statement.
func (n Counts) BatchSize() float64 {
	if n.Batches == 0 {
		return 0
	}
	return n.Keys / float64(n.Batches)
}

// CheckAllHits is an error unless every read was a hit and nothing failed.
func (n Counts) CheckAllHits() error {
	if n.Misses > 0 || n.Errors > 0 || n.Hits != n.Reads {
		return fmt.Errorf("howdah counted %d hits, %d misses and %d errors in %d reads", n.Hits, n.Misses, n.Errors, n.Reads)
	}
	return nil
}

// Run does the upkeep until ctx ends.
func (r *Howdah) Run(ctx context.Context) error { return r.db.Run(ctx) }
