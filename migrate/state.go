package migrate

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"

	"github.com/howdah/howdah/schema"
)

// Querier is a connection, a pool or a transaction.
type Querier interface {
	QueryRow(ctx context.Context, sql string, args ...any) pgx.Row
}

// internalSince is the version of the schema from which on the tables of caches
// are in howdah_internal.
const internalSince = 6

// watchesSince is the version of the schema from which on tables can be watched.
const watchesSince = 8

// state is what a database looks like. The zero state is a database without
// the schema.
type state struct {
	role      string // the current role
	database  string
	server    int  // server_version_num
	standby   bool // in recovery
	mayCreate bool // the role may create schemas in the database

	owner     string // of the schema howdah; "": there is none
	internal  string // the owner of the schema howdah_internal; "": there is none
	mayOwn    bool   // the role may act as the owner
	foreign   string // a schema of ours that holds something, but nothing of ours; "": none
	version   int    // the newest migration; 0: none
	breaking  int    // the newest migration that is breaking and newer than ours; 0: none
	functions int
	digest    string

	partitions int // into which the keys of each cache are divided; 0: none
}

// inspect reads the state. It needs no privilege but that of connecting, as
// long as the schema is not there. With ErrPermission the state lacks versions.
// It names pg_catalog, because it runs before anything has settled the
// search_path, and often as an administrator.
func inspect(ctx context.Context, q Querier) (state, error) {
	var s state
	var ours, empty, internalOurs, internalEmpty bool
	err := q.QueryRow(ctx, schema.Query("migrate_state")).
		Scan(&s.role, &s.database, &s.server, &s.standby, &s.mayCreate,
			&s.owner, &s.mayOwn, &ours, &empty, &s.internal, &internalOurs, &internalEmpty)
	if err != nil {
		return state{}, err
	}
	if !ours && !empty {
		s.foreign = "howdah"
		return s, nil
	}
	if !ours {
		if !internalEmpty {
			s.foreign = "howdah_internal"
		}
		return s, nil
	}
	err = readVersions(ctx, q, &s)
	if sqlState(err) == "42501" {
		return s, fail(ErrPermission,
			"role %q may not read the schema howdah of database %q: connect as its owner %q, or run \"howdah migrate --runtime-role NAME\" as the owner",
			s.role, s.database, s.owner)
	}
	if err != nil {
		// A schema of that name with other tables migration and meta.
		if code := sqlState(err); code == "42703" || code == "42P01" || errors.Is(err, pgx.ErrNoRows) {
			s.foreign = "howdah"
			return s, nil
		}
		return state{}, err
	}
	if !internalOurs && !internalEmpty {
		s.foreign = "howdah_internal"
	}
	return s, nil
}

func readVersions(ctx context.Context, q Querier, s *state) error {
	return q.QueryRow(ctx, schema.Query("migrate_versions"), schema.Latest()).
		Scan(&s.version, &s.breaking, &s.functions, &s.digest, &s.partitions)
}

// usable says why this program cannot work with the database, if so.
func (s state) usable() error {
	switch {
	case s.server < 140000:
		return fail(ErrUnsupported, "the server runs PostgreSQL %d, Howdah needs 14 or newer: upgrade PostgreSQL", s.server/10000)
	case s.foreign != "":
		return fail(ErrForeign, "database %q has a schema named %s that is not Howdah's: rename it, or use another database", s.database, s.foreign)
	case s.breaking > 0:
		return fail(ErrTooNew, "the schema in database %q has version %d, which this program does not know (its own is %d): upgrade the program",
			s.database, s.version, schema.Latest())
	}
	return nil
}

// changeable says why the role cannot change the schema, if so.
func (s state) changeable() error {
	switch {
	case s.standby:
		return fail(ErrUnsupported, "database %q is on a standby, which is read-only: connect to the primary", s.database)
	case s.owner != "" && !s.mayOwn:
		return fail(ErrPermission, "the schema howdah of database %q belongs to role %q: connect as that role, or run GRANT %s TO %s",
			s.database, s.owner, pgx.Identifier{s.owner}.Sanitize(), pgx.Identifier{s.role}.Sanitize())
	}
	return nil
}

// CheckPartitions says whether caches can have so many partitions: 2, 4, 8, 16, 32 or 64. Error:
// ErrPartitions.
func CheckPartitions(number int) error {
	if number < 2 || number > 64 || number&(number-1) != 0 {
		return fail(ErrPartitions, "%d is no number of partitions: give 2, 4, 8, 16, 32 or 64", number)
	}
	return nil
}

// divisible says why the caches cannot be divided into a number of partitions, if so; 0 is
// no wish. Whether caches hold entries, only the step finds out.
func (s state) divisible(partitions int) error {
	if partitions == 0 || partitions == s.partitions {
		return nil
	}
	if err := CheckPartitions(partitions); err != nil {
		return err
	}
	if s.partitions != 0 {
		return fail(ErrPartitions, "the caches of database %q are divided into %d partitions, and keep this number: to have %d, export them to a new database",
			s.database, s.partitions, partitions)
	}
	return nil
}

