//go:build clients

package server

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/howdah/howdah/internal/test/pgtest"
)

// clients are programs of other languages, and the two servers of one database that they
// talk to.
type clients struct {
	one, other string // addresses
	cluster    string // of a server that is a cluster, on a database of its own
	newer      string // of a third server on the database, which says that it is a newer Redis
	url        string // of the database, for psql
	scripts    string // testdata/clients
}

// TestClients runs unmodified clients of other languages, with their default
// settings, against the server. It installs those of Python, Node.js and Java
// from their registries, in the versions of docs/works-with.md; those of PHP
// and Ruby are Debian's packages.
func TestClients(t *testing.T) {
	t.Parallel()
	url := pgtest.New(t)
	for _, database := range []int{3, 11, rueidisDatabase} { // where clients cache
		execute(t, url, fmt.Sprintf("SELECT howdah.create_cache('db%d', near => true)", database))
	}
	share := func(c *Config) { c.DatabaseURL = url }
	one, other := start(t, share), start(t, share)
	scripts, err := filepath.Abs("testdata/clients")
	require.NoError(t, err)
	cluster := start(t, func(c *Config) { c.RedisCluster = true })
	newer := start(t, func(c *Config) { c.DatabaseURL, c.RedisVersion = url, "7.4.0" })
	c := &clients{one: one.Redis.String(), other: other.Redis.String(), cluster: cluster.Redis.String(), newer: newer.Redis.String(), url: url, scripts: scripts}
	t.Run("python", c.python)
	t.Run("node", c.node)
	t.Run("php", func(t *testing.T) {
		c.each(t, t.TempDir(), nil, "php", "php_sessions.php", "php_caches.php", "php_pubsub.php", "php_cluster.php")
	})
	t.Run("ruby", func(t *testing.T) {
		c.each(t, t.TempDir(), nil, "ruby", "action_cable.rb", "sidekiq_queue.rb", "rails_cache.rb")
	})
	t.Run("java", c.java)
	t.Run("cluster", c.clusters)
	t.Run("rueidis", func(t *testing.T) {
		checkRueidis(t, c.one, c.other, func(key, value string) {
			execute(t, url, fmt.Sprintf("SELECT howdah.set_text('db%d', '%s', '%s')", rueidisDatabase, key, value))
		})
	})
	execute(t, url, `DO $$ BEGIN IF EXISTS (SELECT FROM howdah_internal.cache WHERE name IN ('db0', 'db6') AND 'near' = ANY (features)) THEN
		RAISE 'a cache has a change log'; END IF; END $$`)
	t.Run("rueidis without a change log", func(t *testing.T) { checkRueidisWithoutLog(t, c.one, c.other, 0) })
	t.Run("rueidis without a change log, in another database", func(t *testing.T) { checkRueidisWithoutLog(t, c.one, c.other, 6) })
	t.Run("psql sees the same entry", func(t *testing.T) {
		conn, err := pgx.Connect(t.Context(), url)
		require.NoError(t, err)
		defer conn.Close(t.Context())
		var value string
		require.NoError(t, conn.QueryRow(t.Context(), `SELECT howdah.get_text('db0', 'seen-from-sql')`).Scan(&value))
		require.Equal(t, "stored by redis-py", value)
	})
}

// run runs a program in dir, with the servers' addresses and more in its environment, and
// fails the test if it fails or takes minutes.
func (c *clients) run(t *testing.T, dir string, more []string, name string, args ...string) {
	t.Helper()
	path, err := exec.LookPath(name)
	require.NoError(t, err, "install %s: this test cannot run without it", name)
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, path, args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "REDIS_ADDR="+c.one, "OTHER_ADDR="+c.other, "CLUSTER_ADDR="+c.cluster, "NEWER_ADDR="+c.newer, "DATABASE_URL="+c.url, "NODE_PATH="+filepath.Join(dir, "node_modules"),
		"PYTHONDONTWRITEBYTECODE=1")
	cmd.Env = append(cmd.Env, more...)
	cmd.WaitDelay = 10 * time.Second // a worker that the script has left holds the output open
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s %v\n%s", name, args, out)
	t.Logf("%s", out)
}

