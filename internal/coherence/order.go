package coherence

import (
	"cmp"
	"fmt"
	"math"
	"slices"
)

// never is the time of an acknowledgement that did not come.
const never = math.MaxInt64

// state is what a key held, between two changes.
type state struct {
	value   int64
	acked   int64 // the write that made it was acknowledged by then, or never
	process int   // whose write it was
	from    int64 // it cannot have been read before
}

// track is the states of one key in their order.
type track struct {
	states  []state
	place   map[int64]int // value -> index in states
	absent  []int         // indexes of absent states
	acks    []ack         // of all processes, by time
	ownAcks map[int][]ack // of each process, by time
}

// ack says that a write which made the state at place, or a later one, was
// acknowledged by a time.
type ack struct {
	at, place int64
	process   int
}

// History is the states of all keys in their order.
type History struct {
	tracks map[int]*track

	Changes   int // entries of the ledger
	Unmatched int // deletions of which it is not known who made them
	Falling   int // versions that were not greater than an earlier one of their key
	Resets    int // times that a key vanished in a crash
}

// Crashable says, by number, which caches are emptied by a crash.
type Crashable map[int]bool

// Order puts the ledger and the writes together. crashes are the times of the
// crashes of PostgreSQL, in microseconds of the calendar. It returns an error
// if the ledger does not fit together: then it proves nothing.
func Order(changes []Change, writes []Write, caches Crashable, crashes []int64) (*History, error) {
	h := &History{tracks: map[int]*track{}, Changes: len(changes)}
	slices.SortFunc(changes, func(a, b Change) int { return cmp.Compare(a.Number, b.Number) })
	m := newMatcher(writes)
	cacheOf := map[int]int{}
	for _, w := range writes {
		if w.Key != All {
			cacheOf[w.Key] = w.Cache
			h.track(w.Key)
		}
	}
	for _, c := range changes {
		if c.Key != All {
			cacheOf[c.Key] = c.Cache
			h.track(c.Key)
		}
	}
	versions := map[int]int64{}
	for _, c := range changes {
		s := m.state(c)
		if c.New == Absent && s.acked == never {
			h.Unmatched++
		}
		if c.Key == All {
			for key, t := range h.tracks {
				if cacheOf[key] == c.Cache {
					t.add(s)
				}
			}
			continue
		}
		t := h.tracks[c.Key]
		if err := h.step(t, c, caches[c.Cache] && len(crashes) > 0); err != nil {
			return nil, err
		}
		if c.Version != 0 {
			if c.Version <= versions[c.Key] {
				h.Falling++
			}
			versions[c.Key] = max(versions[c.Key], c.Version)
		}
		t.add(s)
	}
	for key, t := range h.tracks {
		if caches[cacheOf[key]] && len(crashes) > 0 {
			h.reset(t)
		}
		t.index()
	}
	return h, nil
}

func (h *History) track(key int) *track {
	t := h.tracks[key]
	if t == nil {
		t = &track{states: []state{{value: Absent, acked: never, from: math.MinInt64}}}
		h.tracks[key] = t
	}
	return t
}

// step checks that a change begins where the one before it ended. After a
// crash a key of an UNLOGGED cache is absent without an entry in the ledger.
func (h *History) step(t *track, c Change, crashed bool) error {
	last := t.states[len(t.states)-1].value
	switch {
	case c.Old == last:
	case c.Old == Absent && crashed:
		h.reset(t)
	default:
		return fmt.Errorf("entry %d of the ledger replaces %d in %s, which held %d", c.Number, c.Old, KeyName(c.Key), last)
	}
	return nil
}

// reset notes that the key may have vanished in a crash. Nobody acknowledged
// it, so it makes no read wrong.
func (h *History) reset(t *track) {
	last := t.states[len(t.states)-1]
	if last.value != Absent {
		h.Resets++
		t.add(state{value: Absent, acked: never, from: last.from})
	}
}

func (t *track) add(s state) { t.states = append(t.states, s) }

// index prepares a track for questions.
func (t *track) index() {
	t.place, t.ownAcks = map[int64]int{}, map[int][]ack{}
	for i, s := range t.states {
		if s.value == Absent {
			t.absent = append(t.absent, i)
		} else {
			t.place[s.value] = i
		}
		if s.acked != never {
			t.acks = append(t.acks, ack{s.acked, int64(i), s.process})
		}
	}
	byTime := func(a, b ack) int { return cmp.Compare(a.at, b.at) }
	slices.SortStableFunc(t.acks, byTime)
	for _, a := range t.acks {
		t.ownAcks[a.process] = append(t.ownAcks[a.process], a)
	}
	rise(t.acks)
	for _, own := range t.ownAcks {
		rise(own)
	}
	// What may be read by a time: the earliest start of a state or a later one.
	for i := len(t.states) - 2; i >= 0; i-- {
		t.states[i].from = min(t.states[i].from, t.states[i+1].from)
	}
}

// rise makes the place of each acknowledgement the highest up to its time.
func rise(acks []ack) {
	for i := 1; i < len(acks); i++ {
		acks[i].place = max(acks[i].place, acks[i-1].place)
	}
}
