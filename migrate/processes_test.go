package migrate_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/howdah/howdah/internal/test/pgtest"
	"github.com/howdah/howdah/migrate"
)

// The list of processes comes to a database under its programs, which go on; recorded roles may
// enter themselves at once, and it goes with the schema.
func TestUpgradeToProcesses(t *testing.T) {
	t.Parallel()
	databaseURL := pgtest.Empty(t)
	conn := connect(t, databaseURL)
	runScript(t, conn, schema12)
	role, app := newRole(t, databaseURL, "app")
	run(t, conn, "SELECT howdah.grant_runtime('"+role+"')")
	up(t, conn)
	require.False(t, one[bool](t, conn, "SELECT breaking FROM howdah.migration WHERE version = 17"))
	require.Zero(t, one[int](t, app, "SELECT count(*) FROM howdah_internal.process"))
	run(t, app, "DELETE FROM howdah_internal.process")
	require.True(t, one[bool](t, app, "SELECT has_table_privilege('howdah_internal.process', 'INSERT') AND has_table_privilege('howdah_internal.process', 'UPDATE')"))
	_, err := migrate.Uninstall(ctx(t), conn, false)
	require.NoError(t, err)
	require.False(t, one[bool](t, conn, "SELECT to_regclass('howdah_internal.process') IS NOT NULL"))
}
