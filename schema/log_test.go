package schema_test

import (
	"context"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/howdah/howdah/internal/test/seed"
	"github.com/howdah/howdah/schema"
)

// poll is what the query "poll" answers: its state, and the rows of the log.
type poll struct {
	Snapshot    string
	Start       int64
	Incarnation *string
	Tick, Floor int64
	Stranded    bool
	Changes     []change
}

type change struct {
	Cache  int32
	Hashes []int64 // nil: all
	Keys   [][]byte
	Origin *int64
}

// ask polls from a cursor: xmax, and what was in progress.
func ask(t testing.TB, q querier, xmax string, xip ...string) (p poll) {
	t.Helper()
	rows, err := q.Query(ctx(t), schema.Query("poll"), xmax, append([]string{}, xip...), true)
	require.NoError(t, err)
	defer rows.Close()
	for rows.Next() {
		var cache *int32
		var c change
		var xid *uint64
		require.NoError(t, rows.Scan(&p.Snapshot, &p.Start, &p.Incarnation, &p.Tick, &p.Floor, &p.Stranded, &cache, &c.Hashes, &xid, &c.Keys, &c.Origin))
		require.Equal(t, cache == nil, xid == nil)
		if cache != nil {
			c.Cache = *cache
			p.Changes = append(p.Changes, c)
		}
	}
	require.NoError(t, rows.Err())
	return p
}

func TestPollAndNearReads(t *testing.T) {
	t.Parallel()
	db := open(t)
	run(t, db, "SELECT howdah.create_cache('n', near => true)")
	hash := one[int64](t, db, "SELECT howdah.key_hash('k')")
	first := ask(t, db, "0")
	require.NotNil(t, first.Incarnation)
	require.Empty(t, first.Changes)

	run(t, db, "SELECT howdah.set('n', 'k', 'v', '1 h')")
	// Every answer has the row that says when the server was started.
	sql := schema.Statement("get_near", schema.Table{Name: table(t, db, "n")})
	for _, keys := range [][]int64{{hash}, {hash + 1}, {}} {
		rows, err := db.Query(ctx(t), "SELECT hash, (extract(epoch FROM start) * 1000000)::bigint FROM ("+sql+") AS r (hash, key, value, version, kind, expires_at, start)", keys)
		require.NoError(t, err)
		var hashes []*int64
		for rows.Next() {
			var found *int64
			var start int64
			require.NoError(t, rows.Scan(&found, &start))
			if hashes = append(hashes, found); found == nil {
				require.Equal(t, first.Start, start, "as a poll gives it")
			}
		}
		require.NoError(t, rows.Err())
		require.Nil(t, hashes[0])
		require.Equal(t, len(keys) > 0 && keys[0] == hash, len(hashes) == 2)
	}
}

// cursor is where a program goes on: what the last poll did not show.
func (p poll) cursor(t testing.TB) (xmax string, xip []string) {
	t.Helper()
	parts := strings.Split(p.Snapshot, ":")
	require.Len(t, parts, 3)
	if parts[2] != "" {
		xip = strings.Split(parts[2], ",")
	}
	return parts[1], xip
}

// writer is a transaction that changes one key after another.
type writer struct {
	tx      pgx.Tx
	begin   pgx.TxOptions
	pending map[int64]bool // what it commits, if it does
	saved   map[int64]bool // of a savepoint
	steps   int
}

