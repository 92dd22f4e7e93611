package server

import (
	"crypto/tls"
	"errors"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/howdah/howdah/internal/redisapi"
)

// blockingConn is a connection driven by two goroutines: one reads and feeds,
// one writes. TLS needs it, and platforms without the event loop.
type blockingConn struct {
	nc   net.Conn
	resp *respServer

	mu     sync.Mutex // guards client
	client client     // attached after the handshake

	conn atomic.Pointer[redisapi.Conn] // that of client, for wake

	ready chan struct{} // the writer has something to do
	room  chan struct{} // the reader may look whether it may go on
	gone  chan struct{} // closed when the connection is over
	once  sync.Once
}

// serveBlocking drives nc until it is over.
func (s *respServer) serveBlocking(nc net.Conn) {
	c := &blockingConn{
		nc: nc, resp: s,
		ready: make(chan struct{}, 1),
		room:  make(chan struct{}, 1),
		gone:  make(chan struct{}),
	}
	// Before the handshake, which a shutdown must be able to end.
	if !s.register(c) {
		c.close()
	}
	defer s.unregister(c)
	if err := s.handshake(nc); err != nil {
		s.log.Debug("TLS handshake failed", "client", nc.RemoteAddr(), "error", err)
		c.close()
		s.left()
		return
	}
	c.mu.Lock()
	s.attach(&c.client, nc.RemoteAddr(), nc.LocalAddr(), time.Now(), c.wake)
	c.mu.Unlock()
	c.conn.Store(c.client.conn)
	var writer sync.WaitGroup
	writer.Go(c.write)
	c.read()
	writer.Wait()
	c.mu.Lock()
	defer c.mu.Unlock()
	s.detach(&c.client)
}

func signal(ch chan struct{}) {
	select {
	case ch <- struct{}{}:
	default:
	}
}

// wake is the callback of the protocol.
func (c *blockingConn) wake() {
	if conn := c.conn.Load(); conn != nil && conn.Killed() {
		c.abort()
	}
	signal(c.ready)
}

// abort has every use of the connection fail. It waits for nobody, as close may:
// TLS ends with a message to the client.
func (c *blockingConn) abort() {
	nc := c.nc
	if tc, ok := nc.(*tls.Conn); ok {
		nc = tc.NetConn()
	}
	_ = nc.Close()
}

// close ends both goroutines.
func (c *blockingConn) close() {
	c.once.Do(func() {
		close(c.gone)
		_ = c.nc.Close()
	})
}

// read takes input until the client or the server ends it; the writer then
// answers what was taken.
func (c *blockingConn) read() {
	buf := make([]byte, minRead)
	for c.mayRead() {
		n, err := c.nc.Read(buf)
		c.mu.Lock()
		c.client.active = time.Now()
		c.client.receive(buf[:n]) // the writer, which feeds too, may be held up
		if err != nil {
			c.client.eof = true
		}
		c.mu.Unlock()
		signal(c.ready)
		// A deadline in the past is how drain stops the reader.
		if err != nil && !errors.Is(err, os.ErrDeadlineExceeded) {
			return
		}
	}
}

// mayRead waits until there is room for more input. It reports false when no
// more will be read.
func (c *blockingConn) mayRead() bool {
	for {
		c.mu.Lock()
		over, wants := c.client.eof || c.client.closing, c.client.wantsInput()
		c.mu.Unlock()
		if over || wants {
			return !over
		}
		select {
		case <-c.room:
		case <-c.gone:
			return false
		}
	}
}

// write sends replies as they become ready, and feeds the backlog.
func (c *blockingConn) write() {
	defer c.close()
	var out []byte
	for {
		c.mu.Lock()
		fed := c.client.feed()
		out = c.client.collect(out[:0])
		done := len(out) == 0 && !fed && c.client.done()
		if c.client.writing {
			c.client.active = time.Now() // the client took what was written
		}
		c.client.writing = len(out) > 0
		c.mu.Unlock()
		if done {
			return
		}
		if len(out) > 0 {
			if !c.send(out) {
				return
			}
			if cap(out) > keepOutput {
				out = nil
			}
		}
		signal(c.room)
		if fed || len(out) > 0 {
			continue
		}
		select {
		case <-c.ready:
		case <-c.gone:
			return
		}
	}
}

// maxPiece is what a client takes at once, or has stalled.
const maxPiece = 256 << 10

// send writes out, piece by piece, and reports whether the client took it all.
func (c *blockingConn) send(out []byte) bool {
	for len(out) > 0 {
		n := min(len(out), maxPiece)
		_ = c.nc.SetWriteDeadline(time.Now().Add(c.resp.limits.stallTimeout))
		_, err := c.nc.Write(out[:n])
		if errors.Is(err, os.ErrDeadlineExceeded) {
			c.resp.drop(&c.client, stalledReason)
		}
		if err != nil {
			return false
		}
		out = out[n:]
	}
	return true
}

// sweep closes the connection if its time is up. A handshake has a bound of its own.
func (c *blockingConn) sweep(now time.Time) {
	reason := ""
	c.mu.Lock()
	if c.client.conn != nil {
		reason = c.client.expired(now, &c.resp.limits)
	}
	c.mu.Unlock()
	if reason != "" {
		c.resp.drop(&c.client, reason)
		c.close()
	}
}

// drain stops reading, and with it a handshake; the writer closes when the last
// reply is out.
func (c *blockingConn) drain() {
	c.mu.Lock()
	c.client.eof = true
	c.mu.Unlock()
	_ = c.nc.SetReadDeadline(time.Now())
	signal(c.ready)
	signal(c.room)
}
