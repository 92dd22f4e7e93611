package schema_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestSetAndGet(t *testing.T) {
	t.Parallel()
	for _, cache := range []string{"c", "s"} {
		db := open(t)
		require.Nil(t, one[[]byte](t, db, "SELECT howdah.get($1, 'k')", cache))
		v1 := one[int64](t, db, "SELECT howdah.set($1, 'k', 'one')", cache)
		require.Equal(t, []byte("one"), one[[]byte](t, db, "SELECT howdah.get($1, 'k')", cache))
		v2 := one[int64](t, db, "SELECT howdah.set($1, 'k', '')", cache)
		require.Greater(t, v2, v1)
		require.Equal(t, []byte{}, one[[]byte](t, db, "SELECT howdah.get($1, 'k')", cache), "an empty value is a value")
		run(t, db, "SELECT howdah.set($1, '', 'empty key')", cache)
		require.Equal(t, []byte("empty key"), one[[]byte](t, db, "SELECT howdah.get($1, '')", cache))
	}
}

func TestGetEntryAndTTL(t *testing.T) {
	t.Parallel()
	db := open(t)
	entry := func() string {
		return one[string](t, db, `
			SELECT coalesce((SELECT concat_ws('|', encode(value, 'escape'), version, coalesce(expires_at::text, 'none'), ttl)
			                 FROM howdah.get_entry('c', 'k')), 'no row')`)
	}
	require.Equal(t, "no row", entry())
	require.Nil(t, one[*time.Duration](t, db, "SELECT howdah.ttl('c', 'k')"))

	version := one[string](t, db, "SELECT howdah.set('c', 'k', 'v')::text")
	require.Equal(t, "v|"+version+"|none|1000 years", entry())
	require.True(t, one[bool](t, db, "SELECT howdah.ttl('c', 'k') = howdah.no_expiry()"))

	run(t, db, "SELECT howdah.set('c', 'k', 'v', '1 hour')")
	require.True(t, one[bool](t, db, `
		SELECT ttl > interval '59 min' AND ttl <= interval '1 hour' AND ttl = expires_at - statement_timestamp()
		       AND ttl = howdah.ttl('c', 'k')
		FROM howdah.get_entry('c', 'k')`))
}

func TestTTLArguments(t *testing.T) {
	t.Parallel()
	db := open(t)
	run(t, db, "SELECT howdah.create_cache('d', default_ttl => '1 min', max_ttl => '1 hour')")
	// Each verb that takes a TTL, with the expiry in seconds that it should give.
	for _, c := range []struct {
		cache, ttl string
		want       float64 // seconds; -1: none
	}{
		{"c", "NULL", -1}, {"c", "'10 s'", 10}, {"c", "howdah.no_expiry()", -1}, {"c", "'5000 years'", -1},
		{"d", "NULL", 60}, {"d", "'10 s'", 10}, {"d", "'2 hours'", 3600}, {"d", "howdah.no_expiry()", 3600},
		{"c", "'1 microsecond'", 0.000001},
	} {
		for _, call := range []string{
			"set('%c', 'k', '1', %t)", "add('%c', 'k', '1', %t)", "replace('%c', 'k', '1', %t)",
			"set_many('%c', '{k}', '{1}', %t)", "compare_and_set('%c', 'k', 0, '1', %t)",
			"increment('%c', 'k', 1, %t)", "expire('%c', 'k', %t)",
			"set_text('%c', 'k', '1', %t)", "add_text('%c', 'k', '1', %t)", "replace_text('%c', 'k', '1', %t)",
			"set_many_text('%c', '{k}', '{1}', %t)",
		} {
			existing := call[:3] == "rep" || call[:3] == "exp"
			run(t, db, "SELECT howdah.flush($1)", c.cache)
			if existing {
				run(t, db, "SELECT howdah.set($1, 'k', '1', '7 s')", c.cache)
			}
			sql := "SELECT howdah." + replaceAll(call, "%c", c.cache, "%t", c.ttl)
			tx, err := db.Begin(ctx(t))
			require.NoError(t, err)
			got := one[float64](t, tx, `
				WITH call AS MATERIALIZED (SELECT (`+sql+`) IS NOT NULL AS done)
				SELECT extract(epoch FROM statement_timestamp())::float8 FROM call WHERE done`)
			expiry := one[float64](t, tx, `
				SELECT CASE WHEN expires_at = 'infinity' THEN -1 ELSE extract(epoch FROM expires_at) END::float8
				FROM `+table(t, tx, c.cache))
			require.NoError(t, tx.Rollback(ctx(t)))
			if c.want >= 0 {
				expiry -= got
			}
			require.InDelta(t, c.want, expiry, 0.000005, sql)
		}
	}
	run(t, db, "SELECT howdah.set('c', 'k', '1')")
	for _, ttl := range []string{"'0'", "'-1 s'", "'-1 microsecond'", "'1 mon -32 days'", "'-3000 years'"} {
		for _, call := range []string{
			"set('c', 'k', '2', %t)", "add('c', 'k', '2', %t)", "replace('c', 'k', '2', %t)", "set_many('c', '{k}', '{2}', %t)",
			"compare_and_set('c', 'k', 0, '2', %t)", "increment('c', 'k', 1, %t)", "expire('c', 'k', %t)", "touch('c', 'k', %t)",
		} {
			refused(t, db, "HW009", "SELECT howdah."+replaceAll(call, "%t", ttl))
		}
	}
	require.Equal(t, "1", one[string](t, db, "SELECT howdah.get_text('c', 'k')"))
}

