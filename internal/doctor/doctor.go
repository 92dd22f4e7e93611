// Package doctor examines a PostgreSQL database that holds caches and sessions:
// the server's settings, every Howdah table, and tables that an application made by
// hand for the same purpose.
//
// It only reads. First it gathers facts, each query in a short READ ONLY
// transaction with a statement_timeout and a lock_timeout (facts.go, tables.go,
// sample.go). Then every check, an entry of a list, judges the facts; a family
// of checks is a file:
//
//	settings.go    server settings that hurt
//	holders.go     what keeps VACUUM from removing dead rows
//	caches.go      Howdah tables: are they as Howdah makes them?
//	upkeep.go      is what has expired removed, and are the budgets kept?
//	near.go        the change log, by which processes keep entries in memory
//	watches.go     tables whose changes invalidate entries
//	messages.go    do notifications reach the servers that want messages?
//	privileges.go  who may do what with them
//	partitions.go  are the partitions of a cache all there, and alike?
//	servers.go     are the servers alike that Citus spreads a database over?
//	health.go      dead rows, bloat, expiry, age: Howdah tables and others
//	handmade.go    the habits of hand-made cache and session tables
//	statements.go  statements and procedures that do harm
//
// weight.go orders what they find.
package doctor

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
)

// Severity orders findings.
type Severity string

// The severities.
const (
	Info    Severity = "info"    // worth knowing
	Warning Severity = "warning" // costs speed, space or entries
	Error   Severity = "error"   // loses data, or will stop the database, or lets strangers in
)

func (s Severity) rank() int {
	return slices.Index([]Severity{Error, Warning, Info}, s)
}

// Finding is one thing that is wrong.
type Finding struct {
	ID       string   `json:"id"` // stable name of the check
	Severity Severity `json:"severity"`
	Object   string   `json:"object"`   // what it is about: a table, a setting, a session
	Evidence string   `json:"evidence"` // what was seen in this database
	Why      string   `json:"why"`      // why it matters
	// Repair holds statements to run one by one, in this order, each outside
	// a transaction block. It is empty where no statement repairs the matter.
	Repair []string `json:"repair"`
	// Note says what to know before the repair, or what to do where there is
	// no statement.
	Note string `json:"note,omitempty"`
	// Harm is what it does if it stays.
	Harm Harm `json:"harm"`

	handMade bool // it is about a table that is not Howdah's
}

// Report is the result of an examination.
type Report struct {
	Database   string    `json:"database"`
	Role       string    `json:"role"`
	Server     string    `json:"server"`     // version of PostgreSQL
	Caches     []string  `json:"caches"`     // Howdah tables that were examined
	Partitions int       `json:"partitions"` // into which the keys of each cache are divided; 0: none
	HandMade   []string  `json:"hand_made"`  // other tables that were examined
	Findings   []Finding `json:"findings"`   // where to begin comes first: by severity, then Howdah's and the server's, then by Harm
	CheckedAt  time.Time `json:"checked_at"` // by the database's clock
}

// Worst is the highest severity found, "" if nothing was.
func (r *Report) Worst() Severity {
	if len(r.Findings) == 0 {
		return ""
	}
	return r.Findings[0].Severity
}

// Count is the number of findings of a severity.
func (r *Report) Count(s Severity) int {
	n := 0
	for _, f := range r.Findings {
		if f.Severity == s {
			n++
		}
	}
	return n
}

