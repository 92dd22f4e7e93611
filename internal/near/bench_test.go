package near

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

const (
	benchKeys  = 10_000
	benchValue = 250
)

// warm makes a Memory with entries and a lease that outlasts the test.
func warm(t testing.TB, bytes int64) (*Cache, [][]byte) {
	m, err := New(Options{Bound: MaxBound, Bytes: bytes, Poll: func(context.Context, Cursor) (Answer, error) {
		panic("not called")
	}})
	require.NoError(t, err)
	require.NoError(t, m.apply(m.clock(), Answer{Snapshot: "3:3:", Lit: true}))
	v := *m.view.Load()
	v.end = v.end.add(time.Hour)
	m.view.Store(&v)
	c := m.Cache(1, false)
	keys := make([][]byte, benchKeys)
	for i := range keys {
		keys[i] = fmt.Appendf(nil, "object:%d:body", i)
		c.Fill(c.Begin(int64(i)*7919), keys[i], Entry{Value: make([]byte, benchValue), Expires: time.Now().Add(time.Hour)}, 0)
	}
	return c, keys
}

func BenchmarkGet(b *testing.B) {
	c, keys := warm(b, 64<<20)
	b.ReportAllocs()
	i := 0
	for b.Loop() {
		if _, ok := c.Get(keys[i]); !ok {
			b.Fatal("missed")
		}
		if i++; i == len(keys) {
			i = 0
		}
	}
}

func BenchmarkGetBatch(b *testing.B) {
	c, keys := warm(b, 64<<20)
	var entries [Batch]Entry
	b.ReportAllocs()
	for i := 0; i < b.N; i += Batch {
		at := i % (len(keys) - Batch)
		if _, run := c.GetBatch(keys[at:at+Batch], &entries, 1<<30); run != Batch {
			b.Fatal("missed")
		}
	}
}

func BenchmarkGetParallel(b *testing.B) {
	c, keys := warm(b, 64<<20)
	var start atomic.Int64
	b.ReportAllocs()
	b.ResetTimer()
	b.RunParallel(func(pb *testing.PB) {
		i := int(start.Add(1)*1_237) % len(keys)
		for pb.Next() {
			if _, ok := c.Get(keys[i]); !ok {
				b.Fatal("missed")
			}
			if i++; i == len(keys) {
				i = 0
			}
		}
	})
}

// BenchmarkClock is what a reading of the clock takes of BenchmarkGet.
func BenchmarkClock(b *testing.B) {
	m, _ := warm(b, MinBytes)
	for b.Loop() {
		m.m.clock()
	}
}

func BenchmarkOtter(b *testing.B) {
	c, keys := warm(b, 64<<20)
	i := 0
	for b.Loop() {
		c.m.entries.GetIfPresent(entryKey{1, string(keys[i])})
		if i++; i == len(keys) {
			i = 0
		}
	}
}

func BenchmarkFill(b *testing.B) {
	c, keys := warm(b, 64<<20)
	value := make([]byte, benchValue)
	b.ReportAllocs()
	i := 0
	for b.Loop() {
		c.Bump(int64(i) * 7919)
		c.Fill(c.Begin(int64(i)*7919), keys[i], Entry{Value: value}, 0)
		if i++; i == len(keys) {
			i = 0
		}
	}
}
