package server

import (
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// slowAnswer is what /v1/slow says of one call.
type slowAnswer struct {
	Op, Command, Verb, Cache, Key, Door, Client, Address string
	Keys                                                 int
	Duration                                             int64 `json:"duration_us"`
	Queued                                               int64 `json:"queued_us"`
	Statement                                            int64 `json:"statement_us"`
	Blocked                                              int64 `json:"blocked_us"`
}

// Slow calls come through every door, and are shown over HTTP, in the log and in a metric,
// without values and secrets.
func TestSlowCallsAreObserved(t *testing.T) {
	t.Parallel()
	s := start(t, func(c *Config) { c.SlowCall, c.Console.Mask = 1, []string{"invite:"} })
	c := s.dial()
	for _, command := range []string{"CLIENT SETNAME worker", "SET sess:SECRET VALUE", "MGET a invite:SECRET"} {
		c.send(strings.Fields(command)...)
		require.NoError(t, c.reply().Err(), command)
	}
	status, body := s.get("/v1/caches/db0/entries/invite:SECRET", "")
	require.Equal(t, http.StatusNotFound, status, body)

	var slow struct {
		Sees      string
		Threshold *int64 `json:"threshold_us"`
		Kept      int
		Reads     int
		Writes    int
		Calls     []slowAnswer
	}
	s.read("/v1/slow", &slow)
	require.Equal(t, "this server", slow.Sees)
	require.Equal(t, int64(0), *slow.Threshold)
	require.Equal(t, []int{128, 2, 1}, []int{slow.Kept, slow.Reads, slow.Writes})
	require.Len(t, slow.Calls, 3)
	for i := range slow.Calls {
		call := &slow.Calls[i]
		require.InDelta(t, call.Duration, call.Queued+call.Statement, 3)
		require.Positive(t, call.Statement)
		require.Zero(t, call.Blocked)
		call.Duration, call.Queued, call.Statement = 0, 0, 0
	}
	address := c.LocalAddr().String()
	require.Equal(t, slowAnswer{Op: "read", Verb: "get_entry", Cache: "db0", Key: "invite:***", Keys: 1, Door: "HTTP", Address: slow.Calls[0].Address}, slow.Calls[0])
	require.Equal(t, slowAnswer{Op: "read", Command: "mget", Verb: "get_many", Cache: "db0", Key: "a", Keys: 2, Door: "RESP", Client: "worker", Address: address}, slow.Calls[1])
	require.Equal(t, slowAnswer{Op: "write", Command: "set", Verb: "set", Cache: "db0", Key: "sess:***", Keys: 1, Door: "RESP", Client: "worker", Address: address}, slow.Calls[2])

	s.read("/v1/slow?limit=1", &slow)
	require.Len(t, slow.Calls, 1)
	for _, limit := range []string{"0", "x", "5000"} {
		status, _ = s.get("/v1/slow?limit="+limit, "")
		require.Equal(t, http.StatusBadRequest, status, limit)
	}
	require.Contains(t, s.series(), "howdah_slow_calls_total{op=\"read\"} 2\n")
	require.Contains(t, s.series(), "howdah_slow_calls_total{op=\"write\"} 1\n")

	status, _ = s.call(http.MethodDelete, "/v1/slow", "", "")
	require.Equal(t, http.StatusNoContent, status)
	s.read("/v1/slow", &slow)
	require.Empty(t, slow.Calls)
	require.Equal(t, []int{2, 1}, []int{slow.Reads, slow.Writes})

	require.NoError(t, s.stop())
	require.Contains(t, s.log.String(), `msg="slow call" command=set cache=db0 key=sess:*** keys=1`)
	require.NotContains(t, s.log.String(), "SECRET")
	require.NotContains(t, s.log.String(), "VALUE")
}
