package redisapi

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/howdah/howdah"
	"github.com/howdah/howdah/internal/resp"
	"github.com/howdah/howdah/internal/test/pgtest"
)

// TestErrorText checks that clients repeat those failures, and only those, after
// which nothing was written.
func TestErrorText(t *testing.T) {
	t.Parallel()
	e := serve(t, Options{}).engine
	for _, test := range []struct {
		err   error
		read  string
		write string
	}{
		{howdah.ErrUnavailable, "LOADING", "LOADING"},
		{howdah.ErrClosed, "LOADING", "LOADING"},
		{howdah.ErrUnknownOutcome, "LOADING", "ERR outcome unknown"},
		{howdah.ErrTimeout, "ERR timeout", "ERR timeout"},
		{howdah.ErrOverloaded, "TRYAGAIN", "TRYAGAIN"},
		{howdah.ErrCacheFull, "OOM", "OOM command not allowed when used memory > 'maxmemory'."},
		{howdah.ErrKeyTooLong, "ERR key is longer", "ERR key is longer"},
		{howdah.ErrValueTooLarge, "ERR string exceeds", "ERR string exceeds maximum allowed size (proto-max-bulk-len)"},
		{howdah.ErrPermission, "NOPERM", "NOPERM"},
		{howdah.ErrCacheNotFound, "ERR", "ERR this database has no cache"},
		{fmt.Errorf("%w: %w", howdah.ErrUnavailable, &pgconn.PgError{Code: "25006"}), "READONLY", "READONLY You can't write against a read only replica."},
		{errors.New("other"), "ERR while testing: other", "ERR while testing: other"},
	} {
		wrapped := fmt.Errorf("while testing: %w", test.err)
		if got := e.errorText(wrapped, false); !strings.HasPrefix(got, test.read) {
			t.Errorf("%v of a read: %q, want %q", test.err, got, test.read)
		}
		if got := e.errorText(wrapped, true); !strings.HasPrefix(got, test.write) {
			t.Errorf("%v of a write: %q, want %q", test.err, got, test.write)
		}
	}
}

// TestDatabaseAway stops PostgreSQL under a connection and starts it again:
// every command gets an answer in that time, and service resumes by itself.
func TestDatabaseAway(t *testing.T) {
	t.Parallel()
	own := pgtest.Own(t)
	s := serveURL(t, own.NewURL(), Options{})
	c := dial(t, s.addr())
	c.want(resp.OK, "SET", "k", "v")
	own.Stop("fast")
	const away = "-LOADING Howdah cannot reach PostgreSQL, try again\r\n"
	c.want(away, "GET", "k")
	c.want(away, "SET", "k", "w")
	c.want(away, "KEYS", "*")
	c.want(away, "TIME")
	c.want(away, "SELECT", "5")
	c.want(resp.OK, "MULTI")
	c.want(resp.Queued, "SET", "k", "w")
	c.want(away, "EXEC")
	c.want("-ERR EXEC without MULTI\r\n", "EXEC")
	c.want(resp.Pong, "PING")
	if info := c.do("INFO"); !strings.Contains(info, "redis_version:"+CompatibleVersion) {
		t.Errorf("INFO: %q", info)
	}
	own.Start()
	waitFor(t, "service to resume", func() bool { return c.do("SET", "k", "x") == resp.OK })
	c.want(bulk("x"), "GET", "k")
}

// TestKilledDatabase kills PostgreSQL while commands are in flight: every one
// is answered, in order, and what INCR says was counted is there, if the cache
// is durable.
func TestKilledDatabase(t *testing.T) {
	t.Parallel()
	own := pgtest.Own(t)
	s := serveURL(t, own.NewURL(), Options{})
	c := dial(t, s.addr())
	c.want(resp.OK, "SET", "k", "v")
	stop := make(chan struct{})
	window := make(chan struct{}, 500) // what is sent and not answered
	go func() {
		data := resp.AppendCommand(nil, "INCR", "n")
		data = resp.AppendCommand(data, "ECHO", "e")
		for {
			select {
			case <-stop:
				c.conn.Write(resp.AppendCommand(nil, "PING"))
				return
			case window <- struct{}{}:
				c.conn.Write(data)
			}
		}
	}()
	last, failed := 0, false
	for i := 0; ; i++ {
		if i == 50 {
			own.Kill()
		}
		reply := c.reply()
		if reply == resp.Pong {
			break
		}
		switch {
		case reply[0] == ':':
			var value int
			fmt.Sscanf(reply, ":%d", &value)
			if value <= last {
				t.Fatalf("INCR returned %d after %d", value, last)
			}
			last = value
		case strings.HasPrefix(reply, "-LOADING "), strings.HasPrefix(reply, "-ERR outcome unknown"), strings.HasPrefix(reply, "-ERR timeout"):
			if !failed {
				failed = true
				close(stop)
			}
		default:
			t.Fatalf("INCR: %q", reply)
		}
		if got := c.reply(); got != bulk("e") {
			t.Fatalf("ECHO: %q", got)
		}
		<-window
	}
	own.Start()
	waitFor(t, "service to resume", func() bool { return c.do("SET", "k", "x") == resp.OK })
}

