package coalesce

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/howdah/howdah/internal/test/bubble"
)

// lock has a flight of shared writes learn that a table is locked. Its one op
// waits from then on.
func (r *rig) lock(table *Table, key uint64) *answer {
	r.t.Helper()
	a := r.start(newOp("a", Write, key).in(table))
	f := r.flight()
	f.takeAndSend()
	f.blockTable(f.ops...)
	f.end()
	return a
}

// isolated returns the flight of Kind Isolated that has begun.
func (r *rig) isolated(want string) *held {
	r.t.Helper()
	f := r.flight()
	if f.Kind() != Isolated {
		r.t.Fatalf("the flight is of kind %d", f.Kind())
	}
	r.batch(f.takeAndSend(), want)
	return f
}

func TestLockedTableFliesAlone(t *testing.T) {
	t.Parallel()
	inBubble(t, Options{}, func(r *rig) {
		other := r.NewTable(TableOptions{})
		r.start(newOp("x", Write, 100).in(other))
		f := r.flight()
		f.take()
		a, b := r.start(newOp("a", Set, 1)), r.start(newOp("b", Set, 1))
		c := r.goDo(background, newOp("c", Write, 2))
		o := r.start(newOp("o", Write, 1).in(other))
		f.finish(nil)
		f = r.flight()
		r.batch(f.takeAndSend(), "b+a c o ")
		d := r.start(newOp("d", Write, 3)) // was ready for a shared flight
		e := r.start(newOp("e", Set, 1))   // waits for a, b
		f.blockTable(f.ops[0], f.ops[1])
		f.complete(f.ops[2], nil)
		f.end()
		r.ended(nil, o)
		f = r.isolated("d b+a c ")
		if f.Tries() != Patient {
			t.Error("a flight of a locked table is to wait as long as it takes")
		}
		// While it waits, others share flights; reads of the table too, since
		// it was a write that was blocked.
		rd, p := r.start(newOp("r", Read, 9)), r.start(newOp("p", Write, 2).in(other))
		for range 2 {
			g := r.flight()
			if g.Kind() > Write {
				t.Errorf("a flight of kind %d", g.Kind())
			}
			g.finish(nil)
		}
		r.ended(nil, rd, p)
		g := r.start(newOp("g", Write, 4)) // one flight at a time
		r.noFlight()
		f.blockTable(f.ops...)
		r.noFlight()
		f.end()
		f = r.isolated("g d b+a c ")
		h := r.start(newOp("h", Write, 5))
		r.noFlight()
		f.complete(f.ops[0], errStatement) // proves nothing
		i := r.start(newOp("i", Write, 6))
		f.complete(f.ops[1], nil)
		j := r.start(newOp("j", Write, 7))
		shared := r.flight() // the table has shown itself free
		if shared.Kind() != Write {
			t.Fatal("still isolated")
		}
		r.batch(shared.take(), "j ")
		shared.finish(nil)
		f.complete(f.ops[2], nil)
		f.complete(f.ops[3], nil)
		f.end()
		drain(r)
		r.ended(errStatement, g)
		r.ended(nil, a, b, c, d, e, h, i, j)
		if s := r.table.Stats(); s.Isolated != 3 || s.Blocked != 5 {
			t.Errorf("%+v", s)
		}
		checkEmpty(t, r.Coalescer, other)
	})
}

func TestReadsOfLockedTable(t *testing.T) {
	t.Parallel()
	inBubble(t, Options{}, func(r *rig) {
		r.start(newOp("a", Read, 1))
		f := r.flight()
		f.takeAndSend()
		w := r.stuck(newOp("w", Write, 2))
		f.blockTable(f.ops...) // then writes are blocked all the more
		f.end()
		f = r.isolated("a ")
		r.start(newOp("b", Read, 3))
		r.start(newOp("v", Write, 4))
		r.noFlight()
		w.blockTable(w.ops...)
		w.end()
		f.complete(f.ops[0], nil) // reads are free again; that proves nothing about writes
		f.end()
		f = r.isolated("b v w ")
		if k := r.stuck(newOp("c", Read, 5)); k.Kind() != Read {
			t.Error("reads are still isolated")
		} else {
			k.finish(nil)
		}
		r.start(newOp("u", Write, 6))
		r.noFlight()
		f.finish(nil)
		r.isolated("u ").finish(nil)
		if k := r.stuck(newOp("t", Write, 7)); k.Kind() != Write {
			t.Error("writes are still isolated")
		} else {
			k.finish(nil)
		}
	})
}

func TestIsolationFades(t *testing.T) {
	t.Parallel()
	inBubble(t, Options{}, func(r *rig) {
		a := r.lock(r.table, 1)
		r.isolated("a ").finish(errStatement)
		r.ended(errStatement, a)
		bubble.Pass(time.Second - time.Microsecond)
		r.start(newOp("b", Write, 1))
		f := r.isolated("b ")
		f.blockTable(f.ops...)
		f.end()
		r.isolated("b ").finish(errStatement)
		bubble.Pass(time.Second)
		if f := r.stuck(newOp("c", Write, 1)); f.Kind() != Write {
			t.Error("isolated for more than a second")
		} else {
			f.finish(nil)
		}
	})
}

