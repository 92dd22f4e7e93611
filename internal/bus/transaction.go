package bus

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/howdah/howdah/schema"
)

// Sent is messages that a transaction sends when it is committed.
type Sent struct {
	xid string
	pid uint32 // of its backend
}

// Prepare is called before a transaction that may send messages: it is Settle, and finds
// out whether other processes want any where that is not known, by one statement for all who ask.
func (b *Bus) Prepare(ctx context.Context) error {
	if err := b.Settle(ctx); err != nil || b.view.Load().fresh() {
		return err
	}
	done := make(chan struct{})
	if b.put(newCall(nil, func(error) { close(done) })) != nil {
		return nil // SendIn finds out
	}
	select {
	case <-done:
	case <-ctx.Done():
	}
	return nil
}

// SendIn sends messages in a transaction of the caller, so that other processes get them if
// it is committed, and only then. since is a moment before its begin, behind Prepare. nil: no
// process wanted any then, and the caller asks again behind its commit. Errors: those
// of PostgreSQL, as of pgx, and as of Settle; the transaction is to be rolled back.
func (b *Bus) SendIn(ctx context.Context, tx pgx.Tx, since time.Time, messages []Message) (*Sent, error) {
	var all batch
	all.add(messages)
	if !b.wants(all.wanted) {
		return nil, nil
	}
	if b.doubts.before(since) {
		return nil, errDoubt
	}
	v := &view{asked: since}
	var xid *string
	var notified *bool
	err := tx.QueryRow(ctx, schema.Query("bus_publish"), b.self(), all.kinds, all.channels, all.payloads, int32(all.wanted)).
		Scan(&v.kinds, &xid, &notified)
	if err != nil {
		return nil, err
	}
	if former := b.view.Load(); former == nil || former.asked.Before(since) {
		b.view.Store(v)
	}
	b.counts.flights.Add(1)
	if xid == nil {
		return nil, nil
	}
	b.counts.sent.Add(uint64(len(messages)))
	signal(b.sent)
	return &Sent{xid: *xid, pid: tx.Conn().PgConn().PID()}, nil
}
