package core

import (
	"context"
	"errors"
	"iter"

	"github.com/howdah/howdah/internal/fetch"
	"github.com/howdah/howdah/internal/trace"
	"github.com/howdah/howdah/internal/verb"
)

// doTraced is do for a database with a tracer.
func (c *Cache) doTraced(ctx context.Context, calls []*verb.Call) error {
	ctx, span := trace.Start(ctx, c.db.opts.Tracer, c.traceOf(calls))
	contexts := span.Contexts()
	for _, call := range calls {
		call.Traces = contexts
	}
	err := c.do(ctx, calls)
	if span.Followed() {
		span.End(resultOf(err, calls))
	}
	return err
}

// traceOf describes calls that are run together.
func (c *Cache) traceOf(calls []*verb.Call) trace.Call {
	t := trace.Call{Cache: c.name, Writes: !readsOnly(calls)}
	for _, call := range calls {
		switch name := call.Verb.String(); {
		case t.Operation == "":
			t.Operation = name
		case t.Operation != name:
			t.Operation = "batch"
		}
		t.Keys++
		if call.Keys != nil {
			t.Keys += len(call.Keys) - 1
		}
	}
	return t
}

// resultOf says how calls have ended that returned err together. If they failed, their
// results may still belong to a flight.
func resultOf(err error, calls []*verb.Call) (r trace.Result) {
	var open *missed
	switch {
	case errors.As(err, &open):
		r.Err = open.reason
		return r
	case err != nil:
		r.Err = err
		return r
	}
	for _, call := range calls {
		hits, misses := call.Hits()
		r.Hits += hits
		r.Misses += misses
		if s := call.Status; s != verb.OK && s != verb.Miss && s != verb.NotStored {
			r.Err = s.Err()
		}
	}
	return r
}

// traced begins a call of the cache that is no verb.
func (c *Cache) traced(ctx context.Context, operation string, keys int, writes bool) (context.Context, trace.Span) {
	return trace.Start(ctx, c.db.opts.Tracer, trace.Call{Operation: operation, Cache: c.name, Keys: keys, Writes: writes})
}

// loading is what the loads of a cache are followed by, nil if nothing is.
func (c *Cache) loading() fetch.Loading {
	t := c.db.opts.Tracer
	if t == nil {
		return nil
	}
	return func(ctx context.Context, calls iter.Seq[context.Context], keys int) (context.Context, func(error)) {
		work := trace.Shared{Operation: "load", Caches: []string{c.name}, Keys: keys}
		for range calls {
			work.Calls++
		}
		followed := t.StartShared(ctx, calls, work)
		if followed == nil {
			return nil, nil
		}
		return followed, func(err error) { t.EndShared(followed, work, err) }
	}
}

// fetchedResult says how a Fetch has ended.
func fetchedResult(results []fetch.Result, err error) trace.Result {
	r := trace.Result{Err: err}
	for i := range results {
		switch f := &results[i]; {
		case f.Loading != nil:
			r.Shared = f.Loading
			r.Misses++
		case f.Loaded || f.Err != nil:
			r.Misses++
		default:
			r.Hits++
		}
	}
	return r
}