// Locked tables take turns, and never more than IsolatedFlights.
func TestLockedTablesTakeTurns(t *testing.T) {
	t.Parallel()
	inBubble(t, Options{ReadFlights: 1, WriteFlights: 1, AloneFlights: 1, IsolatedFlights: 2, MaxFlights: 8}, func(r *rig) {
		tables := make([]*Table, 5)
		var answers []*answer
		var flying []*held
		for i := range tables {
			tables[i] = r.NewTable(TableOptions{})
			op := newOp(fmt.Sprint(i), Write, 1).in(tables[i])
			answers = append(answers, r.start(op))
			f := r.flight()
			f.takeAndSend()
			f.blockTable(op)
			f.end()
			if i < 2 {
				flying = append(flying, r.isolated(fmt.Sprint(i, " ")))
			}
		}
		for i := range 20 {
			r.noFlight()
			f := flying[i%2]
			f.blockTable(f.ops...)
			f.end()
			flying[i%2] = r.isolated(fmt.Sprint((i+2)%5, " "))
		}
		flying[0].finish(nil)
		flying[1].finish(nil)
		drain(r)
		r.ended(nil, answers...)
		checkEmpty(t, r.Coalescer, tables...)
	})
}

// Whoever waits for a locked table leaves at the deadline, told why, whether
// the op is in a flight, queued behind one, or waits for its key.
func TestDeadlinesBehindLockedTable(t *testing.T) {
	t.Parallel()
	inBubble(t, Options{}, func(r *rig) {
		timed := func(name string, keys ...uint64) *Op {
			op := newOp(name, Write, keys...)
			op.Deadline = in(10 * time.Millisecond)
			return op
		}
		ctx, cancel := context.WithTimeout(background, 10*time.Millisecond)
		defer cancel()
		a := r.lock(r.table, 1)
		answers := []*answer{r.goDo(background, timed("b", 2)), r.start(timed("c", 3)), r.goDo(ctx, newOp("d", Write, 4))}
		f := r.isolated("a b c d ")
		queued := []*answer{r.goDo(background, timed("e", 5)), r.start(timed("f", 6)), r.goDo(ctx, newOp("g", Write, 7)),
			r.goDo(background, timed("h", 1)), r.start(timed("i", 2)), r.goDo(ctx, newOp("j", Write, 3))}
		bubble.Pass(20 * time.Millisecond)
		for _, want := range []error{ErrNotSent, ErrBlocked, context.DeadlineExceeded} {
			r.ended(want, queued...)
		}
		r.pending(answers...)
		f.blockTable(f.ops...)
		f.end()
		for _, want := range []error{ErrNotSent, ErrBlocked, context.DeadlineExceeded} {
			r.ended(want, answers...)
		}
		r.isolated("a ").finish(nil)
		r.ended(nil, a)
	})
}

func TestBlockedKeyOfLockedTable(t *testing.T) {
	t.Parallel()
	inBubble(t, Options{}, func(r *rig) {
		a := r.lock(r.table, 1)
		f := r.isolated("a ")
		b := r.start(newOp("b", Write, 2))
		f.block(f.ops[0]) // it is a key that is locked now
		alone := r.flight()
		if alone.Kind() != Alone {
			t.Error("not alone")
		}
		r.batch(alone.takeAndSend(), "a ")
		f.end()
		r.isolated("b ").finish(nil)
		alone.block(alone.ops[0])
		alone.end()
		r.flight().finish(nil)
		r.ended(nil, a, b)

		// And an op that goes alone when the table turns out to be locked.
		r.suspect(1)
		c, d := r.start(newOp("c", Write, 1)), r.start(newOp("d", Write, 1, 2))
		e := r.start(newOp("e", Write, 1, 3))
		alone = r.flight()
		r.batch(alone.takeAndSend(), "c ")
		r.lock(r.table, 9)
		f = r.isolated("a ")
		alone.block(alone.ops[0])
		alone.end()
		f.finish(errStatement)
		r.isolated("c ").finish(nil)
		drain(r)
		r.ended(nil, c, d, e)
	})
}

func TestLoneFlightOfLockedTable(t *testing.T) {
	t.Parallel()
	inBubble(t, Options{}, func(r *rig) {
		a := r.goDo(background, newOp("a", Write, 1))
		f := r.flight()
		f.takeAndSend()
		f.blockTable(f.ops...)
		f.complete(f.ops[0], nil) // the first outcome counts
		f.end()
		r.pending(a)
		r.isolated("a ").finish(nil)
		r.ended(nil, a)
	})
}

func TestCloseBehindLockedTable(t *testing.T) {
	t.Parallel()
	inBubble(t, Options{}, func(r *rig) {
		a := r.lock(r.table, 1)
		f := r.isolated("a ")
		b := r.start(newOp("b", Write, 2)) // behind the flight
		ctx, cancel := context.WithCancel(background)
		cancel()
		closed := make(chan error, 1)
		go func() { closed <- r.Close(ctx) }()
		r.ended(ErrClosed, b)
		f.blockTable(f.ops...)
		f.end()
		r.ended(ErrClosed, a)
		<-closed
	})
}
