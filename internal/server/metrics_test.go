package server

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"github.com/howdah/howdah"
	"github.com/howdah/howdah/internal/core"
	"github.com/howdah/howdah/internal/pgtest"
)

// series are the lines of a scrape that are Howdah's own.
func (s *running) series() (lines []string) {
	s.t.Helper()
	status, body := s.get("/metrics", "")
	require.Equal(s.t, 200, status)
	for line := range strings.Lines(body) {
		if strings.HasPrefix(line, "howdah_") {
			lines = append(lines, line)
		}
	}
	return lines
}

// A monitoring system stores each series for months: there are few, however many
// commands are used on however many databases.
func TestMetricsAreFew(t *testing.T) {
	s := start(t, nil)
	before := len(s.series())
	c := s.dial()
	for database := range 14 {
		for _, command := range []string{
			"SELECT %d", "SET k v", "GET k", "GETEX k EX 100", "MSET a 1 b 2", "MGET a b", "INCR n", "INCRBYFLOAT f 0.5",
			"APPEND k x", "SETRANGE k 1 y", "STRLEN k", "EXISTS k a", "EXPIRE k 100", "TTL k", "SETNX k v", "MSETNX x 1 y 2",
			"TOUCH k", "GETDEL k", "DEL a", "DEL a b",
		} {
			if strings.Contains(command, "%") {
				command = fmt.Sprintf(command, database)
			}
			c.send(strings.Fields(command)...)
			require.NoError(t, c.reply().Err(), command)
		}
	}
	after := len(s.series())
	t.Logf("%d series before, %d after 20 commands on 14 databases", before, after)
	require.Less(t, after, 40*14+3*20+100)
}

// Beyond a number of caches the others are added up.
func TestMetricsOfManyCaches(t *testing.T) {
	c := &collector{shown: make(map[string]bool)}
	var stats []howdah.CacheStats
	var states []cacheState
	for i := range 3 * maxCaches {
		name := fmt.Sprintf("c%03d", i)
		stats = append(stats, howdah.CacheStats{Name: name, Merged: 1, Verbs: []howdah.VerbStats{{Verb: "get", Calls: 2}, {Verb: "set", Calls: 3}}})
		states = append(states, cacheState{name: name, entries: 10})
	}
	figures := c.figures(stats, states)
	require.Len(t, figures, maxCaches+1)
	require.EqualValues(t, 2, figures["c000"].read.calls)
	require.EqualValues(t, 3, figures["c000"].write.calls)
	other := figures[otherCaches]
	require.EqualValues(t, 2*maxCaches, other.merged)
	require.EqualValues(t, 2*2*maxCaches, other.read.calls)
	require.EqualValues(t, 10*2*maxCaches, other.state.entries)
	// A cache keeps its series when others come before it.
	figures = c.figures(append([]howdah.CacheStats{{Name: "a"}}, stats...), states)
	require.NotContains(t, figures, "a")
	require.Contains(t, figures, "c000")
}

func TestCoarseHistogram(t *testing.T) {
	fine := howdah.Histogram{Bounds: []float64{1, 2, 4, 8}, Counts: []uint64{1, 2, 3, 4, 5}, Count: 15, Sum: 60}
	require.Equal(t, howdah.Histogram{Bounds: []float64{2, 8}, Counts: []uint64{3, 7, 5}, Count: 15, Sum: 60}, coarse(fine, []float64{2, 8}))
	twice := sum(sum(howdah.Histogram{}, fine), fine)
	require.Equal(t, []uint64{2, 4, 6, 8, 10}, twice.Counts)
	require.Equal(t, []uint64{1, 2, 3, 4, 5}, fine.Counts, "what was added stays")
	require.EqualValues(t, 30, twice.Count)
}

// The bounds that are shown are among those that are counted.
func TestDurationBounds(t *testing.T) {
	s := start(t, nil)
	c := s.dial()
	c.send("SET", "k", "v")
	c.reply()
	for _, cache := range s.stats().Caches {
		for _, verb := range cache.Verbs {
			for _, bound := range durationBounds {
				require.Contains(t, verb.Latency.Bounds, bound)
			}
		}
	}
}

// stats are those of a DB of the test's own on the server's database, after a call.
func (s *running) stats() howdah.Stats {
	s.t.Helper()
	db, err := howdah.Open(s.t.Context(), s.config.DatabaseURL, &howdah.Options{Timeout: patience})
	require.NoError(s.t, err)
	defer db.Close()
	_, err = db.Cache("db0").Get(s.t.Context(), "k")
	require.NoError(s.t, err)
	return db.Stats()
}

