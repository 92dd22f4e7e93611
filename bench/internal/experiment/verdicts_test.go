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

// Every number of caches counts, in reads and in writes.
func TestManyCachesAreJudgedByEachNumber(t *testing.T) {
	of := func(slowest float64) *result.Result {
		r := &result.Result{Experiment: "many-caches"}
		for _, verb := range []string{"GET", "SET"} {
			for _, which := range []string{"1", "10", "100", "500"} {
				rate := 3.0
				if verb == "SET" && which == "500" {
					rate = slowest
				}
				addRounds(r, verb, which, rival.HowdahName, throughput, rate, rate)
				addRounds(r, verb, which, rival.PgxName, throughput, 1, 1)
			}
		}
		Judge([]*result.Result{r})
		return r
	}
	for slowest, want := range map[float64]string{1.6: result.Confirmed, 1.4: result.Refuted} {
		if v := of(slowest).Verdicts[0]; v.Word != want || !strings.Contains(v.Ours, "GET 3.00 3.00 3.00 3.00") {
			t.Errorf("SET over 500 caches at %g times plain pgx: %+v", slowest, v)
		}
	}
}

// One failed command refutes, and so does one entry too many in every round.
func TestBoundsAreJudgedByTheWorst(t *testing.T) {
	few := &result.Result{Experiment: "few-connections"}
	addRounds(few, fewGroup, fewCase, servedHowdah, fewFailed, 0.01, 0.02)
	full := &result.Result{Experiment: "noeviction-budget"}
	addRounds(full, noevictionGroup, noevictionBudgets[0].name, rival.HowdahName, noevictionUsed, 100, 102)
	addRounds(full, noevictionGroup, noevictionBudgets[1].name, rival.HowdahName, noevictionUsed, 104, 105)
	stalled := &result.Result{Experiment: "stalled-readers"}
	for series, resident := range map[string]float64{stalledNone: 20, stalledThere: 2000, stalledGone: 30} {
		addRounds(stalled, stalledMemory, stalledCase, series, "resident", resident, resident)
		addRounds(stalled, stalledMemory, stalledCase, series, "heap", 10, 10)
		addRounds(stalled, stalledOthers, stalledCase, series, p99, 1, 1)
		addRounds(stalled, stalledOthers, stalledCase, series, "failed", 0, 0)
	}
	all := []*result.Result{few, full, stalled}
	Judge(all)
	for _, r := range all {
		if v := r.Verdicts[0]; v.Word != result.Refuted {
			t.Errorf("%s: %+v", r.Experiment, v)
		}
	}
}
