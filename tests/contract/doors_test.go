package contract

import (
	"context"
	"testing"
	"time"

	"github.com/howdah/howdah"
	"github.com/howdah/howdah/internal/test/dbtest"
	"github.com/howdah/howdah/internal/test/pgtest"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"
)

// door is one way into a cache. The same contract holds behind each.
type door struct {
	name string
	open func(t *testing.T) *howdah.Cache

	divided bool // the cache has partitions
}

func doors() []door {
	return []door{
		{name: "pool of our own", open: func(t *testing.T) *howdah.Cache { return dbtest.Open(t, pgtest.New(t), nil).Cache("db0") }},
		{name: "pool of the application", open: func(t *testing.T) *howdah.Cache {
			pool, err := pgxpool.New(t.Context(), pgtest.New(t))
			require.NoError(t, err)
			t.Cleanup(pool.Close)
			db, err := howdah.OpenPool(t.Context(), pool, dbtest.Patient())
			require.NoError(t, err)
			t.Cleanup(func() { require.NoError(t, db.Close()) })
			return db.Cache("db0")
		}},
		{name: "unnamed statements, as behind a transaction pooler", open: func(t *testing.T) *howdah.Cache {
			return dbtest.Open(t, pgtest.New(t)+"&pooler=transaction", nil).Cache("db0")
		}},
		{name: "transaction", open: func(t *testing.T) *howdah.Cache {
			db := dbtest.Open(t, pgtest.New(t), nil)
			tx, err := db.Pool().Begin(t.Context())
			require.NoError(t, err)
			t.Cleanup(func() { require.NoError(t, tx.Rollback(context.Background())) })
			return db.Cache("db0").With(tx)
		}},
		{name: "partitions", open: func(t *testing.T) *howdah.Cache { return dbtest.Open(t, pgtest.Divided(t, 16), nil).Cache("db0") }, divided: true},
		{name: "partitions, transaction", open: func(t *testing.T) *howdah.Cache {
			db := dbtest.Open(t, pgtest.Divided(t, 4), nil)
			tx, err := db.Pool().Begin(t.Context())
			require.NoError(t, err)
			t.Cleanup(func() { require.NoError(t, tx.Rollback(context.Background())) })
			return db.Cache("db0").With(tx)
		}, divided: true},
		{name: "partitions, memory", open: func(t *testing.T) *howdah.Cache { return dbtest.OpenNear(t, pgtest.Divided(t, 4)).Cache("near") }, divided: true},
		{name: "class async", open: func(t *testing.T) *howdah.Cache { return ofClass(t, "async") }},
		{name: "class sync", open: func(t *testing.T) *howdah.Cache { return ofClass(t, "sync") }},
		{name: "maximum TTL", open: func(t *testing.T) *howdah.Cache {
			db := dbtest.Open(t, pgtest.New(t), nil)
			require.NoError(t, db.CreateCache(t.Context(), howdah.CacheConfig{Name: "capped", MaxTTL: 200 * 365 * 24 * time.Hour}))
			return db.Cache("capped")
		}},
		{name: "change log", open: func(t *testing.T) *howdah.Cache {
			db := dbtest.Open(t, pgtest.New(t), nil)
			require.NoError(t, db.CreateCache(t.Context(), howdah.CacheConfig{Name: "logged", Near: true}))
			return db.Cache("logged")
		}},
		{name: "memory", open: func(t *testing.T) *howdah.Cache { return dbtest.OpenNear(t, pgtest.New(t)).Cache("near") }},
		{name: "memory, unnamed statements", open: func(t *testing.T) *howdah.Cache {
			return dbtest.OpenNear(t, pgtest.New(t)+"&pooler=transaction").Cache("near")
		}},
		{name: "memory, transaction", open: func(t *testing.T) *howdah.Cache {
			db := dbtest.OpenNear(t, pgtest.New(t))
			tx, err := db.Pool().Begin(t.Context())
			require.NoError(t, err)
			t.Cleanup(func() { require.NoError(t, tx.Rollback(context.Background())) })
			return db.Cache("near").With(tx)
		}},
		{name: "decoys in the search_path", open: func(t *testing.T) *howdah.Cache {
			url := pgtest.New(t)
			pgtest.Decoys(t, url, "../../schema/statements/*.sql", "../../schema/queries/*.sql", "../../schema/functions/*.sql")
			return dbtest.Open(t, url, nil).Cache("db0")
		}},
	}
}

func ofClass(t *testing.T, class string) *howdah.Cache {
	db := dbtest.Open(t, pgtest.New(t), nil)
	require.NoError(t, db.CreateCache(t.Context(), howdah.CacheConfig{Name: "pages", Durability: howdah.Durability(class)}))
	return db.Cache("pages")
}

func TestContract(t *testing.T) {
	t.Parallel()
	for _, d := range doors() {
		t.Run(d.name, func(t *testing.T) {
			t.Parallel()
			Run(t, d.open(t), d.divided)
		})
	}
}
