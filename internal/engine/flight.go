package engine

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/howdah/howdah/internal/coalesce"
	"github.com/howdah/howdah/internal/fault"
	"github.com/howdah/howdah/internal/pgwire"
	"github.com/howdah/howdah/internal/statement"
	"github.com/howdah/howdah/internal/trace"
	"github.com/howdah/howdah/internal/verb"
)

// flight is one batch on its way, of one cache or several: the requests made of
// it and the connection that carries them.
type flight struct {
	coalesce.Flight
	set   *Set
	ctx   context.Context
	bound *pgwire.Bound
	conn  *pgxpool.Conn

	reserved   []reservation // see Pressure.grant
	altered    []*verb.Call  // see alter
	apart      bool          // a transaction of several requests was refused
	reprepared bool          // a statement was missing on the connection, and is prepared anew
	unread     error         // why settings could not be read, because of which calls of others go on; nil: they were

	trace  context.Context // what the tracer follows it by; nil: it does not
	work   trace.Shared    // what it was told
	failed error           // the first error of a call

	// The exchange that is under way.
	x         pgwire.Exchange
	one       [1]pgwire.Request // backs x.Requests
	asked     []*statement.Request
	lockLimit time.Duration
	each      bool // each request is a transaction of its own
}

// run executes one flight of the coalescer. The connection comes first: while
// it is waited for, the batch grows.
func (s *Set) run(ctx context.Context, f coalesce.Flight) {
	fl := &flight{Flight: f, set: s, ctx: ctx, bound: s.deadlines.Begin(ctx)}
	defer fl.bound.End()
	s.flights.Add(1)
	defer s.flights.Add(-1)
	var err error
	fl.conn, err = s.Acquire(fl.bound)
	defer func() {
		if fl.conn != nil {
			fl.conn.Release()
		}
	}()
	ops := f.Take()
	if len(ops) == 0 {
		return
	}
	if s.Tracer != nil {
		fl.follow(ops)
		defer fl.land()
	}
	fl.moveBound(ops)
	if err != nil {
		err = fault.From(err, false, false)
		if ctx.Err() != nil {
			err = &coalesce.LeftError{Cause: context.Cause(ctx)}
		}
		fl.failAll(ops, err)
		return
	}
	defer fl.settle()
	if ops = fl.keepBack(ops); len(ops) > 0 {
		ops = fl.admit(ops)
	}
	if len(ops) > 0 {
		fl.fly(fl.plan(ops), wholeBatch)
		fl.store()
	}
}

// moveBound gives the flight the deadline of its callers: it has begun with
// Options.Timeout. A lone caller of ordinary size began together with it.
func (fl *flight) moveBound(ops []*coalesce.Op) {
	last := fl.Deadline()
	if last == 0 || fl.Lone() && transferTime(callOf(ops[0])) == 0 {
		return
	}
	deadline := coalesce.Time(last)
	own, _ := fl.bound.Deadline()
	switch patient := deadline.Add(2 * fl.set.LockTimeout); {
	case own.Before(deadline): // large values get more time
		fl.bound.Move(deadline)
	case own.After(patient):
		// To learn that a row is locked is worth a little wait: nothing was changed.
		fl.bound.Move(patient)
	}
}

func callOf(op *coalesce.Op) *verb.Call { return op.Call.(*verb.Call) }
func engineOf(c *verb.Call) *Engine     { return c.Op.Table.Owner().(*Engine) }

// sameTable returns how many ops at the beginning are of one cache.
func sameTable(ops []*coalesce.Op) int {
	n := 1
	for n < len(ops) && ops[n].Table == ops[0].Table {
		n++
	}
	return n
}

// refresh reads the settings of the caches anew if those of one are too old. While
// they are locked, calls go on with those that are known.
func (fl *flight) refresh(ops []*coalesce.Op) error {
	now := time.Now()
	var stale []*Engine
	for len(ops) > 0 {
		e := engineOf(callOf(ops[0]))
		if !e.used.Load() {
			e.used.Store(true)
		}
		if e.stale(now) {
			stale = append(stale, e)
		}
		ops = ops[sameTable(ops):]
	}
	if len(stale) == 0 {
		return nil
	}
	err := fl.set.refresh(fl.bound, fl.conn, stale)
	locked := fault.IsLocked(err)
	err = fault.From(err, false, false)
	if locked {
		fl.unread = err
		return nil
	}
	return err
}

