package redisapi

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/howdah/howdah"
	"github.com/howdah/howdah/internal/pipeline"
	"github.com/howdah/howdah/internal/resp"
)

// numbered returns a command with n numbered arguments.
func numbered(name, prefix string, n int) []string {
	args := []string{name}
	for i := range n {
		args = append(args, fmt.Sprint(prefix, i))
	}
	return args
}

// The memory of watched keys is bounded. Watching a key again takes none.
func TestWatchedKeysAreBounded(t *testing.T) {
	t.Parallel()
	s := serve(t, Options{MaxPendingBytes: 64 << 10})
	c := dial(t, s.addr())
	for range 3 {
		c.want(resp.OK, numbered("WATCH", "a", 250)...) // 33 KB
	}
	refused := "-" + string(errWatchTooBig) + "\r\n"
	c.want(refused, numbered("WATCH", "b", 250)...)
	c.want(resp.OK, "WATCH", "b0")
	c.want(resp.OK, "SET", "a249", "changed")
	c.want(resp.OK, "MULTI")
	c.want(resp.Queued, "GET", "k")
	c.want("*-1\r\n", "EXEC")
	c.want(resp.OK, numbered("WATCH", "b", 5000)...) // alone, one command may be larger
	c.want(refused, "WATCH", "a0")
	c.want(resp.OK, "UNWATCH")
	c.want(resp.OK, "WATCH", "a0")
}

// The bound counts the memory of many small arguments, not only their bytes.
func TestSmallArgumentsCount(t *testing.T) {
	t.Parallel()
	s := serve(t, Options{MaxPendingBytes: 64 << 10})
	c := dial(t, s.addr())
	c.want(resp.OK, "MULTI")
	c.want(resp.Queued, append([]string{"DEL"}, make([]string, 5000)...)...) // alone it may
	c.want("-"+string(errQueueTooBig)+"\r\n", "DEL", "")
	c.want("-EXECABORT Transaction discarded because of previous errors.\r\n", "EXEC")
	c.want(resp.OK, "MULTI")
	for range 500 {
		c.want(resp.Queued, "PING")
	}
	c.want("-"+string(errQueueTooBig)+"\r\n", append([]string{"DEL"}, make([]string, 1000)...)...)
	c.want(resp.OK, "DISCARD")

	// A pipeline of them waits as one of large arguments does.
	mget := resp.AppendCommand(nil, append([]string{"MGET"}, make([]string, 1000)...)...)
	conn := s.engine.Connect(Info{}, func() {})
	defer conn.Close()
	if input := slices.Repeat(mget, 10); conn.Feed(input) > 4*len(mget) {
		t.Error("more was begun than may be held")
	}
}

// Patterns are bounded, because the time to match is the product of the lengths.
func TestLongPatterns(t *testing.T) {
	t.Parallel()
	c := dial(t, serve(t, Options{}).addr())
	pattern := func(n int) string { return "*[" + strings.Repeat("b", n-3) + "]" }
	c.want("*0\r\n", "KEYS", pattern(maxPattern))
	c.want("*2\r\n$1\r\n0\r\n*0\r\n", "SCAN", "0", "MATCH", pattern(maxPattern))
	c.want("*2\r\n"+bulk("timeout")+bulk("0"), "CONFIG", "GET", "timeou[t]", pattern(maxNamePatterns-11))
	c.want("*0\r\n", "COMMAND", "LIST", "FILTERBY", "PATTERN", "*["+strings.Repeat("!", 200)+"]")
	const long, names = "-" + string(errLongPattern) + "\r\n", "-" + string(errLongNamePatterns) + "\r\n"
	c.want(long, "KEYS", pattern(maxPattern+1))
	c.want(long, "SCAN", "0", "MATCH", pattern(maxPattern+1))
	c.want(names, "CONFIG", "GET", "timeou[t]", pattern(maxNamePatterns-10))
	c.want(names, append([]string{"CONFIG", "GET"}, make([]string, maxNamePatterns+1)...)...)
	c.want(names, "COMMAND", "LIST", "FILTERBY", "PATTERN", pattern(maxNamePatterns+1))
}

// Matching keys ends when the client leaves or the server stops.
func TestMatchingEndsWithItsTask(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	if ok, err := matches(ctx, []byte("k*"), []byte("key")); !ok || err != nil {
		t.Errorf("%v, %v", ok, err)
	}
	cancel()
	if _, err := matches(ctx, []byte("k*"), []byte("key")); !errors.Is(err, howdah.ErrTimeout) {
		t.Errorf("after the end: %v", err)
	}
}

