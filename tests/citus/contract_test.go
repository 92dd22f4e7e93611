//go:build citus

package citus_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/howdah/howdah"
	"github.com/howdah/howdah/internal/test/dbtest"
	"github.com/howdah/howdah/internal/test/pgtest"
	"github.com/howdah/howdah/tests/contract"
)

// The contract holds where Citus has placed the partitions on several servers.
func TestContractOnCitus(t *testing.T) {
	cluster := pgtest.StartCitus(t, 2)
	cluster.Divide(8)
	url := cluster.Coordinator().URL()
	ofClass := func(class string) func(*testing.T) *howdah.Cache {
		return func(t *testing.T) *howdah.Cache {
			db := dbtest.Open(t, url, nil)
			require.NoError(t, db.CreateCache(t.Context(), howdah.CacheConfig{Name: class, Durability: howdah.Durability(class)}))
			return db.Cache(class)
		}
	}
	for _, d := range []struct {
		name string
		open func(*testing.T) *howdah.Cache
	}{
		{name: "calls", open: func(t *testing.T) *howdah.Cache { return dbtest.Open(t, url, nil).Cache("db0") }},
		{name: "class async", open: ofClass("async")},
		{name: "class sync", open: ofClass("sync")},
		{name: "memory", open: func(t *testing.T) *howdah.Cache { return dbtest.OpenNear(t, url).Cache("near") }},
	} {
		t.Run(d.name, func(t *testing.T) { contract.Run(t, d.open(t), true) })
	}
}
