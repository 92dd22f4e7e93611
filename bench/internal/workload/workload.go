// Package workload makes keys, values and choices. A source belongs to one
// goroutine; two sources with the same seed give the same sequence.
package workload

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
)

// Spec is what every rival is given alike.
type Spec struct {
	Keys      int     // how many; all are loaded before anything is measured
	ValueSize int     // bytes, at least 8
	Zipf      float64 // exponent above 1; 0 is uniform
	Seed      uint64
}

// Validate says what is wrong with a Spec.
func (s Spec) Validate() error {
	switch {
	case s.Keys < 1:
		return fmt.Errorf("%d keys: there must be at least one", s.Keys)
	case s.ValueSize < stampSize:
		return fmt.Errorf("values of %d bytes: they must have at least %d, which name the key", s.ValueSize, stampSize)
	case s.Zipf != 0 && !(s.Zipf > 1 && s.Zipf <= maxZipf): // NaN too
		return fmt.Errorf("a Zipf exponent of %g: it must be above 1 and at most %d, or 0 for uniform keys", s.Zipf, maxZipf)
	}
	return nil
}

// String describes it for a reader.
func (s Spec) String() string {
	choice := "uniform"
	if s.Zipf != 0 {
		choice = fmt.Sprintf("Zipf %g", s.Zipf)
	}
	return fmt.Sprintf("%d keys, values of %d bytes that vary, %s", s.Keys, s.ValueSize, choice)
}

// KeyPrefix begins the name of every key.
const KeyPrefix = "key:"

// Key is the name of key number i: 16 bytes, as session and page keys tend to
// have.
func Key(i int) string { return fmt.Sprintf("%s%012d", KeyPrefix, i) }

// maxZipf is an exponent with which nearly every choice is the first key.
const maxZipf = 100

// stampSize is the part of a value that names its key.
const stampSize = 8

// Source makes one goroutine's requests.
type Source struct {
	spec  Spec
	names []string
	noise []byte
	rng   *rand.Rand
	zipf  *rand.Zipf
	value []byte
}

// noiseSize is how many random bytes values are cut from.
const noiseSize = 1 << 20

// NewSources makes the sources of n workers. What costs time or memory is made
// once and shared, so that the harness itself uses as little as it can while
// it measures.
func NewSources(s Spec, n int) []*Source {
	names := make([]string, s.Keys)
	for i := range names {
		names[i] = Key(i)
	}
	noise := make([]byte, noiseSize+s.ValueSize)
	rng := rand.New(rand.NewPCG(s.Seed, 0))
	for i := 0; i+8 <= len(noise); i += 8 {
		binary.LittleEndian.PutUint64(noise[i:], rng.Uint64())
	}
	sources := make([]*Source, n)
	for w := range sources {
		src := &Source{spec: s, names: names, noise: noise, value: make([]byte, s.ValueSize)}
		src.rng = rand.New(rand.NewPCG(s.Seed, uint64(w)+1))
		if s.Zipf > 1 {
			src.zipf = rand.NewZipf(src.rng, s.Zipf, 1, uint64(s.Keys-1))
		}
		sources[w] = src
	}
	return sources
}

// Fork is another source of the same keys, for another goroutine.
func (s *Source) Fork(seed uint64) *Source {
	own := *s
	own.value = make([]byte, s.spec.ValueSize)
	own.rng = rand.New(rand.NewPCG(s.spec.Seed+1, seed))
	if s.zipf != nil {
		own.zipf = rand.NewZipf(own.rng, s.spec.Zipf, 1, uint64(s.spec.Keys-1))
	}
	return &own
}

// Key is the name of key number i.
func (s *Source) Key(i int) string { return s.names[i] }

// Next chooses a key.
func (s *Source) Next() int {
	if s.zipf != nil {
		return int(s.zipf.Uint64())
	}
	return s.rng.IntN(s.spec.Keys)
}

// Chance is true with probability p.
func (s *Source) Chance(p float64) bool { return s.rng.Float64() < p }

// Value is a value for key i: it names its key, and the rest is noise that
// differs from time to time. It is valid until the next call.
func (s *Source) Value(i int) []byte {
	copy(s.value, s.noise[s.rng.IntN(noiseSize):])
	binary.BigEndian.PutUint64(s.value, uint64(i))
	return s.value
}

// Check tells whether an answer is a value of key i.
func (s Spec) Check(i int, value []byte) error {
	if len(value) != s.ValueSize {
		return fmt.Errorf("key %d: the value has %d bytes, not %d", i, len(value), s.ValueSize)
	}
	if got := binary.BigEndian.Uint64(value); got != uint64(i) {
		return fmt.Errorf("key %d: the value is that of key %d", i, got)
	}
	return nil
}
