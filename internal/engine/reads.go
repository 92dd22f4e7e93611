package engine

import (
	"math/rand/v2"
	"slices"
	"strings"
	"sync"

	"github.com/howdah/howdah/internal/statement"
)

// maxReads bounds the keys counted between two flushes, for each cache: with
// more, those that are read first, which the often read are likely to be.
const maxReads = 8192

// Reads counts reads by the hash of their key, in memory. No read writes.
type Reads struct {
	Policy string // of eviction, for which the reads are counted

	mu     sync.Mutex
	counts map[int64]int32
}

// note counts the keys of a request that were there.
func (n *Reads) note(r *statement.Request) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for hash := range r.Used() {
		if count, ok := n.counts[hash]; ok {
			n.counts[hash] = count + 1
		} else if len(n.counts) < maxReads {
			n.counts[hash] = 1
		}
	}
}

// hitSample is how many hits in memory one counted hit stands for: counting each
// would cost more than the hit.
const hitSample = 16

// noteHit counts a hit in memory.
func (n *Reads) noteHit(s *Set, key []byte) {
	if rand.Uint32()%hitSample != 0 {
		return
	}
	hash := s.Hash(key)
	n.mu.Lock()
	defer n.mu.Unlock()
	if count, ok := n.counts[hash]; ok || len(n.counts) < maxReads {
		n.counts[hash] = count + hitSample
	}
}

// Take empties the counts. The rows come in the order of their hashes.
func (n *Reads) Take() (hashes []int64, counts []int32) {
	n.mu.Lock()
	taken := n.counts
	n.counts = make(map[int64]int32)
	n.mu.Unlock()
	for hash := range taken {
		hashes = append(hashes, hash)
	}
	slices.Sort(hashes)
	for _, hash := range hashes {
		counts = append(counts, taken[hash])
	}
	return hashes, counts
}

// Reads returns the counts of reads since they were last taken, nil if the
// cache's policy needs none.
func (e *Engine) Reads() *Reads { return e.reads.Load() }

// Apply takes the budget of the cache as upkeep found it, and what the cache
// held then.
func (e *Engine) Apply(b Budget, entries, size int64) {
	counted := b.Limited() && (strings.HasSuffix(b.Policy, "-lru") || strings.HasSuffix(b.Policy, "-lfu"))
	switch old := e.reads.Load(); {
	case !counted:
		e.reads.Store(nil)
	case old == nil || old.Policy != b.Policy:
		e.reads.Store(&Reads{Policy: b.Policy, counts: make(map[int64]int32)})
	}
	e.Pressure.apply(b, entries, size)
	if b.Full != e.Table().Full {
		e.Forget()
	}
}

// Observe takes what a round of upkeep found that began when this process had
// written so many rows: what the cache holds, and whether something had to go.
func (e *Engine) Observe(b Budget, entries, size int64, evicting bool, written int64) {
	e.Pressure.observe(b, entries, size, evicting, written)
	if b.Policy == noEviction && (b.Share(entries, size) >= 1) != e.Table().Full {
		e.Forget()
	}
}

func (e *Engine) detach() {
	e.reads.Store(nil)
	e.Pressure.apply(Budget{}, 0, 0)
}
