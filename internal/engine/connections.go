package engine

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/howdah/howdah/internal/fault"
)

// connections hands out those of a pool. Where PostgreSQL allows fewer than the
// pool may make (a limit of the role, of the database or of the server), a
// refused one is no failure: the caller waits for one that there is.
type connections struct {
	pool  *pgxpool.Pool
	limit atomic.Int32 // as many as PostgreSQL allowed when it last refused one; 0: it never has

	mu      sync.Mutex // held by the one caller that waits for an idle connection
	retryAt time.Time  // when another one is asked for in any case
}

const (
	// limitLife is how long a limit is believed.
	limitLife = 5 * time.Second

	// idleStep is how often a caller looks whether a connection is idle.
	idleStep = time.Millisecond
)

// acquire returns a connection. Errors: as of pgxpool.Pool.Acquire; a refusal
// only if there is no connection at all.
func (c *connections) acquire(ctx context.Context) (*pgxpool.Conn, error) {
	if c.limit.Load() == 0 {
		conn, err := c.pool.Acquire(ctx)
		if fault.State(err) != tooManyConnections {
			return conn, err
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for {
		if c.limit.Load() > 0 && time.Now().Before(c.retryAt) {
			if err := c.awaitIdle(ctx); err != nil {
				return nil, err
			}
		}
		conn, err := c.pool.Acquire(ctx)
		if err == nil {
			if c.established() > c.limit.Load() {
				c.limit.Store(0) // it allows more now
			}
			return conn, nil
		}
		established := c.established()
		if fault.State(err) != tooManyConnections || established == 0 {
			return nil, err
		}
		c.limit.Store(established)
		c.retryAt = time.Now().Add(limitLife)
	}
}

// established is how many connections there are, without those being made.
func (c *connections) established() int32 {
	stat := c.pool.Stat()
	return stat.IdleConns() + stat.AcquiredConns()
}

// tooManyConnections is the SQLSTATE of a connection refused for a limit.
const tooManyConnections = "53300"

// awaitIdle waits until a connection is idle, none is left, or another may be
// asked for.
func (c *connections) awaitIdle(ctx context.Context) error {
	ticker := time.NewTicker(idleStep)
	defer ticker.Stop()
	for {
		stat := c.pool.Stat()
		if stat.IdleConns() > 0 || stat.TotalConns() == 0 || !time.Now().Before(c.retryAt) {
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-ticker.C:
		}
	}
}

// Acquire returns a connection of the pool. If PostgreSQL allows no more, it
// waits for one that another caller has. Errors: as of pgxpool.Pool.Acquire.
func (s *Set) Acquire(ctx context.Context) (*pgxpool.Conn, error) { return s.connections.acquire(ctx) }

// Limit is how many connections PostgreSQL allows, as far as is known: at most
// Options.MaxConns.
func (s *Set) Limit() int32 {
	if limit := s.connections.limit.Load(); limit > 0 {
		return limit
	}
	return s.Pool.Config().MaxConns
}

// notSentError is that of a statement for which there was no connection. pgconn.SafeToRetry
// knows it.
type notSentError struct{ error }

func (e *notSentError) Unwrap() error     { return e.error }
func (e *notSentError) SafeToRetry() bool { return true }

// Query runs a statement on a connection of the pool, which is given back when
// the rows are closed.
func (s *Set) Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error) {
	conn, err := s.Acquire(ctx)
	if err != nil {
		return nil, &notSentError{err}
	}
	rows, err := conn.Query(ctx, sql, args...)
	if err != nil {
		conn.Release()
		return nil, err
	}
	return &heldRows{Rows: rows, conn: conn}, nil
}

// heldRows gives their connection back when they are closed.
type heldRows struct {
	pgx.Rows
	conn *pgxpool.Conn
}

// Next implements pgx.Rows, which closes itself after the last row.
func (r *heldRows) Next() bool {
	if r.Rows.Next() {
		return true
	}
	r.Close()
	return false
}

// Close implements pgx.Rows.
func (r *heldRows) Close() {
	r.Rows.Close()
	if r.conn != nil {
		r.conn.Release()
		r.conn = nil
	}
}

// Begin runs fn in a transaction on a connection of the pool, as pgx.BeginTxFunc
// does.
func (s *Set) Begin(ctx context.Context, opts pgx.TxOptions, fn func(pgx.Tx) error) error {
	conn, err := s.Acquire(ctx)
	if err != nil {
		return &notSentError{err}
	}
	defer conn.Release()
	return pgx.BeginTxFunc(ctx, conn, opts, fn)
}