// Commands that need no database do not wait for a slot.
func TestCommandsWithoutDatabaseNeedNoTurn(t *testing.T) {
	t.Parallel()
	s := serve(t, Options{})
	dial(t, s.addr()).want(resp.OK, "SELECT", "1")
	s.engine.slotWait = 100 * time.Millisecond
	for range cap(s.engine.slots) {
		s.engine.slots <- struct{}{}
	}
	c := dial(t, s.addr())
	c.want(resp.OK, "SELECT", "1")
	c.want("-ERR DB index is out of range\r\n", "SELECT", "16")
	if info := c.do("INFO", "server", "stats"); !strings.Contains(info, "redis_version:") {
		t.Errorf("INFO: %q", info)
	}
	for _, command := range [][]string{{"SELECT", "2"}, {"INFO"}, {"DBSIZE"}} {
		if reply := c.do(command...); !strings.HasPrefix(reply, "-TRYAGAIN ") {
			t.Errorf("%s, without a turn: %q", command, reply)
		}
	}
}

// Many names in one command do not make an unbounded reply.
func TestRepeatedCommandNames(t *testing.T) {
	t.Parallel()
	c := dial(t, serve(t, Options{}).addr())
	repeated := func(subcommand string, n int) []string {
		return append([]string{"COMMAND", subcommand}, slices.Repeat([]string{"client"}, n)...)
	}
	c.want(c.do("COMMAND", "DOCS", "client", "get"), append(repeated("DOCS", 50_000), "GET", "nosuch")...)
	one := strings.TrimPrefix(c.do("COMMAND", "INFO", "client"), "*1\r\n")
	c.want("*512\r\n"+strings.Repeat(one, maxNames), repeated("INFO", maxNames)...)
	c.want("-ERR too many names; ask for at most 512 at once\r\n", repeated("INFO", maxNames+1)...)
	if n := len(newTable().byName); n > maxNames {
		t.Errorf("of %d commands not all may be asked for", n)
	}
}

// While the connections hold more than the server has memory for, large values
// are not read into it. What is written is written all the same, and answered.
func TestReadsAreRefusedWithoutMemory(t *testing.T) {
	t.Parallel()
	budget := pipeline.NewBudget(1 << 20)
	s := serve(t, Options{Memory: budget})
	c := dial(t, s.addr())
	large := strings.Repeat("v", 100<<10)
	c.want(resp.OK, "MSET", "k", large, "other", large, "small", "v")
	hog := pipeline.NewAccount(budget)
	hog.Set(2 << 20)
	refused := "-" + string(errMemory) + "\r\n"
	c.want(refused, "GET", "k")
	c.want(refused, "MGET", "small", "k")
	c.want(resp.Pong, "PING")
	c.want(bulk("v"), "GET", "small")
	c.want(resp.OK, "SET", "k", "new")
	c.want(bulk(large), "GETDEL", "other")
	c.want(resp.OK, "MULTI")
	c.want(refused, "SET", "k", large)
	c.want(resp.Queued, "GET", "small")
	c.want("-EXECABORT Transaction discarded because of previous errors.\r\n", "EXEC")
	hog.Set(0)
	c.want(bulk("new"), "GET", "k")
	waitFor(t, "nothing to be held", func() bool { return budget.Used() == 0 })
}

// A command for which there is no memory is refused when its size is known, and
// the connection stays in step.
func TestLargeCommandIsPassedOver(t *testing.T) {
	t.Parallel()
	budget := pipeline.NewBudget(1 << 20)
	s := serve(t, Options{Memory: budget})
	c := dial(t, s.addr())
	refused := "-" + string(errMemory) + "\r\n"
	unfinished := resp.AppendCommand(nil, "MSET", "k", strings.Repeat("v", 700<<10), "l", strings.Repeat("w", 100))
	c.send(unfinished[:100])
	if got := c.reply(); got != refused {
		t.Fatalf("after the first 100 bytes: %q", got)
	}
	c.send(unfinished[100:])
	c.want("$-1\r\n", "GET", "k")
	c.want(resp.OK, "MULTI")
	c.want(refused, "SET", "k", strings.Repeat("v", 700<<10))
	c.want("-EXECABORT Transaction discarded because of previous errors.\r\n", "EXEC")
	c.want(resp.OK, "SET", "k", strings.Repeat("v", 300<<10))
}
