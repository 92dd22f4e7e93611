package doctor

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/howdah/howdah/schema"
)

// database is what is known when the checks begin.
type database struct {
	opts Options

	name, role, version string
	number              int // server_version_num
	now                 time.Time
	superuser, seesAll  bool // the role is a superuser; it sees all sessions
	standby             bool // in recovery
	timeZone            string
	xidAge              int64 // of the oldest row of the database

	settings  map[string]setting
	installed bool  // there is a Howdah schema
	hidden    bool  // there is one that this role may not read
	schemaErr error // why this program cannot work with it

	tables     []*table // Howdah's first
	missing    []string // caches without a table
	grants     []grant
	roles      []runtimeRole
	sessions   []session
	workers    []session // autovacuum workers
	slots      []slot
	prepared   []prepared
	standbys   []standby
	statements []statement
	procedures []procedure
	upkeep     []upkeep // one row; none: not known
	tagTables  []tagTable
	partitions []partitions // one for each cache; none: caches are not divided
	citus      *citus       // nil: it places no partitions here
	logs       []changeLog  // one row; none: not known
	polls      []polls      // one row; none: not known
	watches    []watch
	pollers    []poller

	unchecked []unchecked
}

// unchecked is a part of the examination that did not take place.
type unchecked struct {
	what, reason string
	repair       []string
	note         string
}

// setting is one row of pg_settings.
type setting struct {
	Name, Setting, Unit, Source, Context string
}

type session struct {
	PID     int32
	Who     string  // role and application
	State   string  // "" if not visible
	OpenFor float64 // seconds since the transaction began
	IdleFor float64 // seconds since the state changed
	XminAge int64   // transactions since the snapshot it holds; 0: it holds none
	Here    bool    // it is connected to this database
	Mine    bool    // this role may end it
}

type slot struct {
	Name, Type string
	Active     bool
	XminAge    int64 // 0: it holds none
	Retained   int64 // bytes of WAL
}

type prepared struct {
	GID, Owner, Database string
	Age                  float64
}

type standby struct {
	Name    string
	XminAge int64
}

// reader reads facts, each in a transaction of its own: nothing is locked and
// no snapshot is held for longer than one query takes.
type reader struct {
	ctx  context.Context
	conn *pgx.Conn
	opts Options
	db   *database
}

// read runs fn in a READ ONLY transaction with limits. Names mean what they
// say whatever the session's search_path is.
func (r *reader) read(fn func(pgx.Tx) error) error {
	tx, err := r.conn.BeginTx(r.ctx, pgx.TxOptions{IsoLevel: pgx.ReadCommitted, AccessMode: pgx.ReadOnly})
	if err != nil {
		return err
	}
	defer tx.Rollback(context.WithoutCancel(r.ctx)) //nolint:errcheck // it only read
	_, err = tx.Exec(r.ctx, fmt.Sprintf("SET LOCAL statement_timeout = %d", r.opts.StatementTimeout.Milliseconds()))
	if err == nil {
		_, err = tx.Exec(r.ctx, "SET LOCAL lock_timeout = '1s'")
	}
	if err == nil {
		_, err = tx.Exec(r.ctx, "SET LOCAL search_path = pg_catalog, pg_temp")
	}
	if err == nil { // Citus hides its shards otherwise
		_, err = tx.Exec(r.ctx, "SET LOCAL citus.override_table_visibility = off")
	}
	if err != nil {
		return err
	}
	return fn(tx)
}

// skippable says whether an error concerns one query only: no privilege, out
// of time, locked, gone, or on a standby.
func skippable(err error) (reason string, ok bool) {
	var pgErr *pgconn.PgError
	if !errors.As(err, &pgErr) || pgErr.Code[:2] == "08" || pgErr.Code[:2] == "57" && pgErr.Code != "57014" {
		return "", false
	}
	return pgErr.Message, true
}

