package redisapi

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/howdah/howdah/internal/resp"
	"github.com/howdah/howdah/internal/test/pgtest"
)

// eachBound runs a test with and without entries in memory.
func eachBound(t *testing.T, test func(t *testing.T, near time.Duration)) {
	for _, near := range []time.Duration{0, 100 * time.Millisecond} {
		t.Run(fmt.Sprintf("near %v", near), func(t *testing.T) { test(t, near) })
	}
}

// tracks starts a server and a client that tracks.
func tracks(t *testing.T, url string, near time.Duration, options ...string) (*testServer, *trackingClient) {
	t.Helper()
	s := serveTracking(t, url, near)
	c := dialTracking(t, s.addr(), "3")
	c.wantReply(resp.OK, append([]string{"CLIENT", "TRACKING", "ON"}, options...)...)
	return s, c
}

// wantReply runs a command and compares its reply.
func (c *trackingClient) wantReply(want string, args ...string) {
	c.t.Helper()
	if got := c.run(args...); got != want {
		c.t.Fatalf("%q gives %q, and not %q", args, got, want)
	}
}

func (s *testServer) sql(statement string, args ...any) {
	s.t.Helper()
	if _, err := s.db.Pool().Exec(context.Background(), statement, args...); err != nil {
		s.t.Fatal(err)
	}
}

// What others change is told: another server, SQL, in the order in which it is committed.
func TestTrackingOfWritesElsewhere(t *testing.T) {
	t.Parallel()
	eachBound(t, func(t *testing.T, near time.Duration) {
		url := newTrackingDatabase(t)
		s, c := tracks(t, url, near)
		other := serveTracking(t, url, near)
		writer := dial(t, other.addr())
		for name, write := range map[string]func(){
			"a set of another server":    func() { writer.want(resp.OK, "SET", "k", "1") },
			"an edit of another server":  func() { writer.want(":2\r\n", "INCR", "k") },
			"a transaction elsewhere":    func() { writer.do("MULTI"); writer.do("SET", "k", "5"); writer.do("EXEC") },
			"a script elsewhere":         func() { writer.do("EVAL", "return redis.call('incr', KEYS[1])", "1", "k") },
			"SQL":                        func() { s.sql("SELECT howdah.set_text('db0', 'k', '2')") },
			"SQL that deletes":           func() { s.sql("SELECT howdah.delete_text('db0', 'k')") },
			"SQL in a block":             func() { s.sql("DO $$ BEGIN PERFORM howdah.set_text('db0', 'k', '3'); END $$") },
			"SQL that deletes a prefix":  func() { s.sql("SELECT howdah.delete_prefix_text('db0', 'k')") },
			"a rename on another server": func() { writer.do("SET", "j", "1"); writer.want(resp.OK, "RENAME", "j", "k") },
			"an expiry on another server": func() {
				writer.do("SET", "k", "1")
				c.wantMessage("k")
				c.run("GET", "k")
				writer.want(":1\r\n", "EXPIRE", "k", "100")
			},
		} {
			if name == "an edit of another server" || name == "a script elsewhere" {
				writer.do("SET", "k", "1")
			}
			if name == "SQL that deletes" || name == "SQL that deletes a prefix" {
				s.sql("SELECT howdah.set_text('db0', 'k', '2')")
			}
			s.caughtUp()
			c.run("GET", "k")
			c.wantNone()
			t.Log(name)
			write()
			c.wantMessage("k")
		}
		for name, all := range map[string]string{
			"a flush": "SELECT howdah.flush('db0')", "the end of the log": "SELECT howdah.alter_cache('db0', near => false)",
			"all is invalid": "SELECT howdah.invalidate_all('db0')",
		} {
			t.Log(name)
			s.sql("SELECT howdah.alter_cache('db0', near => true)")
			other.caughtUp()
			s.caughtUp()
			c.run("GET", "k") // finds the new table, and is ended at once
			c.heard()
			c.run("GET", "k")
			c.wantNone()
			s.sql(all)
			c.wantMessage("")
		}
	})
}

