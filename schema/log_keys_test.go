package schema_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/howdah/howdah/schema"
)

// Keys go into the log beside hashes, for caches with log_keys, which is turned on and off
// as the log is: statements for the other state fail.
func TestTurnKeysOnAndOff(t *testing.T) {
	t.Parallel()
	db := open(t)
	refused(t, db, "HW004", "SELECT howdah.create_cache('k', log_keys => true)")
	refused(t, db, "HW004", "SELECT howdah.alter_cache('c', log_keys => true)")
	run(t, db, "SELECT howdah.create_cache('k', near => true, log_keys => true), howdah.set('k', 'a', 'v')")
	state := func() (id int32, features []string) {
		t.Helper()
		require.NoError(t, db.QueryRow(ctx(t), "SELECT id, features FROM howdah_internal.cache WHERE name = 'k'").Scan(&id, &features))
		var near, keys bool
		require.NoError(t, db.QueryRow(ctx(t), "SELECT near, log_keys FROM howdah.caches() WHERE name = 'k'").Scan(&near, &keys))
		require.Equal(t, []bool{near, keys}, []bool{len(features) > 1, len(features) > 2})
		return id, features
	}
	id, features := state()
	require.Equal(t, []string{"kinds", "near", "log_keys"}, features)
	require.Empty(t, schema.Unknown(features))
	for _, step := range []struct {
		sql  string
		want []string
		same bool // nothing was turned
	}{
		{"SELECT howdah.alter_cache('k', max_ttl => '1 h', near => true, log_keys => true)", features, true},
		{"SELECT howdah.alter_cache('k', log_keys => false)", []string{"kinds", "near"}, false},
		{"SELECT howdah.alter_cache('k', log_keys => true)", features, false},
		{"SELECT howdah.alter_cache('k', reset => '{log_keys}')", []string{"kinds", "near"}, false},
		{"SELECT howdah.alter_cache('k', log_keys => true)", features, false},
		{"SELECT howdah.alter_cache('k', near => false)", []string{"kinds"}, false},
		{"SELECT howdah.alter_cache('k', near => true, log_keys => true)", features, false},
	} {
		from := one[string](t, db, "SELECT pg_snapshot_xmax(pg_current_snapshot())::text")
		run(t, db, step.sql)
		now, is := state()
		require.Equal(t, step.want, is, step.sql)
		require.Equal(t, step.same, now == id, step.sql)
		if !step.same && len(is) < 3 {
			require.Equal(t, []change{{Cache: id}}, ask(t, db, from).Changes, "who follows the former table starts anew")
		}
		id = now
	}
	refused(t, db, "HW004", "SELECT howdah.alter_cache('k', near => false, log_keys => true)")
	require.Equal(t, "v", one[string](t, db, "SELECT howdah.get_text('k', 'a')"))
	run(t, db, "SELECT howdah.drop_cache('db0', true), howdah.create_cache('db0', near => true, log_keys => true), howdah.create_database(3)")
	require.True(t, one[bool](t, db, "SELECT log_keys FROM howdah.caches() WHERE name = 'db3'"))
	run(t, db, "SELECT howdah.create_cache('other', near => true)")
	refused(t, db, "HW004", "SELECT howdah.swap_caches('k', 'other')")
}