// rows collects the rows of a query into structs, by the order of columns. A
// query that this role may not run leaves them empty and is told of.
func rows[T any](r *reader, what, sql string, args ...any) ([]T, error) {
	var list []T
	err := r.read(func(tx pgx.Tx) error {
		found, err := tx.Query(r.ctx, sql, args...)
		if err != nil {
			return err
		}
		list, err = pgx.CollectRows(found, pgx.RowToStructByPos[T])
		return err
	})
	if reason, ok := skippable(err); ok {
		r.db.skip(what, reason)
		return nil, nil
	}
	return list, err
}

func (db *database) skip(what, reason string) {
	db.unchecked = append(db.unchecked, unchecked{what: what, reason: "PostgreSQL said: " + reason})
}

func gather(ctx context.Context, conn *pgx.Conn, opts Options) (*database, error) {
	db := &database{opts: opts, settings: make(map[string]setting)}
	r := &reader{ctx, conn, opts, db}
	for _, step := range []func() error{
		r.identity, r.schema, r.settings, r.partitions, r.citus, r.tables, r.samples, r.rounds, r.changeLog, r.watches, r.tags, r.messages, r.activity, r.replication, r.privileges, r.statements,
	} {
		if err := step(); err != nil {
			return nil, err
		}
	}
	return db, nil
}

func (r *reader) identity() error {
	db := r.db
	return r.read(func(tx pgx.Tx) error {
		return tx.QueryRow(r.ctx, schema.Query("doctor_identity")).
			Scan(&db.name, &db.role, &db.version, &db.number, &db.now, &db.superuser, &db.seesAll, &db.standby, &db.timeZone, &db.xidAge)
	})
}

// schema finds out whether there is a Howdah schema that can be read, and asks
// the caller's function whether it will do.
func (r *reader) schema() error {
	return r.read(func(tx pgx.Tx) error {
		var readable bool
		err := tx.QueryRow(r.ctx, schema.Query("doctor_schema")).Scan(&r.db.installed, &readable)
		if errors.Is(err, pgx.ErrNoRows) {
			return nil
		}
		if err == nil && !readable {
			r.db.installed = false
			r.db.skip("the schema howdah", "permission denied")
			r.db.hidden = true
			return nil
		}
		if err != nil || r.opts.CheckSchema == nil {
			return err
		}
		err = r.opts.CheckSchema(r.ctx, tx)
		if errors.As(err, new(*pgconn.PgError)) || r.ctx.Err() != nil {
			return err
		}
		r.db.schemaErr = err
		return nil
	})
}

func (r *reader) settings() error {
	list, err := rows[setting](r, "settings",
		schema.Query("doctor_settings"))
	for _, s := range list {
		r.db.settings[s.Name] = s
	}
	return err
}

func (r *reader) activity() (err error) {
	db := r.db
	sessions := schema.Query("doctor_sessions")
	if db.sessions, err = rows[session](r, "sessions", sessions, "client backend"); err != nil {
		return err
	}
	if db.workers, err = rows[session](r, "autovacuum workers", sessions, "autovacuum worker"); err != nil {
		return err
	}
	db.prepared, err = rows[prepared](r, "prepared transactions", schema.Query("doctor_prepared"))
	if !db.seesAll {
		db.unchecked = append(db.unchecked, unchecked{
			what:   "sessions and standbys of other roles",
			reason: fmt.Sprintf("role %s sees the transactions of its own sessions only, and of standbys no more than that they are there", quote(db.role)),
			repair: []string{"GRANT pg_read_all_stats TO " + quote(db.role)},
			note:   "To be run by a superuser, or by the administrator of a managed service. It lets the role read statistics and nothing else.",
		})
	}
	return err
}

func (r *reader) replication() (err error) {
	db := r.db
	if db.standby {
		return nil // its slots and standbys are another matter
	}
	if db.slots, err = rows[slot](r, "replication slots", schema.Query("doctor_slots")); err != nil {
		return err
	}
	// A standby that has a slot holds its snapshot there.
	db.standbys, err = rows[standby](r, "standbys", schema.Query("doctor_standbys"))
	return err
}
