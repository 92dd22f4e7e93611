package console

import (
	"context"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/howdah/howdah"
	"github.com/howdah/howdah/internal/test/pgtest"
)

// Whatever a page looks for, its statements on entries are READ ONLY, PostgreSQL ends them after
// two seconds, and those of a list look at 10,000 entries at most.
func TestStatementsOfPagesAreBounded(t *testing.T) {
	t.Parallel()
	s := open(t, nil)
	conn, err := pgx.Connect(t.Context(), s.db.Pool().Config().ConnString())
	require.NoError(t, err)
	defer conn.Close(context.WithoutCancel(t.Context()))
	_, err = conn.Exec(t.Context(), "SELECT howdah.set_many_text('db0', array_agg('k' || i), array_agg('v'::text)) FROM generate_series(1, 12000) AS i GROUP BY i / 1000")
	require.NoError(t, err)
	table := pgtest.Table(t, conn, "db0")
	b := s.browser(adminToken)
	for _, path := range []string{
		"caches/db0/entries", "caches/db0/entries?prefix=none", "caches/db0/flush", "caches/db0/drop", "caches/db0/delete-prefix?prefix=k1", "tags/invalidate?cache=db0&tag=x",
	} {
		var got page
		for range 20 { // on a busy machine the two seconds may end before the page is whole
			s.sent.take()
			if got = b.get(path); got.status == http.StatusOK && !strings.Contains(got.body, "the time for one page was over") {
				break
			}
		}
		got.want(t, http.StatusOK)
		sent, looks, looked := s.sent.take(), 0, 0
		for i, one := range sent {
			if !strings.Contains(one.text, table) {
				continue
			}
			looks++
			begin, limit := "", any(nil)
			for _, before := range slices.Backward(sent[:i]) {
				if before.conn != one.conn {
					continue
				}
				if strings.HasPrefix(before.text, "begin") {
					begin = before.text
					break
				}
				if strings.Contains(before.text, "'statement_timeout', $1") {
					limit = before.args[0]
				}
			}
			require.Equal(t, "begin read only", begin, one.text)
			milliseconds, err := strconv.Atoi(limit.(string))
			require.NoError(t, err)
			require.Greater(t, milliseconds, 0, one.text)
			require.Less(t, milliseconds, 2000, one.text)
			if strings.HasPrefix(path, "caches/db0/entries") {
				looked += one.args[1].(int)
			}
		}
		require.Positive(t, looks, path)
		require.LessOrEqual(t, looked, 10_000, path)
		if strings.HasSuffix(path, "none") {
			require.Equal(t, 10_000, looked)
			got.has(t, "Looked at 10,000 ", "Look further")
		}
	}
}

// However many visitors look for entries of a cache that is locked, two statements run at a time at
// most, and each page answers while the lock is held.
func TestTwoLookupsAtATime(t *testing.T) {
	t.Parallel()
	s := open(t, nil)
	conn, err := pgx.Connect(t.Context(), s.db.Pool().Config().ConnString())
	require.NoError(t, err)
	defer conn.Close(context.WithoutCancel(t.Context()))
	b := s.browser(adminToken)
	b.get("caches/db0/entries").want(t, http.StatusOK)
	table := pgtest.Table(t, conn, "db0")
	_, err = conn.Exec(t.Context(), "BEGIN; LOCK TABLE "+table+" IN ACCESS EXCLUSIVE MODE")
	require.NoError(t, err)
	// Within a transaction, pg_stat_activity shows what it showed first.
	observer, err := pgx.Connect(t.Context(), s.db.Pool().Config().ConnString())
	require.NoError(t, err)
	defer observer.Close(context.WithoutCancel(t.Context()))
	const visitors = 6
	var work sync.WaitGroup
	status := make(chan int, visitors)
	for i := range visitors {
		path := []string{"caches/db0/entries?prefix=a", "caches/db0/flush", "tags/invalidate?cache=db0&tag=x"}[i%3]
		work.Go(func() { status <- b.get(path).status })
	}
	answered := make(chan struct{})
	go func() { work.Wait(); close(answered) }()
	most := 0
	for waiting := true; waiting; {
		var n int
		require.NoError(t, observer.QueryRow(t.Context(), "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'").Scan(&n))
		most = max(most, n)
		select {
		case <-answered:
			waiting = false
		case <-time.After(10 * time.Millisecond):
		}
	}
	require.Positive(t, most)
	require.LessOrEqual(t, most, 2)
	for range visitors {
		require.GreaterOrEqual(t, <-status, http.StatusInternalServerError)
	}
	_, err = conn.Exec(t.Context(), "ROLLBACK")
	require.NoError(t, err)
	b.get("caches/db0/entries?prefix=a").want(t, http.StatusOK)
}

