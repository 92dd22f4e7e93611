//go:build unix

package coherence

import (
	"context"
	"io"
	"math/rand/v2"
	"net"
	"net/url"
	"time"

	"github.com/howdah/howdah/internal/test/pgtest"
)

// slowDown returns the URL of a database behind a slow network, which lasts until
// ctx ends, or the process. It holds back one answer in twenty for up to 80 ms:
// meanwhile other connections write what it has not seen.
func slowDown(ctx context.Context, databaseURL string) (string, error) {
	u, err := url.Parse(pgtest.TCP(databaseURL))
	if err != nil {
		return "", err
	}
	network, err := newRelay(u.Host, func(client net.Conn) io.Writer { return delayed{client} })
	if err != nil {
		return "", err
	}
	context.AfterFunc(ctx, network.close)
	u.Host = network.addr()
	return u.String(), nil
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
