package server

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// read answers a GET of JSON.
func (s *running) read(path string, answer any) {
	s.t.Helper()
	status, body := s.get(path, "")
	require.Equal(s.t, 200, status, body)
	require.NoError(s.t, json.Unmarshal([]byte(body), answer))
}

// removalAnswer is what /v1/removals says of one removal.
type removalAnswer struct {
	Cache, Key, Reason, Command, Door, Client, Library, Version, Address string
}

// What Redis clients do is shown over HTTP: who removed a key, who is connected, what is read, and what they miss.
func TestRedisClientsAreObserved(t *testing.T) {
	t.Parallel()
	s := start(t, func(c *Config) { c.PrefixSample = 1 })
	c := s.dial()
	for _, command := range []string{
		"CLIENT SETNAME worker", "CLIENT SETINFO LIB-NAME redis-py(django)", "CLIENT SETINFO LIB-VER 5.0", "SET user:1 x", "GET user:1", "GET user:2", "DEL user:1",
	} {
		c.send(strings.Fields(command)...)
		require.NoError(t, c.reply().Err(), command)
	}
	var removals struct{ Removals []removalAnswer }
	s.read("/v1/removals?cache=db0&key=user:1", &removals)
	require.Equal(t, []removalAnswer{{
		"db0", "user:1", "deleted", "del", "RESP", "worker", "redis-py(django)", "5.0", c.LocalAddr().String(),
	}}, removals.Removals)

	var prefixes struct{ Prefixes []map[string]any }
	s.read("/v1/caches/db0/prefixes", &prefixes)
	require.Equal(t, []map[string]any{{"prefix": "user:", "hits": 1.0, "misses": 1.0, "hit_ratio": 0.5, "uncounted": 0.0}}, prefixes.Prefixes)

	other := s.dial()
	for range 2 {
		other.send("GEOADD", "k", "1", "2", "x")
		require.Error(t, other.reply().Err())
	}
	c.send("GEOADD", "k", "1", "2", "x")
	require.Error(t, c.reply().Err())
	var unknown struct{ Commands []map[string]any }
	s.read("/v1/commands/unknown", &unknown)
	require.Equal(t, []map[string]any{{"command": "geoadd", "count": 3.0, "libraries": []any{
		map[string]any{"library": "", "count": 2.0}, map[string]any{"library": "redis-py(django)", "count": 1.0},
	}}}, unknown.Commands)

	require.Contains(t, s.series(), "howdah_redis_clients_by_library{library=\"redis-py\"} 1\n")
	require.Contains(t, s.series(), "howdah_redis_clients_by_library{library=\"other\"} 1\n")
	require.Contains(t, s.series(), "howdah_redis_clients_by_library{library=\"lettuce\"} 0\n")
	s.killOver(t, c)
}

// killOver has the connection of a client closed over HTTP.
func (s *running) killOver(t *testing.T, c *rawConn) {
	var clients struct {
		Total       int
		Clients     []map[string]any
		Connections []struct {
			ID                       int64
			Client, Address, Command string
			Age, Idle                float64
		}
	}
	s.read("/v1/clients", &clients)
	require.Equal(t, 2, clients.Total)
	require.Equal(t, map[string]any{"library": "redis-py(django)", "client": "worker", "connections": 1.0}, clients.Clients[1])
	worker := clients.Connections[0]
	require.Equal(t, "worker", worker.Client)
	require.Equal(t, c.LocalAddr().String(), worker.Address)
	require.Equal(t, "del", worker.Command, "the last one that there is")
	require.GreaterOrEqual(t, worker.Age, worker.Idle)

	kill := func() int {
		request, err := http.NewRequestWithContext(t.Context(), "DELETE", fmt.Sprintf("http://%s/v1/clients/%d", s.HTTP, worker.ID), nil)
		require.NoError(t, err)
		response, err := http.DefaultTransport.RoundTrip(request)
		require.NoError(t, err)
		defer response.Body.Close()
		return response.StatusCode
	}
	require.Equal(t, 204, kill())
	require.NoError(t, c.SetReadDeadline(time.Now().Add(patience)))
	_, err := c.Read(make([]byte, 1))
	require.Error(t, err)
	require.Eventually(t, func() bool { return kill() == 404 }, patience, 10*time.Millisecond)
}

// What is off is not remembered, and a bound that would take all memory is refused.
func TestObservingIsAnOption(t *testing.T) {
	t.Parallel()
	s := start(t, func(c *Config) { c.Removals, c.PrefixSample = -1, -1 })
	c := s.dial()
	for _, command := range []string{"SET k v", "GET k", "DEL k"} {
		c.send(strings.Fields(command)...)
		require.NoError(t, c.reply().Err(), command)
	}
	var removals, prefixes map[string]any
	s.read("/v1/removals", &removals)
	require.Equal(t, map[string]any{"sees": "this server", "since": nil, "kept": 0.0, "removals": []any{}}, removals)
	s.read("/v1/caches/db0/prefixes", &prefixes)
	require.Equal(t, map[string]any{"sees": "this server", "since": nil, "sample": 0.0, "reads": 0.0, "prefixes": []any{}}, prefixes)

	config := s.config
	config.Removals = maxRemovals + 1
	require.ErrorContains(t, Run(t.Context(), config), "removals must not be more than 1000000")
}
