package bus

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/howdah/howdah/internal/fault"
	"github.com/howdah/howdah/schema"
)

// view is what this process knows of the others.
type view struct {
	asked time.Time
	kinds kinds // that others want
}

// fresh reports whether it is young enough. The wall clock goes on where the monotonic one
// stands still, while a machine sleeps.
func (v *view) fresh() bool {
	if v == nil {
		return false
	}
	now := time.Now()
	return now.Sub(v.asked) <= known && now.Round(0).Sub(v.asked.Round(0)).Abs() <= known
}

// wants reports whether another process may want messages of one of these kinds. While it is
// asked, what this process knows is renewed before it is too old: else everything that is
// published at that moment would have to ask.
func (b *Bus) wants(s kinds) bool {
	v := b.view.Load()
	fresh := v.fresh()
	if fresh && time.Since(v.asked) > known/2 && b.renewing.CompareAndSwap(false, true) {
		if err := b.put(newCall(nil, func(error) { b.renewing.Store(false) })); err != nil {
			b.renewing.Store(false)
		}
	}
	return !fresh || v.kinds&s != 0
}

// Elsewhere reports whether another process may want messages of a kind. It asks nothing:
// true is also the answer where that is not known.
func (b *Bus) Elsewhere(k Kind) bool { return b.wants(k.bit()) }

// Needless reports whether a message of a kind need not be sent: no other process wants it,
// and none is on its way that it could overtake in this one.
func (b *Bus) Needless(k Kind) bool { return b.queue.open.Load() == 0 && !b.Elsewhere(k) }

// Start puts a message in line, whose bytes must not be modified any more. done, which may
// be nil, is called with the outcome, in the order of the messages in line: without an error
// they are committed, or no other process wants them. It must not block. Errors, also those
// that done gets: fault.ErrOverloaded, ErrNotRunning, ErrUnavailable, ErrTimeout,
// ErrUnknownOutcome, ErrPermission. But for ErrUnknownOutcome the message is never delivered.
func (b *Bus) Start(m Message, done func(error)) error {
	return b.put(newCall([]Message{m}, done))
}

func (b *Bus) put(c *call) error {
	if !b.Running() {
		return fault.ErrNotRunning
	}
	return b.queue.put(c, b.options.MaxQueueBytes)
}

// Publish sends messages together, whose bytes must not be modified any more, and returns
// when they are committed, or when no other process wants them. sent is called then, before
// those who have sent others behind them are told. Without Run they are sent by a statement
// of their own. Errors: as of Start.
func (b *Bus) Publish(ctx context.Context, messages []Message, sent func()) error {
	if b.queue.open.Load() == 0 && !b.wants(kindsOf(messages)) {
		sent()
		return nil
	}
	result := make(chan error, 1)
	c := newCall(messages, func(err error) {
		if err == nil {
			sent()
		}
		result <- err
	})
	switch err := b.put(c); err {
	case nil:
	case fault.ErrNotRunning:
		b.fly(ctx, []*call{c})
		return <-result
	default:
		return err
	}
	bounded, cancel := context.WithTimeout(ctx, b.patience(c.size))
	defer cancel()
	select {
	case err := <-result:
		return err
	case <-bounded.Done():
	}
	if b.queue.withdraw(c) {
		return fault.Timeout("the message waited to be sent", bounded.Err())
	}
	// It is on its way. A flight ends by its own deadline, which is waited for: what the caller
	// sends in a transaction of its own would overtake it.
	select {
	case err := <-result:
		return err
	case <-ctx.Done():
		return fmt.Errorf("%w: the message was being sent: %w", fault.ErrUnknownOutcome, ctx.Err())
	}
}

// patience is how long a statement with so many bytes may take: as for large values, 32
// MiB a second more from 64 KiB on.
func (b *Bus) patience(size int) time.Duration {
	return b.options.Timeout + time.Duration(max(0, size-64<<10))*time.Second/(32<<20)
}

