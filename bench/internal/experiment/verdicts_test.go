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

// Every part of what memory promises counts: one caller too slow, one allocation,
// one size of statement, one read beyond its timeout.
func TestNearIsJudgedByEachPart(t *testing.T) {
	hits := func(slowest, allocated float64) *result.Result {
		r := &result.Result{Experiment: "near"}
		for _, callers := range []string{"1", "16", "64"} {
			rate := 1.6
			if callers == "16" {
				rate = slowest
			}
			addRounds(r, nearHits, callers, nearGet, throughput, 1.6, 1.6)
			addRounds(r, nearHits, callers, nearAppend, throughput, rate, rate)
			addRounds(r, nearHits, callers, nearRedis, throughput, 1, 1)
		}
		addRounds(r, nearHits, "1", nearAppend, allocations, allocated)
		for _, x := range nearShares {
			addRounds(r, nearCPU, x.name, nearOn, databaseCPU, 1, 1)
			addRounds(r, nearCPU, x.name, nearOff, databaseCPU, 6.5, 6.5)
		}
		return r
	}
	log := func(batch float64) *result.Result {
		r := &result.Result{Experiment: "near-log"}
		for _, x := range logSizes {
			with := 1.2
			if x.keys > 1 {
				with = batch
			}
			addRounds(r, logGroup, keysOf(x.keys), withLog, leastCPU, with, with)
			addRounds(r, logGroup, keysOf(x.keys), withoutLog, leastCPU, 1, 1)
		}
		return r
	}
	stormy := func(worst, active float64) *result.Result {
		r := &result.Result{Experiment: "near-storm"}
		for _, s := range storms {
			addRounds(r, stormGroup, s.name, rival.HowdahName, stormWorst, 90, worst)
			addRounds(r, stormGroup, s.name, rival.HowdahName, stormFailed, 0, 0)
			addRounds(r, stormGroup, s.name, rival.HowdahName, stormActive, active, active)
		}
		return r
	}
	for name, c := range map[string]struct {
		r    *result.Result
		want string
	}{
		"all":                       {hits(1.6, 0), result.Confirmed},
		"slow with 16 callers":      {hits(1.4, 0), result.Refuted},
		"an allocation":             {hits(1.6, 1), result.Refuted},
		"a log within its bounds":   {log(1.05), result.Confirmed},
		"a log too dear for many":   {log(1.15), result.Refuted},
		"a storm within bounds":     {stormy(400, 8), result.Confirmed},
		"a read beyond its timeout": {stormy(2000, 8), result.Depends},
		"too many statements":       {stormy(400, 9), result.Refuted},
	} {
		Judge([]*result.Result{c.r})
		if v := c.r.Verdicts[0]; v.Word != c.want {
			t.Errorf("%s: %+v", name, v)
		}
	}
	if v := hits(1.6, 0); len(nearVerdicts(v, nil)) != 2 || nearVerdicts(v, nil)[1].Word != result.Confirmed {
		t.Errorf("%+v", nearVerdicts(v, nil))
	}
}

