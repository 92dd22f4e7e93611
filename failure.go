package howdah

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/howdah/howdah/internal/coalesce"
)

// sqlState returns the SQLSTATE of an error that PostgreSQL reported, or "".
func sqlState(err error) string {
	if pgErr := (*pgconn.PgError)(nil); errors.As(err, &pgErr) {
		return pgErr.Code
	}
	return ""
}

// lockedOut tells that a statement gave up on a row that another transaction
// holds: 55P03 lock_not_available, 40P01 deadlock_detected. It changed nothing.
func lockedOut(err error) bool {
	code := sqlState(err)
	return code == "55P03" || code == "40P01"
}

// badServer tells that this server cannot do our work, whatever is asked: it
// is read-only (25006, a demoted primary), shutting down or starting up
// (57P01 to 57P05), or lost (08xxx). The connections to it are given up and
// the primary is looked for again. The statement changed nothing.
func badServer(err error) bool {
	code := sqlState(err)
	return code == "25006" || len(code) == 5 && (code[:4] == "57P0" || code[:2] == "08")
}

// notOnStandby tells that a table is UNLOGGED and the server a standby. The
// SQLSTATE, 0A000, has other reasons too, and messages are translated.
func notOnStandby(err error) bool {
	pgErr := (*pgconn.PgError)(nil)
	return errors.As(err, &pgErr) && pgErr.Code == "0A000" && pgErr.Routine == "get_relation_info"
}

// Failure turns the error of a statement that was run on a connection of Pool
// into the error that the DB's own calls would return; see the list of errors.
// sent says that the statement changes data and may have reached PostgreSQL.
// If the server is lost, or is the primary no more, the connections to it that
// Open made are given up, so that the primary is looked for again.
func (db *DB) Failure(err error, sent bool) error {
	if err == nil {
		return nil
	}
	if db.ownPool && (badServer(err) || sqlState(err) == "" && !isTimeout(err) && !errors.Is(err, context.Canceled)) {
		db.pool.Reset()
	}
	return failure(err, sent, sent)
}

// failure turns an error from a connection into one of ours. sent says that
// the statement had left this process, write that it changes data.
func failure(err error, sent, write bool) error {
	var connecting *pgconn.ConnectError
	switch code := sqlState(err); {
	case errors.As(err, &connecting):
		return fmt.Errorf("%w: %w", ErrUnavailable, Unreachable(err))
	case errors.Is(err, ErrClosed), errors.Is(err, ErrCacheNotFound), errors.Is(err, ErrUnavailable):
		return err
	case code == "":
		return connectionFailure(err, sent, write)
	case code == "25006":
		return fmt.Errorf("%w: this PostgreSQL is read-only, a standby or a primary that was fenced off: name the primary in the database URL: %w", ErrUnavailable, err)
	case notOnStandby(err):
		return fmt.Errorf("%w: this PostgreSQL is a standby, where UNLOGGED caches cannot be read: name the primary in the database URL, or give the cache another durability: %w", ErrUnavailable, err)
	case badServer(err):
		return fmt.Errorf("%w: %w", ErrUnavailable, err)
	case code == "42P01":
		return fmt.Errorf("%w (its table is gone): %w", ErrCacheNotFound, err)
	case code == "42501":
		return fmt.Errorf("%w: run \"howdah migrate --runtime-role\" for this role: %w", ErrPermission, err)
	case code == "53300":
		return fmt.Errorf("%w: PostgreSQL has no connection left: %w", ErrUnavailable, err)
	case code == "55P03", code == "40P01", code == "57014":
		return fmt.Errorf("%w while another transaction held the row: %w", ErrTimeout, err)
	default:
		return fmt.Errorf("howdah: PostgreSQL refused the statement: %w", err)
	}
}

// connectionFailure is failure for errors that did not come from PostgreSQL.
func connectionFailure(err error, sent, write bool) error {
	switch {
	case sent && write:
		return fmt.Errorf("%w: %w", ErrUnknownOutcome, err)
	case isTimeout(err):
		return fmt.Errorf("%w: %w", ErrTimeout, err)
	default:
		return fmt.Errorf("%w: %w", ErrUnavailable, oneLine{err})
	}
}

