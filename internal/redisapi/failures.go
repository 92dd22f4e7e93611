package redisapi

import (
	"errors"

	"github.com/howdah/howdah"
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
func statusError(status howdah.Status) string {
	switch status {
	case howdah.StatusNotInteger:
		return string(errNotInteger)
	case howdah.StatusOverflow:
		return "ERR increment or decrement would overflow"
	case howdah.StatusNotFloat:
		return string(errNotFloat)
	case howdah.StatusTooLarge:
		return "ERR string exceeds maximum allowed size (proto-max-bulk-len)"
	case howdah.StatusOutOfMemory:
		return "OOM command not allowed when used memory > 'maxmemory'."
	case howdah.StatusCollision:
		return "ERR the key's hash collides with that of another live key; use another key"
	}
	return ""
}

// isRefusal reports whether the library refused the arguments of a call. Nothing
// was sent.
func isRefusal(err error) bool {
	return errors.Is(err, howdah.ErrKeyTooLong) ||
		errors.Is(err, howdah.ErrValueTooLarge) ||
		errors.Is(err, howdah.ErrInvalidTTL) ||
		errors.Is(err, howdah.ErrNotFloat)
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
	case errors.Is(err, howdah.ErrKeyTooLong):
		return string(errKeyTooLong)
	case errors.Is(err, howdah.ErrValueTooLarge):
		return statusError(howdah.StatusTooLarge)
	case errors.Is(err, howdah.ErrOutOfMemory):
		return statusError(howdah.StatusOutOfMemory)
	case errors.Is(err, howdah.ErrCollision):
		return statusError(howdah.StatusCollision)
	case errors.Is(err, howdah.ErrNotFloat):
		return string(errNotFloat)
	case errors.Is(err, howdah.ErrInvalidTTL):
		return "ERR invalid expire time"
	case errors.Is(err, howdah.ErrUnknownOutcome):
		if writes {
			return "ERR outcome unknown: the connection to PostgreSQL was lost or the time ran out after the command was sent; it may or may not have been applied"
		}
		return errUnavailable
	case errors.Is(err, howdah.ErrTimeout):
		return "ERR timeout: PostgreSQL did not answer in time; the command was not applied"
	case errors.Is(err, howdah.ErrUnavailable), errors.Is(err, howdah.ErrClosed):
		return errUnavailable
	case errors.Is(err, howdah.ErrOverloaded):
		return "TRYAGAIN Too many commands are waiting for PostgreSQL, try again"
	case errors.Is(err, howdah.ErrPermission):
		return "NOPERM the database role of the server lacks a privilege; grant it with howdah migrate --runtime-role"
	case errors.Is(err, howdah.ErrCacheNotFound):
		for number := 1; number < Databases; number++ {
			e.exists[number].Store(false) // SELECT looks again
		}
		return "ERR this database has no cache in PostgreSQL; SELECT it again, or run howdah migrate"
	}
	e.log("a command failed", "error", err)
	return "ERR " + err.Error()
}

// errUnavailable begins with LOADING, after which every client library repeats
// the command.
const errUnavailable = "LOADING Howdah cannot reach PostgreSQL, try again"