// plan makes the requests of a batch, one for each statement that a cache needs.
func (fl *flight) plan(ops []*coalesce.Op) []*statement.Request {
	requests := make([]*statement.Request, 0, 2)
	for _, op := range ops {
		copyEchoed(op)
		if op.Kind == coalesce.Set {
			engineOf(callOf(op)).foreseeSet(callOf(op))
		}
	}
	for len(ops) > 0 {
		n := sameTable(ops)
		requests = planTable(requests, engineOf(callOf(ops[0])).Table(), ops[:n])
		ops = ops[n:]
	}
	for _, r := range requests {
		r.Encode()
	}
	if fl.Kind() == coalesce.Read {
		// One transaction: in the order in which others lock the tables of several caches.
		slices.SortStableFunc(requests, func(a, b *statement.Request) int { return cmp.Compare(a.Table.ID, b.Table.ID) })
		return requests
	}
	slices.SortStableFunc(requests, func(a, b *statement.Request) int { // see Ends
		return cmp.Or(
			cmp.Compare(a.Table.Durability, b.Table.Durability),
			cmp.Compare(a.Calls[0].Verb.Index, b.Calls[0].Verb.Index),
			cmp.Compare(a.Table.ID, b.Table.ID))
	})
	return requests
}

// planTable appends the requests of one cache.
func planTable(requests []*statement.Request, t *statement.Table, ops []*coalesce.Op) []*statement.Request {
	first := len(requests)
	for _, op := range ops {
		c := callOf(op)
		form := statement.FormOf(c, t)
		var r *statement.Request
		if !form.Alone {
			for _, other := range requests[first:] {
				if other.Form == form {
					r = other
				}
			}
		}
		if r == nil {
			r = statement.NewRequest(form, t, len(ops))
			requests = append(requests, r)
		}
		r.Add(c)
	}
	return requests
}

// How far a batch that met a lock or bad data is taken apart: first without
// the rows that are locked, then call by call.
const (
	wholeBatch = iota
	withoutLocked
	callByCall
)

// errNoConnection ends what is left of a flight that lost its connection and
// got no other.
var errNoConnection = errors.New("the connection was lost, and there is no other")

// fly sends the requests and completes their calls.
func (fl *flight) fly(requests []*statement.Request, step int) {
	n, sent, err := fl.exchange(requests, step)
	if err != nil && fl.conn != nil && fl.Kind() == coalesce.Read && !fault.IsTimeout(err) && fl.ctx.Err() == nil {
		// The connection had died before; a read may be asked again.
		fl.conn.Release()
		fl.set.retries.Add(1)
		fl.set.Drop() // the others in the pool are no better
		if fl.conn, err = fl.set.Acquire(fl.bound); err == nil {
			n, sent, err = fl.exchange(requests, step)
		} else {
			fl.conn = nil
		}
	}
	answered, rest := requests[:n], requests[n:]
	for _, r := range answered { // first who is done, for the others may take long
		if r.Err == nil {
			fl.succeed(r)
		}
	}
	var unprepared, skipped []*verb.Call
	var refused []*statement.Request
	for _, r := range answered {
		switch {
		case r.Err == nil:
		case r.Err == pgwire.ErrSkipped:
			skipped = append(skipped, r.Calls...)
		case fault.State(r.Err) == "26000" && !fl.reprepared: // invalid_sql_statement_name
			unprepared = append(unprepared, r.Calls...)
		default:
			refused = append(refused, r)
		}
	}
	fl.apart = fl.apart || len(skipped) > 0
	for _, r := range refused {
		fl.refused(r, r.Err, step)
	}
	if len(unprepared) > 0 {
		// A request before them should have prepared the statement, and was
		// refused; or the connection has forgotten it.
		fl.reprepared = true
		fl.again(unprepared, step)
	}
	fl.again(skipped, step)
	if sent {
		fl.orphan(rest)
	}
	for _, r := range rest {
		fl.lost(r, err, sent)
	}
}

