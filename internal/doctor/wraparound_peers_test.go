//go:build peers

package doctor_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/howdah/howdah/internal/doctor"
	"github.com/howdah/howdah/internal/test/pgtest"
)

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
	reset := exec.CommandContext(ctx(t), filepath.Join(programs, "pg_resetwal"), "-x", fmt.Sprint(xid), "-D", data)
	if os.Geteuid() == 0 { // which pg_resetwal refuses
		reset.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: owner.Uid, Gid: owner.Gid}}
	}
	reset.Dir = "/"
	out, err := reset.CombinedOutput()
	require.NoError(t, err, "this test needs pg_resetwal, of an installed PostgreSQL: %s", out)
	server.Start()

	conn := connect(t, server.URL())
	super = connect(t, server.SuperURL())
	opts := doctor.Options{} // as a user has them
	f := await(t, conn, opts, "database-xid-age", "")
	require.Equal(t, doctor.Error, f.Severity)
	require.Contains(t, f.Evidence, "at 2,147,483,647 PostgreSQL stops")
	table := await(t, conn, opts, "xid-age", "howdah.cache_db0")
	require.Equal(t, doctor.Error, table.Severity)
	repair(t, conn, conn, opts, table)
	repair(t, conn, super, opts, f)
}
