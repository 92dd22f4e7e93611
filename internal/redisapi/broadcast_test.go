package redisapi

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/howdah/howdah/internal/resp"
	"github.com/howdah/howdah/internal/test/pgtest"
)

// broadcasts starts a server and a client that is told of all keys.
func broadcasts(t *testing.T, url string, near time.Duration, options ...string) (*testServer, *trackingClient) {
	t.Helper()
	s := serveBroadcast(t, url, near)
	c := dialTracking(t, s.addr(), "3")
	c.wantReply(resp.OK, append([]string{"CLIENT", "TRACKING", "ON", "BCAST"}, options...)...)
	return s, c
}

// wantKeys waits until the client was told of keys, by one message or several.
func (c *trackingClient) wantKeys(keys ...string) {
	c.t.Helper()
	for len(keys) > 0 {
		message := c.await()
		before := len(keys)
		keys = slices.DeleteFunc(keys, func(key string) bool { return strings.Contains(message, "\r\n"+key+"\r\n") })
		if len(keys) == before {
			c.t.Fatalf("the message is %q, and has none of %q", message, keys)
		}
	}
}

// What others change is told once, whoever they are.
func TestBroadcastOfWritesElsewhere(t *testing.T) {
	t.Parallel()
	eachBound(t, func(t *testing.T, near time.Duration) {
		url := newTrackingDatabase(t)
		s, c := broadcasts(t, url, near, "PREFIX", "k")
		other := serveBroadcast(t, url, near)
		writer := dial(t, other.addr())
		s.sql("CREATE TABLE public.articles (id integer PRIMARY KEY, title text)")
		s.sql("INSERT INTO public.articles VALUES (1, 'a')")
		s.sql("SELECT howdah.watch_table('public.articles', cache => 'db0', key => $$'k' || id$$)")
		for _, write := range []struct {
			what string
			do   func()
			keys []string
		}{
			{"a set of another server", func() { writer.want(resp.OK, "SET", "k", "1") }, []string{"k"}},
			{"another prefix", func() { writer.want(resp.OK, "SET", "j", "1") }, nil},
			{"an edit of another server", func() { writer.do("HSET", "kh", "f", "v") }, []string{"kh"}},
			{"many keys", func() { writer.want(resp.OK, "MSET", "k2", "1", "j", "2", "k1", "3") }, []string{"k1", "k2"}},
			{"a transaction", func() { writer.do("MULTI"); writer.do("SET", "k", "5"); writer.do("INCR", "k2"); writer.do("EXEC") }, []string{"k", "k2"}},
			{"a script", func() { writer.do("EVAL", "return redis.call('incr', KEYS[1])", "1", "k") }, []string{"k"}},
			{"a rename", func() { writer.want(resp.OK, "RENAME", "j", "kj") }, []string{"kj"}},
			{"a delete", func() { writer.want(":1\r\n", "DEL", "kj") }, []string{"kj"}},
			{"SQL", func() { s.sql("SELECT howdah.set_text('db0', 'k', '2')") }, []string{"k"}},
			{"SQL of many", func() { s.sql("SELECT howdah.set_many_text('db0', '{k,k2}', '{1,2}')") }, []string{"k", "k2"}},
			{"SQL that expires", func() { s.sql("SELECT howdah.expire_text('db0', 'k', '1 h')") }, []string{"k"}},
			{"SQL that deletes", func() { s.sql("SELECT howdah.delete_text('db0', 'k')") }, []string{"k"}},
			{"SQL that deletes a prefix", func() { s.sql("SELECT howdah.delete_prefix_text('db0', 'k2')") }, []string{"k2"}},
			{"tags", func() {
				s.sql("SELECT howdah.set_tagged_text('db0', 'kt', '1', '{t}')")
				c.wantKeys("kt")
				s.sql("SELECT howdah.invalidate_tag('db0', 't')")
			}, []string{"kt"}},
			{"a watch", func() { s.sql("UPDATE public.articles SET title = 'b'") }, []string{"k1"}},
			{"the library", func() {
				if err := other.db.Cache("db0").Set(t.Context(), "kg", []byte("1"), 0); err != nil {
					t.Error(err)
				}
				if n, err := other.db.Cache("db0").DeletePrefix(t.Context(), "kg"); n != 1 || err != nil {
					t.Errorf("%d, %v", n, err)
				}
			}, []string{"kg", "kg"}},
		} {
			t.Log(write.what)
			s.caughtUp()
			c.wantNone()
			write.do()
			if write.keys != nil {
				c.wantKeys(write.keys...)
			}
		}
		s.caughtUp()
		c.heard()
		for name, all := range map[string]string{
			"a flush": "SELECT howdah.flush('db0')", "the end of the keys": "SELECT howdah.alter_cache('db0', log_keys => false)",
			"all is invalid": "SELECT howdah.invalidate_all('db0')",
			"keys that are too many for a row of the log": "SELECT howdah.set_many_text('db0', array_agg('k' || g || repeat('x', 1000)), array_agg('v'::text)) FROM generate_series(1, 100) AS g",
		} {
			t.Log(name)
			s.sql("SELECT howdah.alter_cache('db0', log_keys => true)")
			s.caughtUp()
			c.heard()
			s.sql(all)
			c.wantMessage("")
		}
	})
}

