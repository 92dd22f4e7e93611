//go:build !race

package howdah_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/howdah/howdah/internal/test/dbtest"
	"github.com/howdah/howdah/internal/test/pgtest"
)

// GetAppend allocates nothing for a hit in memory.
func TestGetAppendAllocatesNothing(t *testing.T) {
	ctx := t.Context()
	db := dbtest.OpenNear(t, pgtest.New(t))
	c := db.Cache("near")
	require.NoError(t, c.Set(ctx, "k", []byte("value"), 0))
	dbtest.Warm(t, c, "k")
	buffer := make([]byte, 0, 64)
	run := func() (allocations float64, hitsOnly bool) {
		misses := dbtest.Memory(db).Misses
		allocations = testing.AllocsPerRun(1000, func() {
			value, err := c.GetAppend(ctx, buffer, "k")
			if err != nil || string(value) != "value" {
				t.Fatal(string(value), err)
			}
		})
		return allocations, dbtest.Memory(db).Misses == misses
	}
	allocations, hitsOnly := run()
	for !hitsOnly { // the lease has lapsed: the machine is busy
		dbtest.Warm(t, c, "k")
		allocations, hitsOnly = run()
	}
	require.Zero(t, allocations)
}
