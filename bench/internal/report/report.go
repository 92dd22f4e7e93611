// Package report turns results into Markdown and charts.
package report

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

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
	for _, s := range sections {
		r := s.of(results)
		if r == nil {
			continue
		}
		for _, f := range s.figures {
			svg, err := f.draw(r)
			if err != nil {
				return err
			}
			if err := os.WriteFile(filepath.Join(images, f.file+".svg"), []byte(svg), 0o644); err != nil {
				return err
			}
		}
	}
	return replace(document, Markdown(results, filepath.ToSlash(link)))
}

// of is the result of the section's experiment, nil if there is none.
func (s section) of(results []*result.Result) *result.Result {
	i := slices.IndexFunc(results, func(r *result.Result) bool { return r.Experiment == s.experiment })
	if i < 0 {
		return nil
	}
	return results[i]
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

// Markdown is the sections with their figures, and a line for each experiment.
func Markdown(results []*result.Result, images string) string {
	var b strings.Builder
	for _, s := range sections {
		if r := s.of(results); r != nil {
			s.write(&b, r, images)
		}
	}
	experiments(&b, results)
	conditions(&b, results)
	return b.String()
}

func (s section) write(b *strings.Builder, r *result.Result, images string) {
	fmt.Fprintf(b, "## %s\n\n%s\n\n", s.title, s.text)
	if doubt := doubt(r); doubt != "" {
		fmt.Fprintf(b, "> %s\n\n", doubt)
	}
	for _, f := range s.figures {
		fmt.Fprintf(b, "![%s](%s/%s.svg)\n\n", f.title, images, f.file)
	}
	for _, t := range s.tables {
		t.write(b, r)
	}
	ratios(b, r)
	if len(s.tables) > 0 {
		verdicts(b, r)
	}
}

// verdicts are a line for each claim of an experiment: its word, and what had to hold.
func verdicts(b *strings.Builder, r *result.Result) {
	for _, v := range r.Verdicts {
		fmt.Fprintf(b, "- %s: **%s** (%s)\n", v.Claim, v.Word, v.Bar)
	}
	b.WriteString("\n")
}

// doubt says why a result is not to be relied upon, if it is not.
func doubt(r *result.Result) string {
	switch {
	case r.Quick:
		return "A quick run: it shows that the experiment works, not how fast anything is."
	case r.Forced:
		return "Taken while the machine had other work: not to be relied upon."
	}
	return ""
}

// experiments is a table of all that was measured, with the words of the
// verdicts.
func experiments(b *strings.Builder, results []*result.Result) {
	b.WriteString("## All experiments\n\n")
	header(b, []string{"Experiment", "What it measures", "Its claims", "Taken"})
	for _, r := range results {
		taken := r.Date.Format("2006-01-02")
		switch {
		case r.Quick:
			taken += ", quick"
		case r.Forced:
			taken += ", on a busy machine"
		}
		line(b, []string{"`" + r.Experiment + "`", r.Title, words(r), taken})
	}
	b.WriteString("\n")
}

// words counts the verdicts of each kind.
func words(r *result.Result) string {
	var parts []string
	for _, word := range []string{result.Confirmed, result.Refuted, result.Depends} {
		n := 0
		for _, v := range r.Verdicts {
			if v.Word == word {
				n++
			}
		}
		if n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, word))
		}
	}
	return strings.Join(parts, ", ")
}

// number is that of a version in what a program says of itself.
var number = regexp.MustCompile(`\d+(\.\d+)*`)

// conditions are the machines and the versions that the results were taken
// with, each once.
func conditions(b *strings.Builder, results []*result.Result) {
	var machines []string
	versions := map[string][]string{}
	for _, r := range results {
		if m := r.Machine.String(); !slices.Contains(machines, m) {
			machines = append(machines, m)
		}
		for name, version := range r.Versions {
			if version = number.FindString(version); !slices.Contains(versions[name], version) {
				versions[name] = append(versions[name], version)
			}
		}
	}
	fmt.Fprintf(b, "Taken on %s.", strings.Join(machines, "; "))
	for _, name := range []string{"PostgreSQL", "Redis", "Memcached"} {
		if v := versions[name]; len(v) > 0 {
			fmt.Fprintf(b, " %s %s.", name, strings.Join(v, " and "))
		}
	}
	b.WriteString(" Each file of [`bench/results`](../bench/results) holds the settings of its experiment, and the numbers of each round.\n")
}