func TestAddAndReplace(t *testing.T) {
	t.Parallel()
	db := open(t)
	require.False(t, one[bool](t, db, "SELECT howdah.replace('c', 'k', '0')"))
	require.True(t, one[bool](t, db, "SELECT howdah.add('c', 'k', '1')"))
	require.False(t, one[bool](t, db, "SELECT howdah.add('c', 'k', '2')"))
	require.Equal(t, "1", one[string](t, db, "SELECT howdah.get_text('c', 'k')"))
	require.True(t, one[bool](t, db, "SELECT howdah.replace('c', 'k', '3')"))
	require.Equal(t, "3", one[string](t, db, "SELECT howdah.get_text('c', 'k')"))
}

func TestManyKeys(t *testing.T) {
	t.Parallel()
	db := open(t)
	require.EqualValues(t, 2, one[int64](t, db, "SELECT howdah.set_many('c', '{a,b,a}', '{1,2,3}')"))
	require.Equal(t, []string{"a=3", "b=2"}, all[string](t, db, `
		SELECT key || '=' || value FROM howdah.get_many_text('c', '{b,nope,a,b}') ORDER BY 1`), "the last value wins; a key is answered once")
	require.Equal(t, 2, one[int](t, db, "SELECT count(*) FROM howdah.get_many('c', '{b,nope,a,b}')"))
	require.EqualValues(t, 0, one[int64](t, db, "SELECT howdah.set_many('c', '{}', '{}')"))
	require.EqualValues(t, 0, one[int64](t, db, "SELECT howdah.set_many_text('c', '{}', '{}')"))
	require.Equal(t, 0, one[int](t, db, "SELECT count(*) FROM howdah.get_many('c', '{}')"))
	require.EqualValues(t, 1, one[int64](t, db, "SELECT howdah.delete_many('c', '{a,nope,a}')"))
	require.EqualValues(t, 0, one[int64](t, db, "SELECT howdah.delete_many('c', '{}')"))
	require.EqualValues(t, 1, one[int64](t, db, "SELECT howdah.count('c')"))

	for _, call := range []string{
		"set_many('c', '{a,b}', '{1}')", "set_many('c', '{a}', NULL)", "set_many('c', NULL, '{1}')",
		"set_many('c', '{z,NULL}', '{1,2}')", "set_many('c', '{z,y}', '{1,NULL}')",
		"get_many('c', '{a,NULL}')", "delete_many('c', '{NULL}')", "delete_many_text('c', '{NULL}')",
	} {
		refused(t, db, "HW012", "SELECT howdah."+call)
	}
	require.EqualValues(t, 1, one[int64](t, db, "SELECT howdah.count('c')"), "all or none")

	run(t, db, `SELECT howdah.set_many('c', array_agg(int4send(i)), array_agg(int4send(i * 2))) FROM generate_series(1, 5000) AS i`)
	require.Equal(t, 5000, one[int](t, db, `
		SELECT count(*) FROM howdah.get_many('c', (SELECT array_agg(int4send(i)) FROM generate_series(1, 9000) AS i)) AS m
		WHERE m.value = int4send(2 * ('x' || encode(m.key, 'hex'))::bit(32)::integer)`))
}

