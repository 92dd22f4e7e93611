package coalesce

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var (
	errStatement = errors.New("statement failed")
	errUnknown   = errors.New("outcome unknown")
)

// rig is a Coalescer whose flights stop at each step until the test lets them
// go on. All of it runs in a synctest bubble.
type rig struct {
	t *testing.T
	*Coalescer
	table   *Table // of ops that name none
	arrived chan *held
	echoes  []string // "read=set", as Options.Acknowledged was given them
	last    bool     // likewise, for the last Set
}

// held is a flight that has called Run and waits for the test.
type held struct {
	Flight
	ctx  context.Context
	ops  []*Op
	step chan func(Flight) // nil ends Run
}

func newRig(t *testing.T, opt Options) *rig {
	r := &rig{t: t, arrived: make(chan *held, 100)}
	opt.Run = func(ctx context.Context, f Flight) {
		h := &held{Flight: f, ctx: ctx, step: make(chan func(Flight))}
		r.arrived <- h
		for step := range h.step {
			step(f)
		}
	}
	opt.Acknowledged = func(_ *Op, echoes []Echo, last bool) {
		r.last = last
		for _, echo := range echoes {
			r.echoes = append(r.echoes, echo.Read.Call.(string)+"="+echo.Set.Call.(string))
		}
	}
	r.Coalescer = New(opt)
	r.table = r.NewTable(TableOptions{})
	return r
}

// flight returns the next flight that has begun, which must be there.
func (r *rig) flight() *held {
	r.t.Helper()
	synctest.Wait()
	select {
	case h := <-r.arrived:
		return h
	default:
		r.t.Fatal("no flight has begun")
		return nil
	}
}

func (r *rig) noFlight() {
	r.t.Helper()
	synctest.Wait()
	select {
	case h := <-r.arrived:
		r.t.Fatalf("a flight of kind %d has begun", h.Kind())
	default:
	}
}

func (h *held) do(step func(Flight)) {
	h.step <- step
	synctest.Wait()
}

// take makes the flight take and returns its batch.
func (h *held) take() []*Op {
	h.do(func(f Flight) { h.ops = append([]*Op(nil), f.Take()...) })
	return h.ops
}

func (h *held) takeAndSend() []*Op {
	h.take()
	h.do(Flight.Sent)
	return h.ops
}

func (h *held) complete(op *Op, err error) { h.do(func(f Flight) { f.Complete(op, err) }) }
func (h *held) block(op *Op)               { h.do(func(f Flight) { f.Blocked(op) }) }

func (h *held) blockTable(ops ...*Op) { h.do(func(f Flight) { f.TableBlocked(ops...) }) }

// end lets Run return.
func (h *held) end() {
	close(h.step)
	synctest.Wait()
}

// finish completes the whole batch with err and ends the flight, taking first
// if that has not happened.
func (h *held) finish(err error) {
	if h.ops == nil {
		h.takeAndSend()
	}
	h.do(func(f Flight) {
		for _, op := range h.ops {
			f.Complete(op, err)
		}
	})
	h.end()
}

// answer is what the caller of one op got.
type answer struct {
	*Op
	mu    sync.Mutex
	times int
	err   error
}

func (a *answer) set(err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.times++
	a.err = err
}

func (a *answer) get() (times int, err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.times, a.err
}

func (r *rig) pending(answers ...*answer) {
	r.t.Helper()
	synctest.Wait()
	for _, a := range answers {
		if times, err := a.get(); times != 0 {
			r.t.Fatalf("op %v is done (%v), want it pending", a.Call, err)
		}
	}
}

// ended checks that each op was answered once, with an error that matches
// want (nil: no error).
func (r *rig) ended(want error, answers ...*answer) {
	r.t.Helper()
	synctest.Wait()
	for _, a := range answers {
		times, err := a.get()
		if times != 1 {
			r.t.Fatalf("op %v was answered %d times, want once", a.Call, times)
		}
		if !errors.Is(err, want) || (want == nil && err != nil) {
			r.t.Fatalf("op %v got %v, want %v", a.Call, err, want)
		}
	}
}