// Transactions of every kind, open across any number of polls: each change is
// polled exactly once, in the first poll after its commit.
func TestPollsMissNothingAndRepeatNothing(t *testing.T) {
	t.Parallel()
	random := seed.Rand(t)
	db := open(t)
	run(t, db, "SELECT howdah.create_cache('n', near => true)")
	id := one[int32](t, db, "SELECT id FROM howdah_internal.cache WHERE name = 'n'")
	sql := schema.Statement("set_one", schema.Table{Name: table(t, db, "n"), Log: id})
	poller, err := db.Acquire(ctx(t))
	require.NoError(t, err)
	defer poller.Release()

	last := ask(t, poller, "0")
	due := map[int64]bool{} // committed since
	hash, inProgress, polled := int64(0), 0, 0
	var writers []*writer
	for range 600 {
		switch {
		case random.IntN(4) == 0:
			xmax, xip := last.cursor(t)
			inProgress += len(xip)
			last = ask(t, poller, xmax, xip...)
			got := map[int64]bool{}
			for _, c := range last.Changes {
				require.Equal(t, id, c.Cache)
				for _, h := range c.Hashes {
					require.False(t, got[h], "%d comes twice", h)
					got[h] = true
				}
			}
			require.Equal(t, due, got)
			polled += len(got)
			due = map[int64]bool{}
		case len(writers) < 6:
			w := &writer{pending: map[int64]bool{}, begin: pgx.TxOptions{IsoLevel: []pgx.TxIsoLevel{pgx.ReadCommitted, pgx.RepeatableRead, pgx.Serializable}[random.IntN(3)]}}
			w.tx, err = db.BeginTx(ctx(t), w.begin)
			require.NoError(t, err)
			t.Cleanup(func() { _ = w.tx.Rollback(context.Background()) }) // if it is still open
			writers = append(writers, w)
		default:
			i := random.IntN(len(writers))
			hash++
			if writers[i].step(t, random, sql, hash, due) {
				writers = slices.Delete(writers, i, i+1)
			}
		}
	}
	require.Greater(t, inProgress, 20, "the test shows little")
	require.Greater(t, polled, 20)
}

// step writes, sets a savepoint, goes back to it, or ends the transaction.
func (w *writer) step(t *testing.T, random *rand.Rand, sql string, hash int64, due map[int64]bool) (ended bool) {
	t.Helper()
	w.steps++
	switch what := random.IntN(8); {
	case what == 0 && w.saved == nil:
		run(t, w.tx, "SAVEPOINT s")
		w.saved = maps.Clone(w.pending)
	case what == 1 && w.saved != nil:
		run(t, w.tx, "ROLLBACK TO SAVEPOINT s")
		w.pending = maps.Clone(w.saved)
	case what == 2 && w.saved != nil:
		run(t, w.tx, "RELEASE SAVEPOINT s")
		w.saved = nil
	case what == 3:
		require.NoError(t, w.tx.Rollback(ctx(t)))
		return true
	case what == 4 && w.steps > 3:
		require.NoError(t, w.tx.Commit(ctx(t)))
		maps.Copy(due, w.pending)
		return true
	default:
		run(t, w.tx, sql, hash, []byte("k"), []byte("v"), nil)
		w.pending[hash] = true
	}
	return false
}

// A poll reads the log by its index and no more of it than it must.
func TestPollOfALongLog(t *testing.T) {
	t.Parallel()
	db := open(t)
	conn, err := db.Acquire(ctx(t))
	require.NoError(t, err)
	defer conn.Release()
	run(t, conn, "PREPARE poll AS "+schema.Query("poll"))
	plan := func(when string) {
		for _, setting := range []string{"SET plan_cache_mode = auto", "SET plan_cache_mode = force_generic_plan"} {
			run(t, conn, setting)
			lines := all[string](t, conn, "EXPLAIN EXECUTE poll ('1', '{2,3}', true)")
			text := when + ":\n" + strings.Join(lines, "\n")
			require.NotContains(t, text, "Seq Scan on change ", text)
			require.Equal(t, 2, strings.Count(text, "change_xid"), text)
		}
	}
	run(t, conn, "INSERT INTO howdah_internal.change (cache, hashes) SELECT 1, ARRAY[i] FROM generate_series(1, 20000) AS i")
	plan("before an analyze")
	run(t, conn, "ANALYZE howdah_internal.change")
	plan("after an analyze")
	run(t, conn, "SET enable_seqscan = off; DELETE FROM howdah_internal.change; ANALYZE howdah_internal.change")
	plan("of an empty log")

	run(t, conn, "INSERT INTO howdah_internal.change (xid, cache, hashes) SELECT CASE WHEN i <= 6000 THEN '100' ELSE '200' END::xid8, 1, ARRAY[i] FROM generate_series(1, 12000) AS i")
	require.Len(t, ask(t, conn, "0", "100").Changes, 5001)
	require.Len(t, ask(t, conn, "200").Changes, 5001)
	require.Len(t, ask(t, conn, "200", "100").Changes, 2*5001)
	require.Empty(t, ask(t, conn, "201", "99").Changes)
}

