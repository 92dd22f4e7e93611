package stat

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/howdah/howdah/internal/fault"
	"github.com/howdah/howdah/schema"
)

// Cost is what Howdah takes of a database beside the application. A null is a figure
// that is not known; Reason says why.
type Cost struct {
	At time.Time `json:"at"` // by the database's clock

	// Reason says in a sentence why no shares are shown, and Enable the statements that
	// change that, to run one by one as a superuser. "" and none: shares are shown.
	Reason string   `json:"reason,omitempty"`
	Enable []string `json:"enable"`

	Total *Shares `json:"total"` // since pg_stat_statements was reset

	Connections Connections `json:"connections"`
	Tables      Storage     `json:"tables"` // of Howdah
	Others      Storage     `json:"others"` // the other tables of the database

	// Memory is the share of shared_buffers that holds pages of Howdah's tables; null
	// without the extension pg_buffercache, or the right to use it.
	Memory *float64 `json:"memory"`

	// Limits say in sentences what the shares do not count.
	Limits []string `json:"limits"`

	// Servers are those that were asked, of a database on several. What one did that did not
	// answer is missing. Only Address, Up and Problem are known of them.
	Servers []ServerState `json:"servers,omitempty"`

	statements *statements
	buffers    [2]int64 // in shared_buffers: of Howdah, and all
}

// Shares are the parts of a time that Howdah took of the statements of this database.
type Shares struct {
	From    time.Time `json:"from"`
	Until   time.Time `json:"until"`
	Time    *float64  `json:"time"`    // of the execution time
	Buffers *float64  `json:"buffers"` // of the accesses to pages
	WAL     *float64  `json:"wal"`
	Calls   *float64  `json:"calls"`
	Howdah  Work      `json:"howdah"`
	Others  Work      `json:"others"`

	// Discarded counts how often pg_stat_statements made room by forgetting statements,
	// and with them what they cost.
	Discarded int64 `json:"discarded"`
}

// Work is what statements did.
type Work struct {
	Calls   int64   `json:"calls"`
	Seconds float64 `json:"seconds"` // of execution
	Buffers int64   `json:"buffers"` // pages of tables and indexes, as often as they were accessed
	WAL     int64   `json:"wal"`     // bytes
}

// Connections are those of clients now.
type Connections struct {
	Name     string `json:"name"`   // the application_name by which Howdah's are counted
	Howdah   int64  `json:"howdah"` // of that name, to this database
	Database int64  `json:"database"`
	Server   int64  `json:"server"`
	Max      int64  `json:"max"` // max_connections
}

// Storage is what tables take with their indexes and TOAST tables.
type Storage struct {
	Bytes int64 `json:"bytes"` // on disk, by the last VACUUM or ANALYZE
	Read  int64 `json:"read"`  // blocks read from disk since the statistics were reset
	Hit   int64 `json:"hit"`   // blocks found in shared_buffers since then
}

// statements are the sums of pg_stat_statements at one moment.
type statements struct {
	servers   string // that they are of
	at        time.Time
	reset     *time.Time
	discarded int64
	howdah    Work
	others    Work
}

// costLimits are the limits of all shares.
func costLimits() []string {
	return []string{
		"Execution time only: the processor time of backends outside of it, planning and COMMIT are not counted.",
		"Utility statements (BEGIN, SET, VACUUM, TRUNCATE and others) count as the application's.",
		"Statements are Howdah's if they name its schema: those of the application that call its functions or join its tables are.",
		"pg_stat_statements keeps only so many statements (pg_stat_statements.max); \"discarded\" counts how often it forgot some.",
	}
}

// ReadCost measures. Servers are as in Read. Errors: those of the database; that something may
// not be read is none.
func ReadCost(ctx context.Context, conn *pgx.Conn, servers ...Server) (*Cost, error) {
	found := make([]*Cost, len(servers))
	failed := make([]error, len(servers))
	var work sync.WaitGroup
	for i := range servers {
		if servers[i].Connect != nil {
			work.Go(func() {
				failed[i] = servers[i].do(ctx, func(ctx context.Context, conn *pgx.Conn) (err error) {
					found[i], err = readCost(ctx, conn)
					return err
				})
			})
		}
	}
	c, err := readCost(ctx, conn)
	work.Wait()
	if err != nil {
		return nil, err
	}
	c.merge(servers, found, failed)
	if c.statements != nil {
		c.Total = c.statements.shares(&statements{at: zeroIfNil(c.statements.reset)})
	}
	return c, nil
}