func newOp(name string, kind Kind, keys ...uint64) *Op {
	return &Op{Call: name, Kind: kind, Keys: keys}
}

// in gives op a table.
func (op *Op) in(t *Table) *Op {
	op.Table = t
	return op
}

// inTable gives op the rig's table if it names none.
func (r *rig) inTable(op *Op) *Op {
	if op.Table == nil {
		op.Table = r.table
	}
	return op
}

// Exclusive is that of the rig's table.
func (r *rig) Exclusive(ctx context.Context, keys []uint64, fn func(context.Context) error) error {
	return r.table.Exclusive(ctx, keys, fn)
}

// goDo calls Do on a goroutine of its own.
func (r *rig) goDo(ctx context.Context, op *Op) *answer {
	a := &answer{Op: r.inTable(op)}
	go func() { a.set(r.Do(ctx, op)) }()
	synctest.Wait()
	return a
}

func (r *rig) start(op *Op) *answer {
	a := &answer{Op: r.inTable(op)}
	r.Start(op, func(got *Op, err error) {
		if got != op {
			r.t.Errorf("done got op %v, want %v", got.Call, op.Call)
		}
		a.set(err)
	})
	synctest.Wait()
	return a
}

// close closes the Coalescer, which must be idle, and checks that nothing of
// any op remains in it.
func (r *rig) close() {
	r.t.Helper()
	synctest.Wait()
	if err := r.Close(context.Background()); err != nil {
		r.t.Fatal(err)
	}
	checkEmpty(r.t, r.Coalescer, r.table)
}

func checkEmpty(t testing.TB, c *Coalescer, tables ...*Table) {
	t.Helper()
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.waiting.n != 0 || c.queuedOps != 0 || c.queuedBytes != 0 || c.active != 0 {
		t.Errorf("left behind: %d waiting, %d queued of %d bytes, %d active",
			c.waiting.n, c.queuedOps, c.queuedBytes, c.active)
	}
	for i := range c.lanes {
		l := &c.lanes[i]
		if l.ready != 0 || l.ring.n != 0 || l.held.n != 0 || len(l.slots) != 0 || l.late != 0 || l.boarding != 0 || l.airborne != 0 {
			t.Errorf("left behind in a lane: %+v", l)
		}
	}
	for _, table := range tables {
		if len(table.keys) != 0 || table.queuedOps != 0 || table.queuedBytes != 0 {
			t.Errorf("left behind in a table: %d keys, %d queued of %d bytes",
				len(table.keys), table.queuedOps, table.queuedBytes)
		}
		for i := range table.feeds {
			if f := &table.feeds[i]; f.n != 0 || f.ring != nil || f.taken != 0 || f.flights != 0 || f.held {
				t.Errorf("left behind in the feed for lane %d: %+v", i, f)
			}
		}
	}
}

func names(ops []*Op) string {
	s := ""
	for _, op := range ops {
		s += op.Call.(string)
		for o := range op.Followers() {
			s += "+" + o.Call.(string)
		}
		s += " "
	}
	return s
}

func (r *rig) batch(got []*Op, want string) {
	r.t.Helper()
	if names(got) != want {
		r.t.Fatalf("batch is %q, want %q", names(got), want)
	}
}

func in(d time.Duration) int64 { return Now() + int64(d) }

// inBubble runs a test whose Coalescer allows one flight a lane.
func inBubble(t *testing.T, opt Options, test func(r *rig)) {
	synctest.Test(t, func(t *testing.T) {
		if opt.ReadFlights == 0 {
			opt.ReadFlights, opt.WriteFlights, opt.AloneFlights, opt.IsolatedFlights = 1, 1, 1, 1
			opt.MaxFlights = max(1, opt.MaxFlights)
		}
		r := newRig(t, opt)
		test(r)
		r.close()
	})
}
