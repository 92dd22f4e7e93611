package schema_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/howdah/howdah/internal/test/pgtest"
	"github.com/howdah/howdah/schema"
)

// tags is the name of the table of a cache's tags.
func tags(t testing.TB, q querier, cache string) string {
	return replaceAll(table(t, q, cache), ".cache_", ".tag_")
}

// keysOf are the live keys among a to z.
func keysOf(t testing.TB, q querier, cache string) string {
	return one[string](t, q, "SELECT coalesce(string_agg(k, '' ORDER BY k), '') FROM (SELECT chr(97 + i) AS k FROM generate_series(0, 25) AS i) AS l WHERE howdah.get_text($1, k) IS NOT NULL", cache)
}

// An entry with a tag goes with the tag; others stay.
func TestInvalidateTag(t *testing.T) {
	t.Parallel()
	db := open(t)
	for _, cache := range []string{"c", "s"} {
		run(t, db, "SELECT howdah.set_tagged($1, 'a', '1', '{x,y}'), howdah.set_tagged_text($1, 'b', '1', '{y,y}'), howdah.set($1, 'u', '1')", cache)
		require.EqualValues(t, 1, one[int64](t, db, "SELECT howdah.invalidate_tag($1, 'x')", cache))
		require.Equal(t, "bu", keysOf(t, db, cache))
	}
	require.EqualValues(t, 1, one[int64](t, db, "SELECT howdah.invalidate_tag('s', 'y')"), "of one cache")
	require.Equal(t, "bu", keysOf(t, db, "c"))
	require.EqualValues(t, 1, one[int64](t, db, "SELECT howdah.invalidate_tags('c', '{y,x,y,none}')"))
	require.Equal(t, "u", keysOf(t, db, "c"))

	// What may be served stale goes too, and does not count.
	run(t, db, "SELECT howdah.set_tagged('c', 'a', '1', '{x}')")
	expireNow(t, db, "c", "a")
	require.EqualValues(t, 0, one[int64](t, db, "SELECT howdah.invalidate_tag('c', 'x')"))
	require.Equal(t, 1, one[int](t, db, "SELECT count(*) FROM "+table(t, db, "c")))
}

// Whatever is done to an entry but a store with other tags and a removal: its tags
// stay, or more goes than must.
func TestTagsStay(t *testing.T) {
	t.Parallel()
	db := open(t)
	for _, write := range []string{
		"howdah.set('c', 'a', '2')", "howdah.set_many('c', '{a,b}', '{2,2}')", "howdah.increment('c', 'a')", "howdah.replace('c', 'a', '2')",
		"howdah.expire('c', 'a', '1 h')", "howdah.persist('c', 'a')", "howdah.touch('c', 'a', '1 h')",
		"howdah.compare_and_set('c', 'a', (SELECT version FROM howdah.get_entry('c', 'a')), '2')",
		"howdah.delete('c', 'a'), howdah.set('c', 'a', '2')", "howdah.maintain('c')",
		"howdah.set_tagged('c', 'a', '2', '{other,t}')", "howdah.alter_cache('c', near => true)", "howdah.alter_cache('c', near => false)",
		"howdah.alter_cache('c', durability => 'sync')", "howdah.alter_cache('c', durability => 'unlogged')",
	} {
		run(t, db, "SELECT howdah.set_tagged('c', 'a', '1', '{t}')")
		run(t, db, "SELECT "+write)
		run(t, db, "SELECT howdah.invalidate_tag('c', 't')")
		require.NotContains(t, keysOf(t, db, "c"), "a", write)
	}
	for _, write := range []string{"howdah.set_tagged('c', 'a', '2', '{other}')", "howdah.set_tagged('c', 'a', '2', NULL)", "howdah.set_tagged('c', 'a', '2', '{}')"} {
		run(t, db, "SELECT howdah.set_tagged('c', 'a', '1', '{t}')")
		run(t, db, "SELECT "+write)
		require.EqualValues(t, 0, one[int64](t, db, "SELECT howdah.invalidate_tag('c', 't')"), write)
		require.Contains(t, keysOf(t, db, "c"), "a", write)
	}
}

