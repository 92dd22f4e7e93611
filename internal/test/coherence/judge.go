package coherence

import (
	"cmp"
	"container/heap"
	"fmt"
	"maps"
	"math"
	"slices"
	"sort"
	"time"
)

// Rule is a promise that a read can break.
type Rule string

// The rules.
const (
	// Stale: a change of the key was acknowledged more than the bound before
	// the read began, and the read answers what was before it.
	Stale Rule = "older than the bound"
	// Kept: a client that keeps copies answers one which the server has told it
	// to drop. Own writes of its server are told before they are acknowledged.
	Kept Rule = "kept in spite of an invalidation"
	// Late: the same of an answer of PostgreSQL, without the bound.
	Late Rule = "older than the read itself"
	// OwnWrite: the process's own write was acknowledged before the read began.
	OwnWrite Rule = "own write not read"
	// Backwards: an earlier read of the process has answered a later state.
	Backwards Rule = "went backwards"
	// Uncommitted: no transaction that committed has written the value.
	Uncommitted Rule = "never committed"
)

// Verdict is what Judge found.
type Verdict struct {
	Reads  int
	Hits   int // reads from memory
	Absent int // hits that say that the key is absent
	Close  int // hits within three bounds after a change by another process was acknowledged

	// Ages has, for each copy that a client still answered when a write of its key was
	// acknowledged, how long it went on, by process.
	Ages map[int][]time.Duration

	Broken map[Rule]int
	Worst  map[Rule]time.Duration // by how much the worst was too old
	First  []string               // a few of those that broke a rule, in words
}

// Violations is how many reads broke a rule, each rule counted.
func (v *Verdict) Violations() (n int) {
	for _, count := range v.Broken {
		n += count
	}
	return n
}

// String is the verdict in one line.
func (v *Verdict) String() string {
	text := fmt.Sprintf("%d reads, %d hits (%d absent, %d close behind a change by another process)", v.Reads, v.Hits, v.Absent, v.Close)
	for _, rule := range []Rule{Stale, Kept, Late, OwnWrite, Backwards, Uncommitted} {
		if n := v.Broken[rule]; n > 0 {
			text += fmt.Sprintf("; %d %s, the worst by %v", n, rule, v.Worst[rule].Round(time.Millisecond))
		}
	}
	return text
}

// Judge says which reads broke a rule. The moment at which a read was decided
// lies between its begin and its end, so each rule takes the one that excuses
// it: a read that was stopped on its way breaks none.
func (h *History) Judge(reads []Read, bound time.Duration) *Verdict {
	v := &Verdict{Ages: map[int][]time.Duration{}, Broken: map[Rule]int{}, Worst: map[Rule]time.Duration{}}
	reads = slices.Clone(reads)
	slices.SortFunc(reads, func(a, b Read) int {
		return cmp.Or(cmp.Compare(a.Process, b.Process), cmp.Compare(a.Key, b.Key), cmp.Compare(a.Begin, b.Begin))
	})
	unwritten := &track{states: []state{{value: Absent, acked: never, from: math.MinInt64}}}
	unwritten.index()
	for len(reads) > 0 {
		n := sort.Search(len(reads), func(i int) bool {
			return reads[i].Process != reads[0].Process || reads[i].Key != reads[0].Key
		})
		t := h.tracks[reads[0].Key]
		if t == nil {
			t = unwritten
		}
		writer := cmp.Or(reads[0].Server, reads[0].Process)
		j := judge{track: t, own: t.ownAcks[writer], bound: int64(bound), verdict: v, ages: map[int64]time.Duration{}}
		for _, r := range reads[:n] {
			j.read(r)
		}
		v.Ages[reads[0].Process] = slices.AppendSeq(v.Ages[reads[0].Process], maps.Values(j.ages))
		reads = reads[n:]
	}
	return v
}

// judge goes through the reads of one key by one process, by their begin.
type judge struct {
	*track
	own     []ack
	bound   int64
	verdict *Verdict

	seen  int64 // the place that a read has shown which ended before this one began
	after ends  // reads that had not

	ages map[int64]time.Duration // of copies, by the place of their state
}

