package redisapi

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/howdah/howdah/internal/core"
	"github.com/howdah/howdah/internal/pubsub"
	"github.com/howdah/howdah/internal/resp"
	"github.com/howdah/howdah/internal/test/pgtest"
	"github.com/howdah/howdah/internal/verb"
)

// heard is what subscribers of a server hear of keys, as "channel message".
type heard struct {
	mu   sync.Mutex
	list []string
}

// listenTo subscribes to the events of a server.
func listenTo(t *testing.T, s *testServer) *heard {
	t.Helper()
	h := new(heard)
	subscription := (*core.DB)(s.db).Hub().Subscribe(pubsub.Pattern, "__key*", h)
	t.Cleanup(subscription.End)
	return h
}

// Deliver implements pubsub.Receiver.
func (h *heard) Deliver(m *pubsub.Message) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.list = append(h.list, string(m.Channel)+" "+string(m.Payload))
}

// take returns what has been heard so far.
func (h *heard) take() (list []string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	list, h.list = h.list, nil
	return list
}

// count returns how often an event has been heard.
func (h *heard) count(event string) (n int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, e := range h.list {
		if e == event {
			n++
		}
	}
	return n
}

// await waits until an event is heard.
func (h *heard) await(t *testing.T, event string) {
	t.Helper()
	require.Eventually(t, func() bool { return h.count(event) > 0 }, time.Minute, 5*time.Millisecond, "%q is not heard", event)
}

// running runs the upkeep of a server, and what carries messages, until the test ends.
func (s *testServer) running(t *testing.T) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- s.db.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		require.NoError(t, <-done)
	})
}

// joined has a server take the messages of others, as a subscriber does.
func (s *testServer) joined(t *testing.T) {
	t.Helper()
	db := (*core.DB)(s.db)
	require.NoError(t, db.Bus().Await(t.Context()))
	ready := make(chan error, 1)
	ok, err := db.Listen(pubsub.Pattern, func(err error) { ready <- err })
	require.NoError(t, err)
	if !ok {
		require.NoError(t, <-ready)
	}
	t.Cleanup(func() { db.Unlisten(pubsub.Pattern) })
}

func (c *testClient) setEvents(classes string) {
	c.t.Helper()
	c.want(resp.OK, "CONFIG", "SET", "notify-keyspace-events", classes)
}

// Nothing is published while nobody has asked for it, nor without a channel or a class.
func TestEventsAreOff(t *testing.T) {
	t.Parallel()
	s := serve(t, Options{})
	h, c := listenTo(t, s), dial(t, s.addr())
	for _, classes := range []string{"", "A", "KE", "Kx", "g$"} {
		c.setEvents(classes)
		c.want(resp.OK, "SET", "k", "v", "EX", "100")
		c.want(":1\r\n", "HSET", "h "+classes, "f", "v")
		c.want(":1\r\n", "DEL", "k")
		require.Empty(t, h.take(), classes)
	}
	c.setEvents("Eg")
	c.want(resp.OK, "SET", "k", "v", "EX", "100")
	require.Equal(t, []string{"__keyevent@0__:expire k"}, h.take())
}

// A read that memory could answer names what it does not find all the same.
func TestMissesBesideMemory(t *testing.T) {
	t.Parallel()
	s := serveTracking(t, pgtest.New(t), time.Second)
	h, c := listenTo(t, s), dial(t, s.addr())
	s.caughtUp()
	for range 3 {
		c.want("$-1\r\n", "GET", "absent")
	}
	c.setEvents("Km")
	for range 3 {
		c.want("$-1\r\n", "GET", "absent")
	}
	require.Len(t, h.take(), 3)
}

// What a cache over its budget evicts is published, each key once, and is gone.
func TestEvicted(t *testing.T) {
	t.Parallel()
	url := pgtest.New(t)
	s := serveURL(t, url, Options{})
	pool := (*core.DB)(s.db).Pool()
	_, err := pool.Exec(t.Context(), `SELECT howdah.alter_cache('db0', max_entries => 100, eviction => 'allkeys-lru')`)
	require.NoError(t, err)
	s.running(t)
	s.joined(t)
	h, c := listenTo(t, s), dial(t, s.addr())
	c.setEvents("Ee$")
	const keys = 400
	for i := range keys {
		c.want(resp.OK, "SET", fmt.Sprint("k", i), "v")
	}
	evicted := func(i int) int { return h.count(fmt.Sprint("__keyevent@0__:evicted k", i)) }
	require.Eventually(t, func() bool {
		gone := 0
		for i := range keys {
			absent := c.do("GET", fmt.Sprint("k", i)) == "$-1\r\n"
			if absent != (evicted(i) > 0) {
				return false // upkeep is at work, or the event is on its way
			}
			if absent {
				gone++
			}
		}
		return gone > 0
	}, time.Minute, 10*time.Millisecond, "no key was evicted, or a key is gone without an event, or there after it")
	// Whatever was sent before this has come when this comes.
	_, err = pool.Exec(t.Context(), "SELECT howdah.set('db0', 'last', 'v')")
	require.NoError(t, err)
	h.await(t, "__keyevent@0__:set last")
	for i := range keys {
		require.LessOrEqual(t, evicted(i), 1, "k%d", i)
	}
}

