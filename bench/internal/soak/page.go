package soak

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sort"
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
	log                 bool
	limit               float64
}

// plots are in the order of the page; the first ones are shown at once.
var plots = []plot{
	{file: "size", title: "Table and index, MB", series: sizeMB},
	{file: "dead", title: "Dead rows that PostgreSQL counts", series: deadRows, log: true},
	{file: "p99-reads", title: "99th percentile of reads, ms", series: latencySeries(kindNames[read], "p99"), log: true},
	{file: "p99-sets", title: "99th percentile of sets, ms", series: latencySeries(kindNames[set], "p99"), log: true},
	{file: "budget", title: "Live data, % of the budget", series: budgetShare, limit: 100},
	{file: "hits", title: "Reads that found something, %", series: hitShare},
	{file: "hot", title: "Updates that were heap-only (HOT), %", series: hotShare},
	{file: "p50-reads", title: "Median of reads, ms", series: latencySeries(kindNames[read], "p50"), log: true},
	{file: "p50-sets", title: "Median of sets, ms", series: latencySeries(kindNames[set], "p50"), log: true},
	{file: "p99-sliding", title: "99th percentile of sliding reads, ms", series: latencySeries(kindNames[sliding], "p99"), log: true},
	{file: "index", title: "Index, MB", series: indexMB},
	{file: "expired", title: "Expired rows that are still there", series: expiredRows},
	{file: "wal", title: "WAL, kB/s", series: walRate, log: true},
	{file: "cpu", title: "CPU of the database, cores", series: databaseCPU},
	{file: "xids", title: "Transaction ids used a second", series: xidRate},
}

const shownAtOnce = 6

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
			if err := os.WriteFile(filepath.Join(images, r.fileOf(p)), []byte(r.draw(p).SVG()), 0o644); err != nil {
				return err
			}
		}
		r.chapter(&b, filepath.ToSlash(link))
	}
	return os.WriteFile(document, []byte(head+begin+"\n\n"+b.String()+end+tail), 0o644)
}

func (r *Record) fileOf(p plot) string { return fmt.Sprintf("soak-%s-%s.svg", r.Soak, p.file) }

func (r *Record) draw(p plot) chart.OverTime {
	c := chart.OverTime{Title: p.title, Log: p.log, Limit: p.limit}
	if r.PinTo > 0 {
		c.Band, c.Legend = [2]float64{r.PinFrom / 60, r.PinTo / 60}, "snapshot held"
	}
	for _, run := range r.Runs {
		line := chart.Line{Name: run.Name, Values: run.Series[p.series]}
		for _, second := range run.At {
			line.Minutes = append(line.Minutes, second/60)
		}
		c.Lines = append(c.Lines, line)
	}
	return c
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
	for i, p := range plots {
		if i == shownAtOnce {
			b.WriteString("<details><summary>More pictures</summary>\n\n")
		}
		fmt.Fprintf(b, "![%s](%s/%s)\n\n", p.title, images, r.fileOf(p))
	}
	b.WriteString("</details>\n\n<details><summary>All numbers, and how they were taken</summary>\n\n")
	r.latencies(b)
	r.means(b)
	r.conditions(b)
	b.WriteString("</details>\n\n")
}

func (r *Record) title() string {
	if r.Soak == Pinned {
		return fmt.Sprintf("An open transaction of %.4g minutes in %.4g minutes of churn", (r.PinTo-r.PinFrom)/60, r.Seconds/60)
	}
	return fmt.Sprintf("%.4g minutes of churn", r.Seconds/60)
}

// latencies is a table of every kind of request in every window.
func (r *Record) latencies(b *strings.Builder) {
	b.WriteString("| Latency, ms | | | p50 | p99 | p99.9 | max | requests |\n|---|---|---|---|---|---|---|---|\n")
	for k := range kinds {
		for i := range r.Runs[0].Windows {
			for _, run := range r.Runs {
				w := run.Windows[i]
				p := w.Latency[kindNames[k]]
				fmt.Fprintf(b, "| %s | %s | %s | %.2f | %.2f | %.2f | %.1f | %d |\n", kindNames[k], w.Name, run.Name, p.P50, p.P99, p.P999, p.Max, p.Count)
			}
		}
	}
	b.WriteString("\n")
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

// means is a table of what is not a latency: the mean over the second half of
// the run, and the largest value.
func (r *Record) means(b *strings.Builder) {
	b.WriteString("| Mean of the second half, and largest value |")
	for _, run := range r.Runs {
		fmt.Fprintf(b, " %s | |", run.Name)
	}
	b.WriteString("\n|---|" + strings.Repeat("---|---|", len(r.Runs)) + "\n")
	for _, name := range []string{
		answersRate, hitShare, entries, budgetShare, heapMB, indexMB, freeMB, liveRows, deadRows, expiredRows, updatesRate, hotShare,
		expiredRate, evictedRate, upkeepRound, autovacuums, vacuums, walRate, xidRate, xminAge, databaseCPU, clientCPU, othersCPU, connections,
	} {
		fmt.Fprintf(b, "| %s |", name)
		for _, run := range r.Runs {
			fmt.Fprintf(b, " %s | %s |", chart.Number(r.mean(run, name)), chart.Number(run.most(name, 0, 2*r.Seconds)))
		}
		b.WriteString("\n")
	}
	b.WriteString("\n")
	if !r.Turns {
		b.WriteString("Both ran at the same time: the client's CPU is that of both together, and includes the harness.\n\n")
	}
}

func (r *Record) conditions(b *strings.Builder) {
	fmt.Fprintf(b, "- Taken: %s, by `%s`\n- Machine: %s\n", r.Date.Format("2006-01-02 15:04 MST"), r.Command, r.Machine)
	var names []string
	for name := range r.Versions {
		names = append(names, name)
	}
	sort.Strings(names)
	for _, name := range names {
		fmt.Fprintf(b, "- %s: %s\n", name, r.Versions[name])
	}
	for _, s := range r.Settings {
		fmt.Fprintf(b, "- %s: %s\n", s.Name, s.Value)
	}
	for _, run := range r.Runs {
		fmt.Fprintf(b, "- %s: %d requests were due, %d were made, %d failed", run.Name, run.Due, run.Made, run.Errors)
		if run.FirstError != "" {
			fmt.Fprintf(b, " (the first: %s)", run.FirstError)
		}
		fmt.Fprintf(b, "; %.1f MB at the end, %.1f MB freshly rewritten\n", float64(run.Size)/1e6, float64(run.Fresh)/1e6)
	}
	b.WriteString("\n")
}
