package coalesce

import (
	"context"
	"testing"
	"time"

	"github.com/howdah/howdah/internal/test/bubble"
)

func TestBlocked(t *testing.T) {
	t.Parallel()
	inBubble(t, Options{}, func(r *rig) {
		a := r.goDo(background, newOp("a", Set, 1)) // inline
		f := r.flight()
		f.takeAndSend()
		f.block(f.ops[0])
		f.end()
		r.pending(a)
		alone := r.flight()
		if alone.Kind() != Alone {
			t.Fatal("not in the alone lane")
		}
		b := r.start(newOp("b", Set, 1)) // joins, for a has not been taken again
		r.batch(alone.takeAndSend(), "b+a ")
		c := r.start(newOp("c", Set, 1))
		d := r.start(newOp("d", Set, 2))
		rd := r.start(newOp("rd", Read, 3))
		shared := r.flight() // another key is not concerned
		r.batch(shared.take(), "d ")
		shared.finish(nil)
		r.flight().finish(nil)
		r.ended(nil, d, rd)
		alone.block(alone.ops[0]) // once more
		alone.end()
		alone = r.flight()
		r.batch(alone.take(), "b+a ")
		e := r.start(newOp("e", Set, 1))
		m := r.start(newOp("m", Write, 5, 1))
		alone.complete(alone.ops[0], errStatement) // still suspect
		alone.end()
		r.ended(errStatement, a, b)
		alone = r.flight()
		r.batch(alone.take(), "e+c ")
		alone.finish(nil)
		r.ended(nil, c, e)
		f = r.flight() // the key has shown itself free
		if f.Kind() != Write {
			t.Fatal("still suspect")
		}
		f.finish(nil)
		r.ended(nil, m)
		if s := r.table.Stats(); s.Blocked != 2 || s.Alone != 3 || s.Merged != 2 {
			t.Errorf("%+v", s)
		}
	})
}

// Those that wait for a lock that lasts do not keep back who has met one that
// passes.
func TestThoseTriedLeastGoFirst(t *testing.T) {
	t.Parallel()
	inBubble(t, Options{}, func(r *rig) {
		a, b := r.start(newOp("a", Write, 1)), r.start(newOp("b", Write, 2))
		f := r.flight()
		for _, op := range f.takeAndSend() {
			f.block(op)
		}
		fly := func(want string, tries int) (alone *held) {
			t.Helper()
			alone = r.flight()
			r.batch(alone.takeAndSend(), want)
			if alone.Tries() != tries {
				t.Errorf("%safter %d tries, want %d", want, alone.Tries(), tries)
			}
			return alone
		}
		fail := func(alone *held) {
			alone.block(alone.ops[0])
			alone.end()
		}
		for tries := range Patient {
			fail(fly("a ", tries))
			fail(fly("b ", tries))
		}
		fail(fly("a ", Patient))
		alone := fly("b ", Patient)
		c := r.start(newOp("c", Write, 3))
		f.end()
		f = r.flight()
		f.takeAndSend()
		f.block(f.ops[0])
		f.end()
		fail(alone)
		fail(fly("c ", 0))
		fly("c ", 1).finish(nil)
		fly("a ", Patient).finish(nil)
		fly("b ", Patient).finish(nil)
		r.ended(nil, a, b, c)
	})
}

func TestSuspicionFadesAndSparesReads(t *testing.T) {
	t.Parallel()
	inBubble(t, Options{}, func(r *rig) {
		kindOfFlight := func(op *Op) Kind {
			t.Helper()
			a := r.start(op)
			f := r.flight()
			kind := f.Kind()
			f.finish(errStatement)
			r.ended(errStatement, a)
			return kind
		}
		r.start(newOp("a", Write, 1))
		f := r.flight()
		f.take()
		f.block(f.ops[0])
		f.end()
		r.flight().finish(errStatement)
		if kindOfFlight(newOp("b", Read, 1)) != Read {
			t.Error("a row lock keeps reads out of shared batches")
		}
		bubble.Pass(999 * time.Millisecond)
		if kindOfFlight(newOp("c", Write, 1)) != Alone {
			t.Error("no longer suspect within a second")
		}
		bubble.Pass(time.Millisecond)
		if kindOfFlight(newOp("d", Write, 1)) != Write {
			t.Error("suspect after a second")
		}
	})
}

