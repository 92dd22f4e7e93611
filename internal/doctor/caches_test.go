package doctor_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/howdah/howdah/internal/doctor"
	"github.com/howdah/howdah/internal/test/pgtest"
	"github.com/howdah/howdah/migrate"
)

const fill = "INSERT INTO {c} (hash, version, expires_at, key, value) SELECT i, 1, %s, int8send(i), '' FROM generate_series(1, 3000) AS i"

var fillForever = fmt.Sprintf(fill, "'infinity'")

func TestCacheFaults(t *testing.T) {
	t.Parallel()
	conn := connect(t, pgtest.New(t))
	noAutovacuum := "ALTER TABLE {c} SET (autovacuum_enabled = off)"
	for _, c := range []struct {
		name, id, object string
		severity         doctor.Severity
		plant            []string
	}{
		{"table dropped", "cache-table-missing", "cache c", doctor.Error, []string{"DROP TABLE {c} CASCADE"}},
		{"row dropped", "cache-unregistered", "{c}", doctor.Warning, []string{"DELETE FROM howdah_internal.cache WHERE name = 'c'"}},
		{"no primary key", "cache-primary-key", "howdah.cache_c", doctor.Error, []string{
			"ALTER TABLE {c} DROP CONSTRAINT {relation}_pkey",
			"INSERT INTO {c} (hash, version, expires_at, key, value) VALUES (1, 1, 'infinity', 'a', ''), (1, 2, 'infinity', 'a', ''), (1, 2, 'infinity', 'a', '')"}},
		{"index on expiry", "cache-index-breaks-hot", "howdah_internal.by_expiry", doctor.Warning, []string{"CREATE INDEX by_expiry ON {c} (expires_at)"}},
		{"index on an expression", "cache-index-breaks-hot", "howdah_internal.by_size", doctor.Warning, []string{"CREATE INDEX by_size ON {c} (octet_length(value))"}},
		{"partial index", "cache-index-breaks-hot", "howdah_internal.partial", doctor.Warning, []string{"CREATE INDEX partial ON {c} (hash) WHERE version > 5"}},
		{"covering index", "cache-index-breaks-hot", "howdah_internal.covering", doctor.Warning, []string{"CREATE UNIQUE INDEX covering ON {c} (hash) INCLUDE (value)"}},
		{"index on the key", "cache-extra-index", "howdah_internal.by_key", doctor.Warning, []string{"CREATE INDEX by_key ON {c} (key)"}},
		{"constraint on the key", "cache-extra-index", "howdah_internal.uni", doctor.Warning, []string{"ALTER TABLE {c} ADD CONSTRAINT uni UNIQUE (key)"}},
		{"index twice", "duplicate-index", "howdah_internal.twice", doctor.Warning, []string{"CREATE INDEX twice ON {c} (hash)"}},
		{"prefix index dropped", "cache-prefix-index-missing", "howdah.cache_c", doctor.Warning, []string{
			"SELECT howdah.alter_cache('c', prefix_index => true)", "DROP INDEX {c}_prefix"}},
		{"sync but unlogged", "cache-durability-drift", "howdah.cache_c", doctor.Error, []string{
			"SELECT howdah.alter_cache('c', durability => 'sync')", "ALTER TABLE {c} SET UNLOGGED"}},
		{"unlogged but logged", "cache-durability-drift", "howdah.cache_c", doctor.Warning, []string{"ALTER TABLE {c} SET LOGGED"}},
		{"fillfactor", "cache-settings-drift", "howdah.cache_c", doctor.Warning, []string{"ALTER TABLE {c} SET (fillfactor = 100)"}},
		{"autovacuum off", "cache-settings-drift", "howdah.cache_c", doctor.Warning, []string{noAutovacuum}},
		{"toast", "cache-settings-drift", "howdah.cache_c", doctor.Warning, []string{
			"ALTER TABLE {c} RESET (toast.autovacuum_vacuum_scale_factor, vacuum_truncate), SET (toast.autovacuum_enabled = false)"}},
		{"everything reset", "cache-settings-drift", "howdah.cache_c", doctor.Warning, []string{
			"ALTER TABLE {c} RESET (fillfactor, autovacuum_vacuum_threshold, autovacuum_vacuum_scale_factor, autovacuum_vacuum_cost_delay)"}},
		{"public", "cache-grant-broad", "TABLE {c}", doctor.Warning, []string{"GRANT SELECT ON {c} TO PUBLIC"}},
		{"schema", "cache-grant-broad", "SCHEMA howdah", doctor.Warning, []string{"GRANT CREATE ON SCHEMA howdah TO pg_monitor"}},
		{"trigger", "cache-grant-broad", "TABLE {c}", doctor.Warning, []string{"GRANT TRIGGER ON {c} TO pg_monitor"}},
		{"grant option", "cache-grant-broad", "TABLE {c}", doctor.Warning, []string{"GRANT SELECT ON {c} TO pg_monitor WITH GRANT OPTION"}},
		{"role removed", "runtime-role-gone", "nobody", doctor.Info, []string{"INSERT INTO howdah.runtime_role VALUES ('nobody''s')"}},
		{"owner", "runtime-role-owner", "role howdah", doctor.Info, []string{"SELECT howdah.grant_runtime(current_user)"}},
		{"dead rows", "dead-rows", "howdah.cache_c", doctor.Warning, []string{noAutovacuum, fillForever, "DELETE FROM {c} WHERE hash % 2 = 0"}},
		{"never analysed", "never-analysed", "howdah.cache_c", doctor.Warning, []string{noAutovacuum, fillForever}},
		{"bloat", "bloat", "howdah.cache_c", doctor.Warning, []string{noAutovacuum, fillForever,
			"UPDATE {c} SET value = decode(repeat('61', 1000), 'hex')", "DELETE FROM {c} WHERE hash > 100"}},
		{"expired", "expiry-backlog", "howdah.cache_c", doctor.Warning, []string{fmt.Sprintf(fill, "now()")}},
		{"bytes", "over-budget", "howdah.cache_c", doctor.Warning, []string{"SELECT howdah.alter_cache('c', max_bytes => 10000)", fillForever}},
		{"entries", "over-budget", "howdah.cache_c", doctor.Warning, []string{"SELECT howdah.alter_cache('c', max_entries => 1000)", fillForever}},
		{"no eviction", "over-budget", "howdah.cache_c", doctor.Warning, []string{
			"SELECT howdah.alter_cache('c', max_entries => 1000, max_bytes => 10000, eviction => 'noeviction')", fillForever}},
		{"no upkeep yet", "upkeep-missing", "upkeep", doctor.Warning, []string{"DELETE FROM howdah.upkeep", fmt.Sprintf(fill, "now() - interval '10 min'")}},
		{"no upkeep any more", "upkeep-missing", "upkeep", doctor.Warning, []string{
			"SELECT howdah.maintain(max_time => '1 min')", "UPDATE howdah.upkeep SET last_round = now() - interval '1 h'",
			"SELECT howdah.alter_cache('c', max_entries => 1000)", fillForever}},
	} {
		t.Run(c.name, func(t *testing.T) {
			run(t, conn, "SELECT howdah.create_cache('c')")
			table := pgtest.Table(t, conn, "c")
			_, relation, _ := strings.Cut(table, ".")
			names := strings.NewReplacer("{c}", table, "{relation}", relation)
			defer run(t, conn, "DELETE FROM howdah.runtime_role", "DROP TABLE IF EXISTS "+table+" CASCADE", "SELECT howdah.drop_cache('c', true)",
				"REVOKE CREATE ON SCHEMA howdah FROM pg_monitor")
			require.Empty(t, about(examine(t, conn, low)))
			for _, sql := range c.plant {
				run(t, conn, names.Replace(sql))
			}
			f := await(t, conn, low, c.id, names.Replace(c.object))
			require.Equal(t, c.severity, f.Severity)
			if c.id == "runtime-role-owner" {
				return // a matter of roles, no statement
			}
			repair(t, conn, conn, low, f)
		})
	}
	require.Empty(t, about(examine(t, conn, low)))
}

