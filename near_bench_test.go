package howdah_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/howdah/howdah"
	"github.com/howdah/howdah/internal/test/dbtest"
	"github.com/howdah/howdah/internal/test/pgtest"
)

// BenchmarkMemory reads keys that are in memory.
func BenchmarkMemory(b *testing.B) {
	ctx := b.Context()
	db, err := howdah.Open(ctx, pgtest.New(b), &howdah.Options{Timeout: dbtest.Timeout, Near: howdah.NearOptions{Bound: 5 * time.Second}})
	if err != nil {
		b.Fatal(err)
	}
	defer db.Close()
	running, stop := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() { ended <- db.Run(running) }()
	defer func() { stop(); <-ended }()
	if err := db.CreateCache(ctx, howdah.CacheConfig{Name: "near", Near: true}); err != nil {
		b.Fatal(err)
	}
	c := db.Cache("near")
	keys := make([]string, 10_000)
	items := make([]howdah.Item, len(keys))
	for i := range keys {
		keys[i] = fmt.Sprintf("key:%d", i)
		items[i] = howdah.Item{Key: keys[i], Value: make([]byte, 250)}
	}
	if err := c.SetMany(ctx, items, 0); err != nil {
		b.Fatal(err)
	}
	for range 3 {
		if _, err := c.GetMany(ctx, keys); err != nil {
			b.Fatal(err)
		}
	}
	b.Run("GetAppend", func(b *testing.B) {
		buffer := make([]byte, 0, 256)
		before := dbtest.Memory(db).Misses
		b.ReportAllocs()
		for i := 0; b.Loop(); i++ {
			if _, err := c.GetAppend(ctx, buffer, keys[i%len(keys)]); err != nil {
				b.Fatal(err)
			}
		}
		b.ReportMetric(float64(dbtest.Memory(db).Misses-before)/float64(b.N), "misses/op")
	})
	b.Run("Get", func(b *testing.B) {
		b.ReportAllocs()
		for i := 0; b.Loop(); i++ {
			if _, err := c.Get(ctx, keys[i%len(keys)]); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("Get parallel", func(b *testing.B) {
		b.RunParallel(func(p *testing.PB) {
			for i := 0; p.Next(); i++ {
				if _, err := c.Get(ctx, keys[i%len(keys)]); err != nil {
					b.Error(err)
				}
			}
		})
	})
}
