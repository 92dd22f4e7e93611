//go:build peers

package values_test

import (
	"math/rand/v2"
	"testing"

	"github.com/howdah/howdah/internal/resp"
	"github.com/howdah/howdah/internal/test/seed"
)

// TestCardinality compares the estimates of random registers, which no elements
// would ever give.
func TestCardinality(t *testing.T) {
	t.Parallel()
	seed := seed.Of(t)
	c, s, g := startRedis(t)(resp.RESP2), newStore(t, seed), rand.New(rand.NewPCG(seed, 4))
	for range 200 {
		dense := make([]byte, 16+16384*6/8)
		copy(dense, "HYLL")
		dense[15] = 0x80
		ranks := 1 + g.IntN(51)
		for i := range 16384 {
			rank, at := g.IntN(ranks+1), i*6
			dense[16+at/8] |= byte(rank << (at % 8))
			if at%8 > 2 {
				dense[16+at/8+1] |= byte(rank >> (8 - at%8))
			}
		}
		set := []string{"SET", "k", string(dense)}
		c.do(set...)
		s.do(set...)
		if got, want := s.do("PFCOUNT", "k"), c.do("PFCOUNT", "k"); got != want {
			t.Fatalf("ranks up to %d: %q, redis has %q", ranks, got, want)
		}
	}
}
