package coalesce

import (
	"testing"
	"time"

	"github.com/howdah/howdah/internal/test/bubble"
)

// stuck starts a flight of op that the test leaves in the air.
func (r *rig) stuck(op *Op) *held {
	r.t.Helper()
	r.start(op)
	f := r.flight()
	f.takeAndSend()
	return f
}

// A flight that takes long does not keep others from starting.
func TestLateFlightsLoseTheirSlots(t *testing.T) {
	t.Parallel()
	inBubble(t, Options{ReadFlights: 2, WriteFlights: 2, AloneFlights: 2, IsolatedFlights: 2}, func(r *rig) {
		var flights []*held
		for i := range uint64(2) {
			flights = append(flights, r.stuck(newOp("w", Write, i)))
		}
		// Beside these two there is room for three, so that each of the other
		// lanes keeps one; for one of the same table.
		w := r.start(newOp("w", Write, 10))
		r.noFlight()
		bubble.Pass(time.Duration(lateFlight) - time.Microsecond)
		r.noFlight()
		bubble.Pass(time.Microsecond)
		third := r.flight()
		third.takeAndSend()
		r.pending(w)
		same := r.start(newOp("same", Write, 20))
		r.noFlight()
		a, b := r.NewTable(TableOptions{}), r.NewTable(TableOptions{})
		flights = append(flights, third, r.stuck(newOp("a", Write, 20).in(a))) // both slots were late
		r.start(newOp("b", Write, 20).in(b))
		r.noFlight()
		bubble.Pass(time.Duration(lateFlight))
		fifth := r.flight()
		r.batch(fifth.takeAndSend(), "b ")
		flights = append(flights, fifth)
		r.pending(same)
		r.start(newOp("c", Write, 30).in(b))
		bubble.Pass(time.Second)
		r.noFlight()
		if s := r.Stats(); s.LateFlights != 5 {
			t.Errorf("%d late flights", s.LateFlights)
		}
		reads := r.stuck(newOp("r", Read, 40))
		reads.finish(nil)
		// The first to land makes room again.
		flights[0].finish(nil)
		f := r.flight()
		r.batch(f.take(), "c same ")
		f.finish(nil)
		for _, f := range flights[1:] {
			f.finish(nil)
		}
		checkEmpty(t, r.Coalescer, a, b)
	})
}

// A lone flight is late like any other.
func TestLateLoneFlight(t *testing.T) {
	t.Parallel()
	inBubble(t, Options{ReadFlights: 1, WriteFlights: 1, AloneFlights: 1, IsolatedFlights: 1, MaxFlights: 8}, func(r *rig) {
		a := r.goDo(background, newOp("a", Read, 1))
		f := r.flight()
		if f.take(); !f.Lone() {
			t.Error("not a lone flight")
		}
		bubble.Pass(time.Second)
		b := r.start(newOp("b", Read, 2))
		r.noFlight()
		bubble.Pass(time.Duration(lateFlight))
		r.flight().finish(nil)
		r.ended(nil, b)
		r.pending(a)
		f.finish(nil)
		r.ended(nil, a)
	})
}

// Lone flights count among those of their table.
func TestLoneFlightsOfOneTable(t *testing.T) {
	t.Parallel()
	inBubble(t, Options{ReadFlights: 2, WriteFlights: 2, AloneFlights: 2, IsolatedFlights: 2}, func(r *rig) {
		other := r.NewTable(TableOptions{})
		lone := func(op *Op) (*answer, *held) {
			t.Helper()
			a := r.goDo(background, op)
			f := r.flight()
			if f.takeAndSend(); !f.Lone() {
				t.Error("not a lone flight")
			}
			return a, f
		}
		a, fa := lone(newOp("a", Read, 1))
		b, fb := lone(newOp("b", Read, 2))
		r.start(newOp("o", Read, 1).in(other))
		bubble.Pass(time.Duration(lateFlight)) // both are late now
		r.flight().finish(nil)
		c, fc := lone(newOp("c", Read, 3))
		d := r.goDo(background, newOp("d", Read, 4)) // there are three of this table
		r.noFlight()
		o, fo := lone(newOp("o", Read, 2).in(other))
		fc.finish(nil)
		r.flight().finish(nil)
		for _, f := range []*held{fa, fb, fo} {
			f.finish(nil)
		}
		r.ended(nil, a, b, c, d, o)
		checkEmpty(t, r.Coalescer, other)
	})
}

