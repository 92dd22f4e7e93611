package howdah

import (
	"context"
	"iter"
	"time"

	"github.com/howdah/howdah/internal/trace"
)

// Tracer follows the calls of a DB, and the work that they share, for tracing and for
// measuring (Options.Tracer). Module github.com/howdah/howdah/otelhowdah implements it
// with OpenTelemetry.
//
// A call is one use of a method by the application: of a Cache, of DB.Transact, or of a
// session.Manager. Calls that are made at the same time share statements, and those of
// Fetch share loads. Such work is no part of one of its calls more than of another, so
// it begins and ends by itself, and names the calls that share it.
//
// A Tracer is given no key, no value and no SQL. Texts of errors may hold such: the name
// of a key, or what a load of the application has put there.
//
// Not followed are reads that memory answers (Options.Near), which are counted only
// (DB.Stats), calls that come by the Redis protocol or by HTTP, upkeep and messages.
//
// The methods are called on the goroutines of the calls and of the shared work, at the
// same time. They must be quick and must not panic.
type Tracer interface {
	// StartCall is called when a call begins, with the context of its caller. It
	// returns the context for the rest of the call, or nil: then the call is not
	// followed. The functions that the application gives to Transact get a context that
	// is made of it.
	StartCall(ctx context.Context, call TraceCall) context.Context

	// EndCall is called when a call that is followed ends, which may be before the
	// work ends that it shares: its caller may have left. ctx is what StartCall
	// returned.
	EndCall(ctx context.Context, call TraceCall, result TraceResult)

	// StartShared is called when work begins that at least one followed call shares: a
	// statement, or a load of Fetch. calls are the contexts that StartCall returned for
	// the calls that share it and are followed; for a load that no call waits for, it
	// is the context of the call that has caused it. A call may share several such
	// works, one after another: one that met a lock is sent again.
	//
	// It returns a context made of ctx, which is the one that a load gets, or nil: then
	// the work is not followed.
	StartShared(ctx context.Context, calls iter.Seq[context.Context], work TraceShared) context.Context

	// EndShared is called when work ends that is followed, with the first error that
	// its calls got from it. ctx is what StartShared returned.
	EndShared(ctx context.Context, work TraceShared, err error)
}

// TraceCall says what a call does.
type TraceCall struct {
	// Operation is the verb that PostgreSQL gets, as in Stats ("get", "set_many"), "edit"
	// for a change of a collection, "fetch", "transact", or the name of a statement on
	// sessions ("session_read"). Several calls in one, of different verbs, are "batch".
	Operation string
	Cache     string // "" for transactions and sessions
	Keys      int    // of the call; 0: it names none
	Writes    bool   // it may change data
}

// TraceResult says how a call has ended.
type TraceResult struct {
	Duration time.Duration
	// Err is what the caller gets, nil for a miss and for a condition that is not met.
	// A read that fails open has the reason.
	Err error
	// Hits are the keys that a read has found, Misses those that it has not; of a Fetch,
	// those that were loaded. A write that took effect is a hit, one whose condition
	// was not met a miss. Both are 0 where that is not known.
	Hits, Misses int
	// Shared is what StartShared returned for work that the call has joined while it was
	// under way: a load of Fetch. nil: none.
	Shared context.Context
}

// TraceShared says what work calls share.
type TraceShared struct {
	// Operation is the verb if there is only one, else "read" or "write"; "load" for a
	// load of Fetch; "session_read".
	Operation string
	Caches    []string // that it uses, each once
	Calls     int      // that share it, those that are not followed included
	Keys      int      // of these calls; equal reads of one key count once
}

// tracer is a Tracer as the rooms below know it.
type tracer struct{ Tracer }

func (t tracer) StartCall(ctx context.Context, call trace.Call) context.Context {
	return t.Tracer.StartCall(ctx, TraceCall(call))
}

func (t tracer) EndCall(ctx context.Context, call trace.Call, result trace.Result) {
	t.Tracer.EndCall(ctx, TraceCall(call), TraceResult(result))
}

func (t tracer) StartShared(ctx context.Context, calls iter.Seq[context.Context], work trace.Shared) context.Context {
	return t.Tracer.StartShared(ctx, calls, TraceShared(work))
}

func (t tracer) EndShared(ctx context.Context, work trace.Shared, err error) {
	t.Tracer.EndShared(ctx, TraceShared(work), err)
}
