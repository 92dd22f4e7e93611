package howdah_test

import (
	"bytes"
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/howdah/howdah"
	"github.com/howdah/howdah/internal/test/dbtest"
	"github.com/howdah/howdah/internal/test/pgtest"
)

// Somebody's transaction holds one entry for a while: what changes all of a
// cache waits for it, as long as its context allows.
func TestWholeCacheWaitsForARow(t *testing.T) {
	t.Parallel()
	for name, empty := range map[string]func(context.Context, *howdah.Cache) error{
		"flush":         func(ctx context.Context, c *howdah.Cache) error { return c.Flush(ctx) },
		"delete prefix": func(ctx context.Context, c *howdah.Cache) error { _, err := c.DeletePrefix(ctx, ""); return err },
	} {
		t.Run(name, func(t *testing.T) {
			url := pgtest.New(t)
			db := dbtest.Open(t, url, &howdah.Options{}) // the default lock timeout
			cache := dbtest.Open(t, url, nil).Cache("db0")
			for _, key := range []string{"held", "free"} {
				require.NoError(t, cache.Set(t.Context(), key, nil, 0))
			}
			tx, err := db.Pool().Begin(t.Context())
			require.NoError(t, err)
			defer tx.Rollback(context.Background())
			_, err = tx.Exec(t.Context(), "UPDATE "+pgtest.Table(t, tx, "db0")+" SET value = 'new' WHERE key = 'held'")
			require.NoError(t, err)
			ended := make(chan error, 1)
			go func() { ended <- empty(t.Context(), db.Cache("db0")) }()
			dbtest.AwaitLockWaits(t, url, 5)
			require.NoError(t, tx.Commit(t.Context()))
			require.NoError(t, <-ended)
			require.Zero(t, dbtest.Number(t, db, "SELECT count(*) FROM "+pgtest.Table(t, db.Pool(), "db0")))

			// It ends with its context, and says why.
			require.NoError(t, cache.Set(t.Context(), "held", nil, 0))
			tx, err = db.Pool().Begin(t.Context())
			require.NoError(t, err)
			defer tx.Rollback(context.Background())
			_, err = tx.Exec(t.Context(), "SELECT FROM "+pgtest.Table(t, tx, "db0")+" FOR UPDATE")
			require.NoError(t, err)
			ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
			defer cancel()
			require.ErrorIs(t, empty(ctx, db.Cache("db0")), context.DeadlineExceeded)
		})
	}
}

// A write whose statement was sent may have ended when its caller left.
func TestCallerLeavesAWriteOfTheWholeCache(t *testing.T) {
	t.Parallel()
	for name, database := range map[string]string{"whole": pgtest.New(t), "in partitions": pgtest.Divided(t, 4)} {
		for call, empty := range map[string]func(context.Context, *howdah.Cache) error{
			"delete prefix":  func(ctx context.Context, c *howdah.Cache) error { _, err := c.DeletePrefix(ctx, ""); return err },
			"invalidate tag": func(ctx context.Context, c *howdah.Cache) error { _, err := c.InvalidateTag(ctx, "t"); return err },
		} {
			t.Run(name+"/"+call, func(t *testing.T) {
				db := dbtest.Open(t, database, &howdah.Options{Timeout: time.Minute, LockTimeout: time.Minute})
				cache := db.Cache("db0")
				require.NoError(t, cache.SetWith(t.Context(), "held", []byte("v"), 0, howdah.SetOptions{Tags: []string{"t"}}))
				tx, err := db.Pool().Begin(t.Context())
				require.NoError(t, err)
				defer tx.Rollback(context.Background())
				require.NoError(t, cache.With(tx).Set(t.Context(), "held", []byte("w"), 0))
				ctx, leave := context.WithCancel(t.Context())
				ended := make(chan error, 1)
				go func() { ended <- empty(ctx, cache) }()
				dbtest.AwaitLockWaits(t, database, 1)
				leave()
				err = <-ended
				require.ErrorIs(t, err, context.Canceled)
				require.ErrorIs(t, err, howdah.ErrUnknownOutcome)
			})
		}
	}
}

