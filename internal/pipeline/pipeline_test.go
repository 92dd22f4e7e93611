package pipeline

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/howdah/howdah/internal/test/seed"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// numbered is a request whose reply is its number, and perhaps a large value.
type numbered struct {
	Place
	text     string
	value    []byte
	released *atomic.Int64
}

func (n *numbered) Hold(v *Values) { v.Hold(n.value) }
func (n *numbered) Drop(v *Values) { v.Drop(n.value) }
func (n *numbered) Release()       { n.released.Add(1) }

func (n *numbered) Encode(dst []byte, out *Output) []byte {
	dst = append(dst, n.text...)
	if n.value != nil {
		out.Insert(len(dst), n.value)
	}
	return append(dst, '\n')
}

// model drives a pipeline as a protocol and a driver do: one goroutine starts
// requests of every kind, others finish them in random order, and one takes the
// replies when it is woken.
type model struct {
	t        *testing.T
	r        *rand.Rand
	pipe     *Pipeline
	woken    chan struct{}
	started  chan *numbered
	released atomic.Int64
	values   [][]byte
	want     bytes.Buffer
	requests int64
}

func newModel(t *testing.T, options Options) *model {
	m := &model{t: t, r: seed.Rand(t), woken: make(chan struct{}, 1), started: make(chan *numbered, 1<<20)}
	options.Wake = func() {
		select {
		case m.woken <- struct{}{}:
		default:
		}
	}
	m.pipe = New(options)
	for i := range 3 {
		m.values = append(m.values, bytes.Repeat([]byte{byte('a' + i)}, Large<<i))
	}
	return m
}

// finishers end the requests that wait, in random order, until there are no more.
func (m *model) finishers(n int, work *sync.WaitGroup) {
	for range n {
		r := rand.New(rand.NewPCG(m.r.Uint64(), 0))
		work.Go(func() {
			for request := range m.started {
				some := []*numbered{request}
				for range min(len(m.started), r.IntN(20)) {
					select {
					case another, ok := <-m.started:
						if ok {
							some = append(some, another)
						}
					default: // another goroutine took it
					}
				}
				r.Shuffle(len(some), func(i, j int) { some[i], some[j] = some[j], some[i] })
				for _, request := range some {
					m.pipe.Finish(request)
				}
			}
		})
	}
}

// feed starts what the pipeline admits, at most n requests, and returns how many
// it started.
func (m *model) feed(from, n int, tasks *sync.WaitGroup) (started int) {
	m.pipe.BeginInput()
	for started < n && m.pipe.Admit() {
		text := fmt.Sprint(from + started)
		switch m.r.IntN(10) {
		case 0:
			m.want.WriteString(text + "\n")
			m.pipe.Append([]byte(text + "\n"))
		case 1:
			reply := append([]byte(text), bytes.Repeat([]byte("t"), m.r.IntN(2*Large))...)
			var values Output
			if value := m.values[m.r.IntN(len(m.values))]; len(value) >= Large {
				at := len(text)
				m.want.Write(reply[:at])
				m.want.Write(value)
				m.want.Write(reply[at:])
				values.Insert(at, value)
			} else {
				m.want.Write(reply)
			}
			m.pipe.Exclusive(func() {
				tasks.Go(func() {
					if load := m.pipe.Load(); load.InFlight != 0 {
						m.t.Errorf("%d requests are in flight beside a task", load.InFlight)
					}
					m.pipe.Resume(reply, &values)
				})
			})
		case 2:
			message := append([]byte(text), bytes.Repeat([]byte("p"), m.r.IntN(2*Large))...)
			m.want.Write(message)
			m.pipe.Push(message)
		default:
			request := &numbered{text: text, released: &m.released}
			if m.r.IntN(5) == 0 {
				request.value = m.values[m.r.IntN(len(m.values))]
			}
			m.want.WriteString(text)
			m.want.Write(request.value)
			m.want.WriteByte('\n')
			m.requests++
			if m.pipe.Start(request, len(text)) {
				m.started <- request
			}
		}
		started++
	}
	m.pipe.EndInput(0)
	return started
}

