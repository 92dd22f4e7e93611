package schema_test

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/howdah/howdah/internal/test/pgtest"
	"github.com/howdah/howdah/schema"
)

// openDivided is open for a database with partitions.
func openDivided(t *testing.T, number int) *pgxpool.Pool {
	t.Helper()
	pool := connect(t, pgtest.Divided(t, number))
	run(t, pool, "SELECT howdah.create_cache('c'), howdah.create_cache('s', durability => 'sync')")
	return pool
}

// hashTag is the tag as a client computes it.
func hashTag(key []byte) []byte {
	if _, rest, found := bytes.Cut(key, []byte("{")); found {
		if tag, _, closed := bytes.Cut(rest, []byte("}")); closed && len(tag) > 0 {
			return tag
		}
	}
	return key
}

func TestHashTags(t *testing.T) {
	t.Parallel()
	db := open(t)
	for key, tag := range map[string]string{
		"": "", "key": "key", "{user}.a": "user", "a{user}b{other}": "user", "a{}b{c}": "a{}b{c}", "{}": "{}", "{": "{", "}": "}", "a{b": "a{b",
		"a}b{c}": "c", "{{x}}": "{x", "a{{}b": "{", "foo{{bar}}zap": "{bar", "foo{bar}{zap}": "bar", "}{": "}{", "{\x00\xff}x": "\x00\xff", "{a}": "a", "x{": "x{",
	} {
		require.Equal(t, tag, string(hashTag([]byte(key))), "%q", key)
		require.Equal(t, tag, string(one[[]byte](t, db, "SELECT howdah_internal._hash_tag($1)", []byte(key))), "%q", key)
	}
	require.Nil(t, one[*int16](t, db, "SELECT howdah_internal._partition('key')"), "the database has no partitions")
}

// The partition is the top bits of the hash of the tag, and every function finds the row there.
func TestPartitionOfAKey(t *testing.T) {
	t.Parallel()
	for _, number := range []int{2, 16, 64} {
		db := connect(t, pgtest.Divided(t, number))
		seed := one[[]byte](t, db, "SELECT seed FROM howdah.meta")
		bits := len(fmt.Sprintf("%b", number)) - 1
		used := map[int64]int{}
		for i := range 300 {
			key := fmt.Sprintf("key:%d", i)
			if i%3 == 0 {
				key = fmt.Sprintf("x{user%d}:%d", i/6, i)
			}
			want := keyHash(seed, hashTag([]byte(key))) >> (63 - bits)
			require.Equal(t, want, one[int64](t, db, "SELECT howdah_internal._partition($1)", []byte(key)), "%d %q", number, key)
			run(t, db, "SELECT howdah.set('db0', $1, 'v')", []byte(key))
			require.Equal(t, fmt.Sprintf("db0/%02d", want), one[string](t, db, "SELECT (howdah_internal._settings('db0', $1)).name", []byte(key)))
			used[want]++
		}
		for p := range number {
			require.Equal(t, used[int64(p)], one[int](t, db, "SELECT howdah.count($1)", fmt.Sprintf("db0/%02d", p)), "partition %d", p)
		}
		require.Equal(t, 300, one[int](t, db, "SELECT howdah.count('db0')"))
		require.Equal(t, 300, one[int](t, db, "SELECT count(*) FROM howdah.cache_db0"), "the view")
		refused(t, db, "55000", "DELETE FROM howdah.cache_db0")
	}
}

