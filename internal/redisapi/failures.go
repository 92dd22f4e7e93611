package redisapi

import (
	"errors"

	"github.com/howdah/howdah"
	"github.com/jackc/pgx/v5/pgconn"
)

// statusError is the error reply of a call whose data did not allow it; "" if
// there is none.
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

// isRefusal tells whether an error says that a call's arguments are at fault:
// nothing was sent.
func isRefusal(err error) bool {
	return errors.Is(err, howdah.ErrKeyTooLong) ||
		errors.Is(err, howdah.ErrValueTooLarge) ||
		errors.Is(err, howdah.ErrInvalidTTL) ||
		errors.Is(err, howdah.ErrNotFloat)
}

// errorText is the error reply for an error of the library. Codes that make
// clients repeat a command (LOADING, READONLY, TRYAGAIN) are given only where
// it was certainly not applied, or only read.
func (e *Engine) errorText(err error, writes bool) string {
	var refused refusal
	if errors.As(err, &refused) {
		return string(refused)
	}
	var pgErr *pgconn.PgError
	if errors.As(err, &pgErr) && pgErr.Code == "25006" { // read_only_sql_transaction
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

// errUnavailable begins with LOADING, for which every client knows to repeat.
const errUnavailable = "LOADING Howdah cannot reach PostgreSQL, try again"
