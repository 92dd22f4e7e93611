package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
	"time"
)

// event is a line that "go test -json" prints (go doc test2json). gotestsum writes the lines
// of all runs to one file, the second runs behind the first.
type event struct {
	Action  string
	Package string
	Test    string
	Elapsed float64 // seconds
	Output  string
}

// ledger is what a run of tests was: how often each test ran, how it ended, how long each
// package took.
type ledger struct {
	tests    map[name]*history
	packages map[string]time.Duration
	leaks    []string // packages that failed although none of their tests did
}

// name is a test at the top of its package: second runs are of these.
type name struct{ pkg, test string }

// history is how one test went.
type history struct {
	ends   []string // pass, fail or skip, in the order of the runs
	output string   // of the first run that failed
}

// flaky says that the test failed and then passed.
func (h *history) flaky() bool {
	return slices.Contains(h.ends, "fail") && h.ends[len(h.ends)-1] == "pass"
}

// readLedger reads the events that gotestsum wrote.
func readLedger(r io.Reader) (*ledger, error) {
	l := &ledger{tests: map[name]*history{}, packages: map[string]time.Duration{}}
	failures := map[string]int{} // of the tests of a package in its present run
	lines := bufio.NewReader(r)
	for {
		line, err := lines.ReadBytes('\n')
		if len(line) > 0 {
			var e event
			if err := json.Unmarshal(line, &e); err != nil {
				return nil, fmt.Errorf("the events of the tests cannot be read: %w", err)
			}
			l.add(e, failures)
		}
		if err == io.EOF {
			return l, nil
		}
		if err != nil {
			return nil, err
		}
	}
}

func (l *ledger) add(e event, failures map[string]int) {
	ended := e.Action == "pass" || e.Action == "fail" || e.Action == "skip"
	if e.Test == "" {
		if ended {
			l.packages[e.Package] += time.Duration(e.Elapsed * float64(time.Second))
			if e.Action == "fail" && failures[e.Package] == 0 {
				l.leaks = append(l.leaks, e.Package)
			}
			failures[e.Package] = 0
		}
		return
	}
	top, _, sub := strings.Cut(e.Test, "/")
	h := l.tests[name{e.Package, top}]
	if h == nil {
		h = &history{}
		l.tests[name{e.Package, top}] = h
	}
	switch {
	case e.Action == "output" && !slices.Contains(h.ends, "fail"):
		h.output += e.Output
	case ended && !sub:
		h.ends = append(h.ends, e.Action)
		if e.Action == "fail" {
			failures[e.Package]++
		}
	}
}

// Flaky returns the tests that passed only the second time, in the order of their names.
func (l *ledger) flaky() []name {
	var found []name
	for n, h := range l.tests {
		if h.flaky() {
			found = append(found, n)
		}
	}
	slices.SortFunc(found, func(a, b name) int { return strings.Compare(a.pkg+a.test, b.pkg+b.test) })
	return found
}

// failed returns the tests whose last run failed.
func (l *ledger) failed() []name {
	var found []name
	for n, h := range l.tests {
		if len(h.ends) > 0 && h.ends[len(h.ends)-1] == "fail" {
			found = append(found, n)
		}
	}
	slices.SortFunc(found, func(a, b name) int { return strings.Compare(a.pkg+a.test, b.pkg+b.test) })
	return found
}

// print writes the slowest packages, and each test that needed a second run with what its
// first one said. entered counts the entries that docs/flaky.md has for a test.
func (l *ledger) print(w io.Writer, entered map[string]int) {
	names := make([]string, 0, len(l.packages))
	for p := range l.packages {
		names = append(names, p)
	}
	slices.SortFunc(names, func(a, b string) int { return int(l.packages[b] - l.packages[a]) })
	fmt.Fprintf(w, "\nThe slowest packages:\n")
	for _, p := range names[:min(len(names), 12)] {
		fmt.Fprintf(w, "  %7.1f s  %s\n", l.packages[p].Seconds(), p)
	}
	found := l.flaky()
	if len(found) == 0 {
		fmt.Fprintln(w, "\nNo test needed a second run.")
		return
	}
	fmt.Fprintf(w, "\n%d of the tests passed only the second time. Enter each in docs/flaky.md, with its cause or \"none\":\n", len(found))
	for _, n := range found {
		fmt.Fprintf(w, "\n--- %s of %s", n.test, n.pkg)
		if k := entered[n.test]; k >= 2 {
			fmt.Fprintf(w, ": its entry number %d. Mend it now, or take it out and name what it covered", k+1)
		}
		fmt.Fprintf(w, "\n%s", tail(l.tests[n].output, 60))
	}
}

// tail returns the last lines of a text.
func tail(text string, lines int) string {
	all := strings.SplitAfter(text, "\n")
	return strings.Join(all[max(0, len(all)-lines):], "")
}

// entry is a row of docs/flaky.md: | test | package | date | commit | cause |
var entry = regexp.MustCompile("(?m)^\\| `(Test\\w+)` \\| `([^`]+)` \\|")

// entries reads the rows of docs/flaky.md: the tests with their packages, once for each row.
func entries(page string) []name {
	var found []name
	for _, m := range entry.FindAllStringSubmatch(page, -1) {
		found = append(found, name{pkg: m[2], test: m[1]})
	}
	return found
}
