package limits_test

import (
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/howdah/howdah"
	"github.com/howdah/howdah/internal/test/dbtest"
	"github.com/howdah/howdah/internal/test/pgtest"
)

// A migration holds howdah_internal.cache while the settings of a cache are due to be
// read again: the calls go on with those that are known.
func TestCallsDoNotWaitForSettings(t *testing.T) {
	t.Parallel()
	for _, pool := range []struct {
		name string
		open func(t *testing.T, url string) *howdah.DB
	}{
		{"ours", func(t *testing.T, url string) *howdah.DB { return dbtest.Open(t, url, nil) }},
		{"the application's", func(t *testing.T, url string) *howdah.DB {
			pool, err := pgxpool.New(t.Context(), url)
			require.NoError(t, err)
			t.Cleanup(pool.Close)
			db, err := howdah.OpenPool(t.Context(), pool, dbtest.Patient())
			require.NoError(t, err)
			t.Cleanup(func() { require.NoError(t, db.Close()) })
			return db
		}},
		{"behind a pooler", func(t *testing.T, url string) *howdah.DB { return dbtest.Open(t, url+"&pooler=transaction", nil) }},
	} {
		t.Run(pool.name, func(t *testing.T) {
			t.Parallel()
			ctx, url := t.Context(), pgtest.New(t)
			db := pool.open(t, url)
			cache := db.Cache("db0")
			require.NoError(t, cache.Set(ctx, "k", []byte("old"), 0))
			require.NoError(t, db.AlterCache(ctx, howdah.CacheConfig{Name: "db0"}, howdah.AlterOptions{})) // forgets the settings

			migration, err := dbtest.Open(t, url, nil).Pool().Begin(ctx)
			require.NoError(t, err)
			defer migration.Rollback(ctx)
			_, err = migration.Exec(ctx, "LOCK TABLE howdah_internal.cache IN ACCESS EXCLUSIVE MODE")
			require.NoError(t, err)
			got, err := cache.Get(ctx, "k")
			require.NoError(t, err)
			require.Equal(t, "old", string(got))
			require.NoError(t, cache.Set(ctx, "k", []byte("new"), 0))
		})
	}
}
