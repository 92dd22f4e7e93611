package crash_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/howdah/howdah"
	"github.com/howdah/howdah/internal/test/dbtest"
	"github.com/howdah/howdah/internal/test/pgtest"
	"github.com/stretchr/testify/require"
)

// TestRestarts stops, kills and starts PostgreSQL under load: callers get
// errors within their deadline, never a wrong value, and service resumes.
func TestRestarts(t *testing.T) {
	t.Parallel()
	server := pgtest.Own(t, "fsync", "off")
	url := server.NewURL()
	db, err := howdah.Open(t.Context(), url, &howdah.Options{Timeout: 500 * time.Millisecond})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	cache := db.Cache("db0")
	require.NoError(t, db.CreateCache(t.Context(), howdah.CacheConfig{Name: "kept", Durability: "sync"}))
	kept := db.Cache("kept")

	ctx, stop := context.WithCancel(t.Context())
	var acknowledged [16]atomic.Int64
	var successes atomic.Int64
	var workers sync.WaitGroup
	for i := range acknowledged {
		workers.Go(func() {
			key := fmt.Sprint("k", i)
			for n := int64(1); ctx.Err() == nil; n++ {
				ctx, ended := dbtest.Unhurried(t) // for three calls
				v := fmt.Appendf(nil, "%s=%d", key, n)
				if err := kept.Set(ctx, key, v, 0); err == nil {
					acknowledged[i].Store(n)
					successes.Add(1)
				}
				got, err := cache.Get(ctx, key)
				if err == nil && !strings.HasPrefix(string(got), key+"=") {
					t.Errorf("%s holds %q", key, got)
				}
				if err != nil && !errors.Is(err, howdah.ErrMiss) && !errors.Is(err, howdah.ErrUnavailable) && !errors.Is(err, howdah.ErrTimeout) {
					t.Errorf("read failed with %v", err)
				}
				if err := cache.Set(ctx, key, v, 0); err != nil {
					require.True(t, errors.Is(err, howdah.ErrUnavailable) || errors.Is(err, howdah.ErrUnknownOutcome) || errors.Is(err, howdah.ErrTimeout), "%v", err)
				}
				ended()
			}
		})
	}
	serves := func() {
		t.Helper()
		before := successes.Load()
		require.Eventually(t, func() bool { return successes.Load() > before+100 }, time.Minute, 5*time.Millisecond)
	}
	serves()
	for _, end := range []func(){
		func() { server.Stop("fast") }, func() { server.Stop("immediate") }, server.Kill,
	} {
		end()
		server.Start()
		serves()
	}
	stop()
	workers.Wait()
	kept = dbtest.Open(t, url, nil).Cache("kept")
	for i := range acknowledged {
		got, err := kept.Get(t.Context(), fmt.Sprint("k", i))
		require.NoError(t, err)
		var n int64
		_, err = fmt.Sscanf(string(got), fmt.Sprintf("k%d=%%d", i), &n)
		require.NoError(t, err)
		require.GreaterOrEqual(t, n, acknowledged[i].Load(), "an acknowledged write of class sync was lost")
	}
}

// TestFailOpen makes misses of reads that cannot be answered.
func TestFailOpen(t *testing.T) {
	t.Parallel()
	server := pgtest.Own(t, "fsync", "off")
	db, err := howdah.Open(t.Context(), server.NewURL(), &howdah.Options{Timeout: 2 * time.Second})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	cache := db.Cache("db0").FailOpen()
	require.NoError(t, cache.Set(t.Context(), "k", []byte("v"), 0))
	server.Stop("immediate")
	_, err = cache.Get(t.Context(), "k")
	require.ErrorIs(t, err, howdah.ErrMiss)
	many, err := cache.GetMany(t.Context(), []string{"k"})
	require.NoError(t, err)
	require.Empty(t, many)
	require.Error(t, cache.Set(t.Context(), "k", nil, 0))
	_, err = db.Cache("db0").Get(t.Context(), "k")
	require.ErrorIs(t, err, howdah.ErrUnavailable)
}
