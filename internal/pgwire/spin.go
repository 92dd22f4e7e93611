package pgwire

import (
	"crypto/tls"
	"net"
	"runtime"
	"sync/atomic"
	"syscall"
	"time"
)

// Spin is how a lone caller waits for its answer: it asks the socket again
// and again, as an adaptive mutex does with its lock, before it sleeps.
//
// With one caller, client and database take turns. To put a processor to
// sleep and to wake it for the other side costs both more than the lookup;
// awake, the client waits no longer than it would take to fall asleep and get
// up again. It stops as soon as another flight is under way, which needs the
// processor more, and where answers take longer (a network, a busy machine)
// it hardly tries. With a single processor for Go there would be other
// goroutines to run meanwhile.
type Spin struct {
	// Flights counts the exchanges that are under way in the process.
	Flights *atomic.Int32

	pause atomic.Int32 // answers that are not spun for after the next miss
	skip  atomic.Int32 // answers that are not spun for now
}

const (
	// spinLimit bounds one try. A lone GET is answered within 40 us by a
	// database on the same machine, a lone SET within 80.
	spinLimit = 100 * time.Microsecond

	// spinPause is the longest pause: one in so many answers that come too
	// late to be spun for is tried, a tenth of a microsecond for each of them.
	spinPause = 1023
)

// await returns when conn can be read, or when there is no more sense in
// spinning: whoever reads then sleeps.
func (s *Spin) await(conn net.Conn) {
	if s.skip.Load() > 0 {
		s.skip.Add(-1)
		return
	}
	if s.others() || runtime.GOMAXPROCS(0) == 1 {
		return
	}
	if c, ok := conn.(*tls.Conn); ok {
		conn = c.NetConn()
	}
	socket, ok := conn.(syscall.Conn)
	if !ok {
		return
	}
	end := time.Now().Add(spinLimit)
	ready := pollUntil(socket, func() bool { return s.others() || time.Now().After(end) })
	switch {
	case ready:
		s.pause.Store(s.pause.Load() / 2)
	case !s.others():
		pause := min(2*s.pause.Load()+1, spinPause)
		s.pause.Store(pause)
		s.skip.Store(pause)
	}
}

// others tells whether another flight is under way.
func (s *Spin) others() bool { return s.Flights.Load() > 1 }
