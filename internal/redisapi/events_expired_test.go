package redisapi

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/howdah/howdah/internal/core"
	"github.com/howdah/howdah/internal/resp"
	"github.com/howdah/howdah/internal/test/pgtest"
)

// A key that a read finds expired is removed, and that is published once, whoever reads.
func TestExpiredByReads(t *testing.T) {
	t.Parallel()
	s := serve(t, Options{})
	h, c := listenTo(t, s), dial(t, s.addr())
	c.setEvents("Kx")
	for i, read := range [][]string{
		{"GET", "k"}, {"EXISTS", "k"}, {"EXISTS", "k", "other"}, {"MGET", "other", "k"}, {"TTL", "k"}, {"HGETALL", "k"}, {"TYPE", "k"}, {"STRLEN", "k"},
	} {
		c.want(resp.OK, "SET", "k", "v", "PX", "20")
		s.expire(t, "k")
		for range 3 {
			c.do(read...)
		}
		h.await(t, "__keyspace@0__:k expired")
		c.do("DEL", "k") // waits behind what removes the key
		require.Equal(t, 1, len(h.take()), "%d %q", i, read)
	}
	for range 3 {
		c.do("GET", "never there")
	}
	c.do("DEL", "never there")
	require.Empty(t, h.take())
}

// Upkeep publishes what it removes: each key once, whichever server leads.
func TestExpiredByUpkeep(t *testing.T) {
	t.Parallel()
	url := pgtest.New(t)
	a, b := serveURL(t, url, Options{}), serveURL(t, url, Options{})
	for _, s := range []*testServer{a, b} {
		s.running(t)
		s.joined(t)
	}
	heardA, heardB := listenTo(t, a), listenTo(t, b)
	c := dial(t, a.addr())
	c.setEvents("Ex")
	const keys = 50
	for i := range keys {
		c.want(resp.OK, "SET", fmt.Sprint("k", i), "v", "PX", "50")
	}
	c.want(resp.OK, "SET", "stays", "v")
	for i := range keys {
		event := fmt.Sprintf("__keyevent@0__:expired k%d", i)
		heardA.await(t, event)
		heardB.await(t, event)
	}
	for _, h := range []*heard{heardA, heardB} {
		list := h.take()
		slices.Sort(list)
		require.Len(t, slices.Compact(list), keys)
		require.Len(t, list, keys, "an event came twice")
	}
}

// WATCH of a key that has expired, or that expires before EXEC, loses no event: it is
// published once, by WATCH or by upkeep. EXEC fails where the key was there at WATCH.
func TestExpiredAndWatched(t *testing.T) {
	t.Parallel()
	s := serve(t, Options{})
	h, c, other := listenTo(t, s), dial(t, s.addr()), dial(t, s.addr())
	c.setEvents("Kx")
	expired := []string{"__keyspace@0__:k expired"}

	c.want(resp.OK, "SET", "k", "v", "PX", "1")
	s.expire(t, "k")
	require.Empty(t, h.take())
	c.want(resp.OK, "WATCH", "k")
	require.Equal(t, expired, h.take())
	other.want(resp.OK, "WATCH", "k")
	c.want(resp.OK, "MULTI")
	c.want(resp.Queued, "SET", "k", "w")
	c.want("*1\r\n+OK\r\n", "EXEC")
	require.Empty(t, h.take())

	watchBeforeItExpires(c, "k", func() { h.take() })
	s.expire(t, "k")
	c.want(resp.OK, "MULTI")
	c.want(resp.Queued, "SET", "k", "w")
	c.want("*-1\r\n", "EXEC")
	other.want("$-1\r\n", "GET", "k")
	h.await(t, expired[0])
	require.Equal(t, expired, h.take())
}

