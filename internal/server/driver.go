package server

import (
	"context"
	"crypto/tls"
	"errors"
	"log/slog"
	"net"
	"runtime"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"github.com/howdah/howdah/internal/pipeline"
)

// handshakeTimeout bounds the TLS handshake of a connection.
const handshakeTimeout = 10 * time.Second

// connLimits are the bounds of connections that need no look at the protocol.
type connLimits struct {
	maxClients   int
	idleTimeout  func() time.Duration // 0, or nil: none
	keepAlive    func() time.Duration // of connections that come; nil: that of the listener
	authTimeout  time.Duration
	stallTimeout time.Duration
	memory       *pipeline.Budget // of all connections together; nil: no bound
}

// idle is how long a connection may send nothing; 0: for ever.
func (l *connLimits) idle() time.Duration {
	if l.idleTimeout == nil {
		return 0
	}
	return l.idleTimeout()
}

// keep has the operating system probe whether the client of a connection is still there, where that is to be done
// otherwise than the listener says.
func (l *connLimits) keep(nc net.Conn) {
	if l.keepAlive == nil || l.keepAlive() == keepAliveIdle {
		return
	}
	if t, ok := nc.(*tls.Conn); ok {
		nc = t.NetConn()
	}
	if t, ok := nc.(*net.TCPConn); ok { // if it is gone, reading will say so
		_ = t.SetKeepAliveConfig(keepAlive(l.keepAlive()))
	}
}

// driver accepts connections of one protocol and drives them until shutdown.
type driver struct {
	door   door
	log    *slog.Logger
	limits connLimits

	loops []*loop // none: every connection has its goroutines
	work  sync.WaitGroup

	clients  atomic.Int64 // connections now
	accepted atomic.Int64
	rejected atomic.Int64 // over maxClients
	dropped  atomic.Int64 // time was up

	mu       sync.Mutex
	draining bool
	blocking map[*blockingConn]struct{}
}

// newDriver makes a driver. With eventLoop it drives plain connections by loops
// where the platform has them.
func newDriver(door door, limits connLimits, eventLoop bool, log *slog.Logger) (*driver, error) {
	d := &driver{door: door, limits: limits, log: log, blocking: make(map[*blockingConn]struct{})}
	if eventLoop {
		// One loop is enough for what several flights at once can answer; a
		// second one makes their batches smaller.
		loops, err := newLoops(d, max(1, runtime.GOMAXPROCS(0)/4))
		if err != nil {
			return nil, err
		}
		d.loops = loops
	}
	for _, l := range d.loops {
		d.work.Go(l.run)
	}
	return d, nil
}

// serve accepts from listener until it is closed.
func (d *driver) serve(listener net.Listener) {
	for {
		nc, err := d.accept(listener)
		if err != nil {
			return
		}
		d.accepted.Add(1)
		d.limits.keep(nc)
		if d.clients.Add(1) > int64(d.limits.maxClients) {
			d.left()
			d.reject(nc)
			continue
		}
		if len(d.loops) > 0 && !isTLS(nc) {
			if !d.quietest().adopt(nc) {
				d.left()
			}
			continue
		}
		d.work.Go(func() { d.serveBlocking(nc) })
	}
}

// accept waits out what passes, such as a want of file descriptors.
func (d *driver) accept(listener net.Listener) (net.Conn, error) {
	for pause := 5 * time.Millisecond; ; pause = min(2*pause, time.Second) {
		nc, err := listener.Accept()
		if err == nil || errors.Is(err, net.ErrClosed) {
			return nc, err
		}
		d.log.Warn("cannot accept a connection; trying again", "listener", d.door.name, "error", err, "in", pause)
		time.Sleep(pause)
	}
}

func isTLS(nc net.Conn) bool {
	_, ok := nc.(*tls.Conn)
	return ok
}

// quietest returns the loop with the fewest connections.
func (d *driver) quietest() *loop {
	best := d.loops[0]
	for _, l := range d.loops[1:] {
		if l.size.Load() < best.size.Load() {
			best = l
		}
	}
	return best
}

// reject tells a client that it is one too many. The few bytes fit into any
// socket's empty buffer; a TLS client, for which a handshake would have to be
// paid first, is only closed.
func (d *driver) reject(nc net.Conn) {
	d.rejected.Add(1)
	if !isTLS(nc) {
		_ = nc.SetWriteDeadline(time.Now().Add(time.Second))
		_, _ = nc.Write(d.door.tooMany)
	}
	_ = nc.Close()
}

// handshake completes TLS, if nc is TLS.
func (d *driver) handshake(nc net.Conn) error {
	tc, ok := nc.(*tls.Conn)
	if !ok {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), handshakeTimeout)
	defer cancel()
	return tc.HandshakeContext(ctx)
}

// attach begins the protocol on a connection.
func (d *driver) attach(c *client, remote, local net.Addr, fd int, now time.Time, wake func()) {
	c.remote, c.active = remote.String(), now
	c.account = pipeline.NewAccount(d.limits.memory)
	c.conn = d.door.connect(c.remote, local.String(), fd, wake)
}

// detach ends the protocol on a connection.
func (d *driver) detach(c *client) {
	c.conn.Close()
	c.release()
	d.left()
}

func (d *driver) left() { d.clients.Add(-1) }

// drop notes that a connection is closed because its time is up.
func (d *driver) drop(c *client, reason string) {
	d.dropped.Add(1)
	d.log.Debug("closing a client", "client", c.remote, "reason", reason)
}

// register adds a connection to those that shutdown waits for. It reports
// false when it is too late for new ones.
func (d *driver) register(c *blockingConn) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.blocking[c] = struct{}{}
	return !d.draining
}

func (d *driver) unregister(c *blockingConn) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.blocking, c)
}

func (d *driver) eachBlocking(fn func(*blockingConn)) {
	d.mu.Lock()
	all := make([]*blockingConn, 0, len(d.blocking))
	for c := range d.blocking {
		all = append(all, c)
	}
	d.mu.Unlock()
	for _, c := range all {
		fn(c)
	}
}

// sweep closes connections whose time is up, and gives memory back to the
// system, once a second until ctx ends.
func (d *driver) sweep(ctx context.Context) {
	ticker := time.NewTicker(time.Second)
	defer ticker.Stop()
	var returns memoryReturn
	for {
		select {
		case <-ctx.Done():
			return
		case now := <-ticker.C:
			for _, l := range d.loops {
				l.sweep()
			}
			d.eachBlocking(func(c *blockingConn) { c.sweep(now) })
			if m := d.limits.memory; m != nil && returns.due(m.Released()) {
				runtime.GC() // what a sync.Pool holds survives one collection
				debug.FreeOSMemory()
			}
		}
	}
}

// shutdown answers what was received and closes every connection; what is
// still open when ctx ends is cut off. The listeners must be closed before. No
// goroutine of d is left when it returns. It returns ctx.Err() if it had to cut.
func (d *driver) shutdown(ctx context.Context) error {
	d.mu.Lock()
	d.draining = true
	d.mu.Unlock()
	for _, l := range d.loops {
		l.drainAll()
	}
	d.eachBlocking((*blockingConn).drain)

	finished := make(chan struct{})
	go func() {
		d.work.Wait()
		close(finished)
	}()
	select {
	case <-finished:
		return nil
	case <-ctx.Done():
	}
	for _, l := range d.loops {
		l.closeAll()
	}
	d.eachBlocking((*blockingConn).close)
	<-finished
	return ctx.Err()
}
