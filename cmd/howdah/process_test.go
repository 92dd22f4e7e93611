//go:build unix

package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/howdah/howdah/internal/embedded"
	"github.com/howdah/howdah/internal/test/pgtest"
)

// dataDir is a data directory for a server of its own.
func dataDir(t *testing.T) string {
	t.Helper()
	parent, err := os.MkdirTemp("/tmp", "howdah-cmd-")
	require.NoError(t, err)
	require.NoError(t, os.Chmod(parent, 0o755)) // PostgreSQL may run as another user
	dir := filepath.Join(parent, "data")
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		require.NoError(t, embedded.Remove(ctx, dir))
		require.NoError(t, os.RemoveAll(parent))
	})
	return dir
}

// serveIn is serve with an embedded PostgreSQL. It returns when other commands can find the server.
func serveIn(t *testing.T, dir string, env []string, args ...string) *process {
	t.Helper()
	p := serve(t, append(env, "HOWDAH_DATA_DIR="+dir), args...)
	t.Cleanup(func() { // before the directory is removed
		_ = p.cmd.Process.Signal(syscall.SIGTERM)
		p.wait()
	})
	require.Eventually(t, func() bool { return execute(t, "", nil, "url", "--redis", "--data-dir", dir).code == 0 }, time.Minute, 10*time.Millisecond)
	return p
}

// Whatever its port, its password and its certificate: commands ask the server that runs in the data
// directory, and no other.
func TestCommandsFindTheServer(t *testing.T) {
	t.Parallel()
	dir := dataDir(t)
	cert, key := certificate(t)
	p := serveIn(t, dir, []string{"HOWDAH_PASSWORD=hunter2"}, "--tls-cert", cert, "--tls-key", key, "--monitor")
	env := []string{"HOWDAH_DATA_DIR=" + dir, "HOWDAH_PASSWORD=hunter2"}
	do := func(args ...string) string {
		r := execute(t, "", env, args...)
		require.Zero(t, r.code, "%v: %s", args, r.err)
		return r.out
	}
	do("set", "greeting", "hello", "--ttl", "1h")
	require.Equal(t, "hello", do("get", "greeting"))
	require.Equal(t, "hello\n", do("cli", "GET", "greeting"))
	require.Equal(t, "greeting\n", do("keys"))
	require.Regexp(t, "^59m|^1h", do("ttl", "greeting"))
	require.Contains(t, do("slow"), "TIME")
	require.Regexp(t, `(?m)^ *db0 .*\b1\b`, do("stat", "--once", "--interval", "100ms"))
	require.Regexp(t, `(?s)^howdah, PostgreSQL.*db0 .*CLIENTS +LIBRARY`, do("top", "--once", "--interval", "100ms"))
	require.Contains(t, do("bigkeys"), "db0: 1 entries")
	require.Equal(t, "ready\n", do("healthcheck"))
	require.Equal(t, strings.TrimSpace(do("url", "--http"))+"/console/\n", do("console", "--print"))

	// Caches that no Redis database shows are in its PostgreSQL.
	do("caches", "create", "pages")
	do("set", "k", "v", "--cache", "pages")
	require.Equal(t, "v", do("get", "k", "--cache", "pages"))
	require.Equal(t, "1\n", do("del", "greeting"))

	for want, wrong := range map[string][]string{
		"the server asks for a password": {"get", "k", "--data-dir", dir},
		"certificate":                    {"get", "k", "--server", "rediss://:hunter2@" + p.redis},
		"give one of":                    {"get", "k", "--data-dir", dir, "--server", p.redis},
	} {
		r := execute(t, "", nil, wrong...)
		require.NotZero(t, r.code, want)
		require.Contains(t, r.err, want)
	}
}

