package coalesce

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/howdah/howdah/internal/test/bubble"
)

// hold calls Hold for keys of the rig's table.
func (r *rig) hold(name string, keys ...uint64) *answer {
	a := &answer{Op: r.inTable(newOp(name, Write, keys...))}
	r.Hold(a.Op, a.set)
	synctest.Wait()
	return a
}

// What holds keys has the place of a write among the ops on them, and ops with
// Held pass.
func TestHold(t *testing.T) {
	t.Parallel()
	inBubble(t, Options{MaxFlights: 4}, func(r *rig) {
		h := r.hold("h", 1, 2, 1)
		r.ended(nil, h)
		read, write, other := r.start(newOp("read", Read, 1)), r.start(newOp("write", Write, 2)), r.start(newOp("other", Write, 3))
		f := r.flight()
		r.batch(f.take(), "other ")
		f.finish(nil)
		r.ended(nil, other)
		r.pending(read, write)

		load := newOp("load", Read, 1, 2)
		load.Held = true
		loaded := r.start(load)
		f = r.flight()
		r.batch(f.take(), "load ")
		f.finish(nil)
		r.ended(nil, loaded)
		commit := newOp("commit", Write, 2)
		commit.Held = true
		committed := r.start(commit)
		f = r.flight()
		r.batch(f.take(), "commit ")
		f.finish(errStatement)
		r.ended(errStatement, committed)
		r.pending(read, write)

		next := r.hold("next", 1)
		r.pending(next)
		r.Release(h.Op)
		reads, writes := r.flight(), r.flight()
		reads.finish(nil)
		writes.finish(nil)
		r.ended(nil, read, write, next)
		r.Release(next.Op)
	})
}

// A hold is the newest of its key until anything comes for that key.
func TestHoldIsNewest(t *testing.T) {
	t.Parallel()
	inBubble(t, Options{MaxFlights: 2}, func(r *rig) {
		h := r.hold("h", 1)
		newest := func(want bool) {
			t.Helper()
			if r.IsNewest(h.Op) != want {
				t.Fatalf("newest is %v, want %v", !want, want)
			}
		}
		newest(true)
		held := newOp("held", Write, 1)
		held.Held = true
		a := r.start(held)
		newest(true)
		r.flight().finish(nil)
		r.ended(nil, a)
		b := r.start(newOp("b", Read, 1))
		newest(false)
		r.Release(h.Op)
		newest(false)
		r.flight().finish(nil)
		r.ended(nil, b)
	})
}

// A hold that waits ends at its deadline; one that is granted has none.
func TestHoldDeadline(t *testing.T) {
	t.Parallel()
	inBubble(t, Options{MaxFlights: 2}, func(r *rig) {
		first := r.hold("first", 1)
		op := newOp("late", Write, 1)
		op.Deadline = in(time.Second)
		late := &answer{Op: r.inTable(op)}
		r.Hold(op, late.set)
		r.pending(late)
		bubble.Pass(2 * time.Second)
		r.ended(errExpiredBehind, late)
		r.Release(first.Op)
	})
}

// Close waits for what is held, lets its holder finish, and refuses others.
func TestHoldAndClose(t *testing.T) {
	t.Parallel()
	inBubble(t, Options{MaxFlights: 2}, func(r *rig) {
		h := r.hold("h", 1)
		waits := r.hold("waits", 1)
		ctx, cancel := context.WithCancel(context.Background())
		closed := make(chan error, 1)
		go func() { closed <- r.Close(ctx) }()
		synctest.Wait()
		r.ended(ErrClosed, r.hold("refused", 5))
		commit := newOp("commit", Write, 1)
		commit.Held = true
		a := r.start(commit)
		r.flight().finish(nil)
		r.ended(nil, a)
		cancel()
		r.ended(ErrClosed, waits)
		again := newOp("again", Write, 1)
		again.Held = true
		r.ended(ErrClosed, r.start(again))
		select {
		case err := <-closed:
			t.Fatal("closed while a key is held", err)
		default:
		}
		r.Release(h.Op)
		if err := <-closed; !errors.Is(err, ErrClosed) {
			t.Fatal(err)
		}
	})
}
