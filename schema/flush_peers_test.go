//go:build peers

package schema_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/howdah/howdah/internal/test/pgtest"
)

// root runs a command that only root may.
func root(t *testing.T, command ...string) {
	t.Helper()
	if os.Geteuid() != 0 {
		command = append([]string{"sudo", "-n"}, command...)
	}
	out, err := exec.Command(command[0], command[1:]...).CombinedOutput()
	require.NoError(t, err, "run this test as root, or allow sudo without a password: %s: %s", strings.Join(command, " "), out)
}

// A cache on a disk of its own, which is full, can be flushed.
func TestFlushOnADiskThatIsFull(t *testing.T) {
	t.Parallel()
	dir, err := os.MkdirTemp("", "howdah-full-disk-")
	require.NoError(t, err)
	t.Cleanup(func() { os.Remove(dir) })
	require.NoError(t, os.Chmod(dir, 0o755))
	root(t, "mount", "-t", "tmpfs", "-o", "size=4m,mode=1777", "howdah-full-disk", dir)
	t.Cleanup(func() { root(t, "umount", dir) })
	server := pgtest.Own(t) // after the mount, so that it ends before
	super := connect(t, server.SuperURL())
	// PostgreSQL takes a directory of its own only; the server makes it.
	space := filepath.Join(dir, "space")
	run(t, super, "CREATE TEMP TABLE made (x text)")
	run(t, super, "COPY made FROM PROGRAM 'mkdir -m 700 "+space+"'")
	run(t, super, "CREATE TABLESPACE small LOCATION '"+space+"'")

	db := connect(t, server.NewURL())
	run(t, super, "GRANT CREATE ON TABLESPACE small TO PUBLIC")
	run(t, db, "SELECT howdah.create_cache('c')")
	cache := table(t, db, "c")
	run(t, db, "ALTER TABLE "+cache+" SET TABLESPACE small")
	for _, index := range all[string](t, db, "SELECT indexrelid::regclass::text FROM pg_index WHERE indrelid = $1::text::regclass", cache) {
		run(t, db, "ALTER INDEX "+index+" SET TABLESPACE small")
	}
	run(t, db, "SELECT howdah.set_many('c', '{a,b}', '{1,2}')")
	filler, err := os.Create(filepath.Join(dir, "filler"))
	require.NoError(t, err)
	defer filler.Close()
	for err == nil {
		_, err = filler.Write(make([]byte, 1<<16))
	}
	require.ErrorContains(t, err, "no space left on device")

	_, err = db.Exec(context.Background(), "TRUNCATE "+cache)
	require.Equal(t, "53100", state(err), "the disk is full: %v", err)
	require.Equal(t, "delete", one[string](t, db, "SELECT howdah.flush('c')"))
	require.Zero(t, one[int](t, db, "SELECT howdah.count('c')"))
}
