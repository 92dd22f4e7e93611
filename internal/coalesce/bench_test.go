package coalesce

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// trivial answers every op at once.
func trivial(_ context.Context, f Flight) {
	ops := f.Take()
	f.Sent()
	for _, op := range ops {
		f.Complete(op, nil)
	}
}

func BenchmarkDo(b *testing.B) {
	for _, callers := range []int{1, 16, 64, 256, 1024} {
		b.Run(fmt.Sprintf("callers=%d", callers), func(b *testing.B) {
			benchmarkDo(b, callers, 1, trivial)
		})
	}
}

// BenchmarkDoSlow has a Run that keeps neither core busy: 100 us a flight and
// 1 us a key asked for; an idle machine may round a sleep up to a millisecond.
func BenchmarkDoSlow(b *testing.B) {
	for _, callers := range []int{1, 16, 64, 256, 1024} {
		b.Run(fmt.Sprintf("callers=%d", callers), func(b *testing.B) {
			benchmarkDo(b, callers, 1, func(_ context.Context, f Flight) {
				ops := f.Take()
				f.Sent()
				time.Sleep(100*time.Microsecond + time.Duration(len(ops))*time.Microsecond)
				for _, op := range ops {
					f.Complete(op, nil)
				}
			})
		})
	}
}

// BenchmarkDoTables has 256 callers, each of one of several tables.
func BenchmarkDoTables(b *testing.B) {
	for _, tables := range []int{1, 10, 100} {
		b.Run(fmt.Sprintf("tables=%d", tables), func(b *testing.B) {
			benchmarkDo(b, 256, tables, trivial)
		})
	}
}

func benchmarkDo(b *testing.B, callers, tables int, run func(context.Context, Flight)) {
	c := New(Options{Run: run})
	all := make([]*Table, tables)
	for i := range all {
		all[i] = c.NewTable(TableOptions{})
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	var left atomic.Int64
	left.Store(int64(b.N))
	b.ReportAllocs()
	b.ResetTimer()
	var wg sync.WaitGroup
	for i := range callers {
		wg.Go(func() {
			op := Op{Table: all[i%tables]}
			key := uint64(i)
			for left.Add(-1) >= 0 {
				key += 1024
				op.SetKey(key % 65536)
				op.Deadline = Now() + int64(time.Second)
				if key%4 == 0 {
					op.Kind = Set
				} else {
					op.Kind = Read
				}
				if err := c.Do(ctx, &op); err != nil {
					b.Error(err)
				}
			}
		})
	}
	wg.Wait()
	b.StopTimer()
	report(b, c)
}

func BenchmarkStart(b *testing.B) {
	for _, window := range []int{16, 64, 256, 1024} {
		b.Run(fmt.Sprintf("window=%d", window), func(b *testing.B) {
			c := New(Options{Run: trivial})
			table := c.NewTable(TableOptions{})
			ops := make([]Op, window)
			free := make(chan *Op, window)
			for i := range ops {
				ops[i].Table = table
				free <- &ops[i]
			}
			done := func(op *Op, err error) {
				if err != nil {
					b.Error(err)
				}
				free <- op
			}
			b.ReportAllocs()
			b.ResetTimer()
			for i := range b.N {
				op := <-free
				op.SetKey(uint64(i) % 65536)
				op.Deadline = Now() + int64(time.Second)
				c.Start(op, done)
			}
			for range window {
				<-free
			}
			b.StopTimer()
			report(b, c)
		})
	}
}

func report(b *testing.B, c *Coalescer) {
	if err := c.Close(context.Background()); err != nil {
		b.Error(err)
	}
	s := c.Stats()
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds()/1000, "kops/s")
	b.ReportMetric(float64(s.KeysTotal)/float64(s.Reads+s.Writes), "keys/flight")
}
