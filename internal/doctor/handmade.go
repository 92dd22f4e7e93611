package doctor

import (
	"fmt"
	"strings"
)

// alterTypes is the statement that gives columns another type.
func (t *table) alterTypes(columns []column, to func(column) string) string {
	var parts []string
	for _, c := range columns {
		parts = append(parts, "ALTER COLUMN "+quote(c.Name)+" TYPE "+to(c))
	}
	return fmt.Sprintf("ALTER TABLE %s %s", t.quoted, strings.Join(parts, ", "))
}

func (t *table) columnsThat(which func(column) bool) (chosen []column) {
	for _, c := range t.columns {
		if which(c) {
			chosen = append(chosen, c)
		}
	}
	return chosen
}

func listed(columns []column) string {
	var names []string
	for _, c := range columns {
		names = append(names, c.Name+" "+c.Full)
	}
	return strings.Join(names, ", ")
}

const rewrites = "It rewrites the table under an exclusive lock: no session can read or write it meanwhile."

// indexOn finds an index on a column that most calls update. Where hardly anything was updated
// the index does no harm: many frameworks make one, and delete by it.
func indexOn(which func(*table) *column) func(*database) []trouble {
	return indexes(func(t *table) bool { return !t.ours() && which(t) != nil }, func(db *database, t *table, ix *index) *trouble {
		if t.Updated < db.opts.MinRows || ix.Constraint || t.twin(ix) != nil || !db.stopsHOT(ix, which(t).Number) {
			return nil
		}
		return dropIndex(ix, fmt.Sprintf("%s index on %s of %s; it occupies %s; %s of %s updates (%s) were HOT", ix.Method,
			t.columnNames(ix.Columns), t.quoted, size(ix.Bytes), number(t.HOT), number(t.Updated), percent(t.HOT, t.Updated)))
	})
}

