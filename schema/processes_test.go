package schema_test

import (
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/howdah/howdah/internal/test/pgtest"
	"github.com/howdah/howdah/schema"
)

func renewProcess(t *testing.T, db *pgxpool.Pool, id int64) {
	t.Helper()
	run(t, db, schema.Query("process_renew"), id, "host/1", "dev", time.Second,
		time.Second, 1, 2, 3, 4, 5, time.Millisecond, time.Millisecond, 6, 7)
}

// A role that was granted to may enter itself in the list of processes, read it and leave it. One
// that was not may do none of it, and what was granted can be taken back.
func TestRightsOfProcesses(t *testing.T) {
	t.Parallel()
	databaseURL := pgtest.New(t)
	owner := connect(t, databaseURL)
	role, app := newRole(t, databaseURL, "app")
	run(t, connect(t, pgtest.SuperURL(databaseURL)), `GRANT USAGE ON SCHEMA howdah, howdah_internal TO PUBLIC`)
	closed := func() {
		t.Helper()
		for _, sql := range []string{
			"SELECT * FROM howdah_internal.process", "DELETE FROM howdah_internal.process", "UPDATE howdah_internal.process SET seen_at = now()",
			"INSERT INTO howdah_internal.process DEFAULT VALUES",
		} {
			refused(t, app, "42501", sql)
		}
	}
	closed()
	run(t, owner, "SELECT howdah.grant_runtime($1)", role)
	renewProcess(t, app, 1)
	renewProcess(t, app, 1)
	require.EqualValues(t, 1, one[int64](t, app, "SELECT id FROM howdah_internal.process"))
	run(t, app, schema.Query("stat_processes"))
	run(t, app, schema.Query("process_leave"), 1)
	require.Zero(t, one[int](t, app, "SELECT count(*) FROM howdah_internal.process"))
	for _, sql := range []string{
		"TRUNCATE howdah_internal.process", "DROP TABLE howdah_internal.process",
		"CREATE TRIGGER t BEFORE INSERT ON howdah_internal.process EXECUTE FUNCTION suppress_redundant_updates_trigger()",
	} {
		refused(t, app, "42501", sql)
	}
	run(t, owner, "SELECT howdah.revoke_runtime($1)", role)
	closed()
}

// What others may create in public runs in none of these statements.
func TestDecoysOfProcesses(t *testing.T) {
	t.Parallel()
	url := pgtest.New(t)
	db := connect(t, url)
	pgtest.Decoys(t, url, "queries/process_*.sql", "queries/stat_processes.sql")
	renewProcess(t, db, 1)
	renewProcess(t, db, 2)
	run(t, db, "UPDATE howdah_internal.process SET seen_at = '2020-01-01' WHERE id OPERATOR(pg_catalog.=) 2::bigint")
	renewProcess(t, db, 1)
	run(t, db, schema.Query("stat_processes"))
	run(t, db, schema.Query("process_leave"), 1)
	require.Zero(t, one[int](t, db, "SELECT pg_catalog.count(*) FROM howdah_internal.process"))
}
