package schema_test

import (
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"
)

func TestCreateCacheMakesATable(t *testing.T) {
	t.Parallel()
	db := open(t)
	run(t, db, `SELECT howdah.create_cache('full', 'async', '1 hour', '1 day', 1000, 10, 'volatile-ttl', 70, true)`)
	require.Equal(t, "async|01:00:00|1 day|1000|10|volatile-ttl|70|t", one[string](t, db, `
		SELECT concat_ws('|', durability, default_ttl, max_ttl, max_bytes, max_entries, eviction, fillfactor, prefix_index)
		FROM howdah_internal.cache WHERE name = 'full'`))
	for name, persistence := range map[string]string{"c": "u", "s": "p", "full": "p"} {
		require.Equal(t, persistence, one[string](t, db,
			"SELECT relpersistence::text FROM pg_class WHERE oid = $1::text::regclass", table(t, db, name)))
	}
	require.Equal(t, []string{table(t, db, "c") + "_pkey"}, all[string](t, db,
		"SELECT indexrelid::regclass::text FROM pg_index WHERE indrelid = '"+table(t, db, "c")+"'::regclass"))
	require.Equal(t, 2, one[int](t, db, "SELECT count(*) FROM pg_index WHERE indrelid = '"+table(t, db, "full")+"'::regclass"))
	options := one[[]string](t, db, "SELECT reloptions FROM pg_class WHERE oid = '"+table(t, db, "full")+"'::regclass")
	require.Contains(t, options, "fillfactor=70")
	require.Contains(t, options, "vacuum_truncate=off")
	require.Contains(t, options, "autovacuum_vacuum_scale_factor=0.01")
	require.Contains(t, one[[]string](t, db, `
		SELECT t.reloptions FROM pg_class c JOIN pg_class t ON t.oid = c.reltoastrelid
		WHERE c.oid = '`+table(t, db, "full")+`'::regclass`), "vacuum_truncate=off")

	// What is cached does not reach the statistics.
	run(t, db, "SELECT howdah.set_text('full', 'key', 'secret')")
	run(t, db, "ANALYZE "+table(t, db, "full"))
	require.Empty(t, all[string](t, db,
		"SELECT attname::text FROM pg_stats WHERE 'howdah_internal.' || tablename = '"+table(t, db, "full")+"' AND attname IN ('key', 'value')"))

	refused(t, db, "HW003", "SELECT howdah.create_cache('c')")
	run(t, db, "SELECT howdah.set_text('full', 'key', 'kept')")
	require.False(t, one[bool](t, db, "SELECT howdah.create_cache('full', if_not_exists => true)"))
	require.Equal(t, "kept", one[string](t, db, "SELECT howdah.get_text('full', 'key')"))
	require.Equal(t, "async", one[string](t, db, "SELECT durability FROM howdah.caches() WHERE name = 'full'"), "it keeps its settings")
	require.True(t, one[bool](t, db, "SELECT howdah.create_cache('new', if_not_exists => true)"))
	refused(t, db, "HW004", "SELECT howdah.create_cache('new', durability => 'fast', if_not_exists => true)")
}

func TestInvalidCacheNames(t *testing.T) {
	t.Parallel()
	db := open(t)
	longest := "a" + strings.Repeat("b", 47)
	run(t, db, "SELECT howdah.create_cache($1, prefix_index => true)", longest)
	run(t, db, "SELECT howdah.set_text($1, 'k', 'v')", longest)
	run(t, db, "SELECT howdah.drop_cache($1)", longest)

	for _, name := range []string{
		"", "X", "1a", "_a", "a-b", "a b", "a.b", "ä", "a\n", "a;", "a'", `a"`, "a\\", longest + "b",
		"c_pkey", "c_prefix", "x'); DROP SCHEMA howdah CASCADE; --", `c" WHERE true; --`, "%I", "$1", "%1$s",
		strings.Repeat("a", 100000),
	} {
		refused(t, db, "HW002", "SELECT howdah.create_cache($1)", name)
		refused(t, db, "HW002", "SELECT howdah.drop_cache($1)", name)
		refused(t, db, "HW002", "SELECT howdah.alter_cache($1)", name)
		refused(t, db, "HW002", "SELECT howdah.get($1, 'k')", name)
		refused(t, db, "HW002", "SELECT howdah.set($1, 'k', 'v')", name)
	}
	refused(t, db, "HW002", "SELECT howdah.create_cache(NULL)")
	require.Equal(t, 2, one[int](t, db, "SELECT count(*) FROM howdah_internal.cache WHERE name <> 'db0'"))
}

