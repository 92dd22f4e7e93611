package doctor

import (
	"fmt"
	"strings"

	"github.com/howdah/howdah/schema"
)

// watch is a table whose changes invalidate entries of a cache.
type watch struct {
	Table, Cache        string
	HasTable, HasCache  bool
	Able                bool   // the owner of its function may use the caches
	Owner               string // of its function
	Disabled            []string
	Triggers            int
	Failures            int64   // transactions in which an expression failed
	FailedAgo           float64 // seconds; negative: never
	Failure             string
	Written, CacheReads int64 // rows since it was made, and scans; reads negative: not known
}

// watchTriggers are those of a watch that is whole.
const watchTriggers = 4

// failuresCount is for how many seconds a failure of an expression is a finding.
const failuresCount = 24 * 60 * 60

func (r *reader) watches() (err error) {
	if r.db.installed && r.db.schemaErr == nil { // an older schema has no watches
		r.db.watches, err = rows[watch](r, "watches of tables", schema.Query("doctor_watches"))
	}
	return err
}

func watchChecks() []check {
	return []check{
		{
			id: "watch-disabled", severity: Error, finds: "some triggers of a watch are disabled, or were dropped",
			why:     "What changes the table without them leaves entries of the cache out of date.",
			repairs: "`ALTER TABLE ... ENABLE TRIGGER`, or `howdah.watch_table` again; then `howdah.flush`",
			judge:   eachWatch(watchDisabled),
		},
		{
			id: "watch-powerless", severity: Error, finds: "the owner of a watched table may not use the caches any more",
			why:     "Changes of the table invalidate nothing: entries of the cache stay as they were. Every statement on the table warns of it.",
			repairs: "`howdah.grant_runtime`, then `howdah.flush`; or `howdah.unwatch_table`",
			judge:   eachWatch(watchPowerless),
		},
		{
			id: "watch-cache-gone", severity: Warning, finds: "a watch of a cache that does not exist",
			why:     "Every statement on the table pays for a watch that invalidates nothing.",
			repairs: "`howdah.unwatch_table`",
			judge:   eachWatch(watchCacheGone),
		},
		{
			id: "watch-table-gone", severity: Info, finds: "a watch whose table was dropped",
			why:     "It does nothing. A table that was made in its place is not watched.",
			repairs: "`howdah.unwatch_table`",
			judge:   eachWatch(watchTableGone),
		},
		{
			id: "watch-fails", severity: Warning, finds: "an expression of a watch failed for a row, within the last day",
			why:     "Which entry is out of date is not known then, so the whole cache is invalidated, each time.",
			repairs: "`howdah.watch_table` with an expression that can be evaluated for every row",
			judge:   eachWatch(watchFails),
		},
		{
			id: "watch-costly", severity: Info, finds: "more rows of a watched table were written than the cache was read",
			why:     "Each write pays for the watch, and most entries are gone before anybody reads them. Without the cache, and without its watch, there would be less work.",
			repairs: "`howdah.unwatch_table`, and a short TTL or no cache for these entries",
			judge:   eachWatch(watchCostly),
		},
	}
}

func eachWatch(judge func(*database, *watch) *trouble) func(*database) []trouble {
	return func(db *database) (found []trouble) {
		for i := range db.watches {
			w := &db.watches[i]
			if db.opts.Cache != "" && db.opts.Cache != w.Cache {
				continue
			}
			if tr := judge(db, w); tr != nil {
				tr.object = w.Table
				found = append(found, *tr)
			}
		}
		return found
	}
}

// unwatch ends the watch.
func (w *watch) unwatch() []string {
	return []string{fmt.Sprintf("SELECT howdah.unwatch_table(%s, %s)", literal(w.Table), literal(w.Cache))}
}

func watchDisabled(_ *database, w *watch) *trouble {
	if !w.HasTable || len(w.Disabled) == 0 && w.Triggers == watchTriggers {
		return nil
	}
	if w.Triggers != watchTriggers {
		return &trouble{
			evidence: fmt.Sprintf("the watch of cache %s has %d of its %d triggers", w.Cache, w.Triggers, watchTriggers),
			note:     "SELECT key, tag FROM howdah.watches() shows its expressions: call howdah.watch_table with them as the owner of the table, then empty the cache with howdah.flush.",
		}
	}
	tr := &trouble{
		evidence: fmt.Sprintf("triggers of the watch of cache %s do not fire: %s", w.Cache, strings.Join(w.Disabled, ", ")),
		note:     "If they are off for a load of data, enable them after it. What was changed meanwhile is not known: hence the flush.",
	}
	for _, name := range w.Disabled {
		tr.repair = append(tr.repair, fmt.Sprintf("ALTER TABLE %s ENABLE TRIGGER %s", w.Table, quote(name)))
	}
	if w.HasCache {
		tr.repair = append(tr.repair, fmt.Sprintf("SELECT howdah.flush(%s)", literal(w.Cache)))
	}
	return tr
}

func watchPowerless(_ *database, w *watch) *trouble {
	if !w.HasTable || !w.HasCache || w.Able {
		return nil
	}
	return &trouble{
		evidence: fmt.Sprintf("role %s may not use the caches, and its watch invalidates entries of cache %s", w.Owner, w.Cache),
		repair:   []string{fmt.Sprintf("SELECT howdah.grant_runtime(%s)", literal(w.Owner)), fmt.Sprintf("SELECT howdah.flush(%s)", literal(w.Cache))},
		note:     "If the role is not to use the caches, end the watch instead, with howdah.unwatch_table.",
	}
}

func watchCacheGone(_ *database, w *watch) *trouble {
	if !w.HasTable || w.HasCache {
		return nil
	}
	return &trouble{
		evidence: fmt.Sprintf("its watch names the cache %s, which does not exist", w.Cache),
		repair:   w.unwatch(),
		note:     "If the cache is made again under this name, the watch goes on by itself.",
	}
}

func watchTableGone(_ *database, w *watch) *trouble {
	if w.HasTable {
		return nil
	}
	return &trouble{evidence: "the table is not there, or its triggers are not; the watch invalidated entries of cache " + w.Cache, repair: w.unwatch()}
}

func watchFails(_ *database, w *watch) *trouble {
	if w.Failures == 0 || w.FailedAgo < 0 || w.FailedAgo > failuresCount {
		return nil
	}
	return &trouble{
		evidence: fmt.Sprintf("cache %s was emptied %s because an expression failed, the last time %s ago: %s",
			w.Cache, count(w.Failures, "time", "times"), seconds(w.FailedAgo), w.Failure),
		note: "SELECT key, tag FROM howdah.watches() shows the expressions. An expression that is NULL for a row means no key: CASE, nullif and coalesce keep it from failing.",
	}
}

func watchCostly(db *database, w *watch) *trouble {
	// The watch itself looks each key up once.
	if !w.HasTable || !w.HasCache || w.CacheReads < 0 || w.Written < db.opts.MinRows || w.CacheReads >= 2*w.Written {
		return nil
	}
	return &trouble{
		evidence: fmt.Sprintf("%s were written since the watch was made, and cache %s was read %s", count(w.Written, "row", "rows"),
			w.Cache, count(max(w.CacheReads-w.Written, 0), "time", "times")),
		repair: w.unwatch(),
		note:   "The figures are PostgreSQL's own, since its statistics were reset. Without the watch entries are out of date until they expire: give them a TTL that the application can bear, or read the table.",
	}
}
