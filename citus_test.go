//go:build citus

package howdah_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/howdah/howdah"
	"github.com/howdah/howdah/internal/test/pgtest"
)

// The contract holds where Citus has placed the partitions on several servers.
func TestContractOnCitus(t *testing.T) {
	cluster := pgtest.StartCitus(t, 2)
	cluster.Divide(8)
	url := cluster.Coordinator().URL()
	ofClass := func(class string) func(*testing.T) *howdah.Cache {
		return func(t *testing.T) *howdah.Cache {
			db := open(t, url, nil)
			require.NoError(t, db.CreateCache(t.Context(), howdah.CacheConfig{Name: class, Durability: howdah.Durability(class)}))
			return db.Cache(class)
		}
	}
	for _, d := range []door{
		{name: "calls", open: func(t *testing.T) *howdah.Cache { return open(t, url, nil).Cache("db0") }},
		{name: "class async", open: ofClass("async")},
		{name: "class sync", open: ofClass("sync")},
		{name: "memory", open: func(t *testing.T) *howdah.Cache { return openNear(t, url).Cache("near") }},
	} {
		d.divided = true
		t.Run(d.name, func(t *testing.T) {
			c := d.open(t)
			for _, part := range contract {
				t.Run(part.name, func(t *testing.T) {
					part.test(t, &fixture{T: t, Cache: c, prefix: d.prefix(part.name)})
				})
			}
		})
	}
}