// Every verb says of a cache that is not there that it is not there.
func TestUnknownCache(t *testing.T) {
	t.Parallel()
	db := open(t)
	for _, call := range []string{
		"get('x', 'k')", "get_text('x', 'k')", "get_entry('x', 'k')", "get_many('x', '{k}')", "get_many_text('x', '{k}')",
		"set('x', 'k', 'v')", "set_text('x', 'k', 'v')", "set_many('x', '{k}', '{v}')", "set_many_text('x', '{k}', '{v}')",
		"add('x', 'k', 'v')", "add_text('x', 'k', 'v')", "replace('x', 'k', 'v')", "replace_text('x', 'k', 'v')",
		"compare_and_set('x', 'k', 0, 'v')", "delete('x', 'k')", "delete_text('x', 'k')", "delete_many('x', '{k}')",
		"delete_prefix('x', 'k')", "get_and_delete('x', 'k')", "get_and_delete_text('x', 'k')", "touch('x', 'k')",
		"expire('x', 'k')", "persist('x', 'k')", "ttl('x', 'k')", "increment('x', 'k')", "scan('x')", "scan_text('x')",
		"count('x')", "flush('x')", "alter_cache('x')", "drop_cache('x')",
	} {
		refused(t, db, "HW001", "SELECT howdah."+call)
	}
	require.False(t, one[bool](t, db, "SELECT howdah.drop_cache('x', if_exists => true)"))
}

func TestInvalidSettings(t *testing.T) {
	t.Parallel()
	db := open(t)
	for _, setting := range []string{
		"durability => 'fast'", "default_ttl => '0'", "default_ttl => '-1 s'", "max_ttl => '0'",
		"default_ttl => '2 s', max_ttl => '1 s'", "max_bytes => 0", "max_entries => -1", "eviction => 'lru'",
		"fillfactor => 9", "fillfactor => 101",
	} {
		refused(t, db, "HW004", "SELECT howdah.create_cache('x', "+setting+")")
		refused(t, db, "HW004", "SELECT howdah.alter_cache('c', "+setting+")")
	}
	for _, setting := range []string{"durability", "eviction", "fillfactor", "prefix_index"} {
		refused(t, db, "HW004", "SELECT howdah.create_cache('x', "+setting+" => NULL)")
	}
	refused(t, db, "HW004", "SELECT howdah.alter_cache('c', reset => '{name}')")
	refused(t, db, "HW004", "SELECT howdah.alter_cache('c', reset => '{NULL}')")
	refused(t, db, "HW004", "SELECT howdah.alter_cache('c', fillfactor => 50, reset => '{fillfactor}')")
	require.Equal(t, "unlogged|85", one[string](t, db, "SELECT durability || '|' || fillfactor FROM howdah_internal.cache WHERE name = 'c'"))
}

func TestAlterCache(t *testing.T) {
	t.Parallel()
	db := open(t)
	row := func() string {
		return one[string](t, db, `
			SELECT concat_ws('|', durability, coalesce(default_ttl::text, '-'), coalesce(max_ttl::text, '-'),
			                 coalesce(max_bytes::text, '-'), coalesce(max_entries::text, '-'), eviction, fillfactor, prefix_index)
			FROM howdah_internal.cache WHERE name = 'c'`)
	}
	persistence := func() string {
		return one[string](t, db, "SELECT relpersistence::text FROM pg_class WHERE oid = '"+table(t, db, "c")+"'::regclass")
	}
	run(t, db, "SELECT howdah.set_text('c', 'k', 'v')")

	run(t, db, "SELECT howdah.alter_cache('c')")
	require.Equal(t, "unlogged|-|-|-|-|allkeys-lru|85|f", row())

	run(t, db, `SELECT howdah.alter_cache('c', 'sync', '1 min', '1 mon 2 days', 1, 2, 'noeviction', 100, true)`)
	require.Equal(t, "sync|00:01:00|1 mon 2 days|1|2|noeviction|100|t", row())
	require.Equal(t, "p", persistence())
	require.Equal(t, "v", one[string](t, db, "SELECT howdah.get_text('c', 'k')"), "a rewrite keeps the entries")
	require.Contains(t, one[[]string](t, db, "SELECT reloptions FROM pg_class WHERE oid = '"+table(t, db, "c")+"'::regclass"), "fillfactor=100")
	require.Equal(t, 2, one[int](t, db, "SELECT count(*) FROM pg_index WHERE indrelid = '"+table(t, db, "c")+"'::regclass"))

	run(t, db, `SELECT howdah.alter_cache('c', durability => 'unlogged', empty => true,
	            reset => '{default_ttl,max_ttl,max_bytes,max_entries,eviction,fillfactor,prefix_index}')`)
	require.Equal(t, "unlogged|-|-|-|-|allkeys-lru|85|f", row())
	require.Equal(t, "u", persistence())
	require.Equal(t, 0, one[int](t, db, "SELECT howdah.count('c')"))
	require.Equal(t, 1, one[int](t, db, "SELECT count(*) FROM pg_index WHERE indrelid = '"+table(t, db, "c")+"'::regclass"))
}

