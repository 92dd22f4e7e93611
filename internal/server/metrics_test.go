package server

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/stretchr/testify/require"

	"github.com/howdah/howdah"
	"github.com/howdah/howdah/internal/core"
	"github.com/howdah/howdah/internal/engine"
	"github.com/howdah/howdah/internal/fault"
	"github.com/howdah/howdah/internal/httpapi"
	"github.com/howdah/howdah/internal/test/await"
	"github.com/howdah/howdah/internal/test/pgtest"
	"github.com/howdah/howdah/schema"
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

// known are the series of a scrape for which the database has answered in time.
func (s *running) known() (series string) {
	s.t.Helper()
	require.Eventually(s.t, func() bool {
		series = strings.Join(s.series(), "")
		return strings.Contains(series, "howdah_database_up 1\n")
	}, patience, 100*time.Millisecond)
	return series
}

// scraped is the number of series of a scrape, those of Go and of the process
// included.
func (s *running) scraped() (n int) {
	s.t.Helper()
	status, body := s.get("/metrics", "")
	require.Equal(s.t, 200, status)
	for line := range strings.Lines(body) {
		if !strings.HasPrefix(line, "#") {
			n++
		}
	}
	return n
}

// A monitoring system stores each series for months: there are few, however many
// commands are used on however many databases, and whatever clients send.
func TestMetricsAreFew(t *testing.T) {
	t.Parallel()
	s := start(t, nil)
	before := s.scraped()
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
	require.Eventually(t, func() bool { // the report comes when it is ready
		series := strings.Join(s.series(), "")
		return strings.Contains(series, "howdah_doctor_findings") && strings.Contains(series, `howdah_cache_entries{cache="db13"}`)
	}, patience, 50*time.Millisecond)
	after := s.scraped()
	t.Logf("%d series before, %d after 20 commands on 14 databases", before, after)
	require.Less(t, after, 1300)

	words := func(i int) {
		c.send(fmt.Sprintf("word%d", i), "x")
		require.Error(t, c.reply().Err())
		c.send("CLIENT", fmt.Sprintf("word%d", i))
		require.Error(t, c.reply().Err())
		for _, path := range []string{"/word%d", "/v1/word%d", "/v1/caches/word%d/entries/k", "/v1/caches/db0/entries/word%d", "/v1/sessions/word%d"} {
			s.get(fmt.Sprintf(path, i), fmt.Sprintf("word%d", i))
		}
	}
	words(0)
	first := s.scraped()
	for i := range 30 {
		words(i)
	}
	require.Equal(t, first, s.scraped(), "words of clients are no labels")
	c.send("XADD", "stream", "*", "f", "v")
	require.Error(t, c.reply().Err())
	series := strings.Join(s.series(), "")
	require.Contains(t, series, `howdah_redis_unknown_commands_total{command="xadd"} 1`)
	require.Contains(t, series, `howdah_redis_unknown_commands_total{command="other"} 62`)
	require.Contains(t, series, `howdah_http_requests_total{route="/v1/caches/{cache}/entries/{key}",status="4xx"} `)
	require.NotContains(t, series, "word")
}

// However many caches there are, the series are bounded.
func TestMetricsOfAllCachesAreBounded(t *testing.T) {
	t.Parallel()
	const caches, limit = 200, 30
	s := start(t, func(c *Config) { c.MetricsCaches = limit })
	execute(t, s.config.DatabaseURL, fmt.Sprintf("SELECT howdah.create_cache('c' || n, max_bytes => 1000000) FROM generate_series(1, %d) AS n", caches))
	for i := 1; i <= caches; i++ {
		status, _ := s.get(fmt.Sprintf("/get?cache=c%d&key=k", i), "")
		require.Equal(t, http.StatusNotFound, status)
	}
	var hidden string
	perCache := make(map[string]int)
	require.Eventually(t, func() bool { // as soon as the states of the new caches are asked for
		clear(perCache)
		for _, line := range s.series() {
			if strings.HasPrefix(line, "howdah_metrics_caches_hidden") {
				hidden = strings.TrimSpace(line)
			}
			if m := regexp.MustCompile(`[{,]cache="([^"]*)"`).FindStringSubmatch(line); m != nil {
				perCache[m[1]]++
			}
		}
		return perCache[otherCaches] > 0 && strings.HasSuffix(hidden, fmt.Sprintf(" %d", caches+1-limit)) // and db0
	}, patience, 200*time.Millisecond, "%v", hidden)
	require.Len(t, perCache, limit+1)
	for cache, n := range perCache {
		require.LessOrEqual(t, n, 60, cache)
	}
	require.Less(t, s.scraped(), (limit+1)*60+400)
}

