package schema_test

import (
	"fmt"
	"net/url"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/howdah/howdah/internal/test/pgtest"
)

// newRole makes a role that can log in and nothing else, and returns its name
// and a pool that is connected as it.
func newRole(t *testing.T, databaseURL, name string) (string, *pgxpool.Pool) {
	t.Helper()
	super := connect(t, pgtest.SuperURL(databaseURL))
	name = fmt.Sprintf("%s %s", name, one[string](t, super, "SELECT current_database()"))
	quoted := pgx.Identifier{name}.Sanitize()
	run(t, super, "CREATE ROLE "+quoted+" LOGIN PASSWORD 'p'")
	t.Cleanup(func() {
		run(t, super, "DROP OWNED BY "+quoted)
		run(t, super, "DROP ROLE "+quoted)
	})
	u, err := url.Parse(databaseURL)
	require.NoError(t, err)
	u.User = url.UserPassword(name, "p")
	return name, connect(t, u.String())
}

func TestRuntimeRole(t *testing.T) {
	t.Parallel()
	databaseURL := newDatabase(t)
	owner := connect(t, databaseURL)
	run(t, owner, "SELECT howdah.create_cache('c')")
	run(t, owner, "SELECT howdah.drop_cache('db0', true), howdah.create_cache('db0')")
	run(t, owner, "CREATE SCHEMA other CREATE TABLE secret (s text)")
	role, app := newRole(t, databaseURL, `app "x'`)

	refused(t, app, "42501", "SELECT howdah.get('c', 'k')")
	refused(t, owner, "42704", "SELECT howdah.grant_runtime('nobody at all')")
	refused(t, owner, "42704", "SELECT howdah.grant_runtime(NULL)")
	run(t, owner, "SELECT howdah.grant_runtime($1)", role)
	run(t, owner, "SELECT howdah.grant_runtime($1)", role) // again is no error
	run(t, owner, "SELECT howdah.create_cache('later')")

	for _, cache := range []string{"c", "later"} {
		for _, call := range []string{
			"get('%c', 'k')", "get_text('%c', 'k')", "get_entry('%c', 'k')", "get_many('%c', '{k}')", "get_many_text('%c', '{k}')",
			"set('%c', 'k', 'v')", "set_text('%c', 'k', 'v')", "set_many('%c', '{k}', '{v}')", "set_many_text('%c', '{k}', '{v}')",
			"add('%c', 'k', 'v')", "add_text('%c', 'k', 'v')", "replace('%c', 'k', 'v')", "replace_text('%c', 'k', 'v')",
			"compare_and_set('%c', 'k', 0, 'v')", "compare_and_set('%c', 'k', 1, 'v')", "touch('%c', 'k')", "expire('%c', 'k')",
			"persist('%c', 'k')", "ttl('%c', 'k')", "increment('%c', 'n')", "scan('%c')", "scan_text('%c')", "count('%c')",
			"delete('%c', 'k')", "delete_text('%c', 'k')", "delete_many('%c', '{k}')", "delete_prefix('%c', 'k')",
			"get_and_delete('%c', 'k')", "get_and_delete_text('%c', 'k')", "flush('%c')", "caches()", "key_hash('k')", "no_expiry()", "ttl_text('%c', 'k')", "increment_text('%c', 'n')", "touch_text('%c', 'k')", "expire_text('%c', 'k')", "persist_text('%c', 'k')",
			"get_entry_text('%c', 'k')", "delete_many_text('%c', '{k}')", "delete_prefix_text('%c', 'k')",
			"compare_and_set_text('%c', 'text', 0, 'v')", "set_json('%c', 'j', '1')", "get_json('%c', 'j')", "key_hash_text('k')",
			"claim('%c', 'absent')", "claim_text('%c', 'absent')", "fulfil('%c', 'absent', 1, 'v')", "fulfil_text('%c', 'absent', 1, 'v')",
			"type('%c', 'absent')", "type_text('%c', 'absent')", "hgetall('%c', 'absent')", "hgetall_text('%c', 'absent')", "lrange('%c', 'absent')", "lrange_text('%c', 'absent')",
			"smembers('%c', 'absent')", "smembers_text('%c', 'absent')", "zrange('%c', 'absent')", "zrange_text('%c', 'absent')",
			"release('%c', 'absent', 1)", "release_text('%c', 'absent', 1)", "delete('%c', 'none')",
			"publish('channel', 'm')", "publish_text('channel', 'm')",
		} {
			run(t, app, "SELECT howdah."+replaceAll(call, "%c", cache))
		}
		plant(t, app, cache, "k", "other", "v") // the collision's function too
		run(t, app, "SELECT howdah.set($1, 'k', 'v')", cache)
	}
	require.Equal(t, "truncate", one[string](t, app, "SELECT howdah.flush('c')"))

	for _, sql := range []string{
		"SELECT howdah.create_cache('x')", "SELECT howdah.alter_cache('c', fillfactor => 50)", "SELECT howdah.drop_cache('c')",
		"SELECT howdah.grant_runtime(current_user::text)", "SELECT howdah.create_database(1)", "SELECT howdah.swap_caches('c', 'later')", "SELECT howdah.revoke_runtime(current_user::text)",
		"CREATE TABLE howdah.x ()", "DROP TABLE " + table(t, app, "c"), "ALTER TABLE " + table(t, app, "c") + " ADD x int",
		"UPDATE howdah_internal.cache SET max_ttl = '1 s'", "INSERT INTO howdah_internal.cache (name) VALUES ('x')", "UPDATE howdah.meta SET functions = 9",
		"DELETE FROM howdah.migration", "SELECT * FROM howdah.runtime_role", "SELECT * FROM other.secret", "CREATE SCHEMA mine",
		"CREATE OR REPLACE FUNCTION howdah.get(cache text, key bytea) RETURNS bytea LANGUAGE sql AS 'SELECT key'",
	} {
		refused(t, app, "42501", sql)
	}

	run(t, owner, "SELECT howdah.grant_runtime($1, create_databases => true)", role)
	require.True(t, one[bool](t, app, "SELECT howdah.create_database(1)"))
	run(t, app, "SELECT howdah.set('db1', 'k', 'v')")
	require.True(t, one[bool](t, owner, `
		SELECT bool_and(relowner = (SELECT nspowner FROM pg_namespace WHERE nspname = 'howdah'))
		FROM pg_class WHERE relnamespace IN ('howdah'::regnamespace, 'howdah_internal'::regnamespace)`))
}