// A caller may name the partition of a key, and no other.
func TestNamedPartition(t *testing.T) {
	t.Parallel()
	db := openDivided(t, 4)
	own := one[string](t, db, "SELECT (howdah_internal._settings('c', 'k')).name")
	other := one[string](t, db, "SELECT name FROM howdah_internal.cache WHERE whole = 'c' AND name <> $1 LIMIT 1", own)
	run(t, db, "SELECT howdah.set($1, 'k', 'v'), howdah.get_many($1, '{k}'), howdah.set_many($1, '{k}', '{v}'), howdah.scan($1)", own)
	require.Equal(t, "v", one[string](t, db, "SELECT howdah.get_text('c', 'k')"))
	for _, call := range []string{
		"get($1, 'k')", "set($1, 'k', 'v')", "add($1, 'k', 'v')", "delete($1, 'k')", "increment($1, 'k')", "claim($1, 'k')", "ttl($1, 'k')", "type($1, 'k')",
		"get_many($1, '{k}')", "set_many($1, '{k}', '{v}')", "delete_many($1, '{k}')", "set_tagged($1, 'k', 'v', '{t}')", "hgetall($1, 'k')", "release($1, 'k', 1)",
	} {
		refused(t, db, "HW012", "SELECT howdah."+call, other)
	}
	for _, call := range []string{"get('c', NULL)", "get_many('c', '{NULL}')", "set_many('c', '{k,NULL}', '{v,v}')", "delete_many('c', '{k,l,NULL}')", "set_many('c', '{k,l}', '{v}')"} {
		refused(t, db, "HW012", "SELECT howdah."+call)
	}
	long := strings.Repeat("k", 65537)
	refused(t, db, "HW007", "SELECT howdah.get('c', $1)", []byte(long))
	refused(t, db, "HW007", "SELECT howdah.get_many('c', $1)", [][]byte{[]byte(long), []byte("k")})
	for _, call := range []string{"get('none', 'k')", "get_many('none', '{k,l,m,n}')", "set_many('none', '{}', '{}')", "count('none')", "flush('none')", "scan('none')", "delete_prefix('none', '')", "invalidate_all('none')", "invalidate_tags('none', '{t}')", "maintain('none')", "alter_cache('none')", "drop_cache('none')"} {
		refused(t, db, "HW001", "SELECT howdah."+call)
	}
	for _, call := range []string{
		"get('c/99', 'k')", "count('c/0')", "create_cache('c/05')", "create_cache('d/00')", "alter_cache('c/00', fillfactor => 50)", "drop_cache('c/00')", "swap_caches('c/00', 'c/01')",
		"watch_table('pg_class', 'c/00', 'relname')",
	} {
		refused(t, db, "HW002", "SELECT howdah."+call)
	}
	require.Zero(t, one[int](t, db, "SELECT howdah.set_many('c', '{}', '{}')"))
	require.Zero(t, one[int](t, db, "SELECT howdah.delete_many('c', NULL)"))
}

// Functions on many keys reach all partitions in one order, so that none of those who run
// at once waits for another in a circle.
func TestManyKeysInOneOrder(t *testing.T) {
	t.Parallel()
	db := openDivided(t, 8)
	keys := make([]string, 64)
	for i := range keys {
		keys[i] = fmt.Sprintf("key:%d", i)
	}
	backwards := slices.Clone(keys)
	slices.Reverse(backwards)
	run(t, db, "SELECT howdah.set_many_text('c', $1, $1)", keys)
	require.Equal(t, 64, one[int](t, db, "SELECT count(*) FROM howdah.get_many_text('c', $1) WHERE key = value", keys))
	run(t, db, "SELECT howdah.set_many_text('c', '{key:1,key:2,key:1}', '{a,b,c}')")
	require.Equal(t, "c", one[string](t, db, "SELECT howdah.get_text('c', 'key:1')"), "the last value of a key")
	together(t, 8, func(ctx context.Context, i int) error {
		mine := keys
		if i%2 == 1 {
			mine = backwards
		}
		for n := range 20 {
			sql := "SELECT howdah.set_many_text('c', $1, $1)"
			switch n % 4 {
			case 1:
				sql = "SELECT howdah.delete_many_text('c', $1)"
			case 2:
				sql = "SELECT howdah_internal._hold(p, '{}', '{}') FROM howdah_internal._partitions('c') AS p WHERE $1::text[] IS NOT NULL"
			case 3:
				sql = "SELECT howdah.delete_prefix_text('c', 'key:') WHERE $1::text[] IS NOT NULL"
			}
			if _, err := db.Exec(ctx, sql, mine); err != nil {
				return err
			}
		}
		return nil
	})
}

