package lua

import "sync"

// Random is the source of math.random for all scripts of a server. As in Redis it goes on
// from one script to the next, and where a script calls math.randomseed, the next one goes
// on from there. Scripts that run at the same time get numbers of their own. It is safe for
// concurrent use.
type Random struct {
	mu sync.Mutex
	at random48
}

// NewRandom returns a source that begins at a state, of which 48 bits count.
func NewRandom(state uint64) *Random { return &Random{at: random48{state & random48Mask}} }

// Numbers returns what one script draws.
func (r *Random) Numbers() *Numbers { return &Numbers{random: r} }

// Numbers are those that one script draws. Each run of it gets the same ones.
type Numbers struct {
	random   *Random
	reserved bool
	start    random48 // where each run begins
	next     random48 // where the source goes on, if no other script has drawn meanwhile
	left     random48 // where the last run has ended
	used     bool     // the last run has drawn numbers or set a seed
	seeded   bool     // it has set a seed
}

// reservedNumbers is how many numbers belong to a script as long as it runs. It is odd:
// the low bits of the generator repeat after powers of two.
const reservedNumbers = 1<<32 - 5

// begin returns where a run begins.
func (n *Numbers) begin() random48 {
	if !n.reserved {
		r := n.random
		r.mu.Lock()
		defer r.mu.Unlock()
		n.start, n.next = r.at, r.at.skip(reservedNumbers)
		r.at, n.reserved = n.next, true
	}
	return n.start
}

// Keep says that the last run counts: the next script goes on where it has ended.
func (n *Numbers) Keep() {
	if !n.used {
		return
	}
	r := n.random
	r.mu.Lock()
	defer r.mu.Unlock()
	if n.seeded || r.at == n.next {
		r.at, n.next = n.left, n.left
	}
}

// skip returns the generator as it is n numbers later.
func (r random48) skip(n uint64) random48 {
	factor, add := uint64(random48Factor), uint64(random48Add)
	for ; n > 0; n >>= 1 {
		if n&1 != 0 {
			r.x = (r.x*factor + add) & random48Mask
		}
		add = (add*factor + add) & random48Mask
		factor = factor * factor & random48Mask
	}
	return r
}

// draws is what a run of a script has done with its numbers.
type draws struct {
	random48
	begun, seeded bool
}

// draw returns the next number of the run.
func (m *machine) draw() int32 {
	if d := &m.draws; !d.begun {
		d.begun = true
		if m.run.Numbers != nil {
			d.random48 = m.run.Numbers.begin()
		}
	}
	return m.draws.next()
}

// setSeed runs math.randomseed.
func (m *machine) setSeed(n int32) {
	m.draws.begun, m.draws.seeded = true, true
	m.draws.seed(n)
}

// beginDraws and endDraws are called where a run begins and ends.
func (m *machine) beginDraws() {
	m.draws = draws{}
	m.draws.seed(0)
}

func (m *machine) endDraws() {
	if n := m.run.Numbers; n != nil {
		n.left, n.used, n.seeded = m.draws.random48, m.draws.begun, m.draws.seeded
	}
}
