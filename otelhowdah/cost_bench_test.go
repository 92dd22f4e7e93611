//go:build unix

package otelhowdah_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"syscall"
	"testing"
	"time"

	metricnoop "go.opentelemetry.io/otel/metric/noop"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/howdah/howdah"
	"github.com/howdah/howdah/internal/test/pgtest"
	"github.com/howdah/howdah/otelhowdah"
)

// discard takes spans and does nothing with them: the cost of exporting them is not
// Howdah's. That of the SDK's batches is mostly waking their goroutine, for each span
// where there are few.
type discard struct{}

func (discard) OnStart(context.Context, sdktrace.ReadWriteSpan) {}
func (discard) OnEnd(sdktrace.ReadOnlySpan)                     {}
func (discard) Shutdown(context.Context) error                  { return nil }
func (discard) ForceFlush(context.Context) error                { return nil }

const (
	costCallers = 32
	costCalls   = 3_200 // with, and as many without, in a round
)

// BenchmarkCost measures the CPU of this process for each call, with a Tracer and without,
// in turns: each of b.N rounds makes as many calls of both, in an order that changes. It
// reports the median of the calls without, and median and quartiles of the differences.
// Each call is in a request of the application, with a span of its own.
//
//	go test -run '^$' -bench Cost -benchtime 300x .
func BenchmarkCost(b *testing.B) {
	some := sdktrace.ParentBased(sdktrace.TraceIDRatioBased(0.01))
	noMeter := otelhowdah.WithMeterProvider(metricnoop.NewMeterProvider())
	meter := otelhowdah.WithMeterProvider(sdkmetric.NewMeterProvider(sdkmetric.WithReader(sdkmetric.NewManualReader())))
	get := func(ctx context.Context, c *howdah.Cache, key string) error { _, err := c.Get(ctx, key); return err }
	value := make([]byte, 100)
	set := func(ctx context.Context, c *howdah.Cache, key string) error { return c.Set(ctx, key, value, 0) }
	for _, operation := range []struct {
		name string
		call func(context.Context, *howdah.Cache, string) error
	}{{"Get", get}, {"Set", set}} {
		for _, tracing := range []struct {
			name    string
			sampler sdktrace.Sampler
			meter   otelhowdah.Option // nil: no Tracer in either, which shows the error of the measurement
		}{
			{"control", some, nil}, {"none sampled", sdktrace.NeverSample(), noMeter}, {"1% sampled", some, noMeter}, {"1% sampled and metric", some, meter}, {"all sampled", sdktrace.AlwaysSample(), noMeter},
		} {
			b.Run(operation.name+"/"+tracing.name, func(b *testing.B) {
				tracers := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(discard{}), sdktrace.WithSampler(tracing.sampler))
				b.Cleanup(func() { _ = tracers.Shutdown(context.Background()) })
				url := pgtest.New(b)
				off := &application{tracers.Tracer("app"), openCache(b, url, nil), operation.call}
				var tracer howdah.Tracer
				if tracing.meter != nil {
					tracer = otelhowdah.New(tracing.meter, otelhowdah.WithTracerProvider(tracers))
				}
				on := &application{off.tracer, openCache(b, url, tracer), operation.call}
				compare(b, off, on)
			})
		}
	}
}

// application makes requests, each of which has a span and makes one call.
type application struct {
	tracer trace.Tracer
	cache  *howdah.Cache
	call   func(context.Context, *howdah.Cache, string) error
}

func openCache(b *testing.B, url string, tracer howdah.Tracer) *howdah.Cache {
	db, err := howdah.Open(b.Context(), url, &howdah.Options{Timeout: time.Minute, Tracer: tracer})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		if err := db.Close(); err != nil {
			b.Error(err)
		}
	})
	c := db.Cache("db0")
	for i := range costCallers {
		if err := c.Set(b.Context(), fmt.Sprint(i), make([]byte, 100), 0); err != nil {
			b.Fatal(err)
		}
	}
	return c
}

// compare measures two applications in turns.
func compare(b *testing.B, off, on *application) {
	off.requests(b)
	on.requests(b)
	var costs, differences []float64
	for round := 0; b.Loop(); round++ {
		var with, without float64
		if round%2 == 0 {
			without, with = off.requests(b), on.requests(b)
		} else {
			with, without = on.requests(b), off.requests(b)
		}
		costs, differences = append(costs, without), append(differences, with-without)
	}
	slices.Sort(costs)
	slices.Sort(differences)
	n := len(costs)
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(costs[n/2], "without-ns")
	b.ReportMetric(differences[n/4], "more-q1-ns")
	b.ReportMetric(differences[n/2], "more-median-ns")
	b.ReportMetric(differences[3*n/4], "more-q3-ns")
}

// requests makes the requests of a round, and returns the nanoseconds of CPU for each.
func (a *application) requests(b *testing.B) float64 {
	before := cpu(b)
	var all sync.WaitGroup
	for i := range costCallers {
		key := fmt.Sprint(i)
		all.Go(func() {
			for range costCalls / costCallers {
				ctx, span := a.tracer.Start(b.Context(), "request")
				err := a.call(ctx, a.cache, key)
				span.End()
				if err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	all.Wait()
	return float64(cpu(b)-before) / costCalls
}

// cpu is what this process has used so far, without PostgreSQL's.
func cpu(b *testing.B) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// BenchmarkCall measures what the Tracer itself costs a call, without its share of a
// statement.
func BenchmarkCall(b *testing.B) {
	never := sdktrace.NewTracerProvider(sdktrace.WithSampler(sdktrace.NeverSample()))
	always := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(discard{}))
	b.Cleanup(func() { _ = always.Shutdown(context.Background()) })
	noMeter := otelhowdah.WithMeterProvider(metricnoop.NewMeterProvider())
	call := howdah.TraceCall{Operation: "get", Cache: "db0", Keys: 1}
	result := howdah.TraceResult{Duration: time.Millisecond, Hits: 1}
	for _, test := range []struct {
		name    string
		tracers trace.TracerProvider
		meter   otelhowdah.Option
	}{
		{"sampled", always, noMeter},
		{"not sampled", never, noMeter},
		{"not sampled, metric", never, otelhowdah.WithMeterProvider(sdkmetric.NewMeterProvider(sdkmetric.WithReader(sdkmetric.NewManualReader())))},
	} {
		b.Run(test.name, func(b *testing.B) {
			tracer := otelhowdah.New(otelhowdah.WithTracerProvider(test.tracers), test.meter)
			ctx, span := test.tracers.Tracer("app").Start(b.Context(), "request")
			defer span.End()
			b.ReportAllocs()
			for b.Loop() {
				if followed := tracer.StartCall(ctx, call); followed != nil {
					tracer.EndCall(followed, call, result)
				}
			}
		})
	}
}
