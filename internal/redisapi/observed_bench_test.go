package redisapi

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/howdah/howdah/internal/engine"
	"github.com/howdah/howdah/internal/observe"
	"github.com/howdah/howdah/internal/resp"
)

// BenchmarkObserved is what remembering removals and counting prefixes cost this process in
// processor time, with PostgreSQL's and the network's left out: the least of many short rounds
// in turns, of one connection without a socket. "/memory" reads keys that memory answers.
func BenchmarkObserved(b *testing.B) {
	remembered := engine.Observed{Removals: observe.NewRemovals(observe.DefaultRemovals)}
	for _, work := range []struct {
		name     string
		memory   bool
		prefixes int
		command  func(key string) [][]string
		turns    map[string]engine.Observed
	}{
		{"GET/memory", true, 20, getOne, sampled()},
		{"GET/memory/many prefixes", true, 5000, getOne, sampled()},
		{"GET", false, 20, getOne, sampled()},
		{"SET", false, 20, setOne, map[string]engine.Observed{"on": remembered}},
		{"SET DEL", false, 20, setAndDelete, map[string]engine.Observed{"on": remembered}},
	} {
		b.Run(work.name, func(b *testing.B) {
			e := serve(b, Options{}).engine
			if work.memory {
				e = withMemory(b, Options{})
			}
			c := newTestConn(e)
			defer c.Close()
			const keys = 10_000
			name := func(i int) string { return fmt.Sprintf("prefix%d:%08d", i%work.prefixes, i) }
			c.each(keys, func(in []byte, i int) []byte {
				return resp.AppendCommand(in, "SET", name(i), string(make([]byte, 250)))
			})
			for misses := uint64(1); work.memory && misses > 0; {
				before := e.options.DB.Near().Stats().Misses
				c.each(keys, func(in []byte, i int) []byte { return resp.AppendCommand(in, "GET", name(i)) })
				misses = e.options.DB.Near().Stats().Misses - before
			}
			inputs := make([][]byte, 4096)
			for i := range inputs {
				for range 16 {
					for _, words := range work.command(name(rand.IntN(keys))) {
						inputs[i] = resp.AppendCommand(inputs[i], words...)
					}
				}
			}
			round := func(commands int) float64 {
				began := processorTime()
				for i := range commands / 16 {
					c.run(inputs[i%len(inputs)])
					c.out.Reset()
				}
				return float64(processorTime()-began) / float64(commands)
			}
			work.turns["off"] = engine.Observed{}
			commands := 1 << 10
			if work.memory {
				commands = 1 << 14
			}
			took := map[string][]float64{}
			for range max(b.N, 60) {
				for turn, observed := range work.turns {
					e.options.DB.Observe(observed)
					took[turn] = append(took[turn], round(commands))
				}
			}
			for turn, list := range took {
				b.ReportMetric(slices.Min(list), turn+"-cpu-ns/op")
			}
		})
	}
}

func sampled() map[string]engine.Observed {
	turns := make(map[string]engine.Observed)
	for _, sample := range []int{16, 64} {
		turns[fmt.Sprint("1in", sample)] = engine.Observed{Prefixes: observe.NewPrefixes(sample)}
	}
	return turns
}

func getOne(key string) [][]string       { return [][]string{{"GET", key}} }
func setOne(key string) [][]string       { return [][]string{{"SET", key, "value"}} }
func setAndDelete(key string) [][]string { return [][]string{{"SET", key, "value"}, {"DEL", key}} }
