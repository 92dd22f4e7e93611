package coalesce

import (
	"context"
	"errors"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/howdah/howdah/internal/test/bubble"
)

var background = context.Background()

type ctxKey struct{}

func TestLoneCallerRunsInline(t *testing.T) {
	t.Parallel()
	ctx := context.WithValue(background, ctxKey{}, 1)
	op := newOp("a", Read, 1)
	c := New(Options{Run: func(got context.Context, f Flight) {
		if got != ctx {
			t.Error("an inline flight has another context than its caller")
		}
		if ops := f.Take(); len(ops) != 1 || ops[0] != op {
			t.Errorf("Take gave %v", ops)
		}
		if f.Take() != nil {
			t.Error("a second Take gave something")
		}
		if pc := callers(); !strings.Contains(pc, "TestLoneCallerRunsInline") {
			t.Errorf("not on the goroutine of its caller:\n%s", pc)
		}
		f.Sent()
		f.Complete(op, errStatement)
		f.Complete(op, nil) // the first outcome counts
	}})
	table := c.NewTable(TableOptions{})
	op.Table = table
	for range 3 { // the Op is reusable
		if err := c.Do(ctx, op); err != errStatement {
			t.Fatal(err)
		}
	}
	if err := c.Close(background); err != nil {
		t.Fatal(err)
	}
	checkEmpty(t, c, table)
	if s := table.Stats(); s.Reads != 3 || s.Keys[0] != 3 || s.KeysTotal != 3 {
		t.Errorf("%+v", s)
	}
}

func callers() string {
	buf := make([]byte, 64<<10)
	return string(buf[:runtime.Stack(buf, false)])
}

func TestBatchGathersWhileFlying(t *testing.T) {
	t.Parallel()
	inBubble(t, Options{}, func(r *rig) {
		a := r.goDo(background, newOp("a", Read, 1))
		first := r.flight()
		b := r.goDo(background, newOp("b", Read, 2))
		c := r.start(newOp("c", Read, 3))
		d := r.goDo(background, newOp("d", Read, 4, 5))
		r.noFlight() // the lane has one slot
		r.batch(first.take(), "a ")
		first.finish(nil)
		r.ended(nil, a)
		r.pending(b, c, d)

		second := r.flight()
		if second.ctx != background {
			t.Error("a flight for several callers has the context of one")
		}
		e := r.start(newOp("e", Read, 6)) // late binding: goes with it
		r.batch(second.takeAndSend(), "b c d e ")
		second.complete(second.ops[1], errStatement)
		r.ended(errStatement, c)
		r.pending(b, d, e)
		second.ops = append(second.ops[:1], second.ops[2:]...)
		second.finish(nil)
		r.ended(nil, b, d, e)
		r.noFlight()
	})
}

func TestFreeSlotIsUsedAtOnce(t *testing.T) {
	t.Parallel()
	inBubble(t, Options{ReadFlights: 2, WriteFlights: 2, AloneFlights: 1}, func(r *rig) {
		r.start(newOp("a", Read, 1))
		f1 := r.flight()
		b := r.start(newOp("b", Read, 2))
		r.noFlight() // f1 is going to take b
		r.batch(f1.take(), "a b ")
		r.start(newOp("c", Read, 3))
		f2 := r.flight()
		r.start(newOp("w", Write, 4)) // the lanes are apart
		f3 := r.flight()
		r.batch(f2.take(), "c ")
		d := r.start(newOp("d", Read, 5))
		r.noFlight() // both slots are taken
		f1.finish(nil)
		r.pending(d)
		f4 := r.flight()
		f4.finish(nil)
		r.ended(nil, b, d)
		f2.finish(nil)
		f3.finish(nil)
	})
}