// limitedURL grants a new role of the test what a server needs, and returns the URL of a database for it.
func limitedURL(t *testing.T, owner, name string) string {
	t.Helper()
	role := "howdah_redisapi_" + name
	exec := func(databaseURL, sql string) {
		t.Helper()
		conn, err := pgx.Connect(context.Background(), databaseURL)
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close(context.Background())
		if _, err := conn.Exec(context.Background(), sql); err != nil {
			t.Fatal(err)
		}
	}
	exec(pgtest.SuperURL(owner), "CREATE ROLE "+role+" LOGIN PASSWORD 'app'")
	t.Cleanup(func() {
		exec(pgtest.SuperURL(owner), "DROP OWNED BY "+role)
		exec(pgtest.SuperURL(owner), "DROP ROLE "+role)
	})
	exec(owner, "SELECT howdah.grant_runtime('"+role+"')")
	u, err := url.Parse(owner)
	if err != nil {
		t.Fatal(err)
	}
	u.User = url.UserPassword(role, "app")
	return u.String()
}

// TestDatabaseMayNotBeMade selects a database as a role that may not create
// it, and again after the owner has.
func TestDatabaseMayNotBeMade(t *testing.T) {
	t.Parallel()
	owner := pgtest.New(t)
	conn, err := pgx.Connect(context.Background(), owner)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.Background())
	exec := func(conn *pgx.Conn, sql string) {
		t.Helper()
		if _, err := conn.Exec(context.Background(), sql); err != nil {
			t.Fatal(err)
		}
	}
	c := dial(t, serveURL(t, limitedURL(t, owner, "app"), Options{}).addr())
	c.want(resp.OK, "SET", "k", "v")
	refused := "-NOPERM database 3 does not exist, and the database role may not create it; run SELECT howdah.create_database(3) as the owner of the schema\r\n"
	c.want(refused, "SELECT", "3")
	c.want(refused, "COPY", "k", "k", "DB", "3")
	c.want(resp.OK, "MULTI")
	c.want(resp.Queued, "GET", "k")
	c.want(resp.Queued, "SELECT", "3")
	c.want(resp.Queued, "STRLEN", "k")
	c.want("*3\r\n$1\r\nv\r\n-ERR this database does not exist and cannot be created inside a transaction; SELECT it before MULTI\r\n:1\r\n", "EXEC")
	c.want(bulk("v"), "GET", "k") // still in database 0
	exec(conn, "SELECT howdah.create_database(3)")
	c.want(resp.OK, "SELECT", "3")
	c.want("$-1\r\n", "GET", "k")
}

func TestOtherDatabaseNames(t *testing.T) {
	t.Parallel()
	url := pgtest.New(t)
	s := serveURL(t, url, Options{Database: func(n int) string { return [...]string{"pages", "sessions"}[n%2] }})
	if err := s.db.CreateCache(context.Background(), howdah.CacheConfig{Name: "pages"}); err != nil {
		t.Fatal(err)
	}
	c := dial(t, s.addr())
	c.want(resp.OK, "SET", "k", "v")
	c.want("-ERR database 1 is the cache \"sessions\", which does not exist; create it with SELECT howdah.create_cache('sessions')\r\n", "SELECT", "1")
	if value, err := s.db.Cache("pages").Get(context.Background(), "k"); err != nil || string(value) != "v" {
		t.Errorf("%q, %v", value, err)
	}
}

func TestLongKeys(t *testing.T) {
	t.Parallel()
	c := dial(t, serve(t, Options{}).addr())
	longest, long := strings.Repeat("k", howdah.MaxKeyBytes), strings.Repeat("k", howdah.MaxKeyBytes+1)
	refused := "-" + string(errKeyTooLong) + "\r\n"
	c.want(resp.OK, "SET", longest, "v")
	c.want(bulk("v"), "GET", longest)
	c.want(refused, "SET", long, "v")
	c.want(refused, "MGET", "a", long)
	c.want(refused, "MSET", "a", "1", long, "2")
	c.want(refused, "RENAME", longest, long)
	c.want(refused, "OBJECT", "ENCODING", long)
	c.want(resp.OK, "MULTI")
	c.want(refused, "GET", long)
	c.want("-EXECABORT Transaction discarded because of previous errors.\r\n", "EXEC")
}

// TestLargeValues stores values up to the limit; larger ones are refused.
func TestLargeValues(t *testing.T) {
	t.Parallel()
	c := dial(t, serve(t, Options{MaxBulk: 1 << 20}).addr())
	value := strings.Repeat("v", 1<<20)
	c.want(resp.OK, "SET", "k", value)
	c.want(bulk(value), "GET", "k")
	c.want("-ERR string exceeds maximum allowed size (proto-max-bulk-len)\r\n", "SETRANGE", "k", "1048576", "x")
	c.want(resp.OK, "MULTI")
	c.want(resp.Queued, "GET", "k")
	c.want("*1\r\n"+bulk(value), "EXEC")
	c.send([]byte("*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$1048577\r\n"))
	if got := c.closed(); got != "-ERR Protocol error: invalid bulk length\r\n" {
		t.Errorf("got %q", got)
	}
}

// TestDatabaseDropped drops the cache of a selected database: commands say so,
// and SELECT creates it again.
func TestDatabaseDropped(t *testing.T) {
	t.Parallel()
	s := serve(t, Options{})
	c := dial(t, s.addr())
	c.want(resp.OK, "SELECT", "3")
	c.want(resp.OK, "SET", "k", "v")
	if err := s.db.DropCache(context.Background(), "db3"); err != nil {
		t.Fatal(err)
	}
	const gone = "-ERR this database has no cache in PostgreSQL; SELECT it again, or run howdah migrate\r\n"
	c.want(gone, "GET", "k")
	c.want(gone, "SET", "k", "v")
	c.want(gone, "KEYS", "*")
	c.want(resp.OK, "MULTI")
	c.want(resp.Queued, "INCR", "n")
	c.want(gone, "EXEC")
	c.want(resp.OK, "SELECT", "3")
	c.want("$-1\r\n", "GET", "k")
	c.want(resp.OK, "SET", "k", "v")
}