// A server that is far ahead by its rate must also answer from memory, and leave
// PostgreSQL in peace.
func TestNearServeIsJudgedByItsMemory(t *testing.T) {
	of := func(memory float64) []result.Verdict {
		r := &result.Result{Experiment: "near-serve"}
		for _, p := range nearPipelines {
			for _, group := range []string{"GET", nearMixes[0].name, nearMixes[1].name} {
				for _, s := range []string{servedNear, servedHowdah, servedRedis} {
					addRounds(r, group, p.name, s, throughput, 2, 2)
					addRounds(r, group, p.name, s, p99, 1, 1)
				}
			}
			addRounds(r, "GET", p.name, servedNear, fromMemory, memory, memory)
			addRounds(r, "GET", p.name, servedNear, databaseCPU, 0.01, 0.01)
			addRounds(r, "GET", p.name, servedHowdah, databaseCPU, 1, 1)
		}
		Judge([]*result.Result{r})
		return r.Verdicts
	}
	for memory, want := range map[float64]string{100: result.Confirmed, 50: result.Refuted} {
		if v := of(memory); v[0].Word != want || v[1].Word != result.Confirmed {
			t.Errorf("%g %% from memory: %+v", memory, v)
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

// Each number of clients, each way of calling and each command counts.
func TestCollectionsAreJudgedByEachPart(t *testing.T) {
	of := func(change func(r *result.Result)) []result.Verdict {
		r := &result.Result{Experiment: "collections"}
		for _, clients := range collectionClients {
			addRounds(r, "HSET", clientCount(clients), besideSet, throughput, 100, 100)
			addRounds(r, "HSET", clientCount(clients), servedHowdah, throughput, 70, 70)
			for _, name := range []string{"HGET", "HGETALL"} {
				addRounds(r, name, clientCount(clients), servedRedis, throughput, 100, 100)
				addRounds(r, name, clientCount(clients), servedNear, throughput, 90, 90)
			}
		}
		for _, callers := range []string{"64", "256"} {
			addRounds(r, hashCallGroup, callers, callSet, throughput, 100, 100)
			addRounds(r, hashCallGroup, callers, callHSet, throughput, 70, 70)
		}
		change(r)
		Judge([]*result.Result{r})
		return r.Verdicts
	}
	slow := func(group, which, series string) func(r *result.Result) {
		return func(r *result.Result) {
			for i := range r.Points {
				if p := &r.Points[i]; p.Group == group && p.Case == which && p.Series == series {
					p.Metrics[0].Rounds = []float64{60, 60}
				}
			}
		}
	}
	for name, c := range map[string]struct {
		verdicts   []result.Verdict
		hset, near string
	}{
		"all":                    {of(func(*result.Result) {}), result.Confirmed, result.Confirmed},
		"slow with 50 clients":   {of(slow("HSET", "50 clients", servedHowdah)), result.Refuted, result.Confirmed},
		"slow with 256 callers":  {of(slow(hashCallGroup, "256", callHSet)), result.Refuted, result.Confirmed},
		"slow HGETALL in memory": {of(slow("HGETALL", "200 clients", servedNear)), result.Confirmed, result.Refuted},
	} {
		if c.verdicts[0].Word != c.hset || c.verdicts[1].Word != c.near {
			t.Errorf("%s: %+v", name, c.verdicts)
		}
	}
}

// Both scripts count.
func TestScriptsAreJudgedByEach(t *testing.T) {
	for window, want := range map[float64]string{31: result.Confirmed, 29: result.Refuted} {
		r := &result.Result{Experiment: "scripts"}
		for i, script := range benchScripts {
			addRounds(r, script.name, clientCount(scriptClients), servedRedis, throughput, 100, 100)
			addRounds(r, script.name, clientCount(scriptClients), servedHowdah, throughput, []float64{36, window}[i], []float64{36, window}[i])
		}
		Judge([]*result.Result{r})
		if v := r.Verdicts[0]; v.Word != want {
			t.Errorf("a window at %g: %+v", window, v)
		}
	}
}

// The rate, and the time with and without notifications, count.
func TestMessagesAreJudgedByEachPart(t *testing.T) {
	of := func(rate, notified, polled float64) []result.Verdict {
		r := &result.Result{Experiment: "pubsub"}
		which := clientCount(mostPublishers)
		addRounds(r, subscriberGroup(1), which, servedRedis, throughput, 100, 100)
		addRounds(r, subscriberGroup(1), which, servedHowdah, throughput, rate, rate)
		addRounds(r, acrossServers, acrossCase(acrossRate), byNotify, p50, notified, notified)
		addRounds(r, acrossServers, acrossCase(acrossRate), byPolling, p50, polled, polled)
		Judge([]*result.Result{r})
		return r.Verdicts
	}
	for name, c := range map[string]struct {
		verdicts     []result.Verdict
		local, there string
	}{
		"all":          {of(81, 2, 50), result.Confirmed, result.Confirmed},
		"slow":         {of(79, 2, 50), result.Refuted, result.Confirmed},
		"late":         {of(81, 4, 50), result.Confirmed, result.Refuted},
		"late polling": {of(81, 2, 70), result.Confirmed, result.Refuted},
	} {
		if c.verdicts[0].Word != c.local || c.verdicts[1].Word != c.there {
			t.Errorf("%s: %+v", name, c.verdicts)
		}
	}
}

// The server and PostgreSQL must both be idle while clients wait.
func TestWakeUpsAreJudgedByEachPart(t *testing.T) {
	of := func(late, serverCPU, databaseCPU float64) []result.Verdict {
		r := &result.Result{Experiment: "wakeups"}
		many := "10000 clients"
		addRounds(r, wakeThere, wakePaces[0].name, byNotify, p99, late, late)
		addRounds(r, wakeIdle, many, servedHowdah, idleCPU, serverCPU, serverCPU)
		addRounds(r, wakeIdle, many, servedHowdah, "database CPU", databaseCPU, databaseCPU)
		Judge([]*result.Result{r})
		return r.Verdicts
	}
	for name, c := range map[string]struct {
		verdicts   []result.Verdict
		wake, idle string
	}{
		"all":           {of(40, 1, 1), result.Confirmed, result.Confirmed},
		"late":          {of(60, 1, 1), result.Refuted, result.Confirmed},
		"a busy server": {of(40, 6, 1), result.Confirmed, result.Refuted},
		"a busy base":   {of(40, 1, 6), result.Confirmed, result.Refuted},
	} {
		if c.verdicts[0].Word != c.wake || c.verdicts[1].Word != c.idle {
			t.Errorf("%s: %+v", name, c.verdicts)
		}
	}
}

// NOTIFY is compared with polling, not with no messages at all, and only beside as many.
func TestNotifyIsJudgedBesidePolling(t *testing.T) {
	for _, c := range []struct {
		rate, messages float64
		want           string
	}{{91, 1000, result.Confirmed}, {89, 1000, result.Refuted}, {91, 970, result.Depends}, {89, 1030, result.Depends}} {
		rate, want := c.rate, c.want
		r := &result.Result{Experiment: "notify"}
		which := clientCount(notifyClients)
		addRounds(r, notifyGroup, which, notifyAlone, throughput, 200, 200)
		addRounds(r, notifyGroup, which, byPolling, throughput, 100, 100)
		addRounds(r, notifyGroup, which, byNotify, throughput, rate, rate)
		addRounds(r, notifyMessages, which, byPolling, throughput, 1000, 1000)
		addRounds(r, notifyMessages, which, byNotify, throughput, c.messages, c.messages)
		Judge([]*result.Result{r})
		if v := r.Verdicts[0]; v.Word != want {
			t.Errorf("%g commits beside %g messages: %+v", rate, c.messages, v)
		}
	}
}

// Every round counts, not their median.
func TestObservingIsJudgedByEveryRound(t *testing.T) {
	for _, c := range []struct {
		rounds []float64
		want   string
	}{
		{[]float64{0.99, 1, 1.01}, result.Confirmed}, {[]float64{0.9, 1, 1.1}, result.Depends}, {[]float64{1.03, 1.1, 1.2}, result.Refuted},
	} {
		r := &result.Result{Experiment: "observing"}
		for _, l := range observeLoads {
			addRounds(r, l.name, "-P 16", observed, serverCPU, c.rounds...)
			addRounds(r, l.name, "-P 16", unobserved, serverCPU, 1, 1, 1)
		}
		Judge([]*result.Result{r})
		for _, v := range r.Verdicts {
			if v.Word != c.want {
				t.Errorf("%v: %+v", c.rounds, v)
			}
		}
		if len(r.Verdicts) != len(observeLoads) {
			t.Errorf("%d verdicts", len(r.Verdicts))
		}
	}
}
