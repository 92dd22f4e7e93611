package statement

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/howdah/howdah"
)

// codes are the SQLSTATEs that mean one of the library's errors.
var codes = map[string]error{
	"42P01": howdah.ErrSchemaMissing,
	"42883": howdah.ErrSchemaMissing,
	"3F000": howdah.ErrSchemaMissing,
	"53300": howdah.ErrUnavailable,
	"55P03": howdah.ErrTimeout,
	"57014": howdah.ErrTimeout,
}

// State is the SQLSTATE of an error that PostgreSQL reported, or "".
func State(err error) string {
	if pgErr := (*pgconn.PgError)(nil); errors.As(err, &pgErr) {
		return pgErr.Code
	}
	return ""
}

// badServer tells that this server cannot do our work, whatever is asked: it is
// read-only, shutting down, starting up or lost. It changed nothing.
func badServer(code string) bool {
	return code == "25006" || len(code) == 5 && (code[:4] == "57P0" || code[:2] == "08")
}

// repeatable tells that a statement changed nothing and may be tried again at
// once: 40P01 deadlock, 40001 serialization failure.
func repeatable(err error) bool {
	code := State(err)
	return code == "40P01" || code == "40001"
}

// failure turns an error of the driver into one of ours. sent says that a
// write may have reached the database.
func failure(err error, sent bool) error {
	code := State(err)
	var netErr net.Error
	switch {
	case err == nil, errors.Is(err, pgx.ErrNoRows):
		return err
	case codes[code] != nil:
		return fmt.Errorf("%w: %w", codes[code], err)
	case code == "42501":
		return fmt.Errorf("%w: run \"howdah migrate --runtime-role\" for this role: %w", howdah.ErrPermission, err)
	case badServer(code):
		return fmt.Errorf("%w: %w", howdah.ErrUnavailable, err)
	case code != "":
		return fmt.Errorf("howdah: PostgreSQL refused the statement: %w", err)
	case sent:
		return fmt.Errorf("%w: %w", howdah.ErrUnknownOutcome, oneLine{err})
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, os.ErrDeadlineExceeded), errors.As(err, &netErr) && netErr.Timeout():
		return fmt.Errorf("%w: %w", howdah.ErrTimeout, oneLine{err})
	case errors.Is(err, context.Canceled):
		return fmt.Errorf("howdah: the caller stopped waiting: %w", err)
	default:
		return fmt.Errorf("%w: %w", howdah.ErrUnavailable, oneLine{err})
	}
}

// oneLine prints an error of the driver, which lists the addresses that it
// tried on lines of their own, as one sentence.
type oneLine struct{ error }

func (e oneLine) Error() string { return strings.Join(strings.Fields(e.error.Error()), " ") }
func (e oneLine) Unwrap() error { return e.error }