// max_rows of delete_prefix is for all partitions together.
func TestDeletePrefixOverPartitions(t *testing.T) {
	t.Parallel()
	db := openDivided(t, 8)
	run(t, db, "SELECT howdah.set('c', convert_to('p:' || i, 'UTF8'), 'v') FROM generate_series(1, 100) AS i")
	run(t, db, "SELECT howdah.set('c', 'other', 'v')")
	for _, want := range []int{30, 30, 30, 10, 0} {
		require.Equal(t, want, one[int](t, db, "SELECT howdah.delete_prefix('c', 'p:', 30)"))
	}
	require.Equal(t, 1, one[int](t, db, "SELECT howdah.count('c')"))
}

// A scan returns every key once, whatever the pages; its cursors are the partition above a
// slot of 65,536 hashes, and stay below 2^53.
func TestScanOverPartitions(t *testing.T) {
	t.Parallel()
	db := openDivided(t, 64)
	run(t, db, "SELECT howdah.set('c', convert_to('k' || i, 'UTF8'), 'v') FROM generate_series(1, 500) AS i")
	for _, count := range []int{1, 7, 100, 499, 500, 501, 10_000} {
		var seen []string
		for cursor := int64(0); ; {
			var keys []string
			var next int64
			require.NoError(t, db.QueryRow(ctx(t), "SELECT next_cursor, keys FROM howdah.scan_text('c', $1, $2)", cursor, count).Scan(&next, &keys))
			seen = append(seen, keys...)
			require.Less(t, next, int64(1)<<53)
			if next == 0 {
				break
			}
			require.Greater(t, next, cursor)
			cursor = next
		}
		slices.Sort(seen)
		require.Len(t, seen, 500, "%d", count)
		require.Len(t, slices.Compact(seen), 500, "%d", count)
	}
	// The first key of a partition is on the page that begins with its cursor.
	first := one[[]byte](t, db, "SELECT key FROM "+tableOf(t, db, "c", "k1")+" ORDER BY hash LIMIT 1")
	cursor := one[int64](t, db, "SELECT (howdah_internal._partition('k1')::bigint << 47) | (howdah.key_hash($1) >> 16)", first)
	require.Equal(t, first, one[[]byte](t, db, "SELECT keys[1] FROM howdah.scan('c', $1, 1)", cursor))
	refused(t, db, "HW012", "SELECT howdah.scan('c', $1)", int64(1)<<53)
	refused(t, connect(t, pgtest.Divided(t, 2)), "HW012", "SELECT howdah.scan('db0', $1)", int64(2)<<47)
	require.Equal(t, 10, one[int](t, db, "SELECT cardinality(keys) FROM howdah.scan('c', 0, 1000, 'k49') WHERE next_cursor = 0")-1, "k49, k490 to k499")
}

// The budget of a cache is that of its partitions together.
func TestBudgetsOfPartitions(t *testing.T) {
	t.Parallel()
	db := openDivided(t, 16)
	budgets := func(cache string) string {
		return one[string](t, db, "SELECT concat_ws(' ', max_bytes, max_entries) FROM howdah.caches() WHERE name = $1", cache)
	}
	run(t, db, "SELECT howdah.create_cache('b', max_bytes => 1000003, max_entries => 100)")
	require.Equal(t, "1000003 100", budgets("b"))
	require.Equal(t, []int64{62501, 62500}, all[int64](t, db, "SELECT DISTINCT max_bytes FROM howdah_internal.cache WHERE whole = 'b' ORDER BY 1 DESC"))
	run(t, db, "SELECT howdah.alter_cache('b', max_entries => 3)")
	require.Equal(t, "1000003 16", budgets("b"), "one for each at least")
	run(t, db, "SELECT howdah.alter_cache('b', max_entries => 32, reset => '{max_bytes}')")
	require.Equal(t, "32", budgets("b"))
	refused(t, db, "HW004", "SELECT howdah.alter_cache('b', max_entries => 0)")
	run(t, db, "SELECT howdah.alter_cache('db0', max_entries => 100, max_bytes => 1000003, near => true)")
	require.True(t, one[bool](t, db, "SELECT howdah.create_database(3)"))
	require.False(t, one[bool](t, db, "SELECT howdah.create_database(3)"))
	require.Equal(t, "1000003 100", budgets("db3"))
	require.Equal(t, []string{"b", "c", "db0", "db3", "s"}, all[string](t, db, "SELECT name FROM howdah.caches()"))
}

