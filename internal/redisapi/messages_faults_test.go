package redisapi

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/howdah/howdah/internal/resp"
	"github.com/howdah/howdah/internal/test/pgtest"
	"github.com/howdah/howdah/internal/test/relay"
)

// publishers are two servers: one with a subscriber of c, and one whose connections a test
// can hold, with a subscriber and a client.
type publishers struct {
	other, own, client *testClient
	between            *relay.Relay
	super              *pgx.Conn
}

func newPublishers(t *testing.T) *publishers {
	t.Helper()
	url := pgtest.New(t)
	between := relay.New(t, pgtest.TCP(url))
	a, b := serveURL(t, url, Options{}), serveURL(t, between.URL(), Options{})
	a.runs()
	b.runs()
	super, err := pgx.Connect(t.Context(), pgtest.SuperURL(url))
	require.NoError(t, err)
	t.Cleanup(func() { super.Close(context.Background()) })
	p := &publishers{dial(t, a.addr()), dial(t, b.addr()), dial(t, b.addr()), between, super}
	p.other.do("SUBSCRIBE", "c")
	p.own.do("SUBSCRIBE", "c")
	return p
}

// get requires the next messages of both subscribers.
func (p *publishers) get(messages ...string) {
	p.client.t.Helper()
	for name, subscriber := range map[string]*testClient{"other server": p.other, "own server": p.own} {
		for _, want := range messages {
			require.Equal(p.client.t, message("c", want), subscriber.reply(), name)
		}
	}
}

// ways are how a client publishes a message together with a write of k, and by which
// text a statement on its way is known.
var ways = map[string]func(c *testClient, text string) (reply string){
	"EXEC": func(c *testClient, text string) string {
		c.do("MULTI")
		c.do("SET", "k", text)
		c.do("PUBLISH", "c", text)
		return c.do("EXEC")
	},
	"EVAL": func(c *testClient, text string) string {
		return c.do("EVAL", "redis.call('SET', KEYS[1], ARGV[1]) return redis.call('PUBLISH', 'c', ARGV[1])", "1", "k", text)
	},
	"EVAL of two keys": func(c *testClient, text string) string {
		return c.do("EVAL", "redis.call('SET', KEYS[1], ARGV[1]) redis.call('SET', KEYS[2], ARGV[1]) return redis.call('PUBLISH', 'c', ARGV[1])", "2", "k", "k2", text)
	},
	"FCALL": func(c *testClient, text string) string {
		c.do("FUNCTION", "LOAD", "#!lua name=l\nredis.register_function('send', function(keys, args) redis.call('SET', keys[1], args[1]) return redis.call('PUBLISH', 'c', args[1]) end)")
		return c.do("FCALL", "send", "1", "k", text)
	},
}

// onlyPublish are ways to publish without a write.
var onlyPublish = map[string]func(c *testClient, text string) (reply string){
	"PUBLISH": func(c *testClient, text string) string { return c.do("PUBLISH", "c", text) },
	"EXEC": func(c *testClient, text string) string {
		c.do("MULTI")
		c.do("PUBLISH", "c", text)
		return c.do("EXEC")
	},
	"EVAL": func(c *testClient, text string) string {
		return c.do("EVAL", "return redis.call('PUBLISH', 'c', ARGV[1])", "0", text)
	},
}

