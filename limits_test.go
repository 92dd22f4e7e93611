package howdah_test

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/howdah/howdah"
	"github.com/howdah/howdah/internal/test/pgtest"
)

// A role may have two connections, and the library asks for eight. Calls wait
// for the two.
func TestFewerConnectionsThanAskedFor(t *testing.T) {
	t.Parallel()
	server := pgtest.Own(t, "fsync", "off", "max_connections", "60")
	ctx := t.Context()
	databaseURL := server.NewURL()
	owner := open(t, databaseURL, nil)
	super, err := pgx.Connect(ctx, server.SuperURL())
	require.NoError(t, err)
	defer super.Close(context.WithoutCancel(ctx))
	_, err = super.Exec(ctx, "CREATE ROLE few LOGIN PASSWORD 'p' CONNECTION LIMIT 2")
	require.NoError(t, err)
	execute(t, owner, "SELECT howdah.grant_runtime('few')")

	address, err := url.Parse(databaseURL)
	require.NoError(t, err)
	address.User = url.UserPassword("few", "p")
	db := open(t, address.String(), &howdah.Options{Timeout: 20 * time.Second})
	running(t, db)
	cache := db.Cache("db0")
	together(64, func(i int) {
		for n := range 20 {
			key := fmt.Sprint(i, ".", n)
			require.NoError(t, cache.Set(ctx, key, []byte(key), 0))
			value, err := cache.Get(ctx, key)
			require.NoError(t, err)
			require.Equal(t, key, string(value))
			if i%16 == 0 && n%5 == 0 {
				_, _, err := cache.Scan(ctx, 0, howdah.ScanOptions{})
				require.NoError(t, err)
				require.NoError(t, db.Transact(ctx, howdah.TxOptions{}, func(ctx context.Context, tx pgx.Tx) error {
					return cache.With(tx).Set(ctx, key, nil, 0)
				}))
			}
		}
	})
	eventually(t, "a connection was refused", func() bool { // a fast machine may need only those that it gets
		together(32, func(i int) { require.NoError(t, cache.Set(ctx, fmt.Sprint(i), nil, 0)) })
		return db.Stats().Pool.Limit <= 2
	})
	require.EqualValues(t, 8, db.Stats().Pool.Max)

	// Once more are allowed, more are used.
	_, err = super.Exec(ctx, "ALTER ROLE few CONNECTION LIMIT -1")
	require.NoError(t, err)
	eventually(t, "the limit is gone", func() bool {
		together(32, func(i int) { require.NoError(t, cache.Set(ctx, fmt.Sprint(i), nil, 0)) })
		return db.Stats().Pool.Limit == 8
	})
}

// Two processes write flat out to a cache that may evict nothing. Together they
// stay within the budget.
func TestNoEvictionKeepsItsBudget(t *testing.T) {
	for _, test := range []struct {
		name, settings, used string
		budget               int64
	}{
		{"entries", "max_entries => 20000", "count(*)", 20_000},
		{"bytes", "max_bytes => 8000000", "sum(octet_length(key) + octet_length(value) + 100)::bigint", 8_000_000},
	} {
		t.Run(test.name, func(t *testing.T) {
			databaseURL := pgtest.New(t)
			options := &howdah.Options{Timeout: 20 * time.Second}
			dbs := []*howdah.DB{open(t, databaseURL, options), open(t, databaseURL, options)}
			execute(t, dbs[0], "SELECT howdah.create_cache('c', eviction => 'noeviction', "+test.settings+")")
			for _, db := range dbs {
				running(t, db)
			}
			eventually(t, "one leads", func() bool { return dbs[0].Stats().Upkeep.Leader || dbs[1].Stats().Upkeep.Leader })
			var writers sync.WaitGroup
			var stored atomic.Int64
			for g := range 64 {
				cache := dbs[g%2].Cache("c")
				writers.Go(func() {
					for i := 0; ; i++ {
						err := cache.Set(context.Background(), fmt.Sprintf("%d:%d", g, i), make([]byte, 250), 0)
						if errors.Is(err, howdah.ErrCacheFull) {
							return
						}
						if err != nil {
							t.Error(err)
							return
						}
						stored.Add(1)
					}
				})
			}
			writers.Wait()
			used := number(t, dbs[0], "SELECT "+test.used+" FROM "+pgtest.Table(t, dbs[0].Pool(), "c"))
			t.Logf("%d stored, %.3f of the budget", stored.Load(), float64(used)/float64(test.budget))
			require.LessOrEqual(t, used, test.budget*103/100)
			require.GreaterOrEqual(t, used, test.budget*97/100)
		})
	}
}

