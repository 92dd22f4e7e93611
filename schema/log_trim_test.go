package schema_test

import (
	"fmt"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/howdah/howdah/internal/test/await"
	"github.com/howdah/howdah/internal/test/pgtest"
	"github.com/howdah/howdah/schema"
)

// tick lets a second pass for the log, and trims it.
func tick(t testing.TB, q querier) {
	t.Helper()
	run(t, q, "UPDATE howdah_internal.change_state SET ticked_at = '-infinity'")
	run(t, q, "SELECT howdah_internal._trim_log('infinity')")
}

func logLength(t testing.TB, q querier) int {
	t.Helper()
	return one[int](t, q, "SELECT count(*) FROM howdah_internal.change")
}

// Rows go when whoever asked within 30 ticks has seen them. Who has not finds the
// floor above its tick.
func TestTrimmedRowsAreBelowTheFloor(t *testing.T) {
	t.Parallel()
	db := open(t)
	run(t, db, "SELECT howdah.create_cache('n', near => true)")
	run(t, db, "SELECT howdah.set('n', 'early', 'v')")
	tick(t, db)
	follower := ask(t, db, "0")
	run(t, db, "SELECT howdah.set('n', 'k', 'v')")
	trimmed := 0
	for i := range 40 {
		tick(t, db)
		xmax, xip := follower.cursor(t)
		p := ask(t, db, xmax, xip...)
		require.EqualValues(t, follower.Tick+int64(i)+1, p.Tick)
		if p.Floor > follower.Tick {
			trimmed++
		} else {
			require.Len(t, p.Changes, 1, "a row is missing, and the floor does not say so")
		}
		require.LessOrEqual(t, one[int](t, db, "SELECT count(*) FROM howdah_internal.change_tick"), 31)
	}
	require.Equal(t, 10, trimmed, "30 ticks are kept")
	require.Zero(t, logLength(t, db))

	// Once a second, and one at a time.
	before := ask(t, db, "0").Tick
	run(t, db, `DO $$ BEGIN
	    UPDATE howdah_internal.change_state SET ticked_at = clock_timestamp();
	    PERFORM howdah_internal._trim_log('infinity');
	END $$`)
	require.Equal(t, before, ask(t, db, "0").Tick)
	tx, err := db.Begin(ctx(t))
	require.NoError(t, err)
	defer tx.Rollback(ctx(t))
	tick(t, tx)
	run(t, db, "SELECT howdah_internal._trim_log('infinity')")
	require.Equal(t, before, ask(t, db, "0").Tick)
	require.NoError(t, tx.Commit(ctx(t)))
	require.Equal(t, before+1, ask(t, db, "0").Tick)

	// With a snapshot that is older than the last trim it would fail, and the write
	// with it.
	old, err := db.BeginTx(ctx(t), pgx.TxOptions{IsoLevel: pgx.RepeatableRead})
	require.NoError(t, err)
	defer old.Rollback(ctx(t))
	run(t, old, "SELECT 1")
	tick(t, db)
	run(t, db, "UPDATE howdah_internal.change_state SET ticked_at = '-infinity'")
	run(t, old, "SELECT howdah_internal._trim_log('infinity'), howdah.set('n', 'k', 'v')")
	require.NoError(t, old.Commit(ctx(t)))
}

// What a transaction wrote long ago, and commits only now, is still to be polled.
func TestTrimSparesWhatCommitsLate(t *testing.T) {
	t.Parallel()
	db := open(t)
	run(t, db, "SELECT howdah.create_cache('n', near => true)")
	// So that the write does not happen to trim the log itself, and hold it until its end.
	late, err := db.BeginTx(ctx(t), pgx.TxOptions{IsoLevel: pgx.RepeatableRead})
	require.NoError(t, err)
	defer late.Rollback(ctx(t))
	run(t, late, "SELECT howdah.set('n', 'late', 'v')")
	run(t, db, "SELECT howdah.set('n', 'k', 'v')")
	for range 40 {
		tick(t, db)
	}
	require.Zero(t, logLength(t, db))
	follower := ask(t, db, "0")
	run(t, db, "SELECT howdah.set('n', 'k', 'v')")
	require.NoError(t, late.Commit(ctx(t)))
	hash := one[int64](t, db, "SELECT howdah.key_hash('late')")
	for range 29 {
		tick(t, db)
		xmax, xip := follower.cursor(t)
		require.NotEmpty(t, xip)
		p := ask(t, db, xmax, xip...)
		require.LessOrEqual(t, p.Floor, follower.Tick)
		require.Len(t, p.Changes, 2)
		require.Contains(t, []int64{p.Changes[0].Hashes[0], p.Changes[1].Hashes[0]}, hash)
	}
	for range 10 {
		tick(t, db)
	}
	require.Zero(t, logLength(t, db))
}

