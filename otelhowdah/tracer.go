package otelhowdah

import (
	"context"
	"iter"
	"slices"

	"github.com/howdah/howdah"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/metric"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
	"go.opentelemetry.io/otel/trace"
)

// name is that of the instrumentation.
const name = "github.com/howdah/howdah/otelhowdah"

// The attributes of Howdah.
const (
	hitKey    = attribute.Key("howdah.hit")
	hitsKey   = attribute.Key("howdah.hits")
	callsKey  = attribute.Key("howdah.shared.calls")
	keysKey   = attribute.Key("howdah.shared.keys")
	cachesKey = attribute.Key("howdah.shared.caches")
)

// Tracer is a howdah.Tracer. Make it with New. It may serve several databases.
type Tracer struct {
	tracer    trace.Tracer
	durations *durations
	roots     bool
	common    []attribute.KeyValue // of all spans
}

var _ howdah.Tracer = (*Tracer)(nil)

// New makes a Tracer for howdah.Options.Tracer.
func New(opts ...Option) *Tracer {
	o := options{tracers: otel.GetTracerProvider(), meters: otel.GetMeterProvider()}
	for _, opt := range opts {
		opt(&o)
	}
	common := append([]attribute.KeyValue{semconv.DBSystemNamePostgreSQL}, o.attributes...)
	return &Tracer{
		tracer:    o.tracers.Tracer(name, trace.WithSchemaURL(semconv.SchemaURL)),
		durations: newDurations(o.meters.Meter(name, metric.WithSchemaURL(semconv.SchemaURL)), common),
		roots:     o.roots,
		common:    common,
	}
}

// followed is the context of a call, or of shared work, with the span that it has got.
type followed struct {
	context.Context
	span trace.Span
}

// StartCall implements howdah.Tracer.
func (t *Tracer) StartCall(ctx context.Context, call howdah.TraceCall) context.Context {
	if t.wants(trace.SpanFromContext(ctx)) {
		attributes := append(slices.Clip(t.common), semconv.DBOperationName(call.Operation))
		if call.Cache != "" {
			attributes = append(attributes, semconv.DBCollectionName(call.Cache))
		}
		if call.Keys > 1 {
			attributes = append(attributes, semconv.DBOperationBatchSize(call.Keys))
		}
		spanned, span := t.tracer.Start(ctx, title(call.Operation, call.Cache),
			trace.WithSpanKind(trace.SpanKindClient), trace.WithAttributes(attributes...))
		if span.IsRecording() {
			return &followed{spanned, span}
		}
	}
	if t.durations.wanted(ctx) {
		return ctx
	}
	return nil
}

// wants reports whether calls below a span may have one. The sampler is not asked about
// children of a span that is not sampled.
func (t *Tracer) wants(parent trace.Span) bool {
	sc := parent.SpanContext()
	if !sc.IsValid() {
		return t.roots
	}
	return sc.IsSampled() || parent.IsRecording()
}

// title is the name of a span.
func title(operation, cache string) string {
	if cache == "" {
		return operation
	}
	return operation + " " + cache
}

// EndCall implements howdah.Tracer.
func (t *Tracer) EndCall(ctx context.Context, call howdah.TraceCall, result howdah.TraceResult) {
	t.durations.record(ctx, call, result)
	c, ok := ctx.(*followed)
	if !ok {
		return
	}
	if work, ok := result.Shared.(*followed); ok {
		c.link(work)
	}
	switch {
	case call.Writes, result.Hits+result.Misses == 0:
	case call.Keys == 1:
		c.span.SetAttributes(hitKey.Bool(result.Hits == 1))
	default:
		c.span.SetAttributes(hitsKey.Int(result.Hits))
	}
	c.end(result.Err)
}

// StartShared implements howdah.Tracer.
func (t *Tracer) StartShared(ctx context.Context, calls iter.Seq[context.Context], work howdah.TraceShared) context.Context {
	var parent trace.Span
	for call := range calls {
		if span := trace.SpanFromContext(call); span.IsRecording() {
			parent = span
			break
		}
	}
	if parent == nil {
		return nil
	}
	cache := ""
	if len(work.Caches) == 1 {
		cache = work.Caches[0]
	}
	attributes := append(slices.Clip(t.common), semconv.DBOperationName(work.Operation), callsKey.Int(work.Calls), keysKey.Int(work.Keys))
	switch {
	case cache != "":
		attributes = append(attributes, semconv.DBCollectionName(cache))
	case len(work.Caches) > 1:
		attributes = append(attributes, cachesKey.StringSlice(work.Caches))
	}
	operation := work.Operation
	if operation != "load" {
		operation = "shared " + operation
	}
	ctx, span := t.tracer.Start(trace.ContextWithSpan(ctx, parent), title(operation, cache), trace.WithAttributes(attributes...))
	if !span.IsRecording() {
		return nil
	}
	shared := &followed{ctx, span}
	for call := range calls {
		if c, ok := call.(*followed); ok {
			c.link(shared)
		}
	}
	return shared
}

// EndShared implements howdah.Tracer.
func (t *Tracer) EndShared(ctx context.Context, _ howdah.TraceShared, err error) {
	ctx.(*followed).end(err)
}

// link links a call to work that it shares.
func (f *followed) link(work *followed) {
	f.span.AddLink(trace.Link{SpanContext: work.span.SpanContext()})
}

// end ends the span. The text of an error is not exported: it may hold a key.
func (f *followed) end(err error) {
	if err != nil {
		kind := errorType(err)
		f.span.SetAttributes(semconv.ErrorTypeKey.String(kind))
		if state := sqlState(err); state != "" {
			f.span.SetAttributes(semconv.DBResponseStatusCode(state))
		}
		f.span.SetStatus(codes.Error, kind)
	}
	f.span.End()
}
