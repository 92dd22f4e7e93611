package server

import (
	"context"
	"crypto/tls"
	"errors"
	"log/slog"
	"net"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/howdah/howdah/internal/redisapi"
)

// handshakeTimeout bounds the TLS handshake of a RESP connection.
const handshakeTimeout = 10 * time.Second

// maxClientsReply is Redis's own, which clients know.
const maxClientsReply = "-ERR max number of clients reached\r\n"

// respLimits are the bounds of connections that need no look at the protocol.
type respLimits struct {
	maxClients   int
	idleTimeout  time.Duration // 0: none
	authTimeout  time.Duration
	stallTimeout time.Duration
}

// respServer accepts RESP connections and drives them until shutdown.
type respServer struct {
	engine *redisapi.Engine
	log    *slog.Logger
	limits respLimits

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

// newRESPServer makes a server. With eventLoop it drives plain connections by
// loops where the platform has them.
func newRESPServer(engine *redisapi.Engine, limits respLimits, eventLoop bool, log *slog.Logger) (*respServer, error) {
	s := &respServer{engine: engine, limits: limits, log: log, blocking: make(map[*blockingConn]struct{})}
	if eventLoop {
		// One loop is enough for what several flights at once can answer; a
		// second one makes their batches smaller.
		loops, err := newLoops(s, max(1, runtime.GOMAXPROCS(0)/4))
		if err != nil {
			return nil, err
		}
		s.loops = loops
	}
	for _, l := range s.loops {
		s.work.Go(l.run)
	}
	return s, nil
}

// serve accepts from listener until it is closed.
func (s *respServer) serve(listener net.Listener) {
	for {
		nc, err := s.accept(listener)
		if err != nil {
			return
		}
		s.accepted.Add(1)
		if s.clients.Add(1) > int64(s.limits.maxClients) {
			s.left()
			s.reject(nc)
			continue
		}
		if len(s.loops) > 0 && !isTLS(nc) {
			if !s.quietest().adopt(nc) {
				s.left()
			}
			continue
		}
		s.work.Go(func() { s.serveBlocking(nc) })
	}
}

// accept waits out what passes, such as a want of file descriptors.
func (s *respServer) accept(listener net.Listener) (net.Conn, error) {
	for pause := 5 * time.Millisecond; ; pause = min(2*pause, time.Second) {
		nc, err := listener.Accept()
		if err == nil || errors.Is(err, net.ErrClosed) {
			return nc, err
		}
		s.log.Warn("cannot accept a connection; trying again", "listener", "redis", "error", err, "in", pause)
		time.Sleep(pause)
	}
}

func isTLS(nc net.Conn) bool {
	_, ok := nc.(*tls.Conn)
	return ok
}

// quietest returns the loop with the fewest connections.
func (s *respServer) quietest() *loop {
	best := s.loops[0]
	for _, l := range s.loops[1:] {
		if l.size.Load() < best.size.Load() {
			best = l
		}
	}
	return best
}

// reject tells a client that it is one too many. The few bytes fit into any
// socket's empty buffer; a TLS client, for which a handshake would have to be
// paid first, is only closed.
func (s *respServer) reject(nc net.Conn) {
	s.rejected.Add(1)
	if !isTLS(nc) {
		_ = nc.SetWriteDeadline(time.Now().Add(time.Second))
		_, _ = nc.Write([]byte(maxClientsReply))
	}
	_ = nc.Close()
}

// handshake completes TLS, if nc is TLS.
func (s *respServer) handshake(nc net.Conn) error {
	tc, ok := nc.(*tls.Conn)
	if !ok {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), handshakeTimeout)
	defer cancel()
	return tc.HandshakeContext(ctx)
}

// attach begins the protocol on a connection.
func (s *respServer) attach(c *client, remote, local net.Addr, now time.Time, wake func()) {
	c.remote, c.active = remote.String(), now
	c.conn = s.engine.Connect(redisapi.Info{RemoteAddr: c.remote, LocalAddr: local.String()}, wake)
}

// detach ends the protocol on a connection.
func (s *respServer) detach(c *client) {
	c.conn.Close()
	s.left()
}

func (s *respServer) left() { s.clients.Add(-1) }

// drop notes that a connection is closed because its time is up.
func (s *respServer) drop(c *client, reason string) {
	s.dropped.Add(1)
	s.log.Debug("closing a client", "client", c.remote, "reason", reason)
}

// register adds a connection to those that shutdown waits for. It reports
// false when it is too late for new ones.
func (s *respServer) register(c *blockingConn) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.blocking[c] = struct{}{}
	return !s.draining
}

func (s *respServer) unregister(c *blockingConn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.blocking, c)
}

func (s *respServer) eachBlocking(fn func(*blockingConn)) {
	s.mu.Lock()
	all := make([]*blockingConn, 0, len(s.blocking))
	for c := range s.blocking {
		all = append(all, c)
	}
	s.mu.Unlock()
	for _, c := range all {
		fn(c)
	}
}

// sweep closes connections whose time is up, once a second until ctx ends.
func (s *respServer) sweep(ctx context.Context) {
	ticker := time.NewTicker(time.Second)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case now := <-ticker.C:
			for _, l := range s.loops {
				l.sweep()
			}
			s.eachBlocking(func(c *blockingConn) { c.sweep(now) })
		}
	}
}

// shutdown answers what was received and closes every connection; what is
// still open when ctx ends is cut off. The listeners must be closed before. No
// goroutine of s is left when it returns. It returns ctx.Err() if it had to cut.
func (s *respServer) shutdown(ctx context.Context) error {
	s.mu.Lock()
	s.draining = true
	s.mu.Unlock()
	for _, l := range s.loops {
		l.drainAll()
	}
	s.eachBlocking((*blockingConn).drain)

	finished := make(chan struct{})
	go func() {
		s.work.Wait()
		close(finished)
	}()
	select {
	case <-finished:
		return nil
	case <-ctx.Done():
	}
	for _, l := range s.loops {
		l.closeAll()
	}
	s.eachBlocking((*blockingConn).close)
	<-finished
	return ctx.Err()
}
