package redisapi

import (
	"errors"
	"fmt"
	"strings"

	"github.com/howdah/howdah/internal/fault"
	"github.com/howdah/howdah/internal/verb"
)

// sqlState returns the SQLSTATE of an error that PostgreSQL reported, or "".
func sqlState(err error) string {
	var reported interface{ SQLState() string }
	if errors.As(err, &reported) {
		return reported.SQLState()
	}
	return ""
}

// statusError returns the error reply for the status of a finished call, or "" if
// the status is no error.
func statusError(status verb.Status) string {
	switch status {
	case verb.WrongType:
		return "WRONGTYPE Operation against a key holding the wrong kind of value"
	case verb.NotInteger:
		return string(errNotInteger)
	case verb.Overflow:
		return "ERR increment or decrement would overflow"
	case verb.NotFloat:
		return string(errNotFloat)
	case verb.TooLarge:
		return "ERR string exceeds maximum allowed size (proto-max-bulk-len)"
	case verb.CacheFull:
		return "OOM command not allowed when used memory > 'maxmemory'."
	case verb.Collision:
		return "ERR the key's hash collides with that of another live key; use another key"
	}
	return ""
}

// hasEffect reports whether it matters if the command was applied.
func (cmd *Command) hasEffect() bool { return cmd.writes || cmd.publishes }

// isRefusal reports whether the library refused the arguments of a call. Nothing
// was sent.
func isRefusal(err error) bool {
	return errors.Is(err, fault.ErrKeyTooLong) ||
		errors.Is(err, fault.ErrValueTooLarge) ||
		errors.Is(err, fault.ErrInvalidTTL) ||
		errors.Is(err, fault.ErrNotFloat)
}

// errorText returns the error reply for an error of the library. Replies that make
// clients repeat a command (LOADING, READONLY, TRYAGAIN) are used only if the
// command was certainly not applied, or only reads.
func (e *Engine) errorText(err error, writes bool) string {
	var refused refusal
	if errors.As(err, &refused) {
		return string(refused)
	}
	if sqlState(err) == "25006" { // read_only_sql_transaction
		return "READONLY You can't write against a read only replica."
	}
	switch {
	case errors.Is(err, fault.ErrKeyTooLong):
		return string(errKeyTooLong)
	case errors.Is(err, fault.ErrWrongType):
		return statusError(verb.WrongType)
	case errors.Is(err, fault.ErrCrossPartition):
		return "CROSSSLOT Keys in request don't hash to the same slot"
	case errors.Is(err, fault.ErrLargeCollection):
		return fmt.Sprintf("ERR collection is larger than %d bytes, the most that Howdah stores under one key", fault.MaxCollectionBytes)
	case errors.Is(err, fault.ErrValueTooLarge):
		return statusError(verb.TooLarge)
	case errors.Is(err, fault.ErrCacheFull):
		return statusError(verb.CacheFull)
	case errors.Is(err, fault.ErrCollision):
		return statusError(verb.Collision)
	case errors.Is(err, fault.ErrNotFloat):
		return string(errNotFloat)
	case errors.Is(err, fault.ErrInvalidTTL):
		return "ERR invalid expire time"
	case errors.Is(err, fault.ErrUnknownOutcome):
		if writes {
			return "ERR outcome unknown: the connection to " + postgres(err) + " was lost or the time ran out after the command was sent; it may or may not have been applied"
		}
		return unreachable(err)
	case errors.Is(err, fault.ErrTimeout):
		return "ERR timeout: " + blame(err) + "; the command was not applied"
	case errors.Is(err, fault.ErrUnavailable), errors.Is(err, fault.ErrClosed):
		return unreachable(err)
	case errors.Is(err, fault.ErrOverloaded):
		return "TRYAGAIN Too many commands are waiting for PostgreSQL, try again"
	case errors.Is(err, fault.ErrPermission):
		return "NOPERM the database role of the server lacks a privilege; grant it with howdah migrate --runtime-role"
	case errors.Is(err, fault.ErrCacheNotFound):
		for number := 1; number < Databases; number++ {
			e.exists[number].Store(false) // SELECT looks again
		}
		return "ERR this database has no cache in PostgreSQL; SELECT it again, or run howdah migrate"
	}
	e.log("a command failed", "error", err)
	return "ERR " + err.Error()
}

// unreachable begins with LOADING, after which every client library repeats the command.
func unreachable(err error) string {
	return "LOADING Howdah cannot reach " + postgres(err) + ", try again"
}

// blame is what took the time of a command.
func blame(err error) string {
	text := fault.BlameOf(err)
	if rest, ok := strings.CutPrefix(text, "PostgreSQL"); ok {
		return postgres(err) + rest
	}
	return text
}

// postgres is PostgreSQL, and which server of several an error comes from.
func postgres(err error) string {
	if of := (*fault.ServerError)(nil); errors.As(err, &of) {
		return "PostgreSQL at " + of.Address + " (one of several servers)"
	}
	return "PostgreSQL"
}
