// Package result holds what an experiment found: numbers of every round, what
// they were taken on and with, and the verdicts they support.
package result

import (
	"slices"
	"time"

	"github.com/howdah/howdah/bench/internal/machine"
)

// Result is one run of one experiment. Save writes it as one compact file.
type Result struct {
	Experiment string            `json:"experiment"`
	Title      string            `json:"title"`
	Date       time.Time         `json:"date"`
	Seconds    float64           `json:"seconds"` // how long the run took
	Quick      bool              `json:"quick,omitempty"`
	Forced     bool              `json:"forced,omitempty"` // the machine was not quiet
	Command    string            `json:"command"`
	Machine    machine.Info      `json:"machine"`
	Versions   map[string]string `json:"versions"`
	Settings   []Setting         `json:"settings"`
	Points     []Point           `json:"points"`
	Ratios     []Ratio           `json:"ratios,omitempty"`
	Verdicts   []Verdict         `json:"verdicts,omitempty"`
	Notes      []string          `json:"notes,omitempty"`
}

// Setting is one thing that was chosen.
type Setting struct{ Name, Value string }

// Point is what one contestant did under one condition.
type Point struct {
	Group   string // what was done, such as GET
	Case    string // under which condition, such as 64
	Series  string // by whom
	Metrics []Metric
}

// Metric is one number of a point, measured once a round. The first metric of
// a point is what it is about.
type Metric struct {
	Name   string
	Unit   string
	Rounds []float64
}

// Median of the rounds.
func (m Metric) Median() float64 { return Median(m.Rounds) }

// Spread is half of the distance between the extremes, relative to the median.
func (m Metric) Spread() float64 { return Spread(m.Rounds) }

// Ratio compares two contestants of a group round by round.
type Ratio struct {
	Group  string
	Case   string
	Of     string
	To     string
	Rounds []float64
	Target float64 // 0: none
	AtMost bool    // the target is an upper bound
}

// Median of the rounds.
func (r Ratio) Median() float64 { return Median(r.Rounds) }

// Met tells whether the target, if any, was reached.
func (r Ratio) Met() bool {
	switch {
	case r.Target == 0:
		return true
	case r.AtMost:
		return r.Median() <= r.Target
	}
	return r.Median() >= r.Target
}

// The words of a verdict.
const (
	Confirmed = "confirmed"
	Refuted   = "refuted"
	Depends   = "depends"
)

// Verdict sets a public claim beside what was measured here.
type Verdict struct {
	Claim    string `json:"claim"`
	Source   string `json:"source"` // the figure of the source
	Ours     string `json:"ours"`
	Bar      string `json:"bar,omitempty"` // what had to hold in every round for the claim to be confirmed
	Word     string `json:"word"`
	Sentence string `json:"sentence"`
}

// Find returns a metric of a point.
func (r *Result) Find(group, which, series, metric string) (Metric, bool) {
	for _, p := range r.Points {
		if p.Group == group && p.Case == which && p.Series == series {
			for _, m := range p.Metrics {
				if m.Name == metric {
					return m, true
				}
			}
		}
	}
	return Metric{}, false
}

// Value is the median of a metric, 0 if there is none.
func (r *Result) Value(group, which, series, metric string) float64 {
	m, _ := r.Find(group, which, series, metric)
	return m.Median()
}

// Add notes one round's value of a metric.
func (r *Result) Add(group, which, series, metric, unit string, value float64) {
	i := slices.IndexFunc(r.Points, func(p Point) bool {
		return p.Group == group && p.Case == which && p.Series == series
	})
	if i < 0 {
		i = len(r.Points)
		r.Points = append(r.Points, Point{Group: group, Case: which, Series: series})
	}
	p := &r.Points[i]
	j := slices.IndexFunc(p.Metrics, func(m Metric) bool { return m.Name == metric })
	if j < 0 {
		j = len(p.Metrics)
		p.Metrics = append(p.Metrics, Metric{Name: metric, Unit: unit})
	}
	p.Metrics[j].Rounds = append(p.Metrics[j].Rounds, value)
}

// RatioOf is one metric of two contestants, divided round by round; nil if
// either was not measured, or was 0.
func (r *Result) RatioOf(group, which, metric, of, to string) []float64 {
	a, okA := r.Find(group, which, of, metric)
	b, okB := r.Find(group, which, to, metric)
	if !okA || !okB || len(a.Rounds) != len(b.Rounds) {
		return nil
	}
	var out []float64
	for i := range a.Rounds {
		if b.Rounds[i] == 0 {
			return nil
		}
		out = append(out, a.Rounds[i]/b.Rounds[i])
	}
	return out
}

// Compare appends the ratio of one metric between two contestants, round by
// round. Nothing is appended if either was not measured.
func (r *Result) Compare(group, which, metric, of, to string, target float64, atMost bool) {
	if rounds := r.RatioOf(group, which, metric, of, to); rounds != nil {
		r.Ratios = append(r.Ratios, Ratio{Group: group, Case: which, Of: of, To: to, Rounds: rounds, Target: target, AtMost: atMost})
	}
}

// Rounds are the fewest and the most rounds that any of the numbers has.
func (r *Result) Rounds() (fewest, most int) {
	for _, p := range r.Points {
		for _, m := range p.Metrics {
			if n := len(m.Rounds); most == 0 || n < fewest {
				fewest = n
			}
			most = max(most, len(m.Rounds))
		}
	}
	return fewest, most
}

// Set appends a setting.
func (r *Result) Set(name, value string) { r.Settings = append(r.Settings, Setting{name, value}) }

// Groups are the groups in the order in which they were measured.
func (r *Result) Groups() []string {
	return unique(r.Points, func(p Point) (string, bool) { return p.Group, true })
}

// Cases are those of a group.
func (r *Result) Cases(group string) []string {
	return unique(r.Points, func(p Point) (string, bool) { return p.Case, p.Group == group })
}

// Series are those of a group.
func (r *Result) Series(group string) []string {
	return unique(r.Points, func(p Point) (string, bool) { return p.Series, p.Group == group })
}

func unique(points []Point, of func(Point) (string, bool)) []string {
	var out []string
	for _, p := range points {
		if s, ok := of(p); ok && !slices.Contains(out, s) {
			out = append(out, s)
		}
	}
	return out
}