// creatable says why the role cannot make the schemas that are missing, if so.
func (s state) creatable() error {
	switch {
	case (s.owner == "" || s.internal == "" && s.version < internalSince) && !s.mayCreate:
		return fail(ErrPermission, "role %q may not create the schemas howdah and howdah_internal: run GRANT CREATE ON DATABASE %s TO %s as the owner of the database",
			s.role, pgx.Identifier{s.database}.Sanitize(), pgx.Identifier{s.role}.Sanitize())
	case s.internal != "" && s.owner != "" && s.internal != s.owner:
		return fail(ErrPermission, "the schema howdah belongs to role %q and howdah_internal to %q: run ALTER SCHEMA howdah_internal OWNER TO %s",
			s.owner, s.internal, pgx.Identifier{s.owner}.Sanitize())
	}
	return nil
}

// Check says whether this program can work with the database's schema, in one
// or two short queries. It needs no more than the privileges of a runtime role.
//
// Errors: ErrMissing, ErrTooNew, ErrForeign, ErrPermission, ErrUnsupported,
// or the database's own.
func Check(ctx context.Context, q Querier) error {
	s, err := inspect(ctx, q)
	if err != nil {
		return err
	}
	if err := s.usable(); err != nil {
		return err
	}
	switch {
	case s.version == 0:
		return fail(ErrMissing, "database %q has no Howdah schema: run \"howdah migrate\"", s.database)
	case s.version < schema.Latest():
		return fail(ErrMissing, "the schema in database %q has version %d, this program needs %d: run \"howdah migrate\"",
			s.database, s.version, schema.Latest())
	case s.version == schema.Latest() && s.functions < schema.FunctionsVersion:
		return fail(ErrMissing, "the SQL functions in database %q have version %d, this program needs %d: run \"howdah migrate\"",
			s.database, s.functions, schema.FunctionsVersion)
	}
	return nil
}

// Status is what the schema of a database looks like to this program.
type Status struct {
	Version, Latest  int       // migrations: newest applied (0: none), newest known
	Applied          []Applied // in order
	Pending          []string  // names of migrations that Up would apply
	Functions        int       // version of the SQL functions installed
	FunctionsCurrent bool      // they are those of this program, or newer
	Partitions       int       // into which the keys of each cache are divided; 0: none
	Caches           []string  // names of the caches
	Watches          []string  // watched tables with their caches, as in "public.articles (pages)"
}

// Applied is one migration that the database has.
type Applied struct {
	Version  int
	Name     string
	Breaking bool
	At       string // RFC 3339, UTC
}

// ReadStatus reads the status. A missing schema is a status, not an error.
//
// Errors: ErrForeign, ErrPermission, ErrUnsupported, or the database's own;
// with ErrTooNew the status is valid.
func ReadStatus(ctx context.Context, conn *pgx.Conn) (Status, error) {
	s, err := inspect(ctx, conn)
	if err != nil {
		return Status{}, err
	}
	if err := s.usable(); err != nil && !errors.Is(err, ErrTooNew) {
		return Status{}, err
	}
	st := Status{Version: s.version, Latest: schema.Latest(), Functions: s.functions, FunctionsCurrent: true, Partitions: s.partitions}
	for _, step := range plan(s, 0) {
		switch step.kind {
		case migration:
			st.Pending = append(st.Pending, step.name)
		case functions:
			st.FunctionsCurrent = false
		}
	}
	if s.version == 0 {
		return st, nil
	}
	rows, err := conn.Query(ctx, schema.Query("migrate_applied"))
	if err != nil {
		return Status{}, err
	}
	if st.Applied, err = pgx.CollectRows(rows, pgx.RowToStructByPos[Applied]); err != nil {
		return Status{}, err
	}
	// Until it is migrated, an older schema has the table elsewhere.
	caches := schema.Query("migrate_caches")
	if s.version < internalSince {
		caches = schema.Query("migrate_caches_before_6")
	}
	if rows, err = conn.Query(ctx, caches); err != nil {
		return Status{}, err
	}
	if st.Caches, err = pgx.CollectRows(rows, pgx.RowTo[string]); err != nil {
		return Status{}, err
	}
	if s.version >= watchesSince {
		if st.Watches, err = watches(ctx, conn); err != nil {
			return Status{}, err
		}
	}
	return st, s.usable()
}

// watches lists the watched tables with their caches.
func watches(ctx context.Context, conn *pgx.Conn) ([]string, error) {
	rows, err := conn.Query(ctx, schema.Query("migrate_watches"))
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, pgx.RowTo[string])
}