// A transaction that was open when the client read is told of when it is committed,
// however long that takes, and others meanwhile.
func TestTrackingOfOpenTransactions(t *testing.T) {
	t.Parallel()
	eachBound(t, func(t *testing.T, near time.Duration) {
		s, c := tracks(t, newTrackingDatabase(t), near)
		ctx := t.Context()
		conn, err := s.db.Pool().Acquire(ctx)
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Release()
		tx, err := conn.Begin(ctx)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := tx.Exec(ctx, "SELECT howdah.set_text('db0', 'k', 'new')"); err != nil {
			t.Fatal(err)
		}
		c.wantReply("_\r\n", "GET", "k")
		c.wantReply("_\r\n", "GET", "j")
		s.caughtUp()
		s.sql("SELECT howdah.set_text('db0', 'j', '1')")
		c.wantMessage("j")
		s.caughtUp()
		c.wantNone()
		if err := tx.Commit(ctx); err != nil {
			t.Fatal(err)
		}
		c.wantMessage("k")
		c.wantReply(bulk("new"), "GET", "k")
	})
}

// Gets that memory answers without a request are tracked too, one by one and many at once.
func TestTrackingOfRecalledGets(t *testing.T) {
	t.Parallel()
	s, c := tracks(t, newTrackingDatabase(t), 100*time.Millisecond)
	hits := func() (n int) {
		_, rest, _ := strings.Cut(c.run("INFO", "near"), "near_hits:")
		fmt.Sscan(rest, &n)
		return n
	}
	for i := range 12 {
		c.wantReply(resp.OK, "SET", fmt.Sprint("k", i), "old")
	}
	for name, read := range map[string]func(){
		"one": func() { c.wantReply(bulk("old"), "GET", "k0") },
		"many": func() {
			var batch []byte
			for i := range 12 {
				batch = resp.AppendCommand(batch, "GET", fmt.Sprint("k", i))
			}
			c.send(batch)
			for range 12 {
				if reply := c.next(); reply != bulk("old") {
					t.Fatalf("%q", reply)
				}
			}
		},
	} {
		t.Log(name)
		for before := hits(); hits() == before; { // until memory answers
			read()
			c.heard()
		}
		s.sql("SELECT howdah.set_text('db0', 'k0', 'new')")
		c.wantMessage("k0")
		c.wantReply(bulk("new"), "GET", "k0")
		c.wantReply(resp.OK, "SET", "k0", "old")
		c.wantMessage("k0")
		s.caughtUp()
		c.heard()
	}
}

func TestTrackingOfExpiry(t *testing.T) {
	t.Parallel()
	eachBound(t, func(t *testing.T, near time.Duration) {
		s, c := tracks(t, newTrackingDatabase(t), near)
		writer := dial(t, s.addr())
		write := func(ms string) { writer.want(resp.OK, "SET", "k", "expires", "PX", ms) }
		for _, read := range [][]string{{"GET", "k"}, {"MGET", "j", "k"}, {"STRLEN", "k"}, {"EXISTS", "k"}, {"BITCOUNT", "k"}, {"PTTL", "k"}} {
			readInTime(write, func() bool {
				s.caughtUp()
				c.heard()
				reply := c.run(read...)
				return !slices.Contains([]string{"_\r\n", "*2\r\n_\r\n_\r\n", resp.Zero, ":-2\r\n"}, reply)
			})
			c.wantMessage("k")
			for c.run("GET", "k") != "_\r\n" { // memory may end an entry a little before PostgreSQL does
				c.wantMessage("k")
			}
		}
		for range 3 { // the second script does not have the connection to itself
			readBeforeItExpires(write, func() string {
				s.caughtUp()
				c.heard()
				return c.run("EVAL", "return redis.call('get', KEYS[1])", "1", "k")
			})
			c.wantMessage("k")
		}
		readBeforeItExpires(write, func() string {
			s.caughtUp()
			c.heard()
			c.queue("GET k")
			return c.run("EXEC")
		})
		c.wantMessage("k")
	})
}