// A write whose transaction this server does not see the end of is told when that is
// committed.
func TestBroadcastOfTheLibrary(t *testing.T) {
	t.Parallel()
	eachBound(t, func(t *testing.T, near time.Duration) {
		s, c := broadcasts(t, newTrackingDatabase(t), near)
		cache := s.db.Cache("db0")
		if err := cache.Set(t.Context(), "k", []byte("1"), 0); err != nil {
			t.Fatal(err)
		}
		c.wantMessage("k")
		s.caughtUp()
		c.wantNone()
		tx, err := s.db.Pool().Begin(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if err := cache.With(tx).Set(t.Context(), "k", []byte("2"), 0); err != nil {
			t.Fatal(err)
		}
		s.caughtUp()
		c.wantNone()
		if err := tx.Commit(t.Context()); err != nil {
			t.Fatal(err)
		}
		c.wantMessage("k")
	})
}

// Keys that expire and are evicted are told when upkeep removes them.
func TestBroadcastOfUpkeep(t *testing.T) {
	t.Parallel()
	s, c := broadcasts(t, newTrackingDatabase(t), 0, "PREFIX", "k")
	writer := dial(t, s.addr())
	writer.want(resp.OK, "SET", "k", "v", "PX", "1")
	c.wantMessage("k")
	c.wantMessage("k")
	s.sql("SELECT howdah.set_many_text('db0', array_agg('k' || g), array_agg('v'::text)) FROM generate_series(1, 100) AS g")
	c.wantKeys("k1", "k100")
	s.sql("SELECT howdah.alter_cache('db0', max_entries => 10, eviction => 'allkeys-random')")
	s.sql("SELECT howdah.maintain('db0')")
	if message := c.await(); !strings.Contains(message, "invalidate\r\n*") {
		t.Errorf("%q", message)
	}
}

// While the log cannot be read, the client is told to drop everything, about once a second.
func TestBroadcastInAnOutage(t *testing.T) {
	t.Parallel()
	postgres := pgtest.Own(t)
	s, c := broadcasts(t, postgres.NewURL(), 0)
	postgres.Freeze()
	c.wantMessage("")
	c.wantMessage("")
	postgres.Thaw()
	s.caughtUp()
	c.heard()
	s.sql("SELECT howdah.set_text('db0', 'k', '1')")
	c.wantMessage("k")
}

func TestBroadcastWithoutKeys(t *testing.T) {
	t.Parallel()
	s := serveTracking(t, newTrackingDatabase(t), 0)
	c := dialTracking(t, s.addr(), "3")
	c.run("GET", "k")
	refused := "-ERR CLIENT TRACKING with BCAST needs the keys in the change log of cache db0, which are off; " +
		"turn them on with SELECT howdah.alter_cache('db0', near => true, log_keys => true), " +
		`with PATCH /v1/caches/db0 {"near":true,"log_keys":true}, or with DB.AlterCache (CacheConfig.LogKeys); ` +
		"or leave BCAST out, and the keys that this client reads are tracked\r\n"
	c.wantReply(refused, "CLIENT", "TRACKING", "ON", "BCAST")
	s.sql("SELECT howdah.alter_cache('db0', near => false)")
	c.wantReply(refused, "CLIENT", "TRACKING", "ON", "BCAST")

	early := dialTracking(t, s.addr(), "3") // it asks while it connects
	early.wantReply(resp.OK, "CLIENT", "TRACKING", "ON", "BCAST")
	early.wantMessage("") // others may read for it
	early.wantMessage("")

	s.sql("SELECT howdah.alter_cache('db0', near => true, log_keys => true)")
	c.wantReply(resp.OK, "CLIENT", "TRACKING", "ON", "BCAST")
	early.wantReply(resp.OK, "CLIENT", "TRACKING", "ON", "BCAST")
	s.caughtUp()
	c.heard()
	early.heard()
	s.caughtUp()
	early.wantNone()

	// Another database has no keys in its log: what the client reads there is ended at once.
	c.wantReply(resp.OK, "SELECT", "1")
	s.sql("SELECT howdah.alter_cache('db1', log_keys => false)")
	c.run("GET", "k") // its table is not known before
	s.caughtUp()
	c.heard()
	c.wantReply("_\r\n", "GET", "k")
	c.wantMessage("k")
	c.run("MULTI")
	c.run("GET", "k")
	c.wantReply("*1\r\n_\r\n", "EXEC")
	c.wantMessage("k")
}

func TestBroadcastIsShown(t *testing.T) {
	t.Parallel()
	_, c := broadcasts(t, newTrackingDatabase(t), 0, "PREFIX", "a", "PREFIX", "b", "NOLOOP")
	for command, want := range map[string]string{
		"INFO stats": "tracking_total_prefixes:2\r\n", "CLIENT INFO": " flags=tB ", "INFO clients": "tracking_clients:1\r\n",
	} {
		if text := c.run(strings.Fields(command)...); !strings.Contains(text, want) {
			t.Errorf("%q is not in %q", want, text)
		}
	}
	c.wantReply(resp.OK, "CLIENT", "TRACKING", "OFF")
	if text := c.run("INFO", "stats"); !strings.Contains(text, "tracking_total_prefixes:0\r\n") {
		t.Errorf("%q", text)
	}
}

// A transaction that is undone, and run again, leaves the prefixes as they were.
func TestBroadcastInATransaction(t *testing.T) {
	t.Parallel()
	s, c := broadcasts(t, newTrackingDatabase(t), 0, "PREFIX", "a")
	writer := dial(t, s.addr())
	c.run("MULTI")
	c.run("CLIENT", "TRACKING", "ON", "BCAST", "PREFIX", "b")
	c.run("SET", "b1", "1")
	c.run("EXEC")
	c.heard()
	writer.want(resp.OK, "MSET", "a1", "1", "b1", "1", "c1", "1")
	c.wantMessage("a1")
	c.wantMessage("b1")
	c.wantNone()
}

// Writes that share a flight are told by one message.
func TestBroadcastOfAPipeline(t *testing.T) {
	t.Parallel()
	s, c := broadcasts(t, newTrackingDatabase(t), 0)
	writer := dial(t, s.addr())
	var batch []byte
	for i := range 100 {
		batch = resp.AppendCommand(batch, "SET", fmt.Sprint("k", i), "v")
	}
	writer.send(batch)
	for range 100 {
		if reply := writer.reply(); reply != resp.OK {
			t.Fatalf("%q", reply)
		}
	}
	messages := c.heard()
	told := strings.Join(messages, "")
	for i := range 100 {
		if !strings.Contains(told, fmt.Sprintf("\r\nk%d\r\n", i)) {
			t.Errorf("k%d was not told", i)
		}
	}
	if len(messages) > 50 {
		t.Errorf("%d messages of 100 keys", len(messages))
	}
	s.caughtUp()
	c.wantNone()
}
