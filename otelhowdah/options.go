package otelhowdah

import (
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/trace"
)

// Option is an option of New.
type Option func(*options)

type options struct {
	tracers    trace.TracerProvider
	meters     metric.MeterProvider
	roots      bool
	attributes []attribute.KeyValue
}

// WithTracerProvider says where spans go. Default: the global provider. One of package
// go.opentelemetry.io/otel/trace/noop makes none.
func WithTracerProvider(p trace.TracerProvider) Option {
	return func(o *options) { o.tracers = p }
}

// WithMeterProvider says where the durations of calls go. Default: the global provider.
// One of package go.opentelemetry.io/otel/metric/noop measures nothing.
func WithMeterProvider(p metric.MeterProvider) Option {
	return func(o *options) { o.meters = p }
}

// WithRoots lets calls begin a trace, if the sampler wants it, where their context has no
// span. Default: they have no span. A cache is called so often that such traces are soon
// most of all.
func WithRoots() Option {
	return func(o *options) { o.roots = true }
}

// WithAttributes are added to all spans and to the metric. The conventions recommend
// server.address and, if it is not 5432, server.port; db.namespace is the database.
func WithAttributes(attributes ...attribute.KeyValue) Option {
	return func(o *options) { o.attributes = append(o.attributes, attributes...) }
}
