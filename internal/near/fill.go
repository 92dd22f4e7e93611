package near

import (
	"bytes"

	"github.com/maypok86/otter/v2"
)

// Token is the state of memory before a read.
type Token struct {
	slot  uint32
	state state
	gen   uint32
	own   uint32
}

// Begin is called before a read is sent. Several callers may share the read, if
// each of them called Begin before it was sent.
func (c *Cache) Begin(hash int64) Token {
	slot := slotOf(c.id, hash)
	return Token{slot: slot, state: c.m.slots.load(slot), gen: c.m.view.Load().gen, own: c.gen.Load()}
}

// Fill is called with the answer of a read, before its caller is answered.
// Start is that of the server that answered. Value must not change any more. A
// read that failed needs no Fill; one whose answer shall not be kept needs Bump.
func (c *Cache) Fill(t Token, key []byte, e Entry, start int64) {
	if !c.m.view.Load().lit {
		// Nothing can be valid, and a read that begins after the first poll
		// will see what this one saw.
		c.m.counts.refused[refusedUnlit].Add(1)
		return
	}
	f := c.filling(t, key, e, start)
	c.m.entries.Compute(f.key, f.decide)
	f.count()
}

// Wrote is called instead of the second Bump for a write of this process, with
// what it left under the key. Begin was called after the first Bump and before the
// write was sent. When Wrote is called, no other write of this process has its
// place behind this one, other than such as have yet to call Bump for the first
// time. Start and Value are as for Fill.
func (c *Cache) Wrote(t Token, key []byte, e Entry, start int64) {
	if !c.m.view.Load().lit {
		c.m.slots.bump(t.slot)
		c.m.counts.refused[refusedUnlit].Add(1)
		return
	}
	f := c.filling(t, key, e, start)
	c.m.entries.Compute(f.key, f.replace)
	f.count()
}

func (c *Cache) filling(t Token, key []byte, e Entry, start int64) *filling {
	f := &filling{c: c, t: t, key: entryKey{c.id, string(key)}, start: start}
	f.item = &item{
		value: e.Value, version: e.Version, kind: e.Kind, absent: e.Absent,
		slot: t.slot, mark: t.state.mark(), gen: t.gen, own: t.own,
	}
	if !e.Expires.IsZero() {
		f.item.expires = c.m.instant(e.Expires)
	}
	return f
}

// filling is an answer on its way into memory.
type filling struct {
	c     *Cache
	t     Token
	key   entryKey
	start int64
	item  *item
	why   refusal
	put   bool // item is in memory now
}

// decide takes the step from one state of the slot to the next, under the lock
// of the key. Every answer counts in the slot, kept or not: a read that began
// before it may be kept only if it has the same answer. Since says how far back
// all answers for the key are known to be the same; numbers may wrap.
func (f *filling) decide(old *item, found bool) (*item, otter.ComputeOp) {
	slots, now := f.c.m.slots, f.c.m.clock()
	for {
		s := slots.load(f.t.slot)
		v := f.c.m.view.Load()
		same := found && sameAnswer(old, f.item)
		again := same && old.valid(f.c, v) && !old.expired(now)
		f.why = f.refusal(v, s, now)
		f.item.since = s.answers()
		if same {
			f.item.since = old.since
		}
		if f.why == 0 && s.answers()-f.item.since < s.answers()-f.t.state.answers() {
			f.why = refusedOvertaken
		}
		if !slots.swap(f.t.slot, s, s.answered()) {
			continue
		}
		switch {
		case again:
			f.why = refusedSame
			return nil, otter.CancelOp
		case f.why == 0 || f.why == refusedOvertaken:
			f.item.kept = f.why == 0
			f.put = true
			return f.item, otter.WriteOp
		}
		return nil, otter.InvalidateOp
	}
}

// replace is decide for a write. The step invalidates the slot whatever comes of
// it; what the write left carries the mark that this gives.
func (f *filling) replace(*item, bool) (*item, otter.ComputeOp) {
	slots, now := f.c.m.slots, f.c.m.clock()
	for {
		s := slots.load(f.t.slot)
		f.why = f.refusal(f.c.m.view.Load(), s, now)
		if f.why == 0 && s.answers() != f.t.state.answers() {
			f.why = refusedOvertaken
		}
		next := s.answered().bumped()
		if !slots.swap(f.t.slot, s, next) {
			continue
		}
		if f.why != 0 {
			return nil, otter.InvalidateOp
		}
		f.item.since, f.item.mark = s.answers(), next.mark()
		f.item.kept, f.put = true, true
		return f.item, otter.WriteOp
	}
}

// refusal says why the answer may not be kept in a state of the slot, apart
// from the answers of other reads.
func (f *filling) refusal(v *view, s state, now Instant) refusal {
	switch {
	case f.t.gen != v.gen:
		return refusedReset
	case f.start != v.start:
		return refusedServer
	case v.stranded && f.c.durable.Load():
		return refusedStranded
	case s.parked() || f.t.own%2 == 1: // see ParkAll
		return refusedParked
	case f.item.expired(now):
		return refusedExpired
	case f.item.weight(f.key) > f.c.m.bytes.Load()/8:
		return refusedLarge
	case f.t.own != f.c.gen.Load() || f.t.state.mark() != s.mark():
		return refusedOvertaken
	}
	return 0
}

func sameAnswer(a, b *item) bool {
	return a.absent == b.absent && a.version == b.version && a.kind == b.kind && bytes.Equal(a.value, b.value)
}

func (f *filling) count() {
	switch {
	case f.why == 0:
		f.c.m.counts.fills.Add(1)
	default:
		f.c.m.counts.refused[f.why].Add(1)
	}
	if f.put && f.item.absent {
		f.c.m.limitAbsents(f.key, f.item)
	}
}
