package redisapi

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/howdah/howdah/internal/observe"
	"github.com/howdah/howdah/internal/resp"
)

// A connection of the process has the commands, the errors and the transactions of every client, and
// its changes are remembered as those of its own door.
func TestLocalConnection(t *testing.T) {
	t.Parallel()
	s := serve(t, Options{})
	l := s.engine.ConnectLocal(observe.Client{Door: observe.DoorConsole, Name: "admin", Address: "192.0.2.1:5"})
	defer l.Close()
	do := func(words ...string) resp.Reply {
		t.Helper()
		reply, err := l.Do(t.Context(), words...)
		require.NoError(t, err)
		return reply
	}
	large := strings.Repeat("x", 1<<20)
	require.Equal(t, "OK", string(do("SET", "k", large).Str))
	require.Equal(t, large, string(do("GET", "k").Str))
	require.EqualValues(t, 2, do("RPUSH", "l", "a", "b").Int)
	require.Len(t, do("LRANGE", "l", "0", "-1").Elems, 2)
	require.ErrorContains(t, do("INCR", "l").Err(), "WRONGTYPE")
	require.ErrorContains(t, do("NONSENSE").Err(), "unknown command")

	do("WATCH", "k")
	do("MULTI")
	require.Equal(t, "QUEUED", string(do("SET", "k", "v").Str))
	other := s.engine.ConnectLocal(observe.Client{Door: observe.DoorConsole})
	defer other.Close()
	_, err := other.Do(t.Context(), "SET", "k", "theirs")
	require.NoError(t, err)
	require.Equal(t, resp.Null, do("EXEC").Kind)
	require.Equal(t, "theirs", string(do("GET", "k").Str))
	var names []string
	for _, c := range s.engine.Clients() {
		names = append(names, c.Name+" "+c.Door+" "+c.Address)
	}
	require.Contains(t, names, "admin console 192.0.2.1:5")
}

// What a line does is known before it runs.
func TestDescribe(t *testing.T) {
	t.Parallel()
	e := serve(t, Options{}).engine
	for line, want := range map[string]Described{
		"get k":             {Name: "get", Group: "string", Keys: [][]byte{[]byte("k")}, Reads: true},
		"MSET a 1 b 2":      {Name: "mset", Group: "string", Keys: [][]byte{[]byte("a"), []byte("b")}, Writes: true},
		"eval x 1 k":        {Name: "eval", Group: "scripting", Keys: [][]byte{[]byte("k")}, Writes: true},
		"publish c m":       {Name: "publish", Group: "pubsub", Writes: true},
		"blpop l 0":         {Name: "blpop", Group: "list", Keys: [][]byte{[]byte("l")}, Writes: true, Blocks: true},
		"object encoding k": {Name: "object|encoding", Group: "generic", Keys: [][]byte{[]byte("k")}, Reads: true},
		"monitor":           {Name: "monitor", Group: "server", Admin: true},
	} {
		var words [][]byte
		for _, word := range strings.Fields(line) {
			words = append(words, []byte(word))
		}
		got, err := e.Describe(words)
		require.NoError(t, err, line)
		require.Equal(t, want, got, line)
	}
	_, err := e.Describe([][]byte{[]byte("get")})
	require.ErrorContains(t, err, "wrong number of arguments")
	_, err = e.Describe([][]byte{[]byte("nonsense")})
	require.ErrorContains(t, err, "unknown command")
}
