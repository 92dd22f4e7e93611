package doctor_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/howdah/howdah/internal/doctor"
	"github.com/howdah/howdah/internal/test/pgtest"
)

// Each way in which a watch can cease to do what it is for, and its repair.
func TestWatches(t *testing.T) {
	t.Parallel()
	url := pgtest.New(t)
	conn, super := connect(t, url), connect(t, pgtest.SuperURL(url))
	run(t, conn, "SELECT howdah.create_cache('c')", "SELECT howdah.create_cache('n', near => true)", `CREATE TABLE public."T x" (id int, part int)`,
		`INSERT INTO public."T x" VALUES (1, 0)`, `SELECT howdah.watch_table('public."T x"', 'c', 'part')`)
	const object = `public."T x"`
	require.Empty(t, about(examine(t, conn, low)))

	run(t, conn, `ALTER TABLE public."T x" DISABLE TRIGGER howdah_c_delete`)
	found := await(t, conn, low, "watch-disabled", object)
	require.Equal(t, doctor.Error, found.Severity)
	repair(t, conn, conn, low, found)
	run(t, conn, `DROP TRIGGER howdah_c_delete ON public."T x"`)
	found = await(t, conn, low, "watch-disabled", object)
	require.Contains(t, found.Evidence, "3 of its 4 triggers")
	require.Nil(t, find(examine(t, conn, doctor.Options{Cache: "n"}), "watch-disabled", ""), "of another cache")
	run(t, conn, `SELECT howdah.watch_table('public."T x"', 'c', '1 / part')`)
	gone(t, conn, low, found)

	require.Nil(t, find(examine(t, conn, low), "watch-fails", ""))
	run(t, conn, `UPDATE public."T x" SET id = 1`)
	found = await(t, conn, low, "watch-fails", object)
	require.Regexp(t, `^cache c was emptied 1 time because .* ago: 22012: division by zero$`, found.Evidence)
	run(t, conn, "UPDATE howdah_internal.watch SET failed_at = failed_at - interval '2 days'")
	gone(t, conn, low, found)

	run(t, conn, "SELECT howdah.drop_cache('c')")
	found = await(t, conn, low, "watch-cache-gone", object)
	repair(t, conn, conn, low, found)
	run(t, conn, `SELECT howdah.watch_table('public."T x"', 'n', 'id')`, `DROP TABLE public."T x"`)
	repair(t, conn, conn, low, await(t, conn, low, "watch-table-gone", object))

	// The function of the owner's watch goes to a role without rights.
	role := "powerless " + one[string](t, conn, "SELECT current_database()::text")
	run(t, super, `CREATE ROLE "`+role+`"`, `CREATE SCHEMA theirs AUTHORIZATION "`+role+`"`, `CREATE TABLE theirs.t (id int)`, `ALTER TABLE theirs.t OWNER TO "`+role+`"`)
	t.Cleanup(func() { run(t, super, `DROP OWNED BY "`+role+`" CASCADE`, `DROP ROLE "`+role+`"`) })
	run(t, conn, `SELECT howdah.grant_runtime('`+role+`')`)
	run(t, super, `SELECT howdah.watch_table('theirs.t', 'n', 'id')`)
	require.Nil(t, find(examine(t, conn, low), "watch-powerless", ""))
	run(t, conn, `REVOKE INSERT (keys) ON howdah_internal.watch_note FROM "`+role+`"`)
	repair(t, conn, conn, low, await(t, conn, low, "watch-powerless", "theirs.t"))
	run(t, super, `SELECT howdah.unwatch_table('theirs.t', 'n')`)
}

// A watch of a table that is written more than the cache is read.
func TestCostlyWatch(t *testing.T) {
	t.Parallel()
	conn := connect(t, pgtest.New(t))
	run(t, conn, "SELECT howdah.create_cache('c')", "CREATE TABLE public.t (id int)", "INSERT INTO public.t SELECT generate_series(1, 1000)")
	eventually(t, func() bool {
		return one[int64](t, conn, "SELECT pg_stat_get_tuples_inserted('public.t'::regclass)") >= 1000
	}, "statistics")
	run(t, conn, "SELECT howdah.watch_table('public.t', 'c', 'id')")
	require.Nil(t, find(examine(t, conn, low), "watch-costly", ""), "what was written before does not count")
	run(t, conn, "UPDATE public.t SET id = id")
	found := await(t, conn, low, "watch-costly", "public.t")
	require.Contains(t, found.Evidence, "1,000 rows were written")
	run(t, conn, "DO $$ BEGIN FOR i IN 1 .. 2100 LOOP PERFORM howdah.get_text('c', 'k'); END LOOP; END $$")
	gone(t, conn, low, found)
	run(t, conn, "UPDATE public.t SET id = id", "UPDATE public.t SET id = id", "UPDATE public.t SET id = id")
	repair(t, conn, conn, low, await(t, conn, low, "watch-costly", "public.t"))
}
