//go:build !race

package otelhowdah_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	metricnoop "go.opentelemetry.io/otel/metric/noop"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/howdah/howdah"
	"github.com/howdah/howdah/otelhowdah"
)

// Where the parent is not sampled and nobody collects the metric, a call allocates nothing.
func TestAnUnsampledCallAllocatesNothing(t *testing.T) {
	tracer := otelhowdah.New(otelhowdah.WithTracerProvider(sdktrace.NewTracerProvider()), otelhowdah.WithMeterProvider(metricnoop.NewMeterProvider()))
	ctx := unsampled(t.Context())
	call := howdah.TraceCall{Operation: "get", Cache: "db0", Keys: 1}
	require.Zero(t, testing.AllocsPerRun(100, func() {
		if tracer.StartCall(ctx, call) != nil {
			t.Fatal("it is followed")
		}
	}))
}
