package server

import (
	"github.com/howdah/howdah"
	"github.com/howdah/howdah/internal/core"
	"github.com/howdah/howdah/internal/engine"
	"github.com/howdah/howdah/internal/near"
)

// The metrics of the entries that are kept in memory, where they are.
var (
	nearBoundDesc    = describe("near_bound_seconds", "The greatest age of what is read from memory.")
	nearHitsDesc     = describe("near_hits_total", "Reads that were answered from memory, by whether there is a value or the key is absent.", "found")
	nearMissesDesc   = describe("near_misses_total", "Reads that asked PostgreSQL because memory had no answer (absent), or none that was new enough (lapsed).", "reason")
	nearAgeDesc      = describe("near_age_seconds", "Age of what was read from memory.")
	nearMaxAgeDesc   = describe("near_age_seconds_max", "Age of the oldest answer that was read from memory since the start.")
	nearFillsDesc    = describe("near_fills_total", "Answers of PostgreSQL that were kept in memory.")
	nearRefusedDesc  = describe("near_refused_fills_total", "Answers of PostgreSQL that were not kept in memory.", "reason")
	nearDropsDesc    = describe("near_drops_total", "Times that all entries in memory, or those of one cache, were dropped.", "reason")
	nearPollsDesc    = describe("near_polls_total", "Polls of the change log.", "result")
	nearPollTimeDesc = describe("near_poll_duration_seconds", "Time of a poll that PostgreSQL answered.")
	nearLapsesDesc   = describe("near_lapses_total", "Times that reads could not be answered from memory because no poll succeeded in time.")
	nearBytesDesc    = describe("near_bytes", "Bytes that the entries in memory take.")
	nearMaxBytesDesc = describe("near_bytes_max", "The most bytes that they may take.")
	nearEntriesDesc  = describe("near_entries", "Entries in memory, those that are no longer valid included.")
	nearLagDesc      = describe("near_lag_seconds", "How long ago the last poll was sent that succeeded; 0 while no reads want memory.")
	nearParkedDesc   = describe("near_parked_writes", "Writes in open transactions of this process, whose keys are not read from memory.")
)

// collectNear shows the entries in memory.
func collectNear(out metricSink, stats howdah.NearStats) {
	if stats.Bound == 0 {
		return
	}
	out.gauge(nearBoundDesc, stats.Bound.Seconds())
	out.count(nearHitsDesc, less(stats.Hits, stats.AbsentHits), "value")
	out.count(nearHitsDesc, float64(stats.AbsentHits), "absent")
	out.count(nearMissesDesc, less(stats.Misses, stats.Lapsed), "absent")
	out.count(nearMissesDesc, float64(stats.Lapsed), "lapsed")
	out.gauge(nearLagDesc, stats.Lag.Seconds())
	out.histogram(nearAgeDesc, engine.Histogram(stats.Ages))
	out.gauge(nearMaxAgeDesc, stats.MaxAge.Seconds())
	out.count(nearFillsDesc, float64(stats.Fills))
	reasons := core.NearStats{Stats: near.Stats{Refused: near.Refusals(stats.Refused), Drops: near.Drops(stats.Drops)}}
	for _, refused := range reasons.RefusedByReason() {
		out.count(nearRefusedDesc, float64(refused.Count), refused.Reason)
	}
	for _, drops := range reasons.DropsByReason() {
		out.count(nearDropsDesc, float64(drops.Count), drops.Reason)
	}
	out.count(nearPollsDesc, float64(stats.Polls), "ok")
	out.count(nearPollsDesc, float64(stats.FailedPolls), "failed")
	out.histogram(nearPollTimeDesc, engine.Histogram(stats.PollLatency))
	out.count(nearLapsesDesc, float64(stats.Lapses))
	out.gauge(nearBytesDesc, float64(stats.Bytes))
	out.gauge(nearMaxBytesDesc, float64(stats.MaxBytes))
	out.gauge(nearEntriesDesc, float64(stats.Entries))
	out.gauge(nearParkedDesc, float64(stats.Parked))
}

// less is what is left of a count without a part of it, which was read later and
// may have grown beyond it.
func less(all, part uint64) float64 { return float64(all - min(part, all)) }