// Beyond a number of caches the others are added up.
func TestMetricsOfManyCaches(t *testing.T) {
	t.Parallel()
	const limit = 20
	c := newCollector(nil, limit)
	var stats []engine.Stats
	var states []cacheState
	for i := range 3 * limit {
		name := fmt.Sprintf("c%03d", i)
		stats = append(stats, engine.Stats{
			Name: name, Merged: 1, Failures: engine.FailureCounts{fault.ReasonTimeout: 4},
			Verbs: []engine.VerbStats{{Verb: "get", Calls: 2}, {Verb: "set", Calls: 3}},
		})
		states = append(states, cacheState{name: name, entries: 10, deadRows: 5, lastVacuum: float64(i)})
	}
	figures := c.figures(stats, states)
	require.Len(t, figures, limit+1)
	require.Len(t, c.hidden, 2*limit)
	require.EqualValues(t, 2, figures["c000"].read.calls)
	require.EqualValues(t, 3, figures["c000"].write.calls)
	other := figures[otherCaches]
	require.EqualValues(t, 2*limit, other.merged)
	require.EqualValues(t, 2*2*limit, other.read.calls)
	require.EqualValues(t, 4*2*limit, other.failures[fault.ReasonTimeout])
	require.EqualValues(t, 10*2*limit, other.state.entries)
	require.EqualValues(t, 5*2*limit, other.state.deadRows)
	require.EqualValues(t, 3*limit-1, other.state.lastVacuum)
	// A cache keeps its series when others come before it.
	figures = c.figures(append([]engine.Stats{{Name: "a"}}, stats...), states)
	require.NotContains(t, figures, "a")
	require.Contains(t, figures, "c000")
}

func TestCoarseHistogram(t *testing.T) {
	t.Parallel()
	fine := engine.Histogram{Bounds: []float64{1, 2, 4, 8}, Counts: []uint64{1, 2, 3, 4, 5}, Count: 15, Sum: 60}
	require.Equal(t, engine.Histogram{Bounds: []float64{2, 8}, Counts: []uint64{3, 7, 5}, Count: 15, Sum: 60}, coarse(fine, []float64{2, 8}))
	twice := sum(sum(engine.Histogram{}, fine), fine)
	require.Equal(t, []uint64{2, 4, 6, 8, 10}, twice.Counts)
	require.Equal(t, []uint64{1, 2, 3, 4, 5}, fine.Counts, "what was added stays")
	require.EqualValues(t, 30, twice.Count)
}

// The bounds that are shown are among those that are counted.
func TestDurationBounds(t *testing.T) {
	t.Parallel()
	for _, bound := range durationBounds {
		require.Contains(t, engine.Latencies().Bounds, bound)
	}
}

// A histogram whose bounds double is a native one of schema 0: the same observations,
// counted by client_golang, make the same buckets.
func TestNativeHistogram(t *testing.T) {
	t.Parallel()
	h := engine.Latencies()
	library := prometheus.NewHistogram(prometheus.HistogramOpts{
		Name: "h", NativeHistogramBucketFactor: 2, NativeHistogramZeroThreshold: h.Bounds[0], Buckets: durationBounds,
	})
	for _, seconds := range []float64{0, 1. / 40000, 1. / 32768, 1. / 30000, 1. / 1024, 1. / 1023, 0.004, 0.004, 0.9, 1, 1.1, 31, 32, 33} {
		at, _ := slices.BinarySearch(h.Bounds, seconds)
		h.Counts[at]++
		h.Count++
		h.Sum += seconds
		library.Observe(seconds)
	}
	var want, got dto.Metric
	require.NoError(t, library.Write(&want))
	desc := describe("h", "")
	require.NoError(t, twofold{classic(desc, coarse(h, durationBounds)), native(desc, h)}.Write(&got))
	want.Histogram.CreatedTimestamp = nil
	require.Equal(t, want.Histogram.String(), got.Histogram.String())
}

