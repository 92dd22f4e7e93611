package server

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/howdah/howdah"
	"github.com/howdah/howdah/internal/test/pgtest"
)

// longBound is so long that a change by another server is not seen by chance.
const longBound = 10 * time.Second

// logged is a database whose cache db0 has a change log.
func logged(t *testing.T) (url string) {
	url = pgtest.New(t)
	execute(t, url, "SELECT howdah.alter_cache('db0', near => true)")
	return url
}

func execute(t *testing.T, url, sql string) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	require.NoError(t, err)
	defer conn.Close(t.Context())
	_, err = conn.Exec(t.Context(), sql)
	require.NoError(t, err)
}

// startNear starts a server that keeps entries of a database in memory.
func startNear(t *testing.T, url string, bound time.Duration) *running {
	return start(t, func(c *Config) {
		c.DatabaseURL, c.Timeout = url, 10*time.Second
		c.Near = Near{Bound: bound, Exclude: []string{"excluded:"}}
	})
}

// ask sends a command and returns its reply as text.
func (c *rawConn) ask(args ...string) string {
	c.t.Helper()
	c.send(args...)
	reply := c.reply()
	require.NoError(c.t, reply.Err(), "%q", args)
	return string(reply.Str)
}

// nearField is a field of HOWDAH.INFO near.
func (c *rawConn) nearField(name string) string {
	c.t.Helper()
	for line := range strings.Lines(c.ask("HOWDAH.INFO", "near")) {
		if value, ok := strings.CutPrefix(strings.TrimSpace(line), name+":"); ok {
			return value
		}
	}
	c.t.Fatalf("no field %s", name)
	return ""
}

// warm reads a key until memory answers it.
func (c *rawConn) warm(key string) {
	c.t.Helper()
	require.Eventually(c.t, func() bool {
		if c.ask("GET", key); c.nearField("near_enabled") == "0" {
			return false // no cache with a change log was read yet
		}
		before := c.nearField("near_hits")
		c.ask("GET", key)
		return c.nearField("near_hits") != before
	}, time.Minute, time.Millisecond)
}

// fetch is a GET of a key of db0 over HTTP: the value, and who answered.
func (s *running) fetch(key string, header ...string) (value, status string) {
	s.t.Helper()
	request, err := http.NewRequestWithContext(s.t.Context(), "GET", "http://"+s.HTTP.String()+"/get?key="+key, nil)
	require.NoError(s.t, err)
	for _, line := range header {
		name, value, _ := strings.Cut(line, ": ")
		request.Header.Set(name, value)
	}
	response, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(request)
	require.NoError(s.t, err)
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	require.NoError(s.t, err)
	return string(body), response.Header.Get("Cache-Status")
}

// What another process has written is seen within the bound; by who asks for a
// fresh answer, at once.
func TestNear(t *testing.T) {
	t.Parallel()
	url := logged(t)
	here := startNear(t, url, longBound)
	reader := here.dial()
	db, err := howdah.Open(t.Context(), url, &howdah.Options{Timeout: 10 * time.Second})
	require.NoError(t, err)
	defer db.Close()
	write := func(value string) { require.NoError(t, db.Cache("db0").Set(t.Context(), "k", []byte(value), 0)) }
	turn := 0
	for door, read := range map[string]func() string{
		"HOWDAH.FRESH": func() string { return reader.ask("HOWDAH.FRESH", "GET", "k") },
		"WATCH": func() string {
			reader.ask("WATCH", "another")
			defer reader.ask("UNWATCH")
			return reader.ask("GET", "k")
		},
		"MGET":     func() string { reader.send("MGET", "k"); return string(reader.reply().Elems[0].Str) },
		"GETRANGE": func() string { return reader.ask("GETRANGE", "k", "0", "-1") },
		"GETEX":    func() string { return reader.ask("GETEX", "k") },
		"EXEC": func() string {
			reader.ask("MULTI")
			reader.ask("GET", "k")
			reader.send("EXEC")
			return string(reader.reply().Elems[0].Str)
		},
		"no-cache":  func() string { value, _ := here.fetch("k", "Cache-Control: no-cache"); return value },
		"max-age=0": func() string { value, _ := here.fetch("k", "Cache-Control: No-Transform, max-age=0"); return value },
	} {
		turn++
		old, value := fmt.Sprint("old ", turn), fmt.Sprint("new ", turn)
		reader.ask("SET", "k", old)
		reader.warm("k")
		write(value)
		require.Equal(t, value, read(), door)
		require.Equal(t, value, reader.ask("GET", "k"), "what %s has shown is not taken back", door)
	}

	reader.ask("SET", "k", "old")
	reader.warm("k")
	write("new")
	require.Eventually(t, func() bool { return reader.ask("GET", "k") == "new" }, time.Minute, time.Millisecond)
	reader.warm("k")
	value, status := here.fetch("k")
	require.Equal(t, "new", value)
	require.Equal(t, "howdah; hit", status)
	_, status = here.fetch("k", "Cache-Control: no-cache")
	require.Equal(t, "howdah; fwd=request", status)

	// What is excluded is never kept.
	for range 3 {
		here.fetch("excluded:k")
	}
	_, status = here.fetch("excluded:k")
	require.Equal(t, "howdah; fwd=miss", status)
}