// TestOrder holds that replies come in the order of the requests, whatever the
// order in which they are finished, that bounds hold, and that a pipeline that
// stopped wakes its driver.
func TestOrder(t *testing.T) {
	t.Parallel()
	for name, options := range map[string]Options{
		"wide":     {MaxRequests: 1000, MaxBytes: 64 << 20},
		"narrow":   {MaxRequests: 7, MaxBytes: 64 << 20},
		"few":      {MaxRequests: 1, MaxBytes: 64 << 20},
		"bytes":    {MaxRequests: 1000, MaxBytes: 20 << 10},
		"budgeted": {MaxRequests: 1000, MaxBytes: 64 << 20, Budget: NewBudget(1)},
	} {
		t.Run(name, func(t *testing.T) {
			m := newModel(t, options)
			var finishers, tasks sync.WaitGroup
			m.finishers(3, &finishers)
			const total = 5_000
			var out Output
			var got bytes.Buffer
			for fed := 0; ; {
				n := m.feed(fed, min(1+m.r.IntN(50), total-fed), &tasks)
				fed += n
				if load := m.pipe.Load(); load.Requests > options.MaxRequests {
					t.Fatalf("%d requests are pending", load.Requests)
				}
				require.False(t, m.pipe.Output(&out))
				got.Write(out.Bytes())
				wrote := out.Len() > 0
				out.Reset()
				if n > 0 || wrote {
					continue
				}
				if fed == total && !m.pipe.Pending() {
					break
				}
				select {
				case <-m.woken:
				case <-time.After(30 * time.Second):
					t.Fatalf("after %d requests the pipeline wakes no more: %+v", fed, m.pipe.Load())
				}
			}
			close(m.started)
			finishers.Wait()
			tasks.Wait()
			require.True(t, bytes.Equal(m.want.Bytes(), got.Bytes()), "the replies differ")
			require.Equal(t, m.requests, m.released.Load(), "requests released")
			require.Equal(t, Load{}, m.pipe.Load())
			m.pipe.Close()
			if options.Budget != nil {
				require.Zero(t, options.Budget.Used())
			}
		})
	}
}

// A connection that is closed in the middle releases every request once, and
// holds nothing.
func TestClose(t *testing.T) {
	t.Parallel()
	budget := NewBudget(1 << 20)
	for range 50 {
		m := newModel(t, Options{MaxRequests: 1000, MaxBytes: 64 << 20, Budget: budget})
		var finishers, tasks sync.WaitGroup
		m.finishers(2, &finishers)
		var out Output
		for fed := range 5 {
			m.feed(100*fed, 100, &tasks)
			if m.r.IntN(2) == 0 {
				m.pipe.Output(&out)
			}
		}
		require.True(t, m.pipe.Close())
		require.False(t, m.pipe.Close())
		require.Zero(t, m.feed(0, 1, &tasks), "nothing starts on a closed connection")
		close(m.started)
		finishers.Wait()
		tasks.Wait()
		require.Equal(t, m.requests, m.released.Load())
		require.True(t, m.pipe.Output(&out))
	}
	require.Zero(t, budget.Used())
}

// Nothing starts after HangUp, and Output says when the last reply is out.
func TestHangUp(t *testing.T) {
	t.Parallel()
	m := newModel(t, Options{MaxRequests: 10, MaxBytes: 1 << 20})
	request := &numbered{text: "first", released: &m.released}
	require.True(t, m.pipe.Start(request, 1))
	m.pipe.Append([]byte("bye\n"))
	m.pipe.HangUp()
	require.False(t, m.pipe.Admit())
	var out Output
	require.False(t, m.pipe.Output(&out))
	m.pipe.Finish(request)
	<-m.woken
	require.True(t, m.pipe.Output(&out))
	require.Equal(t, "first\nbye\n", string(out.Bytes()))
}

// A kill wakes the driver even if it has not come for the replies yet.
func TestKill(t *testing.T) {
	t.Parallel()
	m := newModel(t, Options{MaxRequests: 10, MaxBytes: 1 << 20})
	request := &numbered{text: "x", released: &m.released}
	m.pipe.Start(request, 1)
	m.pipe.Finish(request)
	<-m.woken
	require.False(t, m.pipe.Killed())
	m.pipe.Kill()
	<-m.woken
	require.True(t, m.pipe.Killed())
	var out Output
	require.True(t, m.pipe.Output(&out))
}