// With a prefix index and without, DeletePrefix removes the same, page by page,
// and counts what was live.
func TestDeletePrefix(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	db := dbtest.Open(t, pgtest.New(t), nil)
	long := bytes.Repeat([]byte("long"), 300) // 1,200 bytes: more than is indexed
	for name, indexed := range map[string]bool{"indexed": true, "plain": false} {
		t.Run(name, func(t *testing.T) {
			require.NoError(t, db.CreateCache(ctx, howdah.CacheConfig{Name: name, PrefixIndex: indexed}))
			cache := db.Cache(name)
			// 6,000 with the longest prefix that is indexed as a whole, of which
			// a third has expired; 6,000 that only begin alike, and 12,000 others.
			dbtest.Exec(t, db, fmt.Sprintf(`
				INSERT INTO %s (hash, version, expires_at, key, value)
				SELECT howdah.key_hash(key), 1, expires_at, key, ''
				FROM generate_series(1, 6000) AS i,
				     LATERAL (VALUES (substring($1::bytea FROM 1 FOR 1024) || int4send(i), 'infinity'::timestamptz),
				                     ('plain:' || int4send(i), CASE WHEN i %% 3 = 0 THEN '-infinity' ELSE 'infinity' END::timestamptz),
				                     ('\xff'::bytea || int4send(i), 'infinity'), ($1 || int4send(i), 'infinity')) AS v (key, expires_at)`, pgtest.Table(t, db.Pool(), name)), long)
			left := 24_000
			for _, step := range []struct {
				prefix     []byte
				live, rows int
			}{
				{[]byte("nothing"), 0, 0},
				{[]byte("plain:"), 4000, 6000},
				{[]byte("plain:"), 0, 0},
				{[]byte{0xff}, 6000, 6000},
				{long, 6000, 6000},
				{long[:1024], 6000, 6000},
			} {
				n, err := cache.DeletePrefix(ctx, string(step.prefix))
				require.NoError(t, err)
				require.EqualValues(t, step.live, n, "%.20q", step.prefix)
				left -= step.rows
				require.EqualValues(t, left, dbtest.Number(t, db, "SELECT count(*) FROM "+pgtest.Table(t, db.Pool(), name)))
			}
			dbtest.Fill(t, db, name, 12_000, "'infinity'")
			n, err := cache.DeletePrefix(ctx, "")
			require.NoError(t, err)
			require.EqualValues(t, 12_000, n, "no prefix is everything")

			// In a transaction too, and it ends with it.
			dbtest.Fill(t, db, name, 10, "'infinity'")
			tx, err := db.Pool().Begin(ctx)
			require.NoError(t, err)
			n, err = cache.With(tx).DeletePrefix(ctx, "key:")
			require.NoError(t, err)
			require.EqualValues(t, 10, n)
			require.NoError(t, tx.Rollback(ctx))
			require.EqualValues(t, 10, dbtest.Number(t, db, "SELECT count(*) FROM "+pgtest.Table(t, db.Pool(), name)))
		})
	}
}

// A cache with a prefix index finds what DeletePrefix removes by it, and reads
// nothing of the others.
func TestDeletePrefixUsesItsIndex(t *testing.T) {
	t.Parallel()
	db := dbtest.Open(t, pgtest.New(t), nil)
	require.NoError(t, db.CreateCache(t.Context(), howdah.CacheConfig{Name: "c", PrefixIndex: true}))
	dbtest.Fill(t, db, "c", 30_000, "'infinity'")
	dbtest.Exec(t, db, "ANALYZE "+pgtest.Table(t, db.Pool(), "c"))
	// What this session has read is counted in its own transaction at once.
	tx, err := db.Pool().Begin(t.Context())
	require.NoError(t, err)
	defer tx.Rollback(context.Background())
	read := func() (n int64) {
		t.Helper()
		require.NoError(t, tx.QueryRow(t.Context(), `
			SELECT coalesce(pg_stat_get_xact_tuples_returned('`+pgtest.Table(t, tx, "c")+`'::regclass), 0)
			     + sum(pg_stat_get_xact_tuples_returned(indexrelid))
			FROM pg_index WHERE indrelid = '`+pgtest.Table(t, tx, "c")+`'::regclass`).Scan(&n))
		return n
	}
	before := read()
	n, err := db.Cache("c").With(tx).DeletePrefix(t.Context(), "key:2999")
	require.NoError(t, err)
	require.EqualValues(t, 11, n)
	require.Less(t, read()-before, int64(1000))
}
