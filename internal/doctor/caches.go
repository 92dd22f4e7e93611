package doctor

import (
	"fmt"
	"slices"
	"strings"
)

// settingsDrift compares the storage parameters of a table with those that
// Howdah gives it.
func settingsDrift(_ *database, t *table) *trouble {
	var seen, set, reset []string
	known := make(map[string]bool)
	for _, p := range t.storage() {
		known[p[0]] = true
		if is := t.option(p[0]); !sameValue(is, p[1]) {
			if is == "" {
				is = "not set"
			}
			seen = append(seen, fmt.Sprintf("%s is %s, Howdah sets %s", p[0], is, p[1]))
			set = append(set, p[0]+" = "+p[1])
		}
	}
	for prefix, options := range map[string][]string{"": t.Options, "toast.": t.ToastOptions} {
		for _, o := range options {
			name, value, _ := strings.Cut(o, "=")
			if name = prefix + name; !known[name] && strings.Contains(name, "autovacuum_") {
				seen = append(seen, fmt.Sprintf("%s is %s, Howdah does not set it", name, value))
				reset = append(reset, name)
			}
		}
	}
	if len(seen) == 0 {
		return nil
	}
	slices.Sort(reset)
	tr := &trouble{
		evidence: strings.Join(seen, "; "),
		note:     "Neither readers nor writers wait. Pages that are full stay full until their rows move.",
	}
	if t.cache != nil {
		tr.note += " For a fillfactor of your own use howdah.alter_cache."
	}
	if len(set) > 0 {
		tr.repair = append(tr.repair, fmt.Sprintf("ALTER TABLE %s SET (%s)", t.quoted, strings.Join(set, ", ")))
	}
	if len(reset) > 0 {
		tr.repair = append(tr.repair, fmt.Sprintf("ALTER TABLE %s RESET (%s)", t.quoted, strings.Join(reset, ", ")))
	}
	return tr
}

// columnNames names columns by their numbers.
func (t *table) columnNames(numbers []int16) string {
	var names []string
	for _, c := range t.columns {
		if slices.Contains(numbers, c.Number) {
			names = append(names, c.Name)
		}
	}
	return strings.Join(names, ", ")
}

// own reports whether Howdah made the index.
func (t *table) own(ix *index) bool {
	return ix.Primary || ix.Name == t.Name+"_prefix" || t.sessions && ix.Name == "session_by_user"
}

// changes reports whether an update changes a column: of a cache any but what
// names the entry, of a session what a use or a save of it touches.
func (t *table) changes(column int16) bool {
	name := t.columnNames([]int16{column})
	if t.sessions {
		return slices.Contains([]string{"version", "last_seen_at", "idle_expires_at", "payload"}, name)
	}
	return name != "hash" && name != "key"
}

// stopsHOT reports whether an update of a column makes an update of this index
// necessary. Summarizing indexes (BRIN) do not count since PostgreSQL 16.
func (db *database) stopsHOT(ix *index, column int16) bool {
	return slices.Contains(ix.Columns, column) && (ix.Method != "brin" || db.number < 160000)
}

// twin is another index of the table that can stand in for this one.
func (t *table) twin(ix *index) *index {
	if ix.Constraint || ix.Primary {
		return nil
	}
	for i := range t.indexes {
		other := &t.indexes[i]
		if other.ID != ix.ID && other.Valid && other.Signature == ix.Signature &&
			(other.Unique && !ix.Unique || other.Unique == ix.Unique && (other.Constraint || other.ID < ix.ID)) {
			return other
		}
	}
	return nil
}

// dropIndex is the trouble with an index that should not be.
func dropIndex(ix *index, evidence string) *trouble {
	return &trouble{
		evidence: evidence,
		repair:   []string{"DROP INDEX CONCURRENTLY " + ix.Quoted},
		note:     "It waits for running transactions and blocks no reader or writer; it cannot run inside a transaction block.",
	}
}

