package pipeline

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/howdah/howdah/internal/test/seed"
)

// TestPushFromOthers pushes from several goroutines beside requests. Each message
// arrives once, those of one goroutine in their order, none before a reply that was
// appended earlier, and the replies stay in their order.
func TestPushFromOthers(t *testing.T) {
	t.Parallel()
	const (
		pushers  = 4
		messages = 2_000
		replies  = 2_000
	)
	r := seed.Rand(t)
	woken := make(chan struct{}, 1)
	pipe := New(Options{MaxRequests: 100, MaxBytes: 1 << 20, Wake: func() {
		select {
		case woken <- struct{}{}:
		default:
		}
	}})
	var released, appended atomic.Int64 // appended: the last reply that is certain to be in front
	var work sync.WaitGroup
	for pusher := range pushers {
		work.Go(func() {
			for i := range messages {
				pipe.Push(fmt.Appendf(nil, "push %d %d %d\n", pusher, i, appended.Load()))
			}
		})
	}
	started := make(chan *numbered, replies)
	finishers := rand.New(rand.NewPCG(r.Uint64(), 0))
	work.Go(func() {
		var some []*numbered
		for request := range started {
			if some = append(some, request); len(some) < 10 && len(started) > 0 {
				continue
			}
			finishers.Shuffle(len(some), func(i, j int) { some[i], some[j] = some[j], some[i] })
			for _, request := range some {
				pipe.Finish(request)
			}
			some = some[:0]
		}
	})

	var got bytes.Buffer
	var out Output
	take := func() {
		require.False(t, pipe.Output(&out))
		got.Write(out.Bytes())
		out.Reset()
	}
	for reply := 1; reply <= replies; {
		pipe.BeginInput()
		before := reply
		for range 1 + r.IntN(5) {
			if reply > replies || !pipe.Admit() {
				break
			}
			if text := fmt.Sprint("reply ", reply); r.IntN(2) == 0 {
				pipe.Append([]byte(text + "\n"))
			} else {
				request := &numbered{text: text, released: &released}
				pipe.Start(request, len(text))
				started <- request
			}
			appended.Store(int64(reply))
			reply++
		}
		pipe.EndInput(0)
		take()
		if reply == before {
			waitFor(t, woken)
		}
	}
	close(started)
	for strings.Count(got.String(), "\n") < replies+pushers*messages {
		waitFor(t, woken)
		take()
	}
	work.Wait()
	require.Equal(t, Load{}, pipe.Load())

	next, reply := make([]int, pushers), 0
	for line := range strings.Lines(got.String()) {
		var pusher, number, front int
		if _, err := fmt.Sscanf(line, "reply %d", &number); err == nil {
			require.Equal(t, reply+1, number)
			reply = number
			continue
		}
		_, err := fmt.Sscanf(line, "push %d %d %d", &pusher, &number, &front)
		require.NoError(t, err, line)
		require.Equal(t, next[pusher], number, "messages of one goroutine")
		require.GreaterOrEqual(t, reply, front, "a message has overtaken a reply")
		next[pusher]++
	}
}

func waitFor(t *testing.T, woken <-chan struct{}) {
	t.Helper()
	select {
	case <-woken:
	case <-time.After(30 * time.Second):
		t.Fatal("the pipeline wakes no more")
	}
}

// pushed makes a pipeline whose wakes are counted, and a function that takes its output.
func pushed(budget *Budget) (pipe *Pipeline, woken *int, take func() string) {
	woken = new(int)
	pipe = New(Options{MaxRequests: 10, MaxBytes: 1 << 20, Budget: budget, Wake: func() { *woken++ }})
	return pipe, woken, func() string {
		var out Output
		pipe.Output(&out)
		return string(out.Bytes())
	}
}