// Fields of a hash that have expired are removed by the next command that may change the
// hash, which publishes that: once, on whichever of two servers it runs.
func TestExpiredFields(t *testing.T) {
	t.Parallel()
	url := pgtest.New(t)
	a, b := serveURL(t, url, Options{}), serveURL(t, url, Options{})
	heardA, heardB := listenTo(t, a), listenTo(t, b)
	clientA, clientB := dial(t, a.addr()), dial(t, b.addr())
	clientA.setEvents("Kghn")
	clientB.setEvents("Kghn")
	script := "redis.call('hget', KEYS[1], 'f') return redis.call('hset', KEYS[1], 'stays', '2')"
	for _, c := range []struct {
		stays  bool
		change []string
		events []string
	}{
		{true, []string{"HSET", "h", "stays", "2"}, []string{"hexpired", "hset"}},
		{true, []string{"HDEL", "h", "f"}, []string{"hexpired"}},
		{true, []string{"EVAL", script, "1", "h"}, []string{"hexpired", "hset"}},
		{false, []string{"HDEL", "h", "f"}, []string{"hexpired", "del"}},
		{false, []string{"HSET", "h", "f", "2"}, []string{"hexpired", "del", "new", "hset"}},
	} {
		clientA.do("DEL", "h")
		if c.stays {
			clientA.do("HSET", "h", "stays", "1")
		}
		clientA.do("HSET", "h", "f", "1", "g", "1")
		clientA.do("HPEXPIRE", "h", "1", "FIELDS", "2", "f", "g")
		waitFor(t, "the fields expire", func() bool { return clientA.do("HMGET", "h", "f", "g") == "*2\r\n$-1\r\n$-1\r\n" })
		heardA.take()
		var work sync.WaitGroup
		for _, client := range []*testClient{clientA, clientB} {
			work.Go(func() { client.do(c.change...) })
		}
		work.Wait()
		var events []string
		for _, event := range append(heardA.take(), heardB.take()...) {
			_, name, _ := strings.Cut(event, " ")
			if name == "hexpired" || name == "del" || name == "new" {
				events = append(events, name)
			}
		}
		want := slices.DeleteFunc(slices.Clone(c.events), func(name string) bool { return name == "hset" })
		require.Equal(t, want, events, "%q", c.change)
	}

	// Alone, for the order; and the Go library.
	db := (*core.DB)(a.db).Cache("db0")
	for what, run := range map[string]func() error{
		"hset": func() error { clientA.do("HSET", "h", "stays", "2"); return nil },
		"HEdit": func() error {
			_, err := db.HEdit(t.Context(), []byte("h"), core.HChange{Set: map[string][]byte{"stays": nil}})
			return err
		},
		"HEdit of a version": func() error {
			var seen core.Seen
			_, err := db.Seeing(&seen).HGetAll(t.Context(), []byte("h"))
			require.NoError(t, err)
			_, err = db.Guarded(core.Guard{Versions: []int64{seen.Version}}).HEdit(t.Context(), []byte("h"), core.HChange{Set: map[string][]byte{"stays": nil}})
			return err
		},
	} {
		clientA.do("HSET", "h", "stays", "1", "f", "1")
		clientA.do("HPEXPIRE", "h", "1", "FIELDS", "1", "f")
		waitFor(t, "the field expires", func() bool { return clientA.do("HEXISTS", "h", "f") == resp.Zero })
		heardA.take()
		require.NoError(t, run(), what)
		require.Equal(t, []string{"__keyspace@0__:h hexpired", "__keyspace@0__:h hset"}, heardA.take(), what)
	}
}

// expire waits until the entry of a key of database 0 has expired.
func (s *testServer) expire(t *testing.T, key string) {
	t.Helper()
	require.Eventually(t, func() bool {
		var live bool
		err := (*core.DB)(s.db).Pool().QueryRow(t.Context(), `SELECT EXISTS (SELECT FROM howdah.cache_db0 WHERE key = $1 AND expires_at > clock_timestamp())`, []byte(key)).Scan(&live)
		require.NoError(t, err)
		return !live
	}, time.Minute, time.Millisecond)
}
