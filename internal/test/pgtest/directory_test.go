package pgtest

import (
	"bufio"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A server that is stopped for longer than others need to start keeps its
// data, as a backup does.
func TestSweepSparesWhatStands(t *testing.T) {
	s := Own(t, "fsync", "off")
	backup := s.Backup()
	s.Stop("fast")
	long := time.Now().Add(-time.Hour)
	for _, dir := range []string{s.dir, backup.dir, filepath.Dir(s.dir)} {
		require.NoError(t, os.Chtimes(dir, long, long))
	}
	sweep(t.Context())
	require.DirExists(t, backup.cluster())
	s.Start()
}

// What a killed test process leaves is removed at once, and its server stops, also a frozen one.
func TestSweepRemovesWhatAKilledProcessLeft(t *testing.T) {
	if os.Getenv("HOWDAH_TEST_LEAVES_A_SERVER") != "" {
		s := Own(t)
		s.Backup()
		s.Freeze() // nobody thaws it
		_, err := os.Stdout.WriteString(filepath.Dir(s.dir) + "\n")
		require.NoError(t, err)
		<-t.Context().Done() // it is killed first
		return
	}
	child := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^"+t.Name()+"$")
	child.Env = append(os.Environ(), "HOWDAH_TEST_LEAVES_A_SERVER=1")
	out, err := child.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, child.Start())
	line, err := bufio.NewReader(out).ReadString('\n')
	require.NoError(t, err)
	left := line[:len(line)-1]
	require.DirExists(t, filepath.Join(left, "1", clusterName))
	sweep(t.Context())
	require.DirExists(t, filepath.Join(left, "1", clusterName), "its process runs")

	require.NoError(t, child.Process.Kill())
	require.Error(t, child.Wait())
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	require.Eventually(t, func() bool { // the sweep of another process may be at it
		sweep(ctx)
		_, err := os.Stat(left)
		return os.IsNotExist(err)
	}, limit, 10*time.Millisecond)
	require.Empty(t, processesIn(filepath.Join(left, "1", clusterName)))
}

// A process whose new directory the sweep of another one removes makes another.
func TestOwnership(t *testing.T) {
	path := t.TempDir()
	owner, err := takeOwnership(path)
	require.NoError(t, err)
	_, err = takeOwnership(path)
	require.ErrorIs(t, err, errOwned)
	require.NoError(t, removeProcessDirectory(path))
	require.NoError(t, owner.Close())
	_, err = takeOwnership(path)
	require.ErrorIs(t, err, os.ErrNotExist)

	var d processDirectory
	t.Cleanup(func() { require.NoError(t, d.remove()) })
	require.NoError(t, d.make())
	_, err = takeOwnership(d.path)
	require.ErrorIs(t, err, errOwned)
	sweep(t.Context())
	require.FileExists(t, filepath.Join(d.path, ownerName))
}