// A round that meets its deadline goes on where it stopped.
func TestTrimGoesOnAfterItsDeadline(t *testing.T) {
	t.Parallel()
	db := open(t)
	run(t, db, "INSERT INTO howdah_internal.change (cache, hashes) SELECT 1, ARRAY[i] FROM generate_series(1, 25000) AS i")
	for range 31 {
		tick(t, db)
	}
	require.Zero(t, logLength(t, db))
	run(t, db, "INSERT INTO howdah_internal.change (cache, hashes) SELECT 1, ARRAY[i] FROM generate_series(1, 25000) AS i")
	for range 31 {
		run(t, db, "UPDATE howdah_internal.change_state SET ticked_at = '-infinity'")
		run(t, db, "SELECT howdah_internal._trim_log('-infinity')")
	}
	require.Equal(t, 25000, logLength(t, db), "the deadline was over")
	tick(t, db)
	require.Zero(t, logLength(t, db))
	require.Positive(t, one[int](t, db, "SELECT trimmed::text::bigint FROM howdah_internal.change_state"))
}

// A dump holds the tables of the log too. Restored on another server, its
// transaction ids and snapshots mean nothing, and nothing is lost by them.
func TestTrimAfterARestoreElsewhere(t *testing.T) {
	t.Parallel()
	db := open(t)
	run(t, db, "SELECT howdah.create_cache('n', near => true)")
	const future = "999999999999"
	run(t, db, "UPDATE howdah_internal.change_state SET start = start - interval '1 hour', tick = 100, floor = 70, lit_xid = '"+future+"', trimmed = '"+future+"'")
	run(t, db, "INSERT INTO howdah_internal.change_tick SELECT i, '"+future+":"+future+":' FROM generate_series(70, 100) AS i")
	run(t, db, "INSERT INTO howdah_internal.change (xid, cache) VALUES ('"+future+"', 1)")
	follower := ask(t, db, "0")
	require.EqualValues(t, 100, follower.Tick)
	// Not by a function, which now and then trims.
	run(t, db, "INSERT INTO howdah_internal.change (cache, hashes) VALUES (1, '{7}')")
	for range 30 {
		tick(t, db)
		xmax, xip := follower.cursor(t)
		p := ask(t, db, xmax, xip...)
		require.Len(t, p.Changes, 1)
		require.LessOrEqual(t, p.Floor, follower.Tick)
	}
	tick(t, db)
	require.EqualValues(t, 101, ask(t, db, "0").Floor)
	require.Equal(t, 1, logLength(t, db), "only the one of the future is left")
}

