package howdah

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/howdah/howdah/internal/coalesce"
)

// flight is one batch on its way: the requests made of it and the connection
// that carries them.
type flight struct {
	*coalesce.Flight
	engine *engine
	ctx    context.Context
	bound  *bound
	conn   *pgxpool.Conn
}

// run executes one flight of the coalescer. The connection comes first: while
// it is waited for, the batch grows.
func (e *engine) run(ctx context.Context, f *coalesce.Flight) {
	fl := &flight{Flight: f, engine: e, ctx: ctx, bound: e.db.deadlines.begin(ctx)}
	defer fl.bound.end()
	e.db.flights.Add(1)
	defer e.db.flights.Add(-1)
	if f.Kind() != coalesce.Read {
		e.pressure.hold(ctx)
	}
	var err error
	fl.conn, err = e.connect(fl.bound)
	defer func() {
		if fl.conn != nil {
			fl.conn.Release()
		}
	}()
	ops := f.Take()
	if len(ops) == 0 {
		return
	}
	if deadline := f.Deadline(); deadline != 0 && !f.Lone() { // a lone caller began together with the bound
		// To learn that a row is locked is worth the wait: nothing was changed.
		fl.bound.shorten(coalesce.Time(deadline).Add(2 * e.db.opts.LockTimeout))
	}
	if err != nil {
		if ctx.Err() != nil {
			err = &coalesce.LeftError{Cause: context.Cause(ctx)}
		}
		fl.failAll(ops, err)
		return
	}
	if ops = fl.refuseFull(ops); len(ops) > 0 {
		fl.fly(fl.plan(ops), 0)
	}
}

