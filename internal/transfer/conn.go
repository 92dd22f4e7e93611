package transfer

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"
	"time"

	"github.com/howdah/howdah/internal/resp"
)

// exchangeTimeout bounds the wait for the next bytes of a server.
const exchangeTimeout = time.Minute

// ErrSource is wrapped by errors of the connection to the source, after which the same may
// succeed.
var ErrSource = errors.New("the source does not answer")

// Conn is a connection to a Redis server.
type Conn struct {
	conn   net.Conn
	reader *bufio.Reader
	stop   func() bool
	spoke  bool // it has sent a reply
}

// Dial connects, authenticates and selects the database of the address. The connection ends
// with ctx. Errors: ErrSource, or what the server says.
func Dial(ctx context.Context, a Address) (*Conn, error) {
	var conn net.Conn
	var err error
	if a.TLS != nil {
		conn, err = (&tls.Dialer{Config: a.TLS}).DialContext(ctx, "tcp", a.Host)
	} else {
		conn, err = new(net.Dialer).DialContext(ctx, "tcp", a.Host)
	}
	if err != nil {
		return nil, fmt.Errorf("%w: cannot reach %s: %w", ErrSource, a, err)
	}
	c := &Conn{conn: conn, reader: bufio.NewReaderSize(conn, 64<<10)}
	c.stop = context.AfterFunc(ctx, func() { _ = conn.Close() })
	if err := c.begin(a); err != nil {
		c.Close()
		return nil, err
	}
	return c, nil
}

func (c *Conn) begin(a Address) error {
	if a.Password != "" {
		args := []string{"AUTH", a.Password}
		if a.User != "" {
			args = []string{"AUTH", a.User, a.Password}
		}
		if _, err := c.Do(args...); err != nil {
			return fmt.Errorf("the source refuses the password: %w", err)
		}
	}
	if a.Database == 0 {
		return nil // where every connection begins
	}
	return c.selects(a.Database)
}

func (c *Conn) selects(database int) error {
	_, err := c.Do("SELECT", strconv.Itoa(database))
	return err
}

// Close ends the connection.
func (c *Conn) Close() {
	c.stop()
	_ = c.conn.Close()
}

// batch is commands that are sent together.
type batch struct {
	commands []byte
	n        int
}

func (b *batch) add(args ...string) *batch {
	b.commands = resp.AppendCommand(b.commands, args...)
	b.n++
	return b
}

// exchange sends commands and returns their replies, errors of the server among them.
func (c *Conn) exchange(b *batch) ([]resp.Reply, error) {
	written := make(chan error, 1)
	go func() { // beside the reading: a server may read no more while nobody reads its replies
		_ = c.conn.SetWriteDeadline(time.Now().Add(exchangeTimeout))
		_, err := c.conn.Write(b.commands)
		written <- err
	}()
	replies := make([]resp.Reply, 0, b.n)
	var err error
	for range b.n {
		var reply resp.Reply
		_ = c.conn.SetReadDeadline(time.Now().Add(exchangeTimeout))
		if reply, err = resp.ReadReply(c.reader); err != nil {
			_ = c.conn.Close()
			break
		}
		replies, c.spoke = append(replies, reply), true
	}
	if writeErr := <-written; err == nil {
		err = writeErr
	}
	switch {
	case errors.Is(err, resp.ErrReply) && !c.spoke:
		return nil, fmt.Errorf("%s is not a Redis server: correct the address of the source", c.conn.RemoteAddr())
	case err != nil:
		return nil, fmt.Errorf("%w: %w", ErrSource, err)
	}
	return replies, nil
}

// Do sends one command. An error reply is an error.
func (c *Conn) Do(args ...string) (resp.Reply, error) {
	replies, err := c.exchange(new(batch).add(args...))
	if err != nil {
		return resp.Reply{}, err
	}
	return replies[0], replyError(replies[0])
}

// replyError makes a sentence of an error reply.
func replyError(reply resp.Reply) error {
	err := reply.Err()
	if err == nil {
		return nil
	}
	text := err.Error()
	switch word, _, _ := strings.Cut(text, " "); word {
	case "NOAUTH":
		return errors.New("the source asks for a password: give it as redis://user:password@host:port or with --password-file")
	case "MOVED", "ASK":
		return fmt.Errorf("the key is on another node of a cluster (%s)", text)
	case "LOADING", "MASTERDOWN":
		return fmt.Errorf("%w: %s", ErrSource, text)
	}
	return errors.New(strings.TrimPrefix(text, "ERR "))
}