// The counts are cumulative: the repair shows in those that come after it.
func TestLowHOTRatio(t *testing.T) {
	t.Parallel()
	databaseURL := pgtest.New(t)
	conn, super := connect(t, databaseURL), connect(t, pgtest.SuperURL(databaseURL))
	run(t, conn, "SELECT howdah.create_cache('c', fillfactor => 100)", fillForever, "UPDATE {c} SET version = 2")
	f := await(t, conn, low, "low-hot-ratio", "howdah.cache_c")
	run(t, conn, f.Repair...)
	require.Equal(t, 85, one[int](t, conn, "SELECT fillfactor FROM howdah_internal.cache WHERE name = 'c'"))
	run(t, conn, "TRUNCATE {c}", fillForever)
	run(t, super, "SELECT pg_stat_reset_single_table_counters('{c}'::regclass)")
	for range 6 { // one row of a page at a time: there is room
		run(t, conn, "UPDATE {c} SET version = 3 WHERE hash % 20 = 0")
	}
	gone(t, conn, low, f)
}

func TestSuperuserAtRuntime(t *testing.T) {
	t.Parallel()
	databaseURL := pgtest.New(t)
	conn, super := connect(t, databaseURL), connect(t, pgtest.SuperURL(databaseURL))
	role := "app " + one[string](t, conn, "SELECT current_database()::text")
	run(t, super, "CREATE ROLE "+pgx.Identifier{role}.Sanitize()+" SUPERUSER")
	t.Cleanup(func() {
		run(t, super, "DROP OWNED BY "+pgx.Identifier{role}.Sanitize(), "DROP ROLE "+pgx.Identifier{role}.Sanitize())
	})
	require.NoError(t, migrate.GrantRuntime(ctx(t), conn, role, true))
	repair(t, conn, super, low, await(t, conn, low, "runtime-role-superuser", role))
	require.Empty(t, about(examine(t, conn, low)), "what grant_runtime gives is not too much")
}

