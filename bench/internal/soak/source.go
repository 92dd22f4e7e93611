package soak

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"

	"github.com/howdah/howdah/bench/internal/workload"
)

const (
	keyBytes   = 16 // of workload.Key
	stampBytes = 8  // of a value: they name its key
	noiseBytes = 1 << 20
)

// kind is what a request does.
type kind int

const (
	read    kind = iota // looks, and leaves everything as it was
	sliding             // a read that extends the life of what it finds
	set
	kinds
)

var kindNames = [kinds]string{"reads", "sliding reads", "sets"}

// source makes the requests of one caller.
type source struct {
	config *Config
	rng    *rand.Rand
	zipf   *rand.Zipf
	noise  []byte
	value  []byte
}

// newSources makes the sources of all callers; the same for every contender.
func newSources(c *Config) []*source {
	noise := make([]byte, noiseBytes+c.Values.Most)
	rng := rand.New(rand.NewPCG(1, 0))
	for i := 0; i+8 <= len(noise); i += 8 {
		binary.LittleEndian.PutUint64(noise[i:], rng.Uint64())
	}
	sources := make([]*source, c.Callers)
	for i := range sources {
		s := &source{config: c, rng: rand.New(rand.NewPCG(1, uint64(i)+1)), noise: noise, value: make([]byte, c.Values.Most)}
		if c.Zipf > 1 {
			// Flattened at the top: the most popular of 100,000 keys gets 2 % of
			// the reads at 1.1, as a front page does, and not 13 %.
			s.zipf = rand.NewZipf(s.rng, c.Zipf, 20, uint64(c.Keys-1))
		}
		sources[i] = s
	}
	return sources
}

// next chooses what to do, and to which key.
func (s *source) next() (kind, int) {
	c := s.config
	if s.rng.Float64()*(c.Reads+c.Sets) < c.Sets {
		return set, s.rng.IntN(c.Keys)
	}
	key := s.rng.IntN(c.Keys)
	if s.zipf != nil {
		key = int(s.zipf.Uint64())
	}
	// What does not expire has no life to extend.
	if c.TTLs.of(key) > 0 && s.rng.Float64() < c.Sliding {
		return sliding, key
	}
	return read, key
}

// make is a value for a key, valid until the next call: it names its key, and
// the rest is noise that does not compress.
func (s *source) make(key int) []byte {
	v := s.value[:s.config.Values.at(s.rng.Float64())]
	copy(v, s.noise[s.rng.IntN(noiseBytes):])
	binary.BigEndian.PutUint64(v, uint64(key))
	return v
}

// check tells whether an answer is a value of the key.
func (s *source) check(key int, value []byte) error {
	if len(value) < stampBytes {
		return fmt.Errorf("the value of %s has %d bytes", workload.Key(key), len(value))
	}
	if got := binary.BigEndian.Uint64(value); got != uint64(key) {
		return fmt.Errorf("%s holds the value of key %d", workload.Key(key), got)
	}
	return nil
}
