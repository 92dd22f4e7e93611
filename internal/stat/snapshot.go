// Package stat reads live figures of the caches and the sessions of a database
// and shows them, one row each: Read takes a snapshot, Compare makes rates of
// two, and Report.Text lays them out for a width.
//
// It only reads: catalogs, PostgreSQL's statistics, Howdah's own notes, and 64
// random blocks of each table. It counts nothing exactly that is large.
package stat

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/howdah/howdah/schema"
)

// Snapshot is what a database says at one moment. Counters are those since
// PostgreSQL's statistics were last reset, or since Howdah was installed.
type Snapshot struct {
	At                     time.Time // by the database's clock
	Database, Role, Server string
	Number                 int  // server_version_num
	SeesAll                bool // the role sees the transactions of others

	Tables []Table // the caches by name, then the sessions
	Leader Leader
	Held   *time.Time // since when upkeep waits for a standby or a replication slot
	Resets int64      // how often UNLOGGED caches were found emptied
	Since  time.Time  // the last of these, or the installation
	Oldest *Holder    // who keeps dead rows longest, of those that can be seen; nil: nobody
	Hidden []string   // what the role may not read

	Servers []ServerState // of a database on several; nil: it is on one
}

// Leader is the process that does the upkeep.
type Leader struct {
	Name  string
	Until time.Time // unless it says so again; in the past: nobody leads
}

// Holder keeps VACUUM from removing what died after its snapshot.
type Holder struct {
	Who     string  `json:"who"`
	Age     int64   `json:"transactions"` // since its snapshot
	Seconds float64 `json:"seconds"`      // since its transaction began; 0: not known
}

// Table is a cache, or the sessions.
type Table struct {
	Name             string
	Sessions         bool
	Class, Eviction  string
	MaxEntries       int64 // 0: no budget
	MaxBytes         int64
	Full             bool    // it refuses writes
	Relation         string  // of partitions, that of the first
	Rows             float64 // by the last analyze
	TableBytes       int64
	IndexBytes       int64
	ToastBytes       int64
	Scans, Fetched   int64 // index lookups, and rows they found
	Inserted         int64
	Updated, HOT     int64
	Deleted          int64
	Live, Dead       int64
	Vacuumed         *time.Time
	BlocksRead       int64
	BlocksHit        int64
	Kept, KeptBytes  *int64 // estimates of upkeep, where there is a budget
	Expired, Evicted int64  // totals of upkeep
	LastRound        *time.Time

	Sample *Sample // nil: not looked at

	Divided bool // the cache is in partitions; the rest is of all of them

	number int    // of partitions, those included of which nothing is known
	parts  []part // of the cache, in their order; it is its only one where it is not divided
	blocks int64
}

// part is a table of a cache.
type part struct {
	server   int // its number; 0 also where there is one
	relation string
	oid      int64
	rows     int64 // about how many entries it has
}

// Sample is what some blocks of a table hold.
type Sample struct {
	Whole    bool  // the blocks are all there are
	Rows     int64 // ended sessions too, which are kept for a while
	Live     int64
	Gone     int64   // expired, to be removed
	RowBytes float64 // of an entry on average: key, value and 100; 0 for sessions
}

// ErrNoAccess says that the role may not read Howdah's tables.
var ErrNoAccess = errors.New("no access")

// statementTimeout bounds each query, lockTimeout the wait for a table that is
// being altered.
const (
	statementTimeout = 2 * time.Second
	lockTimeout      = 100 * time.Millisecond
)

// reader takes one snapshot, each query in a short transaction of its own.
type reader struct {
	conn  *pgx.Conn
	s     Snapshot
	until time.Time // when it no longer looks for the one of many tables that cannot be read
}

// Read takes a snapshot of the database of conn. The schema must be current
// (migrate.Check). Servers are those of a database on several, conn's own among them; what
// one holds that does not answer is missing, and Snapshot.Servers says so. Errors:
// ErrNoAccess, or the database's own, of conn.
func Read(ctx context.Context, conn *pgx.Conn, servers ...Server) (*Snapshot, error) {
	answers := make([]answer, len(servers))
	var work sync.WaitGroup
	for i := range servers {
		if servers[i].Connect != nil {
			work.Go(func() { answers[i] = servers[i].read(ctx) })
		}
	}
	home, err := readOne(ctx, conn)
	work.Wait()
	if err != nil {
		return nil, err
	}
	home.merge(servers, answers)
	return home, nil
}

// readOne takes a snapshot of one server.
func readOne(ctx context.Context, conn *pgx.Conn) (*Snapshot, error) {
	r := &reader{conn: conn}
	for _, step := range []func(context.Context) error{r.identity, r.tables, r.look, r.upkeep, r.holders} {
		if err := step(ctx); err != nil {
			return nil, err
		}
	}
	return &r.s, nil
}

func (r *reader) read(ctx context.Context, fn func(pgx.Tx) error) error {
	return pgx.BeginTxFunc(ctx, r.conn, pgx.TxOptions{IsoLevel: pgx.ReadCommitted, AccessMode: pgx.ReadOnly}, func(tx pgx.Tx) error {
		_, err := tx.Exec(ctx, schema.Query("stat_limits"),
			fmt.Sprint(statementTimeout.Milliseconds()), fmt.Sprint(lockTimeout.Milliseconds()))
		if err != nil {
			return err
		}
		return fn(tx)
	})
}

// hidden notes what the role may not read, and says whether err was that.
func (r *reader) hidden(what string, err error) bool {
	if sqlState(err) != "42501" {
		return false
	}
	r.s.Hidden = append(r.s.Hidden, what)
	return true
}

func sqlState(err error) string {
	var pgErr *pgconn.PgError
	if errors.As(err, &pgErr) {
		return pgErr.Code
	}
	return ""
}

func (r *reader) identity(ctx context.Context) error {
	return r.read(ctx, func(tx pgx.Tx) error {
		return tx.QueryRow(ctx, schema.Query("stat_identity")).
			Scan(&r.s.At, &r.s.Database, &r.s.Role, &r.s.Server, &r.s.Number, &r.s.SeesAll)
	})
}
