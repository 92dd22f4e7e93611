package otelhowdah_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"
	"go.uber.org/goleak"

	"github.com/howdah/howdah"
	"github.com/howdah/howdah/internal/test/leaks"
	"github.com/howdah/howdah/internal/test/pgtest"
	"github.com/howdah/howdah/otelhowdah"
)

func TestMain(m *testing.M) { pgtest.Main(m) }

// telemetry is a database whose calls are followed, and what was exported of them.
type telemetry struct {
	t        *testing.T
	db       *howdah.DB
	exporter *tracetest.InMemoryExporter
	app      trace.Tracer // the application's own
	metrics  *sdkmetric.ManualReader
}

// follow opens a database with a Tracer. What it starts has ended at the end of the test.
func follow(t *testing.T, o howdah.Options, sampler sdktrace.Sampler, opts ...otelhowdah.Option) *telemetry {
	t.Helper()
	url := pgtest.New(t)
	before := goleak.IgnoreCurrent()
	x := &telemetry{t: t, exporter: tracetest.NewInMemoryExporter(), metrics: sdkmetric.NewManualReader()}
	tracers := sdktrace.NewTracerProvider(sdktrace.WithSyncer(x.exporter), sdktrace.WithSampler(sampler))
	meters := sdkmetric.NewMeterProvider(sdkmetric.WithReader(x.metrics))
	x.app = tracers.Tracer("app")
	if o.Timeout == 0 {
		o.Timeout = 20 * time.Second
	}
	o.Tracer = otelhowdah.New(append([]otelhowdah.Option{otelhowdah.WithTracerProvider(tracers), otelhowdah.WithMeterProvider(meters)}, opts...)...)
	var err error
	x.db, err = howdah.Open(t.Context(), url, &o)
	require.NoError(t, err)
	t.Cleanup(func() {
		require.NoError(t, x.db.Close())
		require.NoError(t, tracers.Shutdown(context.Background()))
		require.NoError(t, meters.Shutdown(context.Background()))
		leaks.Await(t, before)
	})
	return x
}

// within runs fn in a span of the application, and returns that span.
func (x *telemetry) within(fn func(context.Context)) trace.SpanContext {
	ctx, span := x.app.Start(x.t.Context(), "request", trace.WithNewRoot())
	fn(ctx)
	span.End()
	return span.SpanContext()
}

// spans returns the spans of Howdah that have ended, when nothing is under way.
func (x *telemetry) spans() (calls, shared []tracetest.SpanStub) {
	x.t.Helper()
	require.NoError(x.t, x.db.Close()) // waits for the flights, whose spans end after those of their calls
	for _, s := range x.exporter.GetSpans() {
		switch {
		case s.InstrumentationScope.Name == "app":
		case s.SpanKind == trace.SpanKindClient:
			calls = append(calls, s)
		default:
			require.Equal(x.t, trace.SpanKindInternal, s.SpanKind)
			shared = append(shared, s)
		}
	}
	return calls, shared
}

// named returns the span of that name, of which there is one.
func named(t *testing.T, spans []tracetest.SpanStub, name string) tracetest.SpanStub {
	t.Helper()
	var found []tracetest.SpanStub
	for _, s := range spans {
		if s.Name == name {
			found = append(found, s)
		}
	}
	require.Len(t, found, 1, name)
	return found[0]
}

// attributes are those of a span, by name.
func attributes(s tracetest.SpanStub) map[string]any {
	all := map[string]any{}
	for _, a := range s.Attributes {
		all[string(a.Key)] = a.Value.AsInterface()
	}
	return all
}

// durations are the series of the metric.
func (x *telemetry) durations() (all []metricdata.HistogramDataPoint[float64]) {
	x.t.Helper()
	for _, scope := range x.collect().ScopeMetrics {
		for _, m := range scope.Metrics {
			require.Equal(x.t, "db.client.operation.duration", m.Name)
			require.Equal(x.t, "s", m.Unit)
			all = append(all, m.Data.(metricdata.Histogram[float64]).DataPoints...)
		}
	}
	return all
}

func (x *telemetry) collect() (all metricdata.ResourceMetrics) {
	x.t.Helper()
	require.NoError(x.t, x.metrics.Collect(x.t.Context(), &all))
	return all
}

// linked are the spans that a span has links to.
func linked(s tracetest.SpanStub) (ids []trace.SpanID) {
	for _, l := range s.Links {
		ids = append(ids, l.SpanContext.SpanID())
	}
	return ids
}
