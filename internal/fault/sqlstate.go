package fault

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"
)

// State returns the SQLSTATE of an error that PostgreSQL reported, or "".
func State(err error) string {
	if err == nil { // the usual case, which errors.As would allocate for
		return ""
	}
	if pgErr := (*pgconn.PgError)(nil); errors.As(err, &pgErr) {
		return pgErr.Code
	}
	return ""
}

// IsLocked reports that a statement gave up on a row or a table that another
// transaction holds: 55P03 lock_not_available, 40P01 deadlock_detected. The
// statement changed nothing.
func IsLocked(err error) bool {
	code := State(err)
	return code == "55P03" || code == "40P01"
}

// IsConflict reports that a transaction lost to another one and may be repeated.
func IsConflict(err error) bool { return IsLocked(err) || State(err) == "40001" }

// IsServer reports that this server cannot do any work now: it is read-only
// (25006, a demoted primary), shutting down or starting up (57P01 to 57P05), or
// lost (08xxx). Its connections are given up, and the primary is looked for
// again. The statement changed nothing.
func IsServer(err error) bool {
	code := State(err)
	return code == "25006" || len(code) == 5 && (code[:4] == "57P0" || code[:2] == "08")
}

// IsLost reports that a connection is of no more use: its server cannot work, or
// the connection failed for another reason than time or its user.
func IsLost(err error) bool {
	return IsServer(err) || State(err) == "" && !IsTimeout(err) && !errors.Is(err, context.Canceled)
}

// IsData reports an error that the data of one row can cause: data exceptions,
// constraints and limits. Other errors (privileges, disk, memory) would meet
// every row.
func IsData(err error) bool {
	code := State(err)
	return len(code) == 5 && (code[:2] == "22" || code[:2] == "23" || code[:2] == "54")
}

// IsTimeout reports that a deadline passed, of a context or of a socket.
func IsTimeout(err error) bool {
	var netErr net.Error
	return errors.Is(err, context.DeadlineExceeded) || errors.Is(err, os.ErrDeadlineExceeded) ||
		errors.As(err, &netErr) && netErr.Timeout()
}

// isUnloggedOnStandby reports that a table is UNLOGGED and the server a standby.
// The SQLSTATE, 0A000, has other reasons too, and messages are translated.
func isUnloggedOnStandby(err error) bool {
	pgErr := (*pgconn.PgError)(nil)
	return errors.As(err, &pgErr) && pgErr.Code == "0A000" && pgErr.Routine == "get_relation_info"
}

// IsMoved reports that the table of a cache was not there: the cache was dropped, or
// its table has another name, which its settings say.
func IsMoved(err error) bool { return errors.Is(err, ErrCacheNotFound) && State(err) == "42P01" }

// IsElsewhere reports that the partition of a key is on another server than the one that
// was asked. Nothing was changed.
func IsElsewhere(err error) bool {
	code := State(err)
	return errors.Is(err, ErrElsewhere) || code == "HW098" || code == "HW099"
}

// From turns an error of a connection or of a statement into one of this
// package. sent says that the statement had left this process, writes that it
// changes data. It returns nil for nil.
func From(err error, sent, writes bool) error {
	var connecting *pgconn.ConnectError
	switch code := State(err); {
	case err == nil:
		return nil
	case errors.As(err, &connecting):
		return fmt.Errorf("%w: %w", ErrUnavailable, Unreachable(err))
	case errors.Is(err, ErrClosed), errors.Is(err, ErrCacheNotFound), errors.Is(err, ErrUnavailable), errors.Is(err, ErrSchemaTooNew), errors.Is(err, ErrTimeout):
		return err
	case code == "":
		return fromConnection(err, sent, writes)
	case code == "25006":
		return fmt.Errorf("%w: this PostgreSQL is read-only, a standby or a primary that was fenced off: name the primary in the database URL: %w", ErrUnavailable, err)
	case isUnloggedOnStandby(err):
		return fmt.Errorf("%w: this PostgreSQL is a standby, where UNLOGGED caches cannot be read: name the primary in the database URL, or give the cache another durability: %w", ErrUnavailable, err)
	case IsServer(err):
		return fmt.Errorf("%w: %w", ErrUnavailable, err)
	case code == "42P01":
		return fmt.Errorf("%w (its table is gone): %w", ErrCacheNotFound, err)
	case code == "42501":
		return fmt.Errorf("%w: run \"howdah migrate --runtime-role\" for this role: %w", ErrPermission, err)
	case IsElsewhere(err):
		return fmt.Errorf("%w: %w", ErrElsewhere, err)
	case code == "HW016":
		return fmt.Errorf("%w: use READ COMMITTED, or a call of its own: %w", ErrIsolation, err)
	case code == "53300":
		return fmt.Errorf("%w: PostgreSQL has no connection left: %w", ErrUnavailable, err)
	case code == "55P03", code == "40P01":
		return Timeout("another transaction held the row", err)
	case code == "57014":
		return Timeout("PostgreSQL canceled the statement (statement_timeout, or somebody who may)", err)
	default:
		return fmt.Errorf("howdah: PostgreSQL refused the statement: %w", err)
	}
}

// fromConnection is From for errors that did not come from PostgreSQL.
func fromConnection(err error, sent, writes bool) error {
	switch {
	case sent && writes:
		return fmt.Errorf("%w: %w", ErrUnknownOutcome, err)
	case IsTimeout(err):
		return Timeout("PostgreSQL did not answer in time", err)
	default:
		return fmt.Errorf("%w: %w", ErrUnavailable, OneLine(err))
	}
}

// Timeout is ErrTimeout with a reason. It matches context.DeadlineExceeded too,
// and cause, if there is one.
func Timeout(reason string, cause error) error { return &timeout{reason, cause} }

// BlameOf returns what took the time of an ErrTimeout, in words that go on after a colon:
// PostgreSQL, if the error does not say.
func BlameOf(err error) string {
	if late := (*timeout)(nil); errors.As(err, &late) {
		blame, _, _ := strings.Cut(late.reason, ";") // the door says what that means for its command
		return blame
	}
	return "PostgreSQL did not answer in time"
}

type timeout struct {
	reason string
	cause  error
}

func (e *timeout) Error() string {
	if e.cause == nil {
		return ErrTimeout.Error() + ": " + e.reason
	}
	return ErrTimeout.Error() + ": " + e.reason + ": " + OneLine(e.cause).Error()
}

func (e *timeout) Is(target error) bool {
	return target == ErrTimeout || target == context.DeadlineExceeded
}
func (e *timeout) Unwrap() error { return e.cause }
func (e *timeout) Timeout() bool { return true }