// each runs scripts of testdata/clients, as a test each.
func (c *clients) each(t *testing.T, dir string, more []string, program string, scripts ...string) {
	for _, script := range scripts {
		t.Run(script, func(t *testing.T) { c.run(t, dir, more, program, filepath.Join(c.scripts, script)) })
	}
}

func (c *clients) python(t *testing.T) {
	dir := t.TempDir()
	python, pip := filepath.Join(dir, "venv/bin/python"), filepath.Join(dir, "venv/bin/pip")
	c.run(t, dir, nil, "python3", "-m", "venv", "venv")
	c.run(t, dir, nil, pip, "install", "--quiet", "--no-compile",
		"redis==8.1.0", "django==5.2.9", "django-redis==7.0.0", "cachelib==0.17.0", "limits==5.8.0",
		"redlock-py==1.0.8", "pottery==3.0.1", "dogpile.cache==1.5.0", "celery[redis]==5.7.0")
	c.each(t, dir, nil, python, "redis_py.py", "scripts_redis_py.py", "locks.py", "limits_storage.py",
		"django_cache.py", "cachelib_cache.py", "fetch_redis_py.py",
		"pubsub_redis_py.py", "blocking_redis_py.py", "client_cache_redis_py.py", "celery_queue.py", "cluster_redis_py.py")
	// Later versions of RQ keep results in streams; this one does not know later versions of redis-py.
	rq := filepath.Join(dir, "rq")
	c.run(t, dir, nil, pip, "install", "--quiet", "--no-compile", "--target", rq, "rq==1.11.1", "redis==5.3.1")
	c.each(t, dir, []string{"PYTHONPATH=" + rq}, python, "rq_queue.py")
}

func (c *clients) node(t *testing.T) {
	dir := t.TempDir()
	c.run(t, dir, nil, "npm", "install", "--silent", "--no-fund", "--no-audit",
		"redis@5.12.1", "ioredis@5.11.1", "keyv@5.6.0", "@keyv/redis@5.1.6", "connect-redis@9.0.0", "express-session@1.19.0",
		"express-rate-limit@8.7.4", "rate-limit-redis@6.0.1", "rate-limiter-flexible@11.4.0", "redlock@5.0.0-beta.2",
		"bull@4.16.5", "bee-queue@2.0.0")
	c.each(t, dir, nil, "node", "node_redis.cjs", "ioredis.cjs", "keyv.cjs", "connect_redis.cjs", "rate_limits.cjs",
		"redlock.cjs", "fetch_node_redis.cjs",
		"pubsub_node_redis.cjs", "pubsub_ioredis.cjs", "client_cache_node_redis.cjs", "queues.cjs", "cluster_node.cjs")
}

func (c *clients) java(t *testing.T) {
	dir := t.TempDir()
	lib, classes := filepath.Join(dir, "lib"), filepath.Join(dir, "classes")
	c.run(t, c.scripts, nil, "mvn", "--quiet", "--batch-mode", "--file", "java/pom.xml",
		"org.apache.maven.plugins:maven-dependency-plugin:3.6.1:copy-dependencies", "-DoutputDirectory="+lib)
	c.run(t, c.scripts, nil, "javac", "-cp", filepath.Join(lib, "*"), "-d", classes, "java/Frameworks.java", "java/Messages.java", "java/Clusters.java")
	path := filepath.Join(lib, "*") + string(filepath.ListSeparator) + classes
	t.Run("frameworks", func(t *testing.T) { c.run(t, c.scripts, nil, "java", "-cp", path, "Frameworks") })
	t.Run("clusters", func(t *testing.T) { c.run(t, c.scripts, nil, "java", "-cp", path, "Clusters") })
	for _, group := range []string{"spring", "redisson", "lettuce", "jedis"} {
		t.Run(group, func(t *testing.T) { c.run(t, c.scripts, nil, "java", "-cp", path, "Messages", group) })
	}
}