// More keys than a row may hold are an empty array, from statements and functions; a poll
// that does not want keys gets one, too.
func TestKeysOfARow(t *testing.T) {
	t.Parallel()
	db := open(t)
	run(t, db, "SELECT howdah.create_cache('k', near => true, log_keys => true)")
	id := one[int32](t, db, "SELECT id FROM howdah_internal.cache WHERE name = 'k'")
	tbl := schema.Table{Name: table(t, db, "k"), Log: id, LogKeys: true, Origin: 77}
	conn, err := db.Acquire(ctx(t))
	require.NoError(t, err)
	defer conn.Release()
	run(t, conn, "PREPARE s AS "+schema.Statement("set", tbl))
	run(t, conn, "PREPARE d AS "+schema.Statement("delete", tbl))
	keys := func(size int) string {
		return "ARRAY['" + strings.Repeat("a", size) + "', '" + strings.Repeat("b", size) + "']::bytea[]"
	}
	for what, step := range map[string]struct {
		sql  string
		want int
	}{
		"a statement":               {"EXECUTE s ('{1,2}', " + keys(20000) + ", '{v,v}', '{NULL,NULL}')", 2},
		"a statement of long keys":  {"EXECUTE s ('{1,2}', " + keys(40000) + ", '{v,v}', '{NULL,NULL}')", 0},
		"a function":                {"SELECT howdah.set_many('k', " + keys(20000) + ", '{v,v}')", 2},
		"a function with long keys": {"SELECT howdah.set_many('k', " + keys(40000) + ", '{v,v}')", 0},
	} {
		from := one[string](t, db, "SELECT pg_snapshot_xmax(pg_current_snapshot())::text")
		run(t, conn, step.sql)
		changes := ask(t, db, from).Changes
		require.Len(t, changes, 1, what)
		require.Len(t, changes[0].Hashes, 2, what)
		require.NotNil(t, changes[0].Keys, what)
		require.Len(t, changes[0].Keys, step.want, what)
		require.Equal(t, strings.HasPrefix(step.sql, "EXECUTE"), changes[0].Origin != nil && *changes[0].Origin == 77, what)
		unwanted := one[int](t, db, "SELECT count(*) FROM ("+strings.NewReplacer("$1", "'"+from+"'", "$2", "'{}'", "$3", "false").Replace(schema.Query("poll"))+
			") AS p (a, b, c, d, e, f, cache, hashes, xid, keys, origin) WHERE cardinality(keys) = 0")
		require.Equal(t, 1, unwanted, what)
	}

	// Rows that are removed say all of them which keys went.
	run(t, conn, "EXECUTE s ('{7,8}', '{x,y}', '{v,v}', '{NULL,NULL}')")
	from := one[string](t, db, "SELECT pg_snapshot_xmax(pg_current_snapshot())::text")
	run(t, conn, "EXECUTE d ('{7,8,9}', '{x,y,z}')")
	require.Equal(t, [][]byte{[]byte("x"), []byte("y")}, ask(t, db, from).Changes[0].Keys)
}

// Upkeep notes what it removes by its keys, where the log has keys.
func TestUpkeepNotesKeys(t *testing.T) {
	t.Parallel()
	db := open(t)
	for _, keyed := range []bool{false, true} {
		run(t, db, "SELECT howdah.create_cache('k', near => true, log_keys => $1)", keyed)
		run(t, db, "SELECT howdah.set('k', 'x', 'v'), howdah.set('k', 'y', 'v'), howdah.claim('k', 'claimed')")
		expireNow(t, db, "k", "x")
		from := one[string](t, db, "SELECT pg_snapshot_xmax(pg_current_snapshot())::text")
		run(t, db, "SELECT howdah.maintain('k')")
		changes := ask(t, db, from).Changes
		if !keyed {
			require.Empty(t, changes, "a copy in memory expires by itself")
		} else {
			require.Len(t, changes, 1)
			require.Equal(t, [][]byte{[]byte("x")}, changes[0].Keys)
		}
		run(t, db, "SELECT howdah.drop_cache('k')")
	}
}

// The keys count in the bound of the log, also where they lie in its TOAST table.
func TestKeysCountInTheBoundOfTheLog(t *testing.T) {
	t.Parallel()
	db := open(t)
	run(t, db, "INSERT INTO howdah_internal.change (cache, hashes, keys) SELECT 1, '{1}', ARRAY[decode(repeat(md5(g::text), 1900), 'hex'), decode(repeat('00', 30000), 'hex')] FROM generate_series(1, 1200) AS g")
	require.Less(t, one[int64](t, db, "SELECT pg_relation_size('howdah_internal.change')"), int64(1<<20), "the keys are in TOAST")
	require.Greater(t, one[int64](t, db, "SELECT pg_table_size('howdah_internal.change')"), int64(64<<20))
	for range 13 {
		run(t, db, "UPDATE howdah_internal.change_state SET ticked_at = '-infinity'")
		run(t, db, "SELECT howdah_internal._trim_log('infinity')")
	}
	require.Zero(t, one[int](t, db, "SELECT count(*) FROM howdah_internal.change"), "12 ticks are kept, not 30")
}