// What is stored under a lease by SQL or by Redis is published as a SET, at COMMIT; what is not
// stored, and that there was nothing to load, is no event.
func TestEventsOfLeases(t *testing.T) {
	t.Parallel()
	s := serve(t, Options{})
	pool := (*core.DB)(s.db).Pool()
	s.running(t)
	s.joined(t)
	h, c := listenTo(t, s), dial(t, s.addr())
	c.setEvents("KEA")
	claim := func(key string) (token int64) {
		require.NoError(t, pool.QueryRow(t.Context(), "SELECT token FROM howdah.claim_text('db0', $1) WHERE state = 'won'", key).Scan(&token))
		return token
	}
	fulfil := func(key string, token int64, value, ttl any) (stored bool) {
		require.NoError(t, pool.QueryRow(t.Context(), "SELECT howdah.fulfil_text('db0', $1, $2, $3, $4::text::interval) IS NOT NULL", key, token, value, ttl).Scan(&stored))
		return stored
	}
	require.True(t, fulfil("plain", claim("plain"), "v", nil))
	require.True(t, fulfil("short", claim("short"), "v", "1 hour"))
	require.True(t, fulfil("nothing", claim("nothing"), nil, "1 hour"))
	token := claim("refused")
	c.want(resp.OK, "SET", "refused", "newer")
	require.False(t, fulfil("refused", token, "v", nil))

	tx, err := pool.Begin(t.Context())
	require.NoError(t, err)
	token = claim("undone")
	_, err = tx.Exec(t.Context(), "SELECT howdah.fulfil_text('db0', 'undone', $1, 'v')", token)
	require.NoError(t, err)
	require.NoError(t, tx.Rollback(t.Context()))

	lease := fetched(t, c.do("HOWDAH.FETCH", "by redis"), "won", "", true, true)
	c.want(resp.One, "HOWDAH.STORE", "by redis", lease, "60000", "v")
	_, err = pool.Exec(t.Context(), "SELECT howdah.set('db0', 'last', 'v')")
	require.NoError(t, err)
	h.await(t, "__keyevent@0__:set last")
	heard := h.take()
	of := func(key string) (events []string) {
		for _, e := range heard {
			if strings.HasPrefix(e, "__keyspace@0__:"+key+" ") || strings.HasSuffix(e, " "+key) {
				events = append(events, e)
			}
		}
		return events
	}
	set := func(key string) []string {
		return []string{"__keyspace@0__:" + key + " set", "__keyevent@0__:set " + key}
	}
	expire := func(key string) []string {
		return []string{"__keyspace@0__:" + key + " expire", "__keyevent@0__:expire " + key}
	}
	require.Equal(t, set("plain"), of("plain"))
	require.Equal(t, append(set("short"), expire("short")...), of("short"))
	require.Empty(t, of("nothing"))
	require.Equal(t, set("refused"), of("refused"), "of the SET")
	require.Empty(t, of("undone"))
	require.Equal(t, append(set("by redis"), expire("by redis")...), of("by redis"))
}

// Every server obeys a CONFIG SET of one of them, and publishes to the subscribers of all.
func TestServersObeyOneSetting(t *testing.T) {
	t.Parallel()
	url := pgtest.New(t)
	a, b := serveURL(t, url, Options{}), serveURL(t, url, Options{})
	for _, s := range []*testServer{a, b} {
		s.running(t)
		s.joined(t)
	}
	heardA, heardB := listenTo(t, a), listenTo(t, b)
	clientA, clientB := dial(t, a.addr()), dial(t, b.addr())
	clientA.setEvents("KEA")
	require.Eventually(t, func() bool {
		return clientB.do("CONFIG", "GET", "notify-keyspace-events") == "*2\r\n$22\r\nnotify-keyspace-events\r\n$3\r\nAKE\r\n"
	}, time.Minute, 10*time.Millisecond)
	clientB.want(resp.OK, "SET", "from b", "v")
	clientA.want(":1\r\n", "SADD", "from a", "m")
	for _, h := range []*heard{heardA, heardB} {
		h.await(t, "__keyspace@0__:from b set")
		h.await(t, "__keyevent@0__:sadd from a")
	}
	longest := "\x00\xff" + strings.Repeat("k", verb.MaxKeyBytes-2)
	clientB.want(":1\r\n", "LPUSH", longest, "v")
	heardA.await(t, "__keyspace@0__:"+longest+" lpush") // or the SQL may come before it
	_, err := (*core.DB)(a.db).Pool().Exec(t.Context(), "SELECT howdah.delete('db0', $1), howdah.set('db0', 'from sql', 'v')", []byte(longest))
	require.NoError(t, err)
	for _, h := range []*heard{heardA, heardB} {
		h.await(t, "__keyevent@0__:set from sql")
		require.Equal(t, 1, h.count("__keyspace@0__:"+longest+" lpush"))
		require.Equal(t, 1, h.count("__keyevent@0__:del "+longest))
	}
	clientB.setEvents("")
	require.Eventually(t, func() bool { return a.db != nil && (*core.DB)(a.db).WantedEvents() == 0 }, time.Minute, 10*time.Millisecond)
	heardA.take()
	clientA.want(resp.OK, "SET", "silent", "v")
	require.Empty(t, heardA.take())

	// A server that starts later obeys too.
	clientA.setEvents("Kg")
	late := serveURL(t, url, Options{})
	late.running(t)
	require.Eventually(t, func() bool { return (*core.DB)(late.db).WantedEvents() != 0 }, time.Minute, 10*time.Millisecond)
}