// sendUntil sends what waits until ctx ends.
func (b *Bus) sendUntil(ctx context.Context) {
	defer func() {
		for _, c := range b.queue.close() {
			c.end(fault.ErrNotRunning)
		}
	}()
	for {
		select {
		case <-ctx.Done():
			return
		case <-b.queue.filled:
		}
		for ctx.Err() == nil {
			flight := b.queue.take(b.options.MaxBatchBytes)
			if len(flight) == 0 {
				break
			}
			if b.fly(ctx, flight) {
				signal(b.sent)
			}
		}
	}
}

// batch is the messages of a statement as its arguments.
type batch struct {
	kinds              []int16
	channels, payloads [][]byte
	wanted             kinds
	size               int
}

func (b *batch) add(messages []Message) {
	for _, m := range messages {
		b.kinds = append(b.kinds, int16(m.Kind))
		b.channels, b.payloads = append(b.channels, notNil(m.Channel)), append(b.payloads, notNil(m.Payload))
		b.wanted |= m.Kind.bit()
		b.size += m.size()
	}
}

func kindsOf(messages []Message) (s kinds) {
	for _, m := range messages {
		s |= m.Kind.bit()
	}
	return s
}

// fly sends messages, and tells each sender how it went. It returns whether there was
// something to send. ctx may end without effect on the statement.
func (b *Bus) fly(ctx context.Context, flight []*call) (sent bool) {
	var all batch
	renews := false
	for _, c := range flight {
		all.add(c.messages)
		renews = renews || len(c.messages) == 0
	}
	var err error
	if renews || b.wants(all.wanted) {
		sent, err = b.send(ctx, &all)
	}
	for _, c := range flight {
		c.end(err)
	}
	return sent
}

// send sends messages by one statement, if it finds another process that wants some.
func (b *Bus) send(ctx context.Context, all *batch) (sent bool, err error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), b.patience(all.size))
	defer cancel()
	b.counts.flights.Add(1)
	defer func() {
		if err != nil {
			b.counts.failures.Add(1)
		}
	}()
	if err := b.Settle(ctx); err != nil {
		return false, err
	}
	v := &view{asked: time.Now()}
	conn, err := b.options.Acquire(ctx)
	if err != nil {
		return false, b.options.Failure(err, false)
	}
	defer conn.Release()
	pid := conn.Conn().PgConn().PID()
	var notified *bool
	var setting string
	rows, err := conn.Query(ctx, schema.Query("bus_send"), b.self(), notNone(all.kinds), notNone(all.channels), notNone(all.payloads), int32(all.wanted))
	if err == nil {
		_, err = pgx.ForEachRow(rows, []any{&v.kinds, &notified, &setting}, func() error { return nil })
	}
	if err = b.options.Failure(err, !pgconn.SafeToRetry(err)); err != nil {
		if errors.Is(err, fault.ErrUnknownOutcome) {
			b.doubts.add(pid)
		}
		return false, err
	}
	b.view.Store(v)
	if v.kinds&all.wanted == 0 {
		return false, nil
	}
	b.counts.sent.Add(uint64(len(all.kinds)))
	return true, nil
}

// notNil is the same bytes; nil would be NULL.
func notNil(b []byte) []byte {
	if b == nil {
		return []byte{}
	}
	return b
}

// trimUntil has old messages removed while this process sends some, until ctx ends.
// Upkeep does it too, also when no process sends any more.
func (b *Bus) trimUntil(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-time.After(trimInterval):
		}
		select {
		case <-ctx.Done():
			return
		case <-b.sent:
		}
		work := min(trimWork, b.options.Timeout/2)
		if err := b.do(ctx, "bus_trim", int32(work.Milliseconds())); err != nil && ctx.Err() == nil {
			b.counts.failures.Add(1)
			b.options.Logger.Debug("howdah: old messages were not removed, and will be later", "error", fault.OneLine(err))
		}
	}
}
