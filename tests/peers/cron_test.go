//go:build peers

package peers_test

import (
	"context"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/howdah/howdah/internal/test/pgtest"
)

// The statements of docs/operations.md, "With pg_cron", on the real extension:
// an ordinary role schedules upkeep, and what has expired goes. pg_cron before
// 1.5 knows no seconds, so this takes up to a minute.
func TestUpkeepByCron(t *testing.T) {
	t.Parallel()
	// Without the extension the server does not start.
	server := pgtest.Own(t, "shared_preload_libraries", "pg_cron", "cron.database_name", "howdah",
		"cron.use_background_workers", "on")
	ctx, cancel := context.WithTimeout(context.Background(), 4*time.Minute)
	defer cancel()
	super, owner := connect(t, ctx, server.SuperURL()), connect(t, ctx, server.NewURL())
	run := func(conn *pgx.Conn, sql string) {
		t.Helper()
		_, err := conn.Exec(ctx, sql)
		require.NoError(t, err, sql)
	}
	ask := func(sql string) (n int) {
		t.Helper()
		require.NoError(t, owner.QueryRow(ctx, sql).Scan(&n), sql)
		return n
	}
	run(super, "CREATE EXTENSION pg_cron")
	run(super, "GRANT USAGE ON SCHEMA cron TO howdah")
	run(owner, "SELECT howdah.set_text('db0', i::text, 'x', ttl => '1 ms') FROM generate_series(1, 30000) AS i")
	run(owner, "SELECT howdah.set_text('db0', 'stays', 'x')")
	run(owner, `SELECT howdah.session_create(gen_random_uuid(), decode(repeat('00', 32), 'hex'), 'ada',
		idle => '1 s', lifetime => '1 s', skip => '0 s') FROM generate_series(1, 100)`)
	run(owner, `SELECT cron.schedule('howdah-log', '0 * * * *',
		$$DELETE FROM cron.job_run_details WHERE end_time < now() - interval '1 day'$$)`)
	run(owner, `SELECT cron.schedule('howdah', '* * * * *',
		$$SELECT howdah.maintain(max_rows => 1000000, max_blocks => 1000000, max_time => '5 s')$$)`)

	// The first run may come before the sessions have expired, and pg_cron notes
	// how a run ended after its transaction has committed.
	require.Eventually(t, func() bool {
		return ask("SELECT count(*) FROM howdah.session") == 0 &&
			ask("SELECT count(*) FROM cron.job_run_details WHERE status = 'succeeded'") > 0
	}, 150*time.Second, 100*time.Millisecond, "pg_cron does not run the job")
	require.Equal(t, 1, ask("SELECT count(*) FROM "+pgtest.Table(t, owner, "db0")))
	require.Equal(t, 30000, ask("SELECT expired FROM howdah.upkeep WHERE cache = 'db0'"))
	require.Equal(t, 2, ask("SELECT count(*) FROM cron.job"))

	run(owner, "SELECT cron.unschedule('howdah')")
	run(owner, "SELECT cron.unschedule('howdah-log')")
	require.Eventually(t, func() bool {
		return ask("SELECT count(*) FROM cron.job_run_details WHERE end_time IS NULL") == 0
	}, time.Minute, 100*time.Millisecond, "a run does not end")
	require.Zero(t, ask("SELECT count(*) FROM cron.job_run_details WHERE status = 'failed'"))
	run(owner, "DELETE FROM cron.job_run_details WHERE end_time < now()")
	require.Zero(t, ask("SELECT count(*) FROM cron.job_run_details"))
}

func connect(t *testing.T, ctx context.Context, databaseURL string) *pgx.Conn {
	t.Helper()
	conn, err := pgx.Connect(ctx, databaseURL)
	require.NoError(t, err)
	t.Cleanup(func() { conn.Close(context.Background()) })
	return conn
}
