package coalesce

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/howdah/howdah/internal/test/bubble"
)

// leaver is a context with a cause of its own.
func leaver() (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(background)
	return ctx, func() { cancel(errStatement) }
}

func TestCancelWhileQueued(t *testing.T) {
	t.Parallel()
	inBubble(t, Options{}, func(r *rig) {
		ctx, cancel := leaver()
		cancelled, cancel2 := leaver()
		cancel2()
		r.start(newOp("x", Write, 1))
		f := r.flight()
		f.take()
		a := r.goDo(ctx, newOp("a", Write, 1))    // waits for its key
		b := r.goDo(ctx, newOp("b", Write, 2))    // waits for a slot
		c := r.goDo(ctx, newOp("c", Write, 2, 3)) // waits for b
		d := r.start(newOp("d", Write, 3))
		e := r.goDo(cancelled, newOp("e", Read, 9))
		r.ended(errStatement, e)
		r.ended(ErrNotSent, e)
		r.noFlight()
		cancel()
		r.ended(errStatement, a, b, c)
		r.ended(ErrNotSent, a, b, c)
		f.finish(nil)
		f = r.flight()
		r.batch(f.take(), "d ")
		f.finish(nil)
		r.ended(nil, d)
		if s := r.table.Stats(); s.Cancelled != 3 || s.Queued != 0 {
			t.Errorf("%+v", s)
		}
	})
}

func TestCancelledWriteLetsReadsShare(t *testing.T) {
	t.Parallel()
	inBubble(t, Options{ReadFlights: 2, WriteFlights: 1, AloneFlights: 1}, func(r *rig) {
		ctx, cancel := leaver()
		r.start(newOp("a", Read, 1))
		f := r.flight()
		f.take()
		r.goDo(ctx, newOp("w", Write, 1))
		r.start(newOp("b", Read, 1))
		r.start(newOp("m", Read, 1, 2))
		r.start(newOp("v", Write, 1))
		r.start(newOp("c", Read, 1))
		r.noFlight()
		cancel()
		g := r.flight()
		r.batch(g.take(), "b m ")
		f.finish(nil)
		r.noFlight()
		g.finish(nil)
		r.flight().finish(nil)
		r.flight().finish(nil)
	})
}

func TestCancelInMergedGroup(t *testing.T) {
	t.Parallel()
	for _, kind := range []Kind{Read, Set} {
		for leaving, want := range map[string]string{
			"":     map[Kind]string{Read: "a+d+c+b ", Set: "d+c+b+a "}[kind],
			"a":    map[Kind]string{Read: "d+c+b ", Set: "d+c+b "}[kind],
			"d":    map[Kind]string{Read: "a+c+b ", Set: "c+b+a "}[kind],
			"b":    map[Kind]string{Read: "a+d+c ", Set: "d+c+a "}[kind],
			"cd":   map[Kind]string{Read: "a+b ", Set: "b+a "}[kind],
			"abcd": "",
		} {
			inBubble(t, Options{}, func(r *rig) {
				x := newOp("x", Write, 1)
				r.start(x)
				f := r.flight()
				f.take()
				cancels := map[rune]func(){}
				answers := map[rune]*answer{}
				for _, name := range "abcd" {
					ctx, cancel := leaver()
					cancels[name] = cancel
					answers[name] = r.goDo(ctx, newOp(string(name), kind, 1))
				}
				after := r.start(newOp("after", Write, 1))
				for _, name := range leaving {
					cancels[name]()
					r.ended(ErrNotSent, answers[name])
					delete(answers, name)
				}
				f.finish(nil)
				if want != "" {
					f = r.flight()
					r.batch(f.takeAndSend(), want)
					r.pending(after)
					f.finish(nil)
				}
				for _, a := range answers {
					r.ended(nil, a)
				}
				r.flight().finish(nil)
				r.ended(nil, after)
			})
		}
	}
}

