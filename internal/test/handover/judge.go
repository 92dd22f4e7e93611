package handover

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"time"
)

// Rule is a promise that can be broken.
type Rule string

// The promises.
const (
	Twice Rule = "an element was delivered twice"
	Lost  Rule = "an element was lost, and no connection with it"
	Moved Rule = "an element is not in the list to which BLMOVE moved it"
	Ghost Rule = "an element is there that was never pushed, or whose push was refused"
	Order Rule = "a client was served before one that has waited longer on the same server"

	// Asleep is not judged from the ledger: it needs a look at who waits at the end.
	Asleep Rule = "a client waits, and an element was pushed for it"
)

// linger is Ledger.Linger by default.
const linger = time.Second

// Verdict is what a ledger shows.
type Verdict struct {
	Pushed, Delivered int
	Refused, Unknown  int // of those pushed, elements whose push was refused, or ended without an answer
	Compared          int // pairs of waits of which the order was judged
	Excused           int // elements lost with their own connection
	Broken            map[Rule][]string
}

// Violations is the number of broken promises.
func (v *Verdict) Violations() (n int) {
	for _, sentences := range v.Broken {
		n += len(sentences)
	}
	return n
}

func (v *Verdict) add(rule Rule, format string, args ...any) {
	v.Broken[rule] = append(v.Broken[rule], fmt.Sprintf(format, args...))
}

// Judge compares what was noted with what the keys hold at the end. No client may be at
// work any more.
func (l *Ledger) Judge(census Census) *Verdict {
	l.mu.Lock()
	defer l.mu.Unlock()
	v := &Verdict{Broken: make(map[Rule][]string)}
	all := l.elements(census)
	var lost []*element
	for _, e := range all {
		v.Delivered += len(e.delivered)
		if e.push == nil {
			v.add(Ghost, "%s was never pushed", e.name)
			continue
		}
		v.Pushed++
		switch e.push.Outcome {
		case Refused:
			v.Refused++
		case Unknown:
			v.Unknown++
		}
		if l.judge(v, e) {
			lost = append(lost, e)
		}
	}
	l.excuse(v, lost, latestPops(all))
	l.order(v, all)
	return v
}

// judge looks at one element and reports whether it is lost.
func (l *Ledger) judge(v *Verdict, e *element) (lost bool) {
	taken, removed, perhaps := 0, 0, false // deliveries for good, and confirmed and possible removals
	for _, w := range e.delivered {
		if w.To == "" {
			taken++
		}
	}
	for _, r := range e.removals {
		switch {
		case r.Outcome == Unknown:
			perhaps = true
		case r.Outcome == Done && r.Found:
			removed++
		case r.Outcome == Done:
			v.add(Moved, "%s was delivered by %v, and LREM did not find it", e.name, e.delivered)
		}
	}
	copies := taken + removed + len(e.in)
	switch {
	case copies > 1 || len(e.delivered) > 1:
		v.add(Twice, "%s: delivered %v, removed %d times, and at the end in %q", e.name, e.delivered, removed, e.in)
	case e.push.Outcome == Refused && copies+len(e.delivered) > 0:
		v.add(Ghost, "the push of %s was refused: delivered %v, and at the end in %q", e.name, e.delivered, e.in)
	case len(e.delivered) == 1 && len(e.in) == 1 && e.in[0] != e.delivered[0].To:
		v.add(Moved, "%s was delivered by %v and is in %s", e.name, e.delivered[0], e.in[0])
	case copies == 0 && len(e.delivered) == 1 && !perhaps:
		v.add(Moved, "%s was delivered by %v and is nowhere", e.name, e.delivered[0])
	case copies == 0 && len(e.delivered) == 0:
		return e.push.Outcome == Done
	}
	return false
}

// excuse finds for each lost element a wait of its own whose connection ended, and which
// can have taken it: as many elements as possible, each with another wait.
func (l *Ledger) excuse(v *Verdict, lost []*element, latest func(*element) time.Duration) {
	var ended []*Wait
	for i := range l.waits {
		if w := &l.waits[i]; w.Outcome == Unknown && w.To == "" {
			ended = append(ended, w)
		}
	}
	with := make(map[*Wait]*element)
	var find func(e *element, seen map[*Wait]bool) bool
	find = func(e *element, seen map[*Wait]bool) bool {
		for _, w := range ended {
			if seen[w] || !slices.Contains(w.Keys, e.push.Key) || e.push.Began > w.Ended+cmp.Or(l.Linger, linger) || w.Began > latest(e) {
				continue
			}
			seen[w] = true
			if other := with[w]; other == nil || find(other, seen) {
				with[w] = e
				return true
			}
		}
		return false
	}
	for _, e := range lost {
		if find(e, make(map[*Wait]bool)) {
			v.Excused++
			continue
		}
		v.add(Lost, "%s of %s, pushed from %v to %v, was never delivered and is nowhere", e.name, e.push.Key, e.push.Began, e.push.Ended)
	}
}

