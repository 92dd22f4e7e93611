package observe

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"unicode/utf8"
)

// MaxNamed is the most prefixes that Named counts.
const MaxNamed = 20

// Named counts reads by prefixes that somebody has named, for each cache: each read, not a
// sample. A key counts for the longest prefix that it begins with, and for no other. It is safe
// for concurrent use. A nil *Named counts nothing.
type Named struct {
	prefixes [][]byte // the longest ones first

	mu     sync.Mutex
	caches map[string]*NamedReads
}

// NewNamed counts reads by these prefixes; nil if there are none. The error is a sentence on
// the first one that is empty, longer than MaxPrefix, no UTF-8 or there twice, or says that
// there are more than MaxNamed.
func NewNamed(prefixes []string) (*Named, error) {
	if len(prefixes) == 0 {
		return nil, nil
	}
	if len(prefixes) > MaxNamed {
		return nil, fmt.Errorf("names %d prefixes; the most are %d, as each has series of its own for each cache", len(prefixes), MaxNamed)
	}
	n := &Named{caches: make(map[string]*NamedReads)}
	for i, prefix := range prefixes {
		switch {
		case prefix == "":
			return nil, fmt.Errorf("names an empty prefix, which every key begins with: leave it out, howdah_keys_total counts all keys")
		case len(prefix) > MaxPrefix:
			return nil, fmt.Errorf("names %.20q..., a prefix of %d bytes: give at most %d", prefix, len(prefix), MaxPrefix)
		case !utf8.ValidString(prefix):
			return nil, fmt.Errorf("names %q, which is no UTF-8: labels of metrics must be", prefix)
		case slices.Contains(prefixes[:i], prefix):
			return nil, fmt.Errorf("names %q twice: give each prefix once", prefix)
		}
		n.prefixes = append(n.prefixes, []byte(prefix))
	}
	slices.SortFunc(n.prefixes, func(a, b []byte) int { return cmp.Or(cmp.Compare(len(b), len(a)), bytes.Compare(a, b)) })
	return n, nil
}

// Cache returns what counts the reads of a cache; nil if n is.
func (n *Named) Cache(name string) *NamedReads {
	if n == nil {
		return nil
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	r := n.caches[name]
	if r == nil {
		r = &NamedReads{prefixes: n.prefixes, counts: make([]namedCount, len(n.prefixes))}
		for _, prefix := range n.prefixes {
			r.first[prefix[0]] = true
		}
		n.caches[name] = r
	}
	return r
}

// Each calls fn with the reads of each prefix of each cache that Cache was asked for, in no
// order.
func (n *Named) Each(fn func(cache, prefix string, hits, misses uint64)) {
	if n == nil {
		return
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	for cache, r := range n.caches {
		for i := range r.counts {
			fn(cache, string(r.prefixes[i]), r.counts[i].hits.Load(), r.counts[i].misses.Load())
		}
	}
}

// NamedReads counts the reads of one cache.
type NamedReads struct {
	prefixes [][]byte
	first    [256]bool // what prefixes begin with
	counts   []namedCount
}

type namedCount struct{ hits, misses atomic.Uint64 }

// Note counts a read of a key. It keeps nothing of key. A nil *NamedReads counts nothing, and
// the caller pays a comparison for it: Note is inlined.
func (r *NamedReads) Note(key []byte, hit bool) {
	if r != nil {
		r.note(key, hit)
	}
}

//go:noinline
func (r *NamedReads) note(key []byte, hit bool) {
	if len(key) == 0 || !r.first[key[0]] {
		return
	}
	for i, prefix := range r.prefixes {
		if !bytes.HasPrefix(key, prefix) {
			continue
		}
		if hit {
			r.counts[i].hits.Add(1)
		} else {
			r.counts[i].misses.Add(1)
		}
		return
	}
}