func TestCancelBetweenTakeAndSent(t *testing.T) {
	t.Parallel()
	inBubble(t, Options{}, func(r *rig) {
		r.start(newOp("x", Set, 9))
		f := r.flight()
		f.take()
		ctx, cancel := leaver()
		a, b := r.goDo(ctx, newOp("a", Set, 1)), r.goDo(ctx, newOp("b", Set, 1))
		c := r.goDo(ctx, newOp("c", Set, 2))
		d := r.goDo(background, newOp("d", Set, 3))
		f.finish(nil)
		f = r.flight()
		r.batch(f.take(), "b+a c d ")
		cancel()
		r.pending(a, b, c, d) // Run is reading their bytes
		f.complete(f.ops[1], nil)
		r.ended(nil, c) // the outcome is known: better than "unknown"
		f.do(Flight.Sent)
		r.ended(ErrSent, a, b)
		r.ended(errStatement, a, b)
		r.pending(d)
		f.complete(f.ops[0], nil)
		f.complete(f.ops[2], nil)
		f.end()
		r.ended(ErrSent, a, b)
		r.ended(nil, d)
	})
}

func TestCancelAfterSent(t *testing.T) {
	t.Parallel()
	inBubble(t, Options{}, func(r *rig) {
		r.start(newOp("x", Read, 9))
		f := r.flight()
		f.take()
		ctx, cancel := leaver()
		a, b := r.goDo(ctx, newOp("a", Read, 1)), r.goDo(background, newOp("b", Read, 1))
		w := r.start(newOp("w", Write, 1))
		f.finish(nil)
		f = r.flight()
		r.batch(f.takeAndSend(), "a+b ")
		cancel()
		r.ended(ErrSent, a)
		r.pending(b, w) // the keys are held until the answer
		f.finish(nil)
		r.ended(nil, b)
		r.flight().finish(nil)
		r.ended(nil, w)
	})
}

func TestDeadlines(t *testing.T) {
	t.Parallel()
	inBubble(t, Options{}, func(r *rig) {
		timed := func(name string, kind Kind, d time.Duration, keys ...uint64) *Op {
			op := newOp(name, kind, keys...)
			op.Deadline = in(d)
			return op
		}
		r.start(newOp("x", Write, 1))
		f := r.flight() // stuck
		f.take()
		start := time.Now()
		// Each waits for another thing: a slot, its key, a group.
		a := r.goDo(background, timed("a", Write, 10*time.Millisecond, 2))
		b := r.start(timed("b", Write, 10*time.Millisecond, 3))
		c := r.start(timed("c", Write, 20*time.Millisecond, 1))
		d := r.start(timed("d", Set, 30*time.Millisecond, 4))
		e := r.start(timed("e", Set, 10*time.Millisecond, 4))
		g := r.goDo(background, timed("g", Set, 20*time.Millisecond, 4))
		h := r.goDo(background, timed("h", Read, time.Hour, 1))
		late := r.start(timed("late", Read, -1, 7))
		r.flight().finish(nil)
		r.ended(context.DeadlineExceeded, late) // never sent
		bubble.Pass(10 * time.Millisecond)
		r.ended(context.DeadlineExceeded, a, b, e)
		r.ended(ErrNotSent, a, b, e)
		r.pending(c, d, g)
		bubble.Pass(10 * time.Millisecond)
		r.ended(ErrNotSent, c, g)
		r.pending(d)
		bubble.Pass(10 * time.Millisecond)
		r.ended(ErrNotSent, d)
		if passed := bubble.Since(start); passed != 30*time.Millisecond {
			t.Errorf("%v have passed", passed)
		}
		r.pending(h)
		f.finish(nil)
		r.flight().finish(nil)
		r.ended(nil, h)
		if s := r.table.Stats(); s.Expired != 7 {
			t.Errorf("%d expired", s.Expired)
		}
	})
}

