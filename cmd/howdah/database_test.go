//go:build unix

package main

import (
	"bytes"
	"context"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/howdah/howdah/internal/test/pgtest"
)

// Commands find the embedded PostgreSQL of a running server by its data
// directory, and say what to do where there is none.
func TestEmbeddedDatabase(t *testing.T) {
	t.Parallel()
	dir := dataDir(t)
	env := []string{"HOWDAH_DATA_DIR=" + dir}
	do := func(args ...string) result { return execute(t, "", env, args...) }

	commands := [][]string{{"doctor"}, {"sessions", "list"}, {"maintain", "--once"}, {"migrate", "--status"}}
	for _, command := range commands {
		r := do(command...)
		require.Equal(t, exitUsage, r.code, "%v: %s", command, r.err)
		require.Contains(t, r.err, "no embedded PostgreSQL is running in "+dir)
	}
	for _, command := range []string{"url", "psql"} {
		r := do(command)
		require.Equal(t, exitFailed, r.code)
		require.Contains(t, r.err, "start it with \"howdah serve\"")
	}

	p := serve(t, env)
	require.Zero(t, do("set", "greeting", "hello", "--server", p.redis).code)
	for _, command := range commands {
		r := do(command...)
		require.Zero(t, r.code, "%v: %s %s", command, r.out, r.err)
	}
	require.Contains(t, do("migrate", "--status").out, "db0")
	require.Equal(t, exitUsage, do("migrate").code, "a schema is changed only where a database is named")

	url := strings.TrimSpace(do("url").out)
	require.Equal(t, "hello", execute(t, "", nil, "get", "greeting", "--database-url", url).out)
	require.Eventually(t, func() bool { return do("url", "--redis").code == 0 }, time.Minute, 10*time.Millisecond)
	require.Equal(t, "redis://"+p.redis+"\n", do("url", "--redis").out)
	require.Regexp(t, `^http://127\.0\.0\.1:\d+\n$`, do("url", "--http").out)
	require.Equal(t, exitUsage, do("url", "--http", "--superuser").code)
	require.NoError(t, p.cmd.Process.Signal(syscall.SIGTERM))
	require.Zero(t, p.wait(), p.log.String())
	require.Equal(t, exitFailed, do("url").code)
	require.Equal(t, exitFailed, do("url", "--redis").code)
}

// Containers have no home directory, and need none where the database is
// elsewhere.
func TestServeWithoutHome(t *testing.T) {
	t.Parallel()
	program, err := os.Open(os.Args[0])
	require.NoError(t, err)
	defer program.Close()
	dir, err := os.MkdirTemp("/tmp", "howdah-cmd-")
	require.NoError(t, err)
	defer os.RemoveAll(dir)
	require.NoError(t, os.Chmod(dir, 0o755))
	// A copy, in a place that other users can reach.
	copied, err := os.OpenFile(filepath.Join(dir, "howdah"), os.O_WRONLY|os.O_CREATE, 0o755)
	require.NoError(t, err)
	_, err = io.Copy(copied, program)
	require.NoError(t, err)
	require.NoError(t, copied.Close())

	run := func(args ...string) result {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		cmd := exec.CommandContext(ctx, copied.Name(), args...)
		cmd.Env = []string{asProgram + "=1"}
		cmd.Dir = dir
		if os.Geteuid() == 0 { // root's directories do not depend on a home
			cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
		}
		var errOut bytes.Buffer
		cmd.Stderr = &errOut
		_ = cmd.Run()
		require.NoError(t, ctx.Err(), errOut.String())
		return result{err: errOut.String(), code: cmd.ProcessState.ExitCode()}
	}
	r := run("serve", "--redis-addr", "127.0.0.1:0", "--http-addr", "off")
	require.NotZero(t, r.code)
	require.Contains(t, r.err, "--data-dir")
	// With a database it gets as far as looking at it.
	r = run("serve", "--redis-addr", "127.0.0.1:0", "--http-addr", "off", "--database-url", pgtest.TCP(pgtest.Empty(t)))
	require.NotZero(t, r.code)
	require.Contains(t, r.err, "howdah migrate")
}