// array_agg() of no rows is NULL: the trigger of a statement that changed no row
// asks for no key, and must not fail that statement.
func TestNullArrayIsNoKeys(t *testing.T) {
	t.Parallel()
	db := open(t)
	for call, want := range map[string]string{
		"delete_many('c', NULL)": "0", "delete_many_text('c', NULL)": "0", "set_many('c', NULL, NULL)": "0",
		"set_many_text('c', NULL, '{}')": "0", "set_many('c', '{}', NULL)": "0",
	} {
		require.Equal(t, want, one[string](t, db, "SELECT howdah."+call+"::text"), call)
	}
	require.Zero(t, one[int](t, db, "SELECT count(*) FROM howdah.get_many('c', NULL)"))
	require.Zero(t, one[int](t, db, "SELECT count(*) FROM howdah.get_many_text('c', NULL)"))

	run(t, db, "CREATE TABLE users (id int PRIMARY KEY, name text)")
	run(t, db, `CREATE FUNCTION users_changed() RETURNS trigger LANGUAGE plpgsql AS $$
	            BEGIN
	                PERFORM howdah.delete_many_text('c', (SELECT array_agg('user:' || id) FROM changed));
	                RETURN NULL;
	            END $$`)
	run(t, db, `CREATE TRIGGER changed AFTER UPDATE ON users REFERENCING OLD TABLE AS changed
	            FOR EACH STATEMENT EXECUTE FUNCTION users_changed()`)
	run(t, db, "INSERT INTO users VALUES (1, 'Ada')")
	run(t, db, "SELECT howdah.set_text('c', 'user:1', 'Ada')")
	run(t, db, "UPDATE users SET name = 'Bob' WHERE id = 2")
	require.Equal(t, "Ada", one[string](t, db, "SELECT howdah.get_text('c', 'user:1')"))
	run(t, db, "UPDATE users SET name = 'Bob'")
	require.Nil(t, one[*string](t, db, "SELECT howdah.get_text('c', 'user:1')"))
}

// A delete takes the row of an expired entry along, whatever waits in it, and
// says that there was no key.
func TestDeleteRemovesExpiredRows(t *testing.T) {
	t.Parallel()
	for _, prefixIndex := range []bool{false, true} {
		db := open(t)
		run(t, db, "SELECT howdah.alter_cache('c', prefix_index => $1)", prefixIndex)
		for call, want := range map[string]string{
			"delete('c', 'k')": "false", "delete_text('c', 'k')": "false",
			"delete_many('c', '{k}')": "0", "delete_many_text('c', '{k}')": "0",
			"delete_prefix('c', 'k')": "0", "delete_prefix('c', 'k', 1)": "0", "delete_prefix_text('c', 'k')": "0",
			"get_and_delete('c', 'k')": "", "get_and_delete_text('c', 'k')": "",
		} {
			run(t, db, "SELECT howdah.flush('c')")
			run(t, db, "SELECT howdah.set_many('c', '{k,other}', '{v,v}')")
			expireNow(t, db, "c", "k")
			require.Equal(t, want, one[string](t, db, "SELECT coalesce(howdah."+call+"::text, '')"), call)
			require.Equal(t, []string{"other"}, all[string](t, db, "SELECT encode(key, 'escape') FROM "+table(t, db, "c")), call)
		}
	}
}

