package server

import (
	"crypto/tls"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/howdah/howdah/internal/pipeline"
)

// pieces is a connection that counts what is written for each deadline.
type pieces struct {
	net.Conn
	since, most, total int
	err                error
}

func (p *pieces) SetWriteDeadline(time.Time) error {
	p.since = 0
	return nil
}

func (p *pieces) Write(b []byte) (int, error) {
	p.since += len(b)
	p.total += len(b)
	p.most = max(p.most, p.since)
	return len(b), p.err
}

// A client that takes a reply slowly is not one that takes nothing.
func TestDeadlineOfEachPiece(t *testing.T) {
	t.Parallel()
	s := &driver{log: slog.New(slog.DiscardHandler), limits: connLimits{stallTimeout: time.Minute}}
	const size = 10*maxPiece + 1
	send := func(nc net.Conn) bool {
		c := &blockingConn{nc: nc, driver: s, client: client{conn: answering{}}}
		c.client.out.Append(make([]byte, size-5000))
		c.client.out.AppendOwned(make([]byte, 5000))
		return c.send()
	}
	nc := &pieces{}
	require.True(t, send(nc))
	require.Equal(t, []int{size, maxPiece}, []int{nc.total, nc.most})
	require.Zero(t, s.dropped.Load())

	require.False(t, send(&pieces{err: io.ErrClosedPipe}))
	require.Zero(t, s.dropped.Load(), "the client has gone")
	require.False(t, send(&pieces{err: os.ErrDeadlineExceeded}))
	require.EqualValues(t, 1, s.dropped.Load())
}

// answering is a connection that has one reply ready.
type answering struct{ Protocol }

func (answering) Output(out *pipeline.Output) bool { out.Append([]byte("+OK\r\n")); return false }
func (answering) Ended()                           {}
func (answering) Unauthenticated() time.Duration   { return 0 }
func (answering) Pending() bool                    { return true }
func (answering) Backlog(int)                      {}

// The time of a client that took all its replies begins with the next one, even if
// it is judged before anything of that is written.
func TestStallBeginsWithTheReply(t *testing.T) {
	t.Parallel()
	now := time.Now()
	limits := &connLimits{stallTimeout: time.Minute}
	c := client{conn: answering{}, active: now}
	for _, later := range []time.Duration{0, time.Hour} {
		c.take(now.Add(later))
		require.Empty(t, c.expired(now.Add(later), limits), "after %v", later)
		c.out.Discard(c.out.Len())
	}
	c.take(now)
	c.take(now.Add(time.Hour)) // and is not renewed by more replies
	require.Equal(t, stalledReason, c.expired(now.Add(time.Hour), limits))
}

// stall has the server write to a client that does not read.
func (s *running) stall() *rawConn {
	s.t.Helper()
	c := s.dial()
	c.send("SET", "k", strings.Repeat("v", 1<<20))
	require.Equal(s.t, "OK", string(c.reply().Str))
	for range 64 {
		c.send("GET", "k")
	}
	_, err := c.in.Peek(1) // replies are on their way, and stay there
	require.NoError(s.t, err)
	return c
}

// CLIENT KILL ends a client that does not read.
func TestKillOfStalledClient(t *testing.T) {
	t.Parallel()
	certs := newCertificates(t)
	test := func(t *testing.T, configure func(*Config)) {
		s := start(t, func(c *Config) {
			c.Timeout, c.StallTimeout = 10*time.Second, time.Hour
			configure(c)
		})
		if s.config.TLSCert != "" {
			s.tls = &tls.Config{RootCAs: certs.pool, ServerName: "localhost"}
		}
		stalled, admin := s.stall(), s.dial()
		sent := ""
		require.Eventually(t, func() bool { // until nothing more goes out
			before := sent
			admin.send("INFO", "clients")
			admin.reply()
			admin.send("CLIENT", "LIST")
			for line := range strings.Lines(string(admin.reply().Str)) {
				if strings.Contains(line, "addr="+stalled.LocalAddr().String()) {
					_, sent, _ = strings.Cut(line, "oll=")
				}
			}
			return sent == before
		}, time.Minute, 100*time.Millisecond)
		admin.send("CLIENT", "KILL", "ADDR", stalled.LocalAddr().String())
		require.EqualValues(t, 1, admin.reply().Int)
		require.Eventually(t, func() bool {
			admin.send("INFO", "clients")
			return strings.Contains(string(admin.reply().Str), "connected_clients:1\r\n")
		}, time.Minute, 20*time.Millisecond)
	}
	drivers(t, test)
	t.Run("tls", func(t *testing.T) {
		test(t, func(c *Config) { c.TLSCert, c.TLSKey = certs.cert, certs.key })
	})
}

// A client whose replies are on their way is not idle, however long it takes.
func TestStalledClientIsNotIdle(t *testing.T) {
	t.Parallel()
	drivers(t, func(t *testing.T, configure func(*Config)) {
		s := start(t, func(c *Config) {
			c.Timeout, c.StallTimeout, c.IdleTimeout = patience, time.Hour, 3*time.Second
			configure(c)
		})
		stalled := s.stall()
		for range 2 { // the time of others is up meanwhile
			s.dial().closed()
		}
		require.NoError(t, stalled.SetDeadline(time.Now().Add(2*time.Minute)))
		for i := range 64 {
			require.Len(t, stalled.reply().Str, 1<<20, fmt.Sprint("reply ", i))
		}
	})
}
