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
	at      int64 // when the ledger noted it, by the calendar
}

// track is the states of one key in their order.
type track struct {
	cache   int
	version int64 // the highest
	states  []state
	place   map[int64]int // value -> index in states
	absent  []int         // indexes of absent states
	acks    []ack         // of all processes, by time
	ownAcks map[int][]ack // of each process, by time
	writes  []Write       // that were acknowledged
}

// ack says that a write which made the state at place, or a later one, was
// acknowledged by a time.
type ack struct {
	at, place int64
	process   int
}

// History is the states of all keys in their order.
type History struct {
	tracks  map[int]*track
	matcher *matcher
	crashes []Crash

	Changes   int // entries of the ledger
	Unmatched int // deletions of which it is not known who made them
	Falling   int // versions that were not greater than an earlier one of their key
	Resets    int // times that a key vanished in a crash
}

// Crash is a time in which PostgreSQL crashed and recovered, in microseconds of
// the calendar.
type Crash struct {
	From, To int64
	Caches   []int // the UNLOGGED ones, which are empty afterwards
}

// Order puts the ledger and the writes together. It returns an error if the
// ledger does not fit together: then it proves nothing.
func Order(changes []Change, writes []Write, crashes []Crash) (*History, error) {
	m := newMatcher(writes)
	h := &History{tracks: map[int]*track{}, matcher: m, Changes: len(changes), crashes: crashes}
	slices.SortFunc(changes, func(a, b Change) int { return cmp.Compare(a.Number, b.Number) })
	for _, w := range writes {
		if w.Key == All {
			continue
		}
		t := h.track(w.Key, w.Cache)
		if w.Acked != 0 {
			t.writes = append(t.writes, w)
		}
	}
	for _, c := range changes {
		if c.Key != All {
			h.track(c.Key, c.Cache)
		}
	}
	for _, c := range changes {
		s := m.state(c)
		if c.New == Absent && s.acked == never {
			h.Unmatched++
		}
		for key, t := range h.tracks {
			if c.Key != key && (c.Key != All || c.Cache != t.cache) {
				continue
			}
			if err := h.step(t, c, s); err != nil {
				return nil, err
			}
		}
	}
	for _, t := range h.tracks {
		h.crashed(t, math.MaxInt64)
		t.index()
	}
	return h, nil
}

func (h *History) track(key, cache int) *track {
	if h.tracks[key] == nil {
		h.tracks[key] = &track{cache: cache, states: []state{{value: Absent, acked: never, from: math.MinInt64, at: math.MinInt64}}}
	}
	return h.tracks[key]
}

// step adds a state, and checks that it begins where the one before it ended.
func (h *History) step(t *track, c Change, s state) error {
	if c.Key == All || c.Old != t.last().value {
		h.crashed(t, c.At)
	}
	if c.Key != All && c.Old != t.last().value {
		return fmt.Errorf("entry %d of the ledger replaces %d in %s, which held %d", c.Number, c.Old, KeyName(c.Key), t.last().value)
	}
	if c.Version != 0 {
		if c.Version <= t.version {
			h.Falling++
		}
		t.version = max(t.version, c.Version)
	}
	t.states = append(t.states, s)
	return nil
}

// crashed adds the state in which a crash has left the key, if there was one
// since its last state: absent, without an entry in the ledger. Nobody
// acknowledged it, so it makes no read wrong.
func (h *History) crashed(t *track, before int64) {
	last := t.last()
	for _, crash := range h.crashes {
		if last.value != Absent && slices.Contains(crash.Caches, t.cache) && last.at <= crash.To && crash.From <= before {
			h.Resets++
			t.states = append(t.states, state{value: Absent, acked: never, from: max(last.from, h.matcher.monotonic(crash.From)), at: last.at})
			return
		}
	}
}

func (t *track) last() state { return t.states[len(t.states)-1] }

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