// Most of the cost of a small flight is the flight.
func TestFewWaitForALanding(t *testing.T) {
	t.Parallel()
	many := func(r *rig, n int, from uint64) {
		for i := range uint64(n) {
			r.start(newOp("a", Read, from+i))
		}
	}
	inBubble(t, Options{ReadFlights: 2, WriteFlights: 2, AloneFlights: 1}, func(r *rig) {
		many(r, 8, 0)
		f1 := r.flight()
		f1.takeAndSend()
		many(r, 3, 10)
		r.noFlight()
		f1.finish(nil)
		f2 := r.flight()
		r.batch(f2.takeAndSend(), "a a a ")
		many(r, 2, 20)
		f3 := r.flight() // two are not few beside three
		f3.takeAndSend()

		f2.finish(nil)
		f3.finish(nil)
		many(r, smallFlight+1, 30)
		f4 := r.flight()
		f4.takeAndSend()
		many(r, 1, 60) // beside a large flight nobody waits
		f5 := r.flight()
		f5.finish(nil)
		bubble.Pass(20 * time.Duration(shortFlight))
		f4.finish(nil)

		many(r, 8, 70)
		f6 := r.flight()
		f6.takeAndSend()
		many(r, 1, 80) // nor where flights take long
		f7 := r.flight()
		f7.finish(nil)
		f6.finish(nil)
	})
	inBubble(t, Options{ReadFlights: 2, WriteFlights: 2, AloneFlights: 1}, func(r *rig) {
		many(r, 8, 0)
		f1 := r.flight()
		f1.takeAndSend()
		many(r, 1, 10)
		r.noFlight()
		bubble.Pass(time.Duration(sweepGap)) // a flight that is held up holds up nobody
		f2 := r.flight()
		f2.finish(nil)
		f1.finish(nil)
	})
}

func TestSlowBoardingDelaysNobodyElse(t *testing.T) {
	t.Parallel()
	inBubble(t, Options{ReadFlights: 2, WriteFlights: 2, AloneFlights: 1}, func(r *rig) {
		r.start(newOp("a", Read, 1))
		f1 := r.flight() // is waiting for a connection
		bubble.Pass(2 * time.Millisecond)
		r.start(newOp("b", Read, 2))
		f2 := r.flight()
		r.batch(f2.take(), "a b ")
		r.batch(f1.take(), "")
		f1.end()
		f2.finish(nil)
	})
}

func TestBatchBounds(t *testing.T) {
	t.Parallel()
	inBubble(t, Options{MaxKeys: 3, MaxBytes: 100}, func(r *rig) {
		r.start(newOp("a", Write, 1))
		f := r.flight()
		f.take()
		sized := func(name string, bytes int, keys ...uint64) {
			op := newOp(name, Write, keys...)
			op.Bytes = bytes
			r.start(op)
		}
		sized("b", 40, 2)
		sized("c", 60, 3)
		sized("d", 1, 4)             // over the bytes
		sized("e", 1, 5, 6, 7)       // over the keys
		sized("f", 1000, 8)          // over the bytes, alone
		sized("g", 1, 9, 10, 11, 13) // over the keys, alone
		sized("h", 1, 12)
		for _, want := range []string{"b c ", "d ", "e ", "f ", "g ", "h "} {
			f.finish(nil)
			f = r.flight()
			r.batch(f.take(), want)
		}
		f.finish(nil)
		s := r.table.Stats()
		if s.Writes != 7 || s.Keys != [KeyBuckets]uint64{4, 1, 2} || s.KeysTotal != 13 {
			t.Errorf("%+v", s)
		}
	})
}

func TestQueueBound(t *testing.T) {
	t.Parallel()
	inBubble(t, Options{MaxQueueBytes: 3000}, func(r *rig) {
		a := r.goDo(background, newOp("a", Read, 1))
		f := r.flight()
		huge := newOp("huge", Read, 2)
		huge.Bytes = 5000
		h := r.start(huge) // one that is larger than the bound is let in alone
		b := r.goDo(background, newOp("b", Read, 3))
		c := r.start(newOp("c", Write, 4))
		r.ended(ErrOverloaded, b, c)
		r.ended(ErrNotSent, b, c)
		if err := r.Exclusive(background, []uint64{5}, nil); !errors.Is(err, ErrOverloaded) {
			t.Error(err)
		}
		f.finish(nil)
		r.flight().finish(nil)
		r.ended(nil, a, h)
		if s := r.table.Stats(); s.Overloaded != 3 || s.Queued != 0 || s.QueuedBytes != 0 {
			t.Errorf("%+v", s)
		}
	})
}

