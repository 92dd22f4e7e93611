package schema_test

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// absent is what each verb does to a key that is not there. An expired row
// must be absent to all of them, and so must another key's row.
var absent = []struct {
	call, want string
	writes     bool // takes the slot
}{
	{"(SELECT howdah.get('%c', 'k'))", "", false},
	{"(SELECT howdah.get_text('%c', 'k'))", "", false},
	{"(SELECT howdah.ttl('%c', 'k'))", "", false},
	{"(SELECT version FROM howdah.get_entry('%c', 'k'))", "", false},
	{"(SELECT value FROM howdah.get_many('%c', '{k}'))", "", false},
	{"(SELECT value FROM howdah.get_many_text('%c', '{k}'))", "", false},
	{"(SELECT 'k' = ANY (keys) FROM howdah.scan('%c'))", "false", false},
	{"(SELECT 'k' = ANY (keys) FROM howdah.scan_text('%c'))", "false", false},
	{"howdah.delete('%c', 'k')", "false", false},
	{"howdah.delete_text('%c', 'k')", "false", false},
	{"howdah.delete_many('%c', '{k}')", "0", false},
	{"howdah.delete_prefix('%c', 'k')", "0", false},
	{"howdah.get_and_delete('%c', 'k')", "", false},
	{"howdah.get_and_delete_text('%c', 'k')", "", false},
	{"howdah.touch('%c', 'k', '1 h')", "false", false},
	{"howdah.expire('%c', 'k', '1 h')", "false", false},
	{"howdah.persist('%c', 'k')", "false", false},
	{"howdah.replace('%c', 'k', '1')", "false", false},
	{"howdah.replace_text('%c', 'k', '1')", "false", false},
	{"howdah.compare_and_set('%c', 'k', 7, '1')", "", false},
	{"howdah.set('%c', 'k', '1') > 7", "true", true},
	{"howdah.set_text('%c', 'k', '1') > 7", "true", true},
	{"howdah.set_many('%c', '{k}', '{1}')", "1", true},
	{"howdah.set_many_text('%c', '{k}', '{1}')", "1", true},
	{"howdah.add('%c', 'k', '1')", "true", true},
	{"howdah.add_text('%c', 'k', '1')", "true", true},
	{"howdah.compare_and_set('%c', 'k', 0, '1') > 7", "true", true},
	{"howdah.increment('%c', 'k', 1, '1 h')", "1", true},
}

func TestExpiredIsAbsentToEveryVerb(t *testing.T) {
	t.Parallel()
	db := open(t)
	for _, cache := range []string{"c", "s"} {
		for _, c := range absent {
			sql := "SELECT coalesce((" + replaceAll(c.call, "%c", cache) + ")::text, '')"
			run(t, db, "SELECT howdah.flush($1)", cache)
			run(t, db, "SELECT howdah.set($1, 'k', '99', '1 h')", cache)
			run(t, db, "UPDATE "+table(t, db, cache)+" SET version = 7")
			expireNow(t, db, cache, "k")
			require.Equal(t, c.want, one[string](t, db, sql), sql)
			if !c.writes {
				require.Equal(t, 0, one[int](t, db, "SELECT howdah.count($1)", cache), "%s must not revive", sql)
				continue
			}
			require.Equal(t, "1", one[string](t, db, "SELECT howdah.get_text($1, 'k')", cache), sql)
			require.Greater(t, one[int64](t, db, "SELECT version FROM howdah.get_entry($1, 'k')", cache), int64(7))
		}
	}
}

// Another live key in the slot: reads miss, conditional writes fail, plain
// writes take the slot; in class sync they are refused.
func TestCollision(t *testing.T) {
	t.Parallel()
	db := open(t)
	for _, cache := range []string{"c", "s"} {
		for _, c := range absent {
			call := replaceAll(c.call, "%c", cache)
			run(t, db, "SELECT howdah.flush($1)", cache)
			plant(t, db, cache, "k", "other", "5")
			if c.writes && cache == "s" {
				refused(t, db, "HW010", "SELECT "+call)
			} else {
				require.Equal(t, c.want, one[string](t, db, "SELECT coalesce(("+call+")::text, '')"), call)
			}
			value := one[string](t, db, "SELECT encode(key || '=' || value, 'escape') FROM "+table(t, db, cache))
			if c.writes && cache == "c" {
				require.Equal(t, "k=1", value, call)
			} else {
				require.Equal(t, "other=5", value, call)
			}
		}
		// An expired key of another name holds no slot.
		run(t, db, "SELECT howdah.flush($1)", cache)
		plant(t, db, cache, "k", "other", "5")
		expireNow(t, db, cache, "other")
		require.EqualValues(t, 1, one[int64](t, db, "SELECT howdah.increment($1, 'k')", cache))
	}
}

// Two keys of one call with one hash: the hash is cut to a bit to get there.
func TestCollisionWithinOneCall(t *testing.T) {
	t.Parallel()
	db := open(t)
	run(t, db, `CREATE OR REPLACE FUNCTION howdah_internal._hash(seed bytea, key bytea) RETURNS bigint
	            LANGUAGE sql IMMUTABLE AS 'SELECT 1::bigint'`)
	require.EqualValues(t, 1, one[int64](t, db, "SELECT howdah.set_many('c', '{a,b}', '{1,2}')"))
	require.Equal(t, []string{"b"}, one[[]string](t, db, "SELECT keys FROM howdah.scan_text('c')"), "the last takes the slot")
	refused(t, db, "HW010", "SELECT howdah.set_many('s', '{a,b}', '{1,2}')")
	require.Equal(t, 0, one[int](t, db, "SELECT howdah.count('s')"))
	require.EqualValues(t, 1, one[int64](t, db, "SELECT howdah.set_many('s', '{a,a}', '{1,2}')"))
	require.Equal(t, 1, one[int](t, db, "SELECT count(*) FROM howdah.get_many('s', '{a,b}')"))
	require.EqualValues(t, 0, one[int64](t, db, "SELECT howdah.delete_many('s', '{b}')"))
}
