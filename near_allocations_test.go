//go:build !race

package howdah_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/howdah/howdah/internal/test/pgtest"
)

// GetAppend allocates nothing for a hit in memory.
func TestGetAppendAllocatesNothing(t *testing.T) {
	ctx := t.Context()
	db := openNear(t, pgtest.New(t))
	c := db.Cache("near")
	require.NoError(t, c.Set(ctx, "k", []byte("value"), 0))
	warm(t, c, "k")
	buffer := make([]byte, 0, 64)
	run := func() (allocations float64, hitsOnly bool) {
		misses := memoryOf(db).Misses
		allocations = testing.AllocsPerRun(1000, func() {
			value, err := c.GetAppend(ctx, buffer, "k")
			if err != nil || string(value) != "value" {
				t.Fatal(string(value), err)
			}
		})
		return allocations, memoryOf(db).Misses == misses
	}
	allocations, hitsOnly := run()
	for !hitsOnly { // the lease has lapsed: the machine is busy
		warm(t, c, "k")
		allocations, hitsOnly = run()
	}
	require.Zero(t, allocations)
}