// A field of a hash that expires ends the copy of the hash.
func TestTrackingOfExpiringFields(t *testing.T) {
	t.Parallel()
	eachBound(t, func(t *testing.T, near time.Duration) {
		s, c := tracks(t, newTrackingDatabase(t), near)
		writer := dial(t, s.addr())
		writer.want(":2\r\n", "HSET", "h", "stays", "1", "k", "2")
		for _, read := range [][]string{{"HGETALL", "h"}, {"HGET", "h", "f"}, {"HMGET", "h", "f"}, {"HLEN", "h"}, {"MULTI"}} {
			write := func(ms string) {
				writer.want(":1\r\n", "HSET", "h", "f", "v")
				writer.want("*1\r\n:1\r\n", "HPEXPIRE", "h", ms, "FIELDS", "1", "f")
			}
			readInTime(write, func() bool {
				s.caughtUp()
				c.heard()
				reply := c.run(read...)
				if read[0] == "MULTI" {
					c.run("HGETALL", "h")
					reply = c.run("EXEC")
				}
				return strings.Contains(reply, bulk("v")) || reply == ":3\r\n"
			})
			c.wantMessage("h")
			for c.run("HGET", "h", "f") != "_\r\n" {
				c.wantMessage("h")
			}
			writer.want(":2\r\n", "HLEN", "h")
		}
	})
}

// While the log cannot be read, what the client has is ended after a second.
func TestTrackingInAnOutage(t *testing.T) {
	t.Parallel()
	eachBound(t, func(t *testing.T, near time.Duration) {
		postgres := pgtest.Own(t)
		s, c := tracks(t, postgres.NewURL(), near)
		c.wantReply("_\r\n", "GET", "k")
		postgres.Freeze()
		c.wantMessage("")
		postgres.Thaw()
		s.caughtUp()
		c.heard()
		c.wantReply("_\r\n", "GET", "k")
		s.sql("SELECT howdah.set_text('db0', 'k', '1')")
		c.wantMessage("k")

		c.wantReply(bulk("1"), "GET", "k")
		postgres.KillBackend()
		c.wantMessage("")
	})
}

func TestTrackingWithoutALog(t *testing.T) {
	t.Parallel()
	s, c := tracks(t, newTrackingDatabase(t), 0)
	c.wantReply(resp.OK, "SELECT", "1")
	s.sql("SELECT howdah.alter_cache('db1', near => false)") // it has one as db0 has
	c.run("GET", "k")                                        // its table is not known before
	s.caughtUp()
	c.heard()
	c.wantReply("_\r\n", "GET", "k")
	c.wantMessage("k")
	c.wantReply("*2\r\n_\r\n_\r\n", "MGET", "k", "j")
	c.wantMessage("k")
	c.wantMessage("j")
	c.wantReply("*0\r\n", "LRANGE", "l", "0", "-1")
	c.wantMessage("l")
	c.run("MULTI")
	c.run("GET", "k")
	c.wantReply("*1\r\n_\r\n", "EXEC")
	c.wantMessage("k")

	early := dialTracking(t, s.addr(), "3") // it asks while it connects
	early.run("SELECT", "1")
	early.wantReply(resp.OK, "CLIENT", "TRACKING", "ON")
	early.wantReply("_\r\n", "GET", "k")
	early.wantMessage("k")

	other := dialTracking(t, s.addr(), "3")
	other.run("SELECT", "1")
	other.run("GET", "k")
	other.wantReply("-ERR client side caching needs the change log of cache db1, which is off; turn it on with SELECT howdah.alter_cache('db1', near => true)\r\n",
		"CLIENT", "TRACKING", "ON")
	s.sql("SELECT howdah.alter_cache('db1', near => true)")
	other.wantReply(resp.OK, "CLIENT", "TRACKING", "ON")
	c.heard()
	c.wantReply("_\r\n", "GET", "k")
	c.wantNone()
}

func TestTrackingOfManyKeys(t *testing.T) {
	t.Parallel()
	_, c := tracks(t, newTrackingDatabase(t), 0)
	c.wantReply(resp.OK, "CONFIG", "SET", "tracking-table-max-keys", "10")
	ended := map[string]bool{}
	for i := range 200 {
		c.run("GET", fmt.Sprint("k", i))
	}
	for _, message := range c.heard() {
		ended[message] = true
	}
	if n := len(ended); n < 100 || n > 190 {
		t.Errorf("%d of 200 keys were ended, though 10 are kept", n)
	}
}

