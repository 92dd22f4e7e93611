//go:build peers

package lua_test

import (
	"context"
	"testing"

	"github.com/howdah/howdah/internal/lua"
)

// TestRandomGoesOnAsInRedis draws numbers in one script after another, with seeds between them.
func TestRandomGoesOnAsInRedis(t *testing.T) {
	t.Parallel()
	server := startRedis(t)
	redis, random := server.dial(t, 2), lua.NewRandom(0x1234ABCD330E) // as redis-server begins
	for round := range 3 {
		for _, source := range []string{
			"return tostring(math.random())", "return {tostring(math.random()), math.random(1000), math.random(5, 9)}", "return 1",
			"math.randomseed(5)", "return tostring(math.random())", "math.randomseed(7) return tostring(math.random())", "return tostring(math.random())",
			"local n = math.random(100) math.randomseed(n) error('ends here')", "return tostring(math.random())", "math.random() math.randomseed(0) return math.random(10)",
		} {
			p, err := lua.Compile("user_script", []byte(source))
			if err != nil {
				t.Fatal(err)
			}
			want, numbers := redis.do("EVAL", source, "0"), random.Numbers()
			for again := range 2 { // a run that begins again gets the same numbers
				got, err := p.Run(context.Background(), &lua.Run{Host: newProxy(t, server), Protocol: 2, Numbers: numbers})
				if err != nil || string(got) != want {
					t.Errorf("round %d, run %d: %s\n got %q, %v\nwant %q", round, again, source, got, err, want)
				}
				numbers.Keep()
			}
		}
	}
}
