package doctor_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/howdah/howdah/internal/doctor"
	"github.com/howdah/howdah/internal/pgtest"
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
	require.Nil(t, find(examine(t, conn, low), "standby-feedback", ""))
	require.NotNil(t, find(examine(t, conn, low), "not-checked", "sessions and standbys of other roles"), "what is hidden is said to be")
	run(t, reader, "ROLLBACK")
	gone(t, super, low, f)

	// The standby itself can be examined, and has nothing to say of upkeep.
	run(t, conn, fmt.Sprintf(fillLogged, "now() - interval '1 h'"))
	standby.AwaitReplay(primary)
	r := examine(t, connect(t, standby.URL()), low)
	require.Nil(t, find(r, "upkeep-missing", ""))
	require.Contains(t, r.Caches, "howdah.cache_db0")

	// A slot whose reader has gone.
	standby.Stop("fast")
	repair(t, conn, super, low, await(t, conn, low, "idle-replication-slot", "replica"))
}

const fillLogged = `SELECT howdah.create_cache('c', durability => 'async');
	INSERT INTO howdah.cache_c (hash, version, expires_at, key, value) SELECT i, 1, %s, int8send(i), '' FROM generate_series(1, 100) AS i`

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

// A database that has not been frozen for 1,600 million transactions.
func TestOldestXID(t *testing.T) {
	t.Parallel()
	const xid = 1_600_000_000
	// Else PostgreSQL freezes everything as soon as it starts.
	server := pgtest.Own(t, "autovacuum_freeze_max_age", "2000000000", "autovacuum", "off")
	super := connect(t, server.SuperURL())
	run(t, connect(t, server.NewURL()), "SELECT howdah.set_text('db0', 'k', 'v')")
	data := one[string](t, super, "SHOW data_directory")
	programs := one[string](t, super, "SELECT setting FROM pg_config WHERE name = 'BINDIR'")
	server.Stop("fast")

	info, err := os.Stat(data)
	require.NoError(t, err)
	owner := info.Sys().(*syscall.Stat_t)
	// The page of commit states that the next transaction falls on: 4 of them a
	// byte, 32 pages of 8 KiB a file.
	segment := filepath.Join(data, "pg_xact", fmt.Sprintf("%04X", xid/(4*8192*32)))
	require.NoError(t, os.WriteFile(segment, make([]byte, 32*8192), 0o600))
	require.NoError(t, os.Chown(segment, int(owner.Uid), int(owner.Gid)))
	reset := exec.CommandContext(context.Background(), filepath.Join(programs, "pg_resetwal"), "-x", fmt.Sprint(xid), "-D", data)
	if os.Geteuid() == 0 { // which pg_resetwal refuses
		reset.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: owner.Uid, Gid: owner.Gid}}
	}
	reset.Dir = "/"
	out, err := reset.CombinedOutput()
	require.NoError(t, err, string(out))
	server.Start()

	conn := connect(t, server.URL())
	super = connect(t, server.SuperURL())
	opts := doctor.Options{} // as a user has them
	f := await(t, conn, opts, "database-xid-age", "")
	require.Equal(t, doctor.Error, f.Severity)
	require.Contains(t, f.Evidence, "1,6")
	table := await(t, conn, opts, "xid-age", "howdah.cache_db0")
	require.Equal(t, doctor.Error, table.Severity)
	repair(t, conn, conn, opts, table)
	repair(t, conn, super, opts, f)
}
