package server

import (
	"cmp"
	"context"
	"log/slog"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/howdah/howdah/internal/core"
	"github.com/howdah/howdah/internal/stat"
	"github.com/howdah/howdah/internal/test/pgtest"
)

// processes asks a server who it knows, until condition is satisfied.
func (s *running) processes(why string, condition func(*stat.Servers) bool) (known stat.Servers) {
	s.t.Helper()
	require.Eventually(s.t, func() bool {
		var answer struct{ Servers *stat.Servers }
		s.read("/v1/servers", &answer)
		if answer.Servers == nil {
			return false
		}
		known = *answer.Servers
		return condition(&known)
	}, time.Minute, 10*time.Millisecond, why)
	return known
}

func count(n int) func(*stat.Servers) bool {
	return func(s *stat.Servers) bool { return len(s.Processes) == n }
}

// Servers of one database list each other with their versions and what they keep in memory. One
// that stops leaves the list; one that is killed is called silent, and then forgotten.
func TestServersKnowEachOther(t *testing.T) {
	t.Parallel()
	url := logged(t)
	first := start(t, func(c *Config) { c.DatabaseURL, c.Version, c.Near = url, "1.2.3", Near{Bound: -1} })
	second := start(t, func(c *Config) {
		c.DatabaseURL, c.Version, c.Near = url, "1.3.0", Near{Bound: longBound}
	})
	redisOnly := start(t, func(c *Config) { c.DatabaseURL, c.Version, c.HTTPAddr, c.Near = url, "1.4.0", "", Near{Bound: -1} })
	for i, s := range []*running{first, second} {
		known := s.processes("three servers", count(3))
		// They have begun within milliseconds.
		slices.SortFunc(known.Processes, func(a, b stat.Process) int { return cmp.Compare(a.Version, b.Version) })
		require.Equal(t, core.ProcessName(), known.Processes[0].Name)
		for j, version := range []string{"1.2.3", "1.3.0", "1.4.0"} {
			require.Equal(t, version, known.Processes[j].Version)
			require.Equal(t, i == j, known.Processes[j].Self)
			require.False(t, known.Processes[j].Silent)
		}
		require.Nil(t, known.Processes[0].Near)
		require.Equal(t, longBound.Seconds(), known.Processes[1].Near.Bound)
		require.EqualValues(t, DefaultNearBytes, known.Processes[1].Near.MaxBytes)
		require.NotContains(t, known.Note, "is not in the list")
	}
	_, _, page := first.ask("GET", "/console/servers", "Accept: text/html")
	for _, text := range []string{"1.2.3", "1.3.0", "1.4.0", "this server", "at most 10 s old"} {
		require.Contains(t, page, text)
	}
	_, _, page = first.ask("GET", "/console/near", "Accept: text/html")
	require.Contains(t, page, "This server keeps no entries in memory", "others do")
	require.Contains(t, page, "of 64.0 MiB")

	require.NoError(t, redisOnly.stop())
	require.NoError(t, second.stop())
	require.Len(t, first.processes("both have left", count(1)).Processes, 1)

	db, err := core.Open(t.Context(), url, core.Options{})
	require.NoError(t, err)
	defer db.Close()
	logger := slog.New(slog.DiscardHandler)
	killed := newProcess(db, &Config{Version: "1.5.0", Logger: logger})
	killed.renew(t.Context())
	first.processes("it has begun", count(2))
	execute(t, url, "UPDATE howdah_internal.process SET seen_at = seen_at - interval '36 seconds' WHERE version = '1.5.0'")
	first.processes("it is silent", func(s *stat.Servers) bool { return len(s.Processes) == 2 && s.Processes[1].Silent })
	_, _, page = first.ask("GET", "/console/servers", "Accept: text/html")
	require.Contains(t, page, ">silent</span>")
	execute(t, url, "UPDATE howdah_internal.process SET seen_at = seen_at - interval '5 minutes' WHERE version = '1.5.0'")
	first.processes("it is forgotten", count(1))
	newProcess(db, &Config{Version: "1.6.0", Logger: logger}).renew(t.Context())
	conn, err := pgx.Connect(t.Context(), url)
	require.NoError(t, err)
	defer conn.Close(t.Context())
	var rows int
	require.NoError(t, conn.QueryRow(t.Context(), "SELECT count(*) FROM howdah_internal.process WHERE version = '1.5.0'").Scan(&rows))
	require.Zero(t, rows, "the next one to say that it is there removes it")
}

// A server whose role may not enter itself in the list serves on, and says so.
func TestServerThatMayNotBeListed(t *testing.T) {
	t.Parallel()
	for revoked, says := range map[string]string{
		"INSERT": "its log says why",
		"ALL":    "hidden from this role",
	} {
		t.Run(revoked, func(t *testing.T) {
			databaseURL := pgtest.New(t)
			super, err := pgx.Connect(t.Context(), pgtest.SuperURL(databaseURL))
			require.NoError(t, err)
			t.Cleanup(func() { super.Close(context.Background()) })
			role := "listed_" + strings.ToLower(revoked)
			execute(t, pgtest.SuperURL(databaseURL), "CREATE ROLE "+role+" LOGIN PASSWORD 'p'")
			t.Cleanup(func() {
				_, err := super.Exec(context.Background(), "DROP OWNED BY "+role)
				require.NoError(t, err)
				_, err = super.Exec(context.Background(), "DROP ROLE "+role)
				require.NoError(t, err)
			})
			execute(t, databaseURL, "SELECT howdah.grant_runtime('"+role+"')")
			execute(t, databaseURL, "REVOKE "+revoked+" ON howdah_internal.process FROM "+role)
			u, err := url.Parse(databaseURL)
			require.NoError(t, err)
			u.User = url.UserPassword(role, "p")
			s := start(t, func(c *Config) { c.DatabaseURL = u.String() })
			s.processes("it is told", func(known *stat.Servers) bool { return strings.Contains(known.Note, says) })
			for _, page := range []string{"servers", "near"} {
				_, _, body := s.ask("GET", "/console/"+page, "Accept: text/html")
				require.Contains(t, body, map[string]string{"servers": says, "near": "No process of howdah serve is known"}[page])
			}
			c := s.dial()
			c.send("SET", "k", "v")
			require.NoError(t, c.reply().Err())
			require.NoError(t, s.stop())
			require.Equal(t, 1, strings.Count(s.log.String(), "this server is not in the list of servers"), s.log.String())
		})
	}
}
