package doctor

import (
	"fmt"
	"strconv"
)

// fillfactor is that of the table; PostgreSQL's default is 100.
func (t *table) fillfactor() int {
	n, err := strconv.Atoi(t.option("fillfactor"))
	if err != nil {
		return 100
	}
	return n
}

// oldAge judges an age in transactions.
func (db *database) oldAge(age int64) (Severity, string) {
	const alarming = 1_500_000_000
	limit := db.opts.XIDAge
	if limit == 0 {
		limit = min(db.value("autovacuum_freeze_max_age")*3/2, alarming)
	}
	if age < limit || limit == 0 {
		return "", ""
	}
	severity := Warning
	if age >= alarming {
		severity = Error
	}
	return severity, fmt.Sprintf("its oldest row is %s transactions old; at 2,147,483,647 PostgreSQL stops to write; autovacuum_freeze_max_age = %s",
		number(age), number(db.value("autovacuum_freeze_max_age")))
}

const wraparound = "Transaction ids are reused after two billion. If old rows are not frozen before, PostgreSQL refuses every write until they are. A cache that writes one transaction per call gets there in weeks."

func healthChecks() []check {
	return []check{
		{
			id: "dead-rows", severity: Warning, finds: "a fifth of the rows or more are dead",
			why:     "Dead rows fill pages and index entries: reads touch more of them, and the table grows.",
			repairs: "`VACUUM (ANALYZE)`",
			judge:   eachTable(deadRows),
		},
		{
			id: "low-hot-ratio", severity: Warning, finds: "less than half of the updates of a Howdah table were HOT",
			why:     "An update that finds no room in its page moves the row to another one and adds an index entry; VACUUM has to clean both.",
			repairs: "a lower fillfactor, by `howdah.alter_cache`; for sessions `ALTER TABLE ... SET (fillfactor = ...)`",
			judge:   over((*table).known, lowHOTRatio),
		},
		{
			id: "bloat", severity: Warning, finds: "rows fill less than 30 % of the table (estimated from a sample)",
			why:     "The rest is read, cached in memory and backed up for nothing. Later entries fill it again; a table that will not grow back wastes it for good.",
			repairs: "`VACUUM (FULL, ANALYZE)`",
			judge:   eachTable(bloat),
		},
		{
			id: "xid-age", severity: Warning, finds: "rows of a table have not been frozen for long", why: wraparound,
			repairs: "`VACUUM (FREEZE)`",
			judge:   eachTable(xidAge),
		},
		{
			id: "database-xid-age", severity: Warning, finds: "the oldest rows of the database have not been frozen for long", why: wraparound,
			repairs: "`VACUUM (FREEZE)`",
			judge:   databaseXIDAge,
		},
		{
			id: "never-analysed", severity: Warning, finds: "a large table was never analysed",
			why:     "The planner guesses how many rows there are. Autovacuum analyses every table that changes: that it did not says that it does not run, or fails.",
			repairs: "`ANALYZE`",
			judge:   eachTable(neverAnalysed),
		},
		{
			id: "low-hit-ratio", severity: Warning, finds: "more than a tenth of the pages read were not in shared_buffers",
			why:     "A page that is not there is copied from the system's page cache at best, and read from disk at worst: the cache is as slow as the disk.",
			repairs: "more `shared_buffers`, or a smaller budget",
			judge:   eachTable(lowHitRatio),
		},
		{
			id: "toast-large", severity: Info, finds: "most of a table is values stored out of line",
			why:     "A value longer than 2 kB is cut into pieces in the TOAST table; reading it takes an index scan more, writing it rewrites all pieces.",
			repairs: "none is needed; compress large values in the application",
			judge:   eachTable(toastLarge),
		},
		{
			id: "duplicate-index", severity: Warning, finds: "an index that another one can stand in for",
			why:     "A UNIQUE or PRIMARY KEY constraint has an index already. The second one makes every write dearer and serves no query better.",
			repairs: "`DROP INDEX CONCURRENTLY`",
			judge:   indexes(func(*table) bool { return true }, duplicateIndex),
		},
		{
			id: "invalid-index", severity: Warning, finds: "an index that is not valid",
			why:     "A CREATE INDEX CONCURRENTLY failed half-way. Every write maintains the index, no query uses it.",
			repairs: "`DROP INDEX CONCURRENTLY`",
			judge:   indexes(func(*table) bool { return true }, invalidIndex),
		},
	}
}

func deadRows(db *database, t *table) *trouble {
	if t.Dead < db.opts.MinRows || t.Dead*5 < t.Live+t.Dead {
		return nil
	}
	return &trouble{
		evidence: fmt.Sprintf("%s dead and %s live rows", number(t.Dead), number(t.Live)),
		repair:   []string{"VACUUM (ANALYZE) " + t.quoted},
		note:     "If they stay, something holds an old snapshot: see idle-in-transaction, long-transaction, prepared-transaction, idle-replication-slot. If they come back, see the findings about autovacuum.",
	}
}

