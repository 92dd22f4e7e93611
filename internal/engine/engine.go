package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/howdah/howdah/internal/coalesce"
	"github.com/howdah/howdah/internal/fault"
	"github.com/howdah/howdah/internal/near"
	"github.com/howdah/howdah/internal/observe"
	"github.com/howdah/howdah/internal/statement"
	"github.com/howdah/howdah/internal/verb"
)

// Engine runs the calls of one cache.
type Engine struct {
	set       *Set
	name      string // of the cache, or of one of its partitions
	cache     string // the name of the cache
	partition int    // its number; -1: the engine serves a whole cache
	keys      *coalesce.Table
	table     atomic.Pointer[statement.Table]
	memory    atomic.Pointer[near.Cache] // of table; nil: nothing is kept in memory
	used      atomic.Bool                // since the settings were read
	counters  counters
	reads     atomic.Pointer[Reads]              // nil: reads are not counted
	readsBy   atomic.Pointer[observe.Reads]      // their prefixes; nil: likewise
	named     atomic.Pointer[observe.NamedReads] // those by prefixes that were named; nil: likewise

	companion     any // see Companion
	makeCompanion sync.Once

	// Pressure is how its writers and upkeep feel each other.
	Pressure Pressure
}

// Name returns the name of the cache, or of the partition of one that the engine serves.
func (e *Engine) Name() string { return e.name }

// Partition returns the number of the partition that the engine serves, -1 for a whole cache.
func (e *Engine) Partition() int { return e.partition }

// Cache returns the cache's name.
func (e *Engine) Cache() string { return e.cache }

// Set returns what the caches of one pool of connections share.
func (e *Engine) Set() *Set { return e.set }

// Companion returns what the room above keeps of the cache beside its engine. The first
// call makes it.
func (e *Engine) Companion(create func() any) any {
	e.makeCompanion.Do(func() { e.companion = create() })
	return e.companion
}

// Table returns the settings of the cache as they were read last.
func (e *Engine) Table() *statement.Table { return e.table.Load() }

// Forget makes the next flight read the cache's settings again.
func (e *Engine) Forget() { e.use(e.Table().AsOf(time.Time{})) }

// prepare checks a call and gives it its place among the others. Whatever is
// wrong with its arguments is found here, before anything is sent.
func (e *Engine) prepare(c *verb.Call, began, timeout int64) error {
	// A held call sees what its own edit is about to change.
	c.Near, c.InTx, c.Memory, c.Tokens = !c.Held && e.keeps(c), false, nil, nil
	c.WantRemoved = c.WantRemoved || e.set.Removals() != nil
	c.WantGone = c.Verb != nil && c.Verb.Removes && e.LoggedKeys() != 0 && e.set.Tracking.Broadcasts()
	if err := statement.Prepare(c, e.set.MaxValueBytes); err != nil {
		return err
	}
	if len(c.Tags) > 0 {
		c.TagHashes = statement.HashTags(c.Tags, e.set.Hash)
	}
	c.BeginTiming()
	op := &c.Op
	op.Table, op.Held, op.Kind = e.keys, c.Held, kindOf(c)
	if c.Keys == nil {
		op.SetKey(uint64(e.set.Hash(c.Key)))
		op.Bytes = len(c.Key) + len(c.Value)
	} else {
		op.Keys = make([]uint64, len(c.Keys))
		op.Bytes = 0
		for i, key := range c.Keys {
			op.Keys[i] = uint64(e.set.Hash(key))
			op.Bytes += len(key)
		}
		for _, value := range c.Values {
			op.Bytes += len(value)
		}
	}
	op.Deadline = 0
	if timeout > 0 {
		op.Deadline = began + timeout
	}
	return nil
}

// bytesPerSecond is the rate at which a large value may be stored: a call gets
// the time that its bytes need at this rate, beyond Options.Timeout.
const bytesPerSecond = 32 << 20

// timeout is how long a call may take: Options.Timeout and what its bytes need,
// within the deadline of the caller's context.
func (e *Engine) timeout(ctx context.Context, c *verb.Call) int64 {
	timeout := e.set.Timeout + transferTime(c)
	if d, ok := ctx.Deadline(); ok {
		timeout = min(timeout, time.Until(d))
	}
	return max(1, int64(timeout))
}

// transferTime is what the bytes of a call need; 0 for those of ordinary size.
func transferTime(c *verb.Call) time.Duration {
	size := len(c.Value) + c.Offset
	for _, value := range c.Values {
		size += len(value)
	}
	if size < 64<<10 {
		return 0
	}
	return time.Duration(size) * time.Second / bytesPerSecond
}

// Do runs one call and waits for it. Statuses such as a miss are no errors. If
// the context or the time of the call ends before the answer, the call must not
// be used again: PostgreSQL may still be answering it.
func (e *Engine) Do(ctx context.Context, c *verb.Call) error {
	if e.Recall(c) {
		return nil
	}
	c.Began = coalesce.Now()
	err := e.prepare(c, c.Began, e.timeout(ctx, c))
	if err == nil {
		v := c.Verb
		e.foresee(c)
		if err = e.set.coalescer.Do(ctx, &c.Op); err != nil {
			if isAbandoned(err) {
				// The call still belongs to its flight and is not touched.
				e.abandoned(c, v, err)
				return callError(err, v)
			}
			err = endError(err, c)
		}
	}
	c.Err = err
	e.record(c)
	return err
}

