package handover

import (
	"slices"
	"sync"
	"time"
)

// Outcome is how a command ended.
type Outcome int

const (
	// Done is a command that was answered with what it did.
	Done Outcome = iota
	// Empty is a wait that ended because its time was over.
	Empty
	// Refused is an error that says that nothing was done.
	Refused
	// Unknown is an error or an end of the connection that says nothing.
	Unknown
)

// Push is one command of a producer. Times count from the start of the run.
type Push struct {
	Key          string
	Elements     []string // in the order in which they are to be delivered
	Began, Ended time.Duration
	Outcome      Outcome // not Empty
}

// Wait is one command of a consumer, or what it did to one of several elements.
type Wait struct {
	Server       string // and its life: a server that was killed and started again is another
	Keys         []string
	To           string // the list to which BLMOVE moves the element; "": the element is gone from the keys
	Began, Ended time.Duration
	InLine       time.Duration // when the server was first seen to let it wait; 0: it was not seen
	Deadline     time.Duration // when the command was to end empty, at the earliest; 0: never
	Outcome      Outcome
	Key, Element string // if Done
}

// Removal is a consumer's LREM of an element that it has moved.
type Removal struct {
	Element string
	Outcome Outcome // not Empty
	Found   bool    // if Done
}

// Ledger is what the clients of a run noted. It may be used concurrently.
type Ledger struct {
	// Linger is how long after the end of its connection a server may still serve a client:
	// until it has noticed the end, and a statement that it had sent has ended. Default 1 s.
	Linger time.Duration

	mu        sync.Mutex
	pushes    []Push
	waits     []Wait
	removals  []Removal
	delivered int
}

// Push notes a command of a producer.
func (l *Ledger) Push(p Push) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.pushes = append(l.pushes, p)
}

// Wait notes a command of a consumer.
func (l *Ledger) Wait(w Wait) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.waits = append(l.waits, w)
	if w.Outcome == Done {
		l.delivered++
	}
}

// Remove notes an LREM.
func (l *Ledger) Remove(r Removal) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.removals = append(l.removals, r)
}

// Delivered is the number of elements that consumers were answered with.
func (l *Ledger) Delivered() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.delivered
}

// Census is what the keys hold when all is quiet: elements by key.
type Census map[string][]string

// element is all that is known of one.
type element struct {
	name      string
	push      *Push
	place     int // in the push
	delivered []*Wait
	removals  []Removal
	in        []string // keys that hold it at the end, once for each time
}

// elements puts together what is known of each, in the order of the pushes.
func (l *Ledger) elements(census Census) (all []*element) {
	byName := make(map[string]*element)
	find := func(name string) *element {
		e := byName[name]
		if e == nil {
			e = &element{name: name}
			byName[name] = e
			all = append(all, e)
		}
		return e
	}
	slices.SortFunc(l.pushes, func(a, b Push) int { return int(a.Began - b.Began) })
	for i := range l.pushes {
		for place, name := range l.pushes[i].Elements {
			e := find(name)
			e.push, e.place = &l.pushes[i], place
		}
	}
	for i := range l.waits {
		if w := &l.waits[i]; w.Outcome == Done {
			e := find(w.Element)
			e.delivered = append(e.delivered, w)
		}
	}
	for _, r := range l.removals {
		e := find(r.Element)
		e.removals = append(e.removals, r)
	}
	for key, names := range census {
		for _, name := range names {
			e := find(name)
			e.in = append(e.in, key)
		}
	}
	return all
}

// before reports whether e certainly stood before other in the line of their key: it was
// pushed by the same command and comes first there, or that other's command began later
// than its own ended.
func (e *element) before(other *element) bool {
	if e.push == other.push {
		return e.place < other.place
	}
	return e.push.Outcome == Done && e.push.Ended < other.push.Began
}
