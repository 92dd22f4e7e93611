package experiment

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/howdah/howdah/bench/internal/measure"
	"github.com/howdah/howdah/bench/internal/rival"
)

func TestMassExpiry(t *testing.T) {
	r, err := named(t, "mass-expiry").Do(t.Context(), tiny(t))
	if err != nil {
		t.Fatal(err)
	}
	checkResult(t, r)
	if n := r.Value(massWork, massCase, "Howdah", "rounds"); n < 1 {
		t.Errorf("%v rounds of upkeep were counted", n)
	}
	if len(r.Ratios) != 2 || len(r.Verdicts) != 2 {
		t.Errorf("%d ratios, %d verdicts", len(r.Ratios), len(r.Verdicts))
	}
}

func TestNeighbours(t *testing.T) {
	r, err := named(t, "neighbours").Do(t.Context(), tiny(t))
	if err != nil {
		t.Fatal(err)
	}
	checkResult(t, r)
	for _, series := range []string{nobAlone, rival.HowdahName, nobPlain} {
		if r.Value(nobBusy, nobCase, series, throughput) <= 0 || r.Value(nobCalm, nobCase, series, p99) <= 0 {
			t.Errorf("%s was not measured", series)
		}
	}
	// Autovacuum uses some of the server's. If reads used them, it would be about 1000.
	if ids := r.Value(nobCost, "reads", rival.HowdahName, "transaction ids"); ids > 200 {
		t.Errorf("reads used %v transaction ids a thousand", ids)
	}
}

func TestReadPgbenchLog(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log.1")
	if err := os.WriteFile(path, []byte("0 1 2000 0 1700000000 1\n1 1 4000 0 1700000000 2 150\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	h := measure.NewLatency()
	if err := readPgbenchLog(path, h); err != nil {
		t.Fatal(err)
	}
	if h.TotalCount() != 2 || h.Max() < 3_900_000 || h.Max() > 4_100_000 {
		t.Errorf("%d latencies, at most %d ns", h.TotalCount(), h.Max())
	}
	for _, bad := range []string{"hello\n", "0 1 fast 0 1 1\n"} {
		os.WriteFile(path, []byte(bad), 0o644)
		if readPgbenchLog(path, h) == nil {
			t.Errorf("%q was accepted", bad)
		}
	}
}
