//go:build peers

package migrate_test

import (
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/howdah/howdah/internal/test/pgtest"
	"github.com/howdah/howdah/migrate"
	"github.com/howdah/howdah/schema"
)

func psql(t *testing.T, databaseURL, script string) string {
	t.Helper()
	path, err := exec.LookPath("psql")
	require.NoError(t, err, "install the PostgreSQL client")
	cmd := exec.CommandContext(ctx(t), path, "-X", "-q", "-v", "ON_ERROR_STOP=1", databaseURL)
	cmd.Stdin = strings.NewReader(script)
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, string(out))
	return string(out)
}

func TestPrintedScriptWorksInPsql(t *testing.T) {
	t.Parallel()
	databaseURL := pgtest.Empty(t)
	conn := connect(t, databaseURL)
	script, err := migrate.Print(ctx(t), conn, migrate.Options{})
	require.NoError(t, err)
	offline, err := migrate.Script(migrate.Options{})
	require.NoError(t, err)
	require.Equal(t, offline, script)
	require.NotRegexp(t, "ERROR|NOTICE|WARNING", psql(t, databaseURL, script))
	require.NoError(t, migrate.Check(ctx(t), conn))
	require.Equal(t, migrate.Result{From: schema.Latest(), To: schema.Latest()}, up(t, conn), "nothing is left to do")

	script, err = migrate.Print(ctx(t), conn, migrate.Options{})
	require.NoError(t, err)
	require.Contains(t, script, "nothing to do")
	psql(t, databaseURL, script)

	// An upgrade of the functions alone.
	run(t, conn, "UPDATE howdah.meta SET functions_digest = 'another'")
	script, err = migrate.Print(ctx(t), conn, migrate.Options{})
	require.NoError(t, err)
	require.NotContains(t, script, "CREATE TABLE howdah.cache ")
	psql(t, databaseURL, script)
	require.Equal(t, schema.FunctionsDigest(), one[string](t, conn, "SELECT functions_digest FROM howdah.meta"))
}

// What --print prints does the same in psql.
func TestPrintedPartitions(t *testing.T) {
	t.Parallel()
	databaseURL := pgtest.Empty(t)
	conn := connect(t, databaseURL)
	options := migrate.Options{Partitions: 8}
	script, err := migrate.Print(ctx(t), conn, options)
	require.NoError(t, err)
	offline, err := migrate.Script(options)
	require.NoError(t, err)
	require.Equal(t, offline, script)
	psql(t, databaseURL, script)
	status, err := migrate.ReadStatus(ctx(t), conn)
	require.NoError(t, err)
	require.Equal(t, 8, status.Partitions)
	script, err = migrate.Print(ctx(t), conn, options)
	require.NoError(t, err)
	require.Contains(t, script, "nothing to do")
}
