//go:build peers

package main

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// A Redis server that is named is called by its name, and nothing is asked of it but "howdah cli".
func TestRedisIsNotHowdah(t *testing.T) {
	t.Parallel()
	addr := startRedis(t)
	for _, args := range [][]string{{"get", "k"}, {"set", "k", "v"}, {"del", "k"}, {"ttl", "k"}, {"keys"}, {"slow"}, {"monitor"}, {"stat", "--once", "--interval", "100ms"}} {
		r := execute(t, "", nil, append([]string{args[0], "--server", addr}, args[1:]...)...)
		require.Equal(t, exitFailed, r.code)
		require.Regexp(t, addr+` is Redis \d+\.\d+\.\d+, not Howdah`, r.err)
	}
	require.Equal(t, "0\n", execute(t, "", nil, "cli", "-u", addr, "EXISTS", "k").out)
}
