package upkeep

import (
	"bytes"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/howdah/howdah/internal/engine"
	"github.com/howdah/howdah/internal/statement"
	"github.com/howdah/howdah/internal/test/pgtest"
	"github.com/howdah/howdah/internal/verb"
)

// While PostgreSQL is down that is logged once, and that upkeep works again only
// when it does. What asks PostgreSQL nothing proves nothing.
func TestUpkeepLogsAnOutageOnce(t *testing.T) {
	t.Parallel()
	server := pgtest.Own(t)
	pool, err := pgxpool.New(t.Context(), server.NewURL())
	require.NoError(t, err)
	t.Cleanup(pool.Close)
	log := new(bytes.Buffer)
	set := engine.New(pool, engine.Options{Timeout: 20 * time.Second, Logger: slog.New(slog.NewTextHandler(log, nil))})
	r := &run{Upkeep: New(set, nil, true, 0), schedule: newSchedule(), holder: "test"}
	count := func(text string) int { return strings.Count(log.String(), text) }

	now := time.Unix(1000, 0)
	r.tick(t.Context(), now)
	require.Zero(t, count("upkeep failed"), log)
	server.Stop("fast")
	pool.Reset()
	for range 12 { // at every second of these the reads are to be noted, of which there are none
		now = now.Add(flushInterval / 2)
		r.tick(t.Context(), now)
		r.tick(t.Context(), now.Add(time.Millisecond))
	}
	require.Equal(t, 1, count("upkeep failed"), log)
	require.Zero(t, count("works again"), log)
	server.Start()
	pool.Reset()
	r.tick(t.Context(), now.Add(time.Hour))
	require.Equal(t, 1, count("works again"), log)
}

// The leader learns from the setting that it reads each second that somebody waits for
// events of expired keys.
func TestRoundsForExpiredEvents(t *testing.T) {
	t.Parallel()
	pool, err := pgxpool.New(t.Context(), pgtest.New(t))
	require.NoError(t, err)
	t.Cleanup(pool.Close)
	set := engine.New(pool, engine.Options{Timeout: 20 * time.Second, Logger: slog.New(slog.DiscardHandler)})
	r := &run{Upkeep: New(set, nil, true, 0), schedule: newSchedule(), holder: "test"}
	r.AskEvents = func() func(string) bool { return func(setting string) bool { return setting == "xE" } }

	now := time.Now()
	for _, setting := range []string{"", "gE", "xE"} {
		_, err := pool.Exec(t.Context(), "UPDATE howdah_internal.notification SET events = $1", setting)
		require.NoError(t, err)
		now = now.Add(watchInterval)
		r.schedule.nextRound = now.Add(longestPause)
		r.tick(t.Context(), now)
		require.True(t, r.schedule.leads)
		if setting == "xE" {
			require.Equal(t, now.Add(eventPause), r.schedule.nextRound)
		} else {
			require.Equal(t, now.Add(longestPause), r.schedule.nextRound, setting)
		}
	}
}

// A process keeps a budget of which nothing may be evicted from its first row on, though
// the cache is newer than the last look at the budgets. It goes on when a round has found
// how much room there is.
func TestBudgetBindsTheFirstWriters(t *testing.T) {
	t.Parallel()
	for name, watchedBefore := range map[string]bool{"made before the watch": true, "made after it": false} {
		t.Run(name, func(t *testing.T) {
			pool, err := pgxpool.New(t.Context(), pgtest.New(t))
			require.NoError(t, err)
			t.Cleanup(pool.Close)
			called := make(chan struct{}, 1)
			set := engine.New(pool, engine.Options{
				Timeout: 20 * time.Second, LockTimeout: 20 * time.Millisecond, MaxValueBytes: 1 << 20, MaxBatchKeys: 256, MaxBatchBytes: 1 << 20,
				MaxQueueBytes: 64 << 20, MaxConns: int(pool.Config().MaxConns), OwnPool: true, Logger: slog.New(slog.DiscardHandler), Called: called,
			})
			r := &run{Upkeep: New(set, called, true, 0), schedule: newSchedule(), holder: "test"}
			exec := func(sql string) {
				_, err := pool.Exec(t.Context(), sql)
				require.NoError(t, err, sql)
			}
			const create = "SELECT howdah.create_cache('c', eviction => 'noeviction', max_entries => 1000)"
			now := time.Now()
			if watchedBefore {
				exec(create)
				r.tick(t.Context(), now)
			} else {
				r.tick(t.Context(), now)
				exec(create)
			}
			exec("SELECT howdah.set_text('c', 'old:' || i, 'v') FROM generate_series(1, 900) AS i")

			e, err := set.Engine(t.Context(), "c", pool)
			require.NoError(t, err)
			var stored, refused atomic.Int64
			var writers sync.WaitGroup
			for i := range 500 {
				writers.Go(func() {
					call := &verb.Call{Verb: statement.Set, Key: fmt.Appendf(nil, "new:%d", i)}
					if err := e.Do(t.Context(), call); err != nil {
						t.Error(err)
					} else if call.Status == verb.CacheFull {
						refused.Add(1)
					} else {
						stored.Add(1)
					}
				})
			}
			ended := make(chan struct{})
			go func() { writers.Wait(); close(ended) }()
			<-called // the first rows are used up
			require.LessOrEqual(t, number(t, pool, "SELECT howdah.count('c')"), int64(900+32))

			for done := false; !done; {
				now = now.Add(watchInterval / 10)
				r.schedule.call()
				r.tick(t.Context(), now)
				select {
				case <-ended:
					done = true
				default:
				}
			}
			require.EqualValues(t, 500, stored.Load()+refused.Load())
			require.InDelta(t, 1000, number(t, pool, "SELECT howdah.count('c')"), 33)
			require.Positive(t, refused.Load())
		})
	}
}

func number(t *testing.T, pool *pgxpool.Pool, sql string) (n int64) {
	t.Helper()
	require.NoError(t, pool.QueryRow(t.Context(), sql).Scan(&n))
	return n
}
