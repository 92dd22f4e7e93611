package bus

import (
	"context"
	"strconv"
	"sync"
	"time"

	"github.com/howdah/howdah/internal/fault"
)

// pageRows is how many rows an answer has at most.
const pageRows = 500

// forgotten is how long a row is not renewed that others may take for that of a process
// which has ended.
const forgotten = 10 * time.Second

// receiver is the state of this process while it wants messages.
type receiver struct {
	*Bus
	cursor  cursor
	cadence cadence

	hasRow    bool      // it may have one
	written   kinds     // in its row
	notified  bool      // likewise
	writtenAt time.Time // when PostgreSQL had acknowledged that
	renewed   time.Time // when it was last renewed
	renewAt   time.Time
	more      bool // the last answer was full
	failing   string
}

// receiveUntil takes part as long as this process wants messages, until ctx ends.
func (b *Bus) receiveUntil(ctx context.Context) {
	for ctx.Err() == nil {
		if s, _, _ := b.members.wanted(time.Now()); s != 0 {
			b.takePart(ctx)
			continue
		}
		select {
		case <-b.wake:
		case <-ctx.Done():
		}
	}
}

// takePart keeps the row of this process and delivers messages, as long as it wants some.
func (b *Bus) takePart(ctx context.Context) {
	listening, cancel := context.WithCancel(ctx)
	var listener sync.WaitGroup
	defer listener.Wait()
	defer cancel()
	listener.Go(func() { b.listenUntil(listening) })

	r := receiver{Bus: b, cadence: cadence{rush: b.rush}}
	defer r.leave(ctx)
	for ctx.Err() == nil {
		wanted, subscribers, waiters := b.members.wanted(time.Now())
		if wanted == 0 {
			return
		}
		r.report(r.step(ctx, wanted, subscribers, waiters))
		r.wait(ctx)
	}
}

// step renews the row, where that is due, and reads what has come, or a page of it: the
// row is renewed also while this process is behind.
func (r *receiver) step(ctx context.Context, wanted kinds, subscribers, waiters int) error {
	now := time.Now()
	r.cadence.decide(now)
	listening := r.counts.listening.Load()
	notified := listening && !r.cadence.rushing
	if wanted != r.written || notified != r.notified || !now.Before(r.renewAt) {
		r.renewAt, r.hasRow = now.Add(renewal), true
		// To the end, also when this process leaves: otherwise the row could come after it has left.
		err := r.do(context.WithoutCancel(ctx), "server_renew", r.self(), r.options.Name, int32(wanted), notified, int32(subscribers), int32(waiters), listening && !notified)
		if err != nil {
			r.counts.failures.Add(1)
			r.members.fail(err)
			return err
		}
		lost := time.Since(r.renewed) > forgotten
		if lost {
			r.members.unsettle()
		}
		if lost || wanted&^r.written != 0 {
			r.writtenAt = time.Now()
		}
		if notified && !r.notified {
			r.cadence.rung = time.Now()
		}
		r.written, r.notified, r.renewed = wanted, notified, time.Now()
	}
	rows, err := r.page(ctx)
	r.cadence.look(rows)
	if r.more = err == nil && rows == pageRows; err != nil {
		r.counts.failures.Add(1)
		r.members.fail(err)
		return err
	}
	if r.settled() {
		r.members.settle(r.written)
	}
	return nil
}

// settled reports whether every other process knows what this one wants.
func (r *receiver) settled() bool {
	return !r.renewed.IsZero() && time.Since(r.writtenAt) >= known
}

// beginAnew notes that the tables have a new life. The row of this process may be lost as
// well, which is not written synchronously: nobody is known to know of it before that is
// written again.
func (r *receiver) beginAnew() {
	r.renewAt, r.renewed = time.Time{}, time.Time{}
	r.members.unsettle()
}

