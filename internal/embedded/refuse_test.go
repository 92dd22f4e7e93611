//go:build unix

package embedded

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// one asserts that an error is one sentence that says want.
func one(t *testing.T, err error, want ...string) {
	t.Helper()
	require.Error(t, err)
	require.NotContains(t, err.Error(), "\n")
	for _, w := range want {
		require.ErrorContains(t, err, w)
	}
}

func TestRefusedConfig(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "data")
	for _, c := range []struct {
		config Config
		want   string
	}{
		{Config{}, "no data directory"},
		{Config{DataDir: dir, Version: "nine"}, "give a major version"},
		{Config{DataDir: dir, Version: "13"}, "give a major version"},
		{Config{DataDir: dir, Listen: "localhost"}, "not of the form"},
		{Config{DataDir: dir, Listen: "0.0.0.0:5432"}, "not loopback"},
		{Config{DataDir: dir, Settings: map[string]string{"a=b": "c"}}, "not the name of a PostgreSQL setting"},
	} {
		_, err := Start(t.Context(), c.config)
		one(t, err, c.want)
	}
	require.NoDirExists(t, dir)
}

func TestRefusedDataDir(t *testing.T) {
	t.Parallel()
	make := func(files ...string) func(*testing.T) string {
		return func(t *testing.T) string {
			dir := dataDir(t)
			require.NoError(t, os.MkdirAll(filepath.Join(dir, clusterName), 0o755))
			for i := 0; i < len(files); i += 2 {
				require.NoError(t, os.WriteFile(filepath.Join(dir, files[i]), []byte(files[i+1]), 0o600))
			}
			t.Cleanup(func() { os.RemoveAll(dir) })
			return dir
		}
	}
	for name, c := range map[string]struct {
		dir  func(*testing.T) string
		want []string
	}{
		"read-only": {
			func(*testing.T) string { return "/proc/howdah" },
			[]string{"data directory /proc/howdah is not writable", "choose another one"},
		},
		"a file": {
			func(t *testing.T) string {
				dir := dataDir(t)
				require.NoError(t, os.WriteFile(dir, nil, 0o600))
				t.Cleanup(func() { os.Remove(dir) })
				return dir
			},
			[]string{"is not a directory", "choose another one"},
		},
		"not ours":    {make("letter.txt", "dear"), []string{"is not empty", "choose an empty one"}},
		"too old":     {make("lock", "", "pg/PG_VERSION", "13\n"), []string{"was made by PostgreSQL 13", "not supported"}},
		"no download": {make("lock", "", "pg/PG_VERSION", "99\n"), []string{"no PostgreSQL 99 is installed", "install PostgreSQL 99"}},
		"unreadable":  {make("lock", "", "pg/PG_VERSION", "?"), []string{"no readable PG_VERSION"}},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Start(t.Context(), Config{DataDir: c.dir(t)})
			one(t, err, c.want...)
		})
	}
}

func TestWrongVersion(t *testing.T) {
	t.Parallel()
	dir := dataDir(t)
	s := begin(t, Config{DataDir: dir})
	bin := filepath.Dir(s.cmd.Path)
	stop(t, s)
	pgVersion := filepath.Join(dir, clusterName, "PG_VERSION")
	was, err := os.ReadFile(pgVersion)
	require.NoError(t, err)
	other := "14"
	if strings.TrimSpace(string(was)) == other {
		other = "15"
	}
	// The version asked for differs.
	_, err = Start(t.Context(), Config{DataDir: dir, Version: other})
	one(t, err, "was made by PostgreSQL "+strings.TrimSpace(string(was))+" and cannot be used by PostgreSQL "+other, "choose an empty data directory")
	// The binaries given differ.
	require.NoError(t, os.WriteFile(pgVersion, []byte(other+"\n"), 0o600))
	_, err = Start(t.Context(), Config{DataDir: dir, BinDir: bin})
	one(t, err, "was made by PostgreSQL "+other)
	require.NoError(t, os.WriteFile(pgVersion, was, 0o600))
	begin(t, Config{DataDir: dir})
}

func TestRefusedBinDir(t *testing.T) {
	t.Parallel()
	_, err := Start(t.Context(), Config{DataDir: dataDir(t), BinDir: "/usr"})
	one(t, err, "/usr holds no initdb program", "give the bin directory")

	broken := t.TempDir()
	for _, name := range []string{"initdb", "postgres"} {
		require.NoError(t, os.WriteFile(filepath.Join(broken, name), []byte("#!/bin/sh\necho hello\n"), 0o755))
	}
	_, err = Start(t.Context(), Config{DataDir: dataDir(t), BinDir: broken})
	one(t, err, "is not PostgreSQL")
}

func TestBadSettingIsReported(t *testing.T) {
	t.Parallel()
	_, err := Start(t.Context(), Config{DataDir: dataDir(t), Settings: map[string]string{"work_mem": "plenty"}})
	one(t, err, "work_mem", "plenty")
}

func TestStartIsBounded(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := Start(ctx, Config{DataDir: dataDir(t), BinDir: findOne(t)})
	require.ErrorIs(t, err, context.Canceled)
}

// findOne is the directory of some PostgreSQL.
func findOne(t *testing.T) string {
	t.Helper()
	cache, err := DefaultCacheDir()
	require.NoError(t, err)
	bin, err := binaries(context.Background(), Config{CacheDir: cache}, 0)
	require.NoError(t, err)
	return bin.dir
}

// An account that cannot enter the data directory is named, with the
// directory that is closed to it.
func TestUnreachable(t *testing.T) {
	t.Parallel()
	closed := t.TempDir()
	require.NoError(t, os.Chmod(closed, 0o700))
	who := account{name: "somebody", uid: 54321, gid: 54321, drop: true}
	one(t, who.canReach(closed), "user somebody", "cannot enter", "choose a directory outside it")
	require.NoError(t, who.canReach("/tmp"))
}

// A full disk is said to be full, whoever meets it.
func TestFullDisk(t *testing.T) {
	t.Parallel()
	for _, err := range []error{notWritable("/data", &os.PathError{Op: "mkdir", Path: "/data", Err: syscall.ENOSPC}), notWritable("/data", syscall.EDQUOT)} {
		one(t, err, "no space left on the disk of data directory /data", "free some", "another disk")
	}
	require.True(t, saysFull("FATAL:  could not write to file \"pg_wal/xlogtemp.1\": No space left on device\nchild process exited with exit code 1\n"))
	require.False(t, saysFull("FATAL:  could not open file: Permission denied"))
}