func (j *judge) read(r Read) {
	for len(j.after) > 0 && j.after[0].at < r.Begin {
		j.seen = max(j.seen, heap.Pop(&j.after).(ack).place)
	}
	j.count(r)
	last := j.last(r)
	if last < 0 {
		j.broken(Uncommitted, r, 0, 0)
		return
	}
	limit, rule, told := r.Begin-j.bound, Stale, r.Begin
	switch {
	case r.Server != 0:
		limit, rule, told = r.Told, Kept, r.Fence
		j.age(r, last)
	case r.Source == Database:
		limit, rule = r.Begin, Late
	}
	least := place(j.acks, limit)
	if last < least && !j.underWay(r) {
		j.broken(rule, r, last, limit)
	}
	own := place(j.own, told)
	if last < own {
		j.broken(OwnWrite, r, last, told)
	}
	if last < j.seen {
		j.broken(Backwards, r, last, r.Begin)
	}
	heap.Push(&j.after, ack{at: r.End, place: j.first(last, max(least, own, j.seen))})
}

// underWay reports whether the server of a client may have been about to tell it because of a write of its own: then
// it tells of no other write of the key.
func (j *judge) underWay(r Read) bool {
	return r.Server != 0 && slices.ContainsFunc(j.writes, func(w Write) bool {
		return w.Process == r.Server && w.Sent <= r.Begin && r.Fence <= w.Acked
	})
}

// age notes how long a copy has gone on.
func (j *judge) age(r Read, last int64) {
	if replaced := j.replaced(last, false, 0); r.Source == Memory && replaced < r.Begin {
		j.ages[last] = max(j.ages[last], time.Duration(r.Begin-replaced))
	}
}

func (j *judge) count(r Read) {
	j.verdict.Reads++
	if r.Source != Memory {
		return
	}
	j.verdict.Hits++
	if r.Value == Absent {
		j.verdict.Absent++
	}
	i := sort.Search(len(j.acks), func(i int) bool { return j.acks[i].at > r.Begin }) - 1
	for ; i >= 0 && j.acks[i].at > r.Begin-3*j.bound; i-- {
		if j.acks[i].process != r.Process {
			j.verdict.Close++
			return
		}
	}
}

// last returns the last state that the answer may be, or -1.
func (j *judge) last(r Read) int64 {
	if r.Value != Absent {
		i, found := j.place[r.Value]
		if !found {
			return -1
		}
		return int64(i)
	}
	n := sort.Search(len(j.absent), func(i int) bool { return j.states[j.absent[i]].from > r.End })
	return int64(j.absent[n-1])
}

// first returns the first state that the answer may be: a key is absent more
// than once, and a later read is held to no more than is certain.
func (j *judge) first(last, least int64) int64 {
	if j.states[last].value != Absent {
		return last
	}
	n := sort.SearchInts(j.absent, int(least))
	if n < len(j.absent) {
		return min(last, int64(j.absent[n]))
	}
	return last
}

// place returns the last state whose write was acknowledged by a time.
func place(acks []ack, by int64) int64 {
	n := sort.Search(len(acks), func(i int) bool { return acks[i].at > by })
	if n == 0 {
		return 0
	}
	return acks[n-1].place
}

// examples is how many reads a verdict describes.
const examples = 10

func (j *judge) broken(rule Rule, r Read, last, limit int64) {
	v := j.verdict
	v.Broken[rule]++
	over := int64(0)
	if rule == Stale || rule == Kept || rule == Late || rule == OwnWrite {
		over = limit - j.replaced(last, rule == OwnWrite, cmp.Or(r.Server, r.Process))
	}
	v.Worst[rule] = max(v.Worst[rule], time.Duration(over))
	if len(v.First) < examples {
		text := fmt.Sprintf("%s: process %d read %d in %s at %d to %d ns, state %d of %d (an earlier read had shown state %d), too old by %v",
			rule, r.Process, r.Value, KeyName(r.Key), r.Begin, r.End, last, len(j.states)-1, j.seen, time.Duration(over))
		if r.Server != 0 {
			text += fmt.Sprintf(", told by server %d of what was acknowledged at %d ns, its last command at %d ns", r.Server, r.Told, r.Fence)
		}
		v.First = append(v.First, text)
	}
}

// replaced is when the first write after a state was acknowledged.
func (j *judge) replaced(last int64, own bool, process int) int64 {
	at := int64(never)
	for _, s := range j.states[last+1:] {
		if s.acked < at && (!own || s.process == process) {
			at = s.acked
		}
	}
	return at
}

// ends is a heap of reads by their end.
type ends []ack

func (e ends) Len() int           { return len(e) }
func (e ends) Less(i, k int) bool { return e[i].at < e[k].at }
func (e ends) Swap(i, k int)      { e[i], e[k] = e[k], e[i] }
func (e *ends) Push(x any)        { *e = append(*e, x.(ack)) }
func (e *ends) Pop() any {
	old := *e
	x := old[len(old)-1]
	*e = old[:len(old)-1]
	return x
}
