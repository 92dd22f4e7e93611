package statement

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/howdah/howdah/internal/fault"
)

// State is the SQLSTATE of an error that PostgreSQL reported, or "".
func State(err error) string {
	if pgErr := (*pgconn.PgError)(nil); errors.As(err, &pgErr) {
		return pgErr.Code
	}
	return ""
}

// failure turns an error of the driver into one of ours. sent says that a write
// may have reached the database.
func (r *Runner) failure(err error, sent bool) error {
	switch State(err) {
	case "42P01", "42883", "3F000":
		return fmt.Errorf("%w: %w", fault.ErrSchemaMissing, err)
	}
	switch {
	case err == nil, errors.Is(err, pgx.ErrNoRows):
		return err
	case errors.Is(err, context.Canceled) && !sent:
		return fmt.Errorf("howdah: the caller stopped waiting: %w", err)
	}
	return r.db.Failure(err, sent)
}

// Left is the error of a caller that did not wait for its answer, because of
// cause.
func (r *Runner) Left(cause error) error { return r.failure(cause, false) }

// repeatable tells of an error that the statement changed nothing and may be
// tried again at once: it lost to another transaction (40P01, 40001), its
// connection had forgotten the statement (26000), or the connection was to a
// server that is lost or is the primary no more, in the place of which the pool
// looks for the primary. Where no connection can be made, another attempt would
// find the same.
func repeatable(err error) bool {
	code := State(err)
	var connecting *pgconn.ConnectError
	return code == "40P01" || code == "40001" || code == "26000" || errors.Is(err, fault.ErrUnavailable) && !errors.As(err, &connecting)
}
