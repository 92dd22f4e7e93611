package experiment

import (
	"strings"
	"testing"

	"github.com/howdah/howdah/bench/internal/result"
	"github.com/howdah/howdah/bench/internal/rival"
)

// addRounds adds a metric's rounds.
func addRounds(r *result.Result, group, which, series, metric string, values ...float64) {
	for _, v := range values {
		r.Add(group, which, series, metric, "", v)
	}
}

// The client of Redis that is ahead counts, in each round.
func TestWritesAreJudgedByTheBetterClient(t *testing.T) {
	r := &result.Result{Experiment: "durability-parity"}
	for _, n := range parityGoroutines {
		for _, p := range parityPromises {
			addRounds(r, parityGroup(n), p.name, rival.HowdahName, throughput, 40, 40)
			addRounds(r, parityGroup(n), p.name, rival.GoRedisName, throughput, 20, 200)
			addRounds(r, parityGroup(n), p.name, rival.RueidisName, throughput, 100, 20)
		}
	}
	Judge([]*result.Result{r})
	if v := r.Verdicts[0]; v.Word != result.Confirmed || !strings.Contains(v.Ours, "0.30, 0.30, 0.30") {
		t.Errorf("%+v", v)
	}
}

// "Most of it" is a share of what durability costs, not any gain at all.
func TestRecoveredShare(t *testing.T) {
	r := &result.Result{Experiment: "insert-latency"}
	for name, ms := range map[string]float64{insertUnlogged: 0.1, insertLogged: 0.3, insertFour: 0.28, insertFunction: 0.15} {
		addRounds(r, insertGroup, insertCase, name, perInsert, ms, ms)
	}
	Judge([]*result.Result{r})
	if v := r.Verdicts[1]; v.Word != result.Depends || !strings.Contains(v.Ours, "10 % and 75 %") {
		t.Errorf("%+v", v)
	}
}

// What chunks do to readers counts as well as how long their statements are.
func TestChunksAreJudgedByTheirReaders(t *testing.T) {
	of := func(readers float64) *result.Result {
		r := &result.Result{Experiment: "reap-chunks"}
		for _, name := range []string{reapInOne, reapThousand, reapFive, reapBlocks} {
			longest, p := 2.0, readers
			if name == reapInOne {
				longest, p = 300, 3
			}
			if name == reapBlocks {
				p = 3
			}
			addRounds(r, reapDeletes, reapCase, name, "time", 1, 1)
			addRounds(r, reapDeletes, reapCase, name, reapLongest, longest, longest)
			addRounds(r, reapReaders, reapCase, name, p99, p, p)
		}
		Judge([]*result.Result{r})
		return r
	}
	for readers, want := range map[float64]string{1: result.Confirmed, 6: result.Depends} {
		if v := of(readers).Verdicts[0]; v.Word != want {
			t.Errorf("readers' p99 of %g ms: %+v", readers, v)
		}
	}
}
