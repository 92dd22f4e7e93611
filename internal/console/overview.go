package console

import (
	"cmp"
	"errors"
	"net/http"
	"slices"
	"time"

	"github.com/howdah/howdah/internal/doctor"
	"github.com/howdah/howdah/internal/figures"
	"github.com/howdah/howdah/internal/httpapi"
	"github.com/howdah/howdah/internal/stat"
)

// freshness says how old figures are, and why they are not newer.
type freshness struct {
	Missing bool   // there are none yet
	Waiting bool   // they are being read
	Stale   string // why the last attempt failed; "": it did not
	Age     string
	Partial string // which servers of several did not answer; "": all did
}

func freshnessOf[T any](seen figures.Seen[T]) freshness {
	f := freshness{Missing: seen.Value == nil, Waiting: errors.Is(seen.Err, figures.ErrCounting)}
	if seen.Value != nil {
		f.Age = duration(seen.Age())
	}
	if seen.Err != nil && !f.Waiting {
		_, title, detail := httpapi.Explain(seen.Err)
		f.Stale = title + ". " + detail
	}
	f.Partial = stat.MissingText(serversOf(seen.Value))
	return f
}

// serversOf are the servers that figures are of, nil if there is one.
func serversOf(value any) []stat.ServerState {
	switch value := value.(type) {
	case *stat.Report:
		if value != nil {
			return value.Servers
		}
	case *stat.Sampling:
		if value != nil {
			return value.Servers
		}
	case *figures.Cost:
		if value != nil {
			return value.Servers
		}
	}
	return nil
}

// cacheRow is a cache, or the sessions, in the table of the overview.
type cacheRow struct {
	stat.Row
	Budget string // what Used is a share of
	Share  *float64
	Trend  []*float64 // reads a second
	Bad    int        // findings of the doctor on this cache
}

// trend is one curve with its latest value.
type trend struct {
	Name, Now string
	Points    []*float64
}

// overviewView is the first page.
type overviewView struct {
	Fresh    freshness
	Report   *stat.Report
	Leader   string
	Rows     []cacheRow
	Rest     []cacheRow // of many caches, those that are folded away
	Trends   []trend
	Since    string // how long the trends are
	Doctor   freshness
	Findings []doctor.Finding
	More     int // findings that are not shown
	Examined string
}

const (
	findingsShown = 5  // findings on the overview
	cachesShown   = 25 // caches on the overview that are not folded away
)

func (c *Console) overview(r *request) error {
	c.figures.RenewDoctor() // it looks while the figures are read
	seen := c.figures.Report(r.Context())
	view := &overviewView{Fresh: freshnessOf(seen), Report: seen.Value}
	history := c.figures.History()
	view.Trends, view.Since = trends(history)
	examined := c.figures.Doctor(r.Context())
	view.Doctor = freshnessOf(examined)
	if report := examined.Value; report != nil {
		view.Findings = report.Findings[:min(len(report.Findings), findingsShown)] // the worst come first
		view.More = len(report.Findings) - len(view.Findings)
		view.Examined = duration(examined.Age())
	}
	if seen.Value != nil {
		view.Leader = cmp.Or(seen.Value.Upkeep.Leader, "")
		for i := range seen.Value.Tables {
			view.Rows = append(view.Rows, rowOf(&seen.Value.Tables[i], history, examined.Value))
		}
		view.fold()
	}
	return r.show(http.StatusOK, "overview.html", frame{Title: "Overview", Section: "overview", Live: true, Waiting: view.Fresh.Waiting || view.Doctor.Waiting, Page: view})
}

// fold leaves those caches of many that need attention, and the largest.
func (view *overviewView) fold() {
	if len(view.Rows) <= cachesShown+cachesShown/2 {
		return
	}
	attention := func(row *cacheRow) int {
		switch {
		case row.Sessions:
			return 3
		case row.Refuses:
			return 2
		case row.Bad > 0:
			return 1
		}
		return 0
	}
	slices.SortStableFunc(view.Rows, func(a, b cacheRow) int {
		return cmp.Or(cmp.Compare(attention(&b), attention(&a)), cmp.Compare(b.Size(), a.Size()))
	})
	byName := func(a, b cacheRow) int { return cmp.Compare(a.Name, b.Name) }
	view.Rows, view.Rest = view.Rows[:cachesShown], view.Rows[cachesShown:]
	slices.SortFunc(view.Rows, byName)
	slices.SortFunc(view.Rest, byName)
}

func rowOf(row *stat.Row, history []figures.Point, report *doctor.Report) cacheRow {
	found := cacheRow{Row: *row, Share: row.Used}
	switch {
	case row.MaxBytes > 0 && row.MaxEntries > 0:
		found.Budget = size(row.MaxBytes) + " or " + entriesText(row.MaxEntries)
	case row.MaxBytes > 0:
		found.Budget = size(row.MaxBytes)
	case row.MaxEntries > 0:
		found.Budget = entriesText(row.MaxEntries)
	}
	if !row.Sessions {
		found.Trend = curve(history, func(p *figures.Point) *float64 { return p.Caches[row.Name].Reads })
	}
	if report != nil {
		found.Bad = len(findingsOf(report.Findings, row.Name))
	}
	return found
}

// trends draw what this process did while somebody looked.
func trends(history []figures.Point) (drawn []trend, since string) {
	calls := trend{Name: "Calls a second", Points: curve(history, func(p *figures.Point) *float64 { return &p.Process.Calls })}
	hit := trend{Name: "Hit ratio", Points: curve(history, func(p *figures.Point) *float64 { return p.Process.Hit })}
	p99 := trend{Name: "p99", Points: curve(history, func(p *figures.Point) *float64 { return p.Process.P99 })}
	failed := trend{Name: "Errors a second", Points: curve(history, func(p *figures.Point) *float64 { return &p.Process.Errors })}
	if n := len(history); n > 0 {
		last := &history[n-1].Process
		calls.Now, hit.Now, p99.Now, failed.Now = rate(&last.Calls), percent(last.Hit), milliseconds(last.P99), rate(&last.Errors)
		since = duration(history[n-1].At.Sub(history[0].At).Round(time.Second))
	}
	return []trend{calls, hit, p99, failed}, since
}

// curve is one figure of the history, with a gap where nobody looked.
func curve(history []figures.Point, value func(*figures.Point) *float64) (points []*float64) {
	for i := range history {
		if i > 0 && history[i].Begins(&history[i-1]) {
			points = append(points, nil)
		}
		points = append(points, value(&history[i]))
	}
	return points
}

// severities by their weight.
var severities = []doctor.Severity{doctor.Error, doctor.Warning, doctor.Info}