func TestRunThatLeavesOpsOpen(t *testing.T) {
	t.Parallel()
	var mode atomic.Value
	var told atomic.Int32
	c := New(Options{
		OnPanic: func(error) { told.Add(1) },
		Run: func(_ context.Context, f Flight) {
			switch mode.Load() {
			case "panic before Take":
				panic(errStatement)
			case "panic":
				f.Take()
				panic(errStatement)
			case "return":
				f.Take()
			case "return before Take":
			case "goexit":
				f.Take()
				runtime.Goexit()
			}
		},
	})
	table := c.NewTable(TableOptions{})
	for name, want := range map[string]error{
		"panic before Take": errStatement, "panic": errStatement,
		"return": ErrIncomplete, "return before Take": ErrIncomplete, "goexit": ErrIncomplete,
	} {
		mode.Store(name)
		for range 3 { // more than there are slots
			result := make(chan error, 1)
			c.Start(newOp("a", Write, 1, 2).in(table), func(_ *Op, err error) { result <- err })
			err := <-result
			if !errors.Is(err, want) {
				t.Errorf("%s: got %v, want %v", name, err, want)
			}
			if _, ok := errors.AsType[*PanicError](err); ok && !strings.Contains(err.Error(), "lane_test.go") {
				t.Errorf("%s: no stack in %v", name, err)
			}
			if name == "goexit" {
				done := make(chan struct{})
				go func() { // the caller's own goroutine ends
					defer close(done)
					_ = c.Do(background, newOp("b", Write, 1).in(table))
				}()
				<-done
				continue
			}
			if err := c.Do(background, newOp("b", Write, 1).in(table)); !errors.Is(err, want) {
				t.Errorf("%s inline: got %v, want %v", name, err, want)
			}
		}
	}
	if err := c.Close(background); err != nil {
		t.Fatal(err)
	}
	checkEmpty(t, c, table)
	if n := c.Stats().Panics; n != 12 || told.Load() != 12 {
		t.Errorf("%d panics, %d told", n, told.Load())
	}
}

func TestPanicInDoneSparesNeighbours(t *testing.T) {
	t.Parallel()
	inBubble(t, Options{}, func(r *rig) {
		x := r.start(newOp("x", Read, 1))
		f := r.flight()
		f.take()
		r.Start(newOp("a", Set, 1).in(r.table), func(*Op, error) {})
		b := r.start(newOp("b", Set, 1))
		r.Start(newOp("c", Set, 1).in(r.table), func(*Op, error) { panic("done") })
		d := r.start(newOp("d", Set, 2))
		w := r.flight()
		r.batch(w.take(), "d ")
		f.finish(nil)
		w.finish(nil)
		w = r.flight()
		r.batch(w.take(), "c+b+a ")
		op := w.ops[0]
		w.step <- func(f Flight) { f.Complete(op, nil) }
		r.ended(nil, x, b, d)
		if r.Stats().Panics != 1 {
			t.Error("the panic was not counted")
		}
	})
}

func TestClose(t *testing.T) {
	t.Parallel()
	inBubble(t, Options{}, func(r *rig) {
		a := r.goDo(background, newOp("a", Write, 1))
		b := r.start(newOp("b", Write, 1))
		c := r.start(newOp("c", Read, 2))
		f, g := r.flight(), r.flight()
		closed := make(chan error, 2)
		for range 2 {
			go func() { closed <- r.Close(background) }()
		}
		synctest.Wait()
		d, e := r.start(newOp("d", Read, 3)), r.goDo(background, newOp("e", Read, 3))
		r.ended(ErrClosed, d, e)
		r.ended(ErrNotSent, d, e)
		if err := r.Exclusive(background, nil, nil); err != ErrClosed {
			t.Error(err)
		}
		f.finish(nil)
		g.finish(nil)
		r.flight().finish(nil)
		r.ended(nil, a, b, c) // queued ones were run
		for range 2 {
			if err := <-closed; err != nil {
				t.Error(err)
			}
		}
	})
}

func TestCloseGivesUp(t *testing.T) {
	t.Parallel()
	inBubble(t, Options{}, func(r *rig) {
		a := r.goDo(background, newOp("a", Write, 1))
		f := r.flight()
		b, c := r.start(newOp("b", Set, 1)), r.goDo(background, newOp("c", Set, 1))
		d, e := r.start(newOp("d", Read, 1)), r.goDo(background, newOp("e", Write, 2))
		x := make(chan error, 1)
		go func() { x <- r.Exclusive(background, []uint64{1}, nil) }()
		synctest.Wait()
		ctx, cancel := context.WithTimeout(background, time.Second)
		defer cancel()
		closed := make(chan error, 1)
		go func() { closed <- r.Close(ctx) }()
		synctest.Wait()
		r.pending(a, b, c, d, e)
		bubble.Pass(time.Second)
		r.ended(ErrClosed, b, c, d, e)
		if err := <-x; err != ErrClosed {
			t.Error(err)
		}
		select {
		case <-closed:
			t.Fatal("Close did not wait for the flight")
		default:
		}
		// Blocked after the end of Close's patience is not tried again.
		f.take()
		f.block(f.ops[0])
		f.end()
		r.ended(ErrClosed, a)
		if err := <-closed; !errors.Is(err, ErrClosed) || !errors.Is(err, context.DeadlineExceeded) {
			t.Error(err)
		}
	})
}
