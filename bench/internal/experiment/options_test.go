package experiment

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/howdah/howdah/bench/internal/workload"
)

// What is refused is refused before anything starts, by its flag's name.
func TestOptionsNameTheFlag(t *testing.T) {
	for flag, o := range map[string]Options{
		"--entries":      {Entries: 5},
		"--rate":         {Rate: math.NaN()},
		"--rounds":       {Rounds: -1},
		"--duration":     {Duration: time.Nanosecond},
		"--database-url": {DatabaseURL: "postgres://me@localhost:many/db"},
		"--redis-url":    {RedisURL: "localhost:6379"},
		"Zipf":           {Workload: workload.Spec{Zipf: math.NaN()}},
	} {
		if err := o.Complete(); err == nil || !strings.Contains(err.Error(), flag) {
			t.Errorf("%s: %v", flag, err)
		}
	}
	for _, rate := range []float64{-1, math.Inf(1), 0.1} {
		if o := (Options{Rate: rate}); o.Complete() == nil {
			t.Errorf("a rate of %v was accepted", rate)
		}
	}
	if o := (Options{Entries: 1000, DatabaseURL: "postgres://localhost/db", RedisURL: "redis://localhost"}); o.Complete() != nil {
		t.Error(o.Complete())
	}
}