// max_rows bounds the keys that delete_prefix counts, and expired rows do not
// use it up: less than max_rows means that none is left.
func TestDeletePrefixInPieces(t *testing.T) {
	t.Parallel()
	for _, prefixIndex := range []bool{false, true} {
		db := open(t)
		run(t, db, "SELECT howdah.alter_cache('c', prefix_index => $1)", prefixIndex)
		run(t, db, "SELECT howdah.set_text('c', 'k' || i, 'v') FROM generate_series(1, 25) AS i")
		run(t, db, "SELECT howdah.set_text('c', 'dead' || i, 'v') FROM generate_series(1, 30) AS i")
		run(t, db, "SELECT howdah.set_text('c', 'kdead' || i, 'v') FROM generate_series(1, 30) AS i")
		run(t, db, "UPDATE "+table(t, db, "c")+" SET expires_at = '-infinity' WHERE encode(key, 'escape') LIKE '%dead%'")
		var removed []int64
		for {
			n := one[int64](t, db, "SELECT howdah.delete_prefix_text('c', 'k', 10)")
			removed = append(removed, n)
			if n < 10 {
				break
			}
		}
		require.Equal(t, []int64{10, 10, 5}, removed)
		require.Equal(t, 30, one[int](t, db, "SELECT count(*) FROM "+table(t, db, "c")+" WHERE encode(key, 'escape') LIKE 'dead%'"))
		require.Equal(t, 30, one[int](t, db, "SELECT count(*) FROM "+table(t, db, "c")))
	}
}

func TestDelete(t *testing.T) {
	t.Parallel()
	db := open(t)
	run(t, db, "SELECT howdah.set('c', 'k', 'v')")
	require.True(t, one[bool](t, db, "SELECT howdah.delete('c', 'k')"))
	require.False(t, one[bool](t, db, "SELECT howdah.delete('c', 'k')"))
	run(t, db, "SELECT howdah.set_text('c', 'k', 'v')")
	require.True(t, one[bool](t, db, "SELECT howdah.delete_text('c', 'k')"))

	run(t, db, "SELECT howdah.set('c', 'k', 'v')")
	require.Equal(t, []byte("v"), one[[]byte](t, db, "SELECT howdah.get_and_delete('c', 'k')"))
	require.Nil(t, one[[]byte](t, db, "SELECT howdah.get_and_delete('c', 'k')"))
	run(t, db, "SELECT howdah.set('c', 'k', 'v')")
	require.Equal(t, "v", one[string](t, db, "SELECT howdah.get_and_delete_text('c', 'k')"))
}

func TestTouchExpirePersist(t *testing.T) {
	t.Parallel()
	db := open(t)
	for _, verb := range []string{"touch('c', 'k', '1 s')", "expire('c', 'k', '1 s')", "persist('c', 'k')"} {
		require.False(t, one[bool](t, db, "SELECT howdah."+verb), "an absent key stays absent")
	}
	version := one[int64](t, db, "SELECT howdah.set('c', 'k', 'v', '1 hour')")
	seconds := func() float64 {
		return one[float64](t, db, "SELECT extract(epoch FROM howdah.ttl('c', 'k'))::float8")
	}
	currentVersion := func() int64 { return one[int64](t, db, "SELECT version FROM howdah.get_entry('c', 'k')") }

	require.True(t, one[bool](t, db, "SELECT howdah.touch('c', 'k', '1 s')"))
	require.InDelta(t, 3600, seconds(), 60, "touch never shortens")
	require.True(t, one[bool](t, db, "SELECT howdah.touch('c', 'k', '2 hours')"))
	require.InDelta(t, 7200, seconds(), 60)
	require.Equal(t, version, currentVersion(), "touch keeps the version")

	require.True(t, one[bool](t, db, "SELECT howdah.expire('c', 'k', '1 hour')"))
	require.InDelta(t, 3600, seconds(), 60)
	require.Greater(t, currentVersion(), version)
	version = currentVersion()

	require.True(t, one[bool](t, db, "SELECT howdah.persist('c', 'k')"))
	require.True(t, one[bool](t, db, "SELECT howdah.ttl('c', 'k') = howdah.no_expiry()"))
	require.Greater(t, currentVersion(), version)
	require.True(t, one[bool](t, db, "SELECT howdah.touch('c', 'k', '1 s')"))
	require.True(t, one[bool](t, db, "SELECT howdah.ttl('c', 'k') = howdah.no_expiry()"), "touch never shortens")
	require.True(t, one[bool](t, db, "SELECT howdah.touch('c', 'k')"))
	require.True(t, one[bool](t, db, "SELECT howdah.expire('c', 'k')"))
}

