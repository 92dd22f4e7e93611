package handover

import (
	"bufio"
	"errors"
	"net"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/howdah/howdah/internal/resp"
)

// node is one server of a run.
type node interface {
	// Name names the server and its life, Addr is where it listens now.
	Name() string
	Addr() string
}

// errCut is the error of a command whose connection ended.
var errCut = errors.New("the connection ended before the reply")

// client is a connection to a node, made anew when it has ended. One goroutine uses it;
// others may cut it.
type client struct {
	node node

	mu     sync.Mutex
	conn   net.Conn
	server string // name of the node when it was connected
	in     *bufio.Reader
	wait   *Wait // under way
}

// connect returns false if the node does not answer.
func (c *client) connect() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.conn != nil {
		return true
	}
	name, addr := c.node.Name(), c.node.Addr()
	conn, err := net.DialTimeout("tcp", addr, someTime)
	if err != nil {
		return false
	}
	c.conn, c.server, c.in = conn, name, bufio.NewReader(conn)
	return true
}

// do sends a command and reads its reply. After errCut nobody knows what became of it.
func (c *client) do(words ...string) (resp.Reply, error) {
	c.mu.Lock()
	conn, in := c.conn, c.in
	c.mu.Unlock()
	if conn == nil {
		return resp.Reply{}, errCut
	}
	if _, err := conn.Write(resp.AppendCommand(nil, words...)); err != nil {
		c.cut()
		return resp.Reply{}, errCut
	}
	reply, err := resp.ReadReply(in)
	if err != nil {
		c.cut()
		return resp.Reply{}, errCut
	}
	return reply, nil
}

// cut ends the connection.
func (c *client) cut() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.conn != nil {
		c.conn.Close()
		c.conn = nil
	}
}

// hasEnded waits for the end of the connection, and reports whether that came.
func (c *client) hasEnded() bool {
	c.mu.Lock()
	conn, in := c.conn, c.in
	c.mu.Unlock()
	if conn == nil {
		return true
	}
	defer c.cut()
	conn.SetReadDeadline(time.Now().Add(someTime))
	_, err := in.ReadByte()
	return err != nil && !errors.Is(err, os.ErrDeadlineExceeded)
}

// outcomeOf is how a command ended, by its reply. Errors that are not among those that a
// failure of PostgreSQL explains are returned.
func outcomeOf(reply resp.Reply, err error) (Outcome, error) {
	switch {
	case err != nil:
		return Unknown, nil
	case reply.Kind == resp.Null:
		return Empty, nil
	case reply.Kind != resp.Error:
		return Done, nil
	}
	text := string(reply.Str)
	if strings.HasPrefix(text, "ERR outcome unknown") {
		return Unknown, nil
	}
	for _, prefix := range []string{"LOADING", "ERR timeout", "TRYAGAIN", "ERR shutting down"} {
		if strings.HasPrefix(text, prefix) {
			return Refused, nil
		}
	}
	return Refused, reply.Err()
}

// blocked returns the addresses of the clients that wait at a node, as CLIENT LIST says.
func (c *client) blocked() (addresses map[string]bool, err error) {
	reply, err := c.do("CLIENT", "LIST")
	if err != nil {
		return nil, err
	}
	addresses = make(map[string]bool)
	for line := range strings.Lines(string(reply.Str)) {
		var addr, flags string
		for field := range strings.FieldsSeq(line) {
			name, value, _ := strings.Cut(field, "=")
			switch name {
			case "addr":
				addr = value
			case "flags":
				flags = value
			}
		}
		if strings.Contains(flags, "b") {
			addresses[addr] = true
		}
	}
	return addresses, reply.Err()
}

// seen notes that a CLIENT LIST that was asked for at one time and answered at another
// showed this client in line.
func (c *client) seen(addresses map[string]bool, server string, asked, answered time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.conn != nil && c.server == server && c.wait != nil && c.wait.InLine == 0 && c.wait.Began < asked && addresses[c.conn.LocalAddr().String()] {
		c.wait.InLine = answered
	}
}

func (c *client) begin(w *Wait) {
	c.mu.Lock()
	defer c.mu.Unlock()
	w.Server, c.wait = c.server, w
}

func (c *client) end() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.wait = nil
}

// inLine reports whether the wait under way was seen in line.
func (c *client) inLine() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.wait != nil && c.wait.InLine != 0
}