// More than 1,000 hashes in one statement are the whole cache.
func TestManyHashesAreNotedAsAll(t *testing.T) {
	t.Parallel()
	db := open(t)
	run(t, db, "SELECT howdah.create_cache('n', near => true)")
	id := one[int32](t, db, "SELECT id FROM howdah_internal.cache WHERE name = 'n'")
	tbl := schema.Table{Name: table(t, db, "n"), Log: id}
	for n, want := range map[int]int{1000: 1000, 1001: 0} {
		hashes, keys, values, expiries := make([]int64, n), make([][]byte, n), make([][]byte, n), make([]*int64, n)
		for i := range n {
			hashes[i], keys[i], values[i] = int64(i), fmt.Append(nil, i), []byte("v")
		}
		noted := func(what, sql string, args ...any) {
			t.Helper()
			run(t, db, "TRUNCATE howdah_internal.change")
			run(t, db, sql, args...)
			require.Equal(t, []int{want}, all[int](t, db, "SELECT coalesce(cardinality(hashes), 0) FROM howdah_internal.change WHERE cache = $1", id), "%s of %d", what, n)
		}
		noted("set", schema.Statement("set", tbl), hashes, keys, values, expiries)
		noted("delete", schema.Statement("delete", tbl), hashes, keys)
		noted("add", schema.Statement("add", tbl), hashes, keys, values, expiries, make([]int32, n))
		noted("a page of a prefix", schema.Statement("delete_page_by_hash", tbl), 0, int64(math.MaxInt64), []byte{}, false)
		noted("set_many", "SELECT howdah.set_many('n', $1, $2)", keys, values)
		noted("delete_prefix", "SELECT howdah.delete_prefix('n', '')")
	}
}

// A cache without a change log pays nothing: its statements hold no trace of one.
func TestWithoutAChangeLog(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("statements/*.sql")
	require.NoError(t, err)
	marked := 0
	for _, file := range files {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		name := strings.TrimSuffix(filepath.Base(file), ".sql")
		off := schema.Statement(name, schema.Table{Name: "x", Source: "y"})
		comment := regexp.MustCompile(`(?m)^--.*\n`)
		require.NotRegexp(t, `howdah_internal\.change|\bnear\b|\{[a-z]`, comment.ReplaceAllString(off, ""), name)
		on := schema.Statement(name, schema.Table{Name: "x", Source: "y", Log: 77})
		if !strings.Contains(string(text), "{log}") {
			require.Equal(t, off, on, name)
		} else {
			marked++
			require.Contains(t, on, "INSERT INTO howdah_internal.change (cache, hashes) SELECT 77, ", name)
			require.NotRegexp(t, `\{[a-z]`, comment.ReplaceAllString(on, ""), name)
			require.NotRegexp(t, `, keys\)|bytea\[\]\) <=|octet_length\([a-z]+\.k(ey)?\)|origin`, on, "%s: without log_keys there is no trace of it", name)
			keyed := schema.Statement(name, schema.Table{Name: "x", Source: "y", Log: 77, LogKeys: true})
			require.Contains(t, keyed, "INSERT INTO howdah_internal.change (cache, hashes, keys) SELECT 77, ", name)
			require.NotRegexp(t, `\{[a-z]`, comment.ReplaceAllString(keyed, ""), name)
			require.Contains(t, schema.Statement(name, schema.Table{Name: "x", Source: "y", Log: 77, LogKeys: true, Origin: 5}),
				"INSERT INTO howdah_internal.change (cache, hashes, keys, origin) SELECT 77, ", name)
		}
	}
	require.Equal(t, 29, marked)

	db := open(t)
	run(t, db, "SELECT howdah.set('c', 'k', 'v'), howdah.delete('c', 'k'), howdah.flush('c'), howdah.drop_cache('s')")
	require.False(t, one[bool](t, db, "SELECT howdah.invalidate_all('c')"))
	require.Zero(t, one[int](t, db, "SELECT count(*) FROM howdah_internal.change"))
}

