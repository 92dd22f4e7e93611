package server

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// prefixSeries are the reads by prefix that the metrics show.
func (s *running) prefixSeries() map[string]int {
	s.t.Helper()
	found := map[string]int{}
	for _, line := range s.series() {
		m := regexp.MustCompile(`^howdah_prefix_keys_total\{cache="([^"]*)",prefix="((?:[^"\\]|\\.)*)",result="([^"]*)"\} (\S+)\n`).FindStringSubmatch(line)
		if m == nil {
			continue
		}
		n, err := strconv.Atoi(m[4])
		require.NoError(s.t, err)
		found[m[1]+" "+m[2]+" "+m[3]] = n
	}
	return found
}

// Each read of a key with a prefix that was named is counted, whoever answers it.
func TestMetricsOfNamedPrefixes(t *testing.T) {
	t.Parallel()
	for name, near := range map[string]Near{"PostgreSQL": {Bound: -1}, "memory": {Bound: longBound}} {
		t.Run(name, func(t *testing.T) {
			s := start(t, func(c *Config) {
				c.DatabaseURL, c.Near, c.PrefixSample = logged(t), near, -1
				c.MetricsPrefixes = []string{"user:", "user:admin:", `p"\`}
			})
			require.Empty(t, s.prefixSeries(), "no cache was used")
			c := s.dial()
			for _, command := range []string{"SET user:1 x", "SET user:admin:1 x", `SET p"\1 x`, "SET other x"} {
				c.send(strings.Fields(command)...)
				require.NoError(t, c.reply().Err())
			}
			const rounds = 100
			for range rounds {
				c.send("GET", "user:1")
				c.send("GET", "user:2")
				c.send("GET", "other")
				c.send("MGET", "user:1", "user:admin:1", "user:admin:2", "other")
			}
			for range 4 * rounds {
				require.NoError(t, c.reply().Err())
			}
			c.send("GET", `p"\1`)
			require.NoError(t, c.reply().Err())
			status, _ := s.get("/get?key=user:1", "")
			require.Equal(t, 200, status)
			require.Equal(t, map[string]int{
				"db0 user: hit": 2*rounds + 1, "db0 user: miss": rounds, "db0 user:admin: hit": rounds, "db0 user:admin: miss": rounds,
				`db0 p\"\\ hit`: 1, `db0 p\"\\ miss`: 0,
			}, s.prefixSeries())
		})
	}
}

// The series are two for each prefix and cache, whatever keys clients read, and caches without
// series of their own are added up.
func TestMetricsOfNamedPrefixesAreBounded(t *testing.T) {
	t.Parallel()
	var prefixes []string
	for i := range 20 {
		prefixes = append(prefixes, fmt.Sprintf("p%d:", i))
	}
	s := start(t, func(c *Config) { c.MetricsPrefixes, c.MetricsCaches = prefixes, 3 })
	c := s.dial()
	for database := range 5 {
		c.send("SELECT", strconv.Itoa(database))
		require.NoError(t, c.reply().Err())
		for i := range 30 {
			c.send("GET", fmt.Sprintf("p%d:%d", i, database))
			require.NoError(t, c.reply().Err())
		}
	}
	found := s.prefixSeries()
	require.Len(t, found, 20*2*(3+1))
	all := 0
	for name, n := range found {
		all += n
		if strings.HasPrefix(name, otherCaches) && strings.HasSuffix(name, "miss") {
			require.Equal(t, 2, n, name)
		}
	}
	require.Equal(t, 5*20, all, "p20: and those beyond were not named")
}

func TestMetricsPrefixesAreChecked(t *testing.T) {
	t.Parallel()
	for says, config := range map[string]Config{
		"metrics-prefixes names an empty prefix": {RedisAddr: "x", HTTPAddr: "x", MetricsPrefixes: []string{""}},
		"metrics-prefixes names 21 prefixes":     {RedisAddr: "x", HTTPAddr: "x", MetricsPrefixes: make([]string, 21)},
		`metrics-prefixes names "a:" twice`:      {RedisAddr: "x", HTTPAddr: "x", MetricsPrefixes: []string{"a:", "a:"}},
		"metrics-prefixes is for the metrics":    {RedisAddr: "x", MetricsPrefixes: []string{"a:"}},
	} {
		config.DatabaseURL = "postgres://x"
		require.ErrorContains(t, config.check(), says)
	}
}