func TestBlockedUntilDeadline(t *testing.T) {
	t.Parallel()
	inBubble(t, Options{}, func(r *rig) {
		ctx, cancel := leaver()
		op := func(name string) *Op {
			op := newOp(name, Set, 1)
			op.Deadline = in(10 * time.Millisecond)
			return op
		}
		a, b, c := r.goDo(background, op("a")), r.start(op("b")), r.goDo(ctx, newOp("c", Set, 1))
		f := r.flight()
		f.take()
		f.block(f.ops[0])
		f.end()
		alone := r.flight()
		r.batch(alone.takeAndSend(), "a ")
		bubble.Pass(20 * time.Millisecond)
		r.pending(a) // the flight is about to learn that nothing was changed
		r.ended(ErrNotSent, b)
		r.ended(ErrBlocked, b)
		alone.block(alone.ops[0])
		alone.end()
		r.ended(ErrNotSent, a)
		r.ended(ErrBlocked, a)
		r.ended(context.DeadlineExceeded, a)
		alone = r.flight()
		r.batch(alone.take(), "c ")
		cancel()
		r.pending(c)
		alone.block(alone.ops[0]) // not sent after all
		alone.end()
		r.ended(ErrNotSent, c)
		r.ended(errStatement, c)
		r.noFlight()

		// Inline, with the deadline passed when the lock is met.
		bubble.Pass(2 * time.Second)
		d := r.goDo(background, op("d"))
		f = r.flight()
		if f.Kind() != Write {
			t.Error("suspected for more than a second")
		}
		f.take()
		bubble.Pass(20 * time.Millisecond)
		f.block(f.ops[0])
		f.end()
		r.ended(ErrBlocked, d)
		r.ended(context.DeadlineExceeded, d)
		// And queued in the alone lane behind a stuck one.
		e := r.start(newOp("e", Write, 1))
		stuck := r.flight()
		stuck.take()
		g := r.goDo(background, newOp("g", Read, 1, 2))
		h := r.goDo(background, op("h"))
		bubble.Pass(20 * time.Millisecond)
		r.ended(ErrNotSent, h)
		stuck.finish(nil)
		f = r.flight()
		f.take()
		f.block(f.ops[0]) // a read that is blocked makes reads suspect
		f.end()
		k := r.start(newOp("k", Read, 2))
		f = r.flight()
		r.batch(f.take(), "g ")
		if f.Kind() != Alone {
			t.Error("not alone")
		}
		f.finish(nil)
		f = r.flight()
		r.batch(f.take(), "k ")
		if f.Kind() != Alone {
			t.Error("not alone")
		}
		f.finish(nil)
		r.ended(nil, e, g, k)
	})
}

