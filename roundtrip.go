package howdah

import (
	"cmp"
	"context"
	"errors"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgproto3"
)

// A trip is one exchange with PostgreSQL: requests sent together on one
// connection and their answers read in order. It writes the messages of the
// extended protocol itself: pgx's pipeline arms a timer for each write, which
// wakes a thread, and describes each statement anew that answers no rows.
type trip struct {
	conn     *pgx.Conn
	requests []*request
	errs     []error // one a request
	named    bool    // statements are prepared by name on the connection
	local    string  // a SELECT set_config(...) before each statement, or ""
	separate bool    // each statement is a transaction of its own
	sent     func()  // called once the requests are on their way
	spin     *spin   // how to wait for the answer; nil: asleep
	isSent   bool
	answered int // requests whose answers were read to the end
}

// run does the exchange. It returns an error only if the connection failed,
// and is lost; what PostgreSQL said of a statement is in errs.
func (t *trip) run() error {
	t.errs = make([]error, len(t.requests))
	if err := t.prepare(); err != nil {
		if sqlState(err) == "" || t.conn.IsClosed() {
			return err
		}
		for i := range t.errs { // refused, as all the requests would be
			t.errs[i] = err
		}
		t.answered = len(t.requests)
		return nil
	}
	pg := t.conn.PgConn()
	written, err := t.send(pg)
	if err != nil {
		return err
	}
	if t.spin != nil {
		t.spin.await(pg.Conn())
	}
	if err = t.receive(pg); err != nil {
		pg.Conn().SetDeadline(longAgo)
	}
	if writeErr := written(); writeErr != nil {
		// PostgreSQL waits for the rest of a message; the farewell of pgx would be
		// taken for it, and be waited over for 15 s.
		pg.Conn().Close()
		err = cmp.Or(err, writeErr)
	}
	if err != nil {
		abandon(pg)
	}
	return err
}

// prepare makes sure that the connection knows the statements. It costs a
// round trip the first time and a map lookup after.
func (t *trip) prepare() error {
	if !t.named {
		return nil
	}
	for _, r := range t.requests {
		s := r.statement()
		if _, err := t.conn.Prepare(context.Background(), s.name, s.sql); err != nil {
			return err
		}
	}
	return nil
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
func (t *trip) send(pg *pgconn.PgConn) (written func() error, err error) {
	buffer := buffers.Get().(*[]byte)
	messages, err := t.encode((*buffer)[:0])
	if err != nil {
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
	t.isSent = true
	if len(t.requests) == 1 || len(messages) <= longWrite {
		err := write()
		written = func() error { return err }
	} else {
		done := make(chan error, 1)
		go func() { done <- write() }()
		written = func() error { return <-done }
	}
	if t.sent != nil {
		t.sent()
	}
	return written, nil
}

// encode appends the messages of all requests.
func (t *trip) encode(dst []byte) (_ []byte, err error) {
	for i, r := range t.requests {
		if t.local != "" {
			if dst, err = appendStatement(dst, statement{sql: t.local}, nil); err != nil {
				return dst, err
			}
		}
		s := r.statement()
		if !t.named {
			s.name = ""
		}
		if dst, err = appendStatement(dst, s, r.params); err != nil {
			return dst, err
		}
		if t.separate || i == len(t.requests)-1 {
			if dst, err = (&pgproto3.Sync{}).Encode(dst); err != nil {
				return dst, err
			}
		}
	}
	return dst, nil
}

var binaryFormat = []int16{1}

// appendStatement appends what runs a statement, an unnamed one with its text.
func appendStatement(dst []byte, s statement, params [][]byte) (_ []byte, err error) {
	if s.name == "" {
		if dst, err = (&pgproto3.Parse{Query: s.sql}).Encode(dst); err != nil {
			return dst, err
		}
	}
	bind := pgproto3.Bind{PreparedStatement: s.name, ParameterFormatCodes: binaryFormat, Parameters: params, ResultFormatCodes: binaryFormat}
	if dst, err = bind.Encode(dst); err != nil {
		return dst, err
	}
	return (&pgproto3.Execute{}).Encode(dst)
}

// receive reads the answers. That of a statement which is a transaction of its
// own ends with the transaction, for the commit may fail.
func (t *trip) receive(pg *pgconn.PgConn) error {
	for _, r := range t.requests {
		r.begin()
	}
	i, settings := 0, t.local != ""
	for {
		message, err := pg.ReceiveMessage(context.Background())
		if err != nil {
			if sqlState(err) != "" {
				// Why the session ends is not what became of the statement.
				err = errors.New(err.Error())
			}
			return err
		}
		switch m := message.(type) {
		case *pgproto3.DataRow:
			if !settings {
				t.requests[i].readRow(m.Values)
			}
		case *pgproto3.CommandComplete:
			if settings {
				settings = false
				continue
			}
			t.requests[i].end()
			if !t.separate {
				i++
				t.answered, settings = i, t.local != ""
			}
		case *pgproto3.ErrorResponse:
			refused := pgconn.ErrorResponseToPgError(m)
			if t.separate {
				t.errs[i] = refused
				continue
			}
			for ; i < len(t.errs); i++ { // PostgreSQL skips the rest of the transaction
				t.errs[i] = refused
			}
		case *pgproto3.ReadyForQuery:
			if t.separate {
				i++
			}
			t.answered, settings = i, t.local != ""
			if i == len(t.requests) {
				return nil
			}
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

// within bounds the connection's reads and writes by a deadline and by ctx,
// far cheaper than a watching goroutine. A connection on which either struck
// is closed. The returned function lifts the bound and reports whether the
// connection may be used again.
func within(ctx context.Context, conn *pgx.Conn, deadline time.Time) (lift func() bool) {
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
