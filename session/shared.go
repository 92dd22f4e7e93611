package session

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"

	"github.com/howdah/howdah"
	"github.com/howdah/howdah/internal/coalesce"
)

// sharedReads lets sessions that are wanted at the same time share a SELECT, as
// the reads of a cache do. A lone caller asks at once and for itself; while two
// statements are on their way, others gather for the next.
func (m *Manager) sharedReads() (*coalesce.Coalescer, *coalesce.Table) {
	reads := coalesce.New(coalesce.Options{
		MaxKeys: 64, // payloads are larger than most cached values
		Run:     m.readShared,
		OnPanic: func(err error) { m.opts.Logger.Error("session: reading failed", "error", err) },
	})
	return reads, reads.NewTable(coalesce.TableOptions{})
}

// lookup is a session that somebody waits for.
type lookup struct {
	op  coalesce.Op
	rec *record
}

func (l *lookup) id() string { return l.rec.session.ID.String() }

// fromPrimary reads the row of rec's session into it; it stays as it is if there
// is none.
func (m *Manager) fromPrimary(ctx context.Context, rec *record) error {
	l := &lookup{rec: rec}
	l.op.Call, l.op.Table = l, m.sessions
	l.op.Deadline = coalesce.Now() + int64(m.opts.Timeout)
	err := m.reads.Do(ctx, &l.op)
	var left *coalesce.LeftError
	switch {
	case errors.As(err, &left):
		return m.run.Left(left.Cause)
	case errors.Is(err, coalesce.ErrOverloaded):
		return howdah.ErrOverloaded
	}
	return err
}

// readShared is one flight: a statement for all who wait.
func (m *Manager) readShared(ctx context.Context, f coalesce.Flight) {
	ops := f.Take()
	if len(ops) == 0 {
		return
	}
	if len(ops) == 1 {
		l := ops[0].Call.(*lookup)
		f.Sent() // the caller may leave: nothing of it is read any more
		err := m.run.Read(ctx, l.rec.scan(), "session_read", l.id())
		if errors.Is(err, pgx.ErrNoRows) {
			l.rec.hash, err = nil, nil // an attempt that failed late may have seen a row
		}
		f.Complete(ops[0], err)
		return
	}
	ids := make([]string, 0, len(ops))
	for _, op := range ops {
		ids = append(ids, op.Call.(*lookup).id())
	}
	f.Sent()
	var found map[string]*record
	err := m.run.Query(ctx, func(rows pgx.Rows) error {
		found = make(map[string]*record, len(ids)) // nothing of an attempt that failed
		for rows.Next() {
			var id string
			row := newRecord(Token{})
			if err := rows.Scan(append([]any{&id}, row.scan()...)...); err != nil {
				return err
			}
			found[id] = row
		}
		return rows.Err()
	}, "session_read_many", ids)
	for i, op := range ops {
		if row := found[ids[i]]; err == nil && row != nil {
			op.Call.(*lookup).rec.become(row)
		}
		f.Complete(op, err)
	}
}
