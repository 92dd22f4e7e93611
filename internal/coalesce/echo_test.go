package coalesce

import (
	"slices"
	"testing"
	"testing/synctest"
)

// echoing makes an op that answers, or is answered with, what a Set stored.
func echoing(name string, kind Kind, key uint64) *Op {
	op := newOp(name, kind, key)
	op.Echo = true
	return op
}

// acknowledge ends the first op of a flight, a Set that took effect, and the
// flight.
func (r *rig) acknowledge(h *held, known bool) {
	h.do(func(f Flight) { f.Acknowledge(h.ops[0], known) })
	h.end()
}

// echoed checks which reads were answered with which Sets.
func (r *rig) echoed(want ...string) {
	r.t.Helper()
	synctest.Wait()
	if !slices.Equal(r.echoes, want) {
		r.t.Fatalf("echoes are %q, want %q", r.echoes, want)
	}
	r.echoes = nil
}

func TestReadsAreAnsweredWithTheSetTheyWaitFor(t *testing.T) {
	t.Parallel()
	inBubble(t, Options{}, func(r *rig) {
		x := r.start(newOp("x", Write, 9))
		f := r.flight()
		f.take()
		a := r.start(echoing("a", Set, 1))
		r1 := r.start(echoing("r1", Read, 1))
		r2 := r.goDo(background, echoing("r2", Read, 1)) // merges with r1
		plain := r.start(newOp("plain", Read, 1))        // asks for more
		r3 := echoing("r3", Read, 1)                     // is behind it
		r3.Class = 1
		behind := r.start(r3)
		f.finish(nil)
		f = r.flight()
		r.batch(f.takeAndSend(), "a ")
		r.acknowledge(f, true)
		r.echoed("r1=a", "r2=a")
		r.ended(nil, x, a, r1, r2)
		r.pending(plain, behind)
		if !r.last {
			r.t.Error("no write was queued behind the Set")
		}
		g := r.flight()
		r.batch(g.take(), "plain r3 ")
		g.finish(nil)
		r.ended(nil, plain, behind)
		if s := r.table.Stats(); s.Echoed != 2 {
			r.t.Errorf("%+v", s)
		}
	})
}

// A read that came when the Set was in flight already may know of a newer value: the
// Set took effect before, and somebody else wrote after it. It shares no place with
// one that the Set answers, either.
func TestReadsThatCameLaterAreNotAnswered(t *testing.T) {
	t.Parallel()
	inBubble(t, Options{}, func(r *rig) {
		r.start(newOp("x", Write, 9))
		f := r.flight()
		f.take()
		a := r.start(echoing("a", Set, 1))
		early := r.start(echoing("early", Read, 1))
		f.finish(nil)
		f = r.flight()
		r.batch(f.takeAndSend(), "a ")
		late := r.start(echoing("late", Read, 1))
		later := r.start(echoing("later", Read, 1)) // merges with late
		r.acknowledge(f, true)
		r.echoed("early=a")
		r.ended(nil, a, early)
		r.pending(late, later)
		f = r.flight()
		if got := f.take(); len(got) != 1 || got[0].Call != "late" {
			r.t.Errorf("the reads go as %v", got)
		}
		f.finish(nil)
		r.ended(nil, late, later)
	})
}

// No read waits for a lone Set when it is sent.
func TestLoneSetAnswersNoReads(t *testing.T) {
	t.Parallel()
	inBubble(t, Options{}, func(r *rig) {
		a := r.goDo(background, echoing("a", Set, 1))
		f := r.flight()
		f.takeAndSend()
		r1 := r.start(echoing("r1", Read, 1))
		w := r.start(newOp("w", Write, 1))
		r.acknowledge(f, true)
		r.echoed()
		r.ended(nil, a)
		r.pending(r1, w)
		if r.last {
			r.t.Error("a write is queued behind the Set")
		}
		r.flight().finish(nil)
		r.flight().finish(nil)
		r.ended(nil, r1, w)
	})
}

// A run of Sets and reads that waits goes as one Set; all act in their order.
func TestSetsMergeOverReadsThatTheyAnswer(t *testing.T) {
	t.Parallel()
	inBubble(t, Options{}, func(r *rig) {
		r.start(newOp("x", Write, 1))
		f := r.flight()
		f.take()
		answers := []*answer{
			r.start(echoing("a", Set, 1)), r.start(echoing("r1", Read, 1)),
			r.start(echoing("b", Set, 1)), r.start(echoing("c", Set, 1)), r.start(echoing("r2", Read, 1)),
			r.start(echoing("d", Set, 1)), r.start(echoing("r3", Read, 1)),
		}
		f.finish(nil)
		f = r.flight()
		r.batch(f.takeAndSend(), "d+c+b+a ")
		var echoed []string
		for o := range f.ops[0].Followers() {
			if o.Echoed() {
				echoed = append(echoed, o.Call.(string))
			}
		}
		if !slices.Equal(echoed, []string{"c", "a"}) {
			r.t.Errorf("reads ask for what %q stored", echoed)
		}
		r.acknowledge(f, true)
		r.echoed("r1=a", "r2=c", "r3=d")
		r.ended(nil, answers...)
	})
}

func TestSetsDoNotMergeOverReadsThatAskForMore(t *testing.T) {
	t.Parallel()
	inBubble(t, Options{}, func(r *rig) {
		r.start(newOp("x", Write, 1))
		f := r.flight()
		f.take()
		r.start(echoing("a", Set, 1))
		r.start(newOp("r1", Read, 1))
		r.start(echoing("b", Set, 1))
		f.finish(nil)
		for _, want := range []string{"a ", "r1 ", "b "} {
			f = r.flight()
			r.batch(f.takeAndSend(), want)
			f.finish(nil)
		}
	})
}

