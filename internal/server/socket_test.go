package server

import (
	"bytes"
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/howdah/howdah/internal/resp"
	"github.com/howdah/howdah/internal/test/seed"
)

// What a client sends may arrive in any pieces.
func TestTrickledBytes(t *testing.T) {
	t.Parallel()
	drivers(t, func(t *testing.T, configure func(*Config)) {
		s := start(t, configure)
		c := s.dial()
		input := resp.AppendCommand(nil, "SET", "k", "a value\r\nwith line ends")
		input = resp.AppendCommand(input, "GET", "k")
		input = append(input, "PING\r\n"...)
		for i := range input {
			_, err := c.Write(input[i : i+1])
			require.NoError(t, err)
		}
		require.Equal(t, "OK", string(c.reply().Str))
		require.Equal(t, "a value\r\nwith line ends", string(c.reply().Str))
		require.Equal(t, "PONG", string(c.reply().Str))
	})
}

// Random requests, cut at random places, are answered in order.
func TestRandomPieces(t *testing.T) {
	t.Parallel()
	drivers(t, func(t *testing.T, configure func(*Config)) {
		s := start(t, func(c *Config) {
			c.Timeout = 30 * time.Second
			configure(c)
		})
		r := seed.Rand(t)
		c := s.dial()
		const rounds = 300
		values := make([][]byte, rounds)
		var input []byte
		for i := range values {
			size := r.IntN(2000)
			if r.IntN(20) == 0 {
				size = r.IntN(300_000)
			}
			values[i] = randomBytes(r, size)
			key := []byte(fmt.Sprint("key", i))
			input = resp.AppendCommand(input, []byte("SET"), key, values[i])
			input = resp.AppendCommand(input, []byte("GET"), key)
		}
		written := make(chan error, 1)
		go func() {
			for len(input) > 0 {
				n := min(len(input), 1+r.IntN(100_000))
				if _, err := c.Write(input[:n]); err != nil {
					written <- err
					return
				}
				input = input[n:]
			}
			written <- nil
		}()
		for i, want := range values {
			require.Equal(t, "OK", string(c.reply().Str))
			reply := c.reply()
			require.NoError(t, reply.Err())
			require.True(t, bytes.Equal(want, reply.Str), "value %d differs", i)
		}
		require.NoError(t, <-written)
	})
}

// A value near the limit goes in and out; one beyond it is refused before it
// has arrived.
func TestLargeValue(t *testing.T) {
	t.Parallel()
	drivers(t, func(t *testing.T, configure func(*Config)) {
		s := start(t, func(c *Config) {
			c.MaxRequestBytes = 16 << 20
			c.Timeout = 30 * time.Second
			configure(c)
		})
		c := s.dial()
		want := randomBytes(seed.Rand(t), 16<<20)
		_, err := c.Write(resp.AppendCommand(nil, []byte("SET"), []byte("big"), want))
		require.NoError(t, err)
		require.Equal(t, "OK", string(c.reply().Str))
		c.send("GET", "big")
		require.True(t, bytes.Equal(want, c.reply().Str), "the value came back different")

		_, err = fmt.Fprintf(c, "*3\r\n$3\r\nSET\r\n$3\r\nbig\r\n$%d\r\n", 16<<20+1)
		require.NoError(t, err)
		require.Contains(t, string(c.reply().Str), "invalid bulk length")
		c.closed()
	})
}

// A client that closes its sending side still gets every reply.
func TestHalfClose(t *testing.T) {
	t.Parallel()
	drivers(t, func(t *testing.T, configure func(*Config)) {
		s := start(t, func(c *Config) {
			configure(c)
			c.Timeout = 30 * time.Second // a thousand commands on seven keys
		})
		c := s.dial()
		var input []byte
		for i := range 1000 {
			input = resp.AppendCommand(input, "INCR", fmt.Sprint("n", i%7))
		}
		input = append(input, "*2\r\n$3\r\nGET\r\n$1"...) // an unfinished request is no reason to hang
		_, err := c.Write(input)
		require.NoError(t, err)
		require.NoError(t, c.Conn.(*net.TCPConn).CloseWrite())
		for i := range 1000 {
			require.Equal(t, int64(i/7+1), c.reply().Int)
		}
		c.closed()
	})
}

// Clients that vanish in the middle of a pipeline disturb nobody, and what they
// held is given back.
func TestDisconnectMidPipeline(t *testing.T) {
	t.Parallel()
	drivers(t, func(t *testing.T, configure func(*Config)) {
		s := start(t, configure)
		steady := s.dial()
		for round := range 50 {
			c := s.dial()
			var input []byte
			for i := range 200 {
				input = resp.AppendCommand(input, "SET", fmt.Sprint("key", i), strings.Repeat("x", 500))
			}
			_, err := c.Write(input[:len(input)-round])
			require.NoError(t, err)
			if round%2 == 0 {
				require.NoError(t, c.Conn.(*net.TCPConn).SetLinger(0)) // a reset
			}
			require.NoError(t, c.Close())
			steady.send("PING")
			require.Equal(t, "PONG", string(steady.reply().Str))
		}
		require.Eventually(t, func() bool {
			steady.send("INFO", "clients")
			return strings.Contains(string(steady.reply().Str), "connected_clients:1\r\n")
		}, time.Minute, 20*time.Millisecond)
	})
}

func TestProtocolError(t *testing.T) {
	t.Parallel()
	drivers(t, func(t *testing.T, configure func(*Config)) {
		s := start(t, configure)
		c := s.dial()
		_, err := c.Write([]byte("PING\r\n*1\r\n!oops\r\nPING\r\n"))
		require.NoError(t, err)
		require.Equal(t, "PONG", string(c.reply().Str))
		require.Contains(t, string(c.reply().Str), "Protocol error")
		c.closed()

		browser := s.dial()
		_, err = browser.Write([]byte("POST / HTTP/1.1\r\nHost: localhost\r\n\r\n"))
		require.NoError(t, err)
		browser.closed()
	})
}
