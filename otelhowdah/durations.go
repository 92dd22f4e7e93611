package otelhowdah

import (
	"context"
	"slices"
	"sync"

	"github.com/howdah/howdah"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
	"go.opentelemetry.io/otel/semconv/v1.43.0/dbconv"
)

// durations is the metric db.client.operation.duration.
type durations struct {
	histogram metric.Float64Histogram
	common    []attribute.KeyValue
	series    sync.Map // kind -> []metric.RecordOption; to make them takes longer than to record
}

// kind is what calls of one series have in common. There are few: caches and operations
// are named by the application, errors by errorType.
type kind struct{ operation, cache, err string }

func newDurations(meter metric.Meter, common []attribute.KeyValue) *durations {
	histogram, err := dbconv.NewClientOperationDuration(meter,
		metric.WithExplicitBucketBoundaries(0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 5, 10)) // those of the conventions
	if err != nil {
		otel.Handle(err)
	}
	return &durations{histogram: histogram.Inst(), common: common}
}

// wanted reports whether somebody collects the metric.
func (d *durations) wanted(ctx context.Context) bool { return d.histogram.Enabled(ctx) }

func (d *durations) record(ctx context.Context, call howdah.TraceCall, result howdah.TraceResult) {
	if !d.wanted(ctx) {
		return
	}
	k := kind{operation: call.Operation, cache: call.Cache}
	if result.Err != nil {
		k.err = errorType(result.Err)
	}
	opts, ok := d.series.Load(k)
	if !ok {
		opts, _ = d.series.LoadOrStore(k, d.options(k))
	}
	d.histogram.Record(ctx, result.Duration.Seconds(), opts.([]metric.RecordOption)...)
}

// options are the attributes of a series.
func (d *durations) options(k kind) []metric.RecordOption {
	attributes := append(slices.Clip(d.common), semconv.DBOperationName(k.operation))
	if k.cache != "" {
		attributes = append(attributes, semconv.DBCollectionName(k.cache))
	}
	if k.err != "" {
		attributes = append(attributes, semconv.ErrorTypeKey.String(k.err))
	}
	return []metric.RecordOption{metric.WithAttributeSet(attribute.NewSet(attributes...))}
}