func TestCompareAndSet(t *testing.T) {
	t.Parallel()
	db := open(t)
	cas := func(version int64, value string) *int64 {
		return one[*int64](t, db, "SELECT howdah.compare_and_set('c', 'k', $1, convert_to($2, 'UTF8'))", version, value)
	}
	require.Nil(t, cas(1, "x"), "absent, but a version was expected")
	v1 := cas(0, "one")
	require.NotNil(t, v1)
	require.Nil(t, cas(0, "x"), "present, but absence was expected")
	v2 := cas(*v1, "two")
	require.NotNil(t, v2)
	require.Greater(t, *v2, *v1)
	require.Nil(t, cas(*v1, "x"), "stale")
	require.Nil(t, cas(-1, "x"))
	require.Equal(t, "two", one[string](t, db, "SELECT howdah.get_text('c', 'k')"))
	refused(t, db, "HW012", "SELECT howdah.compare_and_set('c', 'k', NULL, 'x')")
}

// Versions grow with every write and are not reused after a delete, not even
// within one statement, where the statement's clock stands still.
func TestVersionsIncrease(t *testing.T) {
	t.Parallel()
	db := open(t)
	run(t, db, `
		DO $$
		DECLARE
		    last bigint := 0;
		    next bigint;
		BEGIN
		    FOR i IN 1..500 LOOP
		        next := CASE i % 4
		            WHEN 0 THEN howdah.set('c', 'k', '1')
		            WHEN 1 THEN howdah.compare_and_set('c', 'k', 0, '1')
		            WHEN 2 THEN howdah.compare_and_set('c', 'k', last, '1')
		            ELSE (SELECT version FROM howdah.get_entry('c', 'k') WHERE howdah.increment('c', 'k') > 0 OR true) END;
		        IF next < last OR next = last AND i % 4 <> 3 THEN
		            RAISE EXCEPTION 'step %: % after %', i, next, last;
		        END IF;
		        last := greatest(last, next, (SELECT version FROM `+table(t, db, "c")+`));
		        IF i % 4 = 0 THEN
		            PERFORM howdah.delete('c', 'k');
		        END IF;
		    END LOOP;
		END $$`)
	// A clock that was ahead: the old version still counts.
	run(t, db, "SELECT howdah.set('c', 'k', '1')")
	run(t, db, "UPDATE "+table(t, db, "c")+" SET version = 9000000000000000000")
	require.EqualValues(t, 9000000000000000001, one[int64](t, db, "SELECT howdah.set('c', 'k', '1')"))
	require.EqualValues(t, 9000000000000000002, one[int64](t, db, "SELECT howdah.compare_and_set('c', 'k', 9000000000000000001, '1')"))
}

