package pubsub

import (
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/howdah/howdah/internal/test/seed"
)

type guest struct {
	number int
	left   atomic.Bool
}

func (g *guest) ended() bool { return g.left.Load() }

// TestRoster compares a roster with a plain list: its members and their order, and the
// memory that it takes.
func TestRoster(t *testing.T) {
	t.Parallel()
	random := seed.Rand(t)
	var r roster[*guest]
	var want []*guest
	for n := range 20_000 {
		grows := n/1000%2 == 0 // and shrinks in between
		if len(want) == 0 || grows == (random.IntN(4) > 0) {
			g := &guest{number: n}
			r.add(g)
			want = append(want, g)
		} else {
			i := random.IntN(len(want))
			want[i].left.Store(true)
			r.remove()
			want = append(want[:i:i], want[i+1:]...)
		}
		require.Equal(t, len(want), r.size)
		require.LessOrEqual(t, len(r.all()), 2*len(want)+1)
		if n%100 == 0 {
			var got []*guest
			for _, g := range r.all() {
				if !g.ended() {
					got = append(got, g)
				}
			}
			require.Equal(t, want, got)
		}
	}
}

// A list that was read stays as it is, whatever is added and removed meanwhile.
func TestRosterWhileRead(t *testing.T) {
	t.Parallel()
	var r roster[*guest]
	var stop atomic.Bool
	done := make(chan struct{})
	go func() {
		defer close(done)
		for !stop.Load() {
			before := -1
			for _, g := range r.all() {
				if g.number <= before {
					t.Error("out of order")
					return
				}
				before = g.number
			}
		}
	}()
	var members []*guest
	for n := range 50_000 {
		if n%3 == 2 {
			members[0].left.Store(true)
			r.remove()
			members = members[1:]
			continue
		}
		members = append(members, &guest{number: n})
		r.add(members[len(members)-1])
	}
	stop.Store(true)
	<-done
}
