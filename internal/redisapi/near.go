package redisapi

import (
	"slices"
	"time"
)

// howdahCommands are those that Redis does not have.
func howdahCommands() []*Command {
	return []*Command{
		{Name: "howdah.fresh", Arity: -3, Flags: "readonly noscript fast module", Group: "module", Since: "1.0.0",
			Keys:    []KeySpec{{Index: 2, Step: 1, Flags: "RO access"}},
			Summary: "Returns the value of a key as PostgreSQL has it now", Complexity: "O(1)", Syntax: "GET key",
			Note: "GET may answer from memory, then at most as old as `near_bound_ms` of `INFO near` says. GET is the only command that does, so it is the only one that HOWDAH.FRESH takes.",
			call: fresh},
		{Name: "howdah.info", Arity: -1, Flags: "loading stale module", Group: "module", Since: "1.0.0",
			Summary: "Returns facts and counters that Redis does not have", Complexity: "O(1)", Syntax: "[section [section ...]]",
			Note: "The section is `near`: the entries that the server keeps in memory. `INFO near` returns it too.", run: howdahInfo,
			free: func(*Engine, [][]byte) bool { return true }},
		{Name: "howdah.slowlog", Arity: -1, Flags: "admin loading stale module", Group: "module", Since: "1.0.0",
			Summary: "Returns the calls that took long, with all that is known of them", Complexity: "O(N) where N is the number of calls", Syntax: "[count]",
			Note: "SLOWLOG GET as pairs of names and values. Times are in microseconds.", now: howdahSlowLog},
	}
}

func fresh(r *request, args [][]byte) error {
	switch {
	case !is(args[1], "GET"):
		return refusal("ERR HOWDAH.FRESH takes GET only; every other command asks PostgreSQL anyway")
	case len(args) != 3:
		return wrongArity("howdah.fresh|get")
	}
	readValue(r, args[2])
	return nil
}

// howdahInfo is INFO of the sections that Redis does not have: those that are
// named, or all.
func howdahInfo(t *task, args [][]byte) error {
	writeInfo(t, slices.DeleteFunc(infoSections(), func(section infoSection) bool {
		named := slices.ContainsFunc(args[1:], func(name []byte) bool { return is(name, section.name) })
		return !section.howdah || len(args) > 1 && !named
	}))
	return nil
}

// infoNear shows the entries that are kept in memory.
func infoNear(w *infoWriter, t *task) {
	near := t.conn.engine.options.DB.Stats().Near
	if near.Bound == 0 {
		w.field("near_enabled", 0)
		return
	}
	w.field("near_enabled", 1)
	w.field("near_bound_ms", near.Bound.Milliseconds())
	w.field("near_max_bytes", near.MaxBytes)
	w.field("near_bytes", near.Bytes)
	w.field("near_entries", near.Entries)
	w.field("near_parked_writes", near.Parked)
	w.field("near_hits", near.Hits)
	w.field("near_absent_hits", near.AbsentHits)
	w.field("near_misses", near.Misses)
	w.field("near_lapsed_misses", near.Lapsed)
	w.field("near_max_age_usec", int64(near.MaxAge/time.Microsecond))
	w.field("near_fills", near.Fills)
	for _, refused := range near.RefusedByReason() {
		w.field("near_refused_"+refused.Reason, refused.Count)
	}
	for _, drops := range near.DropsByReason() {
		w.field("near_drops_"+drops.Reason, drops.Count)
	}
	w.field("near_polls", near.Polls)
	w.field("near_failed_polls", near.FailedPolls)
	w.field("near_lapses", near.Lapses)
}