// What the database knows of the caches is shown, and that it is away.
func TestMetricsOfTheDatabase(t *testing.T) {
	s := start(t, nil)
	conn, err := pgx.Connect(t.Context(), s.config.DatabaseURL)
	require.NoError(t, err)
	defer conn.Close(t.Context())
	_, err = conn.Exec(t.Context(), `
		SELECT howdah.create_cache('limited', max_entries => 1000, max_bytes => 1000000);
		SELECT howdah.set_text('db0', 'key' || n, 'v') FROM generate_series(1, 500) AS n;
		ANALYZE `+pgtest.Table(t, conn, "db0")+`;
		INSERT INTO howdah.upkeep AS u (cache, entries, bytes, expired, evicted, last_round)
		VALUES ('limited', 70, 7000, 3, 4, now())
		ON CONFLICT (cache) DO UPDATE SET entries = 70, bytes = 7000, expired = 3, evicted = 4`)
	require.NoError(t, err)
	db, err := howdah.Open(t.Context(), s.config.DatabaseURL, &howdah.Options{Timeout: patience})
	require.NoError(t, err)
	states := cacheStates{db: (*core.DB)(db)}
	found, up := states.read()
	require.True(t, up)
	byName := make(map[string]cacheState)
	for _, state := range found {
		byName[state.name] = state
	}
	require.EqualValues(t, 500, byName["db0"].entries)
	require.Positive(t, byName["db0"].tableBytes)
	require.Zero(t, byName["db0"].maxBytes)
	limited := byName["limited"]
	require.Positive(t, limited.lastRound)
	require.EqualValues(t, 1000, limited.maxEntries)
	require.EqualValues(t, 1000000, limited.maxBytes)
	require.GreaterOrEqual(t, limited.expired, int64(3), "upkeep goes on meanwhile")
	require.GreaterOrEqual(t, limited.evicted, int64(4))

	series := strings.Join(s.series(), "")
	for _, name := range []string{"howdah_cache_entries", "howdah_cache_bytes", "howdah_cache_table_bytes", "howdah_cache_max_entries",
		"howdah_cache_max_bytes", "howdah_cache_expired_total", "howdah_cache_evicted_total"} {
		require.Contains(t, series, name+`{cache="limited"} `)
	}
	require.NotContains(t, series, `howdah_cache_bytes{cache="db0"}`)

	require.NoError(t, db.Close())
	states.asked = states.asked.Add(-2 * statesAge)
	last, up := states.read()
	require.False(t, up)
	require.Equal(t, found, last, "the last answer is kept")
}

// Claims are shown by what they found, for the caches that have any, and count in
// the hit ratio.
func TestMetricsOfClaims(t *testing.T) {
	s := start(t, nil)
	require.NotContains(t, strings.Join(s.series(), ""), "howdah_claims_total")
	db, err := howdah.Open(t.Context(), s.config.DatabaseURL, &howdah.Options{Timeout: patience})
	require.NoError(t, err)
	defer db.Close()
	load := func(context.Context) ([]byte, error) { return []byte("v"), nil }
	for range 3 {
		_, err = db.Cache("db0").Fetch(t.Context(), "k", time.Hour, load, howdah.FetchOptions{})
		require.NoError(t, err)
	}
	registry := prometheus.NewRegistry()
	registry.MustRegister(&collector{db: db, shown: make(map[string]bool), states: cacheStates{db: (*core.DB)(db)}})
	families, err := registry.Gather()
	require.NoError(t, err)
	values := make(map[string]float64)
	for _, family := range families {
		for _, metric := range family.Metric {
			name := family.GetName()
			for _, label := range metric.Label {
				name += " " + label.GetValue()
			}
			values[name] = metric.GetCounter().GetValue()
		}
	}
	for name, want := range map[string]float64{
		"howdah_claims_total db0 hit": 2, "howdah_claims_total db0 won": 1, "howdah_claims_total db0 lost": 0,
		"howdah_fulfils_total db0 stored": 1, "howdah_fulfils_total db0 voided": 0,
		"howdah_keys_total db0 read hit": 2, "howdah_keys_total db0 read miss": 1,
	} {
		got, there := values[name]
		require.True(t, there, name)
		require.Equal(t, want, got, name)
	}
}

// Every metric is documented, and nothing else is.
func TestMetricsAreDocumented(t *testing.T) {
	document, err := os.ReadFile("../../docs/operations.md")
	require.NoError(t, err)
	_, section, found := strings.Cut(string(document), "\n## Metrics\n")
	require.True(t, found, "docs/operations.md has a section Metrics")
	section, _, _ = strings.Cut(section, "\n## ")
	documented := make(map[string]bool)
	for _, name := range regexp.MustCompile("`(howdah_[a-z_]+)`").FindAllStringSubmatch(section, -1) {
		documented[name[1]] = true
	}
	described := make(map[string]bool)
	files, err := filepath.Glob("*.go")
	require.NoError(t, err)
	for _, file := range files {
		source, err := os.ReadFile(file)
		require.NoError(t, err)
		for _, name := range regexp.MustCompile(`= +describe\("([a-z_]+)"`).FindAllStringSubmatch(string(source), -1) {
			described["howdah_"+name[1]] = true
		}
	}
	require.Equal(t, described, documented)

	s := startNear(t, logged(t), time.Second)
	c := s.dial()
	c.send("SET", "k", "v")
	c.reply()
	for _, line := range s.series() {
		name := regexp.MustCompile(`^[a-z_]+`).FindString(line)
		for _, suffix := range []string{"", "_bucket", "_sum", "_count"} {
			if base, ok := strings.CutSuffix(name, suffix); ok && documented[base] {
				name = ""
				break
			}
		}
		require.Empty(t, name, "is not documented")
	}
}
