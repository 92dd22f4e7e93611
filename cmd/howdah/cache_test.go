package main

import (
	"context"
	"fmt"
	"net"
	"strconv"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/howdah/howdah/internal/test/pgtest"
)

// The small commands behave alike against a server and against a database.
func TestCommands(t *testing.T) {
	t.Parallel()
	url := pgtest.New(t)
	p := serve(t, nil, "--database-url", url)
	for name, target := range map[string]string{
		"server":   "HOWDAH_SERVER=redis://" + p.redis,
		"database": "HOWDAH_DATABASE_URL=" + url,
	} {
		t.Run(name, func(t *testing.T) {
			env := []string{target}
			do := func(stdin string, args ...string) result { return execute(t, stdin, env, args...) }
			ok := func(stdin string, args ...string) string {
				t.Helper()
				r := do(stdin, args...)
				require.Equal(t, 0, r.code, r.err)
				require.Empty(t, r.err)
				return r.out
			}
			require.Empty(t, ok("", "set", "page:1", "one"))
			require.Empty(t, ok("bytes \x00\xff\n", "set", "page:2", "-", "--ttl", "2h"))
			require.Empty(t, ok("", "set", "other", "x", "--ttl", "90"))
			require.Equal(t, "one", ok("", "get", "page:1"))
			require.Equal(t, "bytes \x00\xff\n", ok("", "get", "page:2"))

			require.Equal(t, "none\n", ok("", "ttl", "page:1"))
			require.Regexp(t, `^(2h|1h59m)`, ok("", "ttl", "page:2"))
			require.Regexp(t, `^1m`, ok("", "ttl", "other"))
			conn, err := pgx.Connect(t.Context(), url)
			require.NoError(t, err)
			defer conn.Close(context.WithoutCancel(t.Context()))
			query(t, url, "UPDATE "+pgtest.Table(t, conn, "db0")+" SET expires_at = to_timestamp(9007199254740.991) WHERE key = 'other'")
			require.Regexp(t, `^250\d{7}h\d`, ok("", "ttl", "other"), "until the year 287396")

			require.ElementsMatch(t, []string{"page:1", "page:2"}, lines(ok("", "keys", "page:*")))
			require.ElementsMatch(t, []string{"page:1", "page:2", "other"}, lines(ok("", "keys")))
			require.Regexp(t, `(?m)^ *db0 .*\b3\b`, ok("", "stat"))

			require.Equal(t, "2\n", ok("", "del", "page:1", "page:2", "absent"))
			for _, command := range []string{"get", "ttl"} {
				r := do("", command, "page:1")
				require.Equal(t, 1, r.code)
				require.Empty(t, r.out)
				require.Equal(t, "howdah: no key \"page:1\"\n", r.err)
			}
			require.Equal(t, "1\n", ok("", "del", "other"))
		})
	}
	t.Run("another cache", func(t *testing.T) {
		query(t, url, "SELECT howdah.create_cache('pages')")
		env := []string{"HOWDAH_DATABASE_URL=" + url, "HOWDAH_CACHE=pages"}
		require.Equal(t, 0, execute(t, "", env, "set", "k", "v").code)
		require.Equal(t, "v", execute(t, "", env, "get", "k").out)
		require.Equal(t, 1, execute(t, "", env, "get", "k", "--cache", "db0").code, "flags beat the environment")
	})
}

