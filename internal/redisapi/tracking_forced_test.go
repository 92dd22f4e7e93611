package redisapi

import (
	"context"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/howdah/howdah/internal/near"
	"github.com/howdah/howdah/internal/resp"
	"github.com/howdah/howdah/internal/test/await"
)

// hold keeps a key locked in PostgreSQL until release is called, with no change of it.
func (s *testServer) hold(key string) (release func()) {
	s.t.Helper()
	ctx := context.Background()
	conn, err := s.db.Pool().Acquire(ctx)
	if err != nil {
		s.t.Fatal(err)
	}
	tx, err := conn.Begin(ctx)
	if err == nil {
		_, err = tx.Exec(ctx, "SELECT howdah.set_text('db0', $1, '0')", key)
	}
	if err != nil {
		s.t.Fatal(err)
	}
	return func() {
		_ = tx.Rollback(ctx)
		conn.Release()
	}
}

// awaitWaiting waits until a statement waits for a lock.
func (s *testServer) awaitWaiting() {
	s.t.Helper()
	for waiting := 0; waiting == 0; {
		row := s.db.Pool().QueryRow(context.Background(),
			"SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'")
		if err := row.Scan(&waiting); err != nil {
			s.t.Fatal(err)
		}
	}
}

// A transaction has read a key, and cannot answer yet. The key changes, and the change is
// told at once, before the answer with the old value: it must be told again behind it.
func TestTrackingWhileExecWaits(t *testing.T) {
	t.Parallel()
	eachBound(t, func(t *testing.T, near time.Duration) {
		s, c := tracks(t, newTrackingDatabase(t), near)
		s.sql("SELECT howdah.set_text('db0', 'k', 'old')")
		s.sql("SELECT howdah.set_text('db0', 'l', '0')")
		s.caughtUp()
		c.heard()
		release := s.hold("l")
		c.run("MULTI")
		c.run("GET", "k")
		c.run("MGET", "i", "j")
		c.run("INCR", "l")
		c.send(resp.AppendCommand(nil, "EXEC"))
		s.awaitWaiting()
		s.sql("SELECT howdah.set_text('db0', 'k', 'new')")
		c.wantMessage("k")
		s.sql("SELECT howdah.set_text('db0', 'j', 'new')")
		c.wantMessage("j")
		release()
		if reply := c.next(); reply != "*3\r\n"+bulk("old")+"*2\r\n_\r\n_\r\n:1\r\n" {
			t.Fatalf("%q", reply)
		}
		c.wantMessage("k")
		c.wantMessage("j")
		c.wantReply(bulk("new"), "GET", "k")
		c.wantReply(bulk("new"), "GET", "j")
		c.wantReply("_\r\n", "GET", "i")
		s.caughtUp()
		c.heard()
		s.sql("SELECT howdah.set_text('db0', 'i', 'new')")
		c.wantMessage("i")
	})
}

// The answer to a GET waits behind that of a write which meets a lock. What changes
// meanwhile is told behind both.
func TestTrackingBehindAWrite(t *testing.T) {
	t.Parallel()
	eachBound(t, func(t *testing.T, near time.Duration) {
		s, c := tracks(t, newTrackingDatabase(t), near)
		other := dial(t, s.addr())
		other.want(resp.OK, "SET", "k", "old")
		for range 3 { // from PostgreSQL, and from memory if there is any
			c.wantReply(bulk("old"), "GET", "k")
		}
		s.caughtUp()
		c.heard()
		release := s.hold("l")
		defer func() { release() }()
		c.send(resp.AppendCommand(resp.AppendCommand(nil, "INCR", "l"), "GET", "k"))
		s.awaitWaiting()
		await.True(t, "a key is tracked", func() bool { return s.engine.options.DB.Tracking().Stats().Keys > 0 })
		other.want(resp.OK, "SET", "k", "new")
		s.sql("SELECT howdah.set_text('db0', 'k', 'newer')")
		release()
		release = func() {}
		if reply := c.reply(); reply != ":1\r\n" {
			t.Fatalf("%q: a message overtakes a reply", reply)
		}
		reply := c.reply()
		if reply != bulk("old") && reply != bulk("new") {
			t.Fatalf("%q: a message overtakes a reply", reply)
		}
		c.wantMessage("k")
		if c.run("GET", "k") == bulk("new") { // from memory, which has not heard of the other write yet
			c.wantMessage("k")
		}
		c.wantReply(bulk("newer"), "GET", "k")
	})
}

