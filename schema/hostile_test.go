package schema_test

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/howdah/howdah/internal/pgtest"
)

var hostile = [][]byte{
	{}, {0}, {0, 0}, {0xff}, {0xff, 0xfe, 0}, []byte("'"), []byte("''"), []byte(`"`), []byte(`\`), []byte(`\\x41`), []byte(`\x41`),
	[]byte("'); DROP SCHEMA howdah CASCADE; --"), []byte("$1"), []byte("$$"), []byte("%I %s %1$s %"), []byte("{a,b}"), []byte("NULL"),
	[]byte("a\r\nb"), []byte("ключ"), []byte("\xed\xa0\x80"), []byte("\xc0\xaf"), []byte(" "), []byte("k "), []byte("K"), []byte("k"),
	bytes.Repeat([]byte{0xff}, 2000), bytes.Repeat([]byte("x"), 65536),
}

// Bytes are bytes: no key and no value means anything to SQL.
func TestHostileKeysAndValues(t *testing.T) {
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
	db := connect(t, pgtest.New(t))
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
