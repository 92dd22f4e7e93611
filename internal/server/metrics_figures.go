package server

import (
	"time"

	"github.com/howdah/howdah/internal/doctor"
	"github.com/howdah/howdah/internal/figures"
)

// The metrics of what is found out about the database. docs/operations.md knows them by
// these names.
var (
	findingsDesc = describe("doctor_findings", "Objects in which howdah doctor found something, by its check.", "severity", "id")
	examinedDesc = describe("doctor_last_run_timestamp_seconds", "When the doctor last examined the database.")
	costDesc     = describe("cost_share", "Share of the work of PostgreSQL in this database that Howdah took in the last hour; only with --metrics-cost.", "resource")
)

// maxReportAge is from when on a report of the doctor is not shown: another process leads
// and examines the database now.
const maxReportAge = 2 * time.Hour

// collectDoctor shows the last report of the doctor, and lets the process that leads upkeep
// make a new one each hour. The scrape does not wait for it.
func collectDoctor(out metricSink, f *figures.Figures, leads bool) {
	if leads {
		f.RenewDoctor()
	}
	seen := f.LastDoctor()
	if seen.Value == nil || seen.Age() > maxReportAge {
		return
	}
	out.gauge(examinedDesc, float64(seen.At.UnixMilli())/1000)
	type check struct{ severity, id string }
	found := make(map[check]int)
	for id, severity := range doctor.Checks() {
		found[check{string(severity), id}] = 0
	}
	for _, finding := range seen.Value.Findings {
		found[check{string(finding.Severity), finding.ID}]++
	}
	for check, objects := range found {
		out.gauge(findingsDesc, float64(objects), check.severity, check.id)
	}
}

// collectCost shows the shares of the last hour, as far as they are known.
func collectCost(out metricSink, seen figures.Seen[figures.Cost]) {
	if seen.Value == nil || seen.Value.Hour == nil {
		return
	}
	shares := seen.Value.Hour
	for resource, share := range map[string]*float64{"time": shares.Time, "buffers": shares.Buffers, "wal": shares.WAL} {
		if share != nil {
			out.gauge(costDesc, *share, resource)
		}
	}
}
