//go:build citus

package howdah_test

import (
	"testing"

	"github.com/howdah/howdah"
	"github.com/howdah/howdah/internal/pgtest"
)

// The contract holds where Citus has placed the partitions on several servers.
func TestContractOnCitus(t *testing.T) {
	cluster := pgtest.StartCitus(t, 2)
	cluster.Divide(8)
	c := open(t, cluster.Coordinator().URL(), nil).Cache("db0")
	d := door{divided: true}
	for _, part := range contract {
		t.Run(part.name, func(t *testing.T) {
			part.test(t, &fixture{T: t, Cache: c, prefix: d.prefix(part.name)})
		})
	}
}

var _ *howdah.Cache
