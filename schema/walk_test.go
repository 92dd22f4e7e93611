package schema_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/howdah/howdah/internal/test/seed"
)

// walk scans a whole cache and returns its keys, counting pages.
func walk(t *testing.T, q querier, count int, prefix []byte, between func()) (keys []string, pages int) {
	t.Helper()
	var cursor int64
	for {
		var page [][]byte
		require.NoError(t, q.QueryRow(ctx(t), "SELECT next_cursor, keys FROM howdah.scan('c', $1, $2, $3)", cursor, count, prefix).
			Scan(&cursor, &page))
		for _, key := range page {
			keys = append(keys, string(key))
		}
		if pages++; cursor == 0 {
			return keys, pages
		}
		require.Less(t, cursor, int64(1)<<53)
		between()
	}
}

func TestScanReturnsEveryKeyOnce(t *testing.T) {
	t.Parallel()
	db := open(t)
	random := seed.Rand(t)

	keys, pages := walk(t, db, 10, nil, func() {})
	require.Empty(t, keys)
	require.Equal(t, 1, pages)

	run(t, db, `SELECT howdah.set_many('c', array_agg(convert_to('stay:' || i, 'UTF8')), array_agg('v'::bytea)) FROM generate_series(1, 2000) AS i`)
	var want []string
	for i := 1; i <= 2000; i++ {
		want = append(want, fmt.Sprintf("stay:%d", i))
	}
	for _, count := range []int{1 + random.IntN(3), 7, 100, 1999, 2000, 2001, 1 << 30} {
		if count < 7 {
			count += 40 // a page a row takes long
		}
		got, pages := walk(t, db, count, nil, func() {
			// Keys that come and go do not disturb those that stay.
			run(t, db, "SELECT howdah.set_text('c', $1, 'v'), howdah.delete_text('c', $2)",
				fmt.Sprintf("go:%d", random.IntN(1000)), fmt.Sprintf("go:%d", random.IntN(1000)))
		})
		got = slices.DeleteFunc(got, func(key string) bool { return strings.HasPrefix(key, "go:") })
		require.ElementsMatch(t, want, got, "count %d", count)
		require.LessOrEqual(t, pages, 2000/count+30)
	}

	got, _ := walk(t, db, 500, []byte("stay:199"), func() {})
	require.Len(t, got, 11, "stay:199 and stay:1990 to stay:1999")
	got, _ = walk(t, db, 500, []byte("st%"), func() {})
	require.Empty(t, got, "no character is special")
}

// Rows that share a slot of 1024 hashes, and rows at the ends of the range.
func TestScanOfCrowdedSlots(t *testing.T) {
	t.Parallel()
	db := open(t)
	run(t, db, `
		INSERT INTO `+table(t, db, "c")+` (hash, version, expires_at, key, value)
		SELECT h, 1, 'infinity', convert_to(h::text, 'UTF8'), ''
		FROM (SELECT generate_series(0, 1030) AS h
		      UNION SELECT 9223372036854775807 - i FROM generate_series(0, 1030) AS i
		      UNION SELECT (5::bigint << 40) + i FROM generate_series(-3, 3) AS i) AS x`)
	total := one[int](t, db, "SELECT howdah.count('c')")
	for _, count := range []int{1, 3, 1000, 1024, 5000} {
		keys, _ := walk(t, db, count, nil, func() {})
		require.Len(t, keys, total, "count %d", count)
		slices.Sort(keys)
		require.Len(t, slices.Compact(keys), total, "count %d", count)
	}
	for _, args := range []string{"-1", "9007199254740992", "NULL", "9223372036854775807"} {
		refused(t, db, "HW012", "SELECT howdah.scan('c', "+args+")")
	}
	for _, count := range []string{"0", "-1", "NULL"} {
		refused(t, db, "HW012", "SELECT howdah.scan('c', 0, "+count+")")
	}
}

// Reads find their rows by the index, whatever the statistics say.
func TestReadsUseTheIndex(t *testing.T) {
	t.Parallel()
	db := open(t)
	run(t, db, `SELECT howdah.set_many('c', array_agg(int8send(i)), array_agg('v'::bytea)) FROM generate_series(1, 20000) AS i`)
	for _, statistics := range []string{"none", "fresh"} {
		if statistics == "fresh" {
			run(t, db, "ANALYZE "+table(t, db, "c"))
		}
		tx, err := db.Begin(ctx(t))
		require.NoError(t, err)
		scans := func() int64 {
			return one[int64](t, tx, "SELECT pg_stat_get_xact_numscans('"+table(t, tx, "c")+"'::regclass)")
		}
		for _, call := range []string{
			"scan('c', 4096)", "get('c', 'k')", "get_many('c', '{a,b,c}')", "ttl('c', 'k')", "delete_many('c', '{a,b}')", "touch('c', 'k')",
		} {
			before := scans()
			run(t, tx, "SELECT howdah."+call)
			require.Equal(t, before, scans(), "%s with %s statistics reads the whole table", call, statistics)
		}
		before := scans()
		run(t, tx, "SELECT howdah.count('c')")
		require.Greater(t, scans(), before, "the test can tell")
		require.NoError(t, tx.Rollback(ctx(t)))
	}
}

