//go:build unix

package coherence

import (
	"context"
	"io"
	"math/rand/v2"
	"net"
	"net/url"
	"sync"
	"time"

	"github.com/howdah/howdah/internal/pgtest"
)

// slowNetwork stands between a process and PostgreSQL, and holds back one
// answer in twenty for up to 80 ms: meanwhile other connections write what it
// has not seen.
type slowNetwork struct {
	listener net.Listener
	server   string
	work     sync.WaitGroup
}

// slowDown returns the URL of a database behind a slow network, until ctx ends.
func slowDown(ctx context.Context, databaseURL string) (string, error) {
	u, err := url.Parse(pgtest.TCP(databaseURL))
	if err != nil {
		return "", err
	}
	n := &slowNetwork{server: u.Host}
	if n.listener, err = net.Listen("tcp", "127.0.0.1:0"); err != nil {
		return "", err
	}
	context.AfterFunc(ctx, func() { n.listener.Close() })
	n.work.Go(n.accept)
	u.Host = n.listener.Addr().String()
	return u.String(), nil
}

func (n *slowNetwork) accept() {
	for {
		client, err := n.listener.Accept()
		if err != nil {
			return
		}
		n.work.Go(func() { n.join(client) })
	}
}

// join carries one connection until either side ends it.
func (n *slowNetwork) join(client net.Conn) {
	defer client.Close()
	server, err := net.Dial("tcp", n.server)
	if err != nil {
		return
	}
	defer server.Close()
	n.work.Go(func() {
		io.Copy(server, client)
		server.Close()
		client.Close()
	})
	io.Copy(delayed{client}, server)
}

// delayed is a connection whose writes take their time.
type delayed struct{ net.Conn }

func (d delayed) Write(p []byte) (int, error) {
	if rand.IntN(20) == 0 {
		time.Sleep(time.Duration(rand.Int64N(int64(80 * time.Millisecond))))
	}
	return d.Conn.Write(p)
}

// ReadFrom is not that of the connection, which does without Write.
func (d delayed) ReadFrom(r io.Reader) (int64, error) {
	return io.Copy(struct{ io.Writer }{d}, r)
}