// A transaction that fails leaves the tracking as it was, whatever its commands have done.
func TestTrackingAfterAFailedExec(t *testing.T) {
	t.Parallel()
	for _, change := range []string{"OFF", "ON"} {
		t.Run(change, func(t *testing.T) {
			s := serveTracking(t, newTrackingDatabase(t), 0)
			s.sql("SELECT howdah.set_text('db0', 'l', '0')")
			c, other := dialTracking(t, s.addr(), "3"), dial(t, s.addr())
			if change == "OFF" {
				c.wantReply(resp.OK, "CLIENT", "TRACKING", "ON")
			}
			release := s.hold("l")
			c.run("MULTI")
			c.run("CLIENT", "TRACKING", change)
			c.run("INCR", "l")
			c.send(resp.AppendCommand(nil, "EXEC"))
			s.awaitWaiting()
			s.sql("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'")
			if reply := c.next(); reply[0] != '-' {
				t.Fatalf("%q", reply)
			}
			release()
			c.heard()
			c.run("GET", "k")
			other.want(resp.OK, "SET", "k", "v")
			if messages := c.heard(); (len(messages) == 1) != (change == "OFF") {
				t.Fatalf("messages: %q", messages)
			}
			if stats := s.engine.options.DB.Tracking().Stats(); (stats.Clients == 1) != (change == "OFF") {
				t.Fatalf("%+v", stats)
			}
		})
	}
}

// A pipeline that reads a key, changes it and reads it again: the client is told behind the
// change, and behind no later change again.
func TestTrackingInAPipeline(t *testing.T) {
	t.Parallel()
	eachBound(t, func(t *testing.T, near time.Duration) {
		s, c := tracks(t, newTrackingDatabase(t), near)
		s.caughtUp()
		data := resp.AppendCommand(nil, "GET", "k")
		for i := range 20 {
			data = resp.AppendCommand(data, "SET", "k", strconv.Itoa(i))
			data = resp.AppendCommand(data, "GET", "k")
		}
		c.send(data)
		held := "" // what the client holds, which never is behind what it was told
		for i := range 41 {
			reply := c.next()
			if len(c.messages) > 0 {
				c.messages, held = nil, ""
			}
			if i%2 == 0 {
				held = reply
			}
		}
		s.caughtUp()
		if len(c.heard()) > 0 {
			held = ""
		}
		if held != "" && held != bulk("19") {
			t.Fatalf("the client keeps %q", held)
		}
		dial(t, s.addr()).want(resp.OK, "SET", "k", "new")
		if held != "" {
			c.wantMessage("k")
		}
		c.wantReply(bulk("new"), "GET", "k")
	})
}

// Memory answers a pipeline of GETs while the key changes again and again. When all is
// still, what the client would keep is the newest value.
func TestTrackingUnderFire(t *testing.T) {
	t.Parallel()
	eachBound(t, func(t *testing.T, near time.Duration) {
		url := newTrackingDatabase(t)
		s, c := tracks(t, url, near)
		writers := []*testClient{dial(t, s.addr()), dial(t, serveTracking(t, url, near).addr())}
		const rounds = 60
		for round := range rounds {
			kept := ""
			done := make(chan struct{})
			want := "v" + string(rune('a'+round%26))
			go func() {
				defer close(done)
				writers[round%2].do("SET", "k", "interim")
				if round%3 == 0 {
					_, _ = s.db.Pool().Exec(context.Background(), "SELECT howdah.set_text('db0', 'k', $1)", want)
				} else {
					writers[round%2].do("SET", "k", want)
				}
			}()
			var batch []byte
			for range 30 {
				batch = resp.AppendCommand(batch, "GET", "k")
			}
			take := func(reply string) {
				if reply == invalidation("k") || reply == invalidation("") {
					kept = ""
				} else {
					kept = reply
				}
			}
			running := true
			for running {
				select {
				case <-done:
					running = false
				default:
				}
				c.send(batch)
				for replies := 0; replies < 30; {
					reply := c.reply()
					take(reply)
					if reply[0] != '>' {
						replies++
					}
				}
			}
			s.caughtUp()
			for _, message := range c.heard() {
				take(message)
			}
			if kept != "" && kept != bulk(want) {
				t.Fatalf("round %d: the client keeps %q, and the value is %q", round, kept, want)
			}
		}
	})
}

