package upkeep

import (
	"bytes"
	"context"
	"log/slog"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/howdah/howdah/internal/engine"
	"github.com/howdah/howdah/internal/test/pgtest"
)

// Where autovacuum leaves dead rows, upkeep runs VACUUM itself: once, ever more
// rarely while an old snapshot makes it useless, and never without the right to.
func TestUpkeepRunsVacuum(t *testing.T) {
	t.Parallel()
	server := pgtest.Own(t, "autovacuum", "off")
	ctx := t.Context()
	openAs := func(databaseURL string) (*run, *bytes.Buffer) {
		t.Helper()
		log := new(bytes.Buffer)
		pool, err := pgxpool.New(ctx, databaseURL)
		require.NoError(t, err)
		t.Cleanup(pool.Close)
		set := engine.New(pool, engine.Options{Timeout: 20 * time.Second, Logger: slog.New(slog.NewTextHandler(log, nil))})
		return &run{Upkeep: New(set, nil, true, 0), schedule: newSchedule()}, log
	}
	u, log := openAs(server.NewURL())
	exec := func(sql string, args ...any) {
		t.Helper()
		_, err := u.set.Pool.Exec(ctx, sql, args...)
		require.NoError(t, err, sql)
	}
	number := func(sql string) (n int64) {
		t.Helper()
		require.NoError(t, u.set.Pool.QueryRow(ctx, sql).Scan(&n))
		return n
	}
	super, err := pgx.Connect(ctx, server.SuperURL())
	require.NoError(t, err)
	defer super.Close(context.Background())
	_, err = super.Exec(ctx, "GRANT EXECUTE ON FUNCTION pg_stat_reset_single_table_counters TO howdah")
	require.NoError(t, err)
	table := pgtest.Table(t, super, "db0")
	dead := "SELECT n_dead_tup FROM pg_stat_all_tables WHERE relid = '" + table + "'::regclass"
	// kill leaves 30,000 dead rows of 40,000; ANALYZE tells the statistics.
	kill := func() {
		t.Helper()
		exec(`INSERT INTO ` + table + ` (hash, version, expires_at, key, value)
			SELECT i, 1, 'infinity', int4send(i), '' FROM generate_series(1, 40000) AS i ON CONFLICT DO NOTHING`)
		exec("DELETE FROM " + table + " WHERE hash % 4 > 0")
		exec("SELECT pg_stat_reset_single_table_counters('" + table + "'::regclass)")
		exec("ANALYZE " + table)
		require.Eventually(t, func() bool { return number(dead+" AND last_vacuum IS NULL UNION ALL SELECT 0") > 20_000 }, time.Minute, 10*time.Millisecond)
	}
	clean := func(u *run) {
		t.Helper()
		require.NoError(t, u.clean(ctx))
		u.cleaner.Wait()
	}
	vacuums := func() int { return strings.Count(log.String(), "ran VACUUM") }

	clean(u)
	require.Zero(t, vacuums(), "nothing is dead")
	kill()
	size := number("SELECT pg_relation_size('" + table + "')")
	clean(u)
	require.Equal(t, 1, vacuums(), log)
	require.Eventually(t, func() bool { return number(dead) == 0 }, time.Minute, 10*time.Millisecond)
	require.Equal(t, size, number("SELECT pg_relation_size('"+table+"')"), "nothing is given back under an exclusive lock")
	clean(u)
	require.Equal(t, 1, vacuums())

	// So does the change log.
	exec("INSERT INTO howdah_internal.change (cache) SELECT 1 FROM generate_series(1, 20000)")
	exec("DELETE FROM howdah_internal.change")
	exec("ANALYZE howdah_internal.change")
	const noted = "SELECT n_dead_tup FROM pg_stat_all_tables WHERE relid = 'howdah_internal.change'::regclass"
	require.Eventually(t, func() bool { return number(noted) > 10_000 }, time.Minute, 10*time.Millisecond)
	clean(u)
	require.Equal(t, 2, vacuums(), log)
	require.Eventually(t, func() bool { return number(noted) == 0 }, time.Minute, 10*time.Millisecond)
	log.Reset()
	clean(u)
	require.Zero(t, vacuums())

	// A snapshot from before the rows died holds them.
	u.cleanings = nil
	old, err := pgx.Connect(ctx, server.URL())
	require.NoError(t, err)
	defer old.Close(context.Background())
	_, err = old.Exec(ctx, "BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT 1")
	require.NoError(t, err)
	kill()
	clean(u)
	require.Equal(t, 1, vacuums())
	for want := 2 * minPause; want < 2*maxPause; want *= 2 {
		pause := u.cleanings["db0"].pause
		require.Equal(t, min(want, maxPause), pause, "it was of no use")
		kill()
		clean(u)
		require.Equal(t, pause, u.cleanings["db0"].pause, "not again before its time")
		u.cleanings["db0"] = cleaning{notBefore: time.Now(), pause: pause} // which has come
		clean(u)
	}
	require.Equal(t, maxPause, u.cleanings["db0"].pause)
	tries := vacuums()
	_, err = old.Exec(ctx, "ROLLBACK")
	require.NoError(t, err)

	// It is gone: at the next try all is as before. Before PostgreSQL 15 its statistics come
	// now and then too late for the next look.
	for range 10 {
		kill()
		u.cleanings["db0"] = cleaning{notBefore: time.Now(), pause: maxPause}
		clean(u)
		tries++
		require.Equal(t, tries, vacuums())
		if u.cleanings["db0"].pause == minPause {
			break
		}
	}
	require.Equal(t, minPause, u.cleanings["db0"].pause)

	// Somebody else's tables are not for this role; it says so once.
	_, err = super.Exec(ctx, "CREATE ROLE app LOGIN PASSWORD 'p'")
	require.NoError(t, err)
	exec("SELECT howdah.grant_runtime('app')")
	kill()
	appURL, err := url.Parse(server.URL())
	require.NoError(t, err)
	appURL.User = url.UserPassword("app", "p")
	app, told := openAs(appURL.String())
	clean(app)
	clean(app)
	require.Equal(t, 1, strings.Count(told.String(), "only the owner"), told)
	require.NotContains(t, told.String(), "ran VACUUM")
	require.Positive(t, number(dead))
}
