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
	case s.Zipf != 0 && s.Zipf <= 1:
		return fmt.Errorf("a Zipf exponent of %g: it must be above 1, or 0 for uniform keys", s.Zipf)
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

// Key is the name of key number i: 16 bytes, as session and page keys tend to
// have.
func Key(i int) string { return fmt.Sprintf("key:%012d", i) }

// stampSize is the part of a value that names its key.
const stampSize = 8

// Source makes one goroutine's requests.
type Source struct {
	spec  Spec
	rng   *rand.Rand
	zipf  *rand.Zipf
	noise []byte
	value []byte
}

// noiseSize is how many random bytes values are cut from.
const noiseSize = 1 << 16

// NewSource makes the source of one worker.
func NewSource(s Spec, worker int) *Source {
	seed := rand.NewPCG(s.Seed, uint64(worker))
	src := &Source{spec: s, rng: rand.New(seed), value: make([]byte, s.ValueSize)}
	if s.Zipf > 1 {
		src.zipf = rand.NewZipf(src.rng, s.Zipf, 1, uint64(s.Keys-1))
	}
	src.noise = make([]byte, noiseSize+s.ValueSize)
	for i := 0; i < len(src.noise); i += 8 {
		var word [8]byte
		binary.LittleEndian.PutUint64(word[:], src.rng.Uint64())
		copy(src.noise[i:], word[:])
	}
	return src
}

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
