//go:build citus

package server

import (
	"fmt"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/howdah/howdah/internal/test/pgtest"
)

// Metrics, INFO and the console show whole caches of a database on several servers, and each
// of these. One that is away takes its share only.
func TestCitusIsObserved(t *testing.T) {
	t.Parallel()
	const entries = 200
	c := pgtest.StartCitus(t, 2)
	c.Divide(4)
	for partition, to := range []int{1, 1, 1, 2} {
		if at := c.Holder(partition); at != c.Nodes()[to] {
			c.Move(partition, c.Nodes()[to])
		}
	}
	s := start(t, func(config *Config) { config.DatabaseURL = c.Coordinator().URL() })
	client := s.dial()
	for i := range entries {
		client.send("SET", fmt.Sprint("k", i), "v")
		require.NoError(t, client.reply().Err())
	}
	c.Exec("SET citus.override_table_visibility = off", "ANALYZE")
	metric := func(name string) float64 {
		for _, line := range s.series() {
			if text, ok := strings.CutPrefix(line, name+" "); ok {
				value, err := strconv.ParseFloat(strings.TrimSpace(text), 64)
				require.NoError(t, err)
				return value
			}
		}
		return -1
	}
	of := func(name string, node int) string {
		host, port := pgtest.Address(c.Nodes()[node])
		return fmt.Sprintf(`howdah_database_server_%s{server="%s:%d"}`, name, host, port)
	}
	require.Eventually(t, func() bool {
		return metric(`howdah_cache_entries{cache="db0"}`) == entries && metric(of("entries", 1))+metric(of("entries", 2)) == entries
	}, patience, 100*time.Millisecond)
	require.Zero(t, metric(of("entries", 0)))
	require.Positive(t, metric(of("entries", 2)))
	require.Positive(t, metric(of("bytes", 1)))
	require.Positive(t, metric(`howdah_cache_table_bytes{cache="db0"}`))
	require.Eventually(t, func() bool { return metric(of("up", 0))+metric(of("up", 1))+metric(of("up", 2)) == 3 }, patience, 100*time.Millisecond)
	require.GreaterOrEqual(t, metric("howdah_pool_connections_opened_total"), 3.0)
	client.send("INFO", "keyspace")
	require.Contains(t, string(client.reply().Str), fmt.Sprintf("db0:keys=%d,", entries))
	page := func(path string) (text string) {
		require.Eventually(t, func() bool {
			var status int
			status, _, text = s.ask("GET", "/console/"+path, "Accept: text/html")
			require.Equal(t, http.StatusOK, status, path)
			return !strings.Contains(text, "Load the page again")
		}, patience, 100*time.Millisecond)
		return text
	}
	for _, path := range []string{"", "caches/db0"} {
		require.Regexp(t, fmt.Sprintf(`>%d</[dt]d>`, entries), page(path))
	}
	require.Regexp(t, `Servers of PostgreSQL(?s:.*)<td data-label="Partitions">0, 1, 2</td>(?s:.*)<td data-label="Partitions">3</td>`, page("servers"))

	host, port := pgtest.Address(c.Coordinator())
	home := fmt.Sprintf(`<bdi class="mono">%s:%d</bdi>`, host, port)
	require.Contains(t, page("watches"), "They are those of the coordinator, "+home)
	require.Contains(t, page("watches"), "On several servers no table is watched")
	require.Contains(t, page("scripts"), "They are on the coordinator, "+home)

	share := int(metric(of("entries", 2)))
	c.Nodes()[2].Stop("immediate")
	require.Eventually(t, func() bool { // the others answer within a second
		return metric(of("up", 2)) == 0 && metric("howdah_database_up") == 1 && metric(`howdah_cache_entries{cache="db0"}`) == float64(entries-share)
	}, patience, 100*time.Millisecond)
	require.Equal(t, -1.0, metric(of("entries", 2)))
	for _, path := range []string{"", "caches/db0", "servers"} {
		require.Eventually(t, func() bool {
			return regexp.MustCompile(`Of the servers of this database 1 of 3 do not answer, and their share is missing: 127.0.0.1:\d+`).MatchString(page(path))
		}, patience, 100*time.Millisecond, path)
	}
	require.Contains(t, page("servers"), `<span class="severity error">no</span>`)
	require.Eventually(t, func() bool { // as soon as it counts again
		client.send("INFO", "keyspace")
		return strings.Contains(string(client.reply().Str), fmt.Sprintf("db0:keys=%d,", entries-share))
	}, patience, 100*time.Millisecond)
}
