// Package pgwire is one exchange with PostgreSQL: requests that are sent
// together on one connection, their answers, the deadline of both, and how a
// lone caller waits. It knows no cache.
//
// It writes the messages of the extended protocol itself: pgx's pipeline arms a
// timer for each write, which wakes a thread, and describes each statement anew
// that answers no rows.
package pgwire

import (
	"cmp"
	"context"
	"errors"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgproto3"

	"github.com/howdah/howdah/internal/fault"
)

// Statement is the text of a statement and the name by which a connection keeps
// it prepared.
type Statement struct {
	Name string // a function of the text
	SQL  string
}

// Request is one statement with its parameters, and reads its answer.
type Request interface {
	Statement() Statement
	Params() [][]byte       // binary; nil is NULL
	Begin()                 // the answer begins: forget what an earlier attempt answered
	Row(values [][]byte)    // one row; the values are valid during the call
	End()                   // all rows were read
	SetError(refusal error) // PostgreSQL refused the statement
}

// ErrSkipped is what a request gets that shared its transaction with one that
// PostgreSQL refused: it had no effect, and may be sent again.
var ErrSkipped = errors.New("pgwire: another request of the transaction was refused")

// Sender is who makes an exchange.
type Sender interface {
	// Ends reports whether a transaction ends with a request. One ends with the
	// last request in any case.
	Ends(request int) bool
	// Local returns a SELECT set_config(...) that begins the transaction whose
	// first request this is, "" if it needs none.
	Local(request int) string
	// Sent is called once the requests are on their way.
	Sent()
}

// Exchange is one exchange. Its fields are set before Run.
type Exchange struct {
	Conn     *pgx.Conn
	Requests []Request
	Open     bool   // the caller's transaction is open, and goes on
	Named    bool   // statements are prepared by name on the connection
	Sender   Sender // nil if Open
	TellSent bool   // Sender.Sent is called
	Spin     *Spin  // how to wait for the answer; nil: asleep

	IsSent   bool // something was written to the connection
	Answered int  // requests whose outcome is known, a refusal included

	prepared *prepared // on the connection; nil unless Named
	parsing  []parse   // what PostgreSQL has yet to parse, in order
}

// Run does the exchange. It returns an error only if the connection failed, and
// is lost; what PostgreSQL said against a statement goes to its request.
func (x *Exchange) Run() error {
	pg := x.Conn.PgConn()
	if known := preparedOn(pg); x.Named {
		x.prepared = known
	}
	written, err := x.send(pg)
	if err != nil {
		return err
	}
	if x.Spin != nil {
		x.Spin.await(pg.Conn())
	}
	if err = x.receive(pg); err != nil {
		pg.Conn().SetDeadline(longAgo)
	}
	if writeErr := written(); writeErr != nil {
		// PostgreSQL waits for the rest of a message. It would take the message
		// by which pgx ends a session for that rest, and pgx would wait 15 s.
		pg.Conn().Close()
		err = cmp.Or(err, writeErr)
	}
	if err != nil {
		abandon(pg)
	}
	return err
}

// buffers are where messages are put together.
var buffers = sync.Pool{New: func() any { return new([]byte) }}

// keptBuffer is the largest that is kept, the default of a batch.
const keptBuffer = 1 << 20

// longWrite is what a socket takes at once, however it is set up.
const longWrite = 16 << 10

// send writes the requests. PostgreSQL answers one while it has yet to read
// the next; if there is more than the socket takes, answers must be read
// meanwhile, or both sides wait for each other. The returned function waits
// for the end of the writing. An error says that nothing was sent.
func (x *Exchange) send(pg *pgconn.PgConn) (written func() error, err error) {
	buffer := buffers.Get().(*[]byte)
	messages, err := x.encode((*buffer)[:0])
	if err != nil {
		if x.Named {
			for _, p := range x.parsing {
				delete(x.prepared.names, p.name)
			}
		}
		return nil, err
	}
	write := func() error {
		_, err := pg.Conn().Write(messages)
		if cap(messages) <= keptBuffer {
			*buffer = messages
			buffers.Put(buffer)
		}
		return err
	}
	x.IsSent = true
	if len(x.Requests) == 1 || len(messages) <= longWrite {
		err := write()
		written = func() error { return err }
	} else {
		done := make(chan error, 1)
		go func() { done <- write() }()
		written = func() error { return <-done }
	}
	if x.TellSent {
		x.Sender.Sent()
	}
	return written, nil
}

// encode appends the messages of all requests.
func (x *Exchange) encode(dst []byte) (_ []byte, err error) {
	for i, r := range x.Requests {
		if local := x.local(i); local != "" {
			if dst, err = x.appendStatement(dst, i, Statement{SQL: local}, nil); err != nil {
				return dst, err
			}
		}
		s := r.Statement()
		if !x.Named {
			s.Name = ""
		} else {
			s.Name = x.prepared.name(s.Name)
		}
		if dst, err = x.appendStatement(dst, i, s, r.Params()); err != nil {
			return dst, err
		}
		if x.ends(i) {
			if dst, err = (&pgproto3.Sync{}).Encode(dst); err != nil {
				return dst, err
			}
		}
	}
	return dst, nil
}

