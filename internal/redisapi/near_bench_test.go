package redisapi

import (
	"fmt"
	"math/rand/v2"
	"syscall"
	"testing"

	"github.com/howdah/howdah/internal/resp"
)

// BenchmarkMemory is one connection without a socket that reads random keys out of
// more than the processor's caches hold, all of them in memory, 1 and 16 at a time.
func BenchmarkMemory(b *testing.B) {
	engine := withMemory(b, Options{})
	const keys = 100_000
	c := newTestConn(engine)
	defer c.Close()
	value := string(make([]byte, 250))
	c.each(keys, func(in []byte, i int) []byte { return resp.AppendCommand(in, "SET", benchKey(i), value) })
	memory := engine.options.DB.Near()
	for misses := uint64(1); misses > 0; {
		before := memory.Stats().Misses
		c.each(keys, func(in []byte, i int) []byte { return resp.AppendCommand(in, "GET", benchKey(i)) })
		misses = memory.Stats().Misses - before
	}
	read := func(b *testing.B, name string, depth int) {
		inputs := make([][]byte, 1<<16/depth)
		for i := range inputs {
			for range depth {
				inputs[i] = resp.AppendCommand(inputs[i], "GET", benchKey(rand.IntN(keys)))
			}
		}
		b.Run(fmt.Sprintf("%s/%d", name, depth), func(b *testing.B) {
			before, began := memory.Stats().Misses, processorTime()
			b.ReportAllocs()
			for i := range b.N / depth {
				c.run(inputs[i%len(inputs)])
				c.out.Reset()
			}
			b.ReportMetric(float64(processorTime()-began)/float64(b.N), "cpu-ns/op")
			b.ReportMetric(float64(memory.Stats().Misses-before)/float64(b.N), "misses/op")
		})
	}
	for _, depth := range []int{1, 16} {
		read(b, "GET", depth)
	}
	// Each hit of a client that tracks is registered in the table.
	c.endTracking()
	c.beginTracking(trackingMode{})
	for _, depth := range []int{1, 16} {
		read(b, "GET tracked", depth)
	}
}

// processorTime is what the process has used, in nanoseconds: on a machine with other
// work it says more than the time that has passed.
func processorTime() int64 {
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		panic(err)
	}
	return used.Utime.Nano() + used.Stime.Nano()
}

func benchKey(i int) string { return fmt.Sprintf("key:%012d", i) }

// each runs n commands, in pipelines of 256.
func (c *testConn) each(n int, command func(in []byte, i int) []byte) {
	var input []byte
	for i := range n {
		input = command(input, i)
		if (i+1)%256 == 0 || i == n-1 {
			c.run(input)
			c.out.Reset()
			input = input[:0]
		}
	}
}