// The table of tags goes with its cache, wherever that goes.
func TestTagsFollowTheirCache(t *testing.T) {
	t.Parallel()
	db := open(t)
	relations := func() []string {
		return all[string](t, db, `
			SELECT c.relname || ':' || c.relpersistence::text FROM pg_class AS c
			WHERE c.relnamespace = 'howdah_internal'::regnamespace AND c.relname LIKE 'tag\_%' AND c.relkind IN ('r', 'i') ORDER BY 1`)
	}
	want := func(persistence map[string]string) (names []string) {
		for _, cache := range []string{"c", "s", "db0"} {
			if persistence[cache] == "" {
				continue
			}
			name := strings.TrimPrefix(tags(t, db, cache), "howdah_internal.")
			for _, suffix := range []string{"", "_pkey", "_tag"} {
				names = append(names, name+suffix+":"+persistence[cache])
			}
		}
		return names
	}
	require.ElementsMatch(t, want(map[string]string{"c": "u", "s": "p", "db0": "u"}), relations())
	run(t, db, "SELECT howdah.alter_cache('c', durability => 'async', near => true)")
	require.ElementsMatch(t, want(map[string]string{"c": "p", "s": "p", "db0": "u"}), relations())
	run(t, db, "SELECT howdah.alter_cache('c', durability => 'unlogged', near => false)")
	require.ElementsMatch(t, want(map[string]string{"c": "u", "s": "p", "db0": "u"}), relations())

	run(t, db, "SELECT howdah.set_tagged('c', 'a', '1', '{t}')")
	run(t, db, "SELECT howdah.alter_cache('c', empty => true)")
	require.Equal(t, 0, one[int](t, db, "SELECT count(*) FROM "+tags(t, db, "c")))
	run(t, db, "SELECT howdah.set_tagged('c', 'a', '1', '{t}')")
	require.Equal(t, "truncate", one[string](t, db, "SELECT howdah.flush('c')"))
	require.Equal(t, 0, one[int](t, db, "SELECT count(*) FROM "+tags(t, db, "c")))
	run(t, db, "SELECT howdah.set_tagged('c', 'a', '1', '{t}')")
	run(t, db, "SELECT howdah.drop_cache('c'), howdah.create_cache('c')")
	require.ElementsMatch(t, want(map[string]string{"c": "u", "s": "p", "db0": "u"}), relations())
	require.Equal(t, 0, one[int](t, db, "SELECT count(*) FROM "+tags(t, db, "c")))
}

// A claim that is older than a flush is void, though the flush removes the marks.
func TestFlushVoidsClaimsWithTheirMarks(t *testing.T) {
	t.Parallel()
	db := open(t)
	claim := claimedInSQL(t, db, "")
	run(t, db, "SELECT howdah.invalidate_tag('c', 't')")
	require.Equal(t, "truncate", one[string](t, db, "SELECT howdah.flush('c')"))
	run(t, db, tagStores[2].store("", "old", claim))
	require.Empty(t, keysOf(t, db, "c"))
}