// A client that asks for one large value again and again has as many requests under
// way as it could for different values, although it holds the value once.
func TestSharedValuesDoNotLetMoreStart(t *testing.T) {
	t.Parallel()
	m := newModel(t, Options{MaxRequests: 1000, MaxBytes: 64 << 20})
	value := make([]byte, 1<<20)
	start := func() *numbered {
		r := &numbered{text: "x", value: value, released: &m.released}
		m.pipe.Start(r, 10)
		return r
	}
	var out Output
	for range 10 {
		var started []*numbered
		for m.pipe.Admit() {
			started = append(started, start())
		}
		for _, r := range started {
			m.pipe.Finish(r)
		}
		m.pipe.Output(&out)
		out.Reset()
	}
	started := 0
	for m.pipe.Admit() {
		start()
		started++
	}
	require.Equal(t, 64, started)
}

// Answers that are known at once are bounded by what is to be sent, too.
func TestSharedAnswersDoNotLetMoreIn(t *testing.T) {
	t.Parallel()
	m := newModel(t, Options{MaxRequests: 1000, MaxBytes: 64 << 20})
	value := make([]byte, 1<<20)
	for range 2 {
		answered := 0
		m.pipe.BeginInput()
		for m.pipe.Admit() {
			m.pipe.Answer(&numbered{text: "x", value: value, released: &m.released})
			answered++
		}
		m.pipe.EndInput(0)
		require.Equal(t, 64, answered)
		var out Output
		m.pipe.Output(&out)
	}
}

// What a connection holds is charged, shared values once, and what another
// connection holds leaves less.
func TestPipelineCharges(t *testing.T) {
	t.Parallel()
	budget := NewBudget(64 << 20)
	m := newModel(t, Options{MaxRequests: 1000, MaxBytes: 64 << 20, Budget: budget})
	value := make([]byte, 1<<20)
	var requests []*numbered
	for range 60 {
		r := &numbered{text: "x", value: value, released: &m.released}
		m.pipe.Start(r, 10)
		requests = append(requests, r)
	}
	for _, r := range requests {
		m.pipe.Finish(r)
	}
	require.InDelta(t, 1<<20, budget.Used(), 2*step)
	require.True(t, m.pipe.Admit())
	m.pipe.EndInput(50 << 20) // the beginning of a large request
	require.InDelta(t, 51<<20, budget.Used(), 2*step)
	require.False(t, m.pipe.Fits(60<<20, 10<<20))
	require.True(t, m.pipe.Fits(60<<20, 1<<20))

	hog := NewAccount(budget)
	hog.Set(12 << 20)
	require.False(t, m.pipe.Admit(), "the rest is little")
	var out Output
	m.pipe.Output(&out)
	require.True(t, m.pipe.Admit(), "a connection that waits for nothing may always go on")
	m.pipe.EndInput(0)
	hog.Set(0)
	require.Zero(t, budget.Used())
}

// A request whose outcome is known when it comes is answered in its turn, counts
// while it waits, and is released once.
func TestAnswer(t *testing.T) {
	t.Parallel()
	var released atomic.Int64
	woken := 0
	p := New(Options{MaxRequests: 3, MaxBytes: 1 << 20, Wake: func() { woken++ }})
	request := func(text string) *numbered { return &numbered{text: text, value: []byte("value"), released: &released} }
	take := func() string {
		var out Output
		p.Output(&out)
		return string(out.Bytes())
	}
	p.BeginInput()
	first := request("first")
	require.True(t, p.Start(first, 10))
	p.Answer(request("second"))
	p.Append([]byte("third"))
	require.True(t, p.Admit())
	p.Answer(request("fourth"))
	require.False(t, p.Admit(), "three requests wait")
	require.False(t, p.EndInput(0))
	require.Empty(t, take())
	require.Equal(t, Load{Ready: 0, Requests: 3, InFlight: 1, Bytes: 10 + 2*len("value") + len("third")}, p.Load())
	p.Finish(first)
	require.Equal(t, 1, woken)
	require.Equal(t, "firstvalue\nsecondvalue\nthirdfourthvalue\n", take())
	require.Equal(t, Load{}, p.Load())
	require.EqualValues(t, 3, released.Load())

	require.True(t, p.Close())
	p.Answer(request("late"))
	require.EqualValues(t, 4, released.Load())
}