// A message that PostgreSQL does not take is an error of its command, of which nothing is
// stored, and no subscriber gets it, on neither server.
func TestMessageThatIsRefused(t *testing.T) {
	t.Parallel()
	all := map[string]func(*testClient, string) string{}
	for name, publish := range ways {
		all[name+" that writes"] = publish
	}
	for name, publish := range onlyPublish {
		all[name+" alone"] = publish
	}
	for name, publish := range all {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPublishers(t)
			for round := range 2 { // scripts are compiled in the first
				_, err := p.super.Exec(t.Context(), `CREATE OR REPLACE FUNCTION public.refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'no'; END $$;
					CREATE TRIGGER refuse BEFORE INSERT ON howdah_internal.bus FOR EACH ROW EXECUTE FUNCTION public.refuse()`)
				require.NoError(t, err)
				got := publish(p.client, "refused")
				require.True(t, strings.HasPrefix(got, "-"), got)
				require.NotEqual(t, bulk("refused"), p.client.do("GET", "k"))
				_, err = p.super.Exec(t.Context(), "DROP TRIGGER refuse ON howdah_internal.bus")
				require.NoError(t, err)
				got = publish(p.client, fmt.Sprint("kept ", round))
				require.False(t, strings.HasPrefix(got, "-"), got)
				p.get(fmt.Sprint("kept ", round))
			}
		})
	}
}

// The connection is lost between the commit and its answer: the outcome is unknown to the
// client, and all subscribers get the message, once, before later ones.
func TestMessageOfACommitWithoutAnAnswer(t *testing.T) {
	t.Parallel()
	for name, publish := range ways {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPublishers(t)
			publish(p.client, "first")
			hushed := p.between.Hush("unknown", relay.Commit)
			reply := make(chan string, 1)
			go func() { reply <- publish(p.client, "unknown") }()
			require.Equal(t, message("c", "first"), p.other.reply())
			require.Equal(t, message("c", "unknown"), p.other.reply())
			hushed.Cut()
			require.Contains(t, <-reply, "-ERR outcome unknown")
			p.client.want(":1\r\n", "PUBLISH", "c", "next")
			require.Equal(t, message("c", "next"), p.other.reply())
			for _, want := range []string{"first", "unknown", "next"} {
				require.Equal(t, message("c", want), p.own.reply())
			}
			p.client.want(bulk("unknown"), "GET", "k")
		})
	}
}

// The connection is lost before the commit arrives, which it does later: nothing of it is
// stored or sent, and what the client publishes meanwhile arrives.
func TestMessageOfACommitThatComesLate(t *testing.T) {
	t.Parallel()
	for name, publish := range ways {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPublishers(t)
			publish(p.client, "first")
			held := p.between.Hold("late", relay.Commit)
			reply := make(chan string, 1)
			go func() { reply <- publish(p.client, "late") }()
			held.Cut()
			require.Contains(t, <-reply, "-ERR outcome unknown")
			publish(p.client, "next")
			held.Release()
			p.client.want(":1\r\n", "PUBLISH", "c", "last")
			p.get("first", "next", "last")
			p.client.want(bulk("next"), "GET", "k")
		})
	}
}

// PUBLISH whose connection is lost while it is under way says so, instead of an answer upon
// which clients repeat it, and does not come behind what was published later.
func TestPublishThatWasCutOff(t *testing.T) {
	t.Parallel()
	p := newPublishers(t)
	held := p.between.Hold("", "late")
	p.client.send(resp.AppendCommand(nil, "PUBLISH", "c", "late"))
	held.Cut()
	require.Contains(t, p.client.reply(), "-ERR outcome unknown")
	p.client.want(":1\r\n", "PUBLISH", "c", "next")
	held.Release()
	p.client.want(":1\r\n", "PUBLISH", "c", "last")
	p.get("next", "last")
}