var binaryFormat = []int16{1}

// appendStatement appends what runs a statement, with its text if the connection
// does not know it by name.
func (x *Exchange) appendStatement(dst []byte, request int, s Statement, params [][]byte) (_ []byte, err error) {
	if x.needsParse(s.Name, request) {
		if dst, err = (&pgproto3.Parse{Name: s.Name, Query: s.SQL}).Encode(dst); err != nil {
			return dst, err
		}
	}
	bind := pgproto3.Bind{PreparedStatement: s.Name, ParameterFormatCodes: binaryFormat, Parameters: params, ResultFormatCodes: binaryFormat}
	if dst, err = bind.Encode(dst); err != nil {
		return dst, err
	}
	return (&pgproto3.Execute{}).Encode(dst)
}

// ends reports whether a request is the last of its transaction, or of all.
func (x *Exchange) ends(request int) bool {
	return request == len(x.Requests)-1 || !x.Open && x.Sender.Ends(request)
}

// local is the statement that comes before a request, "" if there is none.
func (x *Exchange) local(request int) string {
	if x.Open || request >= len(x.Requests) || request > 0 && !x.ends(request-1) {
		return ""
	}
	return x.Sender.Local(request)
}

// answers is how far the answers of an exchange were read.
type answers struct {
	request  int  // that is answered next
	first    int  // of its transaction
	settings bool // those of Sender.Local come first
	refused  bool // the transaction is: the rest of it is not run
}

// receive reads the answers. What a transaction did counts when it has ended, for
// the commit may fail.
func (x *Exchange) receive(pg *pgconn.PgConn) error {
	for _, r := range x.Requests {
		r.Begin()
	}
	a := answers{settings: x.local(0) != ""}
	for {
		message, err := pg.ReceiveMessage(context.Background())
		if err != nil {
			if fault.State(err) != "" {
				// Why the session ends is not what became of the statement.
				err = errors.New(err.Error())
			}
			return err
		}
		if x.read(&a, message) {
			return nil
		}
	}
}

// read takes one message of PostgreSQL and reports whether it was the last.
func (x *Exchange) read(a *answers, message pgproto3.BackendMessage) (last bool) {
	switch m := message.(type) {
	case *pgproto3.DataRow:
		if !a.settings {
			x.Requests[a.request].Row(m.Values)
		}
	case *pgproto3.CommandComplete:
		if a.settings {
			a.settings = false
			break
		}
		x.Requests[a.request].End()
		a.request++
		if x.Open {
			x.Answered = a.request
		}
	case *pgproto3.ParseComplete:
		x.parsed()
	case *pgproto3.ErrorResponse:
		x.refuse(a, pgconn.ErrorResponseToPgError(m))
	case *pgproto3.ReadyForQuery:
		if x.Open {
			return true
		}
		next := x.last(a.first) + 1
		*a = answers{request: next, first: next, settings: x.local(next) != ""}
		x.Answered = next
		return next == len(x.Requests)
	}
	return false
}

// last is the last request of the transaction of a request.
func (x *Exchange) last(request int) int {
	for !x.ends(request) {
		request++
	}
	return request
}

// refuse hands a refusal to the request that it is about. PostgreSQL may also
// refuse the commit, after the last request. The others of the transaction had
// no effect.
func (x *Exchange) refuse(a *answers, refusal *pgconn.PgError) {
	if a.refused {
		return
	}
	a.refused = true
	last := x.last(a.first)
	request := min(a.request, last)
	x.unparsed(request, last, refusal)
	x.Requests[request].SetError(refusal)
	if x.Open {
		x.Answered = request + 1
		return
	}
	for i := a.first; i <= last; i++ {
		if i != request {
			x.Requests[i].SetError(ErrSkipped)
		}
	}
}

// longAgo as a deadline ends every read and write.
var longAgo = time.Unix(1, 0)

// abandon gives up a connection whose deadline has passed or that is broken:
// pgx cancels what still runs on it, and closes it in the background.
func abandon(pg *pgconn.PgConn) {
	pg.Conn().SetDeadline(longAgo)
	p := pg.StartPipeline(context.Background())
	_ = p.Sync()
	_ = p.Close()
}

// Within bounds a connection's reads and writes by a deadline (zero: none) and
// by ctx, far cheaper than a watching goroutine. A connection on which either
// struck is closed. The returned function lifts the bound and reports whether
// the connection may be used again.
func Within(ctx context.Context, conn *pgx.Conn, deadline time.Time) (lift func() bool) {
	nc := conn.PgConn().Conn()
	nc.SetDeadline(deadline)
	stop := context.AfterFunc(ctx, func() { nc.SetDeadline(longAgo) })
	return func() bool {
		ok := stop()
		if !conn.IsClosed() {
			nc.SetDeadline(time.Time{})
		}
		return ok
	}
}
