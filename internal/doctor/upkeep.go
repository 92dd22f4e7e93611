package doctor

import (
	"fmt"
	"strings"

	"github.com/howdah/howdah/schema"
)

// upkeep is what is known of who removes what has expired.
type upkeep struct {
	Since float64 // seconds since the last round on any table; negative: there was none
	Led   bool    // a process holds the lease
	Cron  bool    // pg_cron is installed in this database
}

func (r *reader) rounds() (err error) {
	if !r.db.installed {
		return nil
	}
	r.db.upkeep, err = rows[upkeep](r, "the upkeep", schema.Query("doctor_upkeep"))
	return err
}

// maintain is a block that does rounds of upkeep until nothing is left, on one
// table or, for "", on all. It commits after each: what one removes is locked
// for a tenth of a second at most.
func maintain(name string) string {
	// A round may run out of time before it has come to all tables, and begins with those
	// that waited longest.
	first, tables := "", "(SELECT count(*) + 1 FROM howdah_internal.cache)"
	if name != "" {
		first, tables = literal(name)+", ", "1"
	}
	return fmt.Sprintf(`DO $$
DECLARE
    tables CONSTANT bigint := %s;
    looked_at bigint;
    unfinished bigint;
    finished bigint := 0;
BEGIN
    LOOP
        SELECT count(*), count(*) FILTER (WHERE m.more) INTO looked_at, unfinished
        FROM howdah.maintain(%smax_blocks => 1000000, max_time => '100 ms') AS m;
        COMMIT;
        finished := CASE WHEN unfinished = 0 THEN finished + looked_at ELSE 0 END;
        EXIT WHEN finished >= tables;
        PERFORM pg_sleep(0.01);  -- another process may be in a round
    END LOOP;
END
$$`, tables, first)
}

// regularly says how to let something do the upkeep from now on.
func (db *database) regularly() string {
	text := `It does the work once. Let something do it from now on: "howdah serve" does, or "howdah maintain --database-url postgres://..."`
	if len(db.upkeep) > 0 && db.upkeep[0].Cron {
		text += ", or pg_cron: SELECT cron.schedule('howdah', '* * * * *', " +
			"$$SELECT howdah.maintain(max_rows => 1000000, max_blocks => 1000000, max_time => '5 s')$$)"
	}
	return text + "."
}

// exceeds says by how much a cache exceeds its budget, "" if by less than 10 %.
func (t *table) exceeds() string {
	switch {
	case t.sample == nil || t.cache == nil:
	case t.cache.MaxBytes > 0 && t.sample.Budget > t.cache.MaxBytes/10*11:
		return fmt.Sprintf("about %s, max_bytes = %s", size(t.sample.Budget), size(t.cache.MaxBytes))
	case t.cache.MaxEntries > 0 && t.sample.Live > t.cache.MaxEntries/10*11:
		return fmt.Sprintf("about %s, max_entries = %s", count(t.sample.Live, "entry", "entries"), number(t.cache.MaxEntries))
	}
	return ""
}

func upkeepChecks() []check {
	return []check{
		{
			id: "upkeep-missing", severity: Warning, finds: "there was no upkeep for two minutes, although there is work",
			why:     "Without it expired rows stay, budgets are exceeded, and a crash is not noticed: tables grow until the disk is full.",
			repairs: "run `howdah serve`, `howdah maintain` or pg_cron; a block that does the work once",
			judge:   upkeepMissing,
		},
		{
			id: "expiry-backlog", severity: Warning, finds: "30 % of the rows or more have expired and are still there (estimated from a sample)",
			why:     "Expired rows are not deleted, or too slowly. The table is larger than it needs to be, and a query that forgets the condition on expiry returns what should be gone.",
			repairs: "a block that calls `howdah.maintain`, or deletes a few pages at a time, until nothing is left",
			judge:   eachTable(expiryBacklog),
		},
		{
			id: "over-budget", severity: Warning, finds: "a cache exceeds its budget by more than 10 %",
			why:     "Nothing is evicted: no program that does the upkeep is running, or it does not keep up.",
			repairs: "a block that calls `howdah.maintain` until it fits; with `noeviction`, a larger budget by `howdah.alter_cache`",
			judge:   each(overBudget),
		},
	}
}

