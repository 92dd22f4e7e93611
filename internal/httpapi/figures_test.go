package httpapi

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/howdah/howdah/internal/core"
	"github.com/howdah/howdah/internal/figures"
	"github.com/howdah/howdah/internal/test/await"
	"github.com/howdah/howdah/internal/test/pgtest"
)

func withFigures(t testing.TB) func(*Options) {
	return func(o *Options) {
		o.Figures = figures.New(figures.Options{DB: o.DB, Patience: time.Minute})
		t.Cleanup(o.Figures.Close)
	}
}

func (c *client) figures(path string) (got map[string]any) {
	c.t.Helper()
	require.NoError(c.t, json.Unmarshal([]byte(c.do("GET", path, "").want(c.t, 200).body), &got))
	require.NotContains(c.t, got, "error")
	require.GreaterOrEqual(c.t, got["age"], 0.0)
	return got
}

func TestFigures(t *testing.T) {
	t.Parallel()
	c := serve(t, withFigures(t))
	for i := range 12 {
		c.do("PUT", entryPath("db0", fmt.Sprintf("user:%d:name", i%4*10+i))+"?ttl=1h", "v").want(t, 201)
	}
	c.do("PUT", entryPath("db0", "\xff:x"), "v").want(t, 201)

	stats := c.figures("/v1/stats")["stats"].(map[string]any)
	require.Equal(t, "db0", stats["tables"].([]any)[0].(map[string]any)["name"])
	require.NotContains(t, c.figures("/v1/stats"), "history")
	require.Contains(t, c.figures("/v1/stats?history=true"), "history")

	d := c.figures("/v1/caches/db0/distribution")["distribution"].(map[string]any)
	require.Equal(t, 13.0, d["entries"])
	require.Equal(t, true, d["exact"])
	sample := c.figures("/v1/caches/db0/sample")["sample"].(map[string]any)
	groups := sample["groups"].([]any)
	require.Len(t, groups, 2)
	require.Equal(t, "user:", groups[0].(map[string]any)["prefix"])
	require.Equal(t, 12.0, groups[0].(map[string]any)["entries"])
	require.Equal(t, map[string]any{"base64": "/zo="}, groups[1].(map[string]any)["prefix"])
	below := c.figures("/v1/caches/db0/sample?prefix=user:&limit=5")["sample"].(map[string]any)
	require.Len(t, below["groups"], 5)
	require.Equal(t, 7.0, below["others"].(map[string]any)["entries"])
	require.Equal(t, below, c.figures("/v1/caches/db0/sample?prefix64=dXNlcjo&limit=5")["sample"])

	report := c.figures("/v1/doctor")["report"].(map[string]any)
	require.Contains(t, report["caches"], "howdah.cache_db0")
	again := c.do("POST", "/v1/doctor", "").want(t, 200)
	require.NotContains(t, again.body, report["checked_at"], "it was examined anew")
	require.Contains(t, c.figures("/v1/cost")["cost"], "limits")
	servers := c.figures("/v1/servers")["servers"].(map[string]any)
	require.Contains(t, servers, "members")
	require.Equal(t, []any{}, servers["processes"], "none is a process of howdah serve")

	for path, status := range map[string]int{
		"/v1/caches/none/distribution":                    404,
		"/v1/caches/none/sample":                          404,
		"/v1/caches/a%00b/sample":                         400,
		"/v1/caches/db0/sample?limit=0":                   400,
		"/v1/caches/db0/sample?limit=1001":                400,
		"/v1/caches/db0/sample?prefix=a&prefix64=b":       400,
		"/v1/caches/db0/sample?prefix64=%2B":              400,
		"/v1/stats?history=1":                             400,
		"/v1/history?minutes=0":                           400,
		"/v1/history?minutes=1441":                        400,
		"/v1/history?hours=1":                             400,
		"/v1/stats?x=1":                                   400,
		"/v1/doctor?x=1":                                  400,
		"/v1/cost?x=1":                                    400,
		"/v1/servers?x=1":                                 400,
		"/v1/caches/db0/distribution?prefix=not-for-this": 400,
	} {
		c.do("GET", path, "").want(t, status)
	}
	c.do("DELETE", "/v1/doctor", "").want(t, 405)
	c.do("POST", "/v1/doctor", "", "If-Match: *").want(t, 400)
	c.do("POST", "/v1/stats", "").want(t, 405)

	// Without figures there are no such routes.
	serve(t, nil).do("GET", "/v1/stats", "").want(t, 404)
}

// The minutes that a server remembers are answered, all or the last ones, while it goes on remembering.
func TestHistory(t *testing.T) {
	t.Parallel()
	var f *figures.Figures
	c := serve(t, func(o *Options) {
		f = figures.New(figures.Options{DB: o.DB, Minute: time.Millisecond, Clients: func() int { return 3 }})
		t.Cleanup(f.Close)
		o.Figures = f
	})
	type answer struct {
		Sees    string
		Since   *time.Time
		Minutes []map[string]any
	}
	ask := func(path string) (got answer) {
		t.Helper()
		require.NoError(t, json.Unmarshal([]byte(c.do("GET", path, "").want(t, 200).body), &got))
		return got
	}
	require.Equal(t, answer{Sees: "this server", Minutes: []map[string]any{}}, ask("/v1/history"), "nothing records")

	go f.Record(t.Context())
	await.True(t, "two points", func() bool { return len(ask("/v1/history").Minutes) >= 2 })
	got := ask("/v1/history?minutes=1")
	require.NotNil(t, got.Since)
	require.Len(t, got.Minutes, 1)
	for _, name := range []string{"at", "seconds", "calls", "reads", "writes", "errors", "hit", "p50", "p99",
		"expired", "evicted", "clients", "connections"} {
		require.Contains(t, got.Minutes[0], name)
	}
	require.Equal(t, 3.0, got.Minutes[0]["clients"])
	require.Nil(t, got.Minutes[0]["p99"], "nothing was called")
	c.do("POST", "/v1/history", "").want(t, 405)
}

// The last good figures are answered while PostgreSQL is away, and a problem without any.
func TestFiguresWithoutADatabase(t *testing.T) {
	t.Parallel()
	server := pgtest.Own(t)
	db, err := core.Open(t.Context(), server.NewURL(), core.Options{Timeout: 10 * time.Second})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	c := serve(t, func(o *Options) {
		o.DB = db
		o.Figures = figures.New(figures.Options{DB: db, Interval: time.Millisecond, Patience: time.Minute})
		t.Cleanup(o.Figures.Close)
	})
	c.figures("/v1/stats")
	server.Stop("immediate")
	var got map[string]any
	require.Eventually(t, func() bool {
		answer := c.do("GET", "/v1/stats", "").want(t, 200)
		require.NoError(t, json.Unmarshal([]byte(answer.body), &got))
		return got["error"] != nil
	}, time.Minute, time.Millisecond)
	require.Equal(t, "The database is away. Nothing was changed; try again later.", got["error"])
	require.Positive(t, got["age"])
	require.NotEmpty(t, got["stats"])
	c.do("GET", "/v1/caches/db0/distribution", "").want(t, 503)
}
