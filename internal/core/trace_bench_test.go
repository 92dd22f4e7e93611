//go:build !race

package core

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/howdah/howdah/internal/statement"
	"github.com/howdah/howdah/internal/verb"
)

// recallable returns a call that memory answers, the shortest way that a call can go.
func recallable(t testing.TB) (*Cache, []*verb.Call) {
	db, _ := openRecalling(t)
	return db.Cache("n"), []*verb.Call{{Verb: statement.Get, Key: []byte("nothing")}}
}

// A call that no tracer follows allocates nothing for it.
func TestWithoutATracerNothingIsAllocated(t *testing.T) {
	c, calls := recallable(t)
	for {
		allocations := testing.AllocsPerRun(1000, func() { _ = c.Do(t.Context(), calls...) })
		if !calls[0].Recalled { // the lease has lapsed: the machine is busy
			continue
		}
		require.Zero(t, allocations)
		return
	}
}

// BenchmarkWithoutATracer measures what the hook costs a call where there is no tracer:
// the difference between calls with it and calls without it, which take turns. Each of
// b.N rounds has 1,000 of both.
func BenchmarkWithoutATracer(b *testing.B) {
	c, calls := recallable(b)
	ctx := b.Context()
	const each = 1000
	with := func() time.Duration {
		began := time.Now()
		for range each {
			_ = c.Do(ctx, calls...)
		}
		return time.Since(began)
	}
	without := func() time.Duration {
		began := time.Now()
		for range each {
			_ = c.do(ctx, calls)
		}
		return time.Since(began)
	}
	var differences, costs []float64
	for i := 0; b.Loop(); i++ {
		var on, off time.Duration
		if i%2 == 0 {
			on, off = with(), without()
		} else {
			off, on = without(), with()
		}
		differences = append(differences, float64(on-off)/each)
		costs = append(costs, float64(off)/each)
	}
	slices.Sort(differences)
	slices.Sort(costs)
	n := len(differences)
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(costs[n/2], "ns/call")
	b.ReportMetric(differences[n/4], "hook-q1-ns")
	b.ReportMetric(differences[n/2], "hook-median-ns")
	b.ReportMetric(differences[3*n/4], "hook-q3-ns")
}
