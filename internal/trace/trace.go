// Package trace lets a tracer follow calls, and the work that calls share. Package
// howdah documents the types.
package trace

import (
	"context"
	"iter"
	"time"
)

// Tracer is howdah.Tracer.
type Tracer interface {
	StartCall(ctx context.Context, call Call) context.Context
	EndCall(ctx context.Context, call Call, result Result)
	StartShared(ctx context.Context, calls iter.Seq[context.Context], work Shared) context.Context
	EndShared(ctx context.Context, work Shared, err error)
}

// Call is howdah.TraceCall.
type Call struct {
	Operation string
	Cache     string
	Keys      int
	Writes    bool
}

// Result is howdah.TraceResult.
type Result struct {
	Duration time.Duration
	Err      error
	Hits     int
	Misses   int
	Shared   context.Context
}

// Shared is howdah.TraceShared.
type Shared struct {
	Operation string
	Caches    []string
	Calls     int
	Keys      int
}

// Span is a call that a tracer follows. The zero Span is one that none follows.
type Span struct {
	tracer Tracer
	ctx    context.Context
	call   Call
	began  time.Time
}

// Start begins a call, and returns the context for the rest of it. The tracer may be nil.
func Start(ctx context.Context, t Tracer, call Call) (context.Context, Span) {
	if t == nil {
		return ctx, Span{}
	}
	followed := t.StartCall(ctx, call)
	if followed == nil {
		return ctx, Span{}
	}
	return followed, Span{t, followed, call, time.Now()}
}

// Followed reports whether a tracer follows the call.
func (s *Span) Followed() bool { return s.tracer != nil }

// Contexts returns the context of the call for the work that it will share, nil if no
// tracer follows it.
func (s *Span) Contexts() []context.Context {
	if s.tracer == nil {
		return nil
	}
	return []context.Context{s.ctx}
}

// End ends the call. It sets the duration of the result.
func (s *Span) End(result Result) {
	if s.tracer == nil {
		return
	}
	result.Duration = time.Since(s.began)
	s.tracer.EndCall(s.ctx, s.call, result)
}
