package server

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/howdah/howdah/internal/fault"
	"github.com/howdah/howdah/internal/pipeline"
)

// The least speed of a body: it may take bodyGrace, and besides a second for each bodyRate bytes
// of it that have come. A client that sends nothing more is given up after bodyGrace, not after
// the time that the largest body may take.
const (
	bodyGrace = 20 * time.Second
	bodyRate  = 16 << 10
)

// errBodies refuses a body for which there is no memory.
var errBodies = fmt.Errorf("%w: the clients of this server hold all the memory that it has for requests", fault.ErrOverloaded)

// bodies bounds the bodies of HTTP requests.
type bodies struct {
	grace  time.Duration
	memory *pipeline.Budget // shared with the Redis connections
}

// bound gives each body its time, and charges what has come of it to the memory until the request
// is answered.
func (b bodies) bound(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Body == nil || r.Body == http.NoBody {
			next.ServeHTTP(w, r)
			return
		}
		body := &boundBody{
			ReadCloser: r.Body, account: pipeline.NewAccount(b.memory), memory: b.memory,
			began: time.Now(), grace: b.grace, deadline: http.NewResponseController(w).SetReadDeadline,
		}
		defer body.account.Set(0)
		r.Body = body
		next.ServeHTTP(w, r)
	})
}

// boundBody is a body with a least speed, whose bytes are counted.
type boundBody struct {
	io.ReadCloser
	account  pipeline.Account
	memory   *pipeline.Budget
	began    time.Time
	grace    time.Duration
	deadline func(time.Time) error
	size     int
}

// Read implements io.Reader.
func (b *boundBody) Read(p []byte) (int, error) {
	if b.memory.Exceeded() && b.size > pipeline.Free {
		return 0, errBodies
	}
	_ = b.deadline(b.due())
	n, err := b.ReadCloser.Read(p)
	b.size += n
	b.account.Set(b.size)
	if errors.Is(err, io.EOF) {
		_ = b.deadline(b.began.Add(bodyTimeout)) // nothing more is read for the answer to wait for
	}
	return n, err
}

// due is when the next bytes must have come.
func (b *boundBody) due() time.Time {
	allowed := b.grace + time.Duration(b.size)*time.Second/bodyRate
	return b.began.Add(min(allowed, bodyTimeout))
}

// limitedListener closes connections beyond so many.
type limitedListener struct {
	net.Listener
	most  int64
	open  atomic.Int64
	log   *slog.Logger
	first sync.Once
}

// Accept implements net.Listener.
func (l *limitedListener) Accept() (net.Conn, error) {
	for {
		conn, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		if l.open.Add(1) <= l.most {
			return &limitedConn{Conn: conn, left: sync.OnceFunc(func() { l.open.Add(-1) })}, nil
		}
		l.open.Add(-1)
		conn.Close()
		l.first.Do(func() {
			l.log.Warn("more HTTP connections than max-clients: those beyond are closed, and not logged again", "max", l.most)
		})
	}
}

// limitedConn is a connection of a limitedListener.
type limitedConn struct {
	net.Conn
	left func()
}

// Close implements net.Conn.
func (c *limitedConn) Close() error {
	defer c.left()
	return c.Conn.Close()
}
