package server

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/howdah/howdah/internal/core"
	"github.com/howdah/howdah/internal/near"
	"github.com/howdah/howdah/internal/test/pgtest"
)

func TestHealthAndMetrics(t *testing.T) {
	t.Parallel()
	s := start(t, func(c *Config) { c.Token, c.Version, c.Timeout = "token", "1.2.3", 10*time.Second })
	ctx := t.Context()

	status, body := s.get("/healthz", "")
	require.Equal(t, http.StatusOK, status)
	require.JSONEq(t, `{"status":"ok"}`, body)
	s.awaitReady(http.StatusOK, `{"status":"ready"}`)
	status, _ = s.get("/metrics", "")
	require.Equal(t, http.StatusUnauthorized, status)
	status, _ = s.get("/metrics", "wrong")
	require.Equal(t, http.StatusUnauthorized, status)

	metric := func(name string) float64 {
		t.Helper()
		status, body := s.get("/metrics", "token")
		require.Equal(t, http.StatusOK, status)
		for line := range strings.Lines(body) {
			if rest, ok := strings.CutPrefix(line, name+" "); ok {
				var value float64
				_, err := fmt.Sscan(rest, &value)
				require.NoError(t, err)
				return value
			}
		}
		return 0
	}
	c := s.client()
	require.NoError(t, c.Set(ctx, "k", "v", 0).Err())
	const found = `howdah_keys_total{cache="db0",op="read",result="hit"}`
	hits := metric(found)
	for range 5 {
		require.Equal(t, "v", c.Get(ctx, "k").Val())
	}
	require.ErrorIs(t, c.Get(ctx, "absent").Err(), redis.Nil)
	require.Equal(t, hits+5, metric(found))
	require.Equal(t, 1.0, metric(`howdah_keys_total{cache="db0",op="read",result="miss"}`))
	require.Equal(t, 6.0, metric(`howdah_verb_calls_total{verb="get"}`))
	require.Equal(t, 6.0, metric(`howdah_call_duration_seconds_count{cache="db0",op="read"}`))
	require.Equal(t, 6.0, metric(`howdah_redis_commands_total{command="get"}`))
	require.Positive(t, metric(`howdah_batch_keys_count`))
	require.Equal(t, 1.0, metric("howdah_redis_clients"))
	require.Equal(t, 10000.0, metric("howdah_redis_clients_max"))
	require.Equal(t, 8.0, metric("howdah_pool_connections_max"))
	require.Equal(t, 8.0, metric("howdah_pool_connections_allowed"))
	require.Eventually(t, func() bool { return metric("howdah_database_up") == 1 }, patience, 20*time.Millisecond)
	require.Positive(t, metric("go_goroutines"))

	require.NoError(t, c.Set(ctx, "short", "v", time.Millisecond).Err())
	require.Eventually(t, func() bool {
		return metric(`howdah_upkeep_removed_total{reason="expired"}`) >= 1
	}, time.Minute, 20*time.Millisecond, "nobody removed an expired row")
	require.Equal(t, 1.0, metric("howdah_upkeep_leader"))
	_, body = s.get("/metrics", "token")
	require.Contains(t, body, `howdah_build_info{`)
	require.Contains(t, body, `version="1.2.3"`)
}

func TestNotReady(t *testing.T) {
	t.Parallel()
	postgres := pgtest.Own(t)
	s := start(t, func(c *Config) { c.DatabaseURL = postgres.NewURL() })
	postgres.Stop("fast")
	s.awaitReady(http.StatusServiceUnavailable, "the database cannot be reached")
	status, _ := s.get("/healthz", "")
	require.Equal(t, http.StatusOK, status)
}

// A server that can do less than it should says so, and stays ready.
func TestDegraded(t *testing.T) {
	t.Parallel()
	s := start(t, nil)
	conn, err := pgx.Connect(t.Context(), s.config.DatabaseURL)
	require.NoError(t, err)
	defer conn.Close(context.WithoutCancel(t.Context()))
	c := s.client()
	require.NoError(t, c.Set(t.Context(), "k", "v", 0).Err())
	s.awaitReady(http.StatusOK, `{"status":"ready"}`)
	execute(t, s.config.DatabaseURL, `CREATE FUNCTION no_room() RETURNS trigger LANGUAGE plpgsql AS $$
	     BEGIN RAISE 'could not extend file: no space left on device' USING ERRCODE = 'disk_full'; END $$;
	     CREATE TRIGGER no_room BEFORE INSERT ON `+pgtest.Table(t, conn, "db0")+` FOR EACH ROW EXECUTE FUNCTION no_room()`)
	require.Error(t, c.Set(t.Context(), "new", "v", 0).Err())
	require.Equal(t, "v", c.Get(t.Context(), "k").Val())
	s.awaitReady(http.StatusOK, `{"status":"degraded","reason":"the disk of the database is full: writes that need space fail"}`)
	_, metrics := s.get("/metrics", "")
	require.Contains(t, metrics, "\nhowdah_database_disk_full 1\n")
}

