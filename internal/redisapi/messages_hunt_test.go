package redisapi

import (
	"context"
	"flag"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/howdah/howdah"
	"github.com/howdah/howdah/internal/test/await"
	"github.com/howdah/howdah/internal/test/pgtest"
)

var huntMessages = flag.Int("messages", 3000, "how many messages TestMessagesUnderFaults publishes; give more for a hunt")

// outcome is what a publisher was told of a message.
type outcome byte

const (
	acknowledged outcome = iota
	notApplied
	unknown
)

func outcomeOf(reply string) outcome {
	switch {
	case !strings.HasPrefix(reply, "-"):
		return acknowledged
	case strings.Contains(reply, "outcome unknown"):
		return unknown
	}
	return notApplied
}

// judge compares what the publishers were told of their messages, which are numbered from 0
// on, with what a subscriber got of each: what was acknowledged came, what was said not to be
// applied did not, each came once, and in the order of its publisher.
func judge(told, got [][]int, outcomes [][]outcome) (violations []string) {
	say := func(format string, args ...any) { violations = append(violations, fmt.Sprintf(format, args...)) }
	for p, numbers := range got {
		seen := make(map[int]int)
		for i, n := range numbers {
			seen[n]++
			if i > 0 && n < numbers[i-1] {
				say("publisher %d: %d came after %d", p, n, numbers[i-1])
			}
		}
		for _, n := range told[p] {
			switch times, was := seen[n], outcomes[p][n]; {
			case times > 1:
				say("publisher %d: %d came %d times", p, n, times)
			case times == 0 && was == acknowledged:
				say("publisher %d: %d was acknowledged and is lost", p, n)
			case times > 0 && was == notApplied:
				say("publisher %d: %d was said not to be applied and came", p, n)
			}
		}
	}
	return violations
}

func TestJudgeOfMessages(t *testing.T) {
	t.Parallel()
	told := [][]int{{0, 1, 2, 3}}
	outcomes := [][]outcome{{acknowledged, notApplied, unknown, acknowledged}}
	for got, want := range map[string][]string{
		"0 3":     nil,
		"0 2 3":   nil,
		"0 2":     {"publisher 0: 3 was acknowledged and is lost"},
		"0 1 3":   {"publisher 0: 1 was said not to be applied and came"},
		"0 2 2 3": {"publisher 0: 2 came 2 times"},
		"0 3 2":   {"publisher 0: 2 came after 3"},
	} {
		var numbers []int
		for _, n := range strings.Fields(got) {
			numbers = append(numbers, int(n[0]-'0'))
		}
		require.Equal(t, want, judge(told, [][]int{numbers}, outcomes), got)
	}
}

// hunt is publishers on two servers, and a subscriber on each.
type hunt struct {
	t        *testing.T
	server   *pgtest.Server
	sent     atomic.Int64
	failed   atomic.Int64
	told     [][]int
	outcomes [][]outcome
}

// publish is one publisher: it takes all ways in turn, and repeats none.
func (h *hunt) publish(p int, c *testClient) {
	texts := []func(*testClient, string) string{
		onlyPublish["PUBLISH"], onlyPublish["EXEC"], onlyPublish["EVAL"],
		func(c *testClient, text string) string {
			c.do("MULTI")
			c.do("SET", fmt.Sprint("k", p), text)
			c.do("PUBLISH", "c", text)
			return c.do("EXEC")
		},
		func(c *testClient, text string) string {
			return c.do("EVAL", "redis.call('SET', KEYS[1], ARGV[1]) return redis.call('PUBLISH', 'c', ARGV[1])", "1", fmt.Sprint("e", p), text)
		},
		func(c *testClient, text string) string { // many publishers, one key
			return c.do("EVAL", "redis.call('INCR', KEYS[1]) return redis.call('PUBLISH', 'c', ARGV[1])", "1", "shared", text)
		},
	}
	for n := 0; h.sent.Add(1) <= int64(*huntMessages); n++ {
		h.one(p, n, texts[n%len(texts)], c)
	}
	for n := len(h.told[p]); ; n++ { // a last one that comes, so that what is behind it is late
		if h.one(p, n, texts[0], c) == acknowledged {
			return
		}
	}
}