func lowHOTRatio(db *database, t *table) *trouble {
	if t.Updated < db.opts.MinRows || t.HOT*2 >= t.Updated {
		return nil
	}
	tr := &trouble{evidence: fmt.Sprintf("%s of %s updates (%s) were HOT; fillfactor %d", number(t.HOT), number(t.Updated), percent(t.HOT, t.Updated), t.fillfactor())}
	switch next := max(50, t.fillfactor()-15); {
	case next >= t.fillfactor(): // it is no lack of room
	case t.cache != nil:
		tr.settings = true
		tr.repair = []string{fmt.Sprintf("SELECT howdah.alter_cache(%s, fillfactor => %d)", literal(t.cache.Whole), next)}
	default:
		tr.repair = []string{fmt.Sprintf("ALTER TABLE %s SET (fillfactor = %d)", t.quoted, next)}
	}
	tr.note = "Repair cache-index-breaks-hot first, if it was found, and look for old snapshots. The counts are those since the statistics were last reset; a superuser resets them with " +
		fmt.Sprintf("SELECT pg_stat_reset_single_table_counters(%s::regclass).", literal(t.quoted))
	return tr
}

func bloat(db *database, t *table) *trouble {
	if t.sample == nil || t.HeapBytes < db.opts.MinBytes || t.sample.RowBytes*10 >= t.HeapBytes*3 {
		return nil
	}
	return &trouble{
		evidence: fmt.Sprintf("about %s of rows in %s (%s), by a sample of %s", size(t.sample.RowBytes), size(t.HeapBytes),
			percent(t.sample.RowBytes, t.HeapBytes), count(t.sample.Blocks, "block", "blocks")),
		repair: []string{"VACUUM (FULL, ANALYZE) " + t.quoted},
		note:   "It rewrites the table under an exclusive lock: no session can read or write it meanwhile. If dead-rows was found too, repair that first.",
	}
}

func xidAge(db *database, t *table) *trouble {
	severity, evidence := db.oldAge(t.XIDAge)
	if severity == "" {
		return nil
	}
	return &trouble{severity: severity, evidence: evidence, repair: []string{"VACUUM (FREEZE) " + t.quoted},
		note: "If the age does not fall, something holds an old snapshot."}
}

func databaseXIDAge(db *database) []trouble {
	severity, evidence := db.oldAge(db.xidAge)
	if severity == "" {
		return nil
	}
	return []trouble{{object: "database " + db.name, severity: severity, evidence: evidence, repair: []string{"VACUUM (FREEZE)"},
		note: "It vacuums every table of the database that the role owns; a superuser or the owner of the database reaches all."}}
}

func neverAnalysed(db *database, t *table) *trouble {
	rows := t.Live
	if t.sample != nil {
		rows = max(rows, t.sample.Rows)
	}
	if t.Analysed || rows < db.opts.MinRows {
		return nil
	}
	return &trouble{evidence: fmt.Sprintf("about %s, no statistics", count(rows, "row", "rows")), repair: []string{"ANALYZE " + t.quoted}}
}

func lowHitRatio(db *database, t *table) *trouble {
	total := t.BlocksHit + t.BlocksRead
	if total < 10*db.opts.MinRows || t.BlocksRead*10 <= total {
		return nil
	}
	return &trouble{
		evidence: fmt.Sprintf("%s of %s pages were found in memory; the table is %s, shared_buffers %s",
			percent(t.BlocksHit, total), number(total), size(t.bytes()), db.settings["shared_buffers"].shown()),
		note: "Raise shared_buffers (ALTER SYSTEM, then a restart), give the cache a smaller budget, or an instance of its own. The counts are those since the statistics were last reset.",
	}
}

func toastLarge(db *database, t *table) *trouble {
	if t.ToastBytes < db.opts.MinBytes || t.ToastBytes < 4*t.HeapBytes {
		return nil
	}
	return &trouble{evidence: fmt.Sprintf("%s out of line, %s in the table", size(t.ToastBytes), size(t.HeapBytes)),
		note: "Compress large values in the application, or store them elsewhere and cache where they are."}
}

func duplicateIndex(_ *database, t *table, ix *index) *trouble {
	twin := t.twin(ix)
	if twin == nil {
		return nil
	}
	return dropIndex(ix, fmt.Sprintf("on %s of %s, the same as %s; it occupies %s", t.columnNames(ix.Columns), t.quoted, twin.Quoted, size(ix.Bytes)))
}

func invalidIndex(_ *database, t *table, ix *index) *trouble {
	if ix.Valid || ix.Constraint {
		return nil
	}
	return dropIndex(ix, fmt.Sprintf("on %s of %s, not valid; it occupies %s", t.columnNames(ix.Columns), t.quoted, size(ix.Bytes)))
}
