package bus

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/howdah/howdah/internal/fault"
)

// doubts are the backends of PostgreSQL to which this process has lost its connection while
// they were sending messages. Such a backend may still do it, seconds later: one that stands
// still, or whose statement is on its way. So nothing is sent behind it before it has ended,
// and what was cut off never overtakes, or follows, what came after it.
type doubts struct {
	mu  sync.Mutex
	all []doubt
}

type doubt struct {
	pid   uint32
	since time.Time
}

func (d *doubts) add(pid uint32) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.all = append(d.all, doubt{pid, time.Now()})
}

func (d *doubts) list() []doubt {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Clone(d.all)
}

func (d *doubts) remove(ended doubt) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.all = slices.DeleteFunc(d.all, func(other doubt) bool { return other == ended })
}

// before reports whether there is one that is older than a moment.
func (d *doubts) before(moment time.Time) bool {
	return slices.ContainsFunc(d.list(), func(d doubt) bool { return d.since.Before(moment) })
}

var errDoubt = fault.Timeout("a message that was sent before may still come", nil)

// Settle ends the backends that may still send messages, and returns when they have ended.
// It comes before the begin of a transaction that sends messages: they are read in
// the order of the numbers of their transactions. Errors: ErrTimeout, if one does not end,
// ErrUnavailable; nothing is to be sent then.
func (b *Bus) Settle(ctx context.Context) error {
	for _, d := range b.doubts.list() {
		if err := b.endBackend(ctx, d.pid); err != nil {
			return err
		}
		b.doubts.remove(d)
	}
	return nil
}

// endBackend ends a backend of this role. Behind a pooler the number is none of PostgreSQL,
// and there is no such backend.
func (b *Bus) endBackend(ctx context.Context, pid uint32) error {
	ctx, cancel := context.WithTimeout(ctx, b.options.Timeout)
	defer cancel()
	deadline, _ := ctx.Deadline()
	for range 2 { // it may end by itself just before it would be ended, which is no success
		var ended bool
		patience := max(1, time.Until(deadline).Milliseconds()*3/4)
		err := b.ask(ctx, false, "bus_end", []any{int32(pid), patience}, []any{&ended}, func() error { return nil })
		if err != nil || ended {
			return err
		}
	}
	return errDoubt
}

// Committed finds out whether a transaction was committed whose commit was not answered: it
// ends the backend, so that the outcome is final. Errors: as of Settle, and those of a
// database that does not know the transaction.
func (b *Bus) Committed(ctx context.Context, s *Sent) (committed bool, err error) {
	b.doubts.add(s.pid)
	ctx, cancel := context.WithTimeout(ctx, b.options.Timeout)
	defer cancel()
	if err := b.Settle(ctx); err != nil {
		return false, err
	}
	err = b.ask(ctx, false, "bus_outcome", []any{s.xid}, []any{&committed}, func() error { return nil })
	return committed, err
}
