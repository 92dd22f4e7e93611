package redisapi

import (
	"context"
	"crypto/sha1"
	"encoding/hex"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/howdah/howdah/internal/resp"
	"github.com/howdah/howdah/internal/test/pgtest"
)

// shaOf is the SHA-1 of a script, as clients give it.
func shaOf(source string) string {
	sum := sha1.Sum([]byte(source))
	return hex.EncodeToString(sum[:])
}

// execSQL runs a statement as another program would.
func execSQL(t testing.TB, url, sql string, args ...any) {
	t.Helper()
	conn, err := pgx.Connect(context.Background(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.Background())
	if _, err := conn.Exec(context.Background(), sql, args...); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
}

// grow lets what a server has learnt become too old.
func (s *testServer) grow() { s.engine.shared.asked.Store(s.engine.clock() - int64(maxScriptAge)) }

const noScript = "-NOSCRIPT No matching script. Please use EVAL.\r\n"

// TestScriptsOfTwoServers: what one server has loaded the other runs, and what one has
// flushed the other forgets.
func TestScriptsOfTwoServers(t *testing.T) {
	t.Parallel()
	url := pgtest.New(t)
	one, two := serveURL(t, url, Options{}), serveURL(t, url, Options{})
	a, b := dial(t, one.addr()), dial(t, two.addr())
	const first, second, third = "return ARGV[1]", "return redis.call('INCR', KEYS[1])", "return 3"
	b.want(noScript, "EVALSHA", shaOf(first), "0", "x")
	a.want(bulk(shaOf(first)), "SCRIPT", "LOAD", first)
	b.want("*2\r\n:1\r\n:0\r\n", "SCRIPT", "EXISTS", strings.ToUpper(shaOf(first)), shaOf(second))
	b.want(bulk("x"), "EVALSHA", strings.ToUpper(shaOf(first)), "0", "x")
	a.want(bulk(shaOf(second)), "SCRIPT", "LOAD", second)
	b.want(resp.OK, "MULTI")
	b.want(resp.Queued, "SCRIPT", "EXISTS", shaOf(second), "bogus")
	b.want(resp.Queued, "EVALSHA", shaOf(second), "1", "n")
	b.want(resp.Queued, "SCRIPT", "LOAD", third)
	b.want(resp.Queued, "EVALSHA", shaOf(third), "0")
	b.want(resp.Queued, "EVALSHA", shaOf("return 4"), "0")
	b.want("*5\r\n*2\r\n:1\r\n:0\r\n:1\r\n"+bulk(shaOf(third))+":3\r\n"+noScript, "EXEC")
	a.want(":3\r\n", "EVALSHA", shaOf(third), "0")
	a.want(":2\r\n", "EVALSHA", shaOf(second), "1", "n")

	a.want(resp.OK, "SCRIPT", "FLUSH")
	a.want(noScript, "EVALSHA", shaOf(first), "0", "x")
	two.grow()
	b.want(noScript, "EVALSHA", shaOf(first), "0", "x")
	b.want("*1\r\n:0\r\n", "SCRIPT", "EXISTS", shaOf(second))
	dial(t, serveURL(t, url, Options{}).addr()).want(noScript, "EVALSHA", shaOf(first), "0", "x")
}

// TestScriptsAfterFlush: a server forgets its own flush: what was evaluated or loaded
// after it stays, also when the server asks for what others have done.
func TestScriptsAfterFlush(t *testing.T) {
	t.Parallel()
	s := serve(t, Options{})
	c := dial(t, s.addr())
	c.want(bulk(shaOf("return 1")), "SCRIPT", "LOAD", "return 1")
	c.want(":1\r\n", "EVALSHA", shaOf("return 1"), "0")
	c.want(resp.OK, "SCRIPT", "FLUSH", "SYNC")
	c.want(":2\r\n", "EVAL", "return 2", "0")
	s.grow()
	c.want(":2\r\n", "EVALSHA", shaOf("return 2"), "0")
	c.want(noScript, "EVALSHA", shaOf("return 1"), "0")
}

// TestReadAndFlushed: a script that was read before a flush, and compiled after it, is
// not kept.
func TestReadAndFlushed(t *testing.T) {
	t.Parallel()
	var s scripts
	flushes := s.flushed()
	s.flush()
	if script, err := s.compileStored([]byte("return 1"), flushes); script == nil || err != nil {
		t.Fatal(err)
	}
	if s.find([]byte(shaOf("return 1"))) != nil {
		t.Error("it is kept")
	}
	s.compileStored([]byte("return 1"), s.flushed())
	if s.find([]byte(shaOf("return 1"))) == nil {
		t.Error("it is not kept")
	}
}

// TestPlantedScript: a row whose SHA-1 is that of another script is not run, and SCRIPT
// LOAD repairs it.
func TestPlantedScript(t *testing.T) {
	t.Parallel()
	url := pgtest.New(t)
	c := dial(t, serveURL(t, url, Options{}).addr())
	sum := sha1.Sum([]byte("return 'good'"))
	execSQL(t, url, "INSERT INTO howdah_internal.script (sha1, source) VALUES ($1, 'return ''planted''')", sum[:])
	c.want(noScript, "EVALSHA", shaOf("return 'good'"), "0")
	c.want(bulk(shaOf("return 'good'")), "SCRIPT", "LOAD", "return 'good'")
	dial(t, serveURL(t, url, Options{}).addr()).want(bulk("good"), "EVALSHA", shaOf("return 'good'"), "0")
}

// TestScriptsWhileDatabaseIsAway: a server that cannot ask does not say that a script or
// a function is not there. What was loaded outlives a crash of PostgreSQL.
func TestScriptsWhileDatabaseIsAway(t *testing.T) {
	t.Parallel()
	own := pgtest.Own(t)
	url := own.NewURL()
	one, two := serveURL(t, url, Options{}), serveURL(t, url, Options{})
	a, b := dial(t, one.addr()), dial(t, two.addr())
	const library = "#!lua name=lib\nredis.register_function('f', function() return 5 end)"
	a.want(bulk(shaOf("return 1")), "SCRIPT", "LOAD", "return 1")
	a.want(bulk("lib"), "FUNCTION", "LOAD", library)
	own.Stop("immediate")
	const away = "-LOADING Howdah cannot reach PostgreSQL, try again\r\n"
	for _, line := range []string{
		"EVALSHA " + shaOf("return 1") + " 0", "EVALSHA_RO " + shaOf("return 9") + " 0", "SCRIPT EXISTS " + shaOf("return 1"), "SCRIPT FLUSH",
		"FCALL f 0", "FCALL_RO g 0", "FUNCTION LIST", "FUNCTION STATS", "FUNCTION FLUSH", "FUNCTION DELETE lib",
	} {
		b.want(away, strings.Fields(line)...)
	}
	b.want(away, "SCRIPT", "LOAD", "return 7")
	b.want(away, "FUNCTION", "LOAD", library)
	b.want(resp.OK, "MULTI")
	b.want(resp.Queued, "FCALL", "f", "0")
	b.want(away, "EXEC")
	one.grow()
	a.want(away, "EVALSHA", shaOf("return 1"), "0")
	a.want(away, "FCALL", "f", "0")
	own.Start()
	waitFor(t, "service to resume", func() bool { return b.do("SET", "k", "x") == resp.OK })
	b.want(":1\r\n", "EVALSHA", shaOf("return 1"), "0")
	b.want(":5\r\n", "FCALL", "f", "0")
}

// TestScriptsOfAReadOnlyDatabase: EVAL works where nothing can be stored, and SCRIPT LOAD
// is known to the server, as to a replica of Redis.
func TestScriptsOfAReadOnlyDatabase(t *testing.T) {
	t.Parallel()
	url := pgtest.New(t)
	dial(t, serveURL(t, url, Options{}).addr()).want(bulk(shaOf("return 1")), "SCRIPT", "LOAD", "return 1")
	execSQL(t, url, "DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET default_transaction_read_only = on', current_database()); END $$")
	c := dial(t, serveURL(t, url, Options{}).addr())
	const refused = "-READONLY You can't write against a read only replica.\r\n"
	c.want(refused, "SET", "k", "v")
	c.want(":1\r\n", "EVALSHA", shaOf("return 1"), "0")
	c.want("$-1\r\n", "EVAL", "return redis.call('GET', KEYS[1])", "1", "k")
	c.want(bulk(shaOf("return 2")), "SCRIPT", "LOAD", "return 2")
	c.want(":2\r\n", "EVALSHA", shaOf("return 2"), "0")
	c.want(refused, "SCRIPT", "FLUSH")
	c.want(refused, "FUNCTION", "LOAD", "#!lua name=lib\nredis.register_function('f', function() return 5 end)")
	c.want("*0\r\n", "FUNCTION", "LIST")
}
