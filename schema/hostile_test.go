package schema_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/howdah/howdah/internal/test/pgtest"
	"github.com/howdah/howdah/schema"
)

var hostile = [][]byte{
	{}, {0}, {0, 0}, {0xff}, {0xff, 0xfe, 0}, []byte("'"), []byte("''"), []byte(`"`), []byte(`\`), []byte(`\\x41`), []byte(`\x41`),
	[]byte("'); DROP SCHEMA howdah CASCADE; --"), []byte("$1"), []byte("$$"), []byte("%I %s %1$s %"), []byte("{a,b}"), []byte("NULL"),
	[]byte("a\r\nb"), []byte("ключ"), []byte("\xed\xa0\x80"), []byte("\xc0\xaf"), []byte(" "), []byte("k "), []byte("K"), []byte("k"),
	bytes.Repeat([]byte{0xff}, 2000), bytes.Repeat([]byte("x"), 65536),
}

// Bytes are bytes: no key and no value means anything to SQL.
func TestHostileKeysAndValues(t *testing.T) {
	t.Parallel()
	db := open(t)
	for i, key := range hostile {
		run(t, db, "SELECT howdah.set('c', $1, $2)", key, hostile[len(hostile)-1-i])
	}
	for i, key := range hostile {
		value := hostile[len(hostile)-1-i]
		require.Equal(t, value, one[[]byte](t, db, "SELECT howdah.get('c', $1)", key), "%.40q", key)
		require.Equal(t, value, one[[]byte](t, db, "SELECT value FROM howdah.get_entry('c', $1)", key), "%.40q", key)
	}
	require.Equal(t, len(hostile), one[int](t, db, "SELECT count(*) FROM howdah.get_many('c', $1)", hostile))
	require.ElementsMatch(t, hostile, one[[][]byte](t, db, "SELECT keys FROM howdah.scan('c')"))
	require.EqualValues(t, len(hostile), one[int64](t, db, "SELECT howdah.delete_many('c', $1)", hostile))
	require.EqualValues(t, len(hostile), one[int64](t, db, "SELECT howdah.set_many('s', $1, $1)", hostile))
	for _, key := range hostile {
		require.Equal(t, key, one[[]byte](t, db, "SELECT howdah.get_and_delete('s', $1)", key), "%.40q", key)
	}
}

func TestLimits(t *testing.T) {
	t.Parallel()
	db := open(t)
	long := make([]byte, 65537)
	for _, call := range []string{
		"get('c', $1)", "get_entry('c', $1)", "get_many('c', ARRAY[$1])", "set('c', $1, '')", "set_many('c', ARRAY[$1], '{v}')",
		"add('c', $1, '')", "replace('c', $1, '')", "compare_and_set('c', $1, 0, '')", "delete('c', $1)", "delete_many('c', ARRAY[$1])",
		"get_and_delete('c', $1)", "touch('c', $1)", "expire('c', $1)", "persist('c', $1)", "ttl('c', $1)", "increment('c', $1)",
	} {
		refused(t, db, "HW007", "SELECT howdah."+replaceAll(call, "$1", "$1::bytea"), long)
		refused(t, db, "HW012", "SELECT howdah."+replaceAll(call, "$1", "NULL::bytea"))
	}
	for _, call := range []string{"set('c', 'k', %v)", "add('c', 'k', %v)", "replace('c', 'k', %v)", "set_many('c', '{k}', ARRAY[%v])", "compare_and_set('c', 'k', 7, %v)"} {
		refused(t, db, "HW012", "SELECT howdah."+replaceAll(call, "%v", "NULL::bytea"))
	}
	run(t, db, "SELECT howdah.set('c', 'k', decode(repeat('00', 20000000), 'hex'))")
	require.Equal(t, 20000000, one[int](t, db, "SELECT octet_length(howdah.get('c', 'k'))"))
	refused(t, db, "HW008", "SELECT howdah.set('c', 'k', convert_to(repeat('x', 536870913), 'UTF8'))")
}

// Names that the caller's session puts in the way do not count: neither
// tables nor functions whose arguments fit better than PostgreSQL's own.
func TestSearchPathDoesNotMatter(t *testing.T) {
	t.Parallel()
	db := connect(t, newDatabase(t))
	run(t, db, "SELECT howdah.create_cache('c', prefix_index => true)")
	run(t, db, "CREATE SCHEMA evil; CREATE TABLE evil.cache (name text); CREATE TABLE evil.meta (seed bytea)")
	for _, decoy := range []string{
		"format(text, text)", "format(text, text, text)", "convert_to(text, text)", "convert_from(bytea, text)", "encode(bytea, text)",
		"unnest(bytea[])", "cardinality(bytea[])", "octet_length(bytea)", "quote_literal(text)", "int8(text)", "statement_timestamp()",
		"jsonb_each(jsonb)", "pg_has_role(name, name, text)", "set_config(text, text, boolean)", "current_setting(text)", "sha256(bytea)",
	} {
		run(t, db, "CREATE FUNCTION evil."+decoy+" RETURNS text LANGUAGE plpgsql AS $$ BEGIN RAISE 'decoy called'; END $$")
	}
	tx, err := db.Begin(ctx(t))
	require.NoError(t, err)
	defer tx.Rollback(ctx(t))
	run(t, tx, "CREATE TEMP TABLE cache (name text); CREATE TEMP TABLE meta (seed bytea); CREATE TEMP TABLE cache_c (value bytea)")
	for _, path := range []string{"''", "pg_temp", "evil, howdah", "evil, pg_temp, howdah, pg_catalog"} {
		run(t, tx, "SET LOCAL search_path = "+path)
		run(t, tx, "SELECT howdah.set_text('c', 'k', 'v', '1 h'), howdah.increment('c', 'n'), howdah.set_many('c', '{a}', '{b}')")
		require.Equal(t, "v", one[string](t, tx, "SELECT howdah.get_text('c', 'k')"))
		run(t, tx, "SELECT howdah.set_many_text('c', '{a}', '{b}'), howdah.add('c', 'k', 'v'), howdah.replace_text('c', 'k', 'v')")
		run(t, tx, "SELECT * FROM howdah.scan_text('c'), howdah.get_many_text('c', '{a}'), howdah.caches(), howdah.get_entry('c', 'k')")
		run(t, tx, "SELECT howdah.delete_prefix('c', 'k'), howdah.create_cache('d'), howdah.touch('c', 'a'), howdah.ttl('c', 'a')")
		run(t, tx, "SELECT howdah.alter_cache('d', prefix_index => true, fillfactor => 50, reset => '{max_ttl}')")
		run(t, tx, "SELECT howdah.drop_cache('d'), howdah.delete_many('c', '{a}'), howdah.flush('c'), howdah.count('c'), howdah.key_hash('k')")
	}
}

// Nor does what others may create in public: no function calls it, neither of
// the caches nor of the sessions, nor do the ones that are planned into the
// statement of the caller.
func TestDecoysInPublic(t *testing.T) {
	t.Parallel()
	url := newDatabase(t)
	db := connect(t, url)
	run(t, db, "SELECT howdah.create_cache('c', max_ttl => '1 day', default_ttl => '1 h', ttl_jitter => 30, max_entries => 1, eviction => 'volatile-lfu', prefix_index => true, near => true)")
	pgtest.Decoys(t, url, "functions/*.sql", "queries/poll.sql")
	// The caller's own words would call decoys: no sha256() here.
	hash, renewed := `'\x`+strings.Repeat("ab", 32)+`'`, `'\x`+strings.Repeat("cd", 32)+`'`
	for _, call := range []string{
		"set('c', 'k', 'v')", "set_text('c', 'l', 'v', '1 h')", "add('c', 'k', 'v')", "add_text('c', 'k', 'v')", "replace('c', 'k', 'v')",
		"replace_text('c', 'k', 'v')", "compare_and_set('c', 'k', 1, 'v')", "get('c', 'k')", "get_text('c', 'k')", "get_entry('c', 'k')",
		"get_many('c', '{k}')", "get_many_text('c', '{k}')", "set_many('c', '{a}', '{b}')", "set_many_text('c', '{a}', '{b}')",
		"increment('c', 'n')", "touch('c', 'k')", "expire('c', 'k', '1 min')", "persist('c', 'k')", "ttl('c', 'k')", "key_hash('k')",
		"scan('c')", "scan_text('c')", "count('c')", "caches()", "maintain(max_time => '1 min')", "delete_prefix('c', 'k')", "delete('c', 'k')",
		"delete_text('c', 'k')", "delete_many('c', '{a}')", "get_and_delete('c', 'k')", "get_and_delete_text('c', 'k')",
		"alter_cache('c', fillfactor => 50, durability => 'async')", "flush('c')", "create_cache('d')", "drop_cache('d')", "no_expiry()",
		"session_create(" + sessionID + ", " + hash + ", 'ada', '{}', user_limit => 1, revoke_oldest => true)",
		"session_get(" + sessionID + ", " + hash + ")", "session_save(" + sessionID + ", " + hash + ", 1, '{}')",
		"session_merge(" + sessionID + ", " + hash + `, '{"a": 1}', '{b}')`, "session_touch(ARRAY[" + sessionID + "::uuid], '{1 min}')",
		"session_rotate(" + sessionID + ", " + hash + ", " + renewed + ", 'ada', '1 day', 1, true)", "session_list('ada')",
		"session_count()", "session_count('ada')", "session_put('01890000-0000-8000-8000-000000000002', " + hash + ", '', '1 hour')",
		"session_bury('01890000-0000-8000-8000-000000000002', " + hash + ")", "session_revoke('01890000-0000-8000-8000-000000000002')",
		"session_revoke(" + sessionID + ", 'bob')", "session_revoke_user('ada', " + sessionID + ")", "session_end(" + sessionID + ", " + renewed + ")",
		"session_beat(" + sessionID + ", 1)", "session_expire()",
		"ttl_text('c', 'k')", "increment_text('c', 'n')", "touch_text('c', 'k')", "expire_text('c', 'k')", "persist_text('c', 'k')",
		"get_entry_text('c', 'k')", "delete_many_text('c', '{k}')", "delete_prefix_text('c', 'k')", "key_hash_text('k')",
		"compare_and_set_text('c', 'k', 0, 'v')", "set_json('c', 'j', '1')", "get_json('c', 'j')", "create_cache('c', if_not_exists => true)",
		"invalidate_all('c')",
	} {
		run(t, db, "SELECT * FROM howdah."+call)
	}
	run(t, db, "SELECT * FROM howdah.create_cache('n', near => true)")
	run(t, db, "SELECT * FROM howdah.set('n', 'k', 'v')")
	for range 32 {
		run(t, db, "UPDATE howdah_internal.change_state SET ticked_at = '-infinity'")
		run(t, db, "SELECT * FROM howdah.maintain(max_time => '1 min')")
	}
	require.Zero(t, logLength(t, db), "it was trimmed")
	run(t, db, "SELECT * FROM howdah.alter_cache('n', near => false)")
	run(t, db, schema.Query("light_log"))
	require.NotNil(t, ask(t, db, "1", "0").Incarnation)
}
