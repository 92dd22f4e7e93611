package rediscli

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

// Options say which server a [Client] connects to.
type Options struct {
	Address string      // host:port
	TLS     *tls.Config // nil: without TLS

	// Username and Password are sent with AUTH after each connection. Password ""
	// sends none.
	Username, Password string

	// Database is selected after each connection.
	Database int

	// RESP3 asks for version 3 of the protocol. Default: version 2.
	RESP3 bool

	// DialTimeout bounds a connection with its first commands. Default: 10 s.
	DialTimeout time.Duration

	// Push is given the messages of RESP3 that are no reply to a command, between
	// replies. May be nil: they are dropped.
	Push func(resp.Reply)
}

// ErrLost is wrapped by errors of a connection that failed while a reply was
// due: the command may or may not have been executed.
var ErrLost = errors.New("the connection was lost: the last command may or may not have been executed")

// Client is a connection to a server that is made again when it was lost. It is
// for one goroutine.
type Client struct {
	options  Options
	database int // that of the connection, and of the next one
	conn     net.Conn
	reader   *bufio.Reader
	used     time.Time // when the last reply came
}

// New returns a client that is not connected yet.
func New(options Options) *Client {
	if options.DialTimeout == 0 {
		options.DialTimeout = 10 * time.Second
	}
	return &Client{options: options, database: options.Database}
}

// Address is that of the server.
func (c *Client) Address() string { return c.options.Address }

// Database is the number of the database that is selected.
func (c *Client) Database() int { return c.database }

// Connected says whether there was a connection when it was last used.
func (c *Client) Connected() bool { return c.conn != nil }

// Close ends the connection, if there is one. The next command makes another.
func (c *Client) Close() {
	if c.conn != nil {
		_ = c.conn.Close()
	}
	c.conn, c.reader = nil, nil
}

// idleBeforeCheck is how long a connection may be unused before a look whether
// the server has closed it. A look takes a millisecond.
const idleBeforeCheck = time.Second

// Connect connects if there is no connection, or if the server has ended it.
func (c *Client) Connect(ctx context.Context) error {
	if c.conn != nil && (time.Since(c.used) < idleBeforeCheck || c.alive()) {
		return nil
	}
	c.Close()
	ctx, cancel := context.WithTimeout(ctx, c.options.DialTimeout)
	defer cancel()
	conn, err := c.dial(ctx)
	if err != nil {
		return fmt.Errorf("cannot connect to %s: %w", c.options.Address, err)
	}
	deadline, _ := ctx.Deadline()
	_ = conn.SetDeadline(deadline)
	c.conn, c.reader, c.used = conn, bufio.NewReader(conn), time.Now()
	if err := c.greet(); err != nil {
		c.Close()
		return err
	}
	return conn.SetDeadline(time.Time{})
}

func (c *Client) dial(ctx context.Context) (net.Conn, error) {
	if c.options.TLS != nil {
		return (&tls.Dialer{Config: c.options.TLS}).DialContext(ctx, "tcp", c.options.Address)
	}
	return new(net.Dialer).DialContext(ctx, "tcp", c.options.Address)
}

// greet sends what every connection begins with.
func (c *Client) greet() error {
	type step struct {
		wanted bool
		args   []string
		failed string
	}
	auth := []string{"AUTH", c.options.Password}
	if c.options.Username != "" {
		auth = []string{"AUTH", c.options.Username, c.options.Password}
	}
	for _, s := range []step{
		{c.options.Password != "", auth, "the server refused the password"},
		{c.options.RESP3, []string{"HELLO", "3"}, "the server does not speak RESP3"},
		{c.database != 0, []string{"SELECT", strconv.Itoa(c.database)}, fmt.Sprintf("the server does not let database %d be selected", c.database)},
	} {
		if !s.wanted {
			continue
		}
		reply, err := c.exchange(s.args)
		// A command may give the password yet, and a server without one needs none.
		if said := string(reply.Str); err == nil && !strings.HasPrefix(said, "NOAUTH") && !strings.Contains(said, "without any password configured") {
			err = reply.Err()
		}
		if err != nil {
			return fmt.Errorf("%s: %w", s.failed, err)
		}
	}
	return nil
}

