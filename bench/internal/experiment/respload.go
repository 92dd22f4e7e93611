package experiment

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"strconv"
	"time"

	"github.com/howdah/howdah/bench/internal/measure"
	"github.com/howdah/howdah/bench/internal/workload"
)

// respLoad asks a Redis server as redis-benchmark does, with what that cannot:
// keys of unequal popularity, and reads and writes mixed. It takes plain
// addresses only.
type respLoad struct {
	addr             string
	spec             workload.Spec
	clients, depth   int     // connections, and commands that each sends together
	reads            float64 // share of GET; the others are SET
	deletes          bool    // each key that is stored is deleted again
	warmup, duration time.Duration
}

// run measures. A request of the sample is a pipeline of depth commands.
func (l respLoad) run(ctx context.Context, m *meter) (measure.Sample, error) {
	connections := make([]*respConn, l.clients)
	for i, src := range workload.NewSources(l.spec, l.clients) {
		c, err := dialRESP(ctx, l.addr, l.spec, src)
		if err != nil {
			return measure.Sample{}, err
		}
		defer c.conn.Close()
		connections[i] = c
	}
	return measure.Closed(ctx, m.attach(measure.Load{
		Workers: l.clients, Warmup: l.warmup, Duration: l.duration,
		Do: func(_ context.Context, w int) error {
			c := connections[w]
			for range l.depth {
				key := c.src.Next()
				c.add(key, c.src.Chance(l.reads))
				if l.deletes {
					c.delete(key)
				}
			}
			return c.exchange()
		},
	}))
}

// respTimeout is how long a pipeline may take before the server is given up.
const respTimeout = 30 * time.Second

// respConn is one connection, with the commands that are about to be sent.
type respConn struct {
	conn net.Conn
	in   *bufio.Reader
	out  []byte
	sent []sentCommand
	spec workload.Spec
	src  *workload.Source
}

type sentCommand struct {
	key          int
	read, delete bool
}

func dialRESP(ctx context.Context, addr string, spec workload.Spec, src *workload.Source) (*respConn, error) {
	conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", addr)
	if err != nil {
		return nil, err
	}
	return &respConn{conn: conn, in: bufio.NewReaderSize(conn, 1<<16), spec: spec, src: src}, nil
}

// add appends a GET or a SET of a key to what exchange sends.
func (c *respConn) add(i int, read bool) {
	if read {
		c.out = append(c.out, "*2\r\n$3\r\nGET\r\n"...)
		c.out = appendBulk(c.out, c.src.Key(i))
	} else {
		c.out = append(c.out, "*3\r\n$3\r\nSET\r\n"...)
		c.out = appendBulk(c.out, c.src.Key(i))
		c.out = appendBulk(c.out, c.src.Value(i))
	}
	c.sent = append(c.sent, sentCommand{key: i, read: read})
}

// delete appends a DEL of a key.
func (c *respConn) delete(i int) {
	c.out = appendBulk(append(c.out, "*2\r\n$3\r\nDEL\r\n"...), c.src.Key(i))
	c.sent = append(c.sent, sentCommand{key: i, delete: true})
}

func appendBulk[T string | []byte](out []byte, text T) []byte {
	out = strconv.AppendInt(append(out, '$'), int64(len(text)), 10)
	return append(append(append(out, "\r\n"...), text...), "\r\n"...)
}

// exchange sends the commands, and checks every answer.
func (c *respConn) exchange() error {
	if err := c.conn.SetDeadline(time.Now().Add(respTimeout)); err != nil {
		return err
	}
	if _, err := c.conn.Write(c.out); err != nil {
		return err
	}
	for _, s := range c.sent {
		if err := c.answer(s); err != nil {
			return fmt.Errorf("%s: %w", c.src.Key(s.key), err)
		}
	}
	c.out, c.sent = c.out[:0], c.sent[:0]
	return nil
}

func (c *respConn) answer(s sentCommand) error {
	line, err := c.in.ReadSlice('\n')
	if err != nil {
		return err
	}
	line = bytes.TrimSuffix(line, []byte("\r\n"))
	switch {
	case s.delete && (string(line) == ":1" || string(line) == ":0"): // another client may have deleted it
		return nil
	case !s.read && !s.delete && string(line) == "+OK":
		return nil
	case s.read && len(line) > 1 && line[0] == '$' && line[1] != '-':
		return c.value(s.key, line[1:])
	}
	return fmt.Errorf("the answer is %q", line)
}

func (c *respConn) value(key int, digits []byte) error {
	n, err := strconv.Atoi(string(digits))
	if err != nil || n > c.in.Size()-2 {
		return fmt.Errorf("the answer has a length of %q", digits)
	}
	value, err := c.in.Peek(n + 2)
	if err == nil {
		err = c.spec.Check(key, value[:n])
	}
	if err == nil {
		_, err = c.in.Discard(n + 2)
	}
	if err == io.EOF {
		err = io.ErrUnexpectedEOF
	}
	return err
}
