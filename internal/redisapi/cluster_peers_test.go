//go:build peers

package redisapi

import (
	"testing"

	"github.com/howdah/howdah/internal/test/seed"
)

// TestSlotsOfRedis compares the slots of random keys with redis-server.
func TestSlotsOfRedis(t *testing.T) {
	t.Parallel()
	redis, howdah := dial(t, startRedisCluster(t)), dial(t, serve(t, Options{Cluster: Cluster{Enabled: true}}).addr())
	r := seed.Rand(t)
	for range 2000 {
		key := make([]byte, r.IntN(12))
		for i := range key {
			key[i] = "{}ab\x00\xff"[r.IntN(6)]
		}
		if want, got := redis.do("CLUSTER", "KEYSLOT", string(key)), howdah.do("CLUSTER", "KEYSLOT", string(key)); want != got {
			t.Fatalf("%q is in slot %s, in Redis %s", key, got, want)
		}
	}
}