// Where every flight takes long, more of them would not help.
func TestWhatIsTypicalIsNotLate(t *testing.T) {
	t.Parallel()
	inBubble(t, Options{ReadFlights: 1, WriteFlights: 1, AloneFlights: 1, IsolatedFlights: 1, MaxFlights: 8}, func(r *rig) {
		const long = 40 * time.Millisecond
		started := func() (n int) {
			for {
				select {
				case f := <-r.arrived:
					f.finish(nil)
					n++
				default:
					return n
				}
			}
		}
		late := 0
		for range 100 {
			f := r.stuck(newOp("w", Write, 1))
			r.start(newOp("w", Write, 2))
			bubble.Pass(long)
			late = started()
			f.finish(nil)
			started()
		}
		if late != 0 {
			t.Error("a flight of typical duration is late")
		}
		f := r.stuck(newOp("w", Write, 1))
		r.start(newOp("w", Write, 2))
		bubble.Pass(20 * long)
		if started() != 1 {
			t.Error("a flight that takes 20 times as long as others is not late")
		}
		f.finish(nil)
	})
}

func TestOneLongFlightIsNotTypical(t *testing.T) {
	t.Parallel()
	inBubble(t, Options{ReadFlights: 1, WriteFlights: 1, AloneFlights: 1, IsolatedFlights: 1, MaxFlights: 8}, func(r *rig) {
		for range 20 {
			f := r.stuck(newOp("w", Write, 1))
			bubble.Pass(time.Millisecond)
			f.finish(nil)
		}
		f := r.stuck(newOp("w", Write, 1))
		bubble.Pass(time.Minute)
		f.finish(nil)
		f = r.stuck(newOp("w", Write, 1))
		r.start(newOp("v", Write, 2))
		bubble.Pass(3 * time.Duration(lateFlight))
		r.flight().finish(nil)
		f.finish(nil)
	})
}

// Flights that wait for locks take no more connections than their lane has.
func TestWaitingForLocksIsNotLate(t *testing.T) {
	t.Parallel()
	inBubble(t, Options{ReadFlights: 1, WriteFlights: 1, AloneFlights: 1, IsolatedFlights: 1, MaxFlights: 8}, func(r *rig) {
		r.suspect(1)
		r.suspect(2)
		a, b := r.stuck(newOp("a", Write, 1)), r.start(newOp("b", Write, 2))
		c := r.lock(r.NewTable(TableOptions{}), 1)
		f := r.isolated("a ")
		d := r.lock(r.NewTable(TableOptions{}), 1)
		bubble.Pass(time.Second / 2)
		r.noFlight()
		a.finish(nil)
		r.flight().finish(nil)
		f.finish(nil)
		r.isolated("a ").finish(nil)
		r.ended(nil, b, c, d)
	})
}

func TestMaxFlights(t *testing.T) {
	t.Parallel()
	inBubble(t, Options{ReadFlights: 4, WriteFlights: 4, AloneFlights: 1, IsolatedFlights: 1, MaxFlights: 3}, func(r *rig) {
		flights := []*held{r.stuck(newOp("r", Read, 1)), r.stuck(newOp("r", Read, 2)), r.stuck(newOp("r", Read, 3))}
		a := r.start(newOp("a", Read, 4))
		r.noFlight()
		flights = append(flights, r.stuck(newOp("w", Write, 5))) // the first of its lane
		b := r.start(newOp("b", Write, 6))
		r.noFlight()
		flights[0].finish(nil)
		r.noFlight() // there are still three
		flights[1].finish(nil)
		next := r.flight() // of the other lane, which has waited too
		r.batch(next.take(), "b ")
		r.noFlight()
		next.finish(nil)
		r.ended(nil, b)
		r.flight().finish(nil)
		r.ended(nil, a)
		flights[2].finish(nil)
		flights[3].finish(nil)
	})
}
