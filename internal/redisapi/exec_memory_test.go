package redisapi

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/howdah/howdah/internal/pipeline"
	"github.com/howdah/howdah/internal/resp"
)

// runQueue has n GETs of different keys run by EXEC, without a socket.
func runQueue(t *testing.T, s *testServer, n int) *pipeline.Output {
	t.Helper()
	input := resp.AppendCommand(nil, "MULTI")
	for i := range n {
		input = resp.AppendCommand(input, "GET", fmt.Sprint("k", i))
	}
	input = resp.AppendCommand(input, "EXEC")
	woken := make(chan struct{}, 1)
	conn := s.engine.Connect(Info{}, func() { woken <- struct{}{} })
	t.Cleanup(func() { conn.Close() })
	if taken := conn.Feed(input); taken != len(input) {
		t.Fatalf("%d of %d bytes were taken", taken, len(input))
	}
	out := new(pipeline.Output)
	for conn.Output(out); conn.Pending(); conn.Output(out) {
		<-woken
	}
	return out
}

// The reply of EXEC shares the large values of its reads with what PostgreSQL
// sent, as that of GET does: it costs no second copy.
func TestExecSharesLargeValues(t *testing.T) {
	s := serve(t, Options{})
	c := dial(t, s.addr())
	const n, size = 32, 1 << 20
	value := strings.Repeat("v", size)
	var want strings.Builder
	want.WriteString(resp.OK + strings.Repeat(resp.Queued, n) + fmt.Sprintf("*%d\r\n", n))
	for i := range n {
		c.want(resp.OK, "SET", fmt.Sprint("k", i), value)
		want.WriteString(bulk(value))
	}
	runQueue(t, s, n)
	var out *pipeline.Output
	var cost float64 // bytes for each byte of a value
	for range 3 {    // pools forget some of what they have, at random under the race detector
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		out = runQueue(t, s, n)
		runtime.ReadMemStats(&after)
		cost = float64(after.TotalAlloc-before.TotalAlloc) / (n * size)
		t.Logf("%.2f bytes for each byte of a value", cost)
		if cost <= 2 {
			break
		}
	}
	if cost > 2 {
		t.Errorf("%.1f bytes were allocated for each byte of a value", cost)
	}
	if held := out.Held(); held > n*size*11/10 {
		t.Errorf("the reply holds %d bytes", held)
	}
	if string(out.Bytes()) != want.String() {
		t.Error("another reply")
	}
}

// A transaction whose reply grows beyond the memory of the server is refused, and
// rolled back.
func TestExecIsBounded(t *testing.T) {
	t.Parallel()
	budget := pipeline.NewBudget(4 << 20)
	s := serve(t, Options{Memory: budget})
	c := dial(t, s.addr())
	c.want(resp.OK, "SET", "k", strings.Repeat("v", 100<<10))
	queue := func(reads int) {
		t.Helper()
		c.want(resp.OK, "MULTI")
		c.want(resp.Queued, "INCR", "n")
		for range reads {
			c.want(resp.Queued, "GET", "k")
		}
	}
	queue(200)
	c.want("-"+string(errMemory)+"\r\n", "EXEC")
	waitFor(t, "nothing to be held", func() bool { return budget.Used() == 0 })
	c.want("$-1\r\n", "GET", "n")
	queue(30)
	if reply := c.do("EXEC"); !strings.HasPrefix(reply, "*31\r\n:1\r\n$102400\r\n") {
		t.Errorf("EXEC: %.50q", reply)
	}
	c.want(bulk("1"), "GET", "n")
	waitFor(t, "nothing to be held", func() bool { return budget.Used() == 0 })
}