func TestIncrement(t *testing.T) {
	t.Parallel()
	db := open(t)
	require.EqualValues(t, 1, one[int64](t, db, "SELECT howdah.increment('c', 'k')"))
	require.EqualValues(t, -9, one[int64](t, db, "SELECT howdah.increment('c', 'k', -10)"))
	require.EqualValues(t, -9, one[int64](t, db, "SELECT howdah.increment('c', 'k', 0)"))
	require.Equal(t, "-9", one[string](t, db, "SELECT howdah.get_text('c', 'k')"))

	run(t, db, "SELECT howdah.increment('c', 'ttl', 1, '1 hour')")
	run(t, db, "SELECT howdah.increment('c', 'ttl', 1, '9 hours')")
	require.InDelta(t, 3600, one[float64](t, db, "SELECT extract(epoch FROM howdah.ttl('c', 'ttl'))::float8"), 60, "an existing entry keeps its TTL")

	for _, bad := range []string{
		"", " ", "1 ", " 1", "+5", "05", "00", "-0", "-", "--1", "1.0", "1e3", "0x10", "abc", "1\n", "1\x00", "\xff\xfe",
		"\\061", "9223372036854775808", "-9223372036854775809", "99999999999999999999", "123456789012345678901234567890", "१",
	} {
		run(t, db, "SELECT howdah.set('c', 'bad', $1::bytea)", []byte(bad))
		refused(t, db, "HW005", "SELECT howdah.increment('c', 'bad')")
		require.Equal(t, []byte(bad), one[[]byte](t, db, "SELECT howdah.get('c', 'bad')"), "unchanged")
	}
	run(t, db, "SELECT howdah.set('c', 'bad', decode(repeat('31', 10000000), 'hex'))")
	refused(t, db, "HW005", "SELECT howdah.increment('c', 'bad')")

	for _, c := range []struct{ value, delta, sum string }{
		{"9223372036854775807", "1", ""}, {"-9223372036854775808", "-1", ""}, {"1", "9223372036854775807", ""},
		{"9223372036854775807", "9223372036854775807", ""}, {"-1", "-9223372036854775808", ""},
		{"9223372036854775806", "1", "9223372036854775807"}, {"0", "-9223372036854775808", "-9223372036854775808"},
		{"9223372036854775807", "-9223372036854775808", "-1"},
	} {
		run(t, db, "SELECT howdah.set_text('c', 'n', $1)", c.value)
		sql := "SELECT howdah.increment('c', 'n', '" + c.delta + "')::text"
		if c.sum == "" {
			refused(t, db, "HW006", sql)
			require.Equal(t, c.value, one[string](t, db, "SELECT howdah.get_text('c', 'n')"))
		} else {
			require.Equal(t, c.sum, one[string](t, db, sql))
		}
	}
	refused(t, db, "HW012", "SELECT howdah.increment('c', 'k', NULL)")
}