// The database in the URL of a server is the one that commands work on.
func TestServerDatabase(t *testing.T) {
	t.Parallel()
	p := serve(t, []string{"HOWDAH_PASSWORD=hunter2"}, "--database-url", pgtest.New(t))
	in := func(database string, args ...string) result {
		return execute(t, "", []string{"HOWDAH_SERVER=redis://:hunter2@" + p.redis + database}, args...)
	}
	for database, value := range map[string]string{"": "zero", "/1": "one", "/15": "fifteen"} {
		r := in(database, "set", "k", value)
		require.Zero(t, r.code, r.err)
	}
	require.Equal(t, "1\n", in("/1/", "del", "k").out)
	require.Equal(t, 1, in("/1", "get", "k").code)
	require.Equal(t, "zero", in("/0", "get", "k").out)
	require.Equal(t, "zero", in("/", "get", "k").out)
	require.Equal(t, "fifteen", in("", "get", "k", "--cache", "db15").out)
	require.Equal(t, "fifteen", in("/15", "get", "k", "--cache", "db15").out)

	for database, says := range map[string]string{
		"/16": "from 0 to 15", "/01": "from 0 to 15", "/pages": "from 0 to 15", "/0/1": "from 0 to 15", "?db=1": "must look like", "#1": "must look like",
	} {
		r := in(database, "get", "k")
		require.Equal(t, exitUsage, r.code, database)
		require.Contains(t, r.err, says)
		require.NotContains(t, r.err, "hunter2")
	}
	r := in("/1", "get", "k", "--cache", "db15")
	require.Equal(t, exitUsage, r.code)
	require.Contains(t, r.err, "give one of them")
}

func TestServerPassword(t *testing.T) {
	t.Parallel()
	p := serve(t, []string{"HOWDAH_PASSWORD=hunter2"}, "--database-url", pgtest.New(t))
	server := func(password string) string { return "redis://:" + password + "@" + p.redis }
	require.Equal(t, 0, execute(t, "", nil, "set", "k", "v", "--server", server("hunter2")).code)
	r := execute(t, "", nil, "get", "k", "--server", "redis://"+p.redis)
	require.Equal(t, 1, r.code)
	require.Contains(t, r.err, "asks for a password")
	r = execute(t, "", nil, "get", "k", "--server", server("wrong"))
	require.Equal(t, 1, r.code)
	require.Contains(t, r.err, "refused the password")
}

func TestMigrateCommand(t *testing.T) {
	t.Parallel()
	url := pgtest.Empty(t)
	env := []string{"HOWDAH_DATABASE_URL=" + url}
	run := func(stdin string, args ...string) result {
		return execute(t, stdin, env, append([]string{"migrate"}, args...)...)
	}
	require.Contains(t, run("", "--status").out, "not installed")
	require.Contains(t, run("", "--print").out, "CREATE SCHEMA howdah")
	require.Contains(t, run("", "--status").out, "not installed", "--print changes nothing")
	require.Contains(t, run("").out, "installed schema version")
	require.Contains(t, run("").out, "nothing to do")
	status := run("", "--status").out
	require.Contains(t, status, "to do:      nothing")
	require.Contains(t, status, "db0")
	script := execute(t, "", nil, "migrate", "--print", "--runtime-role", "app").out
	require.Contains(t, script, "CREATE SCHEMA howdah")
	require.Contains(t, script, "SELECT howdah.grant_runtime('app', create_databases => false);")
	require.Equal(t, exitUsage, run("", "--print", "--status").code)

	r := run("another name\n", "--uninstall")
	require.Equal(t, 1, r.code)
	require.Regexp(t, `the schema howdah \(\d+ functions, \d+ tables, \d+ views\), with all sessions and these caches:\n\n  db0\n`, r.out)
	require.Less(t, strings.Count(r.out, "\n"), 8)
	require.Contains(t, r.err, "nothing was removed")
	r = run("", "--uninstall", "--print")
	require.Equal(t, 0, r.code, r.err)
	require.Contains(t, r.out, "view howdah.cache_db0\n")
	require.Contains(t, r.out, "function howdah.maintain(")
	r = run("", "--uninstall")
	require.Equal(t, 1, r.code, "no answer is no consent")
	require.Contains(t, run("", "--status").out, "db0")

	config, err := pgx.ParseConfig(url)
	require.NoError(t, err)
	require.Equal(t, 0, run(config.Database+"\n", "--uninstall").code)
	require.Contains(t, run("", "--status").out, "not installed")
	require.Equal(t, 0, run("").code)
	require.Equal(t, 0, run("", "--uninstall", "--yes").code)
	require.Contains(t, run("", "--status").out, "not installed")
}