// A transaction that reads the cache delays the change for 2 s, not longer.
func TestAlterAndDropGiveUp(t *testing.T) {
	t.Parallel()
	db := open(t)
	tx, err := db.Begin(ctx(t))
	require.NoError(t, err)
	defer tx.Rollback(ctx(t))
	run(t, tx, "SELECT howdah.get('c', 'k')")

	for _, call := range []string{"alter_cache('c', durability => 'sync')", "drop_cache('c')"} {
		refused(t, db, "55P03", "SELECT howdah."+call) // while the transaction goes on
	}
	require.Equal(t, "unlogged", one[string](t, db, "SELECT durability FROM howdah_internal.cache WHERE name = 'c'"), "nothing changed")
}

func TestCachesListsSettingsAndSizes(t *testing.T) {
	t.Parallel()
	db := open(t)
	run(t, db, `SELECT howdah.set_many('c', array_agg(int8send(i)), array_agg(decode(repeat('00', 9000), 'hex')))
	            FROM generate_series(1, 50) AS i`)
	run(t, db, "ANALYZE "+table(t, db, "c"))
	type row struct {
		Name                string
		Durability          string
		Entries             int64
		Table, Index, Toast int64
	}
	rows, err := db.Query(ctx(t), `SELECT name, durability, estimated_entries, table_bytes, index_bytes, toast_bytes
	                               FROM howdah.caches() WHERE name IN ('c', 's')`)
	require.NoError(t, err)
	got, err := pgx.CollectRows(rows, pgx.RowToStructByPos[row])
	require.NoError(t, err)
	require.Len(t, got, 2)
	require.Equal(t, "c", got[0].Name)
	require.EqualValues(t, 50, got[0].Entries)
	require.Positive(t, got[0].Table)
	require.Positive(t, got[0].Index)
	require.Greater(t, got[0].Toast, int64(50*9000))
	require.Equal(t, "sync", got[1].Durability)
	require.Zero(t, got[1].Entries)
}

func TestCreateDatabase(t *testing.T) {
	t.Parallel()
	db := open(t)
	run(t, db, "SELECT howdah.drop_cache('db0', true)")
	refused(t, db, "HW001", "SELECT howdah.create_database(1)")
	run(t, db, "SELECT howdah.create_cache('db0', 'async', default_ttl => '5 min', fillfactor => 60)")
	require.True(t, one[bool](t, db, "SELECT howdah.create_database(15)"))
	require.False(t, one[bool](t, db, "SELECT howdah.create_database(15)"))
	require.Equal(t, "async|00:05:00|60", one[string](t, db,
		"SELECT concat_ws('|', durability, default_ttl, fillfactor) FROM howdah_internal.cache WHERE name = 'db15'"))
	for _, n := range []string{"0", "16", "-1", "NULL"} {
		refused(t, db, "HW012", "SELECT howdah.create_database("+n+")")
	}

	// Many that select a database at once: one makes it, none fails.
	made := make(chan bool, 8)
	for range cap(made) {
		go func() {
			var b bool
			if err := db.QueryRow(ctx(t), "SELECT howdah.create_database(3)").Scan(&b); err != nil {
				t.Error(err)
			}
			made <- b
		}()
	}
	count := 0
	for range cap(made) {
		if <-made {
			count++
		}
	}
	require.Equal(t, 1, count)
}