func handMadeChecks() []check {
	return []check{
		{
			id: "expiry-index", severity: Warning, finds: "an index on the column that holds the expiry",
			why:     "Each time an expiry is moved, PostgreSQL has to add an entry to every index of the table, because the update cannot be HOT. Expired rows are found as well by reading the table in ranges of pages.",
			repairs: "`DROP INDEX CONCURRENTLY`",
			judge:   indexOn(func(t *table) *column { return t.expiry }),
		},
		{
			id: "last-read-index", severity: Warning, finds: "an index on the column that holds the time of the last read",
			why:     "Every read that is remembered becomes an update of every index of the table, because it cannot be HOT.",
			repairs: "`DROP INDEX CONCURRENTLY`",
			judge:   indexOn(func(t *table) *column { return t.lastRead }),
		},
		{
			id: "sequential-session-id", severity: Error, finds: "the key of a session is a number from a sequence",
			why:     "A user with session 1000 can try 1001: a number that counts up can be guessed, and a request with it acts for another user. A token needs 64 random bits at least.",
			repairs: "a column with a random token, and the application looks sessions up by it",
			judge:   eachHandMade(sequentialSessionID),
		},
		{
			id: "integer-id", severity: Warning, finds: "an integer column that a sequence fills",
			why:     "A table whose rows come and go uses up numbers quickly, also for inserts that fail or conflict. At 2,147,483,647 every insert fails.",
			repairs: "`ALTER TABLE ... ALTER COLUMN ... TYPE bigint`",
			judge:   eachHandMade(integerID),
		},
		{
			id: "varchar-limit", severity: Warning, finds: "columns of type varchar(n)",
			why:     "PostgreSQL stores varchar(n) as it stores text; the limit saves nothing, is checked on every write, and refuses a longer value at the worst time.",
			repairs: "`ALTER TABLE ... ALTER COLUMN ... TYPE text`",
			judge:   eachHandMade(varcharLimit),
		},
		{
			id: "json-payload", severity: Warning, finds: "the payload is of type jsonb or json",
			why:     "A cache hands out what was put in. PostgreSQL parses the document on every write and prints it on every read, changes its spelling (jsonb), and after any change writes it whole, TOAST pieces included.",
			repairs: "`ALTER TABLE ... ALTER COLUMN ... TYPE text`",
			judge:   eachHandMade(jsonPayload),
		},
		{
			id: "timestamp-without-zone", severity: Warning, finds: "times are stored without their time zone",
			why:     "Compared with now(), such a time is read in the TimeZone of each session: clients with different settings disagree by hours on what has expired. timestamptz takes the same 8 bytes.",
			repairs: "`ALTER TABLE ... ALTER COLUMN ... TYPE timestamptz`",
			judge:   eachHandMade(timestampWithoutZone),
		},
		{
			id: "unlogged-sessions", severity: Warning, finds: "sessions in an UNLOGGED table",
			why:     "After a crash or a failover the table is empty: every user is logged out. A clean restart keeps it.",
			repairs: "`ALTER TABLE ... SET LOGGED`, with `synchronous_commit = off` for touches",
			judge:   eachTable(unloggedSessions),
		},
		{
			id: "fillfactor-full", severity: Warning, finds: "pages are filled completely although rows are updated",
			why:     "An update wants room for the next version of the row in the same page (HOT). Without it the row moves and every index gets a new entry.",
			repairs: "`ALTER TABLE ... SET (fillfactor = 70)`",
			judge:   eachHandMade(fillfactorFull),
		},
		{
			id: "autovacuum-default", severity: Warning, finds: "a churning table has stock autovacuum settings",
			why:     "Autovacuum comes when a fifth of the rows are dead: on a table that is rewritten all the time that is late, and then there is much to do at once.",
			repairs: "`ALTER TABLE ... SET (autovacuum_...)`",
			judge:   eachHandMade(autovacuumDefault),
		},
		{
			id: "autovacuum-off-table", severity: Error, finds: "autovacuum is switched off for a table",
			why:     "Its dead rows are never removed, and it grows until the disk is full.",
			repairs: "`ALTER TABLE ... RESET (autovacuum_enabled)`",
			judge:   eachHandMade(autovacuumOffTable),
		},
		{
			id: "no-unique-key", severity: Warning, finds: "no unique index on the key of a cache",
			why:     "Two writers of the same key store two rows, ON CONFLICT cannot be used, and which of them a reader gets is chance.",
			repairs: "`CREATE UNIQUE INDEX CONCURRENTLY`, after removing duplicates",
			judge:   eachHandMade(noUniqueKey),
		},
		{
			id: "lru-null-last-read", severity: Warning, finds: "the time of the last read may be NULL",
			why:     "ORDER BY sorts NULL last: what was never read since it was stored, the best candidate, is never evicted.",
			repairs: "fill it, then `SET DEFAULT now(), SET NOT NULL`",
			judge:   eachHandMade(lruNullLastRead),
		},
		{
			id: "write-per-read", severity: Warning, finds: "about every read writes, to remember when it was",
			why:     "Each read becomes a transaction with a row version, WAL and a dead row, and runs on the primary only. Uses need not be remembered to the second.",
			repairs: "the application collects keys and updates them together, every 30 to 60 s",
			judge:   eachHandMade(writePerRead),
		},
	}
}

func sequentialSessionID(_ *database, t *table) *trouble {
	if !t.sessions || !t.key.number() || t.key.Sequence == "" {
		return nil
	}
	evidence := fmt.Sprintf("%s is %s, filled by sequence %s", t.key.Name, t.key.Type, t.key.Sequence)
	if t.key.LastID > 0 {
		evidence += fmt.Sprintf(", now at %s", number(t.key.LastID))
	}
	return &trouble{
		evidence: evidence + "; there is no column with a token",
		repair: []string{fmt.Sprintf("ALTER TABLE %s ADD COLUMN token uuid NOT NULL DEFAULT gen_random_uuid(), ADD CONSTRAINT %s UNIQUE (token)",
			t.quoted, quote(t.Name+"_token_key"))},
		note: rewrites + " Then hand out the token (122 random bits) in place of the number, and look sessions up by it. Better still, store its SHA-256 only.",
	}
}

