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
// settings, against the server. It installs those of Python, Node.js and Java
// from their registries, in the versions of docs/works-with.md; those of PHP
// are Debian's packages.
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
		run(t, dir, filepath.Join(dir, "venv/bin/pip"), "install", "--quiet",
			"redis==8.1.0", "django==5.2.9", "django-redis==7.0.0", "cachelib==0.17.0", "limits==5.8.0",
			"redlock-py==1.0.8", "pottery==3.0.1", "dogpile.cache==1.5.0")
		for _, script := range []string{"redis_py.py", "scripts_redis_py.py", "locks.py", "limits_storage.py",
			"django_cache.py", "cachelib_cache.py", "fetch_redis_py.py"} {
			t.Run(script, func(t *testing.T) {
				run(t, dir, filepath.Join(dir, "venv/bin/python"), filepath.Join(scripts, script))
			})
		}
	})
	t.Run("node", func(t *testing.T) {
		dir := t.TempDir()
		run(t, dir, "npm", "install", "--silent", "--no-fund", "--no-audit",
			"redis@5.12.1", "ioredis@5.11.1", "keyv@5.6.0", "@keyv/redis@5.1.6", "connect-redis@9.0.0", "express-session@1.19.0",
			"express-rate-limit@8.7.4", "rate-limit-redis@6.0.1", "rate-limiter-flexible@11.4.0", "redlock@5.0.0-beta.2")
		for _, script := range []string{"node_redis.cjs", "ioredis.cjs", "keyv.cjs", "connect_redis.cjs", "rate_limits.cjs",
			"redlock.cjs", "fetch_node_redis.cjs"} {
			t.Run(script, func(t *testing.T) { run(t, dir, "node", filepath.Join(scripts, script)) })
		}
	})
	t.Run("php", func(t *testing.T) {
		for _, script := range []string{"php_sessions.php", "php_caches.php"} {
			t.Run(script, func(t *testing.T) { run(t, t.TempDir(), "php", filepath.Join(scripts, script)) })
		}
	})
	t.Run("java", func(t *testing.T) {
		lib := filepath.Join(t.TempDir(), "lib")
		run(t, scripts, "mvn", "--quiet", "--batch-mode", "--file", "java/pom.xml",
			"org.apache.maven.plugins:maven-dependency-plugin:3.6.1:copy-dependencies", "-DoutputDirectory="+lib)
		run(t, scripts, "java", "-cp", filepath.Join(lib, "*"), "java/Frameworks.java")
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
