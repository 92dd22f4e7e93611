package redisapi

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/howdah/howdah/internal/core"
	"github.com/howdah/howdah/internal/resp"
)

// survey answers the commands of a script that look at all keys, such as KEYS and SCAN, or at
// the whole server, such as INFO. They read what is stored, besides the edit: without what the
// script itself has changed, and nothing notices if it changes before the script ends. A
// command line has the same reply in all runs of one script.
type survey struct {
	cache   *core.Cache
	tx      *transaction // around the script; nil: there is none
	replies map[string][]byte
	found   [][]byte // the keys in the replies
}

// surveyError is an error of PostgreSQL, which ends the run.
type surveyError struct{ error }

func (e *surveyError) Unwrap() error { return e.error }

// surveys reports whether a command is one of those. SELECT only leads its client to another
// database.
func (cmd *Command) surveys() bool { return cmd.run != nil && !cmd.writes && cmd.fullName != "select" }

// run appends the reply of a command. Errors: surveyError.
func (s *survey) run(ctx context.Context, client *Conn, cmd *Command, args [][]byte, dst []byte) ([]byte, error) {
	line := fmt.Sprintf("%d %q", client.proto, args)
	reply, known := s.replies[line]
	if !known {
		var err error
		if reply, err = s.ask(ctx, client, cmd, args); err != nil {
			return dst, err
		}
		if s.replies == nil {
			s.replies = make(map[string][]byte)
		}
		s.replies[line] = reply
	}
	return append(dst, reply...), nil
}

func (s *survey) ask(ctx context.Context, client *Conn, cmd *Command, args [][]byte) (reply []byte, err error) {
	switch cmd.fullName {
	case "keys":
		var found [][]byte
		if found, err = findKeys(ctx, s.cache, args[1]); err == nil {
			reply = s.appendKeys(nil, found)
		}
	case "scan":
		var page [][]byte
		var next uint64
		if page, next, err = findPage(ctx, s.cache, args); err == nil {
			reply = s.appendKeys(appendCursor(nil, next), page)
		}
	default:
		t := &task{conn: client, cmd: cmd, ctx: ctx, tx: s.tx}
		err = cmd.run(t, args)
		reply = t.out
	}
	var refused refusal
	switch {
	case errors.As(err, &refused):
		return resp.AppendError(nil, err.Error()), nil
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case err != nil:
		return nil, &surveyError{err}
	}
	return reply, nil
}

func (s *survey) appendKeys(dst []byte, found [][]byte) []byte {
	s.found = append(s.found, found...)
	return appendBulks(dst, found)
}

// maxExpected is how many keys are loaded together because a survey has found them.
const maxExpected = 1000

// expect asks for keys that were found together with the one that the script uses
// now: most scripts use all of them.
func (h *scriptHost) expect(key []byte) {
	at := slices.IndexFunc(h.survey.found, func(found []byte) bool { return bytes.Equal(found, key) })
	if at < 0 {
		return
	}
	asked := 0
	for _, found := range h.survey.found[at:] {
		if !h.view.Has(found) {
			if asked++; asked == maxExpected {
				return
			}
		}
	}
}
