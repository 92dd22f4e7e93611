package engine

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/howdah/howdah/internal/coalesce"
	"github.com/howdah/howdah/internal/fault"
	"github.com/howdah/howdah/internal/pgwire"
	"github.com/howdah/howdah/internal/statement"
	"github.com/howdah/howdah/internal/verb"
	"github.com/howdah/howdah/schema"
)

// Orphans are the backends of PostgreSQL whose connections were lost while a write was under
// way. Such a write may still be applied: its backend may be slow, or has not read it yet. A
// later write of the same keys goes over another connection, so it first ends the backend and
// waits until that is gone; else the older write could undo it. While there are none, a write
// pays for one look at a flag. docs/adr/0049-orphans.md has the reasons.
//
// The zero value is ready for use.
type Orphans struct {
	Logger *slog.Logger // hears of those that do not end; nil: nobody does

	any  atomic.Bool // list is not empty
	mu   sync.Mutex
	list []*orphan
	next time.Time // none is asked to end again before
}

// orphan is one such backend.
type orphan struct {
	pid  uint32
	met  time.Time               // when this process first used it: see end_backends
	lost time.Time               // when its connection was lost
	keys map[writtenKey]struct{} // that its write was to change; nil: it may change anything
	told bool                    // the log has heard of it
}

// writtenKey is a key of a cache.
type writtenKey struct {
	engine *Engine
	hash   uint64
}

const (
	// endAgain is how long after a vain attempt a backend is asked to end again.
	endAgain = 50 * time.Millisecond

	// endAtOnce bounds how long a flight that has lost its connection waits for the end of its
	// backend before it answers.
	endAtOnce = 100 * time.Millisecond

	// pooledLimit is how long a statement may run that came by a pooler: see Set.localSettings.
	pooledLimit = 10 * time.Second
)

// add remembers that a connection was lost in a write. keys nil: of anything.
func (o *Orphans) add(conn *pgx.Conn, keys map[writtenKey]struct{}) {
	now := time.Now()
	o.mu.Lock()
	defer o.mu.Unlock()
	o.list = append(o.list, &orphan{pid: conn.PgConn().PID(), met: pgwire.Met(conn.PgConn()), lost: now, keys: keys})
	o.any.Store(true)
}

// Add remembers that a connection was lost in a write that may change anything, if err says so.
func (o *Orphans) Add(conn *pgx.Conn, err error) {
	if err != nil && fault.State(err) == "" && conn.IsClosed() {
		o.add(conn, nil)
	}
}

