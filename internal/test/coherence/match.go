package coherence

import "math"

// matcher finds the write that made an entry of the ledger.
type matcher struct {
	values  map[int64]Write
	tags    map[int64]Write
	deletes map[int][]Write // without a tag, by key
	all     map[int][]Write // the same, of whole caches
	ahead   int64           // nanoseconds of the monotonic clock less those of the calendar
}

func newMatcher(writes []Write) *matcher {
	m := &matcher{values: map[int64]Write{}, tags: map[int64]Write{}, deletes: map[int][]Write{}, all: map[int][]Write{}, ahead: math.MinInt64}
	for _, w := range writes {
		// A process that is stopped between the two clocks takes it for less.
		m.ahead = max(m.ahead, w.Sent-w.SentReal*1000)
		switch {
		case w.Value != Absent:
			m.values[w.Value] = w
		case w.Tag != 0:
		case w.Key == All:
			m.all[w.Cache] = append(m.all[w.Cache], w)
		default:
			m.deletes[w.Key] = append(m.deletes[w.Key], w)
		}
		if w.Tag != 0 {
			m.tags[w.Tag] = w
		}
	}
	return m
}

// slack is by how much the calendar may have been corrected during a run, in
// microseconds.
const slack = 20_000

// state is what an entry of the ledger left behind. A deletion that may be that
// of several calls counts as not acknowledged.
func (m *matcher) state(c Change) state {
	s := state{value: c.New, acked: never, from: m.monotonic(c.At), at: c.At}
	w, found := m.values[c.New], c.New != Absent
	if c.New == Absent {
		w, found = m.delete(c)
	}
	if found && w.Acked != 0 {
		s.acked, s.process = w.Acked, w.Process
	}
	return s
}

// monotonic is a time of the calendar by the other clock, or a little earlier.
func (m *matcher) monotonic(at int64) int64 { return (at-slack)*1000 + m.ahead }

func (m *matcher) delete(c Change) (found Write, only bool) {
	if c.Tag != 0 {
		w, ok := m.tags[c.Tag]
		return w, ok
	}
	candidates := m.all[c.Cache]
	if c.Key != All {
		candidates = append(candidates[:len(candidates):len(candidates)], m.deletes[c.Key]...)
	}
	n := 0
	for _, w := range candidates {
		// One without an acknowledgement may come later.
		if w.SentReal-slack <= c.At && (w.AckedReal == 0 || c.At <= w.AckedReal+slack) {
			found = w
			n++
		}
	}
	return found, n == 1
}
