package server

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/howdah/howdah/internal/resp"
	"github.com/howdah/howdah/internal/test/await"
)

func TestLimits(t *testing.T) {
	t.Parallel()
	t.Run("clients", func(t *testing.T) {
		t.Parallel()
		drivers(t, func(t *testing.T, configure func(*Config)) {
			s := start(t, func(c *Config) {
				c.MaxClients = 2
				configure(c)
			})
			first, second := s.dial(), s.dial()
			first.send("PING")
			second.send("PING")
			first.reply()
			second.reply()
			third := s.dial()
			require.Equal(t, "ERR max number of clients reached", string(third.reply().Str))
			third.closed()
			second.Close()
			require.Eventually(t, func() bool {
				c := s.dial()
				defer c.Close()
				c.send("PING")
				reply, err := resp.ReadReply(c.in)
				return err == nil && string(reply.Str) == "PONG"
			}, time.Minute, 20*time.Millisecond)
		})
	})
	t.Run("idle", func(t *testing.T) {
		t.Parallel()
		drivers(t, func(t *testing.T, configure func(*Config)) {
			s := start(t, func(c *Config) {
				c.IdleTimeout = 10 * time.Second // the busy one must not miss it
				configure(c)
			})
			subscriber := s.dial()
			subscriber.send("SUBSCRIBE", "c")
			subscriber.reply()
			idle, busy := s.dial(), s.dial()
			gone := make(chan error, 1)
			go func() {
				_, err := io.ReadAll(idle)
				gone <- err
			}()
			for waiting := true; waiting; {
				busy.send("PING")
				require.Equal(t, "PONG", string(busy.reply().Str))
				select {
				case err := <-gone:
					require.NoError(t, err)
					waiting = false
				case <-time.After(100 * time.Millisecond):
				}
			}
			// It has been silent for longer than the one that was closed.
			busy.send("PUBLISH", "c", "m")
			require.EqualValues(t, 1, busy.reply().Int)
			require.Equal(t, "message", string(subscriber.reply().Elems[0].Str))
		})
	})
	t.Run("stalled", func(t *testing.T) {
		t.Parallel()
		drivers(t, func(t *testing.T, configure func(*Config)) {
			s := start(t, func(c *Config) {
				c.StallTimeout, c.Timeout = time.Second, 10*time.Second
				configure(c)
			})
			c := s.dial()
			c.send("SET", "k", strings.Repeat("v", 1<<20))
			require.Equal(t, "OK", string(c.reply().Str))
			_, _ = c.Write(bytes.Repeat(resp.AppendCommand(nil, "GET", "k"), 64)) // it may be cut off already
			other := s.dial()
			require.Eventually(t, func() bool {
				other.send("INFO", "clients")
				return strings.Contains(string(other.reply().Str), "connected_clients:1\r\n")
			}, time.Minute, 50*time.Millisecond)
		})
	})
	t.Run("authentication", func(t *testing.T) {
		t.Parallel()
		drivers(t, func(t *testing.T, configure func(*Config)) {
			s := start(t, func(c *Config) {
				c.Password, c.AuthTimeout = "secret", 10*time.Second // the known one must not miss it
				configure(c)
			})
			known := s.dial()
			known.send("AUTH", "secret")
			require.Equal(t, "OK", string(known.reply().Str))
			slow := s.dial()
			await.True(t, "the connection is closed: one byte at a time does not keep it alive", func() bool {
				if _, err := slow.Write([]byte("*")); err != nil {
					return true
				}
				require.NoError(t, slow.SetReadDeadline(time.Now().Add(100*time.Millisecond)))
				_, err := slow.in.Peek(1)
				return errors.Is(err, io.EOF)
			})
			known.send("PING")
			require.Equal(t, "PONG", string(known.reply().Str))
		})
	})
}