func TestSchemaVersion(t *testing.T) {
	t.Parallel()
	conn := connect(t, pgtest.New(t))
	opts := low
	opts.CheckSchema = func(ctx context.Context, tx pgx.Tx) error { return migrate.Check(ctx, tx) }
	require.Empty(t, about(examine(t, conn, opts)))
	run(t, conn, "UPDATE howdah.meta SET functions = 0")
	f := await(t, conn, opts, "schema-version", "schema howdah")
	require.Equal(t, doctor.Error, f.Severity)
	require.Contains(t, f.Evidence, `run "howdah migrate"`)
	_, err := migrate.Up(ctx(t), conn, migrate.Options{})
	require.NoError(t, err)
	gone(t, conn, opts, f)
}

func TestOldRows(t *testing.T) {
	t.Parallel()
	conn := connect(t, pgtest.New(t))
	run(t, conn, "SELECT howdah.create_cache('c')", fillForever)
	opts := low
	opts.XIDAge = 1000
	run(t, conn, "DO $$ BEGIN FOR i IN 1..1500 LOOP PERFORM pg_current_xact_id(); COMMIT; END LOOP; END $$")
	require.NotNil(t, await(t, conn, opts, "database-xid-age", ""))
	f := await(t, conn, opts, "xid-age", "howdah.cache_c")
	require.Contains(t, f.Evidence, "transactions old")
	repair(t, conn, conn, opts, f)
}

func TestHitRatioAndToast(t *testing.T) {
	t.Parallel()
	server := pgtest.Own(t, "shared_buffers", "512kB")
	databaseURL := server.NewURL()
	conn, super := connect(t, databaseURL), connect(t, server.SuperURL())
	run(t, conn, "SELECT count(howdah.set_text('db0', i::text, repeat('x', 5000))) FROM generate_series(1, 2000) AS i",
		"CREATE TABLE cache (key text PRIMARY KEY, value text)", "INSERT INTO cache SELECT i, repeat('x', 1000) FROM generate_series(1, 20000) AS i")
	require.Equal(t, doctor.Info, await(t, conn, low, "toast-large", "howdah.cache_db0").Severity)
	for range 5 {
		run(t, conn, "SELECT count(*) FROM cache")
	}
	opts := low
	opts.MinRows = 100
	f := await(t, conn, opts, "low-hit-ratio", "public.cache")
	eventually(t, func() bool { // a count of before the reset may arrive after it
		run(t, super, "SELECT pg_stat_reset_single_table_counters('public.cache'::regclass)")
		return find(examine(t, conn, opts), f.ID, f.Object) == nil
	}, "the counts do not go")
}
