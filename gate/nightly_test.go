package main

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestReportNamesWhatFailed(t *testing.T) {
	t.Parallel()
	page := report(t.Context(), time.Unix(0, 0), []result{
		{step: step{"linters", []string{"lint"}}, took: time.Minute},
		{step: step{"all tests", []string{"test-long"}}, took: 90 * time.Minute, failed: []string{"TestA", "TestB"}},
	})
	for _, want := range []string{"91 minutes", "| linters | `make lint` | 1.0 | passed |", "| all tests | `make test-long` | 90.0 | **failed**: TestA, TestB |"} {
		if !strings.Contains(page, want) {
			t.Errorf("the page does not say %q:\n%s", want, page)
		}
	}
}

func TestFailuresAreFoundInOutput(t *testing.T) {
	t.Parallel()
	found := failures("ok x\n--- FAIL: TestA (0.1s)\n    --- FAIL: TestA/part (0.1s)\n=== FAIL: internal/x TestB (1.00s)\n--- PASS: TestC\n")
	if !slices.Equal(found, []string{"TestA", "TestB"}) {
		t.Errorf("found %q", found)
	}
}

func TestAStepSaysWhatFailed(t *testing.T) {
	t.Parallel()
	r, err := step{"nothing", []string{"--file=/dev/null", "no-such-target"}}.run(t.Context(), filepath.Join(t.TempDir(), "log"))
	if err != nil {
		t.Fatal(err)
	}
	if len(r.failed) != 1 || !strings.Contains(r.failed[0], "exit status 2") {
		t.Errorf("the result says %q", r.failed)
	}
}
