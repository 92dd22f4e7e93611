package rival

import (
	"context"
	"fmt"
	"time"

	"github.com/redis/rueidis"

	"github.com/howdah/howdah"
	"github.com/howdah/howdah/bench/internal/workload"
)

// Near is the library with a cache whose hot entries it keeps in the memory of
// this process.
type Near struct {
	*Howdah
	stop context.CancelFunc
	done chan error
}

// NewHowdahNear makes an UNLOGGED cache with a change log, empty, and uses it.
// It follows the log until Close. A Timeout of 0 in the options is one that a
// saturated machine does not meet.
func NewHowdahNear(ctx context.Context, url, cache string, o howdah.Options) (*Near, error) {
	if o.Timeout == 0 {
		o.Timeout = patience
	}
	h, err := openHowdah(ctx, url, cache, &o)
	if err != nil {
		return nil, err
	}
	if err := h.create(ctx, howdah.CacheConfig{Name: cache, Near: true}); err != nil {
		h.Close()
		return nil, err
	}
	running, stop := context.WithCancel(ctx)
	r := &Near{h, stop, make(chan error, 1)}
	go func() { r.done <- h.Run(running) }()
	return r, nil
}

// GetAppend is Cache.GetAppend.
func (r *Near) GetAppend(ctx context.Context, dst []byte, key string) ([]byte, error) {
	return r.cache.GetAppend(ctx, dst, key)
}

// GetFresh is Get that asks PostgreSQL, with the statement of a read that memory
// could not answer.
func (r *Near) GetFresh(ctx context.Context, key string) ([]byte, error) {
	return r.cache.Fresh().Get(ctx, key)
}

// Stats are the counters of memory.
func (r *Near) Stats() howdah.NearStats { return r.db.Stats().Near }

// Reads are the reads so far, and those of them that memory answered, of one
// moment.
func (r *Near) Reads() (all, fromMemory uint64) {
	stats := r.db.Stats()
	for _, c := range stats.Caches {
		for _, v := range c.Verbs {
			if c.Name == r.cache.Name() && v.Verb == "get" {
				all += v.Calls
			}
		}
	}
	return all, stats.Near.Hits
}

// warmUp is how long reading may take until memory answers.
const warmUp = time.Minute

// Warm reads every key until memory answers them all.
func (r *Near) Warm(ctx context.Context, spec workload.Spec) error {
	var hits uint64
	for begun := time.Now(); time.Since(begun) < warmUp; {
		before := r.Stats().Hits
		for i := range spec.Keys {
			if _, err := r.Get(ctx, workload.Key(i)); err != nil {
				return err
			}
		}
		if hits = r.Stats().Hits - before; hits == uint64(spec.Keys) {
			return nil
		}
	}
	return fmt.Errorf("memory answered %d of %d keys after %v of reading them: %+v", hits, spec.Keys, warmUp, r.Stats())
}

// Close ends the following, and closes the database.
func (r *Near) Close() error {
	r.stop()
	if err := <-r.done; err != nil {
		return err
	}
	return r.Howdah.Close()
}

// CachedRueidis is rueidis with its client-side cache, which Redis keeps
// coherent by CLIENT TRACKING.
type CachedRueidis struct{ client rueidis.Client }

// NewCachedRueidis uses rueidis with the defaults of its client-side cache.
func NewCachedRueidis(target string) (*CachedRueidis, error) {
	client, err := newRueidis(target, false)
	if err != nil {
		return nil, err
	}
	return &CachedRueidis{client}, nil
}

// Get is DoCache. It tells whether the client answered by itself.
func (r *CachedRueidis) Get(ctx context.Context, key string) (value []byte, local bool, err error) {
	answer := r.client.DoCache(ctx, r.client.B().Get().Key(key).Cache(), time.Hour)
	value, err = answer.AsBytes()
	return value, answer.IsCacheHit(), err
}

// Warm reads every key twice: the second time the client must answer by itself.
func (r *CachedRueidis) Warm(ctx context.Context, spec workload.Spec) error {
	for pass := range 2 {
		for i := range spec.Keys {
			_, local, err := r.Get(ctx, workload.Key(i))
			if err == nil && pass > 0 && !local {
				err = fmt.Errorf("rueidis asked Redis for %s again", workload.Key(i))
			}
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// Close closes the connections.
func (r *CachedRueidis) Close() { r.client.Close() }
