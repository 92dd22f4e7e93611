package statement

import (
	"cmp"
	"context"
	"fmt"
	"hash/fnv"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/howdah/howdah/internal/pgwire"
	"github.com/howdah/howdah/schema"
)

// Prepared is a query of schema with the name by which connections keep it.
func Prepared(query string) pgwire.Statement {
	sql := schema.Query(query)
	h := fnv.New64a()
	h.Write([]byte(sql))
	return pgwire.Statement{Name: fmt.Sprintf("howdah_%s_%x", query, h.Sum64()), SQL: sql}
}

// Question is a statement that changes nothing. It travels as the statements of
// caches do: prepared in the same round trip, in PostgreSQL's binary format, and
// under a deadline that costs no timer of its own.
type Question struct {
	Text  pgwire.Statement
	Args  [][]byte // binary; nil is NULL
	Reset func()   // the answer begins: forgets what an earlier attempt answered
	Each  func(values [][]byte)

	refusal error // by PostgreSQL
}

// Ask asks the primary, again where an attempt failed and another may succeed.
func (r *Runner) Ask(ctx context.Context, q *Question) error {
	bound := r.deadlines.Begin(ctx)
	defer bound.End()
	return r.repeat(bound, func(conn *pgx.Conn) (sent bool, err error) {
		return false, q.ask(bound, conn)
	})
}

// AskOf asks a server of another pool, once and within a time of its own.
// Errors: as of the driver.
func (r *Runner) AskOf(ctx context.Context, pool *pgxpool.Pool, timeout time.Duration, q *Question) error {
	bound := r.deadlines.Begin(ctx)
	defer bound.End()
	bound.Move(time.Now().Add(timeout))
	conn, err := pool.Acquire(bound)
	if err != nil {
		return err
	}
	defer conn.Release()
	return q.ask(bound, conn.Conn())
}

func (q *Question) ask(bound *pgwire.Bound, conn *pgx.Conn) error {
	mode := conn.Config().DefaultQueryExecMode
	x := pgwire.Exchange{
		Conn: conn, Requests: []pgwire.Request{request{q}}, Sender: alone{},
		Named: mode == pgx.QueryExecModeCacheStatement || mode == pgx.QueryExecModeCacheDescribe,
	}
	if err := bound.Watch(conn.PgConn().Conn(), 0); err != nil {
		return err
	}
	err := x.Run()
	switch ended := !bound.Release(); {
	case ended && err != nil:
		return bound.Err() // why the connection was given up
	case ended: // in this very moment: the connection is of no more use
		conn.Close(context.Background())
	}
	return cmp.Or(err, q.refusal)
}

// request is a Question as a pgwire.Request.
type request struct{ *Question }

func (r request) Statement() pgwire.Statement { return r.Text }
func (r request) Params() [][]byte            { return r.Args }
func (r request) Row(values [][]byte)         { r.Each(values) }
func (r request) End()                        {}
func (r request) SetError(refusal error)      { r.refusal = refusal }

func (r request) Begin() {
	r.refusal = nil
	r.Reset()
}

// alone is the pgwire.Sender of one request.
type alone struct{}

func (alone) Ends(int) bool    { return true }
func (alone) Local(int) string { return "" }
func (alone) Sent()            {}
