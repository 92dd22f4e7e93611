// Package report turns results into Markdown and charts.
package report

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"sort"
	"strconv"
	"strings"

	"github.com/howdah/howdah/bench/internal/chart"
	"github.com/howdah/howdah/bench/internal/experiment"
	"github.com/howdah/howdah/bench/internal/result"
)

// The numbers of a document stand between these lines; everything else in it
// is written by people and left alone.
const (
	Begin = "<!-- numbers: begin (written by howdah-bench report) -->"
	End   = "<!-- numbers: end -->"
)

// Update judges the results anew, writes the charts into a folder and puts the
// numbers into a document, which must hold the two marks.
func Update(document, images string, results []*result.Result) error {
	link, err := filepath.Rel(filepath.Dir(document), images)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(images, 0o755); err != nil {
		return err
	}
	experiment.Judge(results)
	for _, r := range results {
		for _, picture := range pictures(r) {
			if err := os.WriteFile(filepath.Join(images, picture.name), []byte(picture.svg), 0o644); err != nil {
				return err
			}
		}
	}
	return replace(document, Markdown(results, filepath.ToSlash(link)))
}

// replace puts numbers between the marks of a document.
func replace(document, numbers string) error {
	text, err := os.ReadFile(document)
	if err != nil {
		return err
	}
	head, rest, ok := strings.Cut(string(text), Begin)
	_, tail, ok2 := strings.Cut(rest, End)
	if !ok || !ok2 {
		return fmt.Errorf("%s does not hold the lines %q and %q: add them where the numbers belong", document, Begin, End)
	}
	return os.WriteFile(document, []byte(head+Begin+"\n\n"+strings.TrimRight(numbers, "\n")+"\n\n"+End+tail), 0o644)
}

// Markdown is all results, one chapter each.
func Markdown(results []*result.Result, images string) string {
	var b strings.Builder
	for _, r := range results {
		chapter(&b, r, images)
	}
	return b.String()
}

func chapter(b *strings.Builder, r *result.Result, images string) {
	fmt.Fprintf(b, "## %s\n\n", r.Title)
	if r.Quick {
		b.WriteString("> A quick run: it shows that the experiment works, not how fast anything is.\n\n")
	}
	if r.Forced {
		b.WriteString("> Taken while the machine had other work: not to be relied upon.\n\n")
	}
	for _, p := range pictures(r) {
		fmt.Fprintf(b, "![%s](%s/%s)\n\n", p.title, images, p.name)
	}
	ratios(b, r)
	verdicts(b, r)
	for _, note := range r.Notes {
		fmt.Fprintf(b, "%s\n\n", note)
	}
	b.WriteString("<details><summary>All numbers, and how they were taken</summary>\n\n")
	for _, group := range r.Groups() {
		numbers(b, r, group)
	}
	conditions(b, r)
	b.WriteString("</details>\n\n")
}

// picture is a chart in a file.
type picture struct{ title, name, svg string }

var notInNames = regexp.MustCompile(`[^a-z0-9]+`)

func pictures(r *result.Result) []picture {
	var out []picture
	for _, c := range r.Charts {
		drawing := chart.Chart{Title: c.Title, Cases: r.Cases(c.Group)}
		for _, name := range r.Series(c.Group) {
			s := chart.Series{Name: name}
			for _, which := range drawing.Cases {
				v := math.NaN()
				if m, ok := r.Find(c.Group, which, name, c.Metric); ok {
					v = m.Median()
				}
				s.Values = append(s.Values, v)
			}
			drawing.Series = append(drawing.Series, s)
		}
		p := picture{title: c.Title}
		p.name = strings.Trim(notInNames.ReplaceAllString(strings.ToLower(r.Experiment+"-"+c.Group+"-"+c.Metric), "-"), "-") + ".svg"
		if c.Kind == result.Lines {
			p.svg = drawing.Lines()
		} else {
			p.svg = drawing.Bars()
		}
		out = append(out, p)
	}
	return out
}

func conditions(b *strings.Builder, r *result.Result) {
	fmt.Fprintf(b, "- Taken: %s, in %.0f s, by `%s`\n", r.Date.Format("2006-01-02 15:04 MST"), r.Seconds, r.Command)
	fmt.Fprintf(b, "- Machine: %s\n", r.Machine)
	fmt.Fprintf(b, "- Rounds: %s\n", rounds(r))
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
	b.WriteString("\n")
}

// rounds says how many there were, and which loads had fewer of them.
func rounds(r *result.Result) string {
	_, most := r.Rounds()
	fewer := map[int][]string{}
	for _, p := range r.Points {
		n := most
		for _, m := range p.Metrics {
			n = min(n, len(m.Rounds))
		}
		if load := p.Group + " (" + p.Case + ")"; n < most && !slices.Contains(fewer[n], load) {
			fewer[n] = append(fewer[n], load)
		}
	}
	text := strconv.Itoa(most)
	for n := most - 1; n > 0; n-- {
		if len(fewer[n]) > 0 {
			text += fmt.Sprintf("; only %d of %s", n, strings.Join(fewer[n], ", "))
		}
	}
	return text
}
