package schema_test

import (
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/stretchr/testify/require"

	"github.com/howdah/howdah/internal/test/pgtest"
)

// PostgreSQL compiles no statement of a call with many keys (JIT), though
// nothing is known of howdah.meta: that would take ten times as long as the call.
func TestManyKeysAreNotCompiled(t *testing.T) {
	t.Parallel()
	databaseURL := pgtest.New(t)
	config, err := pgx.ParseConfig(databaseURL)
	require.NoError(t, err)
	// debug_print_plan writes down each plan, with the flags of JIT in it.
	var plans []string
	config.OnNotice = func(_ *pgconn.PgConn, n *pgconn.Notice) {
		if strings.Contains(n.Detail, ":jitFlags") {
			plans = append(plans, n.Detail)
		}
	}
	db, err := pgx.ConnectConfig(ctx(t), config)
	require.NoError(t, err)
	defer db.Close(ctx(t))
	run(t, db, "SELECT howdah.create_cache('c')")
	// As after a restore: nothing is known of the table.
	run(t, db, "CREATE TEMP TABLE kept AS TABLE howdah.meta; TRUNCATE howdah.meta; INSERT INTO howdah.meta TABLE kept")
	var keys [][]byte
	for i := range 2000 {
		keys = append(keys, []byte{byte(i), byte(i >> 8)})
	}
	run(t, db, "SET jit = on; SET debug_print_plan = on; SET client_min_messages = 'log'")
	for _, call := range []string{"set_many('c', $1, $1)", "get_many('c', $1)", "delete_many('c', $1)"} {
		plans = nil
		run(t, db, "SELECT howdah."+call, keys)
		require.NotEmpty(t, plans, call)
		for _, plan := range plans {
			require.Contains(t, plan, ":jitFlags 0", call)
		}
	}
}