func TestSweepIsCoarse(t *testing.T) {
	t.Parallel()
	inBubble(t, Options{}, func(r *rig) {
		r.start(newOp("x", Write, 1))
		f := r.flight()
		f.take()
		var answers []*answer
		for i := range 10 {
			op := newOp("a", Write, uint64(i))
			op.Deadline = in(10*time.Millisecond + time.Duration(i)*100*time.Microsecond)
			answers = append(answers, r.start(op))
		}
		bubble.Pass(10 * time.Millisecond)
		r.ended(ErrNotSent, answers[0])
		r.pending(answers[1:]...)
		bubble.Pass(time.Duration(sweepGap))
		r.ended(ErrNotSent, answers...)
		f.finish(nil)
	})
}

func TestTakeDropsExpired(t *testing.T) {
	t.Parallel()
	inBubble(t, Options{}, func(r *rig) {
		r.start(newOp("x", Write, 9))
		f := r.flight()
		f.take()
		a, b := newOp("a", Write, 1), newOp("b", Set, 1)
		a.Deadline, b.Deadline = in(10*time.Millisecond), in(10*time.Millisecond)
		ra := r.start(a)
		rc, rb := r.start(newOp("c", Set, 1)), r.start(b) // b+c wait for a
		// The sweep is prevented, as if its timer came late.
		r.mu.Lock()
		r.sweepTimer.Stop()
		r.mu.Unlock()
		bubble.Pass(20 * time.Millisecond)
		r.pending(ra, rb, rc)
		f.finish(nil)
		f = r.flight()
		r.batch(f.take(), "c ") // made ready by the end of a, in the same Take
		r.ended(ErrNotSent, ra, rb)
		f.finish(nil)
		r.ended(nil, rc)
	})
}

func TestDeadlineAfterTake(t *testing.T) {
	t.Parallel()
	inBubble(t, Options{}, func(r *rig) {
		r.start(newOp("x", Write, 9))
		f := r.flight()
		f.take()
		a, b := newOp("a", Write, 1), newOp("b", Write, 2)
		a.Deadline, b.Deadline = in(10*time.Millisecond), in(20*time.Millisecond)
		ra, rb := r.goDo(background, a), r.start(b)
		f.finish(nil)
		f = r.flight()
		f.take()
		if f.Deadline() != b.Deadline {
			t.Error("Deadline is not that of the last op")
		}
		bubble.Pass(15 * time.Millisecond)
		r.pending(ra)
		f.do(Flight.Sent)
		r.ended(ErrSent, ra)
		r.ended(context.DeadlineExceeded, ra)
		bubble.Pass(time.Minute)
		r.pending(rb) // in flight: it is Run that ends it
		f.finish(nil)
		r.ended(nil, rb)
	})
}

func TestRetake(t *testing.T) {
	t.Parallel()
	inBubble(t, Options{}, func(r *rig) {
		r.start(newOp("x", Set, 9))
		f := r.flight()
		f.take()
		ctx, cancel := leaver()
		a, b := r.goDo(ctx, newOp("a", Set, 1)), r.goDo(background, newOp("b", Set, 1))
		c := newOp("c", Set, 2)
		c.Deadline = in(time.Second)
		rc, d := r.start(c), r.goDo(ctx, newOp("d", Set, 3))
		e := r.goDo(background, newOp("e", Set, 4))
		w := r.start(newOp("w", Write, 2))
		f.finish(nil)
		f = r.flight()
		r.batch(f.takeAndSend(), "b+a c d e ")
		cancel()
		r.ended(ErrSent, a, d)
		bubble.Pass(time.Second)
		r.pending(rc)
		f.retake(t, "b e ")
		r.ended(ErrNotSent, rc)
		r.pending(b, e, w)
		f.ops = f.ops[:0]
		f.do(Flight.Sent)
		f.end()
		r.ended(ErrIncomplete, b, e)
		r.flight().finish(nil)
		r.ended(nil, w)
	})
}

// retake makes the flight retake what it took and checks what remains.
func (h *held) retake(t *testing.T, want string) {
	t.Helper()
	h.do(func(f Flight) { h.ops = f.Retake(h.ops) })
	if names(h.ops) != want {
		t.Errorf("got %q, want %q", names(h.ops), want)
	}
}