func TestDeletePrefix(t *testing.T) {
	t.Parallel()
	db := open(t)
	run(t, db, "SELECT howdah.create_cache('p', prefix_index => true)")
	long := slices.Clip([]byte(strings.Repeat("l", 2000)))
	for _, cache := range []string{"c", "p"} {
		fill := func() {
			run(t, db, "SELECT howdah.flush($1)", cache)
			run(t, db, "SELECT howdah.set_many($1, $2, array_fill('v'::bytea, ARRAY[$3::integer]))", cache, [][]byte{
				{}, []byte("a"), []byte("a:1"), []byte("a:2"), []byte("a%"), []byte("b"), {0xff}, {0xff, 0xff}, {0xff, 0xff, 1}, {0}, {0, 0},
				[]byte("a\\"), append(long, '1'), append(long, '2'), long[:1024], long[:1023],
			}, 16)
		}
		for _, c := range []struct {
			prefix []byte
			want   int64
		}{
			{[]byte("a"), 5}, {[]byte("a:"), 2}, {[]byte("a%"), 1}, {[]byte("_"), 0}, {[]byte("%"), 0}, {[]byte("a\\"), 1},
			{[]byte{0xff}, 3}, {[]byte{0xff, 0xff}, 2}, {[]byte{0}, 2}, {[]byte{}, 16}, {long, 2}, {append(long, '1'), 1},
			{long[:1024], 3}, {long[:1023], 4}, {append(long, 'x'), 0}, {[]byte("' OR true --"), 0},
		} {
			fill()
			require.Equal(t, c.want, one[int64](t, db, "SELECT howdah.delete_prefix($1, $2)", cache, c.prefix), "%s %.20q", cache, c.prefix)
			require.Equal(t, 16-c.want, one[int64](t, db, "SELECT howdah.count($1)", cache))
		}
		fill()
		require.EqualValues(t, 3, one[int64](t, db, "SELECT howdah.delete_prefix($1, 'a', 3)", cache))
		require.EqualValues(t, 2, one[int64](t, db, "SELECT howdah.delete_prefix($1, 'a', 3)", cache))
		require.EqualValues(t, 0, one[int64](t, db, "SELECT howdah.delete_prefix($1, 'a', 3)", cache))
		refused(t, db, "HW012", "SELECT howdah.delete_prefix($1, 'a', 0)", cache)
		refused(t, db, "HW012", "SELECT howdah.delete_prefix($1, NULL)", cache)
		refused(t, db, "HW007", "SELECT howdah.delete_prefix($1, $2)", cache, make([]byte, 65537))
	}
}

func TestFlush(t *testing.T) {
	t.Parallel()
	db := open(t)
	run(t, db, "SELECT howdah.set_many('c', '{a,b}', '{1,2}')")
	require.Equal(t, "truncate", one[string](t, db, "SELECT howdah.flush('c')"))
	require.Equal(t, 0, one[int](t, db, "SELECT count(*) FROM "+table(t, db, "c")))

	// An open reader: it is not waited for, and neither are those behind.
	run(t, db, "SELECT howdah.set_many('c', '{a,b}', '{1,2}')")
	tx, err := db.BeginTx(ctx(t), pgx.TxOptions{})
	require.NoError(t, err)
	defer tx.Rollback(ctx(t))
	run(t, tx, "SELECT howdah.get('c', 'a')")
	flusher, err := db.Begin(ctx(t))
	require.NoError(t, err)
	run(t, flusher, "SET LOCAL lock_timeout = '77s'")
	require.Equal(t, "delete", one[string](t, flusher, "SELECT howdah.flush('c')"))
	require.Equal(t, "77s", one[string](t, flusher, "SHOW lock_timeout"), "the caller's setting is back")
	require.NoError(t, flusher.Commit(ctx(t)))
	require.Equal(t, 0, one[int](t, db, "SELECT howdah.count('c')"))

	require.NoError(t, tx.Commit(ctx(t)))
	truncater, err := db.Begin(ctx(t))
	require.NoError(t, err)
	run(t, truncater, "SET LOCAL lock_timeout = '77s'")
	require.Equal(t, "truncate", one[string](t, truncater, "SELECT howdah.flush('c')"))
	require.Equal(t, "77s", one[string](t, truncater, "SHOW lock_timeout"))
	require.NoError(t, truncater.Rollback(ctx(t)))
}
