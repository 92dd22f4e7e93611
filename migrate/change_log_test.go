package migrate_test

import (
	"compress/gzip"
	"io"
	"os"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/howdah/howdah/internal/test/pgtest"
	"github.com/howdah/howdah/migrate"
	"github.com/howdah/howdah/schema"
)

// Scripts that "howdah migrate --print" wrote when those schemas were the latest.
const (
	schema6  = "testdata/schema-6.sql.gz"
	schema12 = "testdata/schema-12.sql.gz"
)

// runScript runs one of them in a database.
func runScript(t *testing.T, conn *pgx.Conn, name string) {
	t.Helper()
	file, err := os.Open(name)
	require.NoError(t, err)
	defer file.Close()
	unzipped, err := gzip.NewReader(file)
	require.NoError(t, err)
	script, err := io.ReadAll(unzipped)
	require.NoError(t, err)
	require.NoError(t, conn.PgConn().Exec(ctx(t), string(script)).Close())
}

// The change log comes to a database of schema 6 with its data as it is, under the
// statements of programs that do not know it, which go on.
func TestUpgradeToTheChangeLog(t *testing.T) {
	t.Parallel()
	databaseURL := pgtest.Empty(t)
	conn := connect(t, databaseURL)
	runScript(t, conn, schema6)

	run(t, conn, "SELECT howdah.create_cache('kept', 'sync', '1 day', prefix_index => true)")
	run(t, conn, "SELECT howdah.set_text('kept', 'k' || i, 'v' || i), howdah.set_text('db0', 'k' || i, 'v') FROM generate_series(1, 500) AS i")
	role, app := newRole(t, databaseURL, "app")
	run(t, conn, "SELECT howdah.grant_runtime('"+role+"')")
	kept := pgtest.Table(t, conn, "kept")
	const rows = "SELECT md5(string_agg(concat_ws('|', c.*), ',' ORDER BY hash)) FROM "
	before := one[string](t, conn, rows+kept+" AS c")
	filenode := "SELECT pg_relation_filenode('" + kept + "')::bigint"
	node := one[int](t, conn, filenode)
	old := func(t *testing.T, conn *pgx.Conn) {
		t.Helper()
		_, err := conn.Exec(ctx(t), schema.Statement("set_one", schema.Table{Name: kept}), 1, []byte("x"), []byte("v"), nil)
		require.NoError(t, err)
		run(t, conn, "DELETE FROM "+kept+" WHERE hash = 1")
	}
	old(t, app)

	result := up(t, conn)
	require.Equal(t, 6, result.From)
	require.Equal(t, since(7), result.Applied)
	require.True(t, result.FunctionsReplaced)
	require.NoError(t, migrate.Check(ctx(t), app))
	require.Equal(t, before, one[string](t, conn, rows+kept+" AS c"))
	require.Equal(t, node, one[int](t, conn, filenode))
	require.False(t, one[bool](t, conn, "SELECT bool_or(breaking) FROM howdah.migration WHERE version BETWEEN 7 AND 10"))
	require.Equal(t, 0, one[int](t, conn, "SELECT count(*) FROM howdah_internal.cache WHERE 'kinds' <> ALL (features)"), "running programs of before refuse every cache")
	old(t, app)
	require.Equal(t, 0, one[int](t, conn, "SELECT count(*) FROM howdah_internal.change"))
	require.Equal(t, []string{"alter_cache", "caches", "create_cache"}, column(t, conn,
		"SELECT proname::text FROM pg_proc WHERE pronamespace = 'howdah'::regnamespace AND proname IN ('create_cache', 'alter_cache', 'caches') ORDER BY 1"), "one signature")

	// Turned on, the recorded role goes on, and notes what it does.
	run(t, conn, "SELECT howdah.alter_cache('kept', near => true)")
	require.Equal(t, 500, one[int](t, app, "SELECT howdah.count('kept')"))
	require.Equal(t, node, one[int](t, conn, "SELECT pg_relation_filenode('"+pgtest.Table(t, conn, "kept")+"')::bigint"))
	run(t, app, "SELECT howdah.set_text('kept', 'k1', 'w')")
	run(t, app, "SELECT howdah.maintain()")
	require.Equal(t, 1, one[int](t, app, "SELECT count(*) FROM howdah_internal.change"))
	require.Equal(t, 1, one[int](t, app, "SELECT count(*) FROM howdah_internal.change_state"))

	_, err := migrate.Uninstall(ctx(t), conn, false)
	require.NoError(t, err)
}
