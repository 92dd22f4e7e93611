//go:build clients

package server

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"
)

// TestClients runs unmodified clients of other languages, with their default
// settings, against the server. It installs them from PyPI and npm; what it
// pins is what was current when it was written.
func TestClients(t *testing.T) {
	s := start(t, nil)
	scripts, err := filepath.Abs("testdata/clients")
	require.NoError(t, err)
	run := func(t *testing.T, dir, name string, args ...string) {
		t.Helper()
		path, err := exec.LookPath(name)
		require.NoError(t, err, "install %s: this test cannot run without it", name)
		cmd := exec.CommandContext(t.Context(), path, args...)
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "REDIS_ADDR="+s.Redis.String(), "NODE_PATH="+filepath.Join(dir, "node_modules"))
		out, err := cmd.CombinedOutput()
		require.NoError(t, err, "%s %v\n%s", name, args, out)
		t.Logf("%s", out)
	}
	t.Run("python", func(t *testing.T) {
		dir := t.TempDir()
		run(t, dir, "python3", "-m", "venv", "venv")
		run(t, dir, filepath.Join(dir, "venv/bin/pip"), "install", "--quiet", "redis>=8,<9", "django>=5", "django-redis", "cachelib")
		for _, script := range []string{"redis_py.py", "django_cache.py", "cachelib_cache.py", "fetch_redis_py.py"} {
			t.Run(script, func(t *testing.T) {
				run(t, dir, filepath.Join(dir, "venv/bin/python"), filepath.Join(scripts, script))
			})
		}
	})
	t.Run("node", func(t *testing.T) {
		dir := t.TempDir()
		run(t, dir, "npm", "install", "--silent", "--no-fund", "--no-audit", "redis@5", "ioredis@5", "keyv@5", "@keyv/redis@5", "connect-redis@9", "express-session@1")
		for _, script := range []string{"node_redis.cjs", "ioredis.cjs", "keyv.cjs", "connect_redis.cjs", "fetch_node_redis.cjs"} {
			t.Run(script, func(t *testing.T) { run(t, dir, "node", filepath.Join(scripts, script)) })
		}
	})
	t.Run("psql sees the same entry", func(t *testing.T) {
		conn, err := pgx.Connect(t.Context(), s.config.DatabaseURL)
		require.NoError(t, err)
		defer conn.Close(t.Context())
		var value string
		require.NoError(t, conn.QueryRow(t.Context(), `SELECT howdah.get_text('db0', 'seen-from-sql')`).Scan(&value))
		require.Equal(t, "stored by redis-py", value)
	})
}