// TestLateCallersLearnThatTheyWereBlocked checks how a caller leaves a flight
// that waits for a foreign lock.
func TestLateCallersLearnThatTheyWereBlocked(t *testing.T) {
	t.Parallel()
	const timeout, grace = 10 * time.Millisecond, 50 * time.Millisecond
	withTimeout := func() (context.Context, *Op) {
		ctx, cancel := context.WithTimeout(background, timeout)
		t.Cleanup(cancel)
		return ctx, newOp("a", Set, 1)
	}
	withDeadline := func() (context.Context, *Op) {
		op := newOp("a", Set, 1)
		op.Deadline = in(timeout)
		return background, op
	}
	for name, caller := range map[string]func() (context.Context, *Op){"context": withTimeout, "deadline": withDeadline} {
		for outcome, end := range map[string]func(r *rig, a *answer, alone *held){
			"blocked": func(r *rig, a *answer, alone *held) {
				alone.block(alone.ops[0])
				alone.end()
				for _, want := range []error{ErrNotSent, ErrBlocked, context.DeadlineExceeded} {
					r.ended(want, a)
				}
				if s := r.table.Stats(); s.Expired+s.Cancelled != 1 {
					t.Errorf("%+v", s)
				}
			},
			"given up before it is sent again": func(r *rig, a *answer, alone *held) {
				alone.retake(t, "")
				alone.end()
				r.ended(ErrBlocked, a)
			},
			"done": func(r *rig, a *answer, alone *held) {
				alone.finish(nil)
				r.ended(nil, a)
			},
			"no answer": func(r *rig, a *answer, alone *held) {
				bubble.Pass(grace - timeout/2)
				r.ended(ErrSent, a)
				r.ended(context.DeadlineExceeded, a)
				alone.finish(nil)
			},
		} {
			t.Run(name+" "+outcome, func(t *testing.T) {
				inBubble(t, Options{Grace: grace}, func(r *rig) {
					r.suspect(1)
					ctx, op := caller()
					a := r.goDo(ctx, op)
					alone := r.flight()
					alone.takeAndSend()
					bubble.Pass(timeout + timeout/2)
					r.pending(a)
					end(r, a, alone)
				})
			})
		}
	}
	t.Run("no answer and its bytes being read", func(t *testing.T) {
		inBubble(t, Options{Grace: grace}, func(r *rig) {
			r.suspect(1)
			a := r.goDo(withDeadline())
			alone := r.flight()
			alone.take()
			bubble.Pass(timeout + grace)
			r.pending(a)
			alone.do(Flight.Sent)
			r.ended(ErrSent, a)
			alone.finish(nil)
		})
	})
	t.Run("in company of one that was cancelled", func(t *testing.T) {
		inBubble(t, Options{Grace: grace}, func(r *rig) {
			r.suspect(1)
			x := r.stuck(newOp("x", Set, 1))
			a := r.goDo(withDeadline())
			ctx, cancel := leaver()
			b := r.goDo(ctx, newOp("b", Set, 1))
			x.finish(errStatement)
			alone := r.flight()
			r.batch(alone.take(), "b+a ")
			bubble.Pass(2 * timeout)
			cancel()
			r.pending(a, b)
			alone.do(Flight.Sent)
			r.ended(ErrSent, b)
			r.pending(a)
			alone.block(alone.ops[0])
			r.ended(ErrBlocked, a)
			alone.end()
		})
	})
	t.Run("cancelled while late", func(t *testing.T) {
		inBubble(t, Options{Grace: grace}, func(r *rig) {
			r.suspect(1)
			ctx, cancel := leaver()
			_, op := withDeadline()
			a := r.goDo(ctx, op)
			alone := r.flight()
			alone.takeAndSend()
			bubble.Pass(2 * timeout)
			r.pending(a)
			cancel()
			r.ended(ErrSent, a)
			r.ended(errStatement, a)
			alone.finish(nil)
		})
	})
}

// suspect makes a key one that is locked by somebody else.
func (r *rig) suspect(key uint64) {
	a := r.start(newOp("suspect", Write, key))
	f := r.flight()
	f.takeAndSend()
	f.block(f.ops[0])
	f.end()
	r.flight().finish(errStatement)
	r.ended(errStatement, a)
}

// TestWritersBehindAHeldRow has many writers of one key that stays locked:
// whatever they wait for, each hears that a lock is the cause and that it has
// changed nothing.
func TestWritersBehindAHeldRow(t *testing.T) {
	t.Parallel()
	inBubble(t, Options{}, func(r *rig) {
		var answers []*answer
		for i := range 40 {
			op := newOp("a", []Kind{Set, Write}[i%2], 1)
			op.Deadline = in(100 * time.Millisecond)
			ctx, cancel := context.WithTimeout(background, 110*time.Millisecond)
			defer cancel()
			if i%3 == 0 {
				op.Deadline = 0
			}
			answers = append(answers, r.goDo(ctx, op))
		}
		for range 8 {
			f := r.flight()
			f.takeAndSend()
			bubble.Pass(20 * time.Millisecond)
			for _, op := range f.ops {
				f.block(op)
			}
			f.end()
			if answered, _ := answers[len(answers)-1].get(); answered > 0 {
				break
			}
		}
		r.ended(ErrBlocked, answers...)
		r.ended(ErrNotSent, answers...)
		r.ended(context.DeadlineExceeded, answers...)
	})
}
