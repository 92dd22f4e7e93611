//go:build peers

package main

import (
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// "howdah psql" finds the embedded PostgreSQL, and passes arguments, input and the exit code on.
func TestPsql(t *testing.T) {
	t.Parallel()
	env := []string{"HOWDAH_DATA_DIR=" + dataDir(t)}
	do := func(args ...string) result { return execute(t, "", env, args...) }
	p := serve(t, env)
	require.Zero(t, do("set", "greeting", "hello", "--server", p.redis).code)
	r := do("psql", "--", "-Atc", "SELECT howdah.get_text('db0', 'greeting'), current_user")
	require.Equal(t, result{out: "hello|howdah\n"}, r)
	require.Equal(t, result{out: "postgres\n"}, do("psql", "--superuser", "--", "-Atc", "SELECT current_user"))
	require.Equal(t, result{out: "7\n"}, execute(t, "SELECT 7;\n", env, "psql", "--", "-At"))
	r = do("psql", "--", "-v", "ON_ERROR_STOP=1", "-c", "SELECT 1", "-c", "nonsense")
	require.Equal(t, 1, r.code)
	require.NotContains(t, r.err, "howdah:", "psql has said what is wrong")

	require.NoError(t, p.cmd.Process.Signal(syscall.SIGTERM))
	require.Zero(t, p.wait(), p.log.String())
}