// Unreachable turns an error of connecting by pgx into one sentence that says
// what to do; other errors come back as they are.
func Unreachable(err error) error {
	var connecting *pgconn.ConnectError
	if !errors.As(err, &connecting) {
		return err
	}
	c := connecting.Config
	place := net.JoinHostPort(c.Host, strconv.Itoa(int(c.Port)))
	switch sqlState(err) {
	case "28P01", "28000":
		return &unreachable{fmt.Sprintf("PostgreSQL at %s does not let user %q in: correct the user or password in the database URL, or pg_hba.conf", place, c.User), err}
	case "3D000":
		return &unreachable{fmt.Sprintf("there is no database %q at %s: create it with CREATE DATABASE, or correct the database URL", c.Database, place), err}
	}
	if strings.Contains(err.Error(), "unsupported startup parameter") { // pgbouncer says 08P01, as of any other mistake
		return &unreachable{fmt.Sprintf("the pooler at %s refuses settings that a connection begins with (%s): say --pooler transaction, or pooler=transaction in the database URL", place, lastReason(err)), err}
	}
	if strings.Contains(err.Error(), "server is in standby mode") {
		return &unreachable{fmt.Sprintf("no primary answers at %s, only a standby, which cannot store: name the primary in the database URL, or promote the standby", places(c)), err}
	}
	return &unreachable{fmt.Sprintf("cannot reach PostgreSQL at %s: start it, or correct the database URL (%s)", place, lastReason(err)), err}
}

// places lists the hosts of a database URL.
func places(c *pgconn.Config) string {
	all := []string{net.JoinHostPort(c.Host, strconv.Itoa(int(c.Port)))}
	for _, f := range c.Fallbacks {
		if place := net.JoinHostPort(f.Host, strconv.Itoa(int(f.Port))); !slices.Contains(all, place) {
			all = append(all, place)
		}
	}
	return strings.Join(all, ", ")
}

// lastReason is the innermost error: the driver wraps it in every address that
// it tried.
func lastReason(err error) string {
	text := strings.Join(strings.Fields(err.Error()), " ")
	if i := strings.LastIndex(text, "error: "); i >= 0 {
		text = text[i+len("error: "):]
	}
	return text
}

// unreachable is a sentence about an error of the driver.
type unreachable struct {
	sentence string
	cause    error
}

func (e *unreachable) Error() string { return e.sentence }
func (e *unreachable) Unwrap() error { return e.cause }

// oneLine prints an error of the driver, which lists the addresses that it
// tried on lines of their own, as one sentence.
type oneLine struct{ error }

func (e oneLine) Error() string { return strings.Join(strings.Fields(e.error.Error()), " ") }
func (e oneLine) Unwrap() error { return e.error }

func isTimeout(err error) bool {
	var netErr net.Error
	return errors.Is(err, context.DeadlineExceeded) || errors.Is(err, os.ErrDeadlineExceeded) ||
		errors.As(err, &netErr) && netErr.Timeout()
}

// deadlineError is ErrTimeout that also matches context.DeadlineExceeded.
type deadlineError struct{ reason string }

func (e *deadlineError) Error() string { return ErrTimeout.Error() + ": " + e.reason }

func (e *deadlineError) Is(target error) bool {
	return target == ErrTimeout || target == context.DeadlineExceeded
}

func (e *deadlineError) Timeout() bool { return true }

// error returns the status as an error, nil for OK.
func (s Status) error() error {
	switch s {
	case StatusOK:
		return nil
	case StatusMiss:
		return ErrMiss
	case StatusNotStored:
		return ErrNotStored
	case StatusNotInteger:
		return ErrNotInteger
	case StatusOverflow:
		return ErrOverflow
	case StatusNotFloat:
		return ErrNotFloat
	case StatusTooLarge:
		return ErrValueTooLarge
	case StatusCollision:
		return ErrCollision
	default:
		return ErrOutOfMemory
	}
}

// abandoned tells that the caller of a call left after it was sent.
func abandoned(err error) bool { return errors.Is(err, coalesce.ErrSent) }

// leftFailure is the error of a caller that stopped waiting.
func leftFailure(left *coalesce.LeftError, verb Verb) error {
	timedOut := errors.Is(left.Cause, context.DeadlineExceeded)
	switch {
	case left.Sent && verb > VerbStatMany:
		return fmt.Errorf("%w: the caller stopped waiting: %w", ErrUnknownOutcome, left.Cause)
	case timedOut && left.Blocked:
		return &deadlineError{"another transaction holds the row; nothing was changed"}
	case timedOut && left.Sent:
		return &deadlineError{"PostgreSQL did not answer in time"}
	case timedOut:
		return &deadlineError{"PostgreSQL is too busy; nothing was sent"}
	default:
		return fmt.Errorf("howdah: the caller stopped waiting: %w", left.Cause)
	}
}
