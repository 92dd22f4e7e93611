package schema_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/howdah/howdah/schema"
)

// The query sync has the log on disk when it answers, also for a role that waits for no disk.
func TestSyncWritesTheLog(t *testing.T) {
	t.Parallel()
	db := open(t)
	conn, err := db.Acquire(ctx(t))
	require.NoError(t, err)
	defer conn.Release()
	_, err = conn.Exec(ctx(t), "SET synchronous_commit = off")
	require.NoError(t, err)
	_, err = conn.Exec(ctx(t), "SELECT pg_logical_emit_message(true, 'test', repeat('x', 1000))")
	require.NoError(t, err)
	written := one[string](t, conn.Conn(), "SELECT pg_current_wal_insert_lsn()::text")
	_, err = conn.Exec(ctx(t), schema.Query("sync"))
	require.NoError(t, err)
	require.True(t, one[bool](t, conn.Conn(), "SELECT pg_current_wal_flush_lsn() >= $1::text::pg_lsn", written))
	require.Equal(t, "off", one[string](t, conn.Conn(), "SHOW synchronous_commit"))
}