// Where no server runs and none is named, no port is guessed. What is named by flags comes before
// the environment.
func TestWhichServer(t *testing.T) {
	t.Parallel()
	none := filepath.Join(t.TempDir(), "none")
	for _, command := range [][]string{{"get", "k"}, {"set", "k", "v"}, {"del", "k"}, {"ttl", "k"}, {"keys"}, {"cli", "PING"}, {"slow"}, {"monitor"}} {
		r := execute(t, "", nil, append(append([]string{}, command[0], "--data-dir", none), command[1:]...)...)
		require.Equal(t, exitFailed, r.code, "%v: %s", command, r.err)
		require.Equal(t, `howdah: no "howdah serve" is running in `+none+`: start one, name its data directory with --data-dir, or name a server with --server redis://host:port`+"\n", r.err)
	}
	one, two := pgtest.New(t), pgtest.New(t)
	p := serve(t, nil, "--database-url", one)
	for _, place := range []struct{ url, value string }{{one, "one"}, {two, "two"}} {
		require.Zero(t, execute(t, "", nil, "set", "k", place.value, "--database-url", place.url).code)
	}
	server, database := []string{"HOWDAH_SERVER=" + p.redis}, []string{"HOWDAH_DATABASE_URL=" + two}
	get := func(env []string, args ...string) string {
		r := execute(t, "", env, append([]string{"get", "k"}, args...)...)
		return r.out + r.err
	}
	require.Equal(t, "one", get(server))
	require.Equal(t, "two", get(database))
	require.Equal(t, "two", get(append(server, database...)), "a database before a server")
	require.Equal(t, "one", get(database, "--server", p.redis), "a flag before the environment")
	require.Equal(t, "two", get(server, "--database-url", two))
	require.Contains(t, get(append(server, database...), "--data-dir", none), "is running in "+none)
	require.Contains(t, get(nil, "--server", p.redis, "--database-url", two), "give one of")
	require.Equal(t, "one", get([]string{"HOWDAH_REDIS_ADDR=" + p.redis}), "as the server itself reads it")
	require.Equal(t, "one", get([]string{"HOWDAH_PASSWORD=hunter2"}, "--server", p.redis), "the server asks for none")

	r := execute(t, "", nil, "bigkeys", "--server", p.redis)
	require.Equal(t, exitUsage, r.code)
	require.Contains(t, r.err, "--database-url")

	// One that is named shows what it counts, of its own database.
	r = execute(t, "", nil, "top", "--server", p.redis, "--once", "--interval", "100ms")
	require.Zero(t, r.code, r.err)
	require.Regexp(t, `(?s)^ *CACHE +ENTRIES +WITH TTL\s+db0 +1 .*SERVER .*CLIENTS +LIBRARY`, r.out)
	require.NotContains(t, r.out, "PostgreSQL")
}

// What answers and does not speak the protocol is said to do so.
func TestNoRedisServer(t *testing.T) {
	t.Parallel()
	p := serve(t, nil, "--database-url", pgtest.New(t))
	for _, args := range [][]string{{"get", "k"}, {"slow"}, {"monitor"}, {"stat", "--once", "--interval", "100ms"}, {"cli", "PING"}} {
		r := execute(t, "", nil, append([]string{args[0], "--server", p.http}, args[1:]...)...)
		require.Equal(t, exitFailed, r.code)
		require.Contains(t, r.err, "what listens at "+p.http+" does not speak the Redis protocol")
	}
}

// A server that has another certificate than the one that was written down is not talked to.
func TestCertificateOfTheServer(t *testing.T) {
	t.Parallel()
	dir := dataDir(t)
	cert, key := certificate(t)
	serveIn(t, dir, nil, "--tls-cert", cert, "--tls-key", key)
	at, err := readAddresses(dir)
	require.NoError(t, err)
	require.Len(t, at.Certificate, 64)
	require.Equal(t, "PONG\n", execute(t, "", nil, "cli", "--data-dir", dir, "PING").out)
	at.Certificate = string(bytes.Repeat([]byte("0"), 64))
	require.NoError(t, saveAddresses(dir, at))
	for _, command := range [][]string{{"keys"}, {"cli", "--data-dir", dir, "PING"}} {
		r := execute(t, "", []string{"HOWDAH_DATA_DIR=" + dir}, command...)
		require.Equal(t, exitFailed, r.code)
		require.Contains(t, r.err, "its certificate is not that of the server that runs here")
	}
}
