package stat

import (
	"math"
	"slices"
	"time"
)

// Report is what two snapshots say together; the JSON of "howdah stat". A null
// is a figure that is not known: there is no budget, nothing happened, the
// statistics were reset in between, or the role may not see it.
type Report struct {
	At       time.Time `json:"at"`      // of the second snapshot, by the database's clock
	Seconds  float64   `json:"seconds"` // between the two, which the rates are of
	Database string    `json:"database"`
	Role     string    `json:"role"`
	Server   string    `json:"server"`
	Upkeep   Upkeep    `json:"upkeep"`
	Oldest   *Holder   `json:"oldest_snapshot"`
	Near     *float64  `json:"near"`   // share of reads that memory answered, of those that it may answer on the servers that were asked
	Tables   []Row     `json:"tables"` // the caches by name, then the sessions
	Hidden   []string  `json:"hidden"` // what the role may not see

	Servers []ServerState `json:"servers,omitempty"` // of a database on several; what one holds that is not up is missing above

	seesAll bool
}

// Upkeep is who removes what has expired.
type Upkeep struct {
	Leader    string    `json:"leader"`     // "": nobody leads; cron jobs do not
	LastRound *float64  `json:"last_round"` // seconds ago, of the table that waits longest; null: never
	HeldBack  *float64  `json:"held_back"`  // seconds for which expiry is slowed down for a standby or a slot; null: it is not
	Resets    int64     `json:"resets"`     // how often UNLOGGED caches were found emptied
	Since     time.Time `json:"since"`      // the last of these, or the installation
}

// Row is a cache, or the sessions.
type Row struct {
	Name       string `json:"name"`
	Sessions   bool   `json:"sessions"`
	Class      string `json:"class"`
	Policy     string `json:"policy"`
	Entries    int64  `json:"entries"` // live
	Exact      bool   `json:"exact"`   // entries and expired were counted, not estimated
	Expired    *int64 `json:"expired"` // rows that wait for removal
	Bytes      *int64 `json:"bytes"`   // of the live entries, as budgets count: key, value and 100
	MaxEntries int64  `json:"max_entries"`
	MaxBytes   int64  `json:"max_bytes"`
	// Used is the share of the budget, of the one that is used more.
	Used    *float64 `json:"used"`
	Refuses bool     `json:"refuses_writes"`

	Partitions *Partitions `json:"partitions"` // null: the cache is not divided

	Reads   *float64 `json:"reads"`   // entries read a second
	Writes  *float64 `json:"writes"`  // rows stored or changed a second
	Deletes *float64 `json:"deletes"` // rows deleted a second by clients
	Gone    *float64 `json:"expired_removed"`
	Evicted *float64 `json:"evicted"`

	// Hit is the share of keys that reads found: as the servers that were
	// asked count it, else by PostgreSQL's counts of index lookups. From 17 on
	// PostgreSQL counts one lookup for several keys, and cannot tell.
	Hit    *float64 `json:"hit"`
	HOT    *float64 `json:"hot"`    // share of updates that were HOT; without updates, since the statistics began
	Memory *float64 `json:"memory"` // share of pages found in shared_buffers

	Dead       int64      `json:"dead"`
	TableBytes int64      `json:"table_bytes"`
	IndexBytes int64      `json:"index_bytes"`
	ToastBytes int64      `json:"toast_bytes"`
	Vacuumed   *time.Time `json:"vacuumed"`
}

// Partitions say how evenly the entries of a cache are spread.
type Partitions struct {
	Number   int   `json:"number"`
	Smallest int64 `json:"smallest"` // about so many entries are in the one with the fewest
	Largest  int64 `json:"largest"`
}

// Size is what the table occupies on disk.
func (r *Row) Size() int64 { return r.TableBytes + r.IndexBytes + r.ToastBytes }

// Compare makes a report of two snapshots. before may be nil: then there are no
// rates. hits are shares by cache, from ReadHits.
func Compare(before, now *Snapshot, hits map[string]float64) *Report {
	r := &Report{
		At: now.At, Database: now.Database, Role: now.Role, Server: now.Server, Oldest: now.Oldest,
		Upkeep: Upkeep{Resets: now.Resets, Since: now.Since}, Tables: []Row{}, Hidden: append([]string{}, now.Hidden...),
		seesAll: now.SeesAll, Servers: now.Servers,
	}
	if now.Leader.Until.After(now.At) {
		r.Upkeep.Leader = now.Leader.Name
	}
	if now.Held != nil {
		held := max(0, now.At.Sub(*now.Held).Seconds())
		r.Upkeep.HeldBack = &held
	}
	if before != nil {
		r.Seconds = now.At.Sub(before.At).Seconds()
	}
	if share, ok := hits[nearHits]; ok {
		r.Near = &share
	}
	for i := range now.Tables {
		t := &now.Tables[i]
		if t.LastRound != nil {
			ago := max(0, now.At.Sub(*t.LastRound).Seconds())
			if r.Upkeep.LastRound == nil || ago > *r.Upkeep.LastRound {
				r.Upkeep.LastRound = &ago
			}
		}
		row := now.row(t)
		if old := before.table(t); old != nil && r.Seconds > 0 {
			row.rates(old, t, r.Seconds, now.Number < 170000)
		}
		if share, ok := hits[t.Name]; ok && !t.Sessions {
			row.Hit = &share
		}
		r.Tables = append(r.Tables, row)
	}
	return r
}