// A connection that does nothing is woken once for all messages until it takes them, and
// is not pending afterwards.
func TestPushWakesTheIdle(t *testing.T) {
	t.Parallel()
	pipe, woken, take := pushed(nil)
	require.Equal(t, 1, pipe.Push([]byte("a")))
	require.Equal(t, 2, pipe.Push([]byte("b")))
	require.Equal(t, 1, *woken)
	require.True(t, pipe.Pending())
	require.Equal(t, "ab", take())
	require.False(t, pipe.Pending())
	pipe.Push([]byte("c"))
	require.Equal(t, 2, *woken)
	require.Equal(t, "c", take())

	pipe.BeginInput()
	pipe.Push([]byte("d"))
	require.Equal(t, 2, *woken, "the goroutine that feeds asks for the output anyway")
	pipe.EndInput(0)
	require.Equal(t, "d", take())
}

// A message waits for the requests before it, and is written with the last of them.
func TestPushWaitsForRequests(t *testing.T) {
	t.Parallel()
	pipe, woken, take := pushed(nil)
	var released atomic.Int64
	first, second := &numbered{text: "first", released: &released}, &numbered{text: "second", released: &released}
	pipe.Start(first, 1)
	pipe.Start(second, 1)
	pipe.Push([]byte("message\n"))
	require.Zero(t, *woken)
	pipe.Finish(second)
	require.Zero(t, *woken)
	require.Empty(t, take())
	pipe.Finish(first)
	require.Equal(t, 1, *woken)
	pipe.Push([]byte("another\n"))
	require.Equal(t, 1, *woken)
	require.Equal(t, "first\nsecond\nmessage\nanother\n", take())
	require.Equal(t, Load{}, pipe.Load())
}

// What has the connection to itself does not hold messages up.
func TestPushBesideTask(t *testing.T) {
	t.Parallel()
	pipe, woken, take := pushed(nil)
	begun := false
	pipe.Exclusive(func() { begun = true })
	require.True(t, begun)
	pipe.Push([]byte("message "))
	require.Equal(t, 1, *woken)
	require.Equal(t, "message ", take())
	pipe.Push([]byte("before "))
	pipe.Resume([]byte("reply "), new(Output))
	pipe.Push([]byte("behind"))
	require.Equal(t, "before reply behind", take())
	require.Equal(t, 2, *woken)
}

// Messages that are not taken are charged to the budget. A large one is not copied.
func TestPushCharges(t *testing.T) {
	t.Parallel()
	budget := NewBudget(64 << 20)
	pipe, _, take := pushed(budget)
	message := bytes.Repeat([]byte("m"), 1<<20)
	require.Equal(t, 1<<20, pipe.Push(message))
	var released atomic.Int64
	request := &numbered{text: "request", released: &released}
	pipe.Start(request, 0)
	require.Equal(t, 2<<20, pipe.Push(bytes.Clone(message)))
	require.Equal(t, 2<<20+1, pipe.Push([]byte("1")))
	require.InDelta(t, 2<<20, budget.Used(), 2*step)
	pipe.Finish(request)
	var out Output
	pipe.Output(&out)
	require.Equal(t, 2<<20+1+len("request\n"), out.Len())
	segment := out.Segments(make([][]byte, 0, 1), 1)[0]
	require.Same(t, &message[0], &segment[0], "the message was copied")
	require.Zero(t, budget.Used())

	pipe.Push(message)
	pipe.HangUp()
	require.Zero(t, pipe.Push([]byte("nothing follows the last reply")))
	require.Equal(t, string(message), take())
	require.True(t, pipe.Close())
	require.Zero(t, pipe.Push(message))
	require.Zero(t, budget.Used())
}

// BenchmarkPush pushes to a connection that takes what there is.
func BenchmarkPush(b *testing.B) {
	pipe := New(Options{MaxRequests: 10, MaxBytes: 1 << 20, Wake: func() {}})
	message := bytes.Repeat([]byte("m"), 100)
	var out Output
	b.ReportAllocs()
	for i := range b.N {
		pipe.Push(message)
		if i%16 == 0 {
			pipe.Output(&out)
			out.Reset()
		}
	}
}