// sessionsOf counts the sessions of clients in a database. A superuser sees which are of
// clients: PostgreSQL has some of its own.
func sessionsOf(t *testing.T, address string) func() int {
	t.Helper()
	super, err := pgx.Connect(t.Context(), pgtest.SuperURL(address))
	require.NoError(t, err)
	t.Cleanup(func() { super.Close(context.Background()) })
	return func() (n int) {
		t.Helper()
		require.NoError(t, super.QueryRow(t.Context(), "SELECT count(*) FROM pg_stat_activity "+
			"WHERE datname = current_database() AND backend_type = 'client backend' AND pid <> pg_backend_pid()").Scan(&n))
		return n
	}
}

// Nothing that a visitor sends leads to another database, though it is on the same server and
// open to the same role.
func TestNoOtherDatabase(t *testing.T) {
	t.Parallel()
	const marker, secret = "key-of-another-database", "value of another database"
	address := pgtest.New(t)
	other, err := howdah.Open(t.Context(), address, &howdah.Options{Timeout: 20 * time.Second})
	require.NoError(t, err)
	require.NoError(t, other.CreateCache(t.Context(), howdah.CacheConfig{Name: "theirs"}))
	for _, cache := range []string{"db0", "theirs"} {
		require.NoError(t, other.Cache(cache).Set(t.Context(), marker, []byte(secret), 0))
	}
	name := other.Pool().Config().ConnConfig.Database
	require.NoError(t, other.Close())
	sessions := sessionsOf(t, address)
	require.Eventually(t, func() bool { return sessions() == 0 }, time.Minute, 10*time.Millisecond)

	s := open(t, nil)
	require.NotEqual(t, name, s.db.Pool().Config().ConnConfig.Database)
	values := url.Values{"key64": {key64([]byte(marker))}, "key": {marker}, "prefix": {"key-"}, "user": {"x"}, "tag": {"x"}, "cache": {"theirs"}}
	for _, parameter := range []string{"url", "dsn", "host", "server", "database", "db", "dbname", "service", "options", "search_path"} {
		values.Set(parameter, address)
		if strings.HasPrefix(parameter, "d") {
			values.Add(parameter, name)
		}
	}
	b := s.browser(adminToken, viewerToken, sessionsToken)
	for _, cache := range []string{"db0", "theirs", name, name + ".db0", url.PathEscape(name + "/db0"), url.PathEscape(address)} {
		for _, rt := range s.console.routes() {
			if rt.path == "logout" || rt.changes {
				continue
			}
			path := strings.NewReplacer("{cache}", cache, "{file}", "app.css", "{$}", "").Replace(rt.path)
			var got page
			if rt.method == http.MethodGet {
				got = b.get(path + "?" + values.Encode())
			} else {
				got = b.post(path, values)
			}
			if cache != "db0" && strings.Contains(rt.path, "{cache}") {
				require.GreaterOrEqual(t, got.status, http.StatusBadRequest, path)
			}
			require.NotContains(t, got.body, secret, path)
			switch {
			case strings.Contains(path, "/entry") && got.status == http.StatusOK: // which names the key that was sent
				require.Contains(t, got.body, "The key is absent or expired", path)
			case !strings.Contains(path, "/entry") && path != "slow": // where the calls of this test are
				require.NotContains(t, got.body, ">"+marker, path)
			}
		}
	}
	b.get("caches/db0/entries").want(t, http.StatusOK).has(t, "The cache is empty")
	for _, sent := range s.sent.take() {
		require.Equal(t, s.db.Pool().Config().ConnConfig.Database, sent.conn.Config().Database)
	}
	require.Zero(t, sessions())
}
