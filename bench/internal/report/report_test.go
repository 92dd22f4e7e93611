package report

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/howdah/howdah/bench/internal/chart"
	"github.com/howdah/howdah/bench/internal/result"
)

func sample() *result.Result {
	r := &result.Result{Experiment: "library", Title: "Libraries", Date: time.Date(2026, 1, 2, 3, 4, 0, 0, time.UTC),
		Command: "howdah-bench run library", Versions: map[string]string{"Redis": "7.0", "PostgreSQL": "15"},
		Settings: []result.Setting{{Name: "keys", Value: "100"}},
		Verdicts: []result.Verdict{{Word: result.Refuted}, {Word: result.Depends}, {Word: result.Refuted}}}
	for _, v := range []float64{90, 100, 110} {
		r.Add("GET", "1", "Howdah", "throughput", "/s", v*1000)
		r.Add("GET", "1", "go-redis", "throughput", "/s", 50000)
		r.Add("GET", "64", "Howdah", "throughput", "/s", v*2000)
	}
	r.Add("SET", "1", "Howdah", "throughput", "/s", 1000)
	r.Compare("GET", "1", "throughput", "Howdah", "go-redis", 1.5, false)
	r.Ratios = append(r.Ratios, result.Ratio{Group: "GET", Case: "1", Of: "Howdah", To: "a rival without a goal", Rounds: []float64{2}})
	return r
}

func TestMarkdown(t *testing.T) {
	other := &result.Result{Experiment: "locked-row", Title: "a | b", Forced: true}
	text := Markdown([]*result.Result{sample(), other}, "img")
	for _, want := range []string{
		"## Callers of one process", "](img/library-get-throughput.svg)", "**2.00 ± 10 %** (≥ 1.5)",
		"| `library` | Libraries | 2 refuted, 1 depends | 2026-01-02 |", "| `locked-row` | a \\| b |", ", on a busy machine |",
		"PostgreSQL 15.", "Redis 7.0.",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is missing from\n%s", want, text)
		}
	}
	for _, not := range []string{"without a goal", "## HTTP", "A quick run"} {
		if strings.Contains(text, not) {
			t.Errorf("%q is in\n%s", not, text)
		}
	}
	other.Experiment = "notify"
	other.Verdicts = []result.Verdict{{Claim: "It is fast", Word: result.Confirmed, Bar: "at least 2"}}
	if text := Markdown([]*result.Result{other}, "img"); !strings.Contains(text, "\n- It is fast: **confirmed** (at least 2)\n") {
		t.Errorf("the verdict is missing from\n%s", text)
	}
	missed := sample()
	missed.Ratios[0].Target = 3
	missed.Quick = true
	text = Markdown([]*result.Result{missed}, "img")
	for _, want := range []string{"(≥ 3 missed)", "> A quick run", "2026-01-02, quick |"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is missing from\n%s", want, text)
		}
	}
}

// A table says the numbers of each contestant, and nothing of what was not measured.
func TestTables(t *testing.T) {
	r := sample()
	r.Add("GET", "1", "Howdah", "p99", "ms", 1.234)
	r.Add("GET", "1", "go-redis", "CPU", "% of a core", 4.2)
	var b strings.Builder
	table{"GET", []string{"throughput", "p99", "CPU"}}.write(&b, r)
	table{"HGET", flow}.write(&b, r)
	const want = "| GET: rate, p99, CPU | Howdah | go-redis |\n|---|---|---|\n" +
		"| 1 | 100 k/s, 1.23 ms, – | 50 k/s, –, 4.2 % |\n| 64 | 200 k/s, –, – | –, –, – |\n\n"
	if b.String() != want {
		t.Errorf("got\n%s\nwant\n%s", b.String(), want)
	}
}

// A page of five minutes has a dozen charts at most, and no two of one name.
func TestFigures(t *testing.T) {
	seen := map[string]bool{}
	for _, s := range sections {
		for _, f := range s.figures {
			if seen[f.file] {
				t.Errorf("two figures are written to %s", f.file)
			}
			seen[f.file] = true
			if f.axis.Label == "" || f.axis.Better == "" {
				t.Errorf("the axis of %q says not what it shows, or not which way is better", f.title)
			}
			for _, name := range f.series {
				if _, err := chart.ColourOf(name); err != nil {
					t.Error(err)
				}
			}
		}
	}
	if len(seen) > 12 {
		t.Errorf("%d charts are more than a dozen", len(seen))
	}
}

func TestUpdateLeavesTheTextAlone(t *testing.T) {
	dir := t.TempDir()
	document, images := filepath.Join(dir, "benchmarks.md"), filepath.Join(dir, "img")
	before := "# Text\n\n" + Begin + "\nold\n" + End + "\n\nmore text\n"
	if err := os.WriteFile(document, []byte(before), 0o644); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := Update(document, images, []*result.Result{sample()}); err != nil {
			t.Fatal(err)
		}
	}
	text, err := os.ReadFile(document)
	if err != nil {
		t.Fatal(err)
	}
	s := string(text)
	if !strings.HasPrefix(s, "# Text\n\n") || !strings.HasSuffix(s, "\n\nmore text\n") || strings.Contains(s, "\nold\n") || strings.Count(s, "## Callers of one process") != 1 {
		t.Errorf("the document became\n%s", s)
	}
	if _, err := os.Stat(filepath.Join(images, "library-get-throughput.svg")); err != nil {
		t.Error(err)
	}
	if err := os.WriteFile(document, []byte("no marks"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := Update(document, images, nil); err == nil {
		t.Error("a document without marks was accepted")
	}
}