// A cache that refuses writes, and upkeep that nobody does, are said by /readyz.
func TestDegradedCaches(t *testing.T) {
	t.Parallel()
	s := start(t, nil)
	c := s.client()
	s.awaitReady(http.StatusOK, `{"status":"ready"}`)
	execute(t, s.config.DatabaseURL, "SELECT howdah.alter_cache('db0', max_entries => 10, eviction => 'noeviction')")
	require.Eventually(t, func() bool {
		for i := range 20 {
			if c.Set(t.Context(), fmt.Sprint("k", i), "v", 0).Err() != nil {
				return true
			}
		}
		return false
	}, time.Minute, 10*time.Millisecond)
	s.awaitReady(http.StatusOK, `{"status":"degraded","reason":"a cache is full and refuses writes: its eviction is noeviction"}`)
	execute(t, s.config.DatabaseURL, "SELECT howdah.alter_cache('db0', max_entries => 1000)")
	s.awaitReady(http.StatusOK, `{"status":"ready"}`)

	// Somebody holds the lease of upkeep and does none.
	execute(t, s.config.DatabaseURL, "UPDATE howdah.leader SET holder = 'nobody', until = now() + interval '1 hour'")
	require.Eventually(t, func() bool {
		execute(t, s.config.DatabaseURL, "UPDATE howdah.upkeep SET last_round = now() - interval '3 min'")
		_, body := s.get("/readyz", "")
		return strings.TrimSpace(body) == `{"status":"degraded","reason":"no server does upkeep: what has expired or exceeds a budget stays"}`
	}, time.Minute, 10*time.Millisecond)
}

func TestDegradation(t *testing.T) {
	t.Parallel()
	now := time.Now()
	began := now.Add(-time.Hour)
	const (
		full   = "the disk of the database is full: writes that need space fail"
		few    = "the database allows 2 of the 8 connections asked for"
		refuse = "a cache is full and refuses writes: its eviction is noeviction"
		idle   = "no server does upkeep: what has expired or exceeds a budget stays"
		lapsed = "the memory of this server has lapsed: reads ask the database"
	)
	round := func(ago ...time.Duration) (found states) {
		found.up = true
		for _, d := range ago {
			found.caches = append(found.caches, cacheState{lastRound: float64(now.Add(-d).Unix())})
		}
		return found
	}
	refusing := func(ago time.Duration) states {
		found := round(ago, ago)
		found.caches[1].full = true
		return found
	}
	never := states{up: true, caches: []cacheState{{}}}
	for name, test := range map[string]struct {
		stats core.Stats
		found states
		began time.Time
		want  string
	}{
		"well":                {core.Stats{Pool: core.PoolStats{Max: 8, Limit: 8}}, round(time.Hour, time.Minute), began, ""},
		"few connections":     {core.Stats{Pool: core.PoolStats{Max: 8, Limit: 2}}, states{}, began, few},
		"disk full":           {core.Stats{DiskFull: now}, states{}, began, full},
		"disk was full":       {core.Stats{DiskFull: now.Add(-diskFullFor - time.Second)}, states{}, began, ""},
		"a cache is full":     {core.Stats{}, refusing(time.Minute), began, refuse},
		"no upkeep":           {core.Stats{}, round(time.Hour, 3*time.Minute), began, idle},
		"never any upkeep":    {core.Stats{}, never, began, idle},
		"no upkeep yet":       {core.Stats{}, never, now, ""},
		"nothing to keep":     {core.Stats{}, states{up: true}, began, ""},
		"upkeep is not known": {core.Stats{}, states{caches: []cacheState{{lastRound: 1}}}, began, ""},
		"memory follows":      {core.Stats{Near: core.NearStats{Bound: time.Second, Stats: near.Stats{Lag: time.Second / 2}}}, states{}, began, ""},
		"memory has lapsed":   {core.Stats{Near: core.NearStats{Bound: time.Second, Stats: near.Stats{Lag: 2 * time.Second}}}, states{}, began, lapsed},
		"there is no memory":  {core.Stats{Near: core.NearStats{Stats: near.Stats{Lag: 2 * time.Second}}}, states{}, began, ""},
		"several at one time": {core.Stats{DiskFull: now, Pool: core.PoolStats{Max: 8, Limit: 2}}, refusing(time.Hour), began, full + "; " + few + "; " + refuse + "; " + idle},
	} {
		t.Run(name, func(t *testing.T) { require.Equal(t, test.want, degradation(test.stats, test.found, test.began)) })
	}
}
