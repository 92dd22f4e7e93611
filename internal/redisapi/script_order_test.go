package redisapi

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/howdah/howdah/internal/resp"
)

// A script sees what its connection wrote before, also under keys that it does not
// declare, and what follows it sees what it wrote.
func TestScriptsAreInOrder(t *testing.T) {
	t.Parallel()
	client := dial(t, serve(t, Options{}).addr())
	const rounds = 100
	var data []byte
	for i := range rounds {
		for _, line := range []string{
			fmt.Sprintf("SET undeclared %d", i),
			"EVAL|return redis.call('get',redis.call('get','name'))|0",
			fmt.Sprintf("EVAL|redis.call('set',KEYS[1],'script%d')|1|declared", i),
			"GET declared",
		} {
			words := strings.Split(line, "|")
			if len(words) == 1 {
				words = strings.Fields(line)
			}
			data = resp.AppendCommand(data, words...)
		}
	}
	require.Equal(t, "+OK\r\n", client.do("SET", "name", "undeclared"))
	client.send(data)
	for i := range rounds {
		require.Equal(t, "+OK\r\n", client.reply())
		require.Equal(t, string(resp.AppendBulkString(nil, fmt.Sprint(i))), client.reply())
		require.Equal(t, "$-1\r\n", client.reply())
		require.Equal(t, string(resp.AppendBulkString(nil, fmt.Sprintf("script%d", i))), client.reply())
	}
}