// latestPops returns when an element was popped, at the latest: those behind it in the
// line of its key were delivered later.
func latestPops(all []*element) func(*element) time.Duration {
	type pop struct{ pushed, earliest time.Duration } // the earliest delivery of this element and those behind it
	lines := make(map[string][]pop)
	for _, e := range slices.Backward(all) { // they are in the order of their pushes
		if e.push == nil || len(e.delivered) == 0 {
			continue
		}
		line, earliest := lines[e.push.Key], e.delivered[0].Ended
		if n := len(line); n > 0 {
			earliest = min(earliest, line[n-1].earliest)
		}
		lines[e.push.Key] = append(line, pop{e.push.Began, earliest})
	}
	return func(e *element) time.Duration {
		line := lines[e.push.Key]
		i, _ := slices.BinarySearchFunc(line, e.push.Ended, func(p pop, at time.Duration) int { return cmp.Compare(at, p.pushed) })
		if i == 0 { // nothing is behind it
			return math.MaxInt64
		}
		return line[i-1].earliest
	}
}

// order compares each delivery with the waits that were in line before it. Both clients
// must have been in line before the element was pushed: who comes later may find it
// before a server on which it was not pushed knows of it.
func (l *Ledger) order(v *Verdict, all []*element) {
	elements := make(map[string]*element, len(all))
	for _, e := range all {
		elements[e.name] = e
	}
	waits := make([]*Wait, len(l.waits))
	for i := range l.waits {
		waits[i] = &l.waits[i]
	}
	slices.SortFunc(waits, func(a, b *Wait) int { return int(a.Began - b.Began) })
	var active []*Wait // those that began earlier and have not ended
	for _, w := range waits {
		active = slices.DeleteFunc(active, func(a *Wait) bool { return a.Ended < w.Began })
		if e := elements[w.Element]; w.Outcome == Done && w.InLine != 0 && e.push != nil && e.push.Outcome == Done && e.push.Began > w.InLine {
			for _, longer := range active {
				l.compare(v, longer, w, e, elements)
			}
		}
		active = append(active, w)
	}
}

// compare judges a wait that was served with e beside one that has waited longer.
func (l *Ledger) compare(v *Verdict, longer, w *Wait, e *element, elements map[string]*element) {
	if longer.Server != w.Server || longer.InLine == 0 || longer.InLine > w.Began || !slices.Contains(longer.Keys, w.Key) {
		return
	}
	switch {
	case longer.Outcome == Done && longer.Key == w.Key:
		other := elements[longer.Element]
		if other.push == nil {
			return
		}
		v.Compared++
		if e.before(other) && !longer.perhapsHeld(w, elements) {
			v.add(Order, "%v was served with %s, and %v, which has waited longer, with %s later", w, e.name, longer, other.name)
		}
	case longer.Outcome == Empty && longer.Deadline > w.Ended:
		v.Compared++
		if !longer.perhapsHeld(w, elements) {
			v.add(Order, "%v was served with %s, and %v, which waited longer, with nothing", w, e.name, longer)
		}
	}
}

// perhapsHeld reports whether a push to another key of the wait was under way when other
// was served. It may have served the wait first, and then failed or run again: others pass
// the wait in the meantime.
func (w *Wait) perhapsHeld(other *Wait, elements map[string]*element) bool {
	for _, e := range elements {
		p := e.push
		if p != nil && p.Key != other.Key && slices.Contains(w.Keys, p.Key) && p.Began < other.Ended && p.Ended > w.InLine {
			return true
		}
	}
	return false
}

// String names a wait in a sentence.
func (w *Wait) String() string {
	return fmt.Sprintf("[wait on %s for %q from %v to %v, in line at %v]", w.Server, w.Keys, w.Began, w.Ended, w.InLine)
}