// plan makes the requests of a batch, one for each statement that it needs.
func (fl *flight) plan(ops []*coalesce.Op) []*request {
	t := fl.engine.table.Load()
	var shared [statementCount]*request
	requests := make([]*request, 0, 2)
	for _, op := range ops {
		c := op.Call.(*Call)
		id := statementOf(c, t)
		if len(ops) == 1 && c.Keys == nil {
			id = id.single()
		}
		r := shared[id]
		if r == nil || id.alone() {
			r = &request{stmt: id, table: t}
			if !id.alone() && len(ops) > 1 {
				r.rows = make([]row, 0, len(ops))
				r.calls = make([]*Call, 0, len(ops))
			}
			shared[id] = r
			requests = append(requests, r)
		}
		r.add(c)
	}
	for _, r := range requests {
		r.encode()
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
func (fl *flight) fly(requests []*request, step int) {
	local := fl.settings(requests, step)
	t, err := fl.trip(requests, local)
	if err != nil && fl.conn != nil && fl.Kind() == coalesce.Read && !isTimeout(err) && fl.ctx.Err() == nil {
		// The connection had died before; a read may be asked again.
		fl.conn.Release()
		if fl.conn, err = fl.engine.reconnect(fl.bound); err == nil {
			t, err = fl.trip(requests, local)
		}
	}
	for i, r := range requests { // first who is done, for the others may take long
		if i < t.answered && t.errs[i] == nil {
			fl.succeed(r)
		}
	}
	for i, r := range requests {
		switch {
		case i >= t.answered:
			fl.lost(r, err, t.isSent)
		case t.errs[i] != nil:
			fl.refused(r, t.errs[i], step)
		}
	}
}

// settings are what the statements of a trip bring along.
func (fl *flight) settings(requests []*request, step int) string {
	timeout := fl.engine.db.opts.LockTimeout
	switch {
	case step == callByCall && len(requests) > 1:
		// Each waits in front of all those behind it. Who meets a lock goes on
		// alone, where there is time for it.
		timeout = time.Millisecond
	case fl.Kind() == coalesce.Alone && fl.Tries() < coalesce.Patient:
		timeout = min(timeout, time.Millisecond<<fl.Tries())
	}
	return fl.engine.db.localSettings(requests[0].table, fl.Kind() != coalesce.Read, timeout)
}

// trip sends requests on the flight's connection.
func (fl *flight) trip(requests []*request, local string) (*trip, error) {
	db := fl.engine.db
	if fl.conn == nil {
		return &trip{}, errNoConnection
	}
	t := &trip{
		conn:     fl.conn.Conn(),
		requests: requests,
		named:    db.named,
		local:    local,
		separate: true,
	}
	if fl.Lone() && len(requests[0].rows) == 1 {
		t.spin = fl.engine.spins[fl.Kind()]
	}
	if requests[0].stmt != stmtLocked { // a question carries nothing of the callers
		t.sent = fl.Sent
	}
	if err := fl.bound.watch(t.conn.PgConn().Conn()); err != nil {
		return t, err
	}
	err := t.run()
	if !fl.bound.release() && err == nil {
		// It struck in this very moment: the connection is spoilt.
		t.conn.Close(context.Background())
	}
	return t, err
}

// lost ends the calls of a request whose answer did not come.
func (fl *flight) lost(r *request, err error, sent bool) {
	if fl.ctx.Err() != nil {
		// The lone caller of this flight left, and the connection with it.
		for _, c := range r.calls {
			fl.complete(c, &coalesce.LeftError{Cause: context.Cause(fl.ctx), Sent: sent})
		}
		return
	}
	if sent && sqlState(err) == "" {
		fl.engine.db.opts.log().Warn("howdah: connection to PostgreSQL lost", "cache", fl.engine.name, "error", err)
	}
	if fl.engine.db.ownPool && !isTimeout(err) {
		fl.engine.db.pool.Reset()
	}
	err = failure(err, sent, r.writes())
	for _, c := range r.calls {
		fl.complete(c, err)
	}
}

func (fl *flight) succeed(r *request) {
	if n := fl.engine.reads.Load(); n != nil {
		n.note(r)
	}
	if fl.Kind() != coalesce.Read {
		fl.engine.pressure.written(len(r.rows))
	}
	for _, c := range r.calls {
		if c.flight.again {
			c.flight.again = false
			fl.Blocked(&c.flight.op)
			continue
		}
		fl.complete(c, nil)
	}
}

// refused deals with what PostgreSQL said against a whole request: a lock or
// one call's data must not be the neighbours' failure.
func (fl *flight) refused(r *request, err error, step int) {
	switch {
	case lockedOut(err) && len(r.calls) > 1 && step < callByCall:
		fl.takeApart(r, step)
	case lockedOut(err), r.stmt == stmtAddAll && sqlState(err) == "22012":
		for _, c := range r.calls {
			fl.Blocked(&c.flight.op)
		}
	case len(r.calls) > 1 && step < callByCall && aboutData(err):
		fl.callByCall(r.calls)
	default:
		if badServer(err) {
			fl.engine.db.opts.log().Warn("howdah: PostgreSQL cannot serve", "cache", fl.engine.name, "error", err)
			fl.conn.Conn().Close(context.Background())
			if fl.engine.db.ownPool {
				fl.engine.db.pool.Reset()
			}
		}
		if sqlState(err) == "42P01" && fl.reread(r, step) {
			return
		}
		err = failure(err, true, r.writes())
		for _, c := range r.calls {
			fl.complete(c, err)
		}
	}
}

// reread reads the cache's settings again, because its table is gone, and sends
// the calls to the table that the cache has now, if it has another.
func (fl *flight) reread(r *request, step int) bool {
	fl.engine.forget()
	fresh, err := fl.engine.refresh(fl.bound, fl.conn, r.table)
	if err != nil || fresh.id == r.table.id {
		return false
	}
	fl.engine.table.Store(fresh)
	fl.again(r.calls, step)
	return true
}

// aboutData tells errors that one row can cause: data exceptions, constraints
// and limits. The rest (privileges, disk, memory) would meet every row.
func aboutData(err error) bool {
	switch code := sqlState(err); code[:2] {
	case "22", "23", "54":
		return true
	}
	return false
}

// takeApart finds out whose rows are locked, lets those wait alone, and sends
// the others again. While the whole table is locked, it asks until the last
// caller gives up.
func (fl *flight) takeApart(r *request, step int) {
	for waited := false; ; waited = true {
		// Nothing of theirs is under way: who leaves now has changed nothing.
		ops := fl.retake(r.calls)
		if len(ops) == 0 {
			return
		}
		r.calls = r.calls[:0]
		for _, op := range ops {
			r.calls = append(r.calls, op.Call.(*Call))
		}
		locked, err := fl.locked(r)
		switch {
		case lockedOut(err):
			continue
		case sqlState(err) == "42P01" && fl.reread(r, step):
		case err != nil:
			fl.lost(r, err, false)
		case waited:
			fl.again(r.calls, step)
		default:
			fl.spare(r, locked, step)
		}
		return
	}
}

// spare lets the calls for locked rows wait alone, and sends the others again.
func (fl *flight) spare(r *request, locked map[int64]bool, step int) {
	var rest []*Call
	for _, c := range r.calls {
		if fl.holds(c, locked) {
			fl.Blocked(&c.flight.op)
		} else {
			rest = append(rest, c)
		}
	}
	if len(rest) < len(r.calls) && step == wholeBatch {
		fl.again(rest, withoutLocked)
		return
	}
	fl.callByCall(rest) // the lock is on a row that nobody can see yet
}

// locked returns the hashes of a request's rows that somebody else holds.
func (fl *flight) locked(r *request) (map[int64]bool, error) {
	question := &request{stmt: stmtLocked, table: r.table, params: [][]byte{r.hashes()}, locked: map[int64]bool{}}
	ask := []*request{question}
	t, err := fl.trip(ask, fl.settings(ask, wholeBatch))
	if err == nil {
		err = t.errs[0]
	}
	return question.locked, err
}

func (fl *flight) holds(c *Call, locked map[int64]bool) bool {
	for _, hash := range c.flight.op.Keys {
		if locked[int64(hash)] {
			return true
		}
	}
	return false
}

// retake returns those of the calls whose callers still wait.
func (fl *flight) retake(calls []*Call) []*coalesce.Op {
	ops := make([]*coalesce.Op, len(calls))
	for i, c := range calls {
		ops[i] = &c.flight.op
	}
	return fl.Retake(ops)
}

// again sends calls once more, as one batch.
func (fl *flight) again(calls []*Call, step int) {
	if ops := fl.retake(calls); len(ops) > 0 {
		fl.fly(fl.plan(ops), step)
	}
}

// callByCall sends each call in a statement and transaction of its own.
func (fl *flight) callByCall(calls []*Call) {
	var requests []*request
	for _, op := range fl.retake(calls) {
		requests = append(requests, fl.plan([]*coalesce.Op{op})...)
	}
	if len(requests) > 0 {
		fl.fly(requests, callByCall)
	}
}

// complete ends a call and those that merged with it.
func (fl *flight) complete(c *Call, err error) {
	for op := c.flight.op.Follower(); op != nil; op = op.Follower() {
		follower := op.Call.(*Call)
		follower.Status, follower.Int, follower.Count = c.Status, c.Int, c.Count
		follower.Result = c.Result
		follower.Result.Key = follower.Key
		follower.Result.Value = bytes.Clone(c.Result.Value)
		follower.Entries = slices.Clone(c.Entries)
		for i := range follower.Entries {
			follower.Entries[i].Key = follower.Keys[i]
			follower.Entries[i].Value = bytes.Clone(c.Entries[i].Value)
		}
	}
	fl.Complete(&c.flight.op, err)
}

func (fl *flight) failAll(ops []*coalesce.Op, err error) {
	for _, op := range ops {
		fl.complete(op.Call.(*Call), err)
	}
}

// forget makes the next flight read the cache's settings again.
func (e *engine) forget() { e.table.Store(e.table.Load().asOf(time.Time{})) }

// callFailure turns what the coalescer says of a call into an error of ours.
func callFailure(err error, verb Verb) error {
	var left *coalesce.LeftError
	switch {
	case errors.As(err, &left):
		return leftFailure(left, verb)
	case errors.Is(err, coalesce.ErrOverloaded):
		return ErrOverloaded
	case errors.Is(err, coalesce.ErrClosed):
		return ErrClosed
	}
	return err
}