// The partitions of a cache are made, changed, exchanged and dropped together, or not at all.
func TestPartitionsChangeTogether(t *testing.T) {
	t.Parallel()
	db := openDivided(t, 4)
	state := func() []string {
		return all[string](t, db, "SELECT concat_ws(' ', name, id, durability, max_entries, prefix_index) FROM howdah_internal.cache ORDER BY name")
	}
	refused(t, db, "HW003", "SELECT howdah.create_cache('c')")
	require.False(t, one[bool](t, db, "SELECT howdah.create_cache('c', if_not_exists => true)"))
	run(t, db, "SELECT howdah.create_cache('x', id => 1000, prefix_index => true)")
	require.Equal(t, []int32{1000, 1001, 1002, 1003}, all[int32](t, db, "SELECT id FROM howdah_internal.cache WHERE whole = 'x' ORDER BY partition"))
	refused(t, db, "HW004", "SELECT howdah.create_cache('y', id => 1003)")
	refused(t, db, "HW004", "SELECT howdah.create_cache('y', id => 999999998)")
	run(t, db, "SELECT howdah.create_cache('y', prefix_index => true), howdah.set_many('x', '{a,b,c,d,e}', '{1,1,1,1,1}'), howdah.set('y', 'k', '2')")

	// Somebody uses one partition.
	tx, err := db.Begin(ctx(t))
	require.NoError(t, err)
	run(t, tx, "SELECT FROM "+tableOf(t, db, "x", "a"))
	before := state()
	for _, call := range []string{
		"drop_cache('x')", "alter_cache('x', durability => 'async')", "alter_cache('x', near => true)", "alter_cache('x', empty => true)", "swap_caches('y', 'x')",
	} {
		refused(t, db, "55P03", "SELECT howdah."+call)
		require.Equal(t, before, state(), call)
	}
	require.Equal(t, "delete", one[string](t, db, "SELECT howdah.flush('x')"))
	require.NoError(t, tx.Rollback(ctx(t)))
	require.Equal(t, "truncate", one[string](t, db, "SELECT howdah.flush('x')"))

	run(t, db, "SELECT howdah.set_many('x', '{a,b,c,d,e}', '{1,1,1,1,1}'), howdah.swap_caches('x', 'y')")
	require.Equal(t, "abcde", keysOf(t, db, "y"))
	require.Equal(t, "k", keysOf(t, db, "x"))
	require.Equal(t, 5, one[int](t, db, "SELECT count(*) FROM howdah.cache_y"), "the view")
	run(t, db, "SELECT howdah.alter_cache('y', durability => 'sync', fillfactor => 60, prefix_index => false, near => true)")
	require.Equal(t, "abcde", keysOf(t, db, "y"))
	require.Equal(t, []string{"4 sync 60 f {kinds,near}"}, all[string](t, db, `
		SELECT concat_ws(' ', count(*), durability, fillfactor, prefix_index, features) FROM howdah_internal.cache WHERE whole = 'y'
		GROUP BY durability, fillfactor, prefix_index, features`))
	run(t, db, "SELECT howdah.alter_cache('y', empty => true)")
	require.Empty(t, keysOf(t, db, "y"))
	run(t, db, "SELECT howdah.maintain('y')")
	run(t, db, "SELECT howdah.drop_cache('y')")
	require.Zero(t, one[int](t, db, "SELECT count(*) FROM howdah_internal.cache WHERE whole = 'y'"))
	require.Zero(t, one[int](t, db, "SELECT count(*) FROM howdah.upkeep WHERE cache LIKE 'y%'"))
	require.Zero(t, one[int](t, db, "SELECT count(*) FROM pg_class WHERE relnamespace = 'howdah_internal'::regnamespace AND relname ~ '^(cache|tag)_[0-9]+$' AND relname <> ALL (SELECT 'cache_' || id FROM howdah_internal.cache UNION ALL SELECT 'tag_' || id FROM howdah_internal.cache)"))
	require.False(t, one[bool](t, db, "SELECT howdah.drop_cache('y', if_exists => true)"))
}

