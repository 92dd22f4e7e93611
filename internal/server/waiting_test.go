package server

import (
	"net"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// blockedClients waits until so many clients wait for a key.
func (s *running) blockedClients(n string) {
	s.t.Helper()
	c := s.client()
	require.Eventually(s.t, func() bool {
		info, err := c.Info(s.t.Context(), "clients").Result()
		return err == nil && strings.Contains(info, "blocked_clients:"+n+"\r\n")
	}, time.Minute, time.Millisecond)
}

// A shutdown ends the connections of clients that wait, at once and without an answer.
func TestShutdownOfClientsThatWait(t *testing.T) {
	t.Parallel()
	drivers(t, func(t *testing.T, configure func(*Config)) {
		s := start(t, configure)
		blocked, behind := s.dial(), s.dial()
		blocked.send("BLPOP", "k", "0")
		behind.send("BLMOVE", "k", "l", "LEFT", "LEFT", "100")
		s.blockedClients("2")
		require.NoError(t, s.stop(), "it had to cut connections off")
		blocked.closed()
		behind.closed()
	})
}

// A client that leaves while it waits takes nothing with it, whether it closes its
// connection, only its own direction of it, or is killed.
func TestClientsThatLeaveWhileTheyWait(t *testing.T) {
	t.Parallel()
	drivers(t, func(t *testing.T, configure func(*Config)) {
		s := start(t, configure)
		c := s.client()
		gone, half, killed := s.dial(), s.dial(), s.dial()
		gone.send("BLPOP", "k", "0")
		half.send("BRPOP", "k", "0")
		killed.send("CLIENT", "SETNAME", "killed")
		killed.reply()
		killed.send("BLPOP", "k", "0")
		s.blockedClients("3")
		list := c.ClientList(t.Context()).Val()
		require.Equal(t, 3, strings.Count(list, " flags=b "), list)
		require.NoError(t, gone.Close())
		s.blockedClients("2")
		if tcp, ok := half.Conn.(*net.TCPConn); ok {
			require.NoError(t, tcp.CloseWrite())
		} else {
			require.NoError(t, half.Close())
		}
		s.blockedClients("1")
		for line := range strings.Lines(list) {
			if strings.Contains(line, "name=killed ") {
				id, _, _ := strings.Cut(strings.TrimPrefix(line, "id="), " ")
				require.NoError(t, c.ClientKillByFilter(t.Context(), "ID", id).Err())
			}
		}
		s.blockedClients("0")
		killed.closed()
		require.NoError(t, c.RPush(t.Context(), "k", "a").Err())
		require.Equal(t, int64(1), c.LLen(t.Context(), "k").Val())
	})
}

// The metrics tell how many wait.
func TestMetricOfClientsThatWait(t *testing.T) {
	t.Parallel()
	s := start(t, nil)
	c := s.dial()
	c.send("BLPOP", "k", "0")
	s.blockedClients("1")
	_, body := s.get("/metrics", "")
	require.Contains(t, body, "howdah_redis_clients_blocked 1\n")
}
