package contract

import (
	"context"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/howdah/howdah"
	"github.com/howdah/howdah/internal/test/dbtest"
	"github.com/howdah/howdah/internal/test/pgtest"
)

// docs/cache-aside.md: a reader loads the row, a writer changes row and entry in
// one transaction, and only then the reader stores what it has loaded.

// rower is a pool or a transaction.
type rower interface {
	QueryRow(ctx context.Context, sql string, args ...any) pgx.Row
}

// newArticle makes a table with one row, and a cache of it.
func newArticle(t *testing.T) (db *howdah.DB, load func(q rower, lock string) []byte) {
	url := pgtest.New(t)
	dbtest.ExecURL(t, url, `CREATE TABLE article (id integer PRIMARY KEY, title text)`, `INSERT INTO article VALUES (7, 'old')`)
	db = dbtest.Open(t, url, nil)
	return db, func(q rower, lock string) (title []byte) {
		require.NoError(t, q.QueryRow(t.Context(), `SELECT title FROM article WHERE id = 7 `+lock).Scan(&title))
		return title
	}
}

// publish changes the row and then does something with the entry, together.
func publish(t *testing.T, db *howdah.DB, entry func(c *howdah.Cache) error) {
	require.NoError(t, pgx.BeginFunc(t.Context(), db.Pool(), func(tx pgx.Tx) error {
		// The lock_timeout of the pool is short.
		if _, err := tx.Exec(t.Context(), `SET LOCAL lock_timeout = 0`); err != nil {
			return err
		}
		if _, err := tx.Exec(t.Context(), `UPDATE article SET title = 'new' WHERE id = 7`); err != nil {
			return err
		}
		return entry(db.Cache("db0").With(tx))
	}))
}

func TestAsideSetAfterDeleteIsStale(t *testing.T) {
	t.Parallel()
	db, load := newArticle(t)
	cache := db.Cache("db0")
	loaded := load(db.Pool(), "")
	publish(t, db, func(c *howdah.Cache) error { return c.Delete(t.Context(), "article:7") })
	require.NoError(t, cache.Set(t.Context(), "article:7", loaded, time.Hour))
	got, err := cache.Get(t.Context(), "article:7")
	require.NoError(t, err)
	require.Equal(t, "old", string(got), "the page says so; if this is mended, mend the page")
}

// The writer stores the new value, readers only add.
func TestAsideWriterStores(t *testing.T) {
	t.Parallel()
	db, load := newArticle(t)
	cache := db.Cache("db0")
	loaded := load(db.Pool(), "")
	publish(t, db, func(c *howdah.Cache) error { return c.Set(t.Context(), "article:7", []byte("new"), time.Hour) })
	require.ErrorIs(t, cache.Add(t.Context(), "article:7", loaded, time.Hour), howdah.ErrNotStored)
	got, err := cache.Get(t.Context(), "article:7")
	require.NoError(t, err)
	require.Equal(t, "new", string(got))
}

// The reader holds the row until it has stored: the writer waits for it.
func TestAsideReaderLocks(t *testing.T) {
	t.Parallel()
	db, load := newArticle(t)
	cache := db.Cache("db0")
	wrote := make(chan struct{})
	require.NoError(t, pgx.BeginFunc(t.Context(), db.Pool(), func(tx pgx.Tx) error {
		loaded := load(tx, "FOR SHARE")
		go func() {
			defer close(wrote)
			publish(t, db, func(c *howdah.Cache) error { return c.Delete(t.Context(), "article:7") })
		}()
		require.Eventually(t, func() (waits bool) {
			require.NoError(t, db.Pool().QueryRow(t.Context(), `SELECT EXISTS (SELECT FROM pg_stat_activity
				WHERE datname = current_database() AND wait_event_type = 'Lock' AND query LIKE 'UPDATE article%')`).Scan(&waits))
			return waits
		}, time.Minute, time.Millisecond, "the writer does not wait for the reader")
		return cache.With(tx).Set(t.Context(), "article:7", loaded, time.Hour)
	}))
	<-wrote
	_, err := cache.Get(t.Context(), "article:7")
	require.ErrorIs(t, err, howdah.ErrMiss, "the old value outlived its row")
}
