//go:build peers

package redisapi

import (
	"strings"
	"testing"
)

// Redis replies to commands on keys of other kinds as Howdah does.
func TestKindsOfRedis(t *testing.T) {
	t.Parallel()
	s := serve(t, Options{})
	s.collection("k", aHashKind, aHash)
	howdah, redis := dial(t, s.addr()), dial(t, startRedis(t))
	redis.want(":1\r\n", "HSET", "k", "f", "v")
	howdah.do("SET", "s", "1")
	redis.do("SET", "s", "1")
	commands := onStrings
	for _, line := range onKinds {
		commands = append(commands, line.command)
	}
	for _, command := range commands {
		want := redis.do(strings.Fields(command)...)
		if command == "OBJECT ENCODING k" && want == bulk("ziplist") { // its name before Redis 7
			want = bulk("listpack")
		}
		howdah.wantOfKind(want, command)
	}
}
