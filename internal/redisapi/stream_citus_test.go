//go:build citus && peers

package redisapi

import (
	"testing"

	"github.com/howdah/howdah/internal/test/pgtest"
)

// With one hash tag in all keys a database on several servers answers as redis-server.
func TestStreamOnCitus(t *testing.T) {
	t.Parallel()
	cluster := pgtest.StartCitus(t, 2)
	cluster.Divide(streamPartitions)
	compareStreams(t, 4_000, streamTag, serveURL(t, cluster.Coordinator().URL(), Options{}).addr())
}
