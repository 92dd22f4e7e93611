package soak

import (
	"fmt"
	"slices"

	"github.com/howdah/howdah/bench/internal/result"
)

// The goals of a soak.
const (
	maxSizeRatio = 2.0 // table and index, against a fresh copy
	maxDrift     = 1.5 // p99 of the last third, against the middle one; after a snapshot, against before
	maxBudget    = 110 // per cent
)

// Line is one thing that a soak shows.
type Line struct {
	What   string
	Howdah string
	Beside string // the same of the other contender
	Goal   string // "": reported, not judged
	Met    bool
}

// String is for the terminal.
func (l Line) String() string {
	word := ""
	if l.Goal != "" {
		word = fmt.Sprintf(" (goal %s: %s)", l.Goal, l.word())
	}
	return fmt.Sprintf("%-58s %s%s, %s %s", l.What, l.Howdah, word, ControlName, l.Beside)
}

func (l Line) word() string {
	if l.Met {
		return "reached"
	}
	return "missed"
}

// Judge holds a soak against its goals.
func Judge(r *Record) []Line {
	h, t := r.run(HowdahName), r.run(ControlName)
	if h == nil || t == nil {
		return nil
	}
	lines := []Line{
		judge("table and index at the end / a freshly rewritten copy", "≤ 2", h, t, "%.2f", maxSizeRatio, (*Run).sizeRatio),
		judge("budget used at most", "≤ 110 %", h, t, "%.1f %%", maxBudget, func(run *Run) float64 { return run.most(budgetShare, 0, r.Seconds) }),
	}
	if r.Soak == Pinned {
		lines[0].Goal = "" // a table that has grown keeps its size
		lines = append(lines, judgePin(r, h, t)...)
	} else {
		lines = append(lines, judgeChurn(h, t)...)
	}
	return append(lines, judge("requests that failed", "0", h, t, "%.0f", 0, func(run *Run) float64 { return float64(run.Errors) }))
}

// judge compares a figure with a goal that is an upper bound.
func judge(what, goal string, h, t *Run, format string, atMost float64, of func(*Run) float64) Line {
	return Line{What: what, Goal: goal, Howdah: fmt.Sprintf(format, of(h)), Beside: fmt.Sprintf(format, of(t)), Met: of(h) <= atMost}
}

func judgeChurn(h, t *Run) (lines []Line) {
	middle, last := h.Windows[1].Name, h.Windows[2].Name
	for _, k := range []kind{read, set} {
		name := kindNames[k]
		lines = append(lines,
			judge(fmt.Sprintf("p99 of %s, %s / %s", name, last, middle), "≤ 1.5", h, t, "%.2f", maxDrift, func(run *Run) float64 {
				return run.p99(2, k) / run.p99(1, k)
			}),
			judge(fmt.Sprintf("p99 of %s, %s", name, last), "≤ that of the "+ControlName, h, t, "%.2f ms", t.p99(2, k), func(run *Run) float64 {
				return run.p99(2, k)
			}))
	}
	return lines
}

func judgePin(r *Record, h, t *Run) (lines []Line) {
	report := func(what string, of func(*Run) string) {
		lines = append(lines, Line{What: what, Howdah: of(h), Beside: of(t)})
	}
	report("table and index when the snapshot is taken", func(run *Run) string { return mega(run.at(sizeMB, r.PinFrom)) })
	report("table and index when it is released", func(run *Run) string { return mega(run.at(sizeMB, r.PinTo)) })
	report("table and index at the end", func(run *Run) string { return mega(run.at(sizeMB, r.Seconds)) })
	report("free space in the table at the end", func(run *Run) string { return mega(run.at(freeMB, r.Seconds)) })
	report("dead rows at most", func(run *Run) string { return fmt.Sprintf("%.0f", run.most(deadRows, r.PinFrom, r.Seconds)) })
	report("dead rows within 1.5 of before, after the release", func(run *Run) string { return after(run.recovered(r, deadRows, false)) })
	for _, k := range []kind{read, set} {
		name := kindNames[k]
		report(fmt.Sprintf("p99 of %s before / while held / the end", name), func(run *Run) string {
			return fmt.Sprintf("%.2f / %.2f / %.2f ms", run.p99(0, k), run.p99(1, k), run.p99(3, k))
		})
		report(fmt.Sprintf("p99 of %s within 1.5 of before, after the release", name), func(run *Run) string {
			return after(run.recovered(r, latencySeries(name, "p99"), true))
		})
	}
	return lines
}

func mega(v float64) string { return fmt.Sprintf("%.1f MB", v) }

func after(seconds float64, ok bool) string {
	if !ok {
		return "not by the end"
	}
	return fmt.Sprintf("%.0f s", seconds)
}

func (r *Run) sizeRatio() float64 { return float64(r.Size) / float64(max(1, r.Fresh)) }

func (r *Run) p99(window int, k kind) float64 { return r.Windows[window].Latency[kindNames[k]].P99 }

// between are the values of a series from one second to another.
func (r *Run) between(name string, from, to float64) (out []float64) {
	for i, v := range r.Series[name] {
		if from <= r.At[i] && r.At[i] < to {
			out = append(out, v)
		}
	}
	return out
}

func (r *Run) most(name string, from, to float64) float64 {
	if values := r.between(name, from, to); len(values) > 0 {
		return slices.Max(values)
	}
	return 0
}

// at is the value of the last sample up to a second.
func (r *Run) at(name string, second float64) (value float64) {
	for i, v := range r.Series[name] {
		if r.At[i] <= second+0.5 {
			value = v
		}
	}
	return value
}

// calm is how many samples in a row must be as before for it to be over.
const calm = 6

// recovered is how many seconds after the release of the snapshot a series was
// back within 1.5 of what it was in the second half of the time before it: of
// latencies the median of some samples, of dead rows, which rise and fall with
// each vacuum, the largest of them.
func (r *Run) recovered(record *Record, name string, latency bool) (seconds float64, ok bool) {
	before := r.between(name, record.PinFrom/2, record.PinFrom)
	if len(before) == 0 {
		return 0, false
	}
	of := slices.Max[[]float64]
	if latency {
		of = result.Median
	}
	limit := maxDrift * of(before)
	values := r.Series[name]
	for i := range values {
		if r.At[i] >= record.PinTo && i+calm <= len(values) && of(values[i:i+calm]) <= limit {
			return r.At[i] - record.PinTo, true
		}
	}
	return 0, false
}