// merge adds what other servers measured.
func (c *Cost) merge(servers []Server, found []*Cost, failed []error) {
	for i := range servers {
		state := ServerState{Number: servers[i].Number, Address: servers[i].Address, Up: failed[i] == nil}
		if !state.Up {
			state.Problem = fault.OneLine(failed[i]).Error()
		}
		c.Servers = append(c.Servers, state)
		if c.statements != nil && state.Up {
			c.statements.servers += " " + state.Address
		}
		if other := found[i]; other != nil {
			c.add(other, state.Address)
		}
	}
}

// add adds what another server measured. Shares are known if all servers know them.
func (c *Cost) add(other *Cost, address string) {
	if c.Reason == "" && other.Reason != "" {
		c.Reason, c.Enable, c.statements = "On "+address+": "+other.Reason, other.Enable, nil
	}
	if c.statements != nil {
		c.statements.add(other.statements)
	}
	n, o := &c.Connections, &other.Connections
	n.Howdah, n.Database, n.Server, n.Max = n.Howdah+o.Howdah, n.Database+o.Database, n.Server+o.Server, n.Max+o.Max
	c.Tables.add(other.Tables)
	c.Others.add(other.Others)
	c.buffers[0], c.buffers[1] = c.buffers[0]+other.buffers[0], c.buffers[1]+other.buffers[1]
	if c.Memory != nil && other.Memory != nil {
		c.Memory = share(c.buffers[0], c.buffers[1])
	} else {
		c.Memory = nil
	}
}

func (s *Storage) add(other Storage) {
	s.Bytes, s.Read, s.Hit = s.Bytes+other.Bytes, s.Read+other.Read, s.Hit+other.Hit
}

// add adds the sums of another server. They are as old as those of the one that was reset
// last.
func (s *statements) add(other *statements) {
	if zeroIfNil(other.reset).After(zeroIfNil(s.reset)) {
		s.reset = other.reset
	}
	s.discarded += other.discarded
	s.howdah, s.others = s.howdah.plus(other.howdah), s.others.plus(other.others)
}

func (w Work) plus(other Work) Work {
	return Work{w.Calls + other.Calls, w.Seconds + other.Seconds, w.Buffers + other.Buffers, w.WAL + other.WAL}
}

// readCost measures on one server.
func readCost(ctx context.Context, conn *pgx.Conn) (*Cost, error) {
	r := &reader{conn: conn}
	c := &Cost{Enable: []string{}, Limits: costLimits()}
	var found costState
	for _, step := range []func(pgx.Tx) error{
		func(tx pgx.Tx) error { return found.read(ctx, tx, c) },
		func(tx pgx.Tx) error { return c.readTables(ctx, tx) },
		func(tx pgx.Tx) error { return c.readConnections(ctx, tx) },
	} {
		if err := r.read(ctx, step); err != nil {
			return nil, err
		}
	}
	if c.Reason = found.missing(c); c.Reason == "" {
		err := r.read(ctx, func(tx pgx.Tx) error { return c.readStatements(ctx, tx, found.statements) })
		if c.Reason = found.refused(c, err); c.Reason == "" && err != nil {
			return nil, err
		}
	}
	if found.buffers != "" { // what it may not see, or takes too long, stays unknown
		_ = r.read(ctx, func(tx pgx.Tx) error { return c.readBuffers(ctx, tx, found.buffers) })
	}
	if c.statements != nil && c.statements.howdah.Calls+c.statements.others.Calls == 0 {
		c.statements, c.Reason = nil, "pg_stat_statements has no statement of this database: compute_query_id or pg_stat_statements.track is off."
	}
	return c, nil
}

// costState says by what there is to measure.
type costState struct {
	role                string
	seesAll             bool
	statements, buffers string // schemas of extensions; "": not installed
	preloaded           string
}

func (s *costState) read(ctx context.Context, tx pgx.Tx, c *Cost) error {
	return tx.QueryRow(ctx, schema.Query("cost_state")).Scan(&c.At, &s.role, &s.seesAll, &s.statements, &s.buffers, &s.preloaded)
}

// missing says why shares are not even asked for.
func (s *costState) missing(c *Cost) string {
	switch {
	case s.statements == "":
		c.Enable = s.enable()
		return "The extension pg_stat_statements is not installed in this database. It must be in shared_preload_libraries, which takes a restart of PostgreSQL."
	case !s.seesAll:
		c.Enable = []string{"GRANT pg_read_all_stats TO " + pgx.Identifier{s.role}.Sanitize()}
		return fmt.Sprintf("Role %s does not see the statements of other roles, so there is nothing to compare with.", pgx.Identifier{s.role}.Sanitize())
	}
	return ""
}