// DoAll runs calls together and waits for all of them, in order only where they
// share a key. It returns the first call's error; each has its own in Err.
func (e *Engine) DoAll(ctx context.Context, calls []*verb.Call) (first error) {
	return e.set.DoAll(ctx, calls, func(int) *Engine { return e })
}

// DoAll is Engine.DoAll for calls of several engines of the set: of is the engine of the
// call at an index.
func (s *Set) DoAll(ctx context.Context, calls []*verb.Call, of func(int) *Engine) (first error) {
	now := coalesce.Now()
	ops := make([]*coalesce.Op, 0, len(calls))
	recall := !slices.ContainsFunc(calls, func(c *verb.Call) bool { return c.Verb == nil || c.Verb.Writes })
	for i, c := range calls {
		e := of(i)
		if recall && e.Recall(c) { // a read after a write among them must see it
			continue
		}
		c.Began = now
		if c.Err = e.prepare(c, now, e.timeout(ctx, c)); c.Err == nil {
			e.foresee(c)
			ops = append(ops, &c.Op)
		} else {
			e.record(c)
		}
	}
	for i, err := range s.coalescer.DoAll(ctx, ops) {
		c := ops[i].Call.(*verb.Call)
		e := engineOf(c)
		if err != nil {
			c.Err = endError(err, c)
		}
		if isAbandoned(err) {
			e.abandoned(c, c.Verb, err) // its results belong to the flight
		} else {
			e.record(c)
		}
	}
	for _, c := range calls {
		first = cmp.Or(first, c.Err)
	}
	return first
}

// Start begins a call and calls done exactly once, on another goroutine or
// before it returns. done must be quick and must not block; it may call Start.
// Calls on one key are run in the order in which they were started.
func (e *Engine) Start(c *verb.Call, done func(*verb.Call)) {
	if e.Recall(c) {
		done(c)
		return
	}
	c.Began = coalesce.Now()
	if err := e.prepare(c, c.Began, e.timeout(context.Background(), c)); err != nil {
		c.Err = err
		e.record(c)
		done(c)
		return
	}
	e.foresee(c)
	queued := e.whenQueued(c)
	e.set.coalescer.Start(&c.Op, func(op *coalesce.Op, err error) {
		c.Err = nil
		if err != nil {
			c.Err = endError(err, c)
		}
		e.record(c)
		done(c)
	})
	if queued != nil {
		queued()
	}
}

// Exclusive runs fn while no call of this process on the keys runs, and none is
// begun before it ends. Errors: as of a write that was not sent, or fn's.
func (e *Engine) Exclusive(ctx context.Context, keys [][]byte, fn func(context.Context) error) error {
	hashes := make([]uint64, len(keys))
	for i, key := range keys {
		hashes[i] = uint64(e.set.Hash(key))
	}
	var inner error
	err := e.keys.Exclusive(ctx, hashes, func(ctx context.Context) error {
		inner = fn(ctx)
		return nil
	})
	if err != nil {
		return callError(err, statement.Set)
	}
	return inner
}

// endError is callError for a call that may need not have its row: it ends as one
// whose row was locked until its deadline.
func endError(err error, c *verb.Call) error {
	if errors.Is(err, coalesce.ErrBlocked) {
		c.NoteLocked()
	}
	if locked := statement.Of(c.Verb).Locked; locked != nil && errors.Is(err, coalesce.ErrBlocked) && !isAbandoned(err) {
		c.Reset()
		locked(c)
		return nil
	}
	if errors.Is(err, coalesce.ErrBlocked) && errors.Is(err, context.DeadlineExceeded) && engineOf(c).set.isOrphaned(c) {
		return orphaned()
	}
	return callError(err, c.Verb)
}

// callError turns what the coalescer says of a call into an error of ours.
func callError(err error, v *verb.Verb) error {
	var left *coalesce.LeftError
	switch {
	case errors.As(err, &left):
		return leftError(left, v)
	case errors.Is(err, coalesce.ErrOverloaded):
		return fault.ErrOverloaded
	case errors.Is(err, coalesce.ErrClosed):
		return fault.ErrClosed
	case !v.Writes && errors.Is(err, fault.ErrUnknownOutcome):
		return fmt.Errorf("%w: the answer to a write that the read waited for was lost", fault.ErrUnavailable)
	}
	return err
}

// isAbandoned reports that the caller of a call left after it was sent.
func isAbandoned(err error) bool { return errors.Is(err, coalesce.ErrSent) }

// leftError is the error of a caller that stopped waiting.
func leftError(left *coalesce.LeftError, v *verb.Verb) error {
	timedOut := errors.Is(left.Cause, context.DeadlineExceeded)
	switch {
	case left.Sent && v.Writes:
		return fmt.Errorf("%w: the caller stopped waiting: %w", fault.ErrUnknownOutcome, left.Cause)
	case timedOut && left.Blocked:
		return fault.Timeout("another transaction holds the row; nothing was changed", nil)
	case timedOut && left.Sent:
		return fault.Timeout("PostgreSQL did not answer in time", nil)
	case timedOut && left.Behind:
		return fault.Timeout("earlier calls for the same key took the time; nothing was sent", nil)
	case timedOut:
		return fault.Timeout("PostgreSQL is too busy; nothing was sent", nil)
	default:
		return fmt.Errorf("howdah: the caller stopped waiting: %w", left.Cause)
	}
}