func integerID(_ *database, t *table) *trouble {
	columns := t.columnsThat(func(c column) bool { return c.Type == "integer" && c.Sequence != "" })
	if len(columns) == 0 {
		return nil
	}
	c := columns[0]
	return &trouble{
		evidence: fmt.Sprintf("%s is integer; its sequence is at %s (%s of the largest)", c.Name, number(c.LastID), percent(c.LastID, 1<<31-1)),
		repair: []string{
			t.alterTypes(columns[:1], func(column) string { return "bigint" }),
			fmt.Sprintf("ALTER SEQUENCE %s AS bigint", c.Sequence),
		},
		note: rewrites,
	}
}

func varcharLimit(_ *database, t *table) *trouble {
	columns := t.columnsThat(func(c column) bool {
		return c.Type == "character varying" && strings.Contains(c.Full, "(") || c.Type == "character"
	})
	if len(columns) == 0 {
		return nil
	}
	return &trouble{
		evidence: listed(columns),
		repair:   []string{t.alterTypes(columns, func(column) string { return "text" })},
		note:     "For varchar it does not rewrite the table; it takes an exclusive lock for a moment.",
	}
}

func jsonPayload(_ *database, t *table) *trouble {
	columns := t.columnsThat(func(c column) bool { return c.Number == t.payload.Number && (c.Type == "jsonb" || c.Type == "json") })
	if len(columns) == 0 {
		return nil
	}
	evidence := fmt.Sprintf("%s; %s out of line (TOAST)", listed(columns), size(t.ToastBytes))
	if t.sample != nil {
		evidence = fmt.Sprintf("%s; on average %s as stored, %s out of line (TOAST)", listed(columns), size(t.sample.Payload), size(t.ToastBytes))
	}
	return &trouble{
		evidence: evidence,
		repair:   []string{t.alterTypes(columns, func(c column) string { return "text USING " + quote(c.Name) + "::text" })},
		note:     rewrites + " Keep the type if queries look into the documents.",
	}
}

func timestampWithoutZone(db *database, t *table) *trouble {
	columns := t.columnsThat(func(c column) bool { return c.Type == "timestamp without time zone" })
	if len(columns) == 0 {
		return nil
	}
	return &trouble{
		evidence: fmt.Sprintf("%s; the TimeZone of this session is %s", listed(columns), db.timeZone),
		repair: []string{t.alterTypes(columns, func(c column) string {
			return fmt.Sprintf("timestamptz USING %s AT TIME ZONE %s", quote(c.Name), literal(db.timeZone))
		})},
		note: rewrites + " Replace the name of the zone by that of the sessions that wrote the rows.",
	}
}

func unloggedSessions(db *database, t *table) *trouble {
	if !t.sessions || t.Persistence != "u" {
		return nil
	}
	tr := &trouble{
		evidence: fmt.Sprintf("UNLOGGED, about %s rows, %s", number(max(t.Live, int64(t.Rows), 0)), size(t.bytes())),
		repair:   []string{fmt.Sprintf("ALTER TABLE %s SET LOGGED", t.quoted)},
		note:     rewrites + " SET LOCAL synchronous_commit = off in the transactions that only extend a session keeps them cheap.",
	}
	if t.ours() { // promised to be durable
		tr.severity = Error
	}
	if replicas := db.replicas(); replicas != "" {
		tr.severity = Error
		tr.evidence += "; " + replicas
	}
	return tr
}

func fillfactorFull(db *database, t *table) *trouble {
	if t.fillfactor() < 95 || t.Updated < db.opts.MinRows || t.HOT*10 >= t.Updated*9 {
		return nil
	}
	return &trouble{
		evidence: fmt.Sprintf("fillfactor %d; %s of %s updates (%s) were HOT", t.fillfactor(), number(t.HOT), number(t.Updated), percent(t.HOT, t.Updated)),
		repair:   []string{fmt.Sprintf("ALTER TABLE %s SET (fillfactor = 70)", t.quoted)},
		note:     "No session waits for it. It holds for pages that are filled from now on: in a table that churns that is soon; otherwise run VACUUM FULL once, under an exclusive lock.",
	}
}