// The Set before a read leaves: the read came before what is left of the group,
// and goes first.
func TestReadsOfASetThatLeftGoFirst(t *testing.T) {
	t.Parallel()
	for name, granted := range map[string]bool{"while the group waits": false, "when it could go": true} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, Options{}, func(r *rig) {
				ctx, cancel := leaver()
				busy := uint64(1)
				if granted {
					busy = 2 // the flight is busy, the key is free
				}
				r.start(newOp("x", Write, busy))
				f := r.flight()
				f.take()
				a := r.goDo(ctx, echoing("a", Set, 1))
				r1 := r.start(echoing("r1", Read, 1))
				r.start(echoing("b", Set, 1))
				r2 := r.start(echoing("r2", Read, 1))
				r.noFlight()
				cancel()
				r.ended(ErrNotSent, a)
				if !granted {
					f.finish(nil)
				}
				g := r.flight()
				r.batch(g.takeAndSend(), "r1 ")
				r.pending(r2)
				g.finish(nil)
				r.ended(nil, r1)
				if granted {
					f.finish(nil)
				}
				f = r.flight()
				r.batch(f.takeAndSend(), "b ")
				r.acknowledge(f, true)
				r.echoed("r2=b")
			})
		})
	}
}

// A group that was taken, had no effect, and lost its oldest Set goes back.
func TestReadsOfASetThatLeftAFailedAttempt(t *testing.T) {
	t.Parallel()
	inBubble(t, Options{}, func(r *rig) {
		ctx, cancel := leaver()
		r.start(newOp("x", Write, 1))
		f := r.flight()
		f.take()
		a := r.goDo(ctx, echoing("a", Set, 1))
		r.start(echoing("r1", Read, 1))
		r.start(echoing("b", Set, 1))
		f.finish(nil)
		f = r.flight()
		r.batch(f.takeAndSend(), "b+a ")
		cancel()
		r.ended(ErrSent, a)
		f.do(func(g Flight) {
			if kept := g.Retake(f.ops); len(kept) != 0 {
				r.t.Errorf("%d ops are kept that must wait for a read", len(kept))
			}
		})
		f.end()
		f = r.flight()
		r.batch(f.takeAndSend(), "r1 ")
		f.finish(nil)
		f = r.flight()
		r.batch(f.takeAndSend(), "b ")
		f.finish(nil)
	})
}

// Nobody knows whether the group had an effect: a read between its Sets has no
// place any more. Those behind it go on.
func TestUnknownOutcomeFailsReadsBetweenSets(t *testing.T) {
	t.Parallel()
	for _, unknown := range []bool{true, false} {
		inBubble(t, Options{Unknown: func(error) bool { return unknown }}, func(r *rig) {
			r.start(newOp("x", Write, 1))
			f := r.flight()
			f.take()
			r.start(echoing("a", Set, 1))
			r1 := r.start(echoing("r1", Read, 1))
			b := r.start(echoing("b", Set, 1))
			r2 := r.start(echoing("r2", Read, 1))
			f.finish(nil)
			f = r.flight()
			f.takeAndSend()
			f.finish(errStatement)
			r.ended(errStatement, b)
			f = r.flight()
			if unknown {
				r.ended(errStatement, r1)
				r.batch(f.takeAndSend(), "r2 ")
			} else {
				r.batch(f.takeAndSend(), "r1 r2 ")
			}
			f.finish(nil)
			r.ended(nil, r2)
		})
	}
}

// What the caller of a Set gave may have changed once it has left, and what a Set
// stored may have expired: the reads ask.
func TestReadsAskWhereTheSetDoesNotTell(t *testing.T) {
	t.Parallel()
	for _, left := range []bool{true, false} {
		inBubble(t, Options{}, func(r *rig) {
			ctx, cancel := leaver()
			r.start(newOp("x", Write, 2))
			f := r.flight()
			f.take()
			r.goDo(ctx, echoing("a", Set, 1))
			r1 := r.start(echoing("r1", Read, 1))
			f.finish(nil)
			f = r.flight()
			f.takeAndSend()
			if left {
				cancel()
				synctest.Wait()
			}
			r.acknowledge(f, left)
			r.echoed()
			r.pending(r1)
			r.flight().finish(nil)
			r.ended(nil, r1)
			cancel()
		})
	}
}

// Keys that differ may have one number: their ops neither merge nor answer each
// other.
func TestCollidingKeysAreApart(t *testing.T) {
	t.Parallel()
	first := func(op *Op) byte { return op.Call.(string)[0] }
	inBubble(t, Options{Same: func(a, b *Op) bool { return first(a) == first(b) }}, func(r *rig) {
		r.start(newOp("x", Write, 1))
		f := r.flight()
		f.take()
		for _, op := range []*Op{
			echoing("a1", Set, 1), echoing("b1", Read, 1), echoing("a2", Read, 1), echoing("b2", Read, 1), echoing("b3", Set, 1), echoing("a3", Set, 1),
		} {
			r.start(op)
		}
		f.finish(nil)
		f = r.flight()
		r.batch(f.takeAndSend(), "a1 ")
		r.acknowledge(f, true)
		r.echoed()
		for _, want := range []string{"b1+b2 a2 ", "b3 ", "a3 "} {
			f = r.flight()
			r.batch(f.takeAndSend(), want)
			f.finish(nil)
		}
	})
}
