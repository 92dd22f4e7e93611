package server

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/howdah/howdah/internal/pgtest"
)

func TestHealthAndMetrics(t *testing.T) {
	s := start(t, func(c *Config) { c.Token, c.Version, c.Timeout = "token", "1.2.3", 10*time.Second })
	ctx := t.Context()

	status, body := s.get("/healthz", "")
	require.Equal(t, http.StatusOK, status)
	require.JSONEq(t, `{"status":"ok"}`, body)
	status, body = s.get("/readyz", "")
	require.Equal(t, http.StatusOK, status)
	require.JSONEq(t, `{"status":"ready"}`, body)
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
	hits := metric(`howdah_call_hits_total{cache="db0",verb="get"}`)
	for range 5 {
		require.Equal(t, "v", c.Get(ctx, "k").Val())
	}
	require.ErrorIs(t, c.Get(ctx, "absent").Err(), redis.Nil)
	require.Equal(t, hits+5, metric(`howdah_call_hits_total{cache="db0",verb="get"}`))
	require.Equal(t, 1.0, metric(`howdah_call_misses_total{cache="db0",verb="get"}`))
	require.Equal(t, 6.0, metric(`howdah_calls_total{cache="db0",verb="get"}`))
	require.Equal(t, 6.0, metric(`howdah_call_duration_seconds_count{cache="db0",verb="get"}`))
	require.Equal(t, 6.0, metric(`howdah_redis_commands_total{command="get"}`))
	require.Positive(t, metric(`howdah_batch_keys_count{cache="db0"}`))
	require.Equal(t, 1.0, metric("howdah_redis_clients"))
	require.Equal(t, 10000.0, metric("howdah_redis_clients_max"))
	require.Equal(t, 8.0, metric("howdah_pool_connections_max"))
	require.Positive(t, metric("go_goroutines"))

	require.NoError(t, c.Set(ctx, "short", "v", time.Millisecond).Err())
	require.Eventually(t, func() bool {
		return metric(`howdah_upkeep_removed_total{reason="expired"}`) >= 1
	}, 30*time.Second, 20*time.Millisecond, "nobody removed an expired row")
	require.Equal(t, 1.0, metric("howdah_upkeep_leader"))
	_, body = s.get("/metrics", "token")
	require.Contains(t, body, `howdah_build_info{`)
	require.Contains(t, body, `version="1.2.3"`)
}

func TestNotReady(t *testing.T) {
	postgres := pgtest.Own(t)
	s := start(t, func(c *Config) { c.DatabaseURL = postgres.NewURL() })
	postgres.Stop("fast")
	status, body := s.get("/readyz", "")
	require.Equal(t, http.StatusServiceUnavailable, status)
	require.Contains(t, body, "the database cannot be reached")
	status, _ = s.get("/healthz", "")
	require.Equal(t, http.StatusOK, status)
}