// alive looks whether the server has closed the connection meanwhile: a command
// that is sent then would be lost, without a way to know whether it was executed.
func (c *Client) alive() bool {
	if c.conn == nil {
		return false
	}
	_ = c.conn.SetReadDeadline(time.Now().Add(time.Millisecond))
	_, err := c.reader.Peek(1)
	_ = c.conn.SetReadDeadline(time.Time{})
	var timeout net.Error
	return err == nil || errors.As(err, &timeout) && timeout.Timeout()
}

// Do sends a command and returns its reply, which may be an error reply. When
// ctx ends it gives up the connection.
//
// Errors: ErrLost, and those of a connection that cannot be made.
func (c *Client) Do(ctx context.Context, args ...string) (resp.Reply, error) {
	if err := c.Connect(ctx); err != nil {
		return resp.Reply{}, err
	}
	return c.send(ctx, args)
}

// send is Do on the connection that there is: it makes no other, where a command would not
// belong to what was begun on this one.
func (c *Client) send(ctx context.Context, args []string) (resp.Reply, error) {
	defer c.closeWith(ctx)()
	reply, err := c.exchange(args)
	if err != nil {
		c.Close()
		if ctx.Err() != nil {
			return resp.Reply{}, context.Cause(ctx)
		}
		return resp.Reply{}, fmt.Errorf("%w (%w)", ErrLost, err)
	}
	if err := c.follow(args, reply); err != nil {
		c.Close()
		return resp.Reply{}, err
	}
	return reply, nil
}

// Receive sends a command and gives fn every reply from then on, as after
// SUBSCRIBE and MONITOR, until ctx ends or the connection is lost. It gives up
// the connection.
func (c *Client) Receive(ctx context.Context, fn func(resp.Reply) error, args ...string) error {
	if err := c.Connect(ctx); err != nil {
		return err
	}
	defer c.Close()
	defer c.closeWith(ctx)()
	if _, err := c.conn.Write(resp.AppendCommand(nil, args...)); err != nil {
		return fmt.Errorf("%w (%w)", ErrLost, err)
	}
	for {
		reply, err := resp.ReadReply(c.reader)
		switch {
		case ctx.Err() != nil:
			return nil
		case err != nil:
			return fmt.Errorf("the connection was lost: %w", err)
		}
		if err := fn(reply); err != nil {
			return err
		}
	}
}

// closeWith closes the connection when ctx ends, until the function that it
// returns is called.
func (c *Client) closeWith(ctx context.Context) (stop func() bool) {
	conn := c.conn
	return context.AfterFunc(ctx, func() { _ = conn.Close() })
}

// exchange sends a command and reads its reply.
func (c *Client) exchange(args []string) (resp.Reply, error) {
	_, writeErr := c.conn.Write(resp.AppendCommand(nil, args...))
	for {
		// A server that refuses what it is sent says so before it closes.
		reply, err := resp.ReadReply(c.reader)
		switch {
		case err != nil && writeErr != nil:
			return resp.Reply{}, writeErr
		case err != nil:
			return resp.Reply{}, err
		case reply.Kind != resp.Push || unsubscribes(args):
			c.used = time.Now()
			return reply, nil
		case c.options.Push != nil:
			c.options.Push(reply)
		}
	}
}

// unsubscribes says whether the reply to a command is a push in RESP3, one for
// each channel.
func unsubscribes(args []string) bool {
	return is(args[0], "UNSUBSCRIBE") || is(args[0], "PUNSUBSCRIBE") || is(args[0], "SUNSUBSCRIBE")
}

// follow notes what a command has changed about the connection, for the next
// one. The database that could not be selected without a password is selected
// with it.
func (c *Client) follow(args []string, reply resp.Reply) error {
	if reply.Kind != resp.Simple {
		return nil
	}
	switch {
	case is(args[0], "AUTH") && (len(args) == 2 || len(args) == 3):
		c.options.Username, c.options.Password = "", args[len(args)-1]
		if len(args) == 3 {
			c.options.Username = args[1]
		}
		if c.database != 0 {
			_, err := c.exchange([]string{"SELECT", strconv.Itoa(c.database)})
			return err
		}
	case is(args[0], "SELECT") && len(args) == 2 && string(reply.Str) == "OK":
		if n, err := strconv.Atoi(args[1]); err == nil {
			c.database = n
		}
	case is(args[0], "RESET"):
		c.database = 0
	}
	return nil
}
