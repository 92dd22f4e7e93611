//go:build peers

package redisapi

import (
	"testing"

	"github.com/howdah/howdah/internal/test/seed"
	"github.com/howdah/howdah/internal/values"
)

// TestGlobOfRedis compares values.Match with redis-server: random keys and patterns
// of the bytes that have a meaning. HOWDAH_SEED repeats a run.
func TestGlobOfRedis(t *testing.T) {
	t.Parallel()
	random := seed.Rand(t)
	text := func(alphabet string, longest int) string {
		b := make([]byte, 1+random.IntN(longest))
		for i := range b {
			b[i] = alphabet[random.IntN(len(alphabet))]
		}
		return string(b)
	}
	redis := dial(t, startRedis(t))
	keys := make(map[string]bool)
	for range 300 {
		key := text("aabbc]-^*\\[\xff", 6)
		keys[key] = true
		redis.do("SET", key, "")
	}
	for range 3000 {
		pattern := text("aabc[[]]-^*?\\\xff", 8)
		found := make(map[string]bool)
		for _, key := range elements(redis.do("KEYS", pattern)) {
			found[key] = true
		}
		for key := range keys {
			if got := pattern == "*" || values.Match([]byte(pattern), []byte(key)); got != found[bulk(key)] {
				t.Fatalf("pattern %q, key %q: %v, Redis says %v", pattern, key, got, found[bulk(key)])
			}
		}
	}
}
