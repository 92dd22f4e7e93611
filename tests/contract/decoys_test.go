package contract

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/howdah/howdah"
	"github.com/howdah/howdah/internal/test/dbtest"
	"github.com/howdah/howdah/internal/test/pgtest"
)

// What others may create in the schema public runs neither in the statements
// of a cache with every setting, nor in its administration and upkeep. (The
// contract has a door with decoys too.)
func TestDecoys(t *testing.T) {
	t.Parallel()
	url := pgtest.New(t)
	pgtest.Decoys(t, url, "../../schema/statements/*.sql", "../../schema/queries/*.sql", "../../schema/functions/*.sql")
	db := dbtest.Open(t, url, nil)
	ctx := t.Context()
	config := howdah.CacheConfig{
		Name: "full", MaxTTL: time.Hour, DefaultTTL: time.Minute, TTLJitter: 20, MaxEntries: 1000, Eviction: "allkeys-lfu", PrefixIndex: true, Near: true, LogKeys: true,
	}
	require.NoError(t, db.CreateCache(ctx, config))
	cache := db.Cache("full")
	var items []howdah.Item
	for i := range 3000 {
		items = append(items, howdah.Item{Key: fmt.Sprintf("k:%d", i), Value: []byte("v")})
	}
	require.NoError(t, cache.SetMany(ctx, items, 10*time.Minute))
	require.NoError(t, cache.Set(ctx, "one", []byte("v"), 0))
	require.NoError(t, cache.Touch(ctx, "one", time.Minute))
	_, err := cache.Increment(ctx, "n", 1, time.Minute)
	require.NoError(t, err)

	// Run notes what is read, evicts, and counts.
	running, stop := context.WithCancel(ctx)
	done := make(chan error)
	go func() { done <- db.Run(running) }()
	dbtest.Eventually(t, "upkeep evicts and notes what is read", func() bool {
		_, err := cache.Get(ctx, "one")
		if err == howdah.ErrMiss { // evicted
			err = cache.Set(ctx, "one", []byte("v"), 0)
		}
		require.NoError(t, err)
		return dbtest.Number(t, db, "SELECT count(*) FROM "+pgtest.Table(t, db.Pool(), "full")) <= 1000 &&
			dbtest.Number(t, db, "SELECT count(*) FROM "+pgtest.Table(t, db.Pool(), "full")+" WHERE accessed > 0") > 0
	})
	stop()
	require.NoError(t, <-done)

	_, err = db.Maintain(ctx, howdah.MaintainOptions{})
	require.NoError(t, err)
	_, err = cache.CountTTLs(ctx)
	require.NoError(t, err)
	_, err = cache.DeletePrefix(ctx, "k:1")
	require.NoError(t, err)
	config.Durability, config.Fillfactor = "sync", 70
	require.NoError(t, db.AlterCache(ctx, config, howdah.AlterOptions{}))
	configs, err := db.Caches(ctx)
	require.NoError(t, err)
	require.Contains(t, configs, config)
	require.NoError(t, cache.Flush(ctx))
	require.NoError(t, db.DropCache(ctx, "full"))
}
