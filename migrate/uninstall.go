package migrate

import (
	"context"
	"fmt"
	"regexp"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/howdah/howdah/schema"
)

// Object is something in the schemas howdah and howdah_internal.
type Object struct {
	Kind string // "table", "function", ...
	Name string // qualified and quoted, a function with its argument types
	Ours bool   // made by this version of Howdah
}

// makesRelation finds what the migrations and functions make.
var makesRelation = regexp.MustCompile(`(?m)^CREATE (?:OR REPLACE )?(?:UNLOGGED )?(?:TABLE|VIEW) (howdah(?:_internal)?\.\w+)`)

func (o Object) String() string { return o.Kind + " " + o.Name }

// Objects lists what Uninstall removes: what depends on nothing but the
// schema (indexes and the like go with their tables).
//
// Errors: ErrMissing if there is no schema or a too old one, ErrForeign if it is not Howdah's,
// ErrPermission if the role may not remove it, or the database's own.
func Objects(ctx context.Context, conn *pgx.Conn) ([]Object, error) {
	s, err := inspect(ctx, conn)
	switch {
	case s.foreign != "":
		return nil, s.usable()
	case err == nil && s.version == 0:
		return nil, fail(ErrMissing, "database %q has no Howdah schema: there is nothing to remove", s.database)
	case s.owner != "" && !s.mayOwn: // no grant is advised: what is removed once needs none
		return nil, fail(ErrPermission, "the schema howdah of database %q belongs to role %q: connect as that role", s.database, s.owner)
	case err != nil:
		return nil, err
	}
	if err := s.changeable(); err != nil {
		return nil, err
	}
	if s.version < internalSince {
		return nil, fail(ErrMissing, "the schema in database %q has version %d: run \"howdah migrate\" first, or remove it with the program that made it",
			s.database, s.version)
	}
	var signatures, relations []string
	made := func(sql string) {
		for _, match := range makesRelation.FindAllStringSubmatch(sql, -1) {
			relations = append(relations, match[1])
		}
	}
	for _, f := range schema.Functions() {
		signatures = append(signatures, f.Signature)
		made(f.SQL)
	}
	for _, m := range schema.Migrations() {
		made(m.SQL)
	}
	// Of schema 5, for programs of that time; and the settings, which moved.
	signatures = append(signatures, "howdah._session_due(howdah.session, timestamptz)")
	relations = append(relations, "howdah_internal.cache")
	rows, err := conn.Query(ctx, schema.Query("migrate_objects"), signatures, relations)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, pgx.RowToStructByPos[Object])
}

// Uninstall removes the schema with all caches in it, in one transaction, and
// returns what it removed. Objects in the schema that are not Howdah's are
// refused, unless force is set: then they go too. Nothing outside the schema
// is ever removed: what depends on it from there is an error, and so is a table
// that is watched.
//
// Errors: as Objects'; ErrForeign for the three refusals.
func Uninstall(ctx context.Context, conn *pgx.Conn, force bool) ([]Object, error) {
	var objects []Object
	err := transact(ctx, conn, func() error {
		var err error
		if objects, err = Objects(ctx, conn); err != nil {
			return err
		}
		s, err := inspect(ctx, conn)
		if err != nil {
			return err
		}
		if foreign := notOurs(objects); foreign != nil && !force {
			return fail(ErrForeign, "the schema howdah holds what this version of Howdah did not make (%s): move it elsewhere, or force its removal",
				strings.Join(foreign, ", "))
		}
		watched, err := watches(ctx, conn)
		if err != nil {
			return err
		}
		if len(watched) > 0 && s.version >= watchesSince {
			return fail(ErrForeign, "tables are watched, nothing was removed: end their watches first, with howdah.unwatch_table (%s)", strings.Join(watched, ", "))
		}
		if err := run(ctx, conn, settleSQL(s)); err != nil {
			return err
		}
		return drop(ctx, conn, objects)
	})
	if err != nil {
		return nil, err
	}
	return objects, nil
}

func notOurs(objects []Object) []string {
	var names []string
	for _, o := range objects {
		if !o.Ours {
			names = append(names, o.String())
		}
	}
	return names
}

// drop removes the objects and the schema without CASCADE, so that PostgreSQL
// itself guards what is outside. Objects that others still need are tried
// again after those.
func drop(ctx context.Context, conn *pgx.Conn, objects []Object) error {
	for len(objects) > 0 {
		var left []Object
		var needed error
		for _, o := range objects {
			err := run(ctx, conn, fmt.Sprintf("SAVEPOINT s; DROP %s %s; RELEASE SAVEPOINT s", dropKind(o.Kind), o.Name))
			switch {
			case err == nil:
			case sqlState(err) == "2BP01":
				left, needed = append(left, o), err
				if err := run(ctx, conn, "ROLLBACK TO SAVEPOINT s"); err != nil {
					return err
				}
			default:
				return err
			}
		}
		if len(left) == len(objects) {
			return fail(ErrForeign, "objects outside the schema howdah depend on it, nothing was removed: drop them first (%s)", detail(needed))
		}
		objects = left
	}
	return run(ctx, conn, schema.Query("migrate_drop"))
}

// dropKind turns PostgreSQL's name of a kind of object into that of its DROP.
func dropKind(kind string) string {
	switch kind {
	case "composite type":
		return "TYPE"
	case "statistics object":
		return "STATISTICS"
	}
	return strings.ToUpper(kind)
}
