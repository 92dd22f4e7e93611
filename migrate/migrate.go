// Package migrate installs, upgrades, checks and removes the Howdah schema.
// Nothing else in Howdah changes a schema; opening a cache only checks it.
//
// An upgrade is one transaction: it happened or it did not. Any number of
// programs may upgrade at once; one does the work and the others wait for it
// and find it done. An older program never takes back what a newer one did.
package migrate

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/howdah/howdah/schema"
)

// The errors a caller tells apart with errors.Is. Each error that wraps one
// of them is a sentence that says what to do.
var (
	// ErrMissing says that the schema is not there, or too old for this program.
	ErrMissing = errors.New("schema missing or too old")

	// ErrTooNew says that a newer Howdah changed the schema in a way this
	// program cannot work with.
	ErrTooNew = errors.New("schema too new")

	// ErrForeign says that there is a schema named howdah which is not ours,
	// or that ours holds objects which are not.
	ErrForeign = errors.New("not Howdah's")

	// ErrPermission says that the role lacks a privilege.
	ErrPermission = errors.New("permission denied")

	// ErrUnsupported says that the server is too old, or a standby.
	ErrUnsupported = errors.New("unsupported server")

	// ErrRoleNotFound says that the role to grant to does not exist.
	ErrRoleNotFound = errors.New("role not found")

	// ErrPartitions says that the caches cannot be divided as they were to be.
	ErrPartitions = errors.New("cannot be divided")
)

// problem is an error with a sentence of its own and a sentinel beneath.
type problem struct {
	sentinel error
	sentence string
}

func (p *problem) Error() string { return p.sentence }
func (p *problem) Unwrap() error { return p.sentinel }

func fail(sentinel error, format string, args ...any) error {
	return &problem{sentinel, fmt.Sprintf(format, args...)}
}

// Options tune Up.
type Options struct {
	// Logger hears of every step, at level debug. Default: none.
	Logger *slog.Logger

	// Partitions is into how many the keys of each cache are divided, so that the
	// database can be spread over several servers; see docs/scale-out.md. It is a power
	// of two from 2 to 64, given once and before there are entries. 0: as it is; a new
	// database has none.
	Partitions int
}

// Result is what Up did.
type Result struct {
	From, To          int      // schema versions before and after; 0: there was none
	Applied           []string // names of the migrations applied
	FunctionsReplaced bool
	Divided           bool // the caches were divided into partitions
	Partitions        int  // into so many they are divided now; 0: none
}

// Up brings the schema of the database to the version of this program, in one
// transaction. It does nothing if the schema is there already, or newer.
//
// Errors: ErrPermission, ErrForeign, ErrTooNew, ErrUnsupported, ErrPartitions, or the
// database's own.
func Up(ctx context.Context, conn *pgx.Conn, opts Options) (Result, error) {
	log := opts.Logger
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	// Most of the time there is nothing to do: no lock, no privilege needed.
	if s, err := inspect(ctx, conn); err == nil && len(plan(s, opts.Partitions)) == 0 {
		return Result{From: s.version, To: s.version, Partitions: s.partitions}, s.usable()
	}

	var result Result
	err := transact(ctx, conn, func() error {
		s, err := inspect(ctx, conn)
		if err != nil {
			return err
		}
		if err := cmp.Or(s.usable(), s.divisible(opts.Partitions)); err != nil {
			return err
		}
		result = Result{From: s.version, To: max(s.version, schema.Latest()), Partitions: s.partitions}
		steps := plan(s, opts.Partitions)
		if len(steps) == 0 {
			return nil
		}
		if err := cmp.Or(s.changeable(), s.creatable()); err != nil {
			return err
		}
		for _, step := range steps {
			log.Debug("howdah: schema step", "step", step.name)
			if err := run(ctx, conn, step.sql); err != nil {
				return step.failed(err)
			}
			switch step.kind {
			case migration:
				result.Applied = append(result.Applied, step.name)
			case functions:
				result.FunctionsReplaced = true
			case division:
				result.Divided, result.Partitions = true, opts.Partitions
			}
		}
		return nil
	})
	if err != nil {
		return Result{}, err
	}
	return result, nil
}

// failed is the error of the step; those of a division are about the caches, and say what
// to do.
func (s *step) failed(err error) error {
	var pgErr *pgconn.PgError
	if s.kind == division && errors.As(err, &pgErr) {
		return fail(ErrPartitions, "%s %s", pgErr.Message, pgErr.Hint)
	}
	return fmt.Errorf("howdah: schema step %q failed, nothing was changed: %w", s.name, err)
}

// transact runs fn in a transaction that holds the lock.
func transact(ctx context.Context, conn *pgx.Conn, fn func() error) error {
	err := run(ctx, conn, schema.Query("migrate_begin"))
	if err == nil {
		err = fn()
	}
	if err == nil {
		return run(ctx, conn, "COMMIT")
	}
	// A cancelled context must not leave the transaction open; where the
	// connection is gone, so is the transaction.
	_ = run(context.WithoutCancel(ctx), conn, "ROLLBACK")
	return err
}

// run executes statements that take no arguments and whose rows do not matter.
func run(ctx context.Context, conn *pgx.Conn, sql string) error {
	return conn.PgConn().Exec(ctx, sql).Close()
}

// sqlState is the SQLSTATE of a PostgreSQL error, or "".
func sqlState(err error) string {
	var pgErr *pgconn.PgError
	if errors.As(err, &pgErr) {
		return pgErr.Code
	}
	return ""
}

// detail is what PostgreSQL adds to the message of an error.
func detail(err error) string {
	var pgErr *pgconn.PgError
	if errors.As(err, &pgErr) {
		return strings.ReplaceAll(pgErr.Detail, "\n", "; ")
	}
	return ""
}
