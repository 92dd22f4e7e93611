package report

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/howdah/howdah/bench/internal/result"
)

func sample() *result.Result {
	r := &result.Result{Experiment: "library", Title: "Libraries", Date: time.Date(2026, 1, 2, 3, 4, 0, 0, time.UTC),
		Command: "howdah-bench run library", Versions: map[string]string{"Redis": "7.0", "PostgreSQL": "15"},
		Settings: []result.Setting{{Name: "keys", Value: "100"}},
		Charts:   []result.Chart{{Kind: result.Lines, Title: "GET/s", Group: "GET", Metric: "throughput"}},
		Verdicts: []result.Verdict{{Claim: "a | b", Source: "5", Ours: "7", Bar: "at least 9", Word: result.Refuted, Sentence: "It is not so."}}}
	for _, v := range []float64{90, 100, 110} {
		r.Add("GET", "1", "Howdah", "throughput", "/s", v*1000)
		r.Add("GET", "1", "go-redis", "throughput", "/s", 50000)
		r.Add("GET", "64", "Howdah", "throughput", "/s", v*2000)
	}
	r.Add("SET", "1", "Howdah", "throughput", "/s", 1000)
	r.Compare("GET", "1", "throughput", "Howdah", "go-redis", 1.5, false)
	return r
}

func TestMarkdown(t *testing.T) {
	text := Markdown([]*result.Result{sample()}, "img")
	for _, want := range []string{
		"## Libraries", "![GET/s](img/library-get-throughput.svg)", "**2.00 ± 10 %** (≥ 1.5)",
		"| 64 | Howdah | 200 k ± 10 % |", `a \| b`, "**refuted**: It is not so.", "| 1 | Howdah | 1 k (1 round) |",
		"| at least 9 |", "- Rounds: 3; only 1 of SET (1)", "- PostgreSQL: 15", "`howdah-bench run library`",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is missing from\n%s", want, text)
		}
	}
	if strings.Contains(text, "| 64 | go-redis") {
		t.Error("there is a row for what was not measured")
	}
	missed := sample()
	missed.Ratios[0].Target = 3
	missed.Quick, missed.Forced = true, true
	text = Markdown([]*result.Result{missed}, "img")
	for _, want := range []string{"(≥ 3 missed)", "A quick run", "other work"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is missing from\n%s", want, text)
		}
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
	if !strings.HasPrefix(s, "# Text\n\n") || !strings.HasSuffix(s, "\n\nmore text\n") || strings.Contains(s, "old") || strings.Count(s, "## Libraries") != 1 {
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