// Run is told who has left, so that it keeps no results for them.
func TestLeft(t *testing.T) {
	t.Parallel()
	inBubble(t, Options{}, func(r *rig) {
		ctx, cancel := leaver()
		x := r.start(newOp("x", Read, 9))
		f := r.flight()
		f.take()
		a := r.goDo(ctx, newOp("a", Read, 1))
		r.start(newOp("b", Read, 1))
		r.goDo(background, newOp("c", Read, 1))
		r.goDo(ctx, newOp("d", Read, 2))
		left := func(f *held, want string) {
			t.Helper()
			got := ""
			for _, op := range f.ops {
				for o := op; o != nil; o = o.Follower() {
					if o.Left() {
						got += o.Call.(string)
					}
				}
			}
			if got != want {
				t.Errorf("%q have left, want %q", got, want)
			}
		}
		f.finish(nil)
		r.ended(nil, x)
		f = r.flight()
		r.batch(f.take(), "a+c+b d ")
		cancel()
		r.pending(a)
		left(f, "")
		f.do(Flight.Sent)
		left(f, "ad")
		f.finish(nil)
		e := r.goDo(background, newOp("e", Read, 1))
		f = r.flight()
		f.takeAndSend()
		left(f, "")
		f.finish(nil)
		r.ended(nil, e)
	})
}

// Of ops that were handed over together each leaves as it would alone.
func TestLeavingTogether(t *testing.T) {
	t.Parallel()
	inBubble(t, Options{MaxKeys: 1, MaxQueueBytes: 1000}, func(r *rig) {
		ctx, cancel := leaver()
		ops := []*Op{newOp("a", Set, 1), newOp("b", Set, 2), newOp("c", Set, 2), newOp("d", Set, 3)}
		ops[3].Bytes = 2000
		for _, op := range ops {
			r.inTable(op)
		}
		left := make(chan []error, 1)
		go func() { left <- r.DoAll(ctx, ops) }()
		f := r.flight()
		r.batch(f.take(), "a ")
		cancel()
		r.noFlight()
		select {
		case <-left:
			t.Fatal("left while its bytes were being read")
		default:
		}
		f.do(Flight.Sent)
		want := []error{ErrSent, ErrNotSent, ErrNotSent, ErrOverloaded}
		for i, err := range <-left {
			if !errors.Is(err, want[i]) {
				t.Errorf("%s got %v, want %v", ops[i].Call, err, want[i])
			}
		}
		f.complete(f.ops[0], nil)
		f.end()
		r.noFlight()
		for _, err := range r.DoAll(ctx, ops[1:3]) {
			if !errors.Is(err, ErrNotSent) || !errors.Is(err, errStatement) {
				t.Error(err)
			}
		}
	})
}

func TestErrors(t *testing.T) {
	t.Parallel()
	for _, err := range []error{ErrOverloaded, ErrClosed, errExpired, errExpiredBlocked, leftError(errStatement, false, false)} {
		if !errors.Is(err, ErrNotSent) || errors.Is(err, ErrSent) {
			t.Error(err)
		}
	}
	for _, err := range []error{errExpiredSent, leftError(errStatement, true, false)} {
		if errors.Is(err, ErrNotSent) || !errors.Is(err, ErrSent) {
			t.Error(err)
		}
	}
	if s := leftError(errStatement, true, false).Error(); s != "coalesce: already sent, outcome unknown: statement failed" {
		t.Error(s)
	}
}

func TestOpInUsePanics(t *testing.T) {
	t.Parallel()
	inBubble(t, Options{}, func(r *rig) {
		op := newOp("a", Read, 1)
		r.start(op)
		f := r.flight()
		func() {
			defer func() {
				if recover() == nil {
					t.Error("an Op could be started twice")
				}
			}()
			r.Start(op, nil)
		}()
		f.finish(nil)
	})
}
