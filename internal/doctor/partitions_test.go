package doctor_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/howdah/howdah/internal/doctor"
	"github.com/howdah/howdah/internal/test/pgtest"
)

// Caches in partitions are as they should be, and are listed as a whole.
func TestSilentOnPartitions(t *testing.T) {
	t.Parallel()
	conn := connect(t, pgtest.Divided(t, 4))
	run(t, conn, "SELECT howdah.create_cache('pages', max_entries => 42, default_ttl => '1 h', durability => 'async', near => true)")
	report := examine(t, conn, low)
	require.Equal(t, 4, report.Partitions)
	require.Equal(t, []string{"howdah.cache_db0", "howdah.cache_pages", "howdah.session"}, report.Caches)
	require.Empty(t, about(report))
	pages := low
	pages.Cache = "pages"
	require.Equal(t, []string{"howdah.cache_pages"}, examine(t, conn, pages).Caches)
	pages.Cache = "pages/00"
	_, err := doctor.Examine(ctx(t), conn, pages)
	require.ErrorIs(t, err, doctor.ErrCacheNotFound)
}

// Partitions that are missing, or are not like the others.
func TestPartitions(t *testing.T) {
	t.Parallel()
	conn := connect(t, pgtest.Divided(t, 4))
	run(t, conn, "SELECT howdah.create_cache('pages', max_entries => 42, default_ttl => '1 h', durability => 'async', near => true)")
	run(t, conn, "DELETE FROM howdah_internal.cache WHERE name IN ('pages/00', 'pages/03')")
	missing := await(t, conn, low, "partition-missing", "cache pages")
	require.Equal(t, "howdah_internal.cache does not list 2 of its 4 partitions: 00, 03", missing.Evidence)
	repair(t, conn, conn, low, missing)
	run(t, conn, "SELECT count(howdah.set_text('pages', i::text, 'v')) FROM generate_series(1, 100) AS i")
	require.Equal(t, 100, one[int](t, conn, "SELECT count(*) FROM howdah.cache_pages"))

	run(t, conn, `UPDATE howdah_internal.cache SET default_ttl = '2 h', max_ttl = '1 d', eviction = 'allkeys-lfu', max_entries = 100, max_bytes = 1000000
		WHERE name = 'pages/02'`)
	differ := await(t, conn, low, "partition-settings", "cache pages")
	require.Equal(t, "its partitions differ in default_ttl, eviction, max_bytes, max_entries, max_ttl", differ.Evidence)
	repair(t, conn, conn, low, differ)
	require.Nil(t, find(examine(t, conn, low), "partition-settings", ""))
	require.Equal(t, "01:00:00", one[string](t, conn, "SELECT default_ttl::text FROM howdah.caches() WHERE name = 'pages'"))
	require.Equal(t, 4, one[int](t, conn, "SELECT count(*) FROM howdah_internal.cache WHERE whole = 'pages' AND max_ttl IS NULL AND eviction = 'allkeys-lru'"))

	run(t, conn, "SELECT howdah.create_cache('torn')")
	run(t, conn, "DROP TABLE "+pgtest.Table(t, conn, "torn/02")+" CASCADE")
	torn := await(t, conn, low, "cache-table-missing", "cache torn/02")
	require.Equal(t, []string{"SELECT howdah.drop_cache('torn')"}, torn.Repair)
	repair(t, conn, conn, low, torn)
	require.Equal(t, 0, one[int](t, conn, "SELECT count(*) FROM howdah_internal.cache WHERE whole = 'torn'"))

	// As after a restore over a database that had none.
	run(t, conn, "UPDATE howdah_internal.cache SET name = 'db0', whole = NULL, partition = NULL WHERE name = 'db0/00'",
		"DELETE FROM howdah_internal.cache WHERE whole = 'db0'")
	require.Contains(t, await(t, conn, low, "partition-missing", "cache db0").Evidence, "as in a database without partitions")
}

// What concerns the table of a partition names it and is repaired there; what concerns the
// settings is said once, of the cache.
func TestFindingsOnPartitions(t *testing.T) {
	t.Parallel()
	conn := connect(t, pgtest.Divided(t, 4))
	run(t, conn, "SELECT howdah.create_cache('full', max_entries => 400, eviction => 'noeviction')",
		"SELECT count(howdah.set_text('db0', i::text, 'v')) FROM generate_series(1, 4000) AS i",
		// The rows of a round that was never made.
		"UPDATE howdah_internal.cache SET max_entries = NULL WHERE whole = 'full'",
		"SELECT count(howdah.set_text('full', i::text, 'v')) FROM generate_series(1, 4000) AS i",
		"UPDATE howdah_internal.cache SET max_entries = 100 WHERE whole = 'full'",
		`DO $$ BEGIN EXECUTE format('UPDATE %s SET expires_at = now() - interval ''1 h''', howdah_internal._table(c))
			FROM howdah_internal.cache AS c WHERE c.name = 'db0/01'; END $$`)
	backlog := await(t, conn, low, "expiry-backlog", "howdah.cache_db0, partition 01")
	repair(t, conn, conn, low, backlog)
	require.Equal(t, 0, one[int](t, conn, "SELECT count(*) FROM howdah.caches() WHERE name = 'db0/01'"))

	over := await(t, conn, low, "over-budget", "howdah.cache_full")
	count := 0
	for _, f := range examine(t, conn, low).Findings {
		if f.ID == over.ID {
			count++
		}
	}
	require.Equal(t, 1, count)
	require.Equal(t, "howdah.cache_full", over.Object)
	require.Contains(t, over.Evidence, "partition 00: about")
	repair(t, conn, conn, low, over)
	require.GreaterOrEqual(t, one[int64](t, conn, "SELECT max_entries FROM howdah.caches() WHERE name = 'full'"), int64(4000))
}
