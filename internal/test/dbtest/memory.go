package dbtest

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/howdah/howdah"
	"github.com/howdah/howdah/internal/core"
	"github.com/howdah/howdah/internal/near"
)

// NearBound is the bound of OpenNear. What tests say does not depend on it: where a
// lease has lapsed, PostgreSQL answers.
const NearBound = 300 * time.Millisecond

// OpenNear opens a database with a cache "near", whose entries are kept in memory.
func OpenNear(t *testing.T, url string) *howdah.DB {
	t.Helper()
	db := Open(t, url, &howdah.Options{Timeout: Timeout, Near: howdah.NearOptions{Bound: NearBound, Exclude: []string{"excluded:"}}})
	require.NoError(t, db.EnsureCache(t.Context(), howdah.CacheConfig{Name: "near", Near: true}))
	Run(t, db)
	return db
}

// Memory returns what the memory of a database has counted.
func Memory(db *howdah.DB) near.Stats { return (*core.DB)(db).Near().Stats() }

// Warm reads a key until memory answers it.
func Warm(t *testing.T, c *howdah.Cache, key string) {
	t.Helper()
	db := (*core.Cache)(c).DB()
	Eventually(t, key+" is answered from memory", func() bool {
		hits := db.Near().Stats().Hits
		_, err := c.Get(t.Context(), key)
		require.True(t, err == nil || errors.Is(err, howdah.ErrMiss), err)
		return db.Near().Stats().Hits > hits
	})
}

// AwaitPolls awaits that polls have brought what was written before: other writes than
// plain sets are foreign to the polls of their own process, and end what memory holds.
func AwaitPolls(t *testing.T, c *howdah.Cache) {
	t.Helper()
	memory := (*core.Cache)(c).DB().Near()
	before := memory.Stats().Polls
	Eventually(t, "there were polls", func() bool {
		Read(t, c, "no such key")
		return memory.Stats().Polls > before+2
	})
}

// Read gets a key; "" is a miss.
func Read(t *testing.T, c *howdah.Cache, key string) string {
	t.Helper()
	value, err := c.Get(t.Context(), key)
	if !errors.Is(err, howdah.ErrMiss) {
		require.NoError(t, err)
	}
	return string(value)
}
