package pgwire

import (
	"context"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/stretchr/testify/require"

	"github.com/howdah/howdah/internal/test/pgtest"
)

// question is a request without parameters that keeps its answer.
type question struct {
	asked Statement
	args  [][]byte
	rows  []string
	ended bool
	err   error
}

func ask(name, sql string) *question { return &question{asked: Statement{Name: name, SQL: sql}} }

func (q *question) Statement() Statement   { return q.asked }
func (q *question) Params() [][]byte       { return q.args }
func (q *question) Begin()                 { q.rows, q.ended, q.err = nil, false, nil }
func (q *question) Row(values [][]byte)    { q.rows = append(q.rows, string(values[0])) }
func (q *question) End()                   { q.ended = true }
func (q *question) SetError(refusal error) { q.err = refusal }

// groups ends a transaction after the requests that it names.
type groups map[int]bool

func (g groups) Ends(request int) bool { return g[request] }
func (g groups) Local(int) string      { return "SELECT set_config('howdah.test', 'local', true)" }
func (g groups) Sent()                 {}

func exchange(t *testing.T, conn *pgx.Conn, sender Sender, requests ...Request) *Exchange {
	t.Helper()
	x := &Exchange{Conn: conn, Requests: requests, Named: true, Sender: sender, Open: sender == nil}
	require.NoError(t, x.Run())
	return x
}

func connect(t *testing.T) *pgx.Conn {
	conn, err := pgx.Connect(t.Context(), pgtest.New(t))
	require.NoError(t, err)
	t.Cleanup(func() { conn.Close(context.Background()) })
	_, err = conn.Exec(t.Context(), "CREATE TEMPORARY TABLE done (what text)")
	require.NoError(t, err)
	return conn
}

func done(t *testing.T, conn *pgx.Conn) (all []string) {
	t.Helper()
	rows, err := conn.Query(t.Context(), "SELECT what FROM done ORDER BY what")
	require.NoError(t, err)
	all, err = pgx.CollectRows(rows, pgx.RowTo[string])
	require.NoError(t, err)
	return all
}

// What cannot be a message is an error, and the connection lives on: nothing was sent.
func TestExchangeThatCannotBeSent(t *testing.T) {
	t.Parallel()
	conn := connect(t)
	for _, named := range []bool{true, false} {
		x := &Exchange{Conn: conn, Named: named, Sender: groups{}, Requests: []Request{&question{asked: Statement{Name: "many", SQL: "SELECT 'x'"}, args: make([][]byte, 1<<16)}}}
		require.ErrorContains(t, x.Run(), "too many parameters")
		require.False(t, x.IsSent)
		q := ask("many", "SELECT 'x'")
		x = &Exchange{Conn: conn, Named: named, Sender: groups{}, Requests: []Request{q}}
		require.NoError(t, x.Run())
		require.Equal(t, []string{"x"}, q.rows)
	}
}

// What PostgreSQL refuses takes the others of its transaction along, before it
// and after it, and no other.
func TestRefusalEndsItsTransaction(t *testing.T) {
	t.Parallel()
	conn := connect(t)
	first := ask("first", "INSERT INTO done VALUES ('first') RETURNING what")
	before := ask("before", "INSERT INTO done VALUES ('before')")
	refused := ask("refused", "SELECT 1 / (SELECT count(*) FROM done WHERE false)")
	after := ask("after", "INSERT INTO done VALUES ('after')")
	last := ask("last", "INSERT INTO done VALUES (current_setting('howdah.test')) RETURNING what")
	x := exchange(t, conn, groups{0: true, 3: true}, first, before, refused, after, last)
	require.Equal(t, 5, x.Answered)
	require.NoError(t, first.err)
	require.Equal(t, []string{"first"}, first.rows)
	require.ErrorIs(t, before.err, ErrSkipped)
	require.ErrorIs(t, after.err, ErrSkipped)
	require.False(t, after.ended)
	var pgErr *pgconn.PgError
	require.ErrorAs(t, refused.err, &pgErr)
	require.Equal(t, "22012", pgErr.Code)
	require.Equal(t, []string{"local"}, last.rows, "the settings come before each transaction")
	require.Equal(t, []string{"first", "local"}, done(t, conn))

	// Statements that were not prepared for that are prepared now.
	x = exchange(t, conn, groups{0: true}, before, after, first)
	require.Equal(t, 3, x.Answered)
	require.NoError(t, before.err)
	require.NoError(t, after.err)
	require.Equal(t, []string{"after", "before", "first", "first", "local"}, done(t, conn))
}

// In a transaction of the caller's, what came before a refusal was answered.
func TestOpenTransaction(t *testing.T) {
	t.Parallel()
	conn := connect(t)
	tx, err := conn.Begin(t.Context())
	require.NoError(t, err)
	before, refused, after := ask("b", "INSERT INTO done VALUES ('b')"), ask("r", "SELECT no_such_column"), ask("a", "SELECT 1")
	x := exchange(t, conn, nil, before, refused, after)
	require.Equal(t, 2, x.Answered)
	require.NoError(t, before.err)
	require.True(t, before.ended)
	require.Error(t, refused.err)
	require.NoError(t, after.err)
	require.False(t, after.ended)
	require.NoError(t, tx.Rollback(t.Context()))
	require.Empty(t, done(t, conn))
}

// A connection that has forgotten its statements is asked in vain once.
func TestForgottenStatements(t *testing.T) {
	t.Parallel()
	conn := connect(t)
	one, two := ask("one", "SELECT 'one'"), ask("two", "SELECT 'two'")
	each := groups{0: true}
	exchange(t, conn, each, one, two)
	require.Equal(t, []string{"two"}, two.rows)
	_, err := conn.Exec(t.Context(), "DEALLOCATE ALL", pgx.QueryExecModeSimpleProtocol)
	require.NoError(t, err)
	exchange(t, conn, each, one, two)
	var pgErr *pgconn.PgError
	require.ErrorAs(t, one.err, &pgErr)
	require.Equal(t, "26000", pgErr.Code)
	exchange(t, conn, each, one, two)
	require.NoError(t, one.err)
	require.NoError(t, two.err)
	require.Equal(t, []string{"one"}, one.rows)

	// So is one of which only a statement is gone.
	_, err = conn.Exec(t.Context(), `DEALLOCATE "one_1"`, pgx.QueryExecModeSimpleProtocol)
	require.NoError(t, err)
	exchange(t, conn, each, one, two)
	require.Error(t, one.err)
	exchange(t, conn, each, one, two)
	require.NoError(t, one.err)
	require.NoError(t, two.err)
}

// A statement that one request should have prepared, and could not, is missing
// for the next of the same exchange only.
func TestRefusedWhilePreparing(t *testing.T) {
	t.Parallel()
	conn := connect(t)
	bad := ask("same", "SELECT no_such_column")
	next := ask("same", "SELECT no_such_column")
	exchange(t, conn, groups{0: true}, bad, next)
	require.Error(t, bad.err)
	require.Error(t, next.err)
	good := ask("same", "SELECT 'good'")
	exchange(t, conn, groups{}, good)
	require.NoError(t, good.err)
	require.Equal(t, []string{"good"}, good.rows)
	require.Zero(t, preparedOn(conn.PgConn()).round)
}
