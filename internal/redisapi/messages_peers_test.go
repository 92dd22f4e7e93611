//go:build peers

package redisapi

import (
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/howdah/howdah/internal/resp"
	"github.com/howdah/howdah/internal/test/seed"
)

// TestMessageStream sends the same random commands of subscribers and publishers to
// redis-server and to Howdah and compares, after each of them, what every connection was
// sent. HOWDAH_SEED repeats a run.
func TestMessageStream(t *testing.T) {
	t.Parallel()
	const commands, connections = 10_000, 5
	g := &messageGenerator{Rand: seed.Rand(t)}
	redis, howdah := startRedis(t), serve(t, Options{}).addr()
	var pairs [connections]messagePair
	for i := range pairs {
		pairs[i] = messagePair{dial(t, redis), dial(t, howdah)}
	}
	var history []string
	for n := 0; n < commands && !t.Failed(); n++ {
		// The first connection runs the scripts and has no subscriptions: Redis sends a
		// client the messages of its own script before the reply.
		args, from := g.command(), 0
		if args[0] != "EVAL" {
			from = 1 + g.IntN(connections-1)
		}
		history = append(history, fmt.Sprintf("%d: %.40q", from, args))
		line := resp.AppendCommand(nil, args...)
		pairs[from].redis.send(line)
		pairs[from].howdah.send(line)
		// The connection of the command first: when its reply is there, so are the messages.
		for i := range connections {
			at := (from + i) % connections
			want, got := g.sent(pairs[at].redis, n), g.sent(pairs[at].howdah, n)
			if !slices.Equal(want, got) {
				t.Errorf("connection %d was sent\nhowdah %q\n redis %q\nafter %s", at, got, want,
					strings.Join(history[max(0, len(history)-15):], "\n"))
			}
		}
	}
}

// messagePair is one connection to each server.
type messagePair struct{ redis, howdah *testClient }

// messageGenerator makes commands on few channels.
type messageGenerator struct{ *rand.Rand }

func (g *messageGenerator) pick(words ...string) string { return words[g.IntN(len(words))] }

func (g *messageGenerator) some(prefix []string, names ...string) []string {
	for range 1 + g.IntN(3) {
		prefix = append(prefix, g.pick(names...))
	}
	return prefix
}

func (g *messageGenerator) channel() string { return g.pick("a", "b", "ab", "", "c\r\n") }

// command makes one command.
func (g *messageGenerator) command() []string {
	channels, patterns := []string{"a", "b", "ab", "", "c\r\n"}, []string{"a*", "?", "*", "[ab]", "ab", "[^a]*", "\\a"}
	switch g.IntN(30) {
	case 0, 1, 2:
		return g.some([]string{"SUBSCRIBE"}, channels...)
	case 3, 4:
		return g.some([]string{"PSUBSCRIBE"}, patterns...)
	case 5, 6:
		return g.some([]string{"SSUBSCRIBE"}, channels...)
	case 7:
		return g.some([]string{"UNSUBSCRIBE"}, channels...)
	case 8:
		return g.some([]string{"PUNSUBSCRIBE"}, patterns...)
	case 9:
		return g.some([]string{"SUNSUBSCRIBE"}, channels...)
	case 10:
		return []string{g.pick("UNSUBSCRIBE", "PUNSUBSCRIBE", "SUNSUBSCRIBE")}
	case 11:
		return []string{"RESET"}
	case 12:
		return []string{"HELLO", g.pick("2", "3")}
	case 13:
		return []string{"PUBSUB", g.pick("CHANNELS", "SHARDCHANNELS", "NUMPAT")}
	case 14:
		return []string{"PUBSUB", g.pick("CHANNELS", "SHARDCHANNELS"), g.pick(patterns...)}
	case 15:
		return append([]string{"PUBSUB", g.pick("NUMSUB", "SHARDNUMSUB")}, channels...)
	case 16:
		return []string{g.pick("SUBSCRIBE", "PUBLISH", "PSUBSCRIBE", "SSUBSCRIBE", "GET")}
	case 17:
		return []string{"GET", "k"}
	case 18:
		return []string{"SET", "k", g.channel()}
	case 19:
		return []string{"EVAL", "redis.call('SET', KEYS[1], ARGV[1]) return redis.call(ARGV[2], ARGV[1], 'script')", "1", "k", g.channel(), g.pick("PUBLISH", "SPUBLISH")}
	case 20:
		return []string{"CLIENT", "LIST", "TYPE", g.pick("pubsub", "normal")}
	case 21:
		return []string{"PING", g.pick("", "text")}
	}
	return []string{g.pick("PUBLISH", "PUBLISH", "SPUBLISH"), g.channel(), g.pick("", "message", strings.Repeat("large", 1000))}
}

var (
	patternMessage = regexp.MustCompile(`^[*>]4\r\n\$8\r\npmessage`)
	endOfOne       = regexp.MustCompile(`(?s)^([*>]3\r\n\$\d+\r\n[ps]?unsubscribe\r\n)(.*)(:\d+\r\n)$`)
	clientLines    = regexp.MustCompile(`flags=\S+ db=0 sub=\d+ psub=\d+ ssub=\d+ multi=\S+`)
	clientID       = regexp.MustCompile(`(id\r\n):\d+`)
)

// sent returns what a connection was sent up to now. What has no order in Redis is sorted.
func (g *messageGenerator) sent(c *testClient, n int) (replies []string) {
	c.t.Helper()
	barrier := "barrier " + strconv.Itoa(n)
	c.send(resp.AppendCommand(nil, "PING", barrier))
	var ends []string // names whose subscriptions have ended
	for {
		reply := c.reply()
		if strings.HasSuffix(reply, bulk(barrier)) {
			break
		}
		if lines := clientLines.FindAllString(reply, -1); lines != nil {
			slices.Sort(lines)
			reply = strings.Join(lines, "\n")
		} else if m := endOfOne.FindStringSubmatch(reply); m != nil {
			ends = append(ends, m[2])
			reply = m[1] + m[3]
		} else if reply[0] == '*' && strings.Count(reply, "\r\n") > 3 && !strings.Contains(reply, "message") && !strings.Contains(reply, "subscribe") && !strings.Contains(reply, ":") {
			names := elements(reply) // of PUBSUB CHANNELS
			slices.Sort(names)
			reply = strings.Join(names, "")
		}
		replies = append(replies, clientID.ReplaceAllString(reply, "$1"))
	}
	// The messages of one publication to several patterns.
	for i := 0; i < len(replies); i++ {
		end := i
		for end < len(replies) && patternMessage.MatchString(replies[end]) {
			end++
		}
		if end > i {
			slices.Sort(replies[i:end])
			i = end
		}
	}
	slices.Sort(ends)
	return append(replies, ends...)
}
