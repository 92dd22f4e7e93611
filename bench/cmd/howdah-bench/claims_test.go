package main

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/howdah/howdah/bench/internal/claims"
	"github.com/howdah/howdah/bench/internal/experiment"
)

// A claim is found by its text: one that no experiment judges would stay "not
// measured yet" for ever.
func TestEveryClaimIsJudged(t *testing.T) {
	var source strings.Builder
	files, err := filepath.Glob("../../internal/experiment/*.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range files {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		source.Write(text)
	}
	for _, a := range claims.All() {
		for _, c := range a.Claims {
			if _, err := experiment.Choose([]string{c.Experiment}); err != nil {
				t.Error(err)
			}
			if !strings.Contains(source.String(), strconv.Quote(c.Text)) {
				t.Errorf("no experiment judges %q", c.Text)
			}
		}
	}
}

// The experiments that the published texts call for, by name.
func TestEveryExperimentIsThere(t *testing.T) {
	for _, name := range []string{
		"insert-latency", "identity-cache", "column-types", "expiry-index", "reap-chunks", "keepalive", "fillfactor",
		"autovacuum", "network", "pgbench-write", "pgbench-read", "redis-benchmark", "ram-tablespace", "spill",
		"durability-parity", "bulk-load", "http-cache", "kv-scale", "index-kind", "pgpool",
		"library", "many-caches", "processes", "value-sizes", "footprint", "locked-row", "stalled-readers", "few-connections", "noeviction-budget",
		"near", "near-serve", "near-log", "near-storm", "watch", "collections", "scripts", "pubsub", "wakeups", "notify", "partitions", "scale-out",
	} {
		if _, err := experiment.Choose([]string{name}); err != nil {
			t.Error(err)
		}
	}
}

// A short run of everything takes about 20 minutes, a full one about an hour and a
// half.
func TestPlanFits(t *testing.T) {
	for quick, limit := range map[bool]float64{true: 21, false: 94} {
		p := &plan{chosen: experiment.All(), quick: quick}
		if got := p.remaining(0).Minutes(); got > limit {
			t.Errorf("quick %t: the plan takes %.1f minutes, at most %.0f are allowed", quick, got, limit)
		}
	}
}
