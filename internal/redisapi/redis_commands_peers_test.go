//go:build peers

package redisapi

import (
	"strings"
	"testing"
)

// Every command of redis-server is one that Howdah has, or one that it knows to lack.
func TestLackingCommandsOfRedis(t *testing.T) {
	t.Parallel()
	have := make(map[string]bool)
	newTable().each(func(cmd *Command) { have[cmd.fullName] = true })
	redis := dial(t, startRedis(t))
	names := strings.Fields(redis.do("COMMAND", "LIST"))
	if len(names) < 300 {
		t.Fatalf("%d names", len(names))
	}
	for _, name := range names {
		if strings.ContainsAny(name[:1], "*$") {
			continue // lengths of RESP
		}
		container, _, _ := strings.Cut(name, "|")
		if !have[container] && !IsRedisCommand(container) {
			t.Errorf("%s is unknown", name)
		}
	}
}