// lockTimeout is how long each statement of an exchange may wait for a lock.
func (fl *flight) lockTimeout(requests, step int) time.Duration {
	timeout := fl.set.LockTimeout
	switch {
	case (step == callByCall || fl.apart) && requests > 1:
		// Each waits in front of all those behind it. Who meets a lock goes on
		// alone, where there is time for it.
		timeout = time.Millisecond
	case fl.Kind() == coalesce.Alone && fl.Tries() < coalesce.Patient:
		timeout = min(timeout, time.Millisecond<<fl.Tries())
	}
	return timeout
}

// exchange sends requests on the flight's connection. A question, which serves no
// call, carries nothing of the callers.
// It returns how many requests were answered, and whether anything was sent.
func (fl *flight) exchange(requests []*statement.Request, step int) (answered int, sent bool, err error) {
	if fl.conn == nil || fl.conn.Conn().IsClosed() { // a refusal or a deadline has ended it
		return 0, false, errNoConnection
	}
	fl.asked, fl.lockLimit = withLeads(requests), fl.lockTimeout(len(requests), step)
	fl.each = fl.apart || step == callByCall || fl.Kind() == coalesce.Isolated
	fl.x = pgwire.Exchange{Conn: fl.conn.Conn(), Requests: fl.one[:0], Named: fl.set.Named, Sender: fl}
	x := &fl.x
	for _, r := range fl.asked {
		x.Requests = append(x.Requests, r)
	}
	if fl.Lone() && len(requests[0].Rows) == 1 {
		x.Spin = fl.set.spins[fl.Kind()]
	}
	x.TellSent = len(requests[0].Calls) > 0
	conn := x.Conn.PgConn().Conn()
	patience := time.Duration(0)
	if fl.Kind() != coalesce.Read {
		patience = 2 * fl.lockLimit // to learn that a row is locked: nothing was changed
	}
	if err := fl.bound.Watch(conn, patience); err != nil {
		return 0, false, err
	}
	if fl.set.Slow.On() {
		fl.noteSent(requests)
	}
	err = x.Run()
	if !fl.bound.Release() && err == nil {
		// It ended in this very moment: the connection is of no more use.
		x.Conn.Close(context.Background())
	}
	return answeredOf(fl.asked[:x.Answered]), x.IsSent, err
}

// Ends implements pgwire.Sender. Reads share a transaction. So do writes of one
// class of durability, whose commit they share, as long as each is for a table
// with a greater id: all processes lock in one order, of tables and of hashes in
// them, and do not wait for each other in a circle.
func (fl *flight) Ends(request int) bool {
	if fl.asked[request].Leads() {
		return false
	}
	if fl.each || fl.Kind() == coalesce.Read {
		return fl.each
	}
	t, next := fl.asked[request].Table, fl.asked[request+1].Table
	return next.Durability != t.Durability || next.ID <= t.ID
}

// Local implements pgwire.Sender.
func (fl *flight) Local(request int) string {
	return fl.set.localSettings(fl.asked[request].Table, fl.Kind() != coalesce.Read, fl.lockLimit)
}

// lost ends the calls of a request whose answer did not come.
func (fl *flight) lost(r *statement.Request, err error, sent bool) {
	if fl.ctx.Err() != nil {
		// The lone caller of this flight left, and the connection with it.
		for _, c := range r.Calls {
			fl.complete(c, &coalesce.LeftError{Cause: context.Cause(fl.ctx), Sent: sent})
		}
		return
	}
	if sent && fault.State(err) == "" {
		fl.set.Logger.Warn("howdah: connection to PostgreSQL lost", "cache", r.Table.Cache, "error", err)
	}
	if !fault.IsTimeout(err) {
		fl.set.Drop()
	}
	err = fault.From(err, sent, r.Writes())
	for _, c := range r.Calls {
		fl.complete(c, err)
	}
}