// refused says why pg_stat_statements did not answer, "" for an error of another kind.
func (s *costState) refused(c *Cost, err error) string {
	switch sqlState(err) {
	case "55000":
		c.Enable = s.enable()[:1]
		return "The extension pg_stat_statements is installed but not loaded. It must be in shared_preload_libraries, which takes a restart of PostgreSQL."
	case "42703", "42P01":
		c.Enable = []string{"ALTER EXTENSION pg_stat_statements UPDATE"}
		return "The extension pg_stat_statements is of an older version than PostgreSQL."
	case "42501":
		c.Enable = []string{fmt.Sprintf("GRANT SELECT ON %[1]s.pg_stat_statements, %[1]s.pg_stat_statements_info TO %[2]s", s.statements, pgx.Identifier{s.role}.Sanitize())}
		return "This role may not read pg_stat_statements."
	case "57014":
		return "pg_stat_statements did not answer within two seconds."
	}
	return ""
}

// enable are the two statements that turn the extension on. What is preloaded already
// stays so, as far as this role may see it.
func (s *costState) enable() []string {
	libraries := "pg_stat_statements"
	if s.preloaded != "" && !strings.Contains(s.preloaded, libraries) {
		libraries = s.preloaded + "," + libraries
	}
	quoted := make([]string, 0, 2)
	for name := range strings.SplitSeq(libraries, ",") {
		quoted = append(quoted, "'"+strings.ReplaceAll(strings.TrimSpace(name), "'", "''")+"'")
	}
	return []string{"ALTER SYSTEM SET shared_preload_libraries = " + strings.Join(quoted, ", "), "CREATE EXTENSION pg_stat_statements"}
}

func (c *Cost) readStatements(ctx context.Context, tx pgx.Tx, extension string) error {
	s := &statements{at: c.At}
	err := tx.QueryRow(ctx, strings.ReplaceAll(schema.Query("cost_statements"), "{schema}", extension)).Scan(
		&s.reset, &s.discarded,
		&s.howdah.Calls, &s.howdah.Seconds, &s.howdah.Buffers, &s.howdah.WAL,
		&s.others.Calls, &s.others.Seconds, &s.others.Buffers, &s.others.WAL)
	if err == nil {
		c.statements = s
	}
	return err
}

func (c *Cost) readTables(ctx context.Context, tx pgx.Tx) error {
	return tx.QueryRow(ctx, schema.Query("cost_tables")).Scan(
		&c.Tables.Bytes, &c.Tables.Read, &c.Tables.Hit, &c.Others.Bytes, &c.Others.Read, &c.Others.Hit)
}

func (c *Cost) readConnections(ctx context.Context, tx pgx.Tx) error {
	n := &c.Connections
	return tx.QueryRow(ctx, schema.Query("cost_connections")).Scan(&n.Howdah, &n.Database, &n.Server, &n.Max, &n.Name)
}

func (c *Cost) readBuffers(ctx context.Context, tx pgx.Tx, extension string) error {
	var howdah, used, all int64
	err := tx.QueryRow(ctx, strings.ReplaceAll(schema.Query("cost_buffers"), "{schema}", extension)).Scan(&howdah, &used, &all)
	if err == nil {
		c.Memory, c.buffers = share(howdah, all), [2]int64{howdah, all}
	}
	return err
}

// Since returns the shares since a former measurement. It is nil if one of the two has no
// shares, or if statistics were lost in between: they were reset, or more was forgotten
// than was added.
func (c *Cost) Since(before *Cost) *Shares {
	if c.statements == nil || before.statements == nil {
		return nil
	}
	return c.statements.since(before.statements)
}

func (s *statements) since(before *statements) *Shares {
	lost := func(now, then Work) bool {
		return now.Calls < then.Calls || now.Seconds < then.Seconds || now.Buffers < then.Buffers || now.WAL < then.WAL
	}
	if s.servers != before.servers || !zeroIfNil(s.reset).Equal(zeroIfNil(before.reset)) || lost(s.howdah, before.howdah) || lost(s.others, before.others) {
		return nil
	}
	return s.shares(before)
}

func (s *statements) shares(before *statements) *Shares {
	work := func(now, then Work) Work {
		return Work{now.Calls - then.Calls, now.Seconds - then.Seconds, now.Buffers - then.Buffers, now.WAL - then.WAL}
	}
	r := &Shares{
		From: before.at, Until: s.at, Discarded: s.discarded - before.discarded,
		Howdah: work(s.howdah, before.howdah), Others: work(s.others, before.others),
	}
	part := func(howdah, others int64) *float64 { return share(howdah, howdah+others) }
	const microseconds = 1e6
	r.Time = part(int64(r.Howdah.Seconds*microseconds), int64(r.Others.Seconds*microseconds))
	r.Buffers = part(r.Howdah.Buffers, r.Others.Buffers)
	r.WAL = part(r.Howdah.WAL, r.Others.WAL)
	r.Calls = part(r.Howdah.Calls, r.Others.Calls)
	return r
}

func zeroIfNil(t *time.Time) time.Time {
	if t == nil {
		return time.Time{}
	}
	return *t
}
