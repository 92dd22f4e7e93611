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
	mu   sync.Mutex
	pids []uint32
}

func (d *doubts) add(pid uint32) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if pid != 0 && !slices.Contains(d.pids, pid) {
		d.pids = append(d.pids, pid)
	}
}

func (d *doubts) list() []uint32 {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Clone(d.pids)
}

func (d *doubts) remove(pid uint32) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.pids = slices.DeleteFunc(d.pids, func(p uint32) bool { return p == pid })
}

var errDoubt = fault.Timeout("a message that was sent before may still come", nil)

// settle ends the backends that may still send messages, and returns when they have ended.
// Errors: ErrTimeout, if one does not end, ErrUnavailable; nothing is to be sent then.
func (b *Bus) settle(ctx context.Context) error {
	for _, pid := range b.doubts.list() {
		if err := b.endBackend(ctx, pid); err != nil {
			return err
		}
		b.doubts.remove(pid)
	}
	return nil
}

// endBackend ends a backend of this role. Behind a pooler the number is none of PostgreSQL,
// and there is no such backend.
func (b *Bus) endBackend(ctx context.Context, pid uint32) error {
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
// ends the backend, so that the outcome is final. Errors: as of settle, and those of a
// database that does not know the transaction.
func (b *Bus) Committed(ctx context.Context, s *Sent) (committed bool, err error) {
	b.doubts.add(s.pid)
	ctx, cancel := context.WithTimeout(ctx, b.options.Timeout)
	defer cancel()
	if err := b.settle(ctx); err != nil {
		return false, err
	}
	err = b.ask(ctx, false, "bus_outcome", []any{s.xid}, []any{&committed}, func() error { return nil })
	return committed, err
}