// Options tune Examine. The zero value is what "howdah doctor" uses.
type Options struct {
	// Cache limits the tables to that of one cache. The server is examined
	// all the same. Default: all caches, and hand-made tables.
	Cache string

	// CheckSchema says, in a sentence, why this program cannot work with the
	// Howdah schema of the database: migrate.Check does. Default: not checked.
	CheckSchema func(context.Context, pgx.Tx) error

	// Servers lists the servers of a database that Citus spreads, for its coordinator.
	// Default: not checked.
	Servers func(context.Context) ([]Server, error)

	// StatementTimeout bounds each query. Default: 10 s.
	StatementTimeout time.Duration

	// LongTransaction is from when on an open transaction, a prepared one or a
	// session that idles in one is a finding. Default: 5 min.
	LongTransaction time.Duration

	// LongVacuum is from when on autovacuum workers that are all busy are a
	// finding. Default: 10 min.
	LongVacuum time.Duration

	// UpkeepSilence is for how long upkeep may be missing while rows wait
	// for it. Default: 2 min, twice what a cron job takes to come again.
	UpkeepSilence time.Duration

	// LogSilence is for how long the change log may have rows without being
	// trimmed. Default: 5 min.
	LogSilence time.Duration

	// LogUnread is how old the change log must be before it is a finding that no
	// process reads it. Default: 1 h.
	LogUnread time.Duration

	// MinRows is from how many rows, updates or reads on statistics of a table
	// mean something. Default: 10,000.
	MinRows int64

	// MinBytes is from which size on a table can be bloated or too large for
	// memory. Four times that is too much for the change log. Default: 64 MiB.
	MinBytes int64

	// XIDAge is from which age in transactions on the oldest row of a table or
	// database is a finding. Default: one and a half times
	// autovacuum_freeze_max_age, which is 300 million on stock settings, and
	// 1,500 million at most.
	XIDAge int64
}

func (o Options) withDefaults() Options {
	o.StatementTimeout = cmp.Or(o.StatementTimeout, 10*time.Second)
	o.LongTransaction = cmp.Or(o.LongTransaction, 5*time.Minute)
	o.LongVacuum = cmp.Or(o.LongVacuum, 10*time.Minute)
	o.UpkeepSilence = cmp.Or(o.UpkeepSilence, 2*time.Minute)
	o.LogSilence = cmp.Or(o.LogSilence, 5*time.Minute)
	o.LogUnread = cmp.Or(o.LogUnread, time.Hour)
	o.MinRows = cmp.Or(o.MinRows, 10_000)
	o.MinBytes = cmp.Or(o.MinBytes, 64<<20)
	return o
}

// ErrCacheNotFound says that the cache of Options.Cache does not exist.
var ErrCacheNotFound = errors.New("cache not found")

// Examine looks at the database of conn, which must not be in a transaction.
// It changes nothing. What the role may not see is named in a finding
// "not-checked".
//
// Errors: ErrCacheNotFound, or the database's own.
func Examine(ctx context.Context, conn *pgx.Conn, opts Options) (*Report, error) {
	opts = opts.withDefaults()
	db, err := gather(ctx, conn, opts)
	if err != nil {
		return nil, err
	}
	r := &Report{
		Database: db.name, Role: db.role, Server: db.version, CheckedAt: db.now,
		Caches: []string{}, HandMade: []string{}, Findings: []Finding{}, Partitions: db.divided(),
	}
	for _, t := range db.tables {
		if t.ours() {
			if !slices.Contains(r.Caches, t.whole()) {
				r.Caches = append(r.Caches, t.whole())
			}
		} else {
			r.HandMade = append(r.HandMade, t.quoted)
		}
	}
	for _, c := range checks() {
		for _, tr := range c.judge(db) {
			harm, _ := harmOf(c.id)
			r.Findings = append(r.Findings, Finding{
				ID: c.id, Severity: cmp.Or(tr.severity, c.severity), Object: tr.object, Evidence: tr.evidence,
				Why: c.why, Repair: append([]string{}, tr.repair...), Note: tr.note, Harm: harm, handMade: tr.handMade,
			})
		}
	}
	slices.SortStableFunc(r.Findings, heavier)
	return r, nil
}

// limitTo keeps the table of one cache, or those of its partitions.
func limitTo(tables []*table, cache string) ([]*table, error) {
	if cache == "" {
		return tables, nil
	}
	other := func(t *table) bool { return t.cache == nil || t.cache.Whole != cache }
	if tables = slices.DeleteFunc(tables, other); len(tables) > 0 {
		return tables, nil
	}
	return nil, fmt.Errorf("%w: there is no cache %q in this database; \"howdah stat\" lists the caches", ErrCacheNotFound, cache)
}
