package redisapi

import (
	"bufio"
	"bytes"
	"context"
	"io"

	"github.com/howdah/howdah/internal/observe"
	"github.com/howdah/howdah/internal/pipeline"
	"github.com/howdah/howdah/internal/resp"
)

// Local is a connection of this process: its commands go the way of every client's, without a
// socket. One goroutine uses it at a time.
type Local struct {
	conn     *Conn
	ready    chan struct{}
	received []byte // of a reply that has not ended
}

// ConnectLocal returns a connection of this process. client is who calls, for the lists of clients,
// removals and slow calls. The engine must ask for no password.
func (e *Engine) ConnectLocal(client observe.Client) *Local {
	l := &Local{ready: make(chan struct{}, 1)}
	l.conn = e.Connect(Info{RemoteAddr: client.Address, Door: client.Door}, func() { l.ready <- struct{}{} })
	l.conn.set(func(s *session) { s.name = client.Name })
	return l
}

// Do sends a command that has one reply, and waits for it. When ctx ends first, the error is its own,
// and the command may still run: close the connection.
func (l *Local) Do(ctx context.Context, args ...string) (resp.Reply, error) {
	input := resp.AppendCommand(nil, args...)
	for {
		input = input[l.conn.Feed(input):]
		var out pipeline.Output
		if l.conn.Output(&out); out.Len() > 0 {
			l.received = append(l.received, out.Bytes()...)
			reply, err := resp.ReadReply(bufio.NewReader(bytes.NewReader(l.received)))
			if err != io.ErrUnexpectedEOF {
				l.received = nil
				return reply, err
			}
		}
		select {
		case <-l.ready:
		case <-ctx.Done():
			return resp.Reply{}, ctx.Err()
		}
	}
}

// Close ends the connection.
func (l *Local) Close() { l.conn.Close() }

// Described is what the command table says of a command line.
type Described struct {
	Name   string   // "get", "client|setname"
	Group  string   // as in COMMAND DOCS
	Keys   [][]byte // that the line names
	Reads  bool     // it only reads keys
	Writes bool     // it may change keys
	Blocks bool     // it may wait for others
	Admin  bool     // it is for whoever runs the server
}

// Describe looks a command line up without running it. The error is the reply that the line would
// get: the command is unknown, or its arguments are too few or too many.
func (e *Engine) Describe(args [][]byte) (Described, error) {
	cmd, err := e.commands.find(args)
	if err != nil {
		return Described{}, err
	}
	if !cmd.takes(len(args)) {
		return Described{}, wrongArity(cmd.fullName)
	}
	return Described{
		Name: cmd.fullName, Group: cmd.Group, Keys: cmd.appendKeys(nil, args), Reads: cmd.has("readonly"),
		Writes: cmd.writes || cmd.publishes || cmd.has("pubsub"), Blocks: cmd.blocks(), Admin: cmd.has("admin"),
	}, nil
}