// Nothing is published of a transaction that does nothing, and nothing before its end.
func TestEventsOfTransactions(t *testing.T) {
	t.Parallel()
	s := serve(t, Options{})
	h, c, other := listenTo(t, s), dial(t, s.addr()), dial(t, s.addr())
	c.setEvents("KA")
	c.want(resp.OK, "WATCH", "w")
	c.want(resp.OK, "MULTI")
	c.want("+QUEUED\r\n", "SET", "k", "v")
	other.want(resp.OK, "SET", "w", "changed")
	require.Equal(t, []string{"__keyspace@0__:w set"}, h.take())
	c.want("*-1\r\n", "EXEC")
	require.Empty(t, h.take())

	c.want(resp.OK, "MULTI")
	for _, line := range [][]string{{"SET", "k", "v"}, {"SELECT", "1"}, {"LPUSH", "l", "x"}, {"RENAME", "l", "m"}, {"MOVE", "m", "0"}, {"SELECT", "0"}, {"DEL", "k", "absent", "k"}} {
		c.want("+QUEUED\r\n", line...)
	}
	c.do("EXEC")
	require.Equal(t, []string{
		"__keyspace@0__:k set", "__keyspace@1__:l lpush", "__keyspace@1__:l rename_from", "__keyspace@1__:m rename_to",
		"__keyspace@1__:m move_from", "__keyspace@0__:m move_to", "__keyspace@0__:k del",
	}, h.take())
}

// A script that loses against another client publishes what it did at last, once, and one
// that fails publishes what it did before.
func TestEventsOfScripts(t *testing.T) {
	t.Parallel()
	s := serve(t, Options{})
	h := listenTo(t, s)
	dial(t, s.addr()).setEvents("KA")
	const clients, rounds = 4, 25
	var work sync.WaitGroup
	for range clients {
		c := dial(t, s.addr())
		work.Go(func() {
			for range rounds {
				c.again("EVAL", "redis.call('incr', KEYS[1]) redis.call('lpush', 'l', ARGV[1]) return redis.call('hset', 'h', 'f', ARGV[1])", "1", "n", "x")
			}
		})
	}
	work.Wait()
	for _, event := range []string{"n incrby", "l lpush", "h hset"} {
		require.Equal(t, clients*rounds, h.count("__keyspace@0__:"+event), event)
	}
	h.take()
	c := dial(t, s.addr())
	c.do("EVAL", "redis.call('set', 'a', 1) redis.call('lpush', 'a', 1)", "0")
	require.Equal(t, []string{"__keyspace@0__:a set"}, h.take())
}

// The events of a key are in the order in which it changed, whoever changed it.
func TestEventsOfAKeyAreInOrder(t *testing.T) {
	t.Parallel()
	s := serve(t, Options{})
	h := listenTo(t, s)
	dial(t, s.addr()).setEvents("Kg$")
	const clients, rounds = 8, 200
	var work sync.WaitGroup
	for n := range clients {
		c := dial(t, s.addr())
		work.Go(func() {
			for i := range rounds {
				line := [][]string{{"SET", "k", "v", "NX"}, {"DEL", "k"}}[i%2]
				if n%4 != 0 {
					c.do(line...)
					continue
				}
				c.do("MULTI")
				c.do(line...)
				c.do("EXEC")
			}
		})
	}
	work.Wait()
	list := h.take()
	require.NotEmpty(t, list)
	for i, event := range list {
		want := "__keyspace@0__:k set"
		if i%2 == 1 {
			want = "__keyspace@0__:k del"
		}
		require.Equal(t, want, event, "event %d", i)
	}
}