func TestTrackingIsShown(t *testing.T) {
	t.Parallel()
	s, c := tracks(t, newTrackingDatabase(t), 0)
	target := dialTracking(t, s.addr(), "3")
	id := strings.Trim(target.run("CLIENT", "ID"), ":\r\n")
	d := dialTracking(t, s.addr(), "3")
	d.wantReply(resp.OK, "CLIENT", "TRACKING", "ON", "REDIRECT", id, "NOLOOP")
	d.run("MGET", "a", "b")
	c.run("GET", "a")
	wants := func(text, want string) {
		t.Helper()
		if !strings.Contains(text, want) {
			t.Errorf("%q is not in %q", want, text)
		}
	}
	wants(c.run("INFO", "clients"), "tracking_clients:2\r\n")
	wants(c.run("INFO", "stats"), "tracking_total_keys:2\r\ntracking_total_items:3\r\ntracking_total_prefixes:0\r\n")
	wants(c.run("CLIENT", "INFO"), " flags=t ")
	wants(c.run("CLIENT", "INFO"), " redir=0 ")
	wants(d.run("CLIENT", "INFO"), " redir="+id+" ")
	wants(target.run("CLIENT", "INFO"), " flags=N ")
	wants(target.run("CLIENT", "INFO"), " redir=-1 ")

	c.wantReply(":1\r\n", "CLIENT", "KILL", "ID", id)
	for s.engine.connection(parseID(t, id)) != nil {
		c.run("PING")
	}
	c.run("SET", "b", "1")
	if message := d.await(); message != ">2\r\n$21\r\ntracking-redir-broken\r\n:"+id+"\r\n" {
		t.Errorf("%q", message)
	}
	wants(d.run("CLIENT", "TRACKINGINFO"), "broken_redirect")
	wants(d.run("CLIENT", "INFO"), " flags=tR ")
	c.conn.Close()
	d.run("RESET")
	for strings.Contains(d.run("INFO", "clients"), "tracking_clients:1") {
		d.run("PING")
	}
	wants(d.run("INFO", "clients"), "tracking_clients:0\r\n")
}

func parseID(t *testing.T, text string) int64 {
	t.Helper()
	id, err := parseInt([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return id
}

// What changes a whole database ends everything.
func TestTrackingOfWholeDatabases(t *testing.T) {
	t.Parallel()
	eachBound(t, func(t *testing.T, near time.Duration) {
		s, c := tracks(t, newTrackingDatabase(t), near)
		writer := dial(t, s.addr())
		writer.want(resp.OK, "SELECT", "1")
		s.sql("SELECT howdah.alter_cache('db1', near => true)")
		writer.want(resp.OK, "SET", "k", "one")
		for _, all := range [][]string{{"SWAPDB", "0", "1"}, {"FLUSHALL"}} {
			s.caughtUp()
			c.run("GET", "k") // may find a new table, and is ended at once then
			c.heard()
			c.run("GET", "k")
			c.wantNone()
			writer.want(resp.OK, all...)
			c.wantMessage("")
		}
	})
}

// A client that reads what an open transaction of its own server has written waits for
// nothing, and is told when that is committed.
func TestTrackingOfTheLibrary(t *testing.T) {
	t.Parallel()
	eachBound(t, func(t *testing.T, near time.Duration) {
		s, c := tracks(t, newTrackingDatabase(t), near)
		c.wantReply("_\r\n", "GET", "k")
		if err := s.db.Cache("db0").Set(t.Context(), "k", []byte("1"), 0); err != nil {
			t.Fatal(err)
		}
		c.wantMessage("k")
		c.wantReply(bulk("1"), "GET", "k")
		err := pgx.BeginFunc(t.Context(), s.db.Pool(), func(tx pgx.Tx) error {
			return s.db.Cache("db0").With(tx).Set(t.Context(), "k", []byte("2"), 0)
		})
		if err != nil {
			t.Fatal(err)
		}
		c.wantMessage("k")
		c.wantReply(bulk("2"), "GET", "k")
	})
}

// What a command takes that need not wait is the client's own change.
func TestNoLoopOfCommandsThatMayWait(t *testing.T) {
	t.Parallel()
	s, c := tracks(t, newTrackingDatabase(t), slowPolls, "NOLOOP")
	c.wantReply(":2\r\n", "RPUSH", "l", "a", "b")
	s.caughtUp() // or a poll would tell of it behind the read
	c.run("LRANGE", "l", "0", "-1")
	c.wantReply("*2\r\n"+bulk("l")+bulk("a"), "BLPOP", "l", "0")
	s.caughtUp()
	c.wantNone()
	other := dial(t, s.addr())
	c.run("LRANGE", "l", "0", "-1")
	other.want("*2\r\n"+bulk("l")+bulk("b"), "BLPOP", "l", "0")
	c.wantMessage("l")
}
