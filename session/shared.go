package session

import (
	"context"
	"errors"
	"log/slog"
	"slices"

	"github.com/howdah/howdah"
	"github.com/howdah/howdah/internal/coalesce"
	"github.com/howdah/howdah/internal/pgwire"
	"github.com/howdah/howdah/internal/trace"
	"github.com/howdah/howdah/session/internal/statement"
)

// sharedReads lets sessions that are wanted at the same time share a SELECT, as
// the reads of a cache do. A lone caller asks at once and for itself; while two
// statements are on their way, others gather for the next.
type sharedReads struct {
	run       *statement.Runner
	coalescer *coalesce.Coalescer
	table     *coalesce.Table // where the coalescer has its keys
	one, many pgwire.Statement
}

func newSharedReads(run *statement.Runner, log *slog.Logger) *sharedReads {
	r := &sharedReads{run: run, one: statement.Prepared("session_read"), many: statement.Prepared("session_read_many")}
	r.coalescer = coalesce.New(coalesce.Options{
		MaxKeys: 64, // payloads are larger than most cached values
		Run:     r.fly,
		OnPanic: func(err error) { log.Error("session: reading failed", "error", err) },
	})
	r.table = r.coalescer.NewTable(coalesce.TableOptions{})
	return r
}

// lookup is a session that somebody waits for.
type lookup struct {
	op     coalesce.Op
	rec    *record
	traces []context.Context // see trace.Span.Contexts
}

// fromPrimary reads the row of rec's session into it; it stays as it is if there
// is none.
func (m *Manager) fromPrimary(ctx context.Context, rec *record) error {
	ctx, span := trace.Start(ctx, m.run.Tracer(), trace.Call{Operation: readOperation, Keys: 1})
	err := m.askPrimary(ctx, &lookup{rec: rec, traces: span.Contexts()})
	result := trace.Result{Err: err}
	switch {
	case err != nil:
	case rec.hash != nil:
		result.Hits = 1
	default:
		result.Misses = 1
	}
	span.End(result)
	return err
}

// askPrimary is fromPrimary for the record of a lookup.
func (m *Manager) askPrimary(ctx context.Context, l *lookup) error {
	l.op.Call, l.op.Table = l, m.reads.table
	l.op.Deadline = coalesce.Now() + int64(m.opts.Timeout)
	err := m.reads.coalescer.Do(ctx, &l.op)
	var left *coalesce.LeftError
	switch {
	case errors.As(err, &left):
		return m.run.Left(left.Cause)
	case errors.Is(err, coalesce.ErrOverloaded):
		return howdah.ErrOverloaded
	}
	return err
}

// fly is one flight: a statement for all who wait.
func (r *sharedReads) fly(ctx context.Context, f coalesce.Flight) {
	ops := f.Take()
	if len(ops) == 0 {
		return
	}
	recs := make([]*record, len(ops))
	for i, op := range ops {
		recs[i] = op.Call.(*lookup).rec
	}
	q := statement.Question{
		Reset: func() {
			for _, rec := range recs {
				rec.hash = nil // an attempt that failed late may have seen a row
			}
		},
		Each: func(values [][]byte) {
			for _, rec := range recs {
				if rec.session.ID == ID(values[0]) {
					rec.read(values[1:])
				}
			}
		},
	}
	if len(recs) == 1 {
		q.Text, q.Args = r.one, [][]byte{recs[0].session.ID[:]}
	} else {
		ids := pgwire.AppendArray(nil, uuidType, len(recs), false)
		for _, rec := range recs {
			ids = pgwire.AppendBytes(ids, rec.session.ID[:])
		}
		q.Text, q.Args = r.many, [][]byte{ids}
	}
	ended := r.follow(ops)
	f.Sent() // the caller may leave: nothing of it is read any more
	err := r.run.Ask(ctx, &q)
	ended(err)
	for _, op := range ops {
		f.Complete(op, err)
	}
}

// readOperation is the name of reads for tracers.
const readOperation = "session_read"

// follow lets the tracer follow a flight, if it follows one of its lookups. What it
// returns is to be called when the flight has ended.
func (r *sharedReads) follow(ops []*coalesce.Op) (ended func(error)) {
	t := r.run.Tracer()
	var calls []context.Context
	if t != nil {
		for _, op := range ops {
			calls = append(calls, op.Call.(*lookup).traces...)
		}
	}
	if len(calls) == 0 {
		return func(error) {}
	}
	work := trace.Shared{Operation: readOperation, Calls: len(ops), Keys: len(ops)}
	ctx := t.StartShared(context.Background(), slices.Values(calls), work)
	return func(err error) {
		if ctx != nil {
			t.EndShared(ctx, work, err)
		}
	}
}

// uuidType is the OID of the type uuid.
const uuidType = 2950