func (h *hunt) one(p, n int, publish func(*testClient, string) string, c *testClient) outcome {
	was := outcomeOf(publish(c, fmt.Sprint(p, " ", n)))
	if was != acknowledged {
		h.failed.Add(1)
	}
	h.told[p], h.outcomes[p] = append(h.told[p], n), append(h.outcomes[p], was)
	return was
}

// take reads what a subscriber gets, until the markers of the end of both servers.
func (h *hunt) take(c *testClient) (got [][]int) {
	got = make([][]int, len(h.told))
	ends := map[string]bool{}
	for {
		text := payload(h.t, c.reply())
		if server, is := strings.CutPrefix(text, "end "); is {
			if ends[server] = true; len(ends) == 2 {
				return got
			}
			continue
		}
		var p, n int
		fmt.Sscan(text, &p, &n)
		got[p] = append(got[p], n)
	}
}

// harm does something to PostgreSQL again and again, each time until it has been noticed and
// a hundred messages more have been sent, while there are some to be sent.
func (h *hunt) harm() (faults int) {
	reaches := func(from int64, counter *atomic.Int64) bool {
		over := func() bool { return h.sent.Load() > int64(*huntMessages) }
		await.True(h.t, "more messages are sent", func() bool { return !over() || over() })
		return !over()
	}
	for ; reaches(h.sent.Load()+100, &h.sent); faults++ {
		switch faults % 3 {
		case 0:
			h.server.Freeze()
			reaches(h.failed.Load()+2, &h.failed)
			h.server.Thaw()
		case 1:
			h.terminate()
		case 2:
			h.server.Stop("fast")
			reaches(h.failed.Load()+2, &h.failed)
			h.server.Start()
		}
	}
	return faults
}

// terminate ends all connections of the servers.
func (h *hunt) terminate() {
	conn, err := pgx.Connect(context.Background(), h.server.SuperURL())
	if err != nil {
		return // it does not answer yet
	}
	defer conn.Close(context.Background())
	_, _ = conn.Exec(context.Background(), "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid() AND backend_type = 'client backend'")
}

// Publishers on two servers publish in every way, while PostgreSQL is frozen, restarted, and
// its backends end: what they were told is true for the subscribers of both servers.
func TestMessagesUnderFaults(t *testing.T) {
	t.Parallel()
	server := pgtest.Own(t, "fsync", "off")
	url := server.NewURL()
	const each = 3
	h := &hunt{t: t, server: server, told: make([][]int, 2*each), outcomes: make([][]outcome, 2*each)}
	var publishers, readers sync.WaitGroup
	var got [2][][]int
	var clients, ends []*testClient
	for i := range got {
		s := serveWith(t, url, howdah.Options{Timeout: time.Second}, Options{TaskTimeout: 3 * time.Second})
		s.runs()
		subscriber := dial(t, s.addr())
		require.Contains(t, subscriber.do("SUBSCRIBE", "c"), "subscribe")
		readers.Go(func() { got[i] = h.take(subscriber) })
		ends = append(ends, dial(t, s.addr()))
		for range each {
			clients = append(clients, dial(t, s.addr()))
		}
	}
	for p, c := range clients {
		publishers.Go(func() { h.publish(p, c) })
	}
	faults := h.harm()
	publishers.Wait()
	for _, c := range ends {
		require.Eventually(t, func() bool {
			return outcomeOf(c.do("PUBLISH", "c", "end "+c.conn.RemoteAddr().String())) == acknowledged
		}, patience, time.Millisecond)
	}
	readers.Wait()
	counts := map[outcome]int{}
	for _, list := range h.outcomes {
		for _, o := range list {
			counts[o]++
		}
	}
	t.Logf("%d faults; %d messages acknowledged, %d not applied, %d unknown", faults, counts[acknowledged], counts[notApplied], counts[unknown])
	for i := range got {
		violations := judge(h.told, got[i], h.outcomes)
		require.Empty(t, violations[:min(len(violations), 20)], "subscriber of server %d", i)
	}
	require.NotZero(t, counts[acknowledged])
	require.True(t, slices.ContainsFunc(h.outcomes, func(o []outcome) bool { return slices.Contains(o, unknown) || slices.Contains(o, notApplied) }), "no fault was noticed")
}