func TestTextTwins(t *testing.T) {
	t.Parallel()
	db := open(t)
	const key, value = "schlüssel 🐘", "wert \\ ' \" $1 %s"
	run(t, db, "SELECT howdah.set_text('c', $1, $2)", key, value)
	require.Equal(t, []byte(value), one[[]byte](t, db, "SELECT howdah.get('c', $1)", []byte(key)))
	require.Equal(t, value, one[string](t, db, "SELECT howdah.get_text('c', $1)", key))
	require.Equal(t, []string{value}, all[string](t, db, "SELECT value FROM howdah.get_many_text('c', $1)", []string{key}))
	require.Equal(t, []string{key}, one[[]string](t, db, "SELECT keys FROM howdah.scan_text('c', prefix => 'schlü')"))
	require.False(t, one[bool](t, db, "SELECT howdah.add_text('c', $1, 'x')", key))
	require.True(t, one[bool](t, db, "SELECT howdah.replace_text('c', $1, 'x')", key))
	require.Nil(t, one[*string](t, db, "SELECT howdah.get_text('c', 'nope')"))

	require.EqualValues(t, 3, one[int64](t, db, "SELECT howdah.increment_text('c', 'nümber', 3, '1 h')"))
	require.Equal(t, []byte("3"), one[[]byte](t, db, "SELECT howdah.get('c', convert_to('nümber', 'UTF8'))"))
	require.True(t, one[bool](t, db, "SELECT howdah.ttl_text('c', 'nümber') BETWEEN '59 min' AND '1 h'"))
	require.True(t, one[bool](t, db, "SELECT howdah.touch_text('c', 'nümber', '2 h')"))
	require.True(t, one[bool](t, db, "SELECT howdah.ttl_text('c', 'nümber') > '1 h'"))
	require.True(t, one[bool](t, db, "SELECT howdah.expire_text('c', 'nümber', '1 min')"))
	require.True(t, one[bool](t, db, "SELECT ttl < '2 min' AND value = '3' FROM howdah.get_entry_text('c', 'nümber')"))
	require.True(t, one[bool](t, db, "SELECT howdah.persist_text('c', 'nümber')"))
	require.True(t, one[bool](t, db, "SELECT howdah.ttl_text('c', 'nümber') = howdah.no_expiry()"))
	require.True(t, one[bool](t, db, "SELECT howdah.key_hash_text('nümber') = howdah.key_hash(convert_to('nümber', 'UTF8'))"))
	version := one[int64](t, db, "SELECT howdah.compare_and_set_text('c', $1, (SELECT version FROM howdah.get_entry_text('c', $1)), $2)", key, value)
	require.Equal(t, version, one[int64](t, db, "SELECT version FROM howdah.get_entry_text('c', $1)", key))
	require.EqualValues(t, 1, one[int64](t, db, "SELECT howdah.delete_many_text('c', $1)", []string{key, "nope"}))
	require.EqualValues(t, 1, one[int64](t, db, "SELECT howdah.delete_prefix_text('c', 'nü')"))

	run(t, db, `SELECT howdah.set('c', 'bin', '\xff00')`)
	for _, call := range []string{"get_text('c', 'bin')", "get_entry_text('c', 'bin')", "get_and_delete_text('c', 'bin')", "get_many_text('c', '{bin}')"} {
		refused(t, db, "22021", "SELECT howdah."+call)
	}
	require.Equal(t, []byte{0xff, 0}, one[[]byte](t, db, "SELECT howdah.get('c', 'bin')"))
}

// Every function that takes a key, or several, has a twin for text.
func TestEveryKeyHasATextTwin(t *testing.T) {
	t.Parallel()
	db := open(t)
	require.Empty(t, all[string](t, db, `
		SELECT p.proname::text
		FROM pg_proc AS p
		WHERE p.pronamespace = 'howdah'::regnamespace AND p.proname NOT LIKE '\_%'
		  AND p.proargnames[1:p.pronargs] && '{key,keys,prefix}'
		  AND NOT p.proargtypes::oid[] <@ (SELECT array_agg(oid) FROM pg_type WHERE typname NOT IN ('bytea', '_bytea'))
		  AND NOT EXISTS (SELECT FROM pg_proc AS t
		                  WHERE t.pronamespace = p.pronamespace AND t.proname = p.proname || '_text')`))
}

func TestJSON(t *testing.T) {
	t.Parallel()
	db := open(t)
	require.Nil(t, one[*string](t, db, "SELECT howdah.get_json('c', 'k')::text"))
	version := one[int64](t, db, `SELECT howdah.set_json('c', 'k', '{"b": [1, null], "a": "ä"}', '1 h')`)
	require.Positive(t, version)
	require.Equal(t, "ä", one[string](t, db, "SELECT howdah.get_json('c', 'k') ->> 'a'"))
	require.Equal(t, `{"a": "ä", "b": [1, null]}`, one[string](t, db, "SELECT howdah.get_text('c', 'k')"))
	require.True(t, one[bool](t, db, "SELECT howdah.ttl_text('c', 'k') <= '1 h'"))
	run(t, db, "SELECT howdah.set_json('c', 'k', 'null')")
	require.Equal(t, "null", one[string](t, db, "SELECT howdah.get_json('c', 'k')::text"))
	refused(t, db, "HW012", "SELECT howdah.set_json('c', 'k', NULL)")
	run(t, db, "SELECT howdah.set_text('c', 'k', 'no json')")
	refused(t, db, "22P02", "SELECT howdah.get_json('c', 'k')")
}