func upkeepMissing(db *database) []trouble {
	if db.standby || len(db.upkeep) == 0 {
		return nil
	}
	u := db.upkeep[0]
	if u.Led || u.Since >= 0 && u.Since < db.opts.UpkeepSilence.Seconds() {
		return nil
	}
	var work []string
	for _, t := range db.tables {
		if t.known() && t.sample != nil && t.sample.Late > 0 {
			work = append(work, fmt.Sprintf("about %s of %s expired more than %s ago",
				count(t.sample.Late, "row", "rows"), t.shown(), db.opts.UpkeepSilence))
		}
		if over := t.exceeds(); over != "" {
			work = append(work, fmt.Sprintf("%s is over its budget: %s", t.shown(), over))
		}
	}
	if len(work) == 0 {
		return nil
	}
	last := "there was never a round"
	if u.Since >= 0 {
		last = "the last round was " + seconds(u.Since) + " ago"
	}
	return []trouble{{
		object: "upkeep", evidence: last + "; no process leads; " + strings.Join(work, "; "),
		repair: []string{maintain("")}, note: db.regularly(),
	}}
}

func expiryBacklog(db *database, t *table) *trouble {
	if t.expiry == nil || t.sample == nil || t.sample.Expired < db.opts.MinRows || t.sample.Expired*10 < t.sample.Rows*3 {
		return nil
	}
	tr := &trouble{
		evidence: fmt.Sprintf("about %s of %s rows (%s) have expired, by a sample of %s", number(t.sample.Expired), number(t.sample.Rows),
			percent(t.sample.Expired, t.sample.Rows), count(t.sample.Blocks, "block", "blocks")),
		repair: []string{t.reap(), "VACUUM (ANALYZE) " + t.quoted},
		note:   "It commits as it goes, so it must not run inside a transaction block; it can be stopped and run again at any time. ",
	}
	if t.known() {
		tr.repair[0] = maintain(t.upkept())
		tr.note += db.regularly() + " If it runs already, look into its log."
	} else {
		tr.note += "Let something do it regularly."
	}
	return tr
}

func overBudget(db *database, t *table) *trouble {
	over := t.exceeds()
	if over == "" {
		return nil
	}
	tr := &trouble{evidence: over + ", " + t.cache.Eviction}
	if t.cache.Eviction != "noeviction" {
		tr.repair = []string{maintain(t.cache.Name)}
		tr.note = db.regularly()
		if strings.HasPrefix(t.cache.Eviction, "volatile-") {
			tr.note += " Entries without a TTL are never evicted by this policy: choose an allkeys one, or a larger budget, with howdah.alter_cache."
		}
		return tr
	}
	// Each partition has its share.
	shares := int64(max(1, db.divided()))
	budget := fmt.Sprintf("max_bytes => %d", t.sample.Budget/4*5*shares)
	if t.cache.MaxEntries > 0 && t.sample.Live > t.cache.MaxEntries/10*11 {
		budget = fmt.Sprintf("max_entries => %d", t.sample.Live/4*5*shares)
		if t.cache.MaxBytes > 0 && t.sample.Budget > t.cache.MaxBytes/10*11 {
			budget += fmt.Sprintf(", max_bytes => %d", t.sample.Budget/4*5*shares)
		}
	}
	tr.settings = true
	tr.repair = []string{fmt.Sprintf("SELECT howdah.alter_cache(%s, %s)", literal(t.cache.Whole), budget)}
	tr.note = "This accepts the size. The policy evicts nothing: to keep the budget, delete entries, or choose another policy (eviction => 'allkeys-lru')."
	return tr
}
