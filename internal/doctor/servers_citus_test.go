//go:build citus

package doctor_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/howdah/howdah/internal/doctor"
	"github.com/howdah/howdah/internal/test/pgtest"
	"github.com/howdah/howdah/migrate"
)

// What is said of Citus in the database, seen from its coordinator.
func TestCitusFindings(t *testing.T) {
	t.Parallel()
	c := pgtest.StartCitus(t, 1)
	conn, admin := connect(t, c.Coordinator().URL()), connect(t, c.Coordinator().SuperURL())

	// As after a run that was interrupted when the schemas were made.
	_, err := migrate.Up(ctx(t), connect(t, pgtest.LocalURL(c.Coordinator().URL())), migrate.Options{Partitions: 4})
	require.NoError(t, err)
	require.Nil(t, find(examine(t, conn, low), "partition-unplaced", ""))
	run(t, conn, "SET citus.enable_schema_based_sharding = on", "CREATE SCHEMA howdah_p00", "RESET citus.enable_schema_based_sharding")
	unplaced := await(t, conn, low, "partition-unplaced", "partitions")
	require.Equal(t, "Citus has no place for 4 of 4 partitions: 00, 01, 02, 03", unplaced.Evidence)
	require.Equal(t, doctor.Error, unplaced.Severity)
	c.Divide(0)
	require.Nil(t, find(examine(t, conn, low), "partition-unplaced", ""))

	run(t, conn, "DROP SCHEMA howdah_p03 CASCADE")
	require.Equal(t, "Citus has no place for 1 of 4 partitions: 03", await(t, conn, low, "partition-unplaced", "partitions").Evidence)
	c.Divide(0)
	require.Nil(t, find(examine(t, conn, low), "partition-unplaced", ""))

	c.AddNode()
	c.Divide(0)
	require.Nil(t, find(examine(t, conn, low), "rebalance-mode", ""))
	run(t, conn, "SELECT citus_rebalance_start()")
	repair(t, conn, conn, low, await(t, conn, low, "rebalance-mode", "citus"))

	servers := low
	servers.Servers = func(context.Context) ([]doctor.Server, error) {
		return []doctor.Server{{Address: "fits:5432"}, {Address: "moved:5432", Lacking: 3}, {Address: "away:5432", Problem: "it does not answer"}}, nil
	}
	report := examine(t, conn, servers)
	require.Equal(t, "3 of its tables lack storage parameters for values out of line (toast.*)", find(report, "server-storage", "moved:5432").Evidence)
	require.Equal(t, "it does not answer", find(report, "server-unfit", "away:5432").Evidence)
	require.Nil(t, find(report, "server-storage", "fits"))
	require.Nil(t, find(report, "server-unfit", "fits"))
	require.Nil(t, find(report, "citus-version", ""))

	// Citus itself refuses to work with another version than that of its library.
	run(t, admin, "UPDATE pg_extension SET extversion = '11.3-2' WHERE extname = 'citus'")
	unchecked := "SET citus.enable_version_checks = off"
	run(t, conn, unchecked)
	require.Equal(t, "the extension citus has version 11.3-2", await(t, conn, low, "citus-version", "citus").Evidence)
	run(t, admin, unchecked, "DROP EXTENSION citus CASCADE")
	gone, err := doctor.Examine(ctx(t), conn, low) // of the tables little can be said then
	require.NoError(t, err)
	require.Equal(t, "the extension citus is gone", find(gone, "citus-version", "citus").Evidence)
}
