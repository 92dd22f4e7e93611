package rediscli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/howdah/howdah/internal/resp"
)

// Session sends command lines to a server and writes the replies.
type Session struct {
	Client *Client
	Format Format
	Out    io.Writer // replies
	Err    io.Writer // what is wrong with command lines and the connection

	transaction bool // between MULTI and EXEC
}

// Repeat says how often a command is run. The zero value is once.
type Repeat struct {
	Times    int // less than 0: until ctx ends
	Interval time.Duration
}

// Run runs a command and writes its reply, as often as it is to be repeated.
// failed says that a reply was an error.
func (s *Session) Run(ctx context.Context, args []string, repeat Repeat) (failed bool, err error) {
	for i := 0; ; i++ {
		wrong, err := s.once(ctx, args)
		failed = failed || wrong
		if err != nil || repeat.Times >= 0 && i+1 >= repeat.Times {
			return failed, err
		}
		select {
		case <-ctx.Done():
			return failed, nil
		case <-time.After(repeat.Interval):
		}
	}
}

func (s *Session) once(ctx context.Context, args []string) (failed bool, err error) {
	if receives(args) {
		return s.receive(ctx, args)
	}
	if unsubscribes(args) && len(args) > 2 { // each channel has a reply of its own
		for _, channel := range args[1:] {
			if _, err := s.once(ctx, []string{args[0], channel}); err != nil {
				return false, err
			}
		}
		return false, nil
	}
	var reply resp.Reply
	if s.transaction {
		reply, err = s.queue(ctx, args)
	} else {
		reply, err = s.Client.Do(ctx, args...)
	}
	if err != nil {
		s.transaction = false
		return false, err
	}
	s.follow(args[0], reply)
	return reply.Kind == resp.Error, s.write(args, reply)
}

var errTransactionLost = errors.New("the connection was lost, and the transaction with it: nothing of it was executed")

// queue sends a command of a transaction, on its connection.
func (s *Session) queue(ctx context.Context, args []string) (resp.Reply, error) {
	if !s.Client.alive() {
		s.Client.Close()
		return resp.Reply{}, errTransactionLost
	}
	reply, err := s.Client.send(ctx, args)
	if errors.Is(err, ErrLost) && !is(args[0], "EXEC") {
		return resp.Reply{}, errTransactionLost
	}
	return reply, err
}

// follow notes whether a transaction is open.
func (s *Session) follow(name string, reply resp.Reply) {
	switch {
	case is(name, "MULTI") && reply.Kind != resp.Error:
		s.transaction = true
	case is(name, "EXEC"), is(name, "DISCARD") && reply.Kind != resp.Error, is(name, "RESET"):
		s.transaction = false
	}
}

// receives says whether a server answers a command with messages without end.
func receives(args []string) bool {
	return slices.ContainsFunc([]string{"SUBSCRIBE", "PSUBSCRIBE", "SSUBSCRIBE", "MONITOR"}, func(name string) bool { return is(args[0], name) })
}

var errRefused = errors.New("the server refused to send messages")

func (s *Session) receive(ctx context.Context, args []string) (failed bool, err error) {
	if s.Format == Standard {
		fmt.Fprintln(s.Out, "Reading messages... (press Ctrl-C to quit)")
	}
	err = s.Client.Receive(ctx, func(reply resp.Reply) error {
		if err := s.write(args, reply); err != nil {
			return err
		}
		if reply.Kind == resp.Error {
			return errRefused
		}
		return nil
	}, args...)
	if errors.Is(err, errRefused) {
		return true, nil
	}
	return false, err
}

func (s *Session) write(args []string, reply resp.Reply) error {
	text := s.Format.Append(nil, reply)
	if s.Format != JSON && (reply.Kind == resp.Bulk || reply.Kind == resp.Verbatim) && isText(args) {
		text = reply.Str // its lines have their ends
	}
	_, err := s.Out.Write(text)
	return err
}

// isText says whether the reply to a command is text for people, which is shown
// as it is. These are the commands of redis-cli's list.
func isText(args []string) bool {
	name := strings.ToUpper(strings.Join(args[:min(2, len(args))], " "))
	if is(args[0], "INFO") || is(args[0], "LOLWUT") || is(args[0], "HOWDAH.INFO") {
		return true
	}
	return slices.Contains([]string{
		"CLIENT LIST", "CLIENT INFO", "CLUSTER NODES", "CLUSTER INFO", "MEMORY DOCTOR", "MEMORY MALLOC-STATS",
		"LATENCY DOCTOR", "LATENCY GRAPH", "DEBUG HTSTATS", "DEBUG HTSTATS-KEY", "PROXY INFO",
	}, name)
}

// Lines runs the command lines of a file or pipe to its end. failed says that
// a line was not a command, or a reply was an error. A connection that is lost
// ends it.
func (s *Session) Lines(ctx context.Context, in io.Reader) (failed bool, err error) {
	lines := bufio.NewReader(in)
	for ctx.Err() == nil {
		line, readErr := lines.ReadString('\n')
		wrong, quit, err := s.line(ctx, line)
		failed = failed || wrong
		switch {
		case err != nil || quit:
			return failed, err
		case errors.Is(readErr, io.EOF):
			return failed, nil
		case readErr != nil:
			return failed, readErr
		}
	}
	return failed, nil
}

// line runs what was typed: "exit", nothing, or a command, with a number before
// it that says how often.
func (s *Session) line(ctx context.Context, line string) (failed, quit bool, err error) {
	words, err := resp.SplitWords(line)
	switch {
	case err != nil:
		fmt.Fprintln(s.Err, "Invalid argument(s): quotes are not closed")
		return true, false, nil
	case len(words) == 0:
		return false, false, nil
	case is(words[0], "exit"), is(words[0], "quit"):
		return false, true, nil
	}
	repeat := Repeat{}
	if n, err := strconv.Atoi(words[0]); err == nil && n > 0 && len(words) > 1 {
		repeat.Times, words = n, words[1:]
	}
	failed, err = s.Run(ctx, words, repeat)
	return failed, false, err
}