// The log stays short where nobody runs upkeep and all write by SQL.
func TestSQLAloneTrims(t *testing.T) {
	t.Parallel()
	db := open(t)
	run(t, db, "SELECT howdah.create_cache('n', near => true)")
	const loop = `DO $$ BEGIN
	    FOR i IN 1..200 LOOP
	        UPDATE howdah_internal.change_state SET ticked_at = '-infinity';
	        PERFORM howdah.set('n', int4send(j), 'v') FROM generate_series(1, 20) AS j;
	        COMMIT;
	    END LOOP;
	END $$`
	run(t, db, loop)
	require.Less(t, logLength(t, db), 3500, "of 4,000 writes each 50th trims on average, once a second, and 30 ticks are kept")
	require.Positive(t, ask(t, db, "0").Floor)

	// Not in a transaction that may stay open for long: one that is older than the moment
	// between the messages of a driver.
	before := ask(t, db, "0").Tick
	tx, err := db.Begin(ctx(t))
	require.NoError(t, err)
	defer tx.Rollback(ctx(t))
	run(t, tx, "SELECT pg_sleep(0.002)")
	run(t, tx, "UPDATE howdah_internal.change_state SET ticked_at = '-infinity'")
	run(t, tx, "SELECT howdah.set('n', int4send(i % 100), 'v') FROM generate_series(1, 200) AS i")
	require.NoError(t, tx.Commit(ctx(t)))
	require.Equal(t, before, ask(t, db, "0").Tick)

	run(t, db, "SELECT howdah.maintain()")
	require.Equal(t, before+1, ask(t, db, "0").Tick, "a round of upkeep trims")
}

// A role that runs applications may do what its calls do to the log and no more,
// and loses it with the rest.
func TestRuntimeRoleAndTheLog(t *testing.T) {
	t.Parallel()
	databaseURL := pgtest.New(t)
	owner := connect(t, databaseURL)
	role, app := newRole(t, databaseURL, "app")
	run(t, owner, "SELECT howdah.grant_runtime($1), howdah.create_cache('n', near => true)", role)
	run(t, app, "SELECT howdah.set('n', 'k', 'v'), howdah.set_many('n', '{a}', '{b}'), howdah.delete('n', 'k'), howdah.flush('n'), howdah.invalidate_all('n')")
	require.Len(t, all[[]int64](t, app, "SELECT hashes FROM howdah_internal.change"), 5)
	for range 32 {
		run(t, owner, "UPDATE howdah_internal.change_state SET ticked_at = '-infinity'")
		run(t, app, "SELECT howdah.maintain(max_time => '1 min')")
	}
	require.Zero(t, logLength(t, app))
	run(t, owner, "TRUNCATE howdah_internal.change_state")
	run(t, app, schema.Query("light_log"))
	require.NotNil(t, ask(t, app, "0").Incarnation)
	run(t, owner, "SELECT howdah.alter_cache('n', near => false), howdah.alter_cache('n', near => true)")
	run(t, app, "SELECT howdah.set('n', 'k', 'v')")
	for _, sql := range []string{
		"UPDATE howdah_internal.change SET cache = 1", "TRUNCATE howdah_internal.change", "DELETE FROM howdah_internal.change_state",
		"UPDATE howdah_internal.change_state SET incarnation = gen_random_uuid()", "SELECT howdah_internal._turn_log(NULL)",
	} {
		refused(t, app, "42501", sql)
	}
	run(t, owner, "SELECT howdah.revoke_runtime($1)", role)
	for _, sql := range []string{
		schema.Query("light_log"), "SELECT FROM howdah_internal.change", "SELECT tick FROM howdah_internal.change_state", "SELECT FROM howdah_internal.change_tick",
	} {
		refused(t, app, "42501", sql)
	}
}

// Writers trim the log where nobody else does, through the protocol of drivers, which
// begins a transaction a moment before its statement, and through the simple one.
func TestWritersTrimTheLog(t *testing.T) {
	t.Parallel()
	db := open(t)
	run(t, db, "SELECT howdah.create_cache('n', near => true)")
	run(t, db, "SELECT howdah.set('n', 'k', 'v')")
	for _, mode := range []pgx.QueryExecMode{pgx.QueryExecModeCacheStatement, pgx.QueryExecModeExec, pgx.QueryExecModeSimpleProtocol} {
		run(t, db, "UPDATE howdah_internal.change_state SET ticked_at = '-infinity'")
		before := ask(t, db, "0").Tick
		// One write in fifty trims, if its transaction is young: on a busy machine few are.
		await.True(t, fmt.Sprintf("a write trims: %v", mode), func() bool {
			for range 50 {
				_, err := db.Exec(ctx(t), "SELECT howdah.set('n', 'k', 'v')", mode)
				require.NoError(t, err)
			}
			return ask(t, db, "0").Tick != before
		})
	}
}