// To turn the log on or off gives the table another name: statements that were
// made for the other state fail, and nothing has happened.
func TestTurnTheLogOnAndOff(t *testing.T) {
	t.Parallel()
	db := open(t)
	run(t, db, "SELECT howdah.create_cache('p', prefix_index => true), howdah.set('p', 'k', 'v')")
	settings := func() (id int32, on bool) {
		require.NoError(t, db.QueryRow(ctx(t), "SELECT id, features = '{kinds,near}' FROM howdah_internal.cache WHERE name = 'p'").Scan(&id, &on))
		require.Equal(t, on, one[bool](t, db, "SELECT near FROM howdah.caches() WHERE name = 'p'"))
		return id, on
	}
	open, err := db.Begin(ctx(t)) // older than the turn, and reads the table after it
	require.NoError(t, err)
	defer open.Rollback(ctx(t))
	run(t, open, "SET TRANSACTION ISOLATION LEVEL REPEATABLE READ; SELECT 1")
	conn, err := db.Acquire(ctx(t))
	require.NoError(t, err)
	defer conn.Release()
	for _, on := range []bool{true, false, true} {
		id, was := settings()
		require.NotEqual(t, on, was)
		tbl := schema.Table{Name: table(t, db, "p")}
		if was {
			tbl.Log = id
		}
		run(t, conn, "PREPARE w AS "+schema.Statement("set_one", tbl))
		run(t, conn, "PREPARE r AS "+schema.Statement("get_near", tbl))
		run(t, conn, "EXECUTE w (1, 'k', 'v', NULL)")
		last := ask(t, db, "0")
		run(t, db, "SELECT howdah.alter_cache('p', near => $1)", on)
		now, is := settings()
		require.Equal(t, on, is)
		require.NotEqual(t, id, now)
		refused(t, conn, "42P01", "EXECUTE w (1, 'k', 'v', NULL)")
		refused(t, conn, "42P01", "EXECUTE r ('{1}')")
		run(t, conn, "DEALLOCATE ALL")
		require.Equal(t, "v", one[string](t, db, "SELECT howdah.get_text('p', 'k')"))
		require.Equal(t, 2, one[int](t, db, "SELECT count(*) FROM howdah.cache_p"), "the view follows")
		require.Equal(t, 1, one[int](t, db, "SELECT howdah.delete_prefix('p', 'none') + 1"))
		require.ElementsMatch(t, []string{fmt.Sprintf("howdah_internal.cache_%d_pkey", now), fmt.Sprintf("howdah_internal.cache_%d_prefix", now)},
			all[string](t, db, "SELECT indexrelid::regclass::text FROM pg_index WHERE indrelid = to_regclass($1)", table(t, db, "p")))
		xmax, xip := last.cursor(t)
		var want []change // who keeps entries of the former id drops them
		if was {
			want = []change{{Cache: id}}
		}
		require.Equal(t, want, ask(t, db, xmax, xip...).Changes)

		// Said again, nothing changes; and what is not said stays.
		run(t, db, "SELECT howdah.alter_cache('p', near => $1), howdah.alter_cache('p', max_ttl => '1 h', reset => '{max_bytes}')", on)
		again, _ := settings()
		require.Equal(t, now, again)
	}
	refused(t, open, "42P01", "SELECT howdah.set('p', 'k', 'w')")
	run(t, db, "SELECT howdah.alter_cache('p', reset => '{near}')")
	_, on := settings()
	require.False(t, on)
	refused(t, db, "HW004", "SELECT howdah.alter_cache('p', near => true, reset => '{near}')")

	run(t, db, "SELECT howdah.drop_cache('db0', true), howdah.create_cache('db0', near => true), howdah.create_database(3)")
	require.True(t, one[bool](t, db, "SELECT near FROM howdah.caches() WHERE name = 'db3'"))
	require.Empty(t, schema.Unknown([]string{"near"}))
	require.Equal(t, "far", schema.Unknown([]string{"near", "far"}))
}

// However a cache is emptied, the log says so.
func TestFlushIsNoted(t *testing.T) {
	t.Parallel()
	db := open(t)
	run(t, db, "SELECT howdah.create_cache('n', near => true), howdah.set('n', 'k', 'v')")
	id := one[int32](t, db, "SELECT id FROM howdah_internal.cache WHERE name = 'n'")
	reader, err := db.Begin(ctx(t)) // stands in the way of TRUNCATE
	require.NoError(t, err)
	defer reader.Rollback(ctx(t))
	run(t, reader, "SELECT howdah.get('n', 'k')")
	for _, how := range []string{"delete", "truncate"} {
		xmax, xip := ask(t, db, "0").cursor(t)
		require.Equal(t, how, one[string](t, db, "SELECT howdah.flush('n')"))
		require.Equal(t, []change{{Cache: id}}, ask(t, db, xmax, xip...).Changes)
		_ = reader.Rollback(ctx(t)) // the second time it is over
	}
}
