package schema_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/howdah/howdah/internal/test/pgtest"
	"github.com/howdah/howdah/schema"
)

// A prepared transaction is polled when it is committed. One that outlives a crash
// has lost its rows: while it is there, durable caches are not to be kept in memory.
func TestPreparedTransactionsAndCrashes(t *testing.T) {
	t.Parallel()
	server := pgtest.Own(t, "max_prepared_transactions", "5", "fsync", "off")
	url := server.NewURL()
	db := connect(t, url)
	run(t, db, "SELECT howdah.create_cache('n', durability => 'sync', near => true), howdah.set('n', 'k', 'old')")
	prepare := func(name, key string) {
		t.Helper()
		conn, err := db.Acquire(ctx(t))
		require.NoError(t, err)
		defer conn.Release()
		run(t, conn, "BEGIN")
		run(t, conn, "SELECT howdah.set('n', $1, 'new')", []byte(key))
		run(t, conn, "PREPARE TRANSACTION '"+name+"'")
	}
	first := ask(t, db, "0")
	prepare("kept", "a")
	second := ask(t, db, "0")
	xmax, xip := first.cursor(t)
	require.Empty(t, ask(t, db, xmax, xip...).Changes)
	run(t, db, "COMMIT PREPARED 'kept'")
	require.Len(t, ask(t, db, xmax, xip...).Changes, 1)
	xmax, xip = second.cursor(t)
	require.Len(t, ask(t, db, xmax, xip...).Changes, 1)

	prepare("stranded", "k")
	require.False(t, ask(t, db, "0").Stranded)
	db.Close()
	server.Kill()
	server.Start()
	db = connect(t, url)
	p := ask(t, db, "0")
	require.Nil(t, p.Incarnation)
	require.NotEqual(t, first.Start, p.Start)
	require.Zero(t, p.Tick)
	require.False(t, p.Stranded)
	require.Zero(t, logLength(t, db))

	run(t, db, schema.Query("light_log"))
	run(t, db, schema.Query("light_log"))
	lit := ask(t, db, "0")
	require.NotNil(t, lit.Incarnation)
	require.NotEqual(t, *first.Incarnation, *lit.Incarnation)
	require.True(t, lit.Stranded)
	prepare("young", "b")
	require.Equal(t, "old", one[string](t, db, "SELECT howdah.get_text('n', 'k')"))
	run(t, db, "COMMIT PREPARED 'stranded'")
	require.Equal(t, "new", one[string](t, db, "SELECT howdah.get_text('n', 'k')"))
	require.False(t, ask(t, db, "0").Stranded, "what was prepared since then is in the log")
	xmax, xip = lit.cursor(t)
	require.Empty(t, ask(t, db, xmax, xip...).Changes, "lost, as the state said")
	run(t, db, "COMMIT PREPARED 'young'")
	require.Len(t, ask(t, db, xmax, xip...).Changes, 1)

	// Upkeep lights the log too; an orderly restart keeps it.
	run(t, db, "TRUNCATE howdah_internal.change_state")
	run(t, db, "SELECT howdah.maintain()")
	relit := ask(t, db, "0")
	require.NotNil(t, relit.Incarnation)
	require.NotEqual(t, *lit.Incarnation, *relit.Incarnation)
	db.Close()
	server.Stop("fast")
	server.Start()
	db = connect(t, url)
	again := ask(t, db, "0")
	require.Equal(t, *relit.Incarnation, *again.Incarnation)
	require.NotEqual(t, relit.Start, again.Start)
}
