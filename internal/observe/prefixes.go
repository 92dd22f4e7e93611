package observe

import (
	"math/bits"
	"math/rand/v2"
	"slices"
	"sync"
	"time"
)

// Bounds of Prefixes.
const (
	DefaultSample = 64  // one read in so many is counted
	MaxPrefixes   = 100 // of one cache are counted at a time
	MaxPrefix     = 64  // bytes; keys without a separator among these have no prefix
)

// Prefixes counts reads by what their keys begin with, for each cache. It is safe for
// concurrent use. A nil *Prefixes counts nothing.
type Prefixes struct {
	sample uint32

	mu     sync.Mutex
	caches map[string]*Reads
}

// NewPrefixes counts one read in sample, rounded up to a power of two, at most 65,536. 0
// or less returns nil, which counts none.
func NewPrefixes(sample int) *Prefixes {
	if sample <= 0 {
		return nil
	}
	sample = 1 << bits.Len(uint(min(sample, 1<<16)-1))
	return &Prefixes{sample: uint32(sample), caches: make(map[string]*Reads)}
}

// Cache returns what counts the reads of a cache; nil if p is.
func (p *Prefixes) Cache(name string) *Reads {
	if p == nil {
		return nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	r := p.caches[name]
	if r == nil {
		r = &Reads{sample: p.sample, since: time.Now()}
		p.caches[name] = r
	}
	return r
}

// Top returns the prefixes of a cache whose keys are read most, at most MaxPrefixes, the
// first one most; the zero value if nothing was counted.
func (p *Prefixes) Top(cache string) Top {
	if p == nil {
		return Top{}
	}
	p.mu.Lock()
	r := p.caches[cache]
	p.mu.Unlock()
	if r == nil {
		return Top{Sample: int(p.sample), Prefixes: []Prefix{}}
	}
	return r.top()
}

// Top is what was read of a cache. All figures but Sample are estimates: what the sample
// has, times Sample.
type Top struct {
	Since    time.Time
	Sample   int // one read in so many was counted
	Reads    uint64
	Prefixes []Prefix
}

// Prefix is the reads of the keys with one prefix. Hits and Misses are those since it was
// counted; before, it may have had up to Uncounted more. "" are keys without a prefix.
type Prefix struct {
	Prefix                  string
	Hits, Misses, Uncounted uint64
}

// Reads counts the reads of one cache. It keeps MaxPrefixes prefixes by the space-saving
// algorithm (Metwally, Agrawal, El Abbadi 2005): a prefix that is new takes the place of
// the one that has the fewest reads, and inherits their number as its error. A prefix
// that has more than a hundredth of all reads is always among them.
type Reads struct {
	sample uint32
	since  time.Time

	mu     sync.Mutex
	reads  uint64
	counts map[string]*count
	heap   []*count // the one with the fewest reads first
}

// count is that of one prefix.
type count struct {
	prefix            string
	at                int // its place in the heap
	total             uint64
	hits, misses, err uint64
}

// Note counts a read of a key, or leaves it out, as the sample wants. It keeps nothing of
// key. A nil *Reads counts nothing.
func (r *Reads) Note(key []byte, hit bool) {
	if r != nil && rand.Uint32()&(r.sample-1) == 0 {
		r.add(key, hit)
	}
}

// NoteAll is Note for n reads that came together. read returns the i-th.
func (r *Reads) NoteAll(n int, read func(i int) (key []byte, hit bool)) {
	if r == nil {
		return
	}
	for i := int(rand.Uint32() & (r.sample - 1)); i < n; i += int(r.sample) { // one random number for all
		r.add(read(i))
	}
}

func (r *Reads) add(key []byte, hit bool) {
	prefix := prefixOf(key)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.reads++
	c := r.counts[string(prefix)]
	switch {
	case c != nil:
	case len(r.heap) < MaxPrefixes:
		if r.counts == nil {
			r.counts = make(map[string]*count, MaxPrefixes)
		}
		c = &count{prefix: string(prefix), at: len(r.heap)}
		r.heap = append(r.heap, c)
		r.counts[c.prefix] = c
		r.up(c)
	default:
		c = r.heap[0]
		delete(r.counts, c.prefix)
		*c = count{prefix: string(prefix), total: c.total, err: c.total}
		r.counts[c.prefix] = c
	}
	c.total++
	if hit {
		c.hits++
	} else {
		c.misses++
	}
	r.down(c)
}

// prefixOf is a key up to and including its first ':' or '/', empty if there is none
// within MaxPrefix bytes.
func prefixOf(key []byte) []byte {
	for i, c := range key[:min(len(key), MaxPrefix)] {
		if c == ':' || c == '/' {
			return key[:i+1]
		}
	}
	return nil
}

// up moves a count towards the root until none above it has more.
func (r *Reads) up(c *count) {
	for c.at > 0 {
		above := r.heap[(c.at-1)/2]
		if above.total <= c.total {
			return
		}
		r.exchange(above, c)
	}
}

// down moves a count away from the root until none below it has fewer.
func (r *Reads) down(c *count) {
	for {
		child := 2*c.at + 1
		if child >= len(r.heap) {
			return
		}
		if right := child + 1; right < len(r.heap) && r.heap[right].total < r.heap[child].total {
			child = right
		}
		if r.heap[child].total >= c.total {
			return
		}
		r.exchange(c, r.heap[child])
	}
}

func (r *Reads) exchange(a, b *count) {
	a.at, b.at = b.at, a.at
	r.heap[a.at], r.heap[b.at] = a, b
}

func (r *Reads) top() Top {
	scale := uint64(r.sample)
	r.mu.Lock()
	defer r.mu.Unlock()
	t := Top{Since: r.since, Sample: int(r.sample), Reads: r.reads * scale, Prefixes: make([]Prefix, 0, len(r.heap))}
	for _, c := range slices.SortedFunc(slices.Values(r.heap), busier) {
		t.Prefixes = append(t.Prefixes, Prefix{Prefix: c.prefix, Hits: c.hits * scale, Misses: c.misses * scale, Uncounted: c.err * scale})
	}
	return t
}

// busier orders counts: those with more reads that are certain first.
func busier(a, b *count) int {
	switch certain, other := a.total-a.err, b.total-b.err; {
	case certain > other:
		return -1
	case certain < other:
		return 1
	case a.prefix < b.prefix:
		return -1
	}
	return 1
}
