package main

import (
	"slices"
	"strings"
	"testing"

	"github.com/howdah/howdah/bench/internal/result"
)

func TestParseRun(t *testing.T) {
	f, err := parseRun([]string{"library", "--quick", "--goroutines", "1, 16", "locked-row", "--keys=500", "--database-url", "postgres://me:secret@host/db"})
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(f.names, []string{"library", "locked-row"}) || !f.options.Quick || f.options.Workload.Keys != 500 {
		t.Errorf("%+v", f)
	}
	if !slices.Equal(f.options.Goroutines, []int{1, 16}) || f.options.Rounds != 2 || f.options.Workload.ValueSize != 250 {
		t.Errorf("%+v", f.options)
	}
	line := commandLine("library", f.flags)
	if strings.Contains(line, "secret") || !strings.HasPrefix(line, "howdah-bench run library --quick --goroutines") || !strings.Contains(line, "--keys=500") {
		t.Errorf("the command is noted as %q", line)
	}
	for _, bad := range [][]string{{}, {"--quick"}, {"x", "--goroutines", "many"}, {"x", "--goroutines", "0"}, {"x", "--zipf", "0.3"}} {
		if _, err := parseRun(bad); err == nil {
			t.Errorf("%q was accepted", bad)
		}
	}
}

func TestReportBeginsWithTheLibrary(t *testing.T) {
	results := []*result.Result{{Experiment: "bulk-load"}, {Experiment: "library"}, {Experiment: "locked-row"}}
	inOrder(results)
	if results[0].Experiment != "library" || results[2].Experiment != "bulk-load" {
		t.Errorf("the order is %s, %s, %s", results[0].Experiment, results[1].Experiment, results[2].Experiment)
	}
}

func TestUnknownCommand(t *testing.T) {
	if err := run(t.Context(), []string{"benchmark"}); err == nil || !strings.Contains(err.Error(), "report") {
		t.Errorf("got %v", err)
	}
}
