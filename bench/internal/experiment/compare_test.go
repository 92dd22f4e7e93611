package experiment

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/howdah/howdah/bench/internal/result"
)

func TestComparisons(t *testing.T) {
	r := &result.Result{}
	addRounds(r, "GET", "64", oldTree, throughput, 100, 200, 100)
	addRounds(r, "GET", "64", newTree, throughput, 150, 300, 140)
	addRounds(r, "GET", "64", oldAgain, throughput, 110, 180, 100)
	addRounds(r, "GET", "64", oldTree, allocations, 3, 3, 4)
	addRounds(r, "GET", "64", newTree, allocations, 2, 2, 2)
	all := Comparisons(r)
	want := Comparison{Verb: "GET", Case: "64", Before: 100, After: 150, Ratio: 1.5, Least: 0.9, Most: 1.1, AllocsBefore: 3, AllocsNow: 2}
	if len(all) != 1 || all[0] != want {
		t.Errorf("%+v, want %+v", all, want)
	}
	if row := all[0].String(); !strings.Contains(row, "1.50   0.90 to 1.10") {
		t.Errorf("the row is %q", row)
	}
}

// The driver is built inside a tree that does not hold it, and leaves nothing
// there.
func TestDriverBuildsInATree(t *testing.T) {
	dir, err := filepath.Abs("../../..")
	if err != nil {
		t.Fatal(err)
	}
	tree := &tree{dir: dir, driver: filepath.Join(t.TempDir(), "driver")}
	if err := tree.build(t.Context(), t.TempDir(), filepath.Join(t.TempDir(), "howdah")); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(dir, "cmd", "compare-driver")); err == nil {
		t.Error("the tree holds the driver")
	}
	out, _ := exec.CommandContext(t.Context(), tree.driver, "-h").CombinedOutput()
	if !strings.Contains(string(out), "-callers") {
		t.Errorf("the driver says %q", out)
	}
}
