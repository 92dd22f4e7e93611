package howdah

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

var binaryFormat = []int16{1}

// A trip is one exchange with PostgreSQL: requests pipelined on one
// connection and their answers read in order.
type trip struct {
	conn     *pgx.Conn
	requests []*request
	errs     []error // one a request
	named    bool    // statements are prepared by name on the connection
	local    string  // a SELECT set_config(...) before each statement, or ""
	separate bool    // each statement is a transaction of its own
	sent     func()  // called once everything is on its way
	isSent   bool
	answered int // requests whose answers were read to the end
}

// run does the exchange. It returns an error only if the connection failed;
// what PostgreSQL said of a statement is in errs.
func (t *trip) run() error {
	t.errs = make([]error, len(t.requests))
	described, err := t.prepare()
	if err != nil {
		return err
	}
	p := t.conn.PgConn().StartPipeline(context.Background())
	for i, r := range t.requests {
		if t.local != "" {
			p.SendQueryParams(t.local, nil, nil, nil, nil)
		}
		if t.named {
			p.SendQueryStatement(described[i], r.params, binaryFormat, binaryFormat)
		} else {
			p.SendQueryParams(r.statement().sql, r.params, nil, binaryFormat, binaryFormat)
		}
		if t.separate || i == len(t.requests)-1 {
			p.SendPipelineSync()
		}
	}
	err = p.Flush()
	t.isSent = true
	if t.sent != nil {
		t.sent()
	}
	if err == nil {
		err = t.receive(p)
	}
	if closeErr := p.Close(); err == nil && sqlState(closeErr) == "" {
		err = closeErr
	}
	return err
}

// prepare makes sure that the connection knows the statements. It costs a
// round trip the first time and a map lookup after.
func (t *trip) prepare() ([]*pgconn.StatementDescription, error) {
	if !t.named {
		return nil, nil
	}
	described := make([]*pgconn.StatementDescription, len(t.requests))
	for i, r := range t.requests {
		s := r.statement()
		d, err := t.conn.Prepare(context.Background(), s.name, s.sql)
		if err != nil {
			return nil, err
		}
		described[i] = d
	}
	return described, nil
}

func (t *trip) receive(p *pgconn.Pipeline) error {
	for i, r := range t.requests {
		if t.local != "" {
			if fatal := t.next(p, i, nil); fatal != nil {
				return fatal
			}
		}
		if t.errs[i] == nil {
			if fatal := t.next(p, i, r); fatal != nil {
				return fatal
			}
		}
		if t.errs[i] != nil && !t.separate {
			// PostgreSQL skips the rest of the transaction.
			for j := i + 1; j < len(t.errs); j++ {
				t.errs[j] = t.errs[i]
			}
			t.answered = len(t.errs)
			return nil
		}
		if t.separate {
			// The commit happens here, and may fail here.
			if _, err := p.GetResults(); err != nil {
				if sqlState(err) == "" {
					return err
				}
				t.errs[i] = err
			}
		}
		t.answered = i + 1
	}
	return nil
}

// next reads one answer, of r or of the settings before it.
func (t *trip) next(p *pgconn.Pipeline, i int, r *request) (fatal error) {
	result, err := p.GetResults()
	if err == nil {
		rr, ok := result.(*pgconn.ResultReader)
		switch {
		case !ok:
			return errOutOfStep
		case r != nil:
			err = r.read(rr)
		default:
			_, err = rr.Close()
		}
	}
	if err != nil && sqlState(err) == "" {
		return err
	}
	t.errs[i] = err
	return nil
}

// within bounds the connection's reads and writes by a deadline and by ctx,
// far cheaper than a watching goroutine. A connection on which either struck
// is closed by pgx. The returned function lifts the bound and reports whether
// the connection may be used again.
func within(ctx context.Context, conn *pgx.Conn, deadline time.Time) (lift func() bool) {
	nc := conn.PgConn().Conn()
	nc.SetDeadline(deadline)
	if ctx.Done() == nil {
		return func() bool {
			nc.SetDeadline(time.Time{})
			return true
		}
	}
	stop := context.AfterFunc(ctx, func() { nc.SetDeadline(time.Unix(1, 0)) })
	return func() bool {
		ok := stop()
		nc.SetDeadline(time.Time{})
		return ok
	}
}