// wait returns when the next step is due.
func (r *receiver) wait(ctx context.Context) {
	if r.more {
		return
	}
	notices := r.notices
	if r.cadence.rushing {
		notices = nil // others may be notified still
	}
	pause := r.cadence.pause(time.Now(), r.notified, r.counts.listening.Load())
	pause = min(pause, time.Until(r.renewAt))
	if left := known - time.Since(r.writtenAt); left > 0 {
		pause = min(pause, left)
	}
	timer := time.NewTimer(max(0, pause))
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-notices:
	case <-r.wake:
	case <-ctx.Done():
	}
}

// page asks once for messages and delivers them. There may be more if it returns
// pageRows. What was delivered when it fails does not come again.
func (r *receiver) page(ctx context.Context) (rows int, err error) {
	ctx, cancel := context.WithTimeout(ctx, max(10*r.options.Timeout, 5*time.Second))
	defer cancel()
	r.counts.polls.Add(1)
	p := page{receiver: r}
	c := &r.cursor
	err = r.ask(ctx, false, "bus_receive",
		[]any{decimal(c.xmax), notNone(c.xip), decimal(c.last.xid), c.last.id, r.self(), pageRows, c.upTo},
		[]any{&p.snapshot, &p.epoch, &p.xid, &p.id, &p.kinds, &p.channels, &p.payloads}, p.row)
	switch {
	case err != nil:
		return 0, err
	case p.unlit:
		return 0, r.light(ctx)
	case p.anew:
		r.beginAnew()
		return pageRows, nil // again, from the new cursor
	case p.rows == pageRows:
		return p.rows, nil
	}
	r.cursor, err = c.next()
	return p.rows, err
}

// light begins a new life of the UNLOGGED tables.
func (r *receiver) light(ctx context.Context) error {
	r.beginAnew()
	return r.do(ctx, "light_log")
}

// page is what is read of an answer.
type page struct {
	*receiver
	snapshot string
	epoch    *string
	xid      *uint64
	id       *int64
	kinds    []int16
	channels [][]byte
	payloads [][]byte
	rows     int

	unlit bool // a crash has emptied the UNLOGGED tables, and their new life has not begun
	anew  bool // it has begun
}

// row takes one row.
func (p *page) row() error {
	c := &p.cursor
	p.unlit = p.epoch == nil
	if p.unlit || p.anew {
		return nil
	}
	if c.epoch != *p.epoch {
		p.anew = c.epoch != ""
		*c = cursor{epoch: *p.epoch}
		if p.anew {
			// All that is there was sent after the crash, and nothing of it was read.
			c.xmax = 1
			return nil
		}
	}
	if c.upTo == "" {
		c.upTo = p.snapshot
	}
	if p.xid == nil {
		return nil
	}
	p.rows++
	c.last = position{*p.xid, *p.id}
	for i, k := range p.kinds {
		if i < len(p.channels) && i < len(p.payloads) {
			p.counts.received.Add(1)
			p.options.Deliver(Message{Kind(k), p.channels[i], p.payloads[i]})
		}
	}
	p.channels, p.payloads = nil, nil // they are the receiver's now
	return nil
}

func decimal(xid uint64) string { return strconv.FormatUint(xid, 10) }

func notNone[T any](list []T) []T {
	if list == nil {
		return []T{} // nil would be NULL
	}
	return list
}

// report logs an error when it is new, and when messages are received again.
func (r *receiver) report(err error) {
	text := ""
	if err != nil {
		text = err.Error()
	}
	if text == r.failing {
		return
	}
	if err != nil {
		r.options.Logger.Warn("howdah: messages of other processes are not received now", "error", fault.OneLine(err))
	} else {
		r.options.Logger.Info("howdah: messages of other processes are received again")
	}
	r.failing = text
}

// leave removes the row of this process.
func (r *receiver) leave(ctx context.Context) {
	r.members.unsettle()
	if !r.hasRow {
		return
	}
	if err := r.do(context.WithoutCancel(ctx), "server_leave", r.self()); err != nil {
		r.options.Logger.Debug("howdah: the row of this process stays until it is found to be old", "error", fault.OneLine(err))
	}
}