// A hit is answered from memory while the key changes, at each moment of it: the change
// must be told behind the reply.
func TestTrackingBesideAHit(t *testing.T) {
	t.Parallel()
	engine := withMemory(t, Options{})
	table := engine.options.DB.Tracking()
	changes := map[string]func(){
		"the key":    func() { table.Changed(engine.options.DB.Hash([]byte("k")), nil) },
		"everything": table.Missed,
	}
	for what, change := range changes {
		for moment := range 3 {
			c := newTestConn(engine)
			c.do("HELLO 3", "GET k") // the table is known then
			c.beginTracking(trackingMode{})
			c.out.Reset()
			at := func(now int) {
				if now == moment {
					change()
				}
			}
			c.pipe.BeginInput()
			registered := c.trackRun([][]byte{[]byte("k")})
			at(0)
			entries := []near.Entry{{Value: []byte("old")}}
			c.answerRun(entries, 0)
			at(1)
			c.confirmRun(registered, entries)
			at(2)
			c.pipe.EndInput(0)
			c.Output(&c.out)
			_, behind, replied := strings.Cut(string(c.out.Bytes()), bulk("old"))
			if !replied || !strings.Contains(behind, "invalidate") {
				t.Errorf("%s, moment %d: %q", what, moment, c.out.Bytes())
			}
			c.Close()
		}
	}
	if stats := table.Stats(); stats.Clients != 0 {
		t.Errorf("%d clients track though all are gone", stats.Clients)
	}
}

// A transaction that fails leaves the prefixes of a client that broadcasts as they were.
func TestBroadcastAfterAFailedExec(t *testing.T) {
	t.Parallel()
	s, c := broadcasts(t, newTrackingDatabase(t), 0, "PREFIX", "user:")
	s.sql("SELECT howdah.set_text('db0', 'l', '0')")
	release := s.hold("l")
	for _, command := range []string{"MULTI", "CLIENT TRACKING OFF", "CLIENT TRACKING ON BCAST PREFIX item:", "INCR l"} {
		c.run(strings.Fields(command)...)
	}
	c.send(resp.AppendCommand(nil, "EXEC"))
	s.awaitWaiting()
	s.sql("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'")
	if reply := c.next(); reply[0] != '-' {
		t.Fatalf("%q", reply)
	}
	release()
	c.heard()
	other := dial(t, s.addr())
	other.want(resp.OK, "MSET", "item:1", "v", "user:1", "v")
	c.wantKeys("user:1")
	c.wantNone()
}

// What a command that has the connection to itself changes is told between its reply and
// that of the next command.
func TestOwnChangesAreToldBeforeTheNextCommand(t *testing.T) {
	t.Parallel()
	s, c := tracks(t, newTrackingDatabase(t), slowPolls)
	c.run("SET", "j", "v")
	for range 50 {
		s.caughtUp()
		c.run("GET", "k")
		c.heard()
		c.send(append(resp.AppendCommand(nil, "COPY", "j", "k", "REPLACE"), resp.AppendCommand(nil, "PING")...))
		for _, want := range []string{":1\r\n", invalidation("k"), resp.Pong} {
			if got := c.reply(); got != want {
				t.Fatalf("got %q, want %q", got, want)
			}
		}
	}
}

// What changes while HELLO runs is not told in the new protocol before its reply is.
func TestTrackingBesideHello(t *testing.T) {
	t.Parallel()
	c := newTestConn(serve(t, Options{}).engine)
	defer c.Close()
	c.beginTracking(trackingMode{})
	hello, _ := c.engine.commands.find([][]byte{[]byte("hello")})
	reply := hello.now(c.Conn, [][]byte{[]byte("HELLO"), []byte("3")}, nil)
	c.invalidate("k", false)
	c.answer(hello, reply)
	c.invalidate("k", false)
	c.Output(&c.out)
	if got, want := string(c.out.Bytes()), string(reply)+invalidation("k"); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	c.out.Reset()
	c.do("MULTI", "HELLO 2", "EXEC")
	c.invalidate("k", false)
	if c.Output(&c.out); c.out.Len() > 0 {
		t.Errorf("got %q", c.out.Bytes())
	}
}
