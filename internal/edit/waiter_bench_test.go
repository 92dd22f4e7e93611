package edit_test

import (
	"fmt"
	"runtime"
	"syscall"
	"testing"
	"time"

	"github.com/howdah/howdah/internal/core"
	"github.com/howdah/howdah/internal/test/pgtest"
)

// benchCache is newCache for benchmarks.
func benchCache(b *testing.B) *core.Cache {
	db, err := core.Open(b.Context(), pgtest.New(b), core.Options{})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = db.Close() })
	if err := db.CreateCache(b.Context(), core.CacheConfig{Name: "c"}); err != nil {
		b.Fatal(err)
	}
	return db.Cache("c")
}

// processTime is what this process has taken of the processors.
func processTime() time.Duration {
	var usage syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &usage)
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

// BenchmarkIdleWaiters shows what 10,000 waiters that nobody serves cost: "cpu-us/s" of
// this process, beside what it takes without waiters; bytes and goroutines of each.
func BenchmarkIdleWaiters(b *testing.B) {
	for _, keys := range []int{0, 1, 10_000} {
		b.Run(fmt.Sprint("keys=", keys), func(b *testing.B) {
			const n = 10_000
			cache := benchCache(b)
			go func() { _ = cache.DB().Run(b.Context()) }()
			var before, after runtime.MemStats
			runtime.GC()
			runtime.ReadMemStats(&before)
			goroutines := runtime.NumGoroutine()
			for i := range n {
				if keys > 0 {
					wait(cache, time.Hour, "blpop", fmt.Sprint("l", i%keys), "0")
				}
				for i%500 == 499 && keys > 0 && cache.DB().Waiters().Count() <= i {
					runtime.Gosched()
				}
			}
			runtime.GC()
			runtime.ReadMemStats(&after)
			grown := runtime.NumGoroutine() - goroutines
			began, cpu := time.Now(), processTime()
			for b.Loop() {
				time.Sleep(time.Second)
			}
			b.ReportMetric(float64((processTime()-cpu).Microseconds())/time.Since(began).Seconds(), "cpu-us/s")
			b.ReportMetric(float64(after.HeapAlloc-before.HeapAlloc)/n, "B/waiter")
			b.ReportMetric(float64(grown), "goroutines")
		})
	}
}

// BenchmarkHandOver is one push that one waiter takes, beside a push and a pop.
func BenchmarkHandOver(b *testing.B) {
	cache := benchCache(b)
	edit := func(words ...string) {
		e, _ := command(words...)
		if err := cache.Edit(b.Context(), e); err != nil {
			b.Fatal(err)
		}
	}
	b.Run("waits", func(b *testing.B) {
		for b.Loop() {
			w := wait(cache, 0, "blpop", "l", "0")
			edit("rpush", "l", "x")
			<-w.ended
		}
	})
	b.Run("push and pop", func(b *testing.B) {
		for b.Loop() {
			edit("rpush", "l", "x")
			edit("lpop", "l")
		}
	})
	b.Run("push beside waiters of another key", func(b *testing.B) {
		wait(cache, 0, "blpop", "other", "0")
		for b.Loop() {
			edit("rpush", "l", "x")
			edit("lpop", "l")
		}
	})
}
