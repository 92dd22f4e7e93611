package migrate

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/howdah/howdah/schema"
)

// GrantScript returns the SQL of GrantRuntime, for review and for psql. It
// needs the schema.
func GrantScript(role string, databases bool) string {
	return fmt.Sprintf(`
-- Lets a role use the caches: USAGE on the schemas howdah and howdah_internal; SELECT
-- on the settings and on the views of the caches;
-- SELECT, INSERT, UPDATE, DELETE and TRUNCATE on the table of every cache there is
-- or will be, and all but TRUNCATE on the sessions and on the scripts of Redis clients;
-- SELECT, INSERT and DELETE on messages, and what upkeep and subscribers write down; EXECUTE on the verbs. It can make, change or drop nothing%s.
SELECT howdah.grant_runtime(%s, create_databases => %t);
`, map[bool]string{true: " but the caches db1 to db15"}[databases], literal(role), databases)
}

// CheckRole says whether there is a role, before Up changes anything for the sake of it. Errors:
// ErrRoleNotFound, or the database's own.
func CheckRole(ctx context.Context, conn *pgx.Conn, role string) error {
	var exists bool
	if err := conn.QueryRow(ctx, schema.Query("role_exists"), role).Scan(&exists); err != nil || exists {
		return err
	}
	return noRole(role)
}

func noRole(role string) error {
	return fail(ErrRoleNotFound, "role %q does not exist: make it with CREATE ROLE %s LOGIN", role, pgx.Identifier{role}.Sanitize())
}

// GrantRuntime gives an existing role the least that an application needs, on
// the caches there are and will be; see howdah.grant_runtime in docs/sql.md.
// With databases the role may also make the caches db1 to db15 when a Redis
// client selects them.
//
// Errors: ErrRoleNotFound, ErrPermission, those of Check.
func GrantRuntime(ctx context.Context, conn *pgx.Conn, role string, databases bool) error {
	if err := Check(ctx, conn); err != nil {
		return err
	}
	err := transact(ctx, conn, func() error {
		_, err := conn.Exec(ctx, schema.Query("grant_runtime"), role, databases)
		return err
	})
	switch sqlState(err) {
	case "42704":
		return noRole(role)
	case "0A000":
		return fail(ErrUnsupported, "the database is on several servers: run \"howdah migrate --citus --runtime-role %s\" on the coordinator", role)
	case "42501":
		return fail(ErrPermission, "this role may not grant on the schema howdah: connect as its owner")
	}
	return err
}
