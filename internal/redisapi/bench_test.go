package redisapi

import (
	"context"
	"fmt"
	"testing"

	"github.com/howdah/howdah"
	"github.com/howdah/howdah/internal/core"
	"github.com/howdah/howdah/internal/pipeline"
	"github.com/howdah/howdah/internal/resp"
	"github.com/howdah/howdah/internal/test/pgtest"
)

// BenchmarkPipeline is one connection without a socket: pipelines of 256.
func BenchmarkPipeline(b *testing.B) {
	db, err := howdah.Open(context.Background(), pgtest.New(b), nil)
	if err != nil {
		b.Fatal(err)
	}
	defer db.Close()
	engine, err := New(Options{DB: (*core.DB)(db)})
	if err != nil {
		b.Fatal(err)
	}
	defer engine.Close()
	const n = 256
	for _, name := range []string{"PING", "SET", "GET"} {
		var input []byte
		for i := range n {
			args := map[string][]string{
				"PING": {"PING"}, "GET": {"GET", fmt.Sprint("key:", i)}, "SET": {"SET", fmt.Sprint("key:", i), string(make([]byte, 250))},
			}[name]
			input = resp.AppendCommand(input, args...)
		}
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			woken := make(chan struct{}, 1)
			c := engine.Connect(Info{}, func() {
				select {
				case woken <- struct{}{}:
				default:
				}
			})
			defer c.Close()
			var out pipeline.Output
			for range b.N {
				if c.Feed(input) != len(input) {
					b.Fatal("not all was consumed")
				}
				for {
					c.Output(&out)
					out.Reset()
					if !c.Pending() {
						break
					}
					<-woken
				}
			}
			b.ReportMetric(float64(b.N*n)/b.Elapsed().Seconds(), "commands/s")
		})
	}
}
