package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/howdah/howdah/internal/coalesce"
	"github.com/howdah/howdah/internal/fault"
	"github.com/howdah/howdah/internal/pgwire"
	"github.com/howdah/howdah/internal/statement"
	"github.com/howdah/howdah/internal/verb"
)

// DoIn runs calls in the caller's transaction, pipelined in their order. If one
// is invalid, none is run.
func (e *Engine) DoIn(ctx context.Context, tx pgx.Tx, calls []*verb.Call) error {
	now := coalesce.Now()
	for _, c := range calls {
		c.Began = now
		if err := e.prepare(c, now, 0); err != nil {
			e.refuseAll(calls, c, err)
			return err
		}
		c.Near, c.InTx = false, true // what a transaction sees is not for others
	}
	table := e.tableIn(tx)
	if !table.Known() {
		err := table.Unusable()
		e.giveUpAll(calls, err)
		return err
	}
	if err := e.awaitOrphans(ctx, calls); err != nil {
		e.giveUpAll(calls, err)
		return err
	}
	requests := e.planIn(table, calls)
	if len(requests) == 0 {
		return nil
	}
	e.noteCalls(tx, calls)
	p := e.park(tx, calls)
	x, err := exchangeIn(ctx, tx.Conn(), requests, p)
	first := e.finishIn(requests, x, err)
	p.settle(first)
	e.overtake(calls)
	e.noteSlowTogether(calls, now, first)
	if errors.Is(first, fault.ErrCacheNotFound) {
		e.Forget()
	}
	if first != nil {
		return first
	}
	for _, c := range calls {
		if !c.Repeat && c.Verb.Changes() {
			e.noteKeys(tx, changedKeys(c))
		}
	}
	e.noteRemovalsIn(tx, calls)
	return e.repeatLost(ctx, tx, calls)
}

// giveUpAll ends calls, none of which is run.
func (e *Engine) giveUpAll(calls []*verb.Call, err error) {
	for _, c := range calls {
		c.Err = err
		e.record(c)
	}
}

// planIn makes a request of each call, but for those that a full cache refuses, and
// puts before each what must come first: see withLeads.
func (e *Engine) planIn(table *statement.Table, calls []*verb.Call) []*statement.Request {
	requests := make([]*statement.Request, 0, len(calls))
	for _, c := range calls {
		if table.Full && c.Rows() > 0 {
			c.Err = nil
			c.RefuseFull()
			e.record(c)
			continue
		}
		r := statement.NewRequest(statement.FormOf(c, table), table, 1)
		r.Add(c)
		r.Encode()
		requests = append(append(requests, leadsOf(r)...), r)
	}
	return requests
}

func exchangeIn(ctx context.Context, conn *pgx.Conn, requests []*statement.Request, p *parked) (*pgwire.Exchange, error) {
	mode := conn.Config().DefaultQueryExecMode
	x := &pgwire.Exchange{
		Conn:     conn,
		Requests: make([]pgwire.Request, len(requests), len(requests)+1),
		Open:     true,
		Named:    mode == pgx.QueryExecModeCacheStatement || mode == pgx.QueryExecModeCacheDescribe,
	}
	for i, r := range requests {
		x.Requests[i] = r
	}
	if p.asks() {
		x.Requests = append(x.Requests, p)
	}
	deadline, _ := ctx.Deadline()
	lift := pgwire.Within(ctx, conn, deadline)
	err := x.Run()
	if !lift() && err == nil {
		err = context.Cause(ctx)
		conn.Close(context.Background())
	}
	return x, err
}

// finishIn gives each call its error, and returns the first. What PostgreSQL
// refuses makes it skip the calls after it.
func (e *Engine) finishIn(requests []*statement.Request, x *pgwire.Exchange, err error) (first error) {
	var refusal error
	for i, r := range requests {
		refusal = cmp.Or(refusal, r.Err)
		if len(r.Calls) == 0 {
			continue // its refusal is that of the call after it
		}
		c := r.Calls[0]
		switch {
		case refusal != nil:
			c.Err = fault.From(refusal, true, false)
		case i >= x.Answered:
			c.Err = fault.From(err, x.IsSent, false) // the transaction ended with its connection
		default:
			c.Err = nil
		}
		e.record(c)
		first = cmp.Or(first, c.Err)
	}
	return first
}

// refuseAll gives up calls that were to run together, one of which is invalid.
func (e *Engine) refuseAll(calls []*verb.Call, invalid *verb.Call, err error) {
	for _, c := range calls {
		// Only the invalid one is what its error says.
		c.Err = fmt.Errorf("howdah: not run, because another call given to the same Do is invalid: %v", err)
		if c == invalid {
			c.Err = err
		}
		e.record(c)
	}
}

// repeatLost runs again the calls that lost a race without effect.
func (e *Engine) repeatLost(ctx context.Context, tx pgx.Tx, calls []*verb.Call) error {
	var first error
	for _, c := range calls {
		if c.Repeat {
			c.Repeat = false
			first = cmp.Or(first, e.DoIn(ctx, tx, []*verb.Call{c}))
		}
	}
	return first
}
