package doctor_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/howdah/howdah/internal/doctor"
	"github.com/howdah/howdah/internal/test/pgtest"
)

// A report on a standby with hot_standby_feedback holds back the primary.
func TestStandbyFeedback(t *testing.T) {
	t.Parallel()
	primary := pgtest.Own(t)
	conn, super := connect(t, primary.NewURL()), connect(t, primary.SuperURL())
	standby := primary.Standby("replica", "hot_standby_feedback", "on", "wal_receiver_status_interval", "1s")
	require.Equal(t, doctor.Info, await(t, super, low, "unlogged-replicated", "howdah.cache_db0").Severity)

	reader := connect(t, standby.SuperURL())
	run(t, reader, "BEGIN ISOLATION LEVEL REPEATABLE READ", "SELECT count(*) FROM howdah.session")
	run(t, conn, "DO $$ BEGIN FOR i IN 1..6000 LOOP PERFORM pg_current_xact_id(); COMMIT; END LOOP; END $$")
	f := await(t, super, low, "standby-feedback", "replica")
	require.Contains(t, f.Evidence, "keeps every row that died in the last")
	require.Contains(t, f.Note, "hot_standby_feedback = off")
	require.NotNil(t, find(examine(t, conn, low), "standby-feedback", ""), "its slot tells everybody")
	run(t, reader, "ROLLBACK")
	gone(t, super, low, f)

	// The standby itself can be examined, and has nothing to say of upkeep.
	run(t, conn, createLogged, fmt.Sprintf(fillLogged, "now() - interval '1 h'"))
	standby.AwaitReplay(primary)
	r := examine(t, connect(t, standby.URL()), low)
	require.Nil(t, find(r, "upkeep-missing", ""))
	require.Contains(t, r.Caches, "howdah.cache_db0")

	// A slot whose reader has gone.
	standby.Stop("fast")
	repair(t, conn, super, low, await(t, conn, low, "idle-replication-slot", "replica"))
}

const createLogged = `SELECT howdah.create_cache('c', durability => 'async')`

const fillLogged = `INSERT INTO {c} (hash, version, expires_at, key, value) SELECT i, 1, %s, int8send(i), '' FROM generate_series(1, 100) AS i`

// A logical slot that nobody reads keeps the catalogs' dead rows too.
func TestLogicalSlot(t *testing.T) {
	t.Parallel()
	server := pgtest.Own(t, "wal_level", "logical")
	conn, super := connect(t, server.NewURL()), connect(t, server.SuperURL())
	run(t, super, "SELECT pg_create_logical_replication_slot('left', 'test_decoding')")
	f := await(t, conn, low, "idle-replication-slot", "left")
	require.Contains(t, f.Evidence, "logical slot, inactive")
	require.Contains(t, f.Evidence, "keeps every row that died")
	repair(t, conn, super, low, f)
}