// A round of upkeep comes to each partition, and names it; it leaves the others.
func TestMaintainPartitions(t *testing.T) {
	t.Parallel()
	db := openDivided(t, 4)
	keys := all[string](t, db, "SELECT 'k' || i FROM generate_series(1, 50) AS i")
	run(t, db, "SELECT howdah.set_many_text('c', $1, $1)", keys)
	for p := range 4 {
		run(t, db, "UPDATE "+one[string](t, db, "SELECT howdah_internal._table(c) FROM howdah_internal.cache AS c WHERE name = $1", fmt.Sprintf("c/%02d", p))+" SET expires_at = statement_timestamp() - interval '1 s'")
	}
	require.Equal(t, []string{"c/00", "c/01", "c/02", "c/03"}, all[string](t, db, "SELECT name FROM howdah.maintain('c', max_time => '10 s') ORDER BY name"))
	require.Equal(t, 50, one[int](t, db, "SELECT sum(expired) FROM howdah.upkeep WHERE cache LIKE 'c/%'"))
	require.Equal(t, []string{"c/02"}, all[string](t, db, "SELECT name FROM howdah.maintain('c/02')"))
}

// Events and errors name the cache, and not its partition.
func TestPartitionsAreNotNamed(t *testing.T) {
	t.Parallel()
	db := openDivided(t, 4)
	run(t, db, "INSERT INTO howdah_internal.server (id, name, kinds, notified, subscribers, waiters, renewed_at) VALUES (1, 'p', 2, false, 1, 0, 'infinity')")
	run(t, db, schema.Query("set_events"), "KA")
	run(t, db, "SELECT howdah.create_cache('later')")
	for _, call := range []string{"set('db0', 'k', 'v', '1 h')", "set_many('db0', '{k,l,m,n}', '{1,1,1,1}')", "set('later', 'k', 'v')", "delete_prefix('db0', '')", "set_tagged('db0', 'k', 'v', '{t}')", "invalidate_tag('db0', 't')"} {
		run(t, db, "SELECT howdah."+call)
	}
	require.Equal(t, []string{"__keyspace@0__:", "__keyspace@later__:"}, all[string](t, db,
		"SELECT DISTINCT substring(convert_from(c, 'UTF8') FROM '^.*:') FROM howdah_internal.bus AS b CROSS JOIN unnest(b.channels) AS c ORDER BY 1"))

	run(t, db, "SELECT howdah.alter_cache('c', max_entries => 4, eviction => 'noeviction')")
	run(t, db, "UPDATE howdah_internal.cache SET full_since = now() WHERE whole = 'c'")
	_, err := db.Exec(ctx(t), "SELECT howdah.set('c', 'k', 'v')")
	require.ErrorContains(t, err, "Cache 'c' is over its budget")
	_, err = db.Exec(ctx(t), "SELECT howdah.alter_cache('c', fillfactor => 1)")
	require.ErrorContains(t, err, "A setting of cache 'c' is invalid")
}