// A scrape in protobuf has native histograms, one in text has not.
func TestNativeHistogramByNegotiation(t *testing.T) {
	t.Parallel()
	s := start(t, nil)
	c := s.dial()
	for range 3 {
		c.send("GET", "k")
		c.reply()
	}
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+s.HTTP.String()+"/metrics", nil)
	require.NoError(t, err)
	format := expfmt.NewFormat(expfmt.TypeProtoDelim)
	request.Header.Set("Accept", string(format))
	answer, err := http.DefaultClient.Do(request)
	require.NoError(t, err)
	defer answer.Body.Close()
	families := make(map[string]*dto.MetricFamily)
	for decoder := expfmt.NewDecoder(answer.Body, format); ; {
		family := new(dto.MetricFamily)
		if err := decoder.Decode(family); errors.Is(err, io.EOF) {
			break
		} else {
			require.NoError(t, err)
		}
		families[family.GetName()] = family
	}
	for _, name := range []string{"howdah_call_duration_seconds", "howdah_batch_keys", "howdah_http_request_duration_seconds"} {
		if name == "howdah_http_request_duration_seconds" && families[name] == nil {
			continue // the scrape is the first request
		}
		require.NotNil(t, families[name], name)
		for _, metric := range families[name].Metric {
			require.NotNil(t, metric.Histogram.Schema, name)
			require.Zero(t, metric.Histogram.GetSchema(), name)
			require.NotEmpty(t, metric.Histogram.Bucket, "the classic form is there too")
		}
	}
	reads := families["howdah_call_duration_seconds"].Metric[0].Histogram
	require.EqualValues(t, 3, reads.GetSampleCount())
}

// What the database knows of the caches is shown, and that it is away.
func TestMetricsOfTheDatabase(t *testing.T) {
	t.Parallel()
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
	found := states.read()
	await.True(t, "the database answers within a second", func() bool {
		if !found.up {
			states.asked = time.Time{}
			found = states.read()
		}
		return found.up
	})
	require.Equal(t, schema.Latest(), found.database.schema)
	require.Equal(t, "primary", found.database.role)
	byName := make(map[string]cacheState)
	for _, state := range found.caches {
		byName[state.name] = state
	}
	require.EqualValues(t, 500, byName["db0"].entries)
	require.Positive(t, byName["db0"].tableBytes)
	require.Positive(t, byName["db0"].indexBytes)
	require.Zero(t, byName["db0"].maxBytes)
	limited := byName["limited"]
	require.Positive(t, limited.lastRound)
	require.EqualValues(t, 1000, limited.maxEntries)
	require.EqualValues(t, 1000000, limited.maxBytes)
	require.GreaterOrEqual(t, limited.expired, int64(3), "upkeep goes on meanwhile")
	require.GreaterOrEqual(t, limited.evicted, int64(4))

	series := s.known()
	for _, name := range []string{"howdah_cache_entries", "howdah_cache_bytes", "howdah_cache_table_bytes", "howdah_cache_max_entries",
		"howdah_cache_max_bytes", "howdah_cache_expired_total", "howdah_cache_evicted_total",
		"howdah_cache_index_bytes", "howdah_cache_dead_rows", "howdah_cache_last_vacuum_timestamp_seconds"} {
		require.Contains(t, series, name+`{cache="limited"} `)
	}
	require.NotContains(t, series, `howdah_cache_bytes{cache="db0"}`)

	require.NoError(t, db.Close())
	states.asked = states.asked.Add(-2 * statesAge)
	last := states.read()
	require.False(t, last.up)
	last.up = true
	require.Equal(t, found, last, "the last answer is kept")
}

// Claims are shown by what they found, for the caches that have any, and count in
// the hit ratio.
func TestMetricsOfClaims(t *testing.T) {
	t.Parallel()
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
	registry.MustRegister(newCollector(db, DefaultMetricsCaches))
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

// Partitions on one server are added up, and bring no series.
func TestMetricsOfPartitions(t *testing.T) {
	t.Parallel()
	url := pgtest.Divided(t, 4)
	execute(t, url, "SELECT howdah.set_text('db0', 'k' || i, 'x') FROM generate_series(1, 100) AS i")
	execute(t, url, "ANALYZE")
	s := start(t, func(c *Config) { c.DatabaseURL = url })
	series := s.known()
	require.Contains(t, series, `howdah_cache_entries{cache="db0"} 100`)
	require.NotContains(t, series, "howdah_database_server")
	require.NotContains(t, series, "db0/00")
}

// A request whose client left before the answer is not counted as one that was
// served.
func TestMetricsOfClientThatLeaves(t *testing.T) {
	t.Parallel()
	db, err := howdah.Open(t.Context(), pgtest.New(t), nil)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	left, leave := context.WithCancel(t.Context())
	leave()
	m := newHTTPMetrics()
	request := httptest.NewRequest(http.MethodPost, "http://localhost/set?key=k", strings.NewReader("v")).WithContext(left)
	m.count(httpapi.New(httpapi.Options{DB: (*core.DB)(db)})).ServeHTTP(httptest.NewRecorder(), request)
	for class, want := range map[string]float64{"2xx": 0, "4xx": 1, "5xx": 0} {
		var counted dto.Metric
		require.NoError(t, m.requests.WithLabelValues("/set", class).Write(&counted))
		require.Equal(t, want, counted.Counter.GetValue(), class)
	}
}
