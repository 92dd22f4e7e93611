package report

import (
	"fmt"
	"strings"

	"github.com/howdah/howdah/bench/internal/chart"
	"github.com/howdah/howdah/bench/internal/result"
)

// summaryRow is one line of the short table: the same load for all.
type summaryRow struct {
	label                string
	experiment           string
	group, which, metric string
	series               [4]string // in the order of the columns; "" for none
	unit                 string
	lower                bool // the better is the lower
}

var (
	summaryColumns = []string{"", "Howdah", "go-redis", "rueidis", "plain PostgreSQL"}
	libraries      = [4]string{"Howdah", "go-redis", "rueidis", "pgx, one statement a call"}
	servers        = [4]string{"howdah serve", "redis-server"}
)

// summary has reads and writes of each load, whoever wins.
var summary = []summaryRow{
	{"GET, 1 caller", "library", "GET", "1", "throughput", libraries, "/s", false},
	{"SET, 1 caller", "library", "SET", "1", "throughput", libraries, "/s", false},
	{"GET, 64 callers in one process", "library", "GET", "64", "throughput", libraries, "/s", false},
	{"SET, 64 callers in one process", "library", "SET", "64", "throughput", libraries, "/s", false},
	{"GET, 1,024 callers in one process", "library", "GET", "1024", "throughput", libraries, "/s", false},
	{"SET, 1,024 callers in one process", "library", "SET", "1024", "throughput", libraries, "/s", false},
	{"GET, 8 processes of 16 callers", "processes", "GET", "8 processes of 16", "throughput", libraries, "/s", false},
	{"SET, 8 processes of 16 callers", "processes", "SET", "8 processes of 16", "throughput", libraries, "/s", false},
	{"80 % GET, 20 % SET, 8 processes of 16 callers", "processes", "80 % GET, 20 % SET", "8 processes of 16", "throughput", libraries, "/s", false},
	{"GET, 1 caller, 0.1 ms of network each way: median", "network", "GET by one caller", "0.1 ms", "p50", libraries, " ms", true},
	{"GET at 5,000/s: 99th percentile", "library", "GET latency, open loop", "5000/s", "p99", libraries, " ms", true},
	{"GET by Redis protocol, 50 connections", "redis-benchmark", "GET", "plain", "throughput", servers, "/s", false},
	{"SET by Redis protocol, 50 connections", "redis-benchmark", "SET", "plain", "throughput", servers, "/s", false},
	{"GET by Redis protocol, pipelines of 16", "redis-benchmark", "GET", "-P 16", "throughput", servers, "/s", false},
	{"SET by Redis protocol, pipelines of 16", "redis-benchmark", "SET", "-P 16", "throughput", servers, "/s", false},
}

// UpdateReadme puts the short table between the marks of a document.
func UpdateReadme(document string, results []*result.Result) error {
	return replace(document, Summary(results))
}

// Summary is the table for somebody who has a minute: the winner of each line
// is bold. A line that was not measured is left out.
func Summary(results []*result.Result) string {
	var b strings.Builder
	header(&b, summaryColumns)
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
	values := make([]float64, len(row.series))
	best := -1
	for i, s := range row.series {
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