// PUBLISH was cut off, and its backend sends the message at the very moment in which it is to
// be ended because the client publishes again, in a transaction: the messages are in their order.
func TestTransactionBehindAMessageThatWasCutOff(t *testing.T) {
	t.Parallel()
	for name, publish := range ways {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPublishers(t)
			publish(p.client, "first")
			held := p.between.Hold("", "late")
			p.client.send(resp.AppendCommand(nil, "PUBLISH", "c", "late"))
			held.Cut()
			require.Contains(t, p.client.reply(), "-ERR outcome unknown")
			ending := p.between.Hold("", "pg_terminate_backend")
			reply := make(chan string, 1)
			go func() { reply <- publish(p.client, "next") }()
			ending.Await()
			held.Release()
			require.Eventually(t, func() bool {
				var sent bool
				require.NoError(t, p.super.QueryRow(t.Context(), "SELECT EXISTS (SELECT FROM howdah_internal.bus WHERE payloads = ARRAY['late'::bytea])").Scan(&sent))
				return sent
			}, patience, time.Millisecond)
			ending.Release()
			require.NotContains(t, <-reply, "-")
			for _, want := range []string{"first", "late", "next"} {
				require.Equal(t, message("c", want), p.other.reply())
			}
			require.Equal(t, message("c", "first"), p.own.reply())
			require.Equal(t, message("c", "next"), p.own.reply())
		})
	}
}

// PUBLISH that says that it was not applied has reached nobody.
func TestPublishWithoutPostgreSQL(t *testing.T) {
	t.Parallel()
	server := pgtest.Own(t)
	url := server.NewURL()
	a, b := serveURL(t, url, Options{}), serveURL(t, url, Options{})
	a.runs()
	b.runs()
	other, own, client := dial(t, a.addr()), dial(t, b.addr()), dial(t, b.addr())
	other.do("SUBSCRIBE", "c")
	own.do("SUBSCRIBE", "c")
	server.Stop("fast")
	unknown := 0
	for name, publish := range onlyPublish {
		for refused := false; !refused; {
			got := publish(client, "lost")
			require.True(t, strings.HasPrefix(got, "-"), "%s: %s", name, got)
			if refused = strings.HasPrefix(got, "-LOADING "); !refused { // on a connection that was there
				require.Contains(t, got, "-ERR outcome unknown")
				require.Less(t, unknown, 100)
				unknown++
			}
		}
	}
	server.Start()
	require.Eventually(t, func() bool { return !strings.HasPrefix(client.do("PUBLISH", "c", "kept"), "-") }, patience, time.Millisecond)
	for _, subscriber := range []*testClient{other, own} {
		require.Equal(t, message("c", "kept"), subscriber.reply())
	}
}

// A pipeline of all ways to publish: every subscriber gets the messages in its order.
func TestOrderOfAllWaysToPublish(t *testing.T) {
	t.Parallel()
	p := newPublishers(t)
	const rounds = 100
	var batch []byte
	var want []string
	say := func() string {
		want = append(want, fmt.Sprint(len(want)))
		return want[len(want)-1]
	}
	for i := range rounds {
		batch = resp.AppendCommand(batch, "PUBLISH", "c", say())
		batch = resp.AppendCommand(batch, "EVAL", "return redis.call('PUBLISH', 'c', ARGV[1])", "0", say())
		batch = resp.AppendCommand(batch, "EVAL", "redis.call('INCR', KEYS[1]) return redis.call('PUBLISH', 'c', ARGV[1])", "1", fmt.Sprint("n", i%3), say())
		batch = resp.AppendCommand(batch, "EVAL", "redis.call('INCR', KEYS[1]) return redis.call(ARGV[2], 'c', ARGV[1])", "1", fmt.Sprint("n", i%3), say(), "PUBLISH")
		batch = resp.AppendCommand(batch, "PUBLISH", "c", say())
		batch = resp.AppendCommand(resp.AppendCommand(batch, "MULTI"), "INCR", "n0")
		batch = resp.AppendCommand(resp.AppendCommand(batch, "PUBLISH", "c", say()), "EXEC")
		batch = resp.AppendCommand(batch, "MULTI")
		batch = resp.AppendCommand(resp.AppendCommand(batch, "PUBLISH", "c", say()), "EXEC")
	}
	go p.client.send(batch)
	for range rounds * 12 {
		if got := p.client.reply(); strings.HasPrefix(got, "-") {
			t.Fatal(got)
		}
	}
	p.get(want...)
}