// Without a change log there is nothing in memory, and the log says how to get
// one. It is taken up without a restart.
func TestNearWithoutChangeLog(t *testing.T) {
	t.Parallel()
	url := pgtest.New(t)
	execute(t, url, "SELECT howdah.create_cache('pages', near => true), howdah.create_cache('other')")
	s := startNear(t, url, time.Second)
	c := s.dial()
	c.ask("SET", "k", "v")
	for range 3 {
		require.Equal(t, "v", c.ask("GET", "k"))
	}
	require.Equal(t, "0", c.nearField("near_entries"))
	execute(t, url, "SELECT howdah.alter_cache('db0', near => true)")
	c.warm("k")
	require.NoError(t, s.stop())
	log := s.log.String()
	require.Equal(t, 1, strings.Count(log, "SELECT howdah.alter_cache('db0', near => true)"), log)
	require.Contains(t, log, `caches="db0, other" number=2`)
	require.Contains(t, log, "reads from memory are at most 1s old; near off")
}

// Where it is off, or no cache has a change log, no door speaks of it, and every read asks
// PostgreSQL.
func TestNearOff(t *testing.T) {
	t.Parallel()
	for name, tried := range map[string]struct {
		database func(*testing.T) string
		bound    time.Duration
	}{"no change log": {func(t *testing.T) string { return pgtest.New(t) }, 0}, "off": {logged, -1}} {
		t.Run(name, func(t *testing.T) {
			s := startNear(t, tried.database(t), tried.bound)
			c := s.dial()
			c.ask("SET", "k", "v")
			require.Equal(t, "0", c.nearField("near_enabled"))
			require.Equal(t, "v", c.ask("HOWDAH.FRESH", "GET", "k"))
			value, status := s.fetch("k")
			require.Equal(t, "v", value)
			require.Empty(t, status)
			require.NotContains(t, strings.Join(s.series(), ""), "howdah_near_")
			require.NoError(t, s.stop())
			require.NotContains(t, s.log.String(), "reads from memory")
		})
	}
}

// A server of somebody's own database uses the change logs that there are, and those that come.
func TestNearByDefault(t *testing.T) {
	t.Parallel()
	url := pgtest.New(t)
	s := startNear(t, url, 0)
	c := s.dial()
	c.ask("SET", "k", "v")
	require.Equal(t, "0", c.nearField("near_enabled"))
	execute(t, url, "SELECT howdah.alter_cache('db0', near => true)")
	require.Eventually(t, func() bool { c.ask("GET", "k"); return c.nearField("near_enabled") == "1" }, time.Minute, time.Millisecond)
	require.Equal(t, "100", c.nearField("near_bound_ms"))
	c.warm("k")
}

// The metrics say what was read from memory.
func TestNearMetrics(t *testing.T) {
	t.Parallel()
	s := startNear(t, logged(t), time.Second)
	c := s.dial()
	c.ask("SET", "k", "v")
	c.warm("k")
	c.warm("absent")
	series := make(map[string]string)
	for _, line := range s.series() {
		name, value, _ := strings.Cut(strings.TrimSpace(line), " ")
		series[name] = value
	}
	require.Equal(t, "1", series["howdah_near_bound_seconds"])
	require.Equal(t, fmt.Sprint(float64(DefaultNearBytes)), series["howdah_near_bytes_max"])
	for _, name := range []string{
		`howdah_near_hits_total{found="value"}`, `howdah_near_hits_total{found="absent"}`, `howdah_near_misses_total{reason="absent"}`,
		"howdah_near_fills_total", `howdah_near_polls_total{result="ok"}`, "howdah_near_poll_duration_seconds_count",
		"howdah_near_bytes", "howdah_near_entries", "howdah_near_age_seconds_count", `howdah_near_drops_total{reason="first"}`,
	} {
		require.NotContains(t, []string{"", "0"}, series[name], name)
	}
	require.Equal(t, series["howdah_near_age_seconds_count"], series[`howdah_near_age_seconds_bucket{le="1"}`], "no hit is older than the bound")
	for _, name := range []string{
		`howdah_near_misses_total{reason="lapsed"}`, `howdah_near_refused_fills_total{reason="overtaken"}`, `howdah_near_polls_total{result="failed"}`,
		"howdah_near_lapses_total", "howdah_near_parked_writes", "howdah_near_age_seconds_max",
	} {
		require.Contains(t, series, name)
	}
}

// nearOf says which caches have a change log, as HTTP shows it.
func nearOf(t *testing.T, addr string) map[string]bool {
	t.Helper()
	response, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Get("http://" + addr + "/v1/caches")
	require.NoError(t, err)
	var list struct {
		Caches []struct {
			Name string
			Near bool
		}
	}
	defer response.Body.Close()
	require.NoError(t, json.NewDecoder(response.Body).Decode(&list))
	found := make(map[string]bool)
	for _, cache := range list.Caches {
		found[cache.Name] = cache.Near
	}
	return found
}
