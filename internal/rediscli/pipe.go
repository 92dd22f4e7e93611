package rediscli

import (
	"bufio"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net"
	"sync/atomic"
	"time"

	"github.com/howdah/howdah/internal/resp"
)

// Piped is what mass insertion did.
type Piped struct {
	Replies int64 `json:"replies"` // of all commands, errors included
	Errors  int64 `json:"errors"`  // replies that are errors
}

// PipeOptions tune [Pipe].
type PipeOptions struct {
	// Error is given each error reply. May be nil.
	Error func(text string)
	// Sent is called when all commands were sent. May be nil.
	Sent func()
	// Timeout is how long the server may be silent after all was sent.
	// Default: 30 s.
	Timeout time.Duration
}

// Pipe sends commands, in the encoding of RESP or one a line, without waiting for
// their replies, and counts these. It ends when the reply to the last has come: it
// adds an ECHO and waits for that. The client must not use RESP3.
func Pipe(ctx context.Context, c *Client, in io.Reader, o PipeOptions) (Piped, error) {
	if err := c.Connect(ctx); err != nil {
		return Piped{}, err
	}
	defer c.Close() // what follows an error in the stream is in no known state
	defer c.closeWith(ctx)()
	p := &pipe{conn: c.conn, reader: c.reader, options: o, mark: rand.Text(), done: make(chan struct{})}
	if p.options.Timeout == 0 {
		p.options.Timeout = 30 * time.Second
	}
	go p.receive()
	sendErr := p.send(in)
	<-p.done
	switch {
	case ctx.Err() != nil:
		return p.piped, context.Cause(ctx)
	case p.err == nil:
		return p.piped, nil
	case sendErr != nil && !errors.Is(sendErr, net.ErrClosed):
		return p.piped, sendErr
	}
	return p.piped, p.err
}

// pipe is one mass insertion.
type pipe struct {
	conn    net.Conn
	reader  *bufio.Reader
	options PipeOptions
	mark    string // what the last command echoes

	done  chan struct{} // closed when no more replies are read
	sent  atomic.Bool   // all was sent
	piped Piped         // read it after done
	err   error         // nil: the mark has come
}

// send sends all of in, and the mark.
func (p *pipe) send(in io.Reader) error {
	end := &lastByte{Reader: in}
	if _, err := io.Copy(p.conn, end); err != nil {
		_ = p.conn.SetReadDeadline(time.Now().Add(time.Second)) // for what the server says about it
		return fmt.Errorf("cannot send all commands: %w", err)
	}
	mark := resp.AppendCommand(nil, "ECHO", p.mark)
	if end.seen && end.byte != '\n' { // a last line without its end
		mark = append([]byte("\r\n"), mark...)
	}
	if p.options.Sent != nil {
		p.options.Sent()
	}
	if _, err := p.conn.Write(mark); err != nil {
		return fmt.Errorf("cannot send all commands: %w", err)
	}
	p.sent.Store(true)
	p.extend()
	return nil
}

// extend gives the server time for its next reply.
func (p *pipe) extend() { _ = p.conn.SetReadDeadline(time.Now().Add(p.options.Timeout)) }

// receive counts replies up to that of the mark.
func (p *pipe) receive() {
	defer close(p.done)
	defer p.conn.Close() // ends a send that waits for a server which no longer reads
	for {
		reply, err := resp.ReadReply(p.reader)
		if err != nil {
			p.err = fmt.Errorf("the reply to the last command did not come: %w", err)
			return
		}
		if reply.Kind == resp.Bulk && string(reply.Str) == p.mark {
			return
		}
		if p.sent.Load() {
			p.extend()
		}
		p.piped.Replies++
		if reply.Kind == resp.Error {
			p.piped.Errors++
			if p.options.Error != nil {
				p.options.Error(string(reply.Str))
			}
		}
	}
}

// lastByte remembers the last byte that was read.
type lastByte struct {
	io.Reader
	byte byte
	seen bool
}

func (l *lastByte) Read(b []byte) (int, error) {
	n, err := l.Reader.Read(b)
	if n > 0 {
		l.byte, l.seen = b[n-1], true
	}
	return n, err
}