func TestInvalidTags(t *testing.T) {
	t.Parallel()
	db := open(t)
	for _, tag := range []string{"", strings.Repeat("t", 257), strings.Repeat("ä", 129), strings.Repeat("t", 1<<20)} {
		refused(t, db, "HW017", "SELECT howdah.set_tagged('c', 'a', '1', ARRAY['x', $1])", tag)
		refused(t, db, "HW017", "SELECT howdah.invalidate_tag('c', $1)", tag)
		refused(t, db, "HW017", "SELECT howdah.invalidate_tags('c', ARRAY[$1])", tag)
	}
	refused(t, db, "HW012", "SELECT howdah.set_tagged('c', 'a', '1', '{x,NULL}')")
	refused(t, db, "HW012", "SELECT howdah.invalidate_tag('c', NULL)")
	refused(t, db, "HW012", "SELECT howdah.invalidate_tags('c', '{NULL}')")
	refused(t, db, "HW017", "SELECT howdah.set_tagged('c', 'a', '1', (SELECT array_agg(i::text) FROM generate_series(1, 10000) AS i))")
	refused(t, db, "HW012", "SELECT howdah.fulfil('c', 'a', 1, '1', tags => '{x}')")
	refused(t, db, "HW001", "SELECT howdah.set_tagged('x', 'a', '1', '{t}')")
	refused(t, db, "HW001", "SELECT howdah.invalidate_tag('x', 't')")
	require.Empty(t, keysOf(t, db, "c"))

	most := strings.Repeat("t", 256)
	run(t, db, "SELECT howdah.set_tagged('c', 'a', '1', (SELECT array_agg(i::text) FROM generate_series(1, 63) AS i) || $1::text)", most)
	require.EqualValues(t, 1, one[int64](t, db, "SELECT howdah.invalidate_tag('c', $1)", most))
	for _, tag := range []string{"'", `\`, "a,b", "{}", "NULL", "%I", "ключ", " "} {
		run(t, db, "SELECT howdah.set_tagged('c', 'a', '1', ARRAY[$1])", tag)
		require.EqualValues(t, 1, one[int64](t, db, "SELECT howdah.invalidate_tag('c', $1)", tag), tag)
	}
}

// A snapshot that is older than what others do is no ground to decide on.
func TestTagsNeedReadCommitted(t *testing.T) {
	t.Parallel()
	db := open(t)
	for _, level := range []pgx.TxIsoLevel{pgx.RepeatableRead, pgx.Serializable} {
		for _, call := range []string{
			"set_tagged('c', 'a', '1', '{t}')", "invalidate_tag('c', 't')", "invalidate_tags('c', '{t}')",
			"fulfil('c', 'a', 1, '1', tags => '{t}', snapshot => '1:1:')",
		} {
			tx, err := db.BeginTx(ctx(t), pgx.TxOptions{IsoLevel: level})
			require.NoError(t, err)
			refused(t, tx, "HW016", "SELECT howdah."+call)
			require.NoError(t, tx.Rollback(ctx(t)))
		}
	}
}

// What a transaction has stored with a tag, and not committed, is not missed by an
// invalidation: it waits.
func TestInvalidationWaitsForStores(t *testing.T) {
	t.Parallel()
	db := open(t)
	for _, store := range []string{"SELECT howdah.set_tagged('c', 'a', 'old', '{t}')", "SELECT howdah.fulfil('c', 'a', %d, 'old', tags => '{t}', snapshot => '%s')"} {
		if strings.Contains(store, "%d") {
			var version int64
			var snapshot string
			require.NoError(t, db.QueryRow(ctx(t), "SELECT token, snapshot::text FROM howdah.claim('c', 'a')").Scan(&version, &snapshot))
			store = fmt.Sprintf(store, version, snapshot)
		}
		tx, err := db.Begin(ctx(t))
		require.NoError(t, err)
		run(t, tx, store)
		impatient, err := db.Begin(ctx(t))
		require.NoError(t, err)
		run(t, impatient, "SET LOCAL lock_timeout = '50ms'")
		refused(t, impatient, "55P03", "SELECT howdah.invalidate_tag('c', 't')")
		require.NoError(t, impatient.Rollback(ctx(t)))
		done := make(chan error, 1)
		go func() {
			_, err := db.Exec(context.Background(), "SELECT howdah.invalidate_tag('c', 't')")
			done <- err
		}()
		require.NoError(t, tx.Commit(ctx(t)))
		require.NoError(t, <-done)
		require.Empty(t, keysOf(t, db, "c"), store)
	}
}

// A transaction may store with a tag that it has invalidated itself, and what it
// rolls back has no effect, in a savepoint either.
func TestTagsInATransaction(t *testing.T) {
	t.Parallel()
	db := open(t)
	run(t, db, "SELECT howdah.set_tagged('c', 'a', '1', '{t}')")
	tx, err := db.Begin(ctx(t))
	require.NoError(t, err)
	run(t, tx, "SELECT howdah.invalidate_tag('c', 't')")
	require.NotNil(t, one[*int64](t, tx, "SELECT howdah.set_tagged('c', 'b', '2', '{t}')"))
	require.Nil(t, one[*int64](t, db, "SELECT howdah.set_tagged('c', 'z', '2', '{t}')"), "of another transaction")
	require.NoError(t, tx.Commit(ctx(t)))
	require.Equal(t, "b", keysOf(t, db, "c"))
	require.NotNil(t, one[*int64](t, db, "SELECT howdah.set_tagged('c', 'z', '2', '{t}')"))

	tx, err = db.Begin(ctx(t))
	require.NoError(t, err)
	run(t, tx, "SAVEPOINT s")
	run(t, tx, "SELECT howdah.invalidate_tag('c', 't')")
	run(t, tx, "ROLLBACK TO s")
	require.NotNil(t, one[*int64](t, db, "SELECT howdah.set_tagged('c', 'a', '2', '{t}')"), "its lock is gone with the savepoint")
	run(t, tx, "SAVEPOINT s2")
	claim := claimedInSQL(t, db, "")
	run(t, tx, "SELECT howdah.invalidate_tag('c', 't')")
	run(t, tx, "RELEASE s2")
	require.NoError(t, tx.Commit(ctx(t)))
	require.Empty(t, keysOf(t, db, "c"))
	run(t, db, tagStores[2].store("", "old", claim))
	require.Empty(t, keysOf(t, db, "c"), "the mark has the number of the transaction, not of the savepoint")
}

// Invalidations note what they remove: more than 1,000 entries as all of the cache.
func TestInvalidationsAreNoted(t *testing.T) {
	t.Parallel()
	db := open(t)
	run(t, db, "SELECT howdah.create_cache('n', near => true)")
	for _, entries := range []int{1000, 1001} {
		run(t, db, "SELECT howdah.set_tagged_text('n', i::text, 'v', '{t}') FROM generate_series(1, $1) AS i", entries)
		run(t, db, "TRUNCATE howdah_internal.change")
		require.EqualValues(t, entries, one[int64](t, db, "SELECT howdah.invalidate_tag('n', 't')"))
		noted := one[*int](t, db, "SELECT cardinality(hashes) FROM howdah_internal.change")
		if entries > 1000 {
			require.Nil(t, noted)
		} else {
			require.Equal(t, entries, *noted)
		}
	}
}

// The runtime role needs no more than its grant, also for caches that are made later,
// and loses it.
func TestTagPrivileges(t *testing.T) {
	t.Parallel()
	databaseURL := newDatabase(t)
	owner := connect(t, databaseURL)
	role, app := newRole(t, databaseURL, "app")
	refused(t, app, "42501", "SELECT howdah.set_tagged('db0', 'a', '1', '{t}')")
	run(t, owner, "SELECT howdah.create_cache('c'), howdah.grant_runtime($1)", role)
	run(t, owner, "SELECT howdah.create_cache('later')")
	for _, cache := range []string{"db0", "c", "later"} {
		run(t, app, "SELECT howdah.set_tagged($1, 'a', '1', '{t}'), howdah.set_tagged_text($1, 'b', '1', '{t}'), howdah.flush('db0')", cache)
		run(t, app, "SELECT howdah.invalidate_tag($1, 't'), howdah.invalidate_tags($1, '{t}'), howdah.maintain($1)", cache)
	}
	refused(t, app, "42501", "SELECT howdah_internal._create_tags(c) FROM howdah_internal.cache AS c")
	run(t, owner, "SELECT howdah.revoke_runtime($1)", role)
	refused(t, app, "42501", "SELECT count(*) FROM "+tags(t, owner, "c"))
}

// Tables are read by their indexes, whatever the statistics say.
func TestTagsUseTheirIndexes(t *testing.T) {
	t.Parallel()
	db := open(t)
	scans := func(tx querier) int64 {
		return one[int64](t, tx, "SELECT pg_stat_get_xact_numscans($1::text::regclass) + pg_stat_get_xact_numscans($2::text::regclass)", table(t, db, "c"), tags(t, db, "c"))
	}
	check := func(when string) {
		tx, err := db.Begin(ctx(t))
		require.NoError(t, err)
		defer tx.Rollback(ctx(t))
		for _, call := range []string{
			"howdah.set_tagged('c', 'new', '1', '{t,x}')", "howdah.invalidate_tag('c', 't')", "howdah.invalidate_tags('c', '{a,b,c}')",
			"howdah.fulfil('c', 'a', 1, '1', tags => '{q}', snapshot => pg_current_snapshot())",
			"howdah_internal._copy_tags(c.id, 1, c.id, 2) FROM howdah_internal.cache AS c WHERE c.name = 'c'",
		} {
			before := scans(tx)
			run(t, tx, "SELECT "+call)
			require.Equal(t, before, scans(tx), "%s reads a whole table: %s", call, when)
		}
	}
	fill := func(entries int) {
		run(t, db, "INSERT INTO "+table(t, db, "c")+" (hash, version, expires_at, key, value) SELECT i, i, 'infinity', 'k', 'v' FROM generate_series(1, $1) AS i", entries)
		run(t, db, "INSERT INTO "+tags(t, db, "c")+" (hash, tag) SELECT i, i / 10 FROM generate_series(1, $1) AS i", entries)
	}
	fill(20000)
	check("without statistics")
	run(t, db, "ANALYZE "+tags(t, db, "c")+", "+table(t, db, "c"))
	check("20,000 rows")
	run(t, db, "TRUNCATE "+tags(t, db, "c")+", "+table(t, db, "c"))
	run(t, db, "VACUUM ANALYZE "+tags(t, db, "c"))
	run(t, db, "VACUUM ANALYZE "+table(t, db, "c"))
	fill(20000)
	check("statistics of empty tables")
	// As with 1,000,000 rows of two tags.
	run(t, connect(t, pgtest.SuperURL(db.Config().ConnString())), "UPDATE pg_class SET reltuples = 1000000, relpages = 6000 WHERE oid = ANY (ARRAY[$1, $2]::text[]::regclass[])", table(t, db, "c"), tags(t, db, "c"))
	check("statistics of 1,000,000 rows")
}

// No lock is held by a store of an untagged entry, and none of its statements knows of
// tags.
func TestUntaggedEntriesPayNothing(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"set", "set_one", "set_keep", "set_version", "add", "replace", "replace_version", "exchange", "delete", "increment", "append", "expire", "fulfil", "get"} {
		require.NotContains(t, schema.Statement(name, schema.Table{Name: "howdah_internal.cache_1"}), "tag", name)
	}
	db := open(t)
	tx, err := db.Begin(ctx(t))
	require.NoError(t, err)
	defer tx.Rollback(ctx(t))
	run(t, tx, "SELECT howdah.set('c', 'a', '1'), howdah.delete('c', 'a'), howdah.increment('c', 'n')")
	require.Equal(t, 0, one[int](t, tx, "SELECT count(*) FROM pg_locks WHERE pid = pg_backend_pid() AND (locktype = 'advisory' OR relation = $1::text::regclass)", tags(t, db, "c")))
}

// A crash empties the tags of an UNLOGGED cache with its entries, and keeps those of a
// durable one.
func TestTagsAndCrashes(t *testing.T) {
	t.Parallel()
	server := pgtest.Own(t, "fsync", "off")
	url := server.NewURL()
	db := connect(t, url)
	run(t, db, "SELECT howdah.create_cache('c'), howdah.create_cache('s', durability => 'sync')")
	claim := claimedInSQL(t, db, "")
	run(t, db, "SELECT howdah.set_tagged('c', 'a', '1', '{t}'), howdah.set_tagged('s', 'a', '1', '{t}'), howdah.invalidate_tag('c', 'other'), howdah.invalidate_tag('s', 'other')")
	db.Close()
	server.Kill()
	server.Start()
	db = connect(t, url)
	require.Equal(t, 0, one[int](t, db, "SELECT count(*) FROM "+tags(t, db, "c")))
	require.Equal(t, 2, one[int](t, db, "SELECT count(*) FROM "+tags(t, db, "s")), "a tag and a mark")
	run(t, db, tagStores[2].store("", "old", claim))
	require.Empty(t, keysOf(t, db, "c"), "its claim is gone too")
	require.EqualValues(t, 1, one[int64](t, db, "SELECT howdah.invalidate_tag('s', 't')"))
	run(t, db, "SELECT howdah.set_tagged('c', 'a', '1', '{t}')")
	require.EqualValues(t, 1, one[int64](t, db, "SELECT howdah.invalidate_tag('c', 't')"))
}