// A role that was allowed to call create_cache but may not create hears why.
func TestCreateCacheWithoutPrivilege(t *testing.T) {
	t.Parallel()
	databaseURL := newDatabase(t)
	owner := connect(t, databaseURL)
	role, app := newRole(t, databaseURL, "dev")
	quoted := pgx.Identifier{role}.Sanitize()
	run(t, owner, "GRANT USAGE ON SCHEMA howdah, howdah_internal TO "+quoted)
	run(t, owner, "GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA howdah, howdah_internal TO "+quoted)
	_, err := app.Exec(ctx(t), "SELECT howdah.create_cache('x')")
	require.Equal(t, "42501", state(err))
	require.ErrorContains(t, err, "may not create, change or drop caches")
}

// What an administrator makes belongs to the owner all the same; a role that
// was granted and then dropped is no obstacle.
func TestAdministratorMakesCache(t *testing.T) {
	t.Parallel()
	databaseURL := newDatabase(t)
	owner := connect(t, databaseURL)
	super := connect(t, pgtest.SuperURL(databaseURL))
	run(t, owner, "INSERT INTO howdah.runtime_role VALUES ('dropped long ago')")
	run(t, super, "SELECT howdah.create_cache('x', prefix_index => true)")
	run(t, owner, "SELECT howdah.set('x', 'k', 'v'), howdah.alter_cache('x', durability => 'sync')")
	run(t, owner, "SELECT howdah.drop_cache('x')")
}

// What was granted is taken back as a whole: the role could be dropped, and
// caches and functions that come later are not granted to it again.
func TestRevokeRuntime(t *testing.T) {
	t.Parallel()
	databaseURL := newDatabase(t)
	owner := connect(t, databaseURL)
	role, app := newRole(t, databaseURL, `app "x'`)
	other, _ := newRole(t, databaseURL, "other")
	refused(t, owner, "42704", "SELECT howdah.revoke_runtime('nobody at all')")
	refused(t, owner, "42704", "SELECT howdah.revoke_runtime(NULL)")
	require.False(t, one[bool](t, owner, "SELECT howdah.revoke_runtime($1)", role))

	run(t, owner, "SELECT howdah.grant_runtime($1, create_databases => true), howdah.grant_runtime($2)", role, other)
	run(t, app, "SELECT howdah.set('db0', 'k', 'v')")
	require.True(t, one[bool](t, owner, "SELECT howdah.revoke_runtime($1)", role))
	run(t, owner, "SELECT howdah.create_cache('later')")
	for _, call := range []string{"get('db0', 'k')", "set('later', 'k', 'v')", "create_database(1)", "session_count()"} {
		refused(t, app, "42501", "SELECT howdah."+call)
	}
	const held = `SELECT count(*) FROM pg_shdepend
	              WHERE refclassid = 'pg_authid'::regclass AND refobjid = (SELECT oid FROM pg_roles WHERE rolname = $1)
	                AND dbid = (SELECT oid FROM pg_database WHERE datname = current_database())`
	require.Zero(t, one[int](t, owner, held, role), "nothing is left of it")
	require.Positive(t, one[int](t, owner, held, other))
	require.Equal(t, []string{other}, all[string](t, owner, "SELECT role::text FROM howdah.runtime_role"))

	run(t, owner, "INSERT INTO howdah.runtime_role VALUES ('dropped long ago')")
	require.True(t, one[bool](t, owner, "SELECT howdah.revoke_runtime('dropped long ago')"))
	run(t, owner, "SELECT howdah.grant_runtime($1)", role)
	run(t, app, "SELECT howdah.set('later', 'k', 'v')")
}
