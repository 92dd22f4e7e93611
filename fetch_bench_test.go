package howdah_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/howdah/howdah"
	"github.com/howdah/howdah/internal/test/dbtest"
	"github.com/howdah/howdah/internal/test/pgtest"
)

// BenchmarkFetch reads keys that are in memory, by Get and by Fetch in turns, and
// reports the medians of their times and the ratio of these.
func BenchmarkFetch(b *testing.B) {
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
	load := func(context.Context) ([]byte, error) { return make([]byte, 250), nil }
	keys := make([]string, 1000)
	for i := range keys {
		keys[i] = fmt.Sprintf("key:%d", i)
	}
	ways := []func(key string) error{
		func(key string) error { _, err := c.Get(ctx, key); return err },
		func(key string) error { _, err := c.Fetch(ctx, key, time.Hour, load, noOptions); return err },
	}
	turn := func(way func(key string) error) time.Duration {
		began := time.Now()
		for _, key := range keys {
			if err := way(key); err != nil {
				b.Fatal(err)
			}
		}
		return time.Since(began)
	}
	for range 3 {
		turn(ways[1])
	}
	var took [2][]float64
	before := dbtest.Memory(db).Misses
	for b.Loop() {
		for i, way := range ways {
			took[i] = append(took[i], float64(turn(way))/float64(len(keys)))
		}
	}
	for i := range took {
		slices.Sort(took[i])
	}
	get, fetch := took[0][len(took[0])/2], took[1][len(took[1])/2]
	b.ReportMetric(get, "ns/Get")
	b.ReportMetric(fetch, "ns/Fetch")
	b.ReportMetric(fetch/get, "Fetch/Get")
	b.ReportMetric(float64(dbtest.Memory(db).Misses-before), "misses")
}
