package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode"

	"github.com/howdah/howdah/bench/internal/report"
)

// The published pages say what the published results hold: after a change of a
// result, a verdict or the report, run "report" and "soak --render" again.
func TestPublishedPagesAreCurrent(t *testing.T) {
	const docs = "../../../docs"
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "img"), 0o755); err != nil {
		t.Fatal(err)
	}
	for from, to := range map[string]string{"../../../README.md": "README.md", docs + "/benchmarks.md": "benchmarks.md", docs + "/soak.md": "soak.md"} {
		if err := os.WriteFile(filepath.Join(dir, to), read(t, from), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	in := func(name string) string { return filepath.Join(dir, name) }
	err := writeReport([]string{"--in", "../../results", "--document", in("benchmarks.md"), "--claims", in("claims.md"), "--readme", in("README.md"), "--images", in("img")})
	if err != nil {
		t.Fatal(err)
	}
	if err := renderSoak(soakFlags{out: "../../results/soak", document: in("soak.md"), images: in("img")}); err != nil {
		t.Fatal(err)
	}
	for published, written := range map[string]string{docs + "/benchmarks.md": "benchmarks.md", docs + "/soak.md": "soak.md", docs + "/claims.md": "claims.md", "../../../README.md": "README.md"} {
		if got, want := string(read(t, published)), string(read(t, in(written))); got != want {
			t.Errorf("%s is not what the results say: run \"go run ./cmd/howdah-bench report\" and \"... soak --render\"", published)
		}
	}
	samePictures(t, filepath.Join(docs, "img"), in("img"))
	words := 0
	for word := range strings.FieldsSeq(string(read(t, docs+"/benchmarks.md"))) {
		if strings.ContainsFunc(word, func(c rune) bool { return unicode.IsLetter(c) || unicode.IsDigit(c) }) {
			words++ // lines of tables are none
		}
	}
	if words > 3000 {
		t.Errorf("benchmarks.md has %d words: too many for five minutes", words)
	}
	if !strings.Contains(string(read(t, docs+"/benchmarks.md")), report.Begin) {
		t.Error("benchmarks.md has lost its mark")
	}
}

// samePictures compares two folders of charts: no picture is missing, and none
// is left that no page shows.
func samePictures(t *testing.T, published, written string) {
	t.Helper()
	want, err := filepath.Glob(filepath.Join(written, "*.svg"))
	if err != nil || len(want) == 0 {
		t.Fatalf("%d pictures, %v", len(want), err)
	}
	got, err := filepath.Glob(filepath.Join(published, "*.svg")) // the others are photographs of the console
	if err != nil || len(got) != len(want) {
		t.Errorf("%s holds %d files, the pages show %d, %v", published, len(got), len(want), err)
	}
	for _, path := range want {
		if name := filepath.Base(path); string(read(t, path)) != string(read(t, filepath.Join(published, name))) {
			t.Errorf("%s is not what the results say", name)
		}
	}
}

func read(t *testing.T, path string) []byte {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return text
}