// isSame tells whether two are the same table, which counts on.
func (p part) isSame(other part) bool {
	return p.server == other.server && p.relation == other.relation
}

// table finds the same table in another snapshot. It is not the same where a partition has
// moved meanwhile, or a server did not answer one of the times.
func (s *Snapshot) table(t *Table) *Table {
	if s == nil {
		return nil
	}
	for i := range s.Tables {
		if of := &s.Tables[i]; of.Relation == t.Relation && slices.EqualFunc(of.parts, t.parts, part.isSame) {
			return of
		}
	}
	return nil
}

// rows are those that are not dead: PostgreSQL's running count, or that of the last
// analyze where the statistics were lost.
func (t *Table) rows() float64 {
	if t.Live == 0 {
		return t.Rows
	}
	return float64(t.Live)
}

// spread is how the entries are divided; nil: they are not.
func (t *Table) spread() *Partitions {
	if !t.Divided {
		return nil
	}
	p := &Partitions{Number: t.number}
	for i, part := range t.parts {
		if i == 0 {
			p.Smallest = part.rows
		}
		p.Smallest, p.Largest = min(p.Smallest, part.rows), max(p.Largest, part.rows)
	}
	return p
}

// row is what one snapshot says of a table.
func (s *Snapshot) row(t *Table) Row {
	row := Row{
		Name: t.Name, Sessions: t.Sessions, Class: t.Class, Policy: t.Eviction, Refuses: t.Full,
		MaxEntries: t.MaxEntries, MaxBytes: t.MaxBytes,
		Dead: t.Dead, TableBytes: t.TableBytes, IndexBytes: t.IndexBytes, ToastBytes: t.ToastBytes, Vacuumed: t.Vacuumed,
		HOT: share(t.HOT, t.Updated), Memory: share(t.BlocksHit, t.BlocksHit+t.BlocksRead),
	}
	rows := t.rows()
	row.Partitions = t.spread()
	row.Entries = int64(rows)
	if p := t.Sample; p != nil {
		gone := p.Gone
		switch {
		case p.Whole:
			row.Entries, row.Exact = p.Live, !t.Divided || !s.isPartial()
		case p.Rows > 0:
			gone = int64(rows * float64(p.Gone) / float64(p.Rows))
			row.Entries = int64(rows * float64(p.Live) / float64(p.Rows))
		}
		row.Expired = &gone
		if !t.Sessions {
			bytes := int64(p.RowBytes * float64(row.Entries))
			row.Bytes = &bytes
		}
	}
	if t.Kept != nil && (t.Sample == nil || !t.Sample.Whole) { // upkeep looks at more blocks, and over time
		row.Entries, row.Bytes = *t.Kept, t.KeptBytes
	}
	if t.MaxEntries > 0 {
		row.Used = share(row.Entries, t.MaxEntries)
	}
	if t.MaxBytes > 0 && row.Bytes != nil {
		if used := share(*row.Bytes, t.MaxBytes); row.Used == nil || *used > *row.Used {
			row.Used = used
		}
	}
	return row
}

// rates are what happened between two snapshots. PostgreSQL counts the rows
// that index lookups find, those that are about to change too: a write finds
// its row once, a delete twice (it locks first). The rest was read.
func (row *Row) rates(old, now *Table, seconds float64, lookups bool) {
	if now.Fetched < old.Fetched || now.Inserted < old.Inserted || now.Updated < old.Updated || now.Deleted < old.Deleted {
		return // the statistics were reset
	}
	gone, evicted := now.Expired-old.Expired, now.Evicted-old.Evicted
	if gone < 0 || evicted < 0 { // made anew under the same name
		return
	}
	updated := now.Updated - old.Updated
	deleted := max(0, now.Deleted-old.Deleted-gone-evicted)
	perSecond := func(n int64) *float64 {
		rate := math.Round(float64(max(0, n))/seconds*10) / 10
		return &rate
	}
	found := max(0, now.Fetched-old.Fetched-updated-2*deleted)
	asked := now.Scans - old.Scans - (now.Inserted - old.Inserted) - updated - 2*deleted
	if lookups && asked > 0 {
		row.Hit = share(min(found, asked), asked)
	}
	row.Reads = perSecond(found)
	row.Writes = perSecond(now.Inserted - old.Inserted + updated)
	row.Deletes = perSecond(deleted)
	row.Gone = perSecond(gone)
	row.Evicted = perSecond(evicted)
	if updated > 0 {
		row.HOT = share(now.HOT-old.HOT, updated)
	}
	hit, read := now.BlocksHit-old.BlocksHit, now.BlocksRead-old.BlocksRead
	if hit+read > 0 {
		row.Memory = share(hit, hit+read)
	}
}

// share is part of whole; nil of nothing.
func share(part, whole int64) *float64 {
	if whole <= 0 {
		return nil
	}
	s := math.Round(float64(part)/float64(whole)*1000) / 1000
	return &s
}