// An expiry that PostgreSQL cannot store is its latest, for commands in scripts too.
func TestLatestExpiryOfAFunction(t *testing.T) {
	t.Parallel()
	c := dial(t, serve(t, Options{}).addr())
	c.want(resp.OK, "EVAL", "return redis.call('psetex', 'k', '9223370000000000000', 'v')", "0")
	c.want("$1\r\nv\r\n", "GET", "k")
	c.want(resp.OK, "EVAL", "return redis.call('set', 'k', 'w', 'EXAT', '9999999999999')", "0")
	c.want("$1\r\nw\r\n", "GET", "k")
}

// What Spring Session's indexed repository does and needs: the event of a key that was
// made to expire, with the session still readable, and that of one that was removed.
func TestSpringSession(t *testing.T) {
	t.Parallel()
	url := pgtest.New(t)
	a, b := serveURL(t, url, Options{}), serveURL(t, url, Options{})
	for _, s := range []*testServer{a, b} {
		s.running(t)
	}
	// Its ConfigureNotifyKeyspaceEventsAction reads the setting and adds what is missing.
	c := dial(t, a.addr())
	c.want("*2\r\n$22\r\nnotify-keyspace-events\r\n$0\r\n\r\n", "CONFIG", "GET", "notify-keyspace-events")
	c.setEvents("Egx")
	c.want("*2\r\n$22\r\nnotify-keyspace-events\r\n$3\r\ngxE\r\n", "CONFIG", "GET", "notify-keyspace-events")
	require.Eventually(t, func() bool { return (*core.DB)(b.db).WantedEvents() != 0 }, time.Minute, 10*time.Millisecond)

	listener := dial(t, b.addr())
	for _, pattern := range []string{"__keyevent@0__:del", "__keyevent@0__:expired"} {
		listener.do("SUBSCRIBE", pattern)
	}
	listener.do("PSUBSCRIBE", "spring:session:event:0:created:*")

	// The life begins when all else is done, so that nothing of it is heard before.
	create := func(id, ttl string) {
		key, expires := "spring:session:sessions:"+id, "spring:session:sessions:expires:"+id
		for _, line := range [][]string{
			{"HMSET", key, "creationTime", "1", "maxInactiveInterval", "1800", "lastAccessedTime", "1", "sessionAttr:user", "alice"},
			{"SADD", "spring:session:expirations:1700000000000", "expires:" + id}, {"EXPIRE", "spring:session:expirations:1700000000000", "2100"},
			{"APPEND", expires, ""}, {"EXPIRE", key, "2100"},
			{"SADD", "spring:session:index:principal:alice", id}, {"PUBLISH", "spring:session:event:0:created:" + id, "x"},
		} {
			c.do(line...)
		}
		require.Contains(t, listener.reply(), "created:"+id)
		c.want(":1\r\n", "PEXPIRE", expires, ttl)
	}
	expired := func(id string) string {
		return "*3\r\n" + bulk("message") + bulk("__keyevent@0__:expired") + bulk("spring:session:sessions:expires:"+id)
	}
	create("read", "30")
	a.expire(t, "spring:session:sessions:expires:read")
	c.do("EXISTS", "spring:session:sessions:expires:read") // as its task does each minute
	require.Equal(t, expired("read"), listener.reply())
	c.want(bulk("alice"), "HGET", "spring:session:sessions:read", "sessionAttr:user")

	create("forgotten", "30") // nobody asks for it
	require.Equal(t, expired("forgotten"), listener.reply())

	create("ended", "1800000")
	c.do("DEL", "spring:session:sessions:expires:ended")
	require.Equal(t, "*3\r\n"+bulk("message")+bulk("__keyevent@0__:del")+bulk("spring:session:sessions:expires:ended"), listener.reply())
}

// What a transaction gives to clients that wait is published as what others take is.
func TestEventsOfClientsServedByTransactions(t *testing.T) {
	t.Parallel()
	s := serve(t, Options{})
	h, c, waits := listenTo(t, s), dial(t, s.addr()), dial(t, s.addr())
	c.setEvents("Klg")
	for _, exec := range []bool{false, true} {
		waits.send(resp.AppendCommand(nil, "BLPOP", "k", "0"))
		waitFor(t, "a client that waits", func() bool { return s.engine.options.DB.Waiters().Count() == 1 })
		if exec {
			c.do("MULTI")
		}
		c.do("RPUSH", "k", "a")
		if exec {
			c.want("*1\r\n:1\r\n", "EXEC")
		}
		waits.reply()
		require.Equal(t, []string{"__keyspace@0__:k rpush", "__keyspace@0__:k lpop", "__keyspace@0__:k del"}, h.take())
	}
}
