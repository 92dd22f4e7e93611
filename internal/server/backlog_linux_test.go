package server

import (
	"bufio"
	"bytes"
	"context"
	"log/slog"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/howdah/howdah"
	"github.com/howdah/howdah/internal/core"
	"github.com/howdah/howdah/internal/redisapi"
	"github.com/howdah/howdah/internal/resp"
	"github.com/howdah/howdah/internal/test/pgtest"
)

// eachClient visits every connection as its driver sees it.
func (s *driver) eachClient(visit func(*client)) {
	for _, l := range s.loops {
		done := make(chan struct{})
		l.do(func() {
			for _, c := range l.conns {
				visit(&c.client)
			}
			close(done)
		})
		<-done
	}
	s.eachBlocking(func(c *blockingConn) {
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.client.conn != nil {
			visit(&c.client)
		}
	})
}

// A client that only writes is not read for ever: TCP stops it, memory stays
// bounded, and others are served. When it reads at last, nothing is missing.
func TestClientThatDoesNotRead(t *testing.T) {
	t.Parallel()
	db, err := howdah.Open(t.Context(), pgtest.New(t), nil)
	require.NoError(t, err)
	defer db.Close()
	const maxPending = 1 << 20
	for name, eventLoop := range map[string]bool{"event loop": true, "goroutines": false} {
		t.Run(name, func(t *testing.T) {
			engine, err := redisapi.New(redisapi.Options{DB: (*core.DB)(db), MaxPendingBytes: maxPending})
			require.NoError(t, err)
			defer engine.Close()
			limits := connLimits{maxClients: 10, authTimeout: time.Hour, stallTimeout: time.Hour}
			s, err := newDriver(redisDoor(engine), limits, eventLoop, slog.New(slog.DiscardHandler))
			require.NoError(t, err)
			listener, err := net.Listen("tcp", "127.0.0.1:0")
			require.NoError(t, err)
			var work sync.WaitGroup
			work.Go(func() { s.serve(listener) })
			defer func() {
				listener.Close()
				ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
				defer cancel()
				require.NoError(t, s.shutdown(ctx))
				work.Wait()
			}()
			dial := func() net.Conn {
				c, err := net.Dial("tcp", listener.Addr().String())
				require.NoError(t, err)
				t.Cleanup(func() { c.Close() })
				require.NoError(t, c.SetDeadline(time.Now().Add(2*time.Minute)))
				return c
			}

			// Several times what both sockets hold.
			const requests, size = 4096, 16 << 10
			message := bytes.Repeat([]byte("m"), size)
			request := resp.AppendCommand(nil, []byte("ECHO"), message)
			c := dial()
			var sent atomic.Int64
			work.Go(func() {
				for range requests {
					if _, err := c.Write(request); err != nil {
						return
					}
					sent.Add(1)
				}
			})
			const bound = 2 * (softInput + minRead) // a read fills the buffer, which grows by doubling
			before, still, backlog := int64(0), 0, 0
			require.Eventually(t, func() bool {
				reading := false
				s.eachClient(func(c *client) {
					reading = reading || c.wantsInput()
					backlog = max(backlog, c.in.len())
				})
				if now := sent.Load(); reading || now != before {
					before, still = now, 0
				}
				still++
				return still > 20 || backlog > bound
			}, time.Minute, 10*time.Millisecond)
			require.LessOrEqual(t, backlog, bound)
			require.Less(t, sent.Load(), int64(requests), "requests that were taken, with no reply read")

			other := dial()
			_, err = other.Write([]byte("PING\r\n"))
			require.NoError(t, err)
			reply, err := resp.ReadReply(bufio.NewReader(other))
			require.NoError(t, err)
			require.Equal(t, "PONG", string(reply.Str))

			in := bufio.NewReader(c)
			for i := range requests {
				reply, err := resp.ReadReply(in)
				require.NoError(t, err)
				require.True(t, bytes.Equal(message, reply.Str), "reply %d", i)
			}
		})
	}
}
