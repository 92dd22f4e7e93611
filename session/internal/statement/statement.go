// Package statement runs statements on sessions, by their names in
// schema/queries: each on any connection, in one round trip, within a deadline,
// with errors that say what is known.
package statement

import (
	"context"
	"errors"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/howdah/howdah/internal/core"
	"github.com/howdah/howdah/internal/engine"
	"github.com/howdah/howdah/internal/fault"
	"github.com/howdah/howdah/internal/pgwire"
	"github.com/howdah/howdah/internal/trace"
	"github.com/howdah/howdah/schema"
)

// attempts bounds how often a statement that changed nothing is tried again.
const attempts = 4

// Class is how a write is committed and how long it may take.
type Class struct {
	commit any           // synchronous_commit; nil: as the database has it
	limit  time.Duration // 0: Runner.deadlines.Timeout
}

// Durable leaves synchronous_commit as the database has it: what was
// acknowledged survives a crash.
func Durable() Class { return Class{} }

// Relaxed is for touches: a crash may lose the last of them.
func Relaxed() Class { return Class{commit: "off"} }

// Local is on disk at the primary and waits for no standby.
func Local() Class { return Class{commit: "local"} }

// Upkeep is relaxed work that no request waits for.
func Upkeep() Class { return Class{commit: "off", limit: 10 * time.Second} }

// Runner runs statements. Make it with New.
type Runner struct {
	db        *core.DB
	deadlines pgwire.Deadlines
	orphans   engine.Orphans // of the writes of sessions
}

// New makes a Runner. The timeout bounds statements whose context has no earlier
// deadline.
func New(db *core.DB, timeout time.Duration) *Runner {
	return &Runner{db: db, deadlines: pgwire.Deadlines{Timeout: timeout}}
}

// Read runs a query of schema and scans the one row it may return;
// pgx.ErrNoRows if there is none.
func (r *Runner) Read(ctx context.Context, scan []any, query string, args ...any) error {
	ctx, cancel := context.WithTimeout(ctx, r.deadlines.Timeout)
	defer cancel()
	return r.followed(ctx, trace.Call{Operation: query}, func(conn *pgx.Conn) (sent bool, err error) {
		return false, conn.QueryRow(ctx, schema.Query(query), args...).Scan(scan...)
	})
}

// Query runs a query of schema whose rows collect reads. It may be called again,
// after an error.
func (r *Runner) Query(ctx context.Context, collect func(pgx.Rows) error, query string, args ...any) error {
	ctx, cancel := context.WithTimeout(ctx, r.deadlines.Timeout)
	defer cancel()
	return r.followed(ctx, trace.Call{Operation: query}, func(conn *pgx.Conn) (sent bool, err error) {
		rows, err := conn.Query(ctx, schema.Query(query), args...)
		if err != nil {
			return false, err
		}
		return false, collect(rows)
	})
}

// Write runs a query of schema that changes sessions and scans its one row;
// pgx.ErrNoRows if there is none. It and the settings before it go in one
// round trip and are one transaction, also behind a transaction pooler. The
// pool's lock_timeout suits the shared statements of a cache and is too short
// for requests that wait for one another. statement_timeout, also of the role,
// gives way to the time that the caller has.
func (r *Runner) Write(ctx context.Context, class Class, scan []any, query string, args ...any) error {
	limit := r.deadlines.Timeout
	if class.limit != 0 {
		limit = class.limit
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	deadline, _ := ctx.Deadline()
	return r.followed(ctx, trace.Call{Operation: query, Writes: true}, func(conn *pgx.Conn) (sent bool, err error) {
		if err := r.orphans.Await(ctx, conn); err != nil {
			return false, err
		}
		// Less than the deadline: then the answer is that a row was held and
		// nothing changed, and not that nobody knows.
		wait := max(time.Until(deadline).Milliseconds()*9/10, 1)
		batch := &pgx.Batch{}
		batch.Queue(schema.Query("session_settings"), strconv.FormatInt(wait, 10), class.commit)
		batch.Queue(schema.Query(query), args...)
		err = exchange(conn.SendBatch(ctx, batch), scan)
		r.orphans.Add(conn, err)
		return !pgconn.SafeToRetry(err), err
	})
}

func exchange(results pgx.BatchResults, scan []any) error {
	_, err := results.Exec()
	if err == nil {
		err = results.QueryRow().Scan(scan...)
	}
	// The commit happens here, and may fail here.
	if closeErr := results.Close(); closeErr != nil && (err == nil || err == pgx.ErrNoRows) {
		err = closeErr
	}
	return err
}

// Tracer is howdah.Options.Tracer, nil if there is none.
func (r *Runner) Tracer() trace.Tracer { return r.db.Tracer() }

// followed is repeat for a call that the tracer may follow. That there is no row is no
// error of it.
func (r *Runner) followed(ctx context.Context, call trace.Call, fn func(*pgx.Conn) (sent bool, err error)) error {
	ctx, span := trace.Start(ctx, r.Tracer(), call)
	err := r.repeat(ctx, fn)
	result := trace.Result{Err: err}
	if errors.Is(err, pgx.ErrNoRows) {
		result.Err = nil
	}
	span.End(result)
	return err
}

// repeat runs fn until it succeeds, fails for good, or has failed too often.
func (r *Runner) repeat(ctx context.Context, fn func(*pgx.Conn) (sent bool, err error)) (err error) {
	for range attempts {
		if err = r.once(ctx, fn); !repeatable(err) || ctx.Err() != nil {
			break
		}
	}
	return err
}

// once runs fn on a connection. One whose server cannot serve us any more is
// given up, so that the pool looks for the primary again. fn says whether a
// change may have been sent.
func (r *Runner) once(ctx context.Context, fn func(*pgx.Conn) (sent bool, err error)) error {
	conn, err := r.db.Acquire(ctx)
	if err != nil {
		return r.failure(err, false)
	}
	defer conn.Release()
	sent, err := fn(conn.Conn())
	err = r.failure(err, sent)
	if errors.Is(err, fault.ErrUnavailable) {
		conn.Conn().Close(context.WithoutCancel(ctx))
	}
	return err
}
