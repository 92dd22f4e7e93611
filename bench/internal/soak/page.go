package soak

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/howdah/howdah/bench/internal/chart"
)

// The numbers of the page stand between these lines; everything else in it is
// written by people and left alone.
const (
	begin = "<!-- numbers: begin (written by howdah-bench soak --render) -->"
	end   = "<!-- numbers: end -->"
)

// plot is one picture of each soak.
type plot struct {
	file, title, series string
	axis                chart.Axis
	log                 bool
}

// plots are in the order of the page.
var plots = []plot{
	{"size", "Table and index", sizeMB, chart.Axis{Label: "megabytes", Better: chart.Less}, false},
	{"p99-reads", "How long reads take", latencySeries(kindNames[read], "p99"), chart.Axis{Label: "99th percentile, milliseconds", Better: chart.Less}, true},
}

// WritePage draws the pictures into a folder and puts the numbers into a page,
// which must hold the two marks.
func WritePage(document, images string, records []*Record) error {
	text, err := os.ReadFile(document)
	if err != nil {
		return err
	}
	head, rest, ok := strings.Cut(string(text), begin)
	_, tail, ok2 := strings.Cut(rest, end)
	if !ok || !ok2 {
		return fmt.Errorf("%s does not hold the lines %q and %q: add them where the numbers belong", document, begin, end)
	}
	link, err := filepath.Rel(filepath.Dir(document), images)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(images, 0o755); err != nil {
		return err
	}
	var b strings.Builder
	for _, r := range records {
		for _, p := range plots {
			picture, err := r.draw(p)
			if err != nil {
				return err
			}
			if err := os.WriteFile(filepath.Join(images, r.fileOf(p)), []byte(picture.SVG()), 0o644); err != nil {
				return err
			}
		}
		r.chapter(&b, filepath.ToSlash(link))
	}
	return os.WriteFile(document, []byte(head+begin+"\n\n"+b.String()+end+tail), 0o644)
}

func (r *Record) fileOf(p plot) string { return fmt.Sprintf("soak-%s-%s.svg", r.Soak, p.file) }

func (r *Record) draw(p plot) (chart.OverTime, error) {
	c := chart.OverTime{Title: p.title, Axis: p.axis, Log: p.log}
	if r.PinTo > 0 {
		c.Band, c.Legend = [2]float64{r.PinFrom / 60, r.PinTo / 60}, "snapshot held"
	}
	for _, run := range r.Runs {
		colour, err := chart.ColourOf(run.Name)
		if err != nil {
			return c, err
		}
		line := chart.Line{Name: run.Name, Colour: colour, Values: run.Series[p.series]}
		for _, second := range run.At {
			line.Minutes = append(line.Minutes, second/60)
		}
		c.Lines = append(c.Lines, line)
	}
	return c, nil
}

func (r *Record) chapter(b *strings.Builder, images string) {
	fmt.Fprintf(b, "## %s\n\n", r.title())
	if r.Forced {
		b.WriteString("> Taken while the machine had other work: not to be relied upon.\n\n")
	}
	for _, doubt := range r.Doubts {
		fmt.Fprintf(b, "> Not what it should be: %s.\n\n", doubt)
	}
	r.summary(b)
	b.WriteString("| | Howdah | " + ControlName + " | Goal |\n|---|---|---|---|\n")
	for _, l := range Judge(r) {
		goal := l.Goal
		if goal != "" {
			goal += ": **" + l.word() + "**"
		}
		fmt.Fprintf(b, "| %s | %s | %s | %s |\n", l.What, l.Howdah, l.Beside, goal)
	}
	b.WriteString("\n")
	for _, p := range plots {
		fmt.Fprintf(b, "![%s](%s/%s)\n\n", p.title, images, r.fileOf(p))
	}
	fmt.Fprintf(b, "Taken on %s by `%s`, on %s, PostgreSQL %s.\n\n", r.Date.Format("2006-01-02 at 15:04 MST"), r.Command, r.Machine, r.Versions["PostgreSQL"])
}

func (r *Record) title() string {
	if r.Soak == Pinned {
		return fmt.Sprintf("An open transaction of %.4g minutes in %.4g minutes of churn", (r.PinTo-r.PinFrom)/60, r.Seconds/60)
	}
	return fmt.Sprintf("%.4g minutes of churn", r.Seconds/60)
}

// summary says in a paragraph how Howdah differs from the table, for better and
// for worse.
func (r *Record) summary(b *strings.Builder) {
	h, t := r.run(HowdahName), r.run(ControlName)
	if h == nil || t == nil {
		return
	}
	var slower []string
	for k := range kinds {
		var ratios []float64
		for i := range h.Windows {
			if p := t.p99(i, k); p > 0 {
				ratios = append(ratios, h.p99(i, k)/p)
			}
		}
		if len(ratios) > 0 {
			slower = append(slower, fmt.Sprintf("%s %.2f to %.2f times", kindNames[k], slices.Min(ratios), slices.Max(ratios)))
		}
	}
	times := func(name string) float64 { return r.mean(h, name) / max(r.mean(t, name), 1e-9) }
	fmt.Fprintf(b, "Howdah, beside the %s. 99th percentiles, by window: %s. Mean of the second half: it finds %.1f %% of what is asked for, the table %.1f %%;"+
		" it uses %.0f %% of the budget, the table %.0f %%; table and index have %.0f MB and %.0f MB; Howdah uses %.1f times the CPU of the database and writes %.1f times the WAL.\n\n",
		ControlName, strings.Join(slower, ", "), r.mean(h, hitShare), r.mean(t, hitShare), r.mean(h, budgetShare), r.mean(t, budgetShare),
		r.mean(h, sizeMB), r.mean(t, sizeMB), times(databaseCPU), times(walRate))
}

// mean of a series over the second half of the run.
func (r *Record) mean(run *Run, name string) (mean float64) {
	half := run.between(name, r.Seconds/2, 2*r.Seconds)
	for _, v := range half {
		mean += v / float64(len(half))
	}
	return mean
}