// mayWrite reports whether an orphan may still write what a write concerns.
func (o *Orphans) mayWrite(concerns func(*orphan) bool) bool {
	if !o.any.Load() {
		return false
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, one := range o.list {
		if concerns(one) {
			return true
		}
	}
	return false
}

// anything concerns every orphan.
func anything(*orphan) bool { return true }

// unlimited concerns the orphans that may change anything.
func unlimited(o *orphan) bool { return o.keys == nil }

// keysOf concerns the orphans that may change a key of a call, as what is told of a caller's call
// that its flight does not touch.
func keysOf(calls ...*verb.Call) func(*orphan) bool {
	return func(o *orphan) bool {
		if o.keys == nil {
			return true
		}
		for _, c := range calls {
			if !c.Verb.Writes {
				continue
			}
			e := engineOf(c)
			for _, hash := range c.Op.Keys {
				if _, ok := o.keys[writtenKey{e, hash}]; ok {
					return true
				}
			}
		}
		return false
	}
}

// end ends the orphans, by a connection, and forgets those that are gone. It waits for at most
// wait; of those that are left, each call for their keys asks again after a while.
func (o *Orphans) end(ctx context.Context, conn *pgx.Conn, wait time.Duration) error {
	o.mu.Lock()
	list := append([]*orphan(nil), o.list...)
	early := time.Now().Before(o.next)
	o.mu.Unlock()
	if early || len(list) == 0 {
		return nil
	}
	left, pooled, err := endBackends(ctx, conn, list, wait)
	if pooled && err == nil {
		left, err = leftBehindPooler(ctx, conn, list)
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if err != nil || len(left) > 0 {
		o.next = time.Now().Add(endAgain)
	}
	if err != nil {
		return err
	}
	o.forget(list, left)
	return nil
}

// forget takes those out of the list that were looked at and are not left.
func (o *Orphans) forget(looked []*orphan, left map[*orphan]bool) {
	gone := make(map[*orphan]bool, len(looked))
	for _, one := range looked {
		gone[one] = !left[one]
	}
	kept := o.list[:0]
	for _, one := range o.list {
		if gone[one] {
			continue
		}
		kept = append(kept, one)
		if left[one] && !one.told && o.Logger != nil {
			one.told = true
			o.Logger.Warn("howdah: a backend of PostgreSQL whose connection was lost in a write does not end; later writes of its keys wait for that",
				"pid", one.pid, "keys", len(one.keys), "lost", one.lost)
		}
	}
	clear(o.list[len(kept):])
	o.list = kept
	o.any.Store(len(kept) > 0)
}

// endBackends has PostgreSQL end the backends of orphans, and returns those that are left.
// pooled says that a pooler stands before it, which does not say which backends they had.
func endBackends(ctx context.Context, conn *pgx.Conn, list []*orphan, wait time.Duration) (left map[*orphan]bool, pooled bool, err error) {
	pids, ages := make([]int32, len(list)), make([]float64, len(list))
	of := make(map[int32]*orphan, len(list))
	for i, one := range list {
		pids[i], ages[i] = int32(one.pid), time.Since(one.met).Seconds()
		of[pids[i]] = one
	}
	each := max(1, wait.Milliseconds()/int64(len(list)))
	rows, err := conn.Query(ctx, schema.Query("end_backends"), pids, ages, each, int32(conn.PgConn().PID()))
	if err != nil {
		return nil, false, err
	}
	left = make(map[*orphan]bool)
	var pid *int32
	_, err = pgx.ForEachRow(rows, []any{&pid}, func() error {
		if pid == nil {
			pooled = true
		} else {
			left[of[*pid]] = true
		}
		return nil
	})
	return left, pooled, err
}

// leftBehindPooler returns the orphans that may still be at work behind a pooler: while a
// statement of this role is that began before they were lost, and no longer than one may run.
func leftBehindPooler(ctx context.Context, conn *pgx.Conn, list []*orphan) (map[*orphan]bool, error) {
	left := make(map[*orphan]bool)
	for _, one := range list {
		since := time.Since(one.lost)
		if since > pooledLimit {
			continue
		}
		var busy bool
		if err := conn.QueryRow(ctx, schema.Query("busy_backends"), since.Seconds()).Scan(&busy); err != nil {
			return nil, err
		}
		if busy {
			left[one] = true
		}
	}
	return left, nil
}

// await ends the orphans that concern a write and waits until they are gone. Errors:
// ErrTimeout when ctx ends before, or as of a connection. The write is not sent then.
func (o *Orphans) await(ctx context.Context, conn *pgx.Conn, concerns func(*orphan) bool) error {
	for o.mayWrite(concerns) {
		err := o.end(ctx, conn, endAtOnce)
		switch {
		case err != nil && ctx.Err() != nil:
			return orphaned()
		case err != nil:
			return fault.From(err, false, false)
		case !o.mayWrite(concerns):
			return nil
		}
		select {
		case <-ctx.Done():
			return orphaned()
		case <-time.After(endAgain):
		}
	}
	return nil
}

// Await is await for a write that may concern what any of them changes.
func (o *Orphans) Await(ctx context.Context, conn *pgx.Conn) error {
	return o.await(ctx, conn, anything)
}

// orphaned is the error of a write that an orphan has kept back.
func orphaned() error {
	return fault.Timeout("an older write whose connection was lost may still run in PostgreSQL; nothing was changed", nil)
}

// isOrphaned reports whether an orphan may still write the keys of a call.
func (s *Set) isOrphaned(c *verb.Call) bool {
	return s.orphans.any.Load() && s.orphans.mayWrite(keysOf(c))
}

// keepBack lets the calls wait whose keys an orphan may still write, and returns the others.
func (fl *flight) keepBack(ops []*coalesce.Op) []*coalesce.Op {
	o := &fl.set.orphans
	if fl.Kind() == coalesce.Read || !o.any.Load() {
		return ops
	}
	if err := o.end(fl.bound, fl.conn.Conn(), fl.set.LockTimeout); err != nil {
		fl.set.Logger.Warn("howdah: cannot end a backend of PostgreSQL whose connection was lost", "error", err)
	}
	free := ops[:0]
	var kept []*coalesce.Op
	for _, op := range ops {
		if c := callOf(op); c.Verb.Writes && o.mayWrite(keysOf(c)) {
			c.NoteLocked()
			kept = append(kept, op)
		} else {
			free = append(free, op)
		}
	}
	if o.mayWrite(unlimited) && len(kept) > 0 {
		fl.TableBlocked(kept...)
		return free
	}
	for _, op := range kept {
		fl.Blocked(op)
	}
	return free
}

// orphan remembers what the flight's connection was lost in, before a caller learns of it,
// and ends its backend if there is time: who is told that the outcome is unknown then knows
// that nothing happens any more.
func (fl *flight) orphan(requests []*statement.Request) {
	keys := make(map[writtenKey]struct{})
	for _, r := range requests {
		for _, c := range r.Calls {
			if !r.Writes() {
				continue
			}
			for _, hash := range c.Op.Keys {
				keys[writtenKey{engineOf(c), hash}] = struct{}{}
			}
		}
	}
	if len(keys) == 0 {
		return
	}
	fl.set.orphans.add(fl.conn.Conn(), keys)
	fl.set.Drop() // the others in the pool may be no better
	ctx, cancel := context.WithTimeout(fl.bound, endAtOnce)
	defer cancel()
	if conn, err := fl.set.Acquire(ctx); err == nil {
		_ = fl.set.orphans.end(ctx, conn.Conn(), endAtOnce) // the next write of a key asks again
		conn.Release()
	}
}

// awaitOrphans waits until no orphan may write a key of calls that run in a transaction. Its
// own connection cannot tell: what it sees of others stays the same until it ends.
func (e *Engine) awaitOrphans(ctx context.Context, calls []*verb.Call) error {
	o := &e.set.orphans
	if !o.any.Load() || !o.mayWrite(keysOf(calls...)) {
		return nil
	}
	ctx, cancel := Bounded(ctx, e.set.Timeout)
	defer cancel()
	conn, err := e.set.Acquire(ctx)
	if err != nil {
		return fault.From(err, false, false)
	}
	defer conn.Release()
	return o.await(ctx, conn.Conn(), keysOf(calls...))
}

// Change runs fn on a connection, for a write that is no call and may change any key. Orphans
// end first. Errors: fn's, or as of Query.
func (s *Set) Change(ctx context.Context, fn func(*pgxpool.Conn) error) error {
	conn, err := s.Acquire(ctx)
	if err != nil {
		return &notSentError{err}
	}
	defer conn.Release()
	if err := s.orphans.Await(ctx, conn.Conn()); err != nil {
		return err
	}
	err = fn(conn)
	s.orphans.Add(conn.Conn(), err)
	return err
}
