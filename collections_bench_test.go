package howdah_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/howdah/howdah"
	"github.com/howdah/howdah/internal/test/pgtest"
)

// BenchmarkHSet sets one field of hashes of several sizes, beside plain sets of as many
// bytes: with one caller, and with many on different keys.
func BenchmarkHSet(b *testing.B) {
	const keys = 256
	db, err := howdah.Open(context.Background(), pgtest.New(b), &howdah.Options{Timeout: 30 * time.Second})
	require.NoError(b, err)
	defer db.Close()
	c, ctx := db.Cache("db0"), context.Background()
	for _, fields := range []int{10, 100, 1000} {
		hash := map[string][]byte{}
		for i := range fields {
			hash[fmt.Sprintf("field-%06d", i)] = fmt.Appendf(nil, "a value of 20 byt %02d", i%100)
		}
		for i := range keys {
			_, err := c.HSet(ctx, fmt.Sprint("h", fields, " ", i), hash, 0)
			require.NoError(b, err)
		}
		value := make([]byte, fields*34)
		for _, callers := range []int{1, 64} {
			for name, op := range map[string]func(i int) error{
				"hset": func(i int) error {
					_, err := c.HSet(ctx, fmt.Sprint("h", fields, " ", i%keys), map[string][]byte{"field-000003": fmt.Append(nil, i)}, 0)
					return err
				},
				"hget": func(i int) error {
					_, err := c.HGet(ctx, fmt.Sprint("h", fields, " ", i%keys), "field-000003")
					return err
				},
				"set": func(i int) error { return c.Set(ctx, fmt.Sprint("s", fields, " ", i%keys), value, 0) },
			} {
				b.Run(fmt.Sprintf("%s/fields=%d/callers=%d", name, fields, callers), func(b *testing.B) {
					b.SetParallelism(max(1, callers/2)) // of two processors
					next := make(chan int, 1024)
					go func() {
						for i := range b.N {
							next <- i
						}
						close(next)
					}()
					if callers == 1 {
						for i := range next {
							require.NoError(b, op(i))
						}
						return
					}
					b.RunParallel(func(pb *testing.PB) {
						for pb.Next() {
							require.NoError(b, op(<-next))
						}
					})
				})
			}
		}
	}
}
