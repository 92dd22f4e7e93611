package soak

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/howdah/howdah"
	"github.com/howdah/howdah/bench/internal/service"
)

// howdahCache is a cache with a budget, used through the library with its
// defaults, and DB.Run beside it.
type howdahCache struct {
	db       *howdah.DB
	cache    *howdah.Cache
	relation string // the table behind it
}

func newHowdah(ctx context.Context, c *Config, pg *service.PostgresServer) (contender, error) {
	const name = "soak"
	db, err := howdah.Open(ctx, pg.URL, &howdah.Options{Timeout: callTimeout})
	if err != nil {
		return nil, err
	}
	err = db.CreateCache(ctx, howdah.CacheConfig{Name: name, Durability: howdah.Durability(c.Class), MaxBytes: c.budget(), Eviction: "allkeys-lru"})
	if err != nil {
		db.Close()
		return nil, err
	}
	var id int32
	if err := db.Pool().QueryRow(ctx, "SELECT id FROM howdah_internal.cache WHERE name = $1::text", name).Scan(&id); err != nil {
		db.Close()
		return nil, err
	}
	return &howdahCache{db, db.Cache(name), fmt.Sprintf("howdah_internal.cache_%d", id)}, nil
}

func (h *howdahCache) name() string  { return HowdahName }
func (h *howdahCache) table() string { return h.relation }

func (h *howdahCache) get(ctx context.Context, key string) ([]byte, error) {
	value, err := h.cache.Get(ctx, key)
	if errors.Is(err, howdah.ErrMiss) {
		return nil, errMiss
	}
	return value, err
}

// getSliding is GETEX: one statement that reads, and writes the expiry.
func (h *howdahCache) getSliding(ctx context.Context, key string, ttl time.Duration) ([]byte, error) {
	value, err := h.cache.GetAndExpire(ctx, key, ttl)
	if errors.Is(err, howdah.ErrMiss) {
		return nil, errMiss
	}
	return value, err
}

func (h *howdahCache) set(ctx context.Context, key string, value []byte, ttl time.Duration) error {
	if ttl == 0 {
		ttl = howdah.NoExpiry
	}
	return h.cache.Set(ctx, key, value, ttl)
}

func (h *howdahCache) run(ctx context.Context) error { return h.db.Run(ctx) }

func (h *howdahCache) upkeep() upkeepWork {
	s := h.db.Stats().Upkeep
	return upkeepWork{int64(s.Rounds), int64(s.Expired), int64(s.Evicted)}
}

func (h *howdahCache) close() { h.db.Close() }