// What is large gets the time that its bytes need, beyond Options.Timeout.
func TestLargeValuesGetTime(t *testing.T) {
	url := pgtest.New(t)
	db := open(t, url, nil)
	cache := db.Cache("db0")
	large := make([]byte, howdah.DefaultMaxValueBytes)
	require.NoError(t, cache.Set(t.Context(), "set", large, 0))
	length, err := cache.SetRange(t.Context(), "range", howdah.DefaultMaxValueBytes-3, []byte("end"), 0)
	require.NoError(t, err)
	require.Equal(t, howdah.DefaultMaxValueBytes, length)
	require.NoError(t, cache.SetMany(t.Context(), []howdah.Item{{Key: "a", Value: large[:30<<20]}, {Key: "b", Value: large[:30<<20]}}, 0))

	// Behind rows that are held, each call lasts as long as it may.
	const timeout, size, sizeTakes = time.Second, 16 << 20, 500 * time.Millisecond
	tx, err := db.Pool().Begin(t.Context())
	require.NoError(t, err)
	defer tx.Rollback(t.Context())
	_, err = tx.Exec(t.Context(), "SELECT FROM "+pgtest.Table(t, tx, "db0")+" FOR UPDATE")
	require.NoError(t, err)
	hurried := open(t, url, &howdah.Options{Timeout: timeout}).Cache("db0")
	for name, call := range map[string]func() error{
		"set":       func() error { return hurried.Set(t.Context(), "set", large[:size], 0) },
		"set range": func() error { _, err := hurried.SetRange(t.Context(), "range", size-3, []byte("end"), 0); return err },
		"set many": func() error {
			return hurried.SetMany(t.Context(), []howdah.Item{{Key: "a", Value: large[:size/2]}, {Key: "b", Value: large[:size/2]}}, 0)
		},
	} {
		began := time.Now()
		require.Error(t, call(), name)
		require.GreaterOrEqual(t, time.Since(began), timeout+sizeTakes, name)
	}
}

// ErrTimeout is context.DeadlineExceeded too, wherever the time runs out, and
// an error matches one sentinel only.
func TestTimeoutsMatchDeadlineExceeded(t *testing.T) {
	server := pgtest.Own(t, "fsync", "off", "max_connections", "60")
	ctx := t.Context()
	// Whether a call has waited for a lock is known two LockTimeouts after its deadline at most.
	db := open(t, server.NewURL(), &howdah.Options{Timeout: time.Second, LockTimeout: 500 * time.Millisecond})
	cache := db.Cache("db0")
	eventually(t, "it answers", func() bool { return cache.Set(ctx, "k", nil, 0) == nil })

	holder, err := db.Pool().Begin(ctx)
	require.NoError(t, err)
	require.NoError(t, cache.With(holder).Set(ctx, "k", nil, 0))
	check := func(err error) {
		t.Helper()
		require.ErrorIs(t, err, howdah.ErrTimeout)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.NotErrorIs(t, err, howdah.ErrUnknownOutcome)
	}
	tx, err := db.Pool().Begin(ctx)
	require.NoError(t, err)
	short, cancel := context.WithTimeout(ctx, 200*time.Millisecond)
	defer cancel()
	check(cache.With(tx).Set(short, "k", []byte("late"), 0))
	_ = tx.Rollback(ctx) // its connection is gone
	for range 3 {
		check(cache.Set(ctx, "k", []byte("late"), 0))
	}
	require.NoError(t, holder.Rollback(ctx))

	server.Freeze()
	_, err = cache.Get(ctx, "k")
	check(err)
	_, err = cache.FailOpen().Get(ctx, "k")
	require.ErrorIs(t, err, howdah.ErrMiss)
	require.NotErrorIs(t, err, howdah.ErrTimeout)
	server.Thaw()
}
