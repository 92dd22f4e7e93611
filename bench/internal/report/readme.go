package report

import (
	"fmt"
	"strings"

	"github.com/howdah/howdah/bench/internal/chart"
	"github.com/howdah/howdah/bench/internal/result"
)

// summaryRow is one line of the short table: the same load for three.
type summaryRow struct {
	label                string
	experiment           string
	group, which, metric string
	howdah, redis, plain string // series; "" for none
	unit                 string
	lower                bool // the better is the lower
}

var summary = []summaryRow{
	{"GET, 1 caller", "library", "GET", "1", "throughput", "Howdah", "go-redis", "pgx, one statement a call", "/s", false},
	{"GET, 64 callers in one process", "library", "GET", "64", "throughput", "Howdah", "go-redis", "pgx, one statement a call", "/s", false},
	{"GET, 1,024 callers in one process", "library", "GET", "1024", "throughput", "Howdah", "go-redis", "pgx, one statement a call", "/s", false},
	{"SET, 64 callers in one process", "library", "SET", "64", "throughput", "Howdah", "go-redis", "pgx, one statement a call", "/s", false},
	{"GET, 8 processes of 16 callers", "processes", "GET", "8 processes of 16", "throughput", "Howdah", "go-redis", "pgx, one statement a call", "/s", false},
	{"GET by Redis protocol, 50 connections", "redis-benchmark", "GET", "plain", "throughput", "howdah serve", "redis-server", "", "/s", false},
	{"GET by Redis protocol, pipelines of 16", "redis-benchmark", "GET", "-P 16", "throughput", "howdah serve", "redis-server", "", "/s", false},
	{"SET by Redis protocol, pipelines of 16", "redis-benchmark", "SET", "-P 16", "throughput", "howdah serve", "redis-server", "", "/s", false},
	{"99th percentile of a GET at 5,000/s", "library", "GET latency, open loop", "5000/s", "p99", "Howdah", "go-redis", "pgx, one statement a call", " ms", true},
}

// UpdateReadme puts the short table between the marks of a document.
func UpdateReadme(document string, results []*result.Result) error {
	return replace(document, Summary(results))
}

// Summary is the table for somebody who has a minute: the winner of each line
// is bold. A line that was not measured is left out.
func Summary(results []*result.Result) string {
	var b strings.Builder
	header(&b, []string{"", "Howdah", "Redis", "plain PostgreSQL"})
	for _, row := range summary {
		for _, r := range results {
			if r.Experiment == row.experiment {
				row.write(&b, r)
			}
		}
	}
	return b.String()
}

func (row summaryRow) write(b *strings.Builder, r *result.Result) {
	series := []string{row.howdah, row.redis, row.plain}
	values := make([]float64, len(series))
	best := -1
	for i, s := range series {
		values[i] = r.Value(row.group, row.which, s, row.metric)
		if values[i] > 0 && (best < 0 || (values[i] < values[best]) == row.lower) {
			best = i
		}
	}
	if values[0] == 0 {
		return
	}
	fields := []string{row.label}
	for i, v := range values {
		switch {
		case v == 0:
			fields = append(fields, "")
		case i == best:
			fields = append(fields, fmt.Sprintf("**%s%s**", chart.Number(v), row.unit))
		default:
			fields = append(fields, chart.Number(v)+row.unit)
		}
	}
	line(b, fields)
}