func autovacuumDefault(db *database, t *table) *trouble {
	churn := t.Updated + t.Deleted
	if t.option("autovacuum_vacuum_scale_factor") != "" || churn < db.opts.MinRows {
		return nil
	}
	return &trouble{
		evidence: fmt.Sprintf("%s updates and deletes on %s live rows, %s dead; autovacuum_vacuum_scale_factor = %s",
			number(churn), number(t.Live), number(t.Dead), db.settings["autovacuum_vacuum_scale_factor"].shown()),
		repair: []string{fmt.Sprintf("ALTER TABLE %s SET (autovacuum_vacuum_threshold = 2000, autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_cost_delay = 1, autovacuum_vacuum_cost_limit = 1000)", t.quoted)},
		note:   "No session waits for it.",
	}
}

func autovacuumOffTable(_ *database, t *table) *trouble {
	if boolean(t.option("autovacuum_enabled")) != "off" {
		return nil
	}
	return &trouble{
		evidence: fmt.Sprintf("autovacuum_enabled = %s; %s dead and %s live rows", t.option("autovacuum_enabled"), number(t.Dead), number(t.Live)),
		repair:   []string{fmt.Sprintf("ALTER TABLE %s RESET (autovacuum_enabled)", t.quoted)},
	}
}

func noUniqueKey(_ *database, t *table) *trouble {
	if t.uniquelyIndexed(t.key) {
		return nil
	}
	for _, ix := range t.indexes {
		if ix.Unique && ix.Valid && len(ix.Columns) > 1 {
			return nil // the key is one of several columns
		}
	}
	return &trouble{
		evidence: fmt.Sprintf("column %s has no unique index", t.key.Name),
		repair: []string{
			fmt.Sprintf("DELETE FROM %[1]s AS old USING %[1]s AS new WHERE old.%[2]s = new.%[2]s AND old.ctid < new.ctid", t.quoted, quote(t.key.Name)),
			fmt.Sprintf("CREATE UNIQUE INDEX CONCURRENTLY %s ON %s (%s)", quote(t.Name+"_"+t.key.Name+"_unique"), t.quoted, quote(t.key.Name)),
		},
		note: "The first keeps one row of each key, the one that lies last in the table: look at the duplicates before.",
	}
}

func lruNullLastRead(_ *database, t *table) *trouble {
	c := t.lastRead
	if c == nil || c.NotNull {
		return nil
	}
	tr := &trouble{evidence: fmt.Sprintf("%s %s is nullable", c.Name, c.Full)}
	if strings.HasPrefix(c.Type, "timestamp") || c.Type == "date" {
		tr.repair = []string{
			fmt.Sprintf("UPDATE %s SET %[2]s = now() WHERE %[2]s IS NULL", t.quoted, quote(c.Name)),
			fmt.Sprintf("ALTER TABLE %s ALTER COLUMN %[2]s SET DEFAULT now(), ALTER COLUMN %[2]s SET NOT NULL", t.quoted, quote(c.Name)),
		}
		tr.note = "The second reads the table under an exclusive lock. Writers that store NULL explicitly fail from then on."
	} else {
		tr.note = "Fill it with the time of the insert, give it that default, and declare it NOT NULL."
	}
	return tr
}

func writePerRead(db *database, t *table) *trouble {
	c := t.lastRead
	if c == nil && t.sessions {
		c = t.expiry
	}
	if c == nil || t.Updated < db.opts.MinRows || t.IndexScans < t.Updated || t.IndexScans*2 > t.Updated*5 {
		return nil
	}
	value, stale := "now()", fmt.Sprintf("%s < now() - interval '10 min'", quote(c.Name))
	if c == t.expiry {
		value, stale = "now() + interval '30 min'", fmt.Sprintf("%s < now() + interval '20 min'", quote(c.Name))
	}
	return &trouble{
		evidence: fmt.Sprintf("%s updates, %s index scans, %s rows inserted", number(t.Updated), number(t.IndexScans), number(t.Inserted)),
		note: fmt.Sprintf("Read with a plain SELECT, remember the keys that were used, and every minute run once: UPDATE %s SET %s = %s WHERE %s = ANY ($1) AND %s",
			t.quoted, quote(c.Name), value, quote(t.key.Name), stale),
	}
}