// --runtime-role migrates a fresh database before it grants.
func TestRuntimeRoleOfFreshDatabase(t *testing.T) {
	t.Parallel()
	url := pgtest.Empty(t)
	role := newRole(t, url, "howdah_test_fresh")
	r := execute(t, "", nil, "migrate", "--database-url", url, "--runtime-role", "howdah_test_fresh", "--allow-databases")
	require.Zero(t, r.code, r.err)
	require.Contains(t, r.out, "installed schema version")
	require.Contains(t, r.out, "may now use the caches")
	p := serve(t, nil, "--database-url", role)
	for _, database := range []string{"/0", "/1"} { // database 1 is made when it is selected
		r = execute(t, "", nil, "set", "k", "v", "--server", "redis://"+p.redis+database)
		require.Zero(t, r.code, r.err)
	}
	r = execute(t, "", nil, "migrate", "--database-url", url, "--runtime-role", "howdah_test_fresh")
	require.Equal(t, result{out: "role \"howdah_test_fresh\" may now use the caches\n"}, r)
}

// newRole makes a role that may do nothing but log in, and returns its URL of
// the database.
func newRole(t *testing.T, databaseURL, name string) string {
	t.Helper()
	super := pgtest.SuperURL(databaseURL)
	query(t, super, "DROP ROLE IF EXISTS "+name)
	query(t, super, "CREATE ROLE "+name+" LOGIN PASSWORD 'runtime'")
	t.Cleanup(func() {
		conn, err := pgx.Connect(context.Background(), super)
		require.NoError(t, err)
		defer conn.Close(context.Background())
		_, err = conn.Exec(context.Background(), "DROP OWNED BY "+name+"; DROP ROLE "+name)
		require.NoError(t, err)
	})
	config, err := pgx.ParseConfig(pgtest.TCP(databaseURL))
	require.NoError(t, err)
	return "postgres://" + name + ":runtime@" + addr(config) + "/" + config.Database + "?sslmode=disable"
}

// A role with nothing but what --runtime-role gives serves; it cannot change
// the schema.
func TestRuntimeRole(t *testing.T) {
	t.Parallel()
	url := pgtest.New(t)
	runtime := newRole(t, url, "howdah_test_runtime")

	r := execute(t, "", nil, "get", "k", "--database-url", runtime)
	require.Equal(t, 1, r.code)
	require.Contains(t, r.err, "--runtime-role")
	owner, err := pgx.ParseConfig(url)
	require.NoError(t, err)
	mayNot := func() {
		t.Helper()
		r := execute(t, "", nil, "migrate", "--database-url", runtime, "--uninstall", "--yes")
		require.Equal(t, 1, r.code)
		require.Empty(t, r.out, "a role that may not is told so at once")
		require.Contains(t, r.err, fmt.Sprintf("belongs to role %q: connect as that role\n", owner.User))
	}
	mayNot()
	r = execute(t, "", nil, "migrate", "--database-url", url, "--runtime-role", "howdah_test_runtime", "--print")
	require.Equal(t, 0, r.code, r.err)
	query(t, url, r.out) // what is printed is what is needed
	p := serve(t, nil, "--database-url", runtime)
	r = execute(t, "", nil, "set", "k", "v", "--server", "redis://"+p.redis)
	require.Equal(t, 0, r.code, r.err)
	mayNot()
	require.Equal(t, 0, execute(t, "", nil, "migrate", "--database-url", url, "--runtime-role", "howdah_test_runtime").code)
	require.Equal(t, "v", execute(t, "", nil, "get", "k", "--server", "redis://"+p.redis).out)
}

func addr(config *pgx.ConnConfig) string {
	return net.JoinHostPort(config.Host, strconv.Itoa(int(config.Port)))
}

func lines(text string) []string { return strings.Fields(text) }
