package migrate

import (
	"cmp"
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/howdah/howdah/schema"
)

type kind uint8

const (
	setup kind = iota
	migration
	functions
	division
)

// step is a piece of SQL that runs inside the transaction of an upgrade.
type step struct {
	kind kind
	name string
	sql  string
}

// plan is what brings a database in this state to the version of this
// program, and divides the caches into partitions, if that is not 0. Up runs it and
// Print writes it down: the same text.
func plan(s state, partitions int) []step {
	var steps []step
	latest := schema.Latest()
	fresh := s.version == 0

	if !fresh && s.version < latest {
		steps = append(steps, step{setup, "functions over rows", schema.Query("migrate_rows")})
	}
	for _, m := range schema.Migrations() {
		if m.Version <= s.version {
			continue
		}
		steps = append(steps, step{migration, fmt.Sprintf("%03d_%s", m.Version, m.Name), m.SQL +
			fmt.Sprintf("\nINSERT INTO howdah.migration (version, name, breaking)\nVALUES (%d, %s, %t);\n",
				m.Version, literal(m.Name), m.Breaking)})
	}

	// A database with newer migrations, or newer functions, keeps its functions.
	digest := schema.FunctionsDigest()
	outdated := s.functions < schema.FunctionsVersion ||
		s.functions == schema.FunctionsVersion && s.digest != digest
	if s.version <= latest && outdated {
		steps = append(steps, step{functions, fmt.Sprintf("functions %d", schema.FunctionsVersion), functionsSQL(digest)})
	}
	if fresh {
		steps = append(steps, step{setup, "cache db0", schema.Query("migrate_db0")})
	}
	if partitions != 0 && partitions != s.partitions {
		steps = append(steps, step{division, fmt.Sprintf("%d partitions", partitions),
			strings.ReplaceAll(schema.Query("migrate_divide"), "{partitions}", strconv.Itoa(partitions))})
	}
	if len(steps) == 0 {
		return nil
	}
	return append([]step{{setup, "prepare", prepareSQL(s)}}, steps...)
}

// settleSQL settles under which settings, and as which role, the rest runs.
func settleSQL(s state) string {
	var b strings.Builder
	b.WriteString("-- Rather fail than make the applications queue behind a waiting ALTER.\n")
	b.WriteString("SET LOCAL lock_timeout = '5s';\n")
	if s.owner != "" && s.owner != s.role {
		b.WriteString("-- What the owner of the schema does not own, it cannot upgrade.\n")
		fmt.Fprintf(&b, "SET LOCAL ROLE %s;\n", pgx.Identifier{s.owner}.Sanitize())
	}
	return b.String()
}

// prepareSQL is settleSQL, and makes the schemas if need be: which of them, and
// for whom, the state says.
func prepareSQL(s state) string {
	var b strings.Builder
	if s.version < internalSince && s.owner != "" && s.internal == "" {
		// Before the role changes: the owner may have no right to make a schema.
		fmt.Fprintf(&b, "CREATE SCHEMA howdah_internal AUTHORIZATION %s;\n", pgx.Identifier{s.owner}.Sanitize())
	}
	b.WriteString(settleSQL(s))
	if s.owner == "" {
		b.WriteString("CREATE SCHEMA howdah;\n")
		if s.internal == "" {
			b.WriteString("CREATE SCHEMA howdah_internal;\n")
		}
	}
	if s.version == 0 {
		b.WriteString("COMMENT ON SCHEMA howdah IS 'Howdah: caches and sessions. Remove it with \"howdah migrate --uninstall\".';\n")
	}
	if s.version < internalSince {
		b.WriteString("COMMENT ON SCHEMA howdah_internal IS 'The tables of Howdah''s caches and what its functions are made of; any release may change it.';\n")
	}
	return b.String()
}

// functionsSQL replaces all functions and the views of the caches, and grants new
// ones to the roles that run applications.
func functionsSQL(digest string) string {
	var b strings.Builder
	for _, f := range schema.Functions() {
		b.WriteString(f.SQL)
		b.WriteString("\n")
	}
	fmt.Fprintf(&b, "UPDATE howdah.meta SET functions = %d, functions_digest = %s;\n",
		schema.FunctionsVersion, literal(digest))
	b.WriteString(schema.Query("migrate_functions"))
	return b.String()
}

// Print returns the SQL that Up would run in the database of conn, for review
// and for psql:
//
//	howdah migrate --print | psql -v ON_ERROR_STOP=1 "$DATABASE_URL"
//
// It is a comment if there is nothing to do. Errors: as Up's.
func Print(ctx context.Context, conn *pgx.Conn, opts Options) (string, error) {
	s, err := inspect(ctx, conn)
	if err != nil {
		return "", err
	}
	if err := cmp.Or(s.usable(), s.divisible(opts.Partitions)); err != nil {
		return "", err
	}
	return script(s, opts.Partitions), nil
}

// Script returns the SQL that installs the schema in a database without it. Error:
// ErrPartitions.
func Script(opts Options) (string, error) {
	s := state{}
	if err := s.divisible(opts.Partitions); err != nil {
		return "", err
	}
	return script(s, opts.Partitions), nil
}

func script(s state, partitions int) string {
	steps := plan(s, partitions)
	if len(steps) == 0 {
		return "-- The Howdah schema is up to date: there is nothing to do.\n"
	}
	var b strings.Builder
	b.WriteString("-- The Howdah schema. One transaction: all of it or nothing.\n")
	b.WriteString("-- psql -v ON_ERROR_STOP=1 stops at the first error.\n\n")
	b.WriteString(schema.Query("migrate_begin"))
	for _, step := range steps {
		fmt.Fprintf(&b, "\n-- %s\n\n%s", step.name, step.sql)
	}
	b.WriteString("\nCOMMIT;\n")
	return b.String()
}

// literal quotes a string that holds no backslash.
func literal(s string) string { return "'" + strings.ReplaceAll(s, "'", "''") + "'" }
