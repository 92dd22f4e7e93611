package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// verdictOf runs the tests of a module made of one file, as "gate run" does, and returns what
// the gate says and prints.
func verdictOf(t *testing.T, tests, page string, args ...string) (string, error) {
	t.Helper()
	dir := t.TempDir()
	for file, text := range map[string]string{"go.mod": "module example.org/tried\n\ngo 1.26\n", "tried_test.go": "package tried\n\n" + tests} {
		if err := os.WriteFile(filepath.Join(dir, file), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	tools, err := filepath.Abs("go.mod")
	if err != nil {
		t.Fatal(err)
	}
	events := filepath.Join(dir, "events.json")
	c := gotestsum(t.Context(), tools, events, "./...", append(args, "-count=1"))
	c.Dir = dir
	c.Env = append(os.Environ(), "TRIED="+filepath.Join(dir, "tried"), "GOFLAGS=")
	out, failure := c.CombinedOutput()
	t.Logf("%s", out)
	f, err := os.Open(events)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var printed strings.Builder
	err = judge(f, failure, page, &printed)
	return printed.String(), err
}

// failsOnce is a test that fails the first time only.
const failsOnce = `import ("os"; "testing")
func TestSound(t *testing.T) {}
func TestFlaky(t *testing.T) {
	t.Run("part", func(t *testing.T) {
		if f, err := os.OpenFile(os.Getenv("TRIED"), os.O_CREATE|os.O_EXCL, 0o600); err == nil {
			f.Close()
			t.Fatal("the first run")
		}
	})
}`

func TestASecondRunIsWrittenDown(t *testing.T) {
	t.Parallel()
	printed, err := verdictOf(t, failsOnce, "")
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"1 of the tests passed only the second time", "--- TestFlaky of example.org/tried\n", "the first run"} {
		if !strings.Contains(printed, want) {
			t.Errorf("the ledger does not say %q:\n%s", want, printed)
		}
	}
}

func TestTheThirdEntryIsOneTooMany(t *testing.T) {
	t.Parallel()
	row := "| `TestFlaky` | `./tried` | 2026-11-26 | 0123456 | none |\n"
	printed, err := verdictOf(t, failsOnce, row+row)
	if err != nil {
		t.Fatal(err)
	}
	if want := "its entry number 3. Mend it now"; !strings.Contains(printed, want) {
		t.Errorf("the ledger does not say %q:\n%s", want, printed)
	}
}

func TestNoSecondRun(t *testing.T) {
	t.Parallel()
	for what, tests := range map[string]string{
		"a test that fails twice": `import "testing"
func TestBad(t *testing.T) { t.Fatal("always") }`,
		"a panic": `import ("os"; "testing")
func TestPanics(t *testing.T) {
	if f, err := os.OpenFile(os.Getenv("TRIED"), os.O_CREATE|os.O_EXCL, 0o600); err == nil { f.Close(); panic("a checker's verdict") }
}`,
		"a leak": `import ("os"; "testing")
func TestSound(t *testing.T) {}
func TestMain(m *testing.M) { m.Run(); os.Exit(1) }`,
		"no test": `import "testing"
func BenchmarkNothing(b *testing.B) {}`,
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			if printed, err := verdictOf(t, tests, ""); err == nil {
				t.Errorf("the gate lets it pass:\n%s", printed)
			}
		})
	}
}

func TestADataRaceIsNotRunAgain(t *testing.T) {
	t.Parallel()
	printed, err := verdictOf(t, `import ("os"; "testing")
func TestRaces(t *testing.T) {
	f, err := os.OpenFile(os.Getenv("TRIED"), os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil { return }
	f.Close()
	n, done := 0, make(chan bool)
	go func() { n++; close(done) }()
	n++
	<-done
}`, "", "-race")
	if err == nil {
		t.Errorf("the gate lets it pass:\n%s", printed)
	}
}
