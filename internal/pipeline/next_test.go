package pipeline

import (
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/howdah/howdah/internal/test/seed"
)

// A request is the next one when all before it are finished, in whatever order they are
// finished, answered and taken.
func TestIsNext(t *testing.T) {
	t.Parallel()
	r := seed.Rand(t)
	pipe := New(Options{MaxRequests: 1 << 20, MaxBytes: 1 << 20, Wake: func() {}})
	released := new(atomic.Int64)
	var open []*numbered // those that are not finished, in their order
	var out Output
	for range 20_000 {
		switch r.IntN(5) {
		case 0, 1:
			request := &numbered{released: released}
			require.True(t, pipe.Start(request, 1))
			open = append(open, request)
		case 2:
			pipe.Answer(&numbered{released: released})
		case 3:
			if len(open) > 0 {
				i := r.IntN(min(len(open), 4))
				pipe.Finish(open[i])
				open = append(open[:i], open[i+1:]...)
			}
		case 4:
			pipe.Output(&out)
		}
		for i, request := range open {
			if i > 3 {
				break
			}
			require.Equal(t, i == 0, pipe.IsNext(request))
		}
		if len(open) == 0 {
			require.True(t, pipe.IsNext(&numbered{}), "one that has no place")
		}
	}
	pipe.Close()
	out.Release()
}

// BenchmarkIsNext asks for each request of a deep pipeline, as edits of undeclared keys do.
func BenchmarkIsNext(b *testing.B) {
	const depth = 1024
	released := new(atomic.Int64)
	for range b.N {
		pipe := New(Options{MaxRequests: depth, MaxBytes: 1 << 20, Wake: func() {}})
		requests := make([]*numbered, depth)
		for i := range requests {
			requests[i] = &numbered{released: released}
			pipe.Start(requests[i], 1)
		}
		for _, request := range requests {
			if !pipe.IsNext(request) {
				b.Fatal("one before is not finished")
			}
			pipe.Finish(request)
		}
	}
}