// A database is divided once, while its caches are empty; their settings and the watches of
// tables stay.
func TestDivide(t *testing.T) {
	t.Parallel()
	db := open(t)
	for _, number := range []string{"NULL", "-2", "0", "1", "3", "12", "65", "128"} {
		refused(t, db, "HW012", "SELECT howdah_internal._divide("+number+")")
	}
	run(t, db, `SELECT howdah.create_cache('full', 'async', '1 h', '1 day', 1000000, 1000, 'volatile-ttl', 70, true, 20, near => true, log_keys => true)`)
	run(t, db, "CREATE TABLE public.article (id int); SELECT howdah.watch_table('public.article', 'full', $$'article:' || id$$)")
	before := all[string](t, db, "SELECT to_jsonb(c) - '{created_at,estimated_entries,table_bytes,index_bytes,toast_bytes}'::text[] FROM howdah.caches() AS c")
	run(t, db, "SELECT howdah.set('s', 'k', 'v')")
	_, err := db.Exec(ctx(t), "SELECT howdah_internal._divide(8)")
	require.Equal(t, "55000", state(err))
	require.ErrorContains(t, err, "Cache 's' holds entries, and the database was not divided.")
	require.Equal(t, 0, one[int](t, db, "SELECT partitions FROM howdah.meta"))
	expireNow(t, db, "s", "k")

	tx, err := db.Begin(ctx(t))
	require.NoError(t, err)
	run(t, tx, "SELECT FROM "+table(t, db, "c"))
	refused(t, db, "55P03", "SELECT howdah_internal._divide(8)")
	require.NoError(t, tx.Rollback(ctx(t)))

	run(t, db, "SELECT howdah_internal._divide(8)")
	run(t, db, "SELECT howdah_internal._divide(8)")
	refused(t, db, "55000", "SELECT howdah_internal._divide(16)")
	require.Equal(t, 8, one[int](t, db, "SELECT partitions FROM howdah.meta"))
	require.Equal(t, before, all[string](t, db, "SELECT to_jsonb(c) - '{created_at,estimated_entries,table_bytes,index_bytes,toast_bytes}'::text[] FROM howdah.caches() AS c"))
	require.Equal(t, 32, one[int](t, db, "SELECT count(*) FROM howdah_internal.cache"))
	require.Equal(t, []string{"active"}, all[string](t, db, "SELECT state FROM howdah.watches()"))
	run(t, db, "SELECT howdah.set('full', convert_to('article:' || i, 'UTF8'), 'v') FROM generate_series(1, 20) AS i")
	run(t, db, "INSERT INTO public.article SELECT generate_series(1, 19)")
	require.Equal(t, 1, one[int](t, db, "SELECT howdah.count('full')"))
	require.Equal(t, 19, one[int](t, db, "SELECT sum(cardinality(keys)) FROM howdah_internal.change WHERE keys IS NOT NULL AND pg_visible_in_snapshot(xid, pg_current_snapshot()) AND xid = (SELECT max(xid::text::bigint)::text::xid8 FROM howdah_internal.change)"))
	run(t, db, "TRUNCATE public.article")
	require.Zero(t, one[int](t, db, "SELECT howdah.count('full')"))
}

// Of two transactions one of which makes a cache while the other divides the database, the
// second sees what the first has done.
func TestDivideWhileACacheIsMade(t *testing.T) {
	t.Parallel()
	db := open(t)
	tx, err := db.Begin(ctx(t))
	require.NoError(t, err)
	run(t, tx, "SELECT howdah_internal._divide(2)")
	made := make(chan error, 1)
	go func() {
		_, err := db.Exec(context.Background(), "SELECT howdah.create_cache('late')")
		made <- err
	}()
	require.Eventually(t, func() bool {
		return one[int](t, db, "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND pg_blocking_pids(pid) <> '{}'") == 1
	}, time.Minute, 2*time.Millisecond)
	require.NoError(t, tx.Commit(ctx(t)))
	require.NoError(t, <-made)
	require.Equal(t, []string{"late/00", "late/01"}, all[string](t, db, "SELECT name FROM howdah_internal.cache WHERE whole = 'late' ORDER BY name"))
}

// A role uses all partitions of caches that are there and that come later, and divides nothing.
func TestRuntimeRoleOfPartitions(t *testing.T) {
	t.Parallel()
	databaseURL := pgtest.Divided(t, 4)
	owner := connect(t, databaseURL)
	role, app := newRole(t, databaseURL, "app")
	run(t, owner, "SELECT howdah.create_cache('c')")
	run(t, owner, "SELECT howdah.grant_runtime($1)", role)
	run(t, owner, "SELECT howdah.create_cache('later')")
	for _, cache := range []string{"c", "later"} {
		run(t, app, "SELECT howdah.set_many($1, '{a,b,c,d,e,f,g,h}', '{1,1,1,1,1,1,1,1}'), howdah.delete_prefix($1, 'a'), howdah.flush($1), howdah.maintain($1)", cache)
		run(t, app, "SELECT * FROM howdah.cache_"+cache)
	}
	for _, call := range []string{
		"_divide(8)", "_lock_rows('c')", "_create_part(c) FROM howdah_internal.cache AS c", "_alter_part(c, c, true) FROM howdah_internal.cache AS c",
		"_swap_parts(c, c) FROM howdah_internal.cache AS c", "_lock_tables(c, 'ACCESS EXCLUSIVE', now()) FROM howdah_internal.cache AS c",
	} {
		refused(t, app, "42501", "SELECT howdah_internal."+call)
	}
}
