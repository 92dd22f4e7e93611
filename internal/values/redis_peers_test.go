//go:build peers

package values_test

import (
	"bufio"
	"io"
	"net"
	"strconv"
	"testing"

	"github.com/howdah/howdah/internal/resp"
	"github.com/howdah/howdah/internal/test/peers"
)

// startRedis runs redis-server on a socket of its own for the time of the test.
// It keeps collections in the encodings that have an order, unless settings say
// otherwise.
func startRedis(t *testing.T, settings ...string) (dial func(resp.Proto) *client) {
	t.Helper()
	args := []string{"--hash-max-listpack-value", "1000000", "--hash-max-listpack-entries", "10000",
		"--zset-max-listpack-value", "1000000", "--zset-max-listpack-entries", "10000"}
	socket := peers.Redis(t, append(args, settings...)...).Socket
	return func(proto resp.Proto) *client {
		conn, err := net.Dial("unix", socket)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { conn.Close() })
		c := &client{t: t, conn: conn, r: bufio.NewReaderSize(conn, 1<<16), proto: proto}
		c.do("HELLO", strconv.Itoa(int(proto)))
		return c
	}
}

// client is a connection to redis-server.
type client struct {
	t     *testing.T
	conn  net.Conn
	r     *bufio.Reader
	proto resp.Proto
}

func (c *client) do(line ...string) string {
	c.t.Helper()
	return c.pipeline([][]string{line})[0]
}

// pipeline sends commands and returns the bytes of their replies.
func (c *client) pipeline(lines [][]string) []string {
	c.t.Helper()
	var out []byte
	for _, line := range lines {
		out = resp.AppendCommand(out, line...)
	}
	go c.conn.Write(out)
	replies := make([]string, len(lines))
	for i := range replies {
		raw, err := rawReply(nil, c.r)
		if err != nil {
			c.t.Fatalf("%q: %v", lines[i], err)
		}
		replies[i] = string(raw)
	}
	return replies
}

// rawReply appends the bytes of the next reply.
func rawReply(dst []byte, r *bufio.Reader) ([]byte, error) {
	line, err := r.ReadString('\n')
	if err != nil {
		return dst, err
	}
	dst = append(dst, line...)
	n, _ := strconv.Atoi(line[1 : len(line)-2])
	switch line[0] {
	case '$', '=':
		if n >= 0 {
			body := make([]byte, n+2)
			_, err = io.ReadFull(r, body)
			dst = append(dst, body...)
		}
		return dst, err
	case '%':
		n *= 2
	case '*', '~', '>':
	default:
		return dst, nil
	}
	for range n {
		if dst, err = rawReply(dst, r); err != nil {
			return dst, err
		}
	}
	return dst, nil
}
