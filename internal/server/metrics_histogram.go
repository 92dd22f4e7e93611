package server

import (
	"math"
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"

	"github.com/howdah/howdah/internal/engine"
)

// durationBounds are the bounds of durations in text scrapes, in seconds: powers
// of two among those that are counted, closer together where most calls are.
var durationBounds = []float64{
	1. / 8192, 1. / 4096, 1. / 2048, 1. / 1024, 1. / 512, 1. / 256, 1. / 128, 1. / 64, 1. / 16, 1. / 4, 1,
}

// histogram shows a histogram of any bounds. It makes the counts cumulative, as
// Prometheus has them.
func (out metricSink) histogram(desc *prometheus.Desc, h engine.Histogram, labels ...string) {
	out <- classic(desc, h, labels...)
}

func classic(desc *prometheus.Desc, h engine.Histogram, labels ...string) prometheus.Metric {
	buckets := make(map[float64]uint64, len(h.Bounds))
	var sum uint64
	for i, bound := range h.Bounds {
		sum += h.Counts[i]
		buckets[bound] = sum
	}
	// Counters are read one by one while calls go on: the total must not be
	// below the buckets.
	return prometheus.MustNewConstHistogram(desc, max(h.Count, sum), h.Sum, buckets, labels...)
}

// doubling shows a histogram whose bounds are powers of two, each twice the one
// before it. These counts are those of a native histogram of schema 0 as well, so a
// scrape in protobuf gets both forms. Text has the classic form alone, with the bounds
// that are given.
func (out metricSink) doubling(desc *prometheus.Desc, h engine.Histogram, bounds []float64, labels ...string) {
	out <- twofold{classic(desc, coarse(h, bounds), labels...), native(desc, h, labels...)}
}

// native is the native form of a histogram whose bounds double. What is within the
// first bound is in its zero bucket; what is beyond the last one counts in the bucket
// behind that.
func native(desc *prometheus.Desc, h engine.Histogram, labels ...string) prometheus.Metric {
	least := math.Ilogb(h.Bounds[0])
	buckets := make(map[int]int64)
	count := h.Counts[0]
	for i, n := range h.Counts[1:] {
		if n > 0 {
			buckets[least+1+i] = int64(n)
			count += n
		}
	}
	return prometheus.MustNewConstNativeHistogram(desc, count, h.Sum, buckets, nil, h.Counts[0], 0, h.Bounds[0], time.Time{}, labels...)
}

// twofold is a histogram in both forms.
type twofold struct {
	prometheus.Metric // the classic form
	native            prometheus.Metric
}

// Write implements prometheus.Metric.
func (t twofold) Write(out *dto.Metric) error {
	var native dto.Metric
	if err := t.native.Write(&native); err != nil {
		return err
	}
	if err := t.Metric.Write(out); err != nil {
		return err
	}
	to, from := out.Histogram, native.Histogram
	to.Schema, to.ZeroThreshold, to.ZeroCount = from.Schema, from.ZeroThreshold, from.ZeroCount
	to.PositiveSpan, to.PositiveDelta = from.PositiveSpan, from.PositiveDelta
	return nil
}

// sum adds two histograms of the same bounds; one of them may be empty.
func sum(a, b engine.Histogram) engine.Histogram {
	if a.Counts == nil {
		b.Counts = slices.Clone(b.Counts)
		return b
	}
	for i, n := range b.Counts {
		a.Counts[i] += n
	}
	a.Count += b.Count
	a.Sum += b.Sum
	return a
}

// coarse is a histogram of fewer bounds, which are among those of h.
func coarse(h engine.Histogram, bounds []float64) engine.Histogram {
	c := engine.Histogram{Bounds: bounds, Counts: make([]uint64, len(bounds)+1), Count: h.Count, Sum: h.Sum}
	for i, n := range h.Counts {
		at := len(bounds)
		if i < len(h.Bounds) {
			at, _ = slices.BinarySearch(bounds, h.Bounds[i])
		}
		c.Counts[at] += n
	}
	return c
}
