package server

import (
	"crypto/tls"
	"errors"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"time"
)

// blockingConn is a connection driven by two goroutines: one reads and feeds,
// one writes. TLS needs it, and platforms without the event loop.
type blockingConn struct {
	nc     net.Conn
	driver *driver

	mu       sync.Mutex // guards what follows
	client   client     // attached after the handshake
	answered bool       // the writer has written its last reply: nothing more may be fed

	conn atomic.Pointer[Protocol] // that of client, for wake

	ready chan struct{} // the writer has something to do
	room  chan struct{} // the reader may look whether it may go on
	gone  chan struct{} // closed when the connection is over
	once  sync.Once
}

// serveBlocking drives nc until it is over.
func (d *driver) serveBlocking(nc net.Conn) {
	c := &blockingConn{
		nc: nc, driver: d,
		ready: make(chan struct{}, 1),
		room:  make(chan struct{}, 1),
		gone:  make(chan struct{}),
	}
	// Before the handshake, which a shutdown must be able to end.
	if !d.register(c) {
		c.close()
	}
	defer d.unregister(c)
	if err := d.handshake(nc); err != nil {
		d.log.Debug("TLS handshake failed", "client", nc.RemoteAddr(), "error", err)
		c.close()
		d.left()
		return
	}
	c.mu.Lock()
	d.attach(&c.client, nc.RemoteAddr(), nc.LocalAddr(), 0, time.Now(), c.wake)
	c.mu.Unlock()
	c.conn.Store(&c.client.conn)
	var writer sync.WaitGroup
	writer.Go(c.write)
	c.read()
	writer.Wait()
	linger(nc)
	c.close()
	c.mu.Lock()
	defer c.mu.Unlock()
	d.detach(&c.client)
}

func signal(ch chan struct{}) {
	select {
	case ch <- struct{}{}:
	default:
	}
}

// wake is the callback of the protocol.
func (c *blockingConn) wake() {
	if conn := c.conn.Load(); conn != nil && (*conn).Killed() {
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
		if c.answered { // by a drain, while the input was on its way here
			c.mu.Unlock()
			return
		}
		c.client.active = time.Now()
		c.client.receive(buf[:n]) // the writer, which feeds too, may be held up
		if err != nil {
			c.client.end()
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

// write sends replies as they become ready, and feeds the backlog. It returns
// after the last reply, or with the connection closed.
func (c *blockingConn) write() {
	for {
		c.mu.Lock()
		fed := c.client.feed()
		c.client.take(time.Now())
		unread := c.client.out.Len() > 0
		done := !unread && !fed && c.client.done()
		c.answered = done
		c.mu.Unlock()
		if fed || unread {
			signal(c.room) // replies left the protocol, and send may wait for the client for long
		}
		if done {
			_ = c.nc.SetReadDeadline(time.Now()) // ends the reader, wherever it waits
			signal(c.room)
			return
		}
		if unread && !c.send() {
			c.close()
			return
		}
		if fed || unread {
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

// send writes what is to be written, piece by piece, and reports whether the
// client took it all. The reader may look at its length meanwhile.
func (c *blockingConn) send() bool {
	var room [maxSegments][]byte
	for began := time.Now(); ; {
		c.mu.Lock()
		piece := net.Buffers(c.client.out.Segments(room[:0], maxPiece))
		c.mu.Unlock()
		if len(piece) == 0 {
			return true
		}
		_ = c.nc.SetWriteDeadline(began.Add(c.driver.limits.stallTimeout))
		n, err := piece.WriteTo(c.nc)
		if errors.Is(err, os.ErrDeadlineExceeded) {
			c.driver.drop(&c.client, stalledReason)
		}
		if err != nil {
			return false
		}
		began = time.Now()
		c.mu.Lock()
		c.client.wrote(int(n), began)
		c.mu.Unlock()
		signal(c.room) // the next piece may wait for the client for long
	}
}

// sweep closes the connection if its time is up. A handshake has a bound of its own.
func (c *blockingConn) sweep(now time.Time) {
	reason := ""
	c.mu.Lock()
	if c.client.conn != nil {
		reason = c.client.expired(now, &c.driver.limits)
	}
	c.mu.Unlock()
	if reason != "" {
		c.driver.drop(&c.client, reason)
		c.close()
	}
}

// drain stops reading, and with it a handshake; the connection ends when the
// last reply is out.
func (c *blockingConn) drain() {
	c.mu.Lock()
	c.client.end()
	c.mu.Unlock()
	_ = c.nc.SetReadDeadline(time.Now())
	signal(c.ready)
	signal(c.room)
}
