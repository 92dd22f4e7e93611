package migrate_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/howdah/howdah/internal/test/pgtest"
	"github.com/howdah/howdah/migrate"
)

// Messages come to a database of schema 12 under its programs, which go on: what they
// ask of the change log is answered as before. Recorded roles may use messages at once.
func TestUpgradeToMessages(t *testing.T) {
	t.Parallel()
	databaseURL := pgtest.Empty(t)
	conn := connect(t, databaseURL)
	runScript(t, conn, schema12)
	role, app := newRole(t, databaseURL, "app")
	run(t, conn, "SELECT howdah.grant_runtime('"+role+"')")
	require.ErrorIs(t, migrate.Check(ctx(t), app), migrate.ErrMissing, "a program that knows messages needs them")
	const old = `SELECT s.incarnation, coalesce(s.tick, 0), coalesce(s.floor, 0) FROM howdah_internal.change_state AS s`
	_, err := app.Prepare(ctx(t), "old", old)
	require.NoError(t, err)
	run(t, app, "SELECT FROM ("+old+") AS o")

	result := up(t, conn)
	require.Equal(t, 12, result.From)
	require.Equal(t, since(13), result.Applied)
	require.False(t, one[bool](t, conn, "SELECT breaking FROM howdah.migration WHERE version = 13"))
	_, err = app.Exec(ctx(t), "old")
	require.NoError(t, err)
	run(t, app, "SELECT howdah.publish('c', 'm'), howdah.set('db0', 'k', 'v')")
	run(t, app, "SELECT howdah.maintain()")
	require.Equal(t, 1, one[int](t, app, "SELECT count(*) FROM howdah_internal.bus"))
	_, err = migrate.Uninstall(ctx(t), conn, false)
	require.NoError(t, err)
}
