package doctor_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/howdah/howdah/internal/doctor"
	"github.com/howdah/howdah/internal/test/pgtest"
	"github.com/howdah/howdah/schema"
)

const changeTable = "howdah_internal.change"

// poll reads the change log as a process does that keeps entries in memory.
func poll(t testing.TB, url string, times int) {
	t.Helper()
	conn := connect(t, url)
	for range times {
		_, err := conn.Exec(ctx(t), schema.Query("poll"), "3", []string{"3"}, false)
		require.NoError(t, err)
	}
}

// Rows that nobody removes, and space that the log keeps.
func TestChangeLogGrows(t *testing.T) {
	t.Parallel()
	conn := connect(t, pgtest.New(t))
	run(t, conn, "SELECT howdah.create_cache('n', near => true)", "SELECT howdah.set_text('n', 'k', 'v')",
		"UPDATE howdah_internal.change_state SET ticked_at = ticked_at - interval '10 min'")
	repair(t, conn, conn, low, await(t, conn, low, "log-untrimmed", changeTable))

	run(t, conn, "INSERT INTO howdah_internal.change (cache, hashes) SELECT 1, array_agg(h) FROM generate_series(1, 500) AS n, generate_series(1, 1000) AS h GROUP BY n",
		"DELETE FROM howdah_internal.change")
	repair(t, conn, conn, low, await(t, conn, low, "log-large", changeTable))
}

// A log that no process reads costs writers for nothing. One that is read is not
// found.
func TestChangeLogUnread(t *testing.T) {
	t.Parallel()
	url := pgtest.New(t)
	conn := connect(t, url)
	opts := low
	opts.LogUnread = time.Second
	// As after 500 seconds, so that reads by the examinations themselves do not weigh.
	const trimmed = "UPDATE howdah_internal.change_state SET tick = 500, lit_at = lit_at - interval '500 seconds'"
	run(t, conn, "SELECT howdah.create_cache('n', near => true)", "SELECT howdah.maintain()", trimmed)
	found := await(t, conn, opts, "log-unread", changeTable)
	require.Equal(t, doctor.Info, found.Severity)
	require.Nil(t, find(examine(t, conn, low), "log-unread", changeTable), "not before an hour has passed")
	repair(t, conn, conn, opts, found)

	run(t, conn, "SELECT howdah.alter_cache('n', near => true)", trimmed)
	found = await(t, conn, opts, "log-unread", changeTable)
	poll(t, url, 1000)
	gone(t, conn, opts, found)
}

// A transaction that was prepared before the log began keeps durable caches out of
// memory, and polls that take long do so with all.
func TestChangeLogIsHeldUp(t *testing.T) {
	t.Parallel()
	server := pgtest.Own(t, "max_prepared_transactions", "2", "shared_preload_libraries", "pg_stat_statements")
	url := server.NewURL()
	conn, super := connect(t, url), connect(t, pgtest.SuperURL(url))
	run(t, super, "CREATE EXTENSION pg_stat_statements SCHEMA public", "GRANT pg_read_all_stats TO "+one[string](t, conn, "SELECT quote_ident(current_user)"))
	run(t, conn, "SELECT howdah.create_cache('n', durability => 'sync')", "SELECT howdah.create_cache('u', near => true)",
		"BEGIN", "SELECT howdah.set_text('n', 'k', 'v')", "PREPARE TRANSACTION 'it''s'")
	restart := []string{"TRUNCATE howdah_internal.change_state", schema.Query("light_log")} // as after a crash
	run(t, conn, restart...)
	require.Nil(t, find(examine(t, conn, low), "log-stranded", changeTable), "no durable cache has a log")
	run(t, conn, "SELECT howdah.create_cache('d', durability => 'async', near => true)")
	repair(t, conn, conn, low, await(t, conn, low, "log-stranded", changeTable))

	poll(t, url, 100) // one alone may be slow
	require.Nil(t, find(examine(t, conn, low), "log-slow-polls", changeTable))
	run(t, super, "SELECT public.pg_stat_statements_reset()")
	run(t, conn, "SELECT pg_current_snapshot(), pg_sleep(1) FROM howdah_internal.change_state LEFT JOIN howdah_internal.change AS c ON false")
	found := await(t, conn, low, "log-slow-polls", changeTable)
	require.Regexp(t, `^1 poll took [1-9]\d{3,} ms on average$`, found.Evidence)
}