func cacheChecks() []check {
	return []check{
		{
			id: "schema-version", severity: Error, finds: "the Howdah schema is not one that this program can work with",
			why: "Programs refuse to open the caches.", repairs: "`howdah migrate`, or a newer program",
			judge: schemaVersion,
		},
		{
			id: "schema-absent", severity: Info, finds: "there is no Howdah schema in the database",
			why: "Only hand-made tables can be examined.", repairs: "`howdah migrate`",
			judge: schemaAbsent,
		},
		{
			id: "cache-table-missing", severity: Error, finds: "a cache has no table",
			why: "Every call to this cache fails.", repairs: "`howdah.drop_cache`, then `howdah.create_cache`",
			judge: cacheTableMissing,
		},
		{
			id: "cache-unregistered", severity: Warning, finds: "a table howdah_internal.cache_... belongs to no cache",
			why:     "No program reaches it through Howdah, and no upkeep cleans it: it only occupies space.",
			repairs: "`DROP TABLE ... CASCADE`",
			judge:   over(func(t *table) bool { return t.ours() && !t.known() }, cacheUnregistered),
		},
		{
			id: "cache-primary-key", severity: Error, finds: "a Howdah table without its primary key",
			why:     "Every write needs it (ON CONFLICT) and fails without; every read scans the whole table.",
			repairs: "`ALTER TABLE ... ADD CONSTRAINT ... PRIMARY KEY (hash)`, after removing duplicates",
			judge:   each(cachePrimaryKey),
		},
		{
			id: "cache-index-breaks-hot", severity: Warning, finds: "an index on a column of a Howdah table that updates change",
			why:     "Howdah's updates change no indexed column, so PostgreSQL keeps them within the page (HOT) and cleans up after them without VACUUM. With this index every write adds an entry to every index of the table.",
			repairs: "`DROP INDEX CONCURRENTLY`",
			judge:   indexes((*table).known, cacheIndexBreaksHOT),
		},
		{
			id: "cache-extra-index", severity: Warning, finds: "an index on a Howdah table that Howdah did not make",
			why:     "Every insert and every delete pays for it, Howdah's statements never use it, and an index on whole keys refuses keys longer than 2,700 bytes.",
			repairs: "`DROP INDEX CONCURRENTLY`",
			judge:   indexes((*table).known, cacheExtraIndex),
		},
		{
			id: "cache-prefix-index-missing", severity: Warning, finds: "a cache with prefix_index => true has no such index",
			why:     "howdah.delete_prefix reads the whole table.",
			repairs: "`CREATE INDEX CONCURRENTLY`",
			judge:   each(cachePrefixIndexMissing),
		},
		{
			id: "cache-durability-drift", severity: Error, finds: "the table of a cache is not of the cache's durability class",
			why:     "Either entries that were promised to survive a crash will not, or a cache that may lose them pays for WAL.",
			repairs: "`ALTER TABLE ... SET LOGGED` or `SET UNLOGGED`",
			judge:   each(cacheDurabilityDrift),
		},
		{
			id: "cache-settings-drift", severity: Warning, finds: "storage parameters of a Howdah table are not those that Howdah gives it",
			why:     "They leave room for updates within the page and let autovacuum follow the churn; with stock settings dead rows and index entries pile up.",
			repairs: "`ALTER TABLE ... SET (...)`", judge: over((*table).known, settingsDrift),
		},
		{
			id: "unlogged-replicated", severity: Warning, finds: "an UNLOGGED table on a cluster that has standbys",
			why:     "Standbys have the table, but empty: it cannot be read there, and it is empty after a failover.",
			repairs: "a cache of class `async` or `sync` (`howdah.alter_cache`); for other tables `ALTER TABLE ... SET LOGGED`",
			judge:   eachTable(unloggedReplicated),
		},
	}
}

func schemaVersion(db *database) []trouble {
	if db.schemaErr == nil {
		return nil
	}
	return []trouble{{object: "schema howdah", evidence: db.schemaErr.Error(), note: "This is a command to run, not SQL."}}
}

func schemaAbsent(db *database) []trouble {
	if db.installed || db.hidden || db.schemaErr != nil {
		return nil
	}
	return []trouble{{object: "schema howdah", evidence: "there is none in database " + db.name, note: "To have one, run: howdah migrate"}}
}

func cacheTableMissing(db *database) (found []trouble) {
	for _, name := range db.missing {
		whole, _, _ := strings.Cut(name, "/")
		found = append(found, trouble{
			object: "cache " + name, evidence: "howdah_internal.cache lists it, but its table is not there",
			repair: []string{fmt.Sprintf("SELECT howdah.drop_cache(%s)", literal(whole))},
			note:   "Then make it again with howdah.create_cache, if it is still wanted.",
		})
	}
	return found
}

func cacheUnregistered(db *database, t *table) *trouble {
	if !db.installed {
		return nil
	}
	return &trouble{
		evidence: fmt.Sprintf("howdah_internal.cache has no row for it; it occupies %s", size(t.bytes())),
		repair:   []string{"DROP TABLE " + t.quoted + " CASCADE"}, note: "Look at what it holds first. CASCADE takes its view along.",
	}
}