func (fl *flight) succeed(r *statement.Request) {
	e := engineOf(r.Calls[0])
	if reads := e.reads.Load(); reads != nil {
		reads.note(r)
	}
	if r.Writes() && !e.Pressure.strict.Load() { // see settle
		e.Pressure.written(r.Stored())
	}
	e.remember(r)
	e.own(r)
	fl.broadcast(r.Calls)
	e.noteRemovals(r.Calls)
	for _, c := range r.Calls {
		if !c.Repeat {
			landed(c, c)
		}
		switch {
		case fl.alter(c):
		case c.Repeat:
			c.Repeat = false
			fl.Blocked(&c.Op)
		case c.Op.Kind == coalesce.Set && c.Status == verb.OK:
			share(c)
			fl.Acknowledge(&c.Op, stands(c, r.Table))
		default:
			fl.complete(c, nil)
		}
	}
}

// landed lets a call that has ended well say so, and those that merged with it before it:
// they came earlier.
func landed(answer, c *verb.Call) {
	if op := c.Op.Follower(); op != nil {
		landed(answer, callOf(op))
	}
	if c.Landed != nil {
		c.Landed(answer)
	}
}

// refused deals with what PostgreSQL said against a whole request: a lock or
// one call's data must not be the neighbours' failure.
func (fl *flight) refused(r *statement.Request, err error, step int) {
	switch {
	case fault.IsLocked(err) && (len(r.Calls) > 1 || fl.Kind() == coalesce.Isolated) && step < callByCall:
		fl.takeApart(r, step)
	case fault.IsLocked(err), r.Form.LostRace(err):
		for _, c := range r.Calls {
			if fault.IsLocked(err) {
				c.NoteLocked()
			}
			fl.blocked(c)
		}
	case len(r.Calls) > 1 && step < callByCall && fault.IsData(err):
		fl.callByCall(r.Calls)
	default:
		if fault.IsServer(err) {
			fl.set.Logger.Warn("howdah: PostgreSQL cannot serve", "cache", r.Table.Cache, "error", err)
			fl.conn.Conn().Close(context.Background())
			fl.set.Drop()
		}
		if fault.State(err) == "53100" { // disk_full
			fl.set.diskFull.Store(time.Now().UnixNano())
		}
		if fault.State(err) == "42P01" && fl.reread(r, step) {
			return
		}
		err = fault.From(err, true, r.Writes())
		for _, c := range r.Calls {
			fl.complete(c, err)
		}
	}
}

// reread reads the cache's settings again, because its table is gone, and sends
// the calls to the table that the cache has now, if it has another.
func (fl *flight) reread(r *statement.Request, step int) bool {
	e := engineOf(r.Calls[0])
	e.Forget()
	tables, err := fl.set.load(fl.bound, fl.conn, []string{e.name})
	fresh := tables[e.name]
	if err != nil || fresh == nil || fresh.ID == r.Table.ID {
		return false
	}
	e.use(fresh)
	fl.again(r.Calls, step)
	return true
}

// complete ends a call and those that merged with it.
func (fl *flight) complete(c *verb.Call, err error) {
	share(c)
	if c.Verb.Changes() {
		e := engineOf(c)
		e.invalidate(c.Changed()) // before the caller is answered
		if isUnknown(err) {
			fl.broadcastUnknown(c)
			e.noteUnsure(c)
		}
		if err != nil || c.Status == verb.OK { // else nothing has changed
			e.changed(c.Changed(), writerOf(c))
		}
	}
	if fl.failed == nil {
		fl.failed = err
	}
	fl.Complete(&c.Op, err)
}

// share gives the results of a call to those that merged with it.
func share(c *verb.Call) {
	for op := c.Op.Follower(); op != nil; op = op.Follower() {
		if op.Left() {
			continue
		}
		follower := callOf(op)
		follower.Status, follower.Int, follower.Count = c.Status, c.Int, c.Count
		follower.Result, follower.Entries, follower.ServerStart = c.Result, slices.Clone(c.Entries), c.ServerStart
		c.Shared, follower.Shared = true, true
		c.ShareTiming(follower)
	}
}

func (fl *flight) failAll(ops []*coalesce.Op, err error) {
	for _, op := range ops {
		fl.complete(callOf(op), err)
	}
}
