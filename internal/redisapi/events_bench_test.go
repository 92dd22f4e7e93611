package redisapi

import (
	"context"
	"fmt"
	"testing"

	"github.com/howdah/howdah"
	"github.com/howdah/howdah/internal/core"
	"github.com/howdah/howdah/internal/resp"
	"github.com/howdah/howdah/internal/test/pgtest"
	"github.com/howdah/howdah/internal/values"
)

// BenchmarkEvents is one connection without a socket, with pipelines of 256 commands,
// while events are not published, and while those of the commands are.
func BenchmarkEvents(b *testing.B) {
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
	for _, classes := range []string{"", "KA", "KAn"} {
		set, _ := values.ParseClasses(classes)
		if err := engine.options.DB.SetEvents(context.Background(), nil, set); err != nil {
			b.Fatal(err)
		}
		for _, name := range []string{"GET", "SET", "HSET"} {
			var input []byte
			const n = 256
			for i := range n {
				args := map[string][]string{
					"GET": {"GET", fmt.Sprint("key:", i)}, "SET": {"SET", fmt.Sprint("key:", i), string(make([]byte, 250))}, "HSET": {"HSET", fmt.Sprint("hash:", i), "f", "v"},
				}[name]
				input = resp.AppendCommand(input, args...)
			}
			b.Run(fmt.Sprintf("%s/%q", name, classes), func(b *testing.B) {
				c := newTestConn(engine)
				defer c.Close()
				b.ReportAllocs()
				for range b.N {
					c.run(input)
					c.out.Reset()
				}
				b.ReportMetric(float64(b.N*n)/b.Elapsed().Seconds(), "commands/s")
			})
		}
	}
}
