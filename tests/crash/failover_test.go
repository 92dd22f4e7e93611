package crash_test

import (
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/howdah/howdah"
	"github.com/howdah/howdah/internal/test/dbtest"
	"github.com/howdah/howdah/internal/test/pgtest"
)

// kept makes a database with one durable cache and opens it.
func kept(t *testing.T, url string) *howdah.DB {
	t.Helper()
	db := dbtest.Open(t, url, nil)
	require.NoError(t, db.CreateCache(t.Context(), howdah.CacheConfig{Name: "kept", Durability: "sync"}))
	return db
}

// A program that was given a standby is told so in a sentence, and a cache
// that is there can be read.
func TestStandbyIsNoPrimary(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	primary := pgtest.Own(t, "fsync", "off")
	db := kept(t, primary.NewURL())
	require.NoError(t, db.Cache("kept").Set(ctx, "k", []byte("v"), 0))
	standby := primary.Standby("standby")
	standby.AwaitReplay(primary)

	_, err := howdah.Open(ctx, standby.URL(), nil)
	require.ErrorIs(t, err, howdah.ErrUnavailable)
	require.ErrorContains(t, err, "only a standby, which cannot store: name the primary in the database URL")

	reader := dbtest.Open(t, standby.URL()+"&target_session_attrs=standby", nil)
	value, err := reader.Cache("kept").Get(ctx, "k")
	require.NoError(t, err)
	require.Equal(t, "v", string(value))
	_, err = reader.Cache("db0").Get(ctx, "k")
	require.ErrorIs(t, err, howdah.ErrUnavailable)
	require.ErrorContains(t, err, "UNLOGGED caches cannot be read: name the primary")
	_, err = reader.Cache("db0").FailOpen().Get(ctx, "k")
	require.ErrorIs(t, err, howdah.ErrMiss)

	for name, write := range map[string]func(c *howdah.Cache) error{
		"set":       func(c *howdah.Cache) error { return c.Set(ctx, "k", nil, 0) },
		"set many":  func(c *howdah.Cache) error { return c.SetMany(ctx, []howdah.Item{{Key: "a"}, {Key: "b"}}, 0) },
		"delete":    func(c *howdah.Cache) error { return c.Delete(ctx, "k") },
		"increment": func(c *howdah.Cache) error { _, err := c.Increment(ctx, "n", 1, 0); return err },
		"flush":     func(c *howdah.Cache) error { return c.Flush(ctx) },
	} {
		err := write(reader.Cache("kept"))
		require.ErrorIs(t, err, howdah.ErrUnavailable, name)
		require.ErrorContains(t, err, "read-only, a standby or a primary that was fenced off", name)
		require.NotContains(t, err.Error(), "\n")
	}
	value, err = reader.Cache("kept").Get(ctx, "k")
	require.NoError(t, err)
	require.Equal(t, "v", string(value), "the reader still serves")
}

// An old primary that was fenced off goes on to answer, as a read-only server.
// Its sessions are not ended: it is by the SQLSTATE that clients must leave it
// for the one that was promoted.
func TestFencedPrimaryIsLeft(t *testing.T) {
	t.Parallel()
	primary := pgtest.Own(t, "fsync", "off")
	kept(t, primary.NewURL())
	standby := primary.Standby("standby")
	primary.Synchronous(standby)
	db := dbtest.Open(t, pgtest.Hosts(primary, standby)+"&target_session_attrs=read-write", nil)
	cache := db.Cache("kept")

	// One writer, whose last acknowledged number is known.
	var last atomic.Int64
	stop := make(chan struct{})
	var writer sync.WaitGroup
	halt := sync.OnceFunc(func() { close(stop); writer.Wait() })
	defer halt()
	writer.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
			}
			if n, err := cache.Increment(t.Context(), "n", 1, 0); err == nil {
				if n <= last.Swap(n) {
					t.Errorf("%d was counted twice: two servers took writes", n)
				}
			} else {
				outcomeOf(t, err)
			}
		}
	})
	progress := func() {
		t.Helper()
		before := last.Load()
		dbtest.Eventually(t, "writes", func() bool { return last.Load() > before+50 })
	}
	progress()
	super, err := pgx.Connect(t.Context(), primary.SuperURL())
	require.NoError(t, err)
	defer super.Close(t.Context())
	for _, sql := range []string{
		"SET default_transaction_read_only = off", "ALTER SYSTEM SET default_transaction_read_only = on", "SELECT pg_reload_conf()",
	} {
		_, err := super.Exec(t.Context(), sql)
		require.NoError(t, err)
	}
	dbtest.Eventually(t, "the fence", func() bool {
		before := last.Load()
		return cache.Set(t.Context(), "fence", nil, 0) != nil && last.Load() == before
	})
	standby.AwaitReplay(primary)
	standby.Promote()
	promoted := time.Now()
	progress()
	t.Logf("clients were at work on the new primary %v after the promotion", time.Since(promoted).Round(time.Millisecond))
	require.NoError(t, cache.Set(t.Context(), "k", []byte("new"), 0))
	value, err := dbtest.Open(t, standby.URL(), nil).Cache("kept").Get(t.Context(), "k")
	require.NoError(t, err)
	require.Equal(t, "new", string(value))
}

// A primary that hangs answers nothing and closes nothing. Calls end by their
// deadlines, and once a standby was promoted they find it.
func TestHungPrimaryIsLeft(t *testing.T) {
	t.Parallel()
	primary := pgtest.Own(t, "fsync", "off")
	kept(t, primary.NewURL())
	standby := primary.Standby("standby")
	db, err := howdah.Open(t.Context(), pgtest.Hosts(primary, standby)+"&connect_timeout=2", &howdah.Options{Timeout: 2 * time.Second})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	cache := db.Cache("kept")
	require.NoError(t, cache.Set(t.Context(), "k", []byte("v"), 0))
	standby.AwaitReplay(primary)
	primary.Freeze()
	frozen := time.Now()
	for range 3 {
		ctx, ended := dbtest.Unhurried(t)
		require.Error(t, cache.Set(ctx, "k", nil, 0))
		ended()
	}
	standby.Promote()
	promoted := time.Now()
	dbtest.Eventually(t, "reads", func() bool {
		value, err := cache.Get(t.Context(), "k")
		return err == nil && string(value) == "v"
	})
	require.NoError(t, cache.Set(t.Context(), "k", []byte("new"), 0))
	t.Logf("served %v after the promotion, %v after the primary hung",
		time.Since(promoted).Round(time.Millisecond), time.Since(frozen).Round(time.Millisecond))
}
