package experiment

import (
	"testing"

	"github.com/howdah/howdah/bench/internal/result"
	"github.com/howdah/howdah/bench/internal/rival"
)

// The step must catch a halving and overlook what a busy machine does.
func TestRegressLimits(t *testing.T) {
	published := func(factor float64) []*result.Result {
		library, wire := &result.Result{Experiment: "library"}, &result.Result{Experiment: "redis-benchmark"}
		for _, verb := range []string{"GET", "SET"} {
			library.Add(verb, "64", rival.HowdahName, throughput, perSecond, 100_000*factor)
			library.Add(verb, "64", rival.PgxName, throughput, perSecond, 25_000)
			library.Add(verb, "64", rival.GoRedisName, throughput, perSecond, 60_000)
			for _, which := range []string{"plain", "-P 16"} {
				wire.Add(verb, which, servedHowdah, throughput, perSecond, 50_000*factor)
				wire.Add(verb, which, servedRedis, throughput, perSecond, 90_000)
			}
		}
		return []*result.Result{library, wire}
	}
	for _, c := range []struct {
		tries []float64 // speed of each, against the published one
		want  bool
	}{
		{[]float64{1}, true}, {[]float64{0.65}, true}, {[]float64{0.5, 0.5, 0.5}, false},
		{[]float64{0.4, 0.7}, true}, {[]float64{0.5, 0.54, 0.3}, false},
	} {
		checks, err := Checks(published(1))
		if err != nil {
			t.Fatal(err)
		}
		for _, speed := range c.tries {
			for _, r := range published(speed) {
				update(checks, r)
			}
		}
		if got := allPassed(checks); got != c.want {
			t.Errorf("tries at %v of the published speed: passed is %t, want %t", c.tries, got, c.want)
		}
	}
	if _, err := Checks(published(1)[:1]); err == nil {
		t.Error("a missing result was accepted")
	}
}