func cachePrimaryKey(_ *database, t *table) *trouble {
	if slices.ContainsFunc(t.indexes, func(ix index) bool { return ix.Primary && ix.Valid }) {
		return nil
	}
	return &trouble{
		evidence: fmt.Sprintf("%s and no primary key", count(int64(len(t.indexes)), "index", "indexes")),
		repair: []string{
			fmt.Sprintf("DELETE FROM %[1]s AS old USING %[1]s AS new WHERE old.hash = new.hash AND (old.version, old.ctid) < (new.version, new.ctid)", t.quoted),
			fmt.Sprintf("ALTER TABLE %s ADD CONSTRAINT %s PRIMARY KEY (hash)", t.quoted, quote(t.Name+"_pkey")),
		},
		note: "The first removes rows that were stored twice meanwhile. The second locks the table while it builds the index.",
	}
}

func cacheIndexBreaksHOT(db *database, t *table, ix *index) *trouble {
	changes := func(n int16) bool { return t.changes(n) && db.stopsHOT(ix, n) }
	if t.own(ix) || !slices.ContainsFunc(ix.Columns, changes) {
		return nil
	}
	return dropIndex(ix, fmt.Sprintf("on %s of %s; it occupies %s and was scanned %s; %s of %s updates were HOT",
		t.columnNames(ix.Columns), t.quoted, size(ix.Bytes), count(ix.Scans, "time", "times"), number(t.HOT), number(t.Updated)))
}

func cacheExtraIndex(db *database, t *table, ix *index) *trouble {
	if t.own(ix) || t.twin(ix) != nil || slices.ContainsFunc(ix.Columns, t.changes) {
		return nil
	}
	tr := dropIndex(ix, fmt.Sprintf("on %s of %s; it occupies %s and was scanned %s",
		t.columnNames(ix.Columns), t.quoted, size(ix.Bytes), count(ix.Scans, "time", "times")))
	if ix.Constraint {
		tr.repair = []string{fmt.Sprintf("ALTER TABLE %s DROP CONSTRAINT %s", t.quoted, quote(ix.Name))}
		tr.note = "It takes an exclusive lock for a moment."
	}
	return tr
}

func cachePrefixIndexMissing(_ *database, t *table) *trouble {
	made := func(ix index) bool { return ix.Name == t.Name+"_prefix" && ix.Valid }
	if !t.cache.PrefixIndex || slices.ContainsFunc(t.indexes, made) {
		return nil
	}
	name := quote(t.Name + "_prefix")
	return &trouble{
		evidence: fmt.Sprintf("its settings say prefix_index, and there is no valid index howdah_internal.%s", name),
		repair: []string{
			"DROP INDEX IF EXISTS howdah_internal." + name,
			fmt.Sprintf("CREATE INDEX CONCURRENTLY %s ON %s (substring(key FROM 1 FOR 1024))", name, t.quoted),
		},
	}
}

func cacheDurabilityDrift(_ *database, t *table) *trouble {
	is := map[string]string{"u": "UNLOGGED", "p": "LOGGED"}
	want := "p"
	if t.cache.Durability == "unlogged" {
		want = "u"
	}
	if t.Persistence == want {
		return nil
	}
	tr := &trouble{
		evidence: fmt.Sprintf("its settings say %s, the table is %s", t.cache.Durability, is[t.Persistence]),
		repair:   []string{fmt.Sprintf("ALTER TABLE %s SET %s", t.quoted, is[want])},
		note:     fmt.Sprintf("It rewrites the table under an exclusive lock: %s. If the class is wrong and not the table, use howdah.alter_cache.", size(t.bytes())),
	}
	if want == "u" {
		tr.severity = Warning
	}
	return tr
}

func unloggedReplicated(db *database, t *table) *trouble {
	replicas := db.replicas()
	if t.Persistence != "u" || replicas == "" || t.sessions {
		return nil
	}
	tr := &trouble{
		evidence: fmt.Sprintf("UNLOGGED, %s; %s", size(t.bytes()), replicas),
		note:     "It rewrites the table under an exclusive lock. With synchronous_commit = off a logged table costs little more, and survives.",
		repair:   []string{fmt.Sprintf("ALTER TABLE %s SET LOGGED", t.quoted)},
	}
	if t.cache != nil {
		// Chosen, documented, and noticed when it happens.
		tr.severity, tr.settings = Info, true
		tr.repair = []string{fmt.Sprintf("SELECT howdah.alter_cache(%s, durability => 'async')", literal(t.cache.Whole))}
	}
	return tr
}

// replicas says what is replicated, "" if nothing is.
func (db *database) replicas() string {
	physical := 0
	for _, s := range db.slots {
		if s.Type == "physical" {
			physical++
		}
	}
	switch {
	case len(db.standbys) > 0:
		return count(int64(len(db.standbys)), "standby is attached", "standbys are attached")
	case physical > 0:
		return count(int64(physical), "physical replication slot", "physical replication slots")
	}
	return ""
}
