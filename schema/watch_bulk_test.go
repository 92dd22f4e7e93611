package schema_test

import (
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/howdah/howdah/internal/test/pgtest"
)

// bulkTable makes a cache "n" with a change log, and a table of as many rows as
// -rows says.
func bulkTable(t *testing.T) *pgxpool.Pool {
	t.Helper()
	db := open(t)
	run(t, connect(t, pgtest.SuperURL(db.Config().ConnString())),
		"GRANT SELECT ON pg_backend_memory_contexts TO PUBLIC; GRANT EXECUTE ON FUNCTION pg_get_backend_memory_contexts() TO PUBLIC")
	run(t, db, "SELECT howdah.create_cache('n', near => true)")
	run(t, db, "CREATE TABLE public.articles (id int PRIMARY KEY, title text)")
	run(t, db, "INSERT INTO public.articles SELECT i, 'x' FROM generate_series(1, $1::int) AS i", *rows)
	return db
}

// updateAll changes every row in one statement. Before the commit the transaction
// must have noted what is given, nothing is invalidated, and the memory of the backend has
// hardly grown.
func updateAll(t *testing.T, db *pgxpool.Pool, noted ...string) {
	t.Helper()
	const memory = "SELECT sum(total_bytes)::bigint FROM pg_backend_memory_contexts"
	entries := one[int](t, db, "SELECT howdah.count('n')")
	var committing time.Time
	require.NoError(t, pgx.BeginFunc(ctx(t), db, func(tx pgx.Tx) error {
		before := one[int64](t, tx, memory)
		began := time.Now()
		run(t, tx, "UPDATE public.articles SET title = title || 'y'")
		took := time.Since(began)
		grown := one[int64](t, tx, memory) - before
		t.Logf("UPDATE of %d rows: %v, %d kB of memory more", *rows, took.Round(time.Millisecond), grown>>10)
		require.ElementsMatch(t, noted, notes(t, tx))
		require.Less(t, grown, int64(32<<20))
		require.Equal(t, entries, one[int](t, tx, "SELECT howdah.count('n')"), "until the commit")
		committing = time.Now()
		return nil
	}))
	t.Logf("commit: %v, %d of %d entries left", time.Since(committing).Round(time.Millisecond), one[int](t, db, "SELECT howdah.count('n')"), entries)
}

// Beyond 1,000 keys of a transaction the cache goes as a whole, once, and the
// memory of the backend does not grow with the rows. -rows says how many.
func TestWatchedBulkUpdate(t *testing.T) {
	t.Parallel()
	db := bulkTable(t)
	updateAll(t, db) // not watched yet
	watch(t, db, "public.articles", "n", "'article:' || id")
	require.NoError(t, pgx.BeginFunc(ctx(t), db, func(tx pgx.Tx) error {
		run(t, tx, "UPDATE public.articles SET title = 'y' WHERE id <= 1000")
		require.Equal(t, []string{"1000"}, notes(t, tx), "a thousand are not too many")
		run(t, tx, "UPDATE public.articles SET title = 'z' WHERE id <= 1000")
		return nil
	}))
	fill(t, db, "n", "article:", 2000)
	run(t, db, "UPDATE public.articles SET title = 'y' WHERE id <= 1000")
	require.Equal(t, 1000, one[int](t, db, "SELECT howdah.count('n')"))

	fill(t, db, "n", "article:", 2000)
	from := one[string](t, db, "SELECT pg_snapshot_xmax(pg_current_snapshot())::text")
	updateAll(t, db, "all")
	require.Zero(t, one[int](t, db, "SELECT howdah.count('n')"))
	id := one[int32](t, db, "SELECT id FROM howdah_internal.cache WHERE name = 'n'")
	require.Equal(t, []change{{Cache: id}}, ask(t, db, from).Changes, "noted once, as a whole")

	// Many statements of few rows come to the same.
	fill(t, db, "n", "article:", 2000)
	run(t, db, "DO $$ BEGIN FOR i IN 1 .. 1001 LOOP UPDATE public.articles SET title = 'v' WHERE id = i; END LOOP; END $$")
	require.Zero(t, one[int](t, db, "SELECT howdah.count('n')"))
}

// Where all rows give one tag, or one key, that is what goes, however many rows
// there are. More than 1,000 tags are the whole cache.
func TestWatchedBulkUpdateOfOneTag(t *testing.T) {
	t.Parallel()
	db := bulkTable(t)
	entries := func() {
		run(t, db, "SELECT howdah.flush('n')")
		fill(t, db, "n", "other:", 2000)
		run(t, db, "SELECT howdah.set_tagged_text('n', 'list:' || i, 'v', ARRAY['articles']) FROM generate_series(1, 2000) AS i")
	}
	run(t, db, "SELECT howdah.watch_table('public.articles', 'n', tag => $$'articles'::text$$)")
	entries()
	updateAll(t, db, "0")
	require.Equal(t, 2000, one[int](t, db, "SELECT howdah.count('n')"))
	require.Empty(t, left(t, db, "n", "list:", 2000))

	watch(t, db, "public.articles", "n", "'other:1'::text")
	updateAll(t, db, "1")
	require.Equal(t, 1999, one[int](t, db, "SELECT howdah.count('n')"))

	run(t, db, "SELECT howdah.watch_table('public.articles', 'n', tag => $$'article:' || id$$)")
	entries()
	updateAll(t, db, "all")
	require.Zero(t, one[int](t, db, "SELECT howdah.count('n')"))
}
