//go:build peers

package experiment

import (
	"testing"

	"github.com/howdah/howdah/bench/internal/rival"
)

// With Redis beside it: every contestant of the library's comparison, and
// redis-benchmark against both servers.
func TestSmokeWithPeers(t *testing.T) {
	r, err := named(t, "library").Do(t.Context(), tiny(t))
	if err != nil {
		t.Fatal(err)
	}
	checkResult(t, r)
	for _, series := range []string{rival.HowdahName, rival.GoRedisName, rival.RueidisName, rival.PgxName} {
		for _, mix := range mixes {
			if r.Value(mix.name, "64", series, throughput) <= 0 {
				t.Errorf("%s of %s was not measured", mix.name, series)
			}
		}
	}
	if n := r.Value("GET", "64", rival.HowdahName, batchSize); n < 2 {
		t.Errorf("64 callers shared statements of %.1f keys", n)
	}
	if len(r.Ratios) < 12 {
		t.Errorf("only %d ratios", len(r.Ratios))
	}

	r, err = named(t, "redis-benchmark").Do(t.Context(), tiny(t))
	if err != nil {
		t.Fatal(err)
	}
	checkResult(t, r)
}
