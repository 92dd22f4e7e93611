package bus

import (
	"context"
	"fmt"
	"time"

	"github.com/howdah/howdah/internal/fault"
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

// Elsewhere reports whether another process may want messages of a kind. It asks nothing:
// true is also the answer where that is not known.
func (b *Bus) Elsewhere(k Kind) bool {
	v := b.view.Load()
	return !v.fresh() || v.kinds.has(k)
}

// Start begins to send a message, whose bytes may be modified afterwards. pending
// says that done, if it is not nil, will be called with the outcome; otherwise there was
// nothing to send, because no other process wants it, or there was an error. done must
// not block. Errors, also those that done gets: fault.ErrOverloaded, ErrNotRunning,
// ErrUnavailable, ErrTimeout, ErrUnknownOutcome, ErrPermission.
func (b *Bus) Start(m Message, done func(error)) (pending bool, err error) {
	if !b.Elsewhere(m.Kind) {
		return false, nil
	}
	if err := b.put(&call{message: m.clone(), done: done}); err != nil {
		return false, err
	}
	return true, nil
}

func (b *Bus) put(c *call) error {
	if !b.Running() {
		return fault.ErrNotRunning
	}
	return b.queue.put(c, b.options.MaxQueueBytes)
}

// Publish sends a message, and returns when it is committed, or when no other process
// wants it. Without Run it is sent by a statement of its own. Errors: as of Start.
func (b *Bus) Publish(ctx context.Context, m Message) error {
	if !b.Elsewhere(m.Kind) {
		return nil
	}
	result := make(chan error, 1)
	c := &call{message: m.clone(), done: func(err error) { result <- err }}
	switch err := b.put(c); err {
	case nil:
	case fault.ErrNotRunning:
		b.fly(ctx, []*call{c})
		return <-result
	default:
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, b.patience(m.size()))
	defer cancel()
	select {
	case err := <-result:
		return err
	case <-ctx.Done():
	}
	if b.queue.withdraw(c) {
		return fault.Timeout("the message waited to be sent", ctx.Err())
	}
	// It is on its way. A flight ends by its own deadline.
	select {
	case err := <-result:
		return err
	default:
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

// fly sends messages by one statement, and tells each sender how it went. It returns
// whether there was something to send. ctx may end without effect on the statement.
func (b *Bus) fly(ctx context.Context, flight []*call) (sent bool) {
	var wanted kinds
	numbers := make([]int16, len(flight))
	channels, payloads := make([][]byte, len(flight)), make([][]byte, len(flight))
	size := 0
	for i, c := range flight {
		wanted |= c.message.Kind.bit()
		numbers[i], channels[i], payloads[i] = int16(c.message.Kind), notNil(c.message.Channel), notNil(c.message.Payload)
		size += c.message.size()
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), b.patience(size))
	defer cancel()
	v := &view{asked: time.Now()}
	var notified *bool
	var setting string
	err := b.ask(ctx, true, "bus_send", []any{b.self(), numbers, channels, payloads, int32(wanted)},
		[]any{&v.kinds, &notified, &setting}, func() error { return nil })
	if sent = err == nil && v.kinds&wanted != 0; sent {
		b.counts.sent.Add(uint64(len(flight)))
	}
	b.counts.flights.Add(1)
	if err == nil {
		b.view.Store(v)
	} else {
		b.counts.failures.Add(1)
	}
	for _, c := range flight {
		c.end(err)
	}
	return sent
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
