//go:build citus

package main

import (
	"fmt"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/howdah/howdah/internal/test/pgtest"
)

// lookedAt expects that commands that show caches show all servers, and say which one is
// away.
func lookedAt(t *testing.T, c *pgtest.Citus, env []string) {
	t.Helper()
	const entries = 12
	for i := range entries {
		succeed(t, "", env, "set", "--database-url", strings.TrimPrefix(env[0], "HOWDAH_DATABASE_URL="), fmt.Sprint("user:", i), "x")
	}
	object := func(args ...string) map[string]any {
		t.Helper()
		return jsonLines(t, succeed(t, "", env, append(args, "--output", "json")...).out)[0]
	}
	db0 := func(report map[string]any) map[string]any { return report["tables"].([]any)[0].(map[string]any) }
	worker := func(report map[string]any) map[string]any { return report["servers"].([]any)[1].(map[string]any) }
	require.EqualValues(t, entries, db0(object("stat", "--once"))["entries"])
	require.EqualValues(t, entries, db0(object("top", "--once")["report"].(map[string]any))["entries"])
	require.EqualValues(t, entries, object("bigkeys")["entries"])
	require.EqualValues(t, entries, object("caches", "show", "db0")["entries"])
	require.Contains(t, succeed(t, "", env, "stat", "--once").out, "servers  2, all answer")
	held := int(worker(object("stat", "--once"))["entries"].(float64))
	require.Equal(t, entries, held)

	status := succeed(t, "", env, "migrate", "--citus", "--status").out
	require.Contains(t, status, "partitions: 4\n")
	require.Contains(t, status, "servers:    2\n")
	require.Regexp(t, `, coordinator: schema version (\d+) of \d+, partitions none\n`, status)
	require.Regexp(t, `, worker: schema version (\d+) of \d+, partitions 0,1,2,3\n`, status)
	require.Contains(t, status, "to do:      nothing\n")
	require.EqualValues(t, 4, object("migrate", "--citus", "--status")["partitions"])

	node := c.Nodes()[1]
	node.Stop("fast")
	require.EqualValues(t, 0, db0(object("stat", "--once"))["entries"])
	require.False(t, worker(object("stat", "--once"))["up"].(bool))
	require.Contains(t, succeed(t, "", env, "stat", "--once").out, "servers  1 of 2 do not answer, and their share is missing: 127.0.0.1:")
	require.Contains(t, succeed(t, "", env, "bigkeys").out, "missing        what these servers hold, which do not answer: 127.0.0.1:")
	require.EqualValues(t, 0, object("bigkeys")["entries"])
	away := worker(object("migrate", "--citus", "--status"))
	require.EqualValues(t, 0, away["version"])
	require.Contains(t, away["problem"], "it does not answer")
	require.Len(t, away["partitions"], 4)
	require.Contains(t, succeed(t, "", env, "migrate", "--citus", "--status").out, "worker: schema not known")
	node.Start()
	require.Contains(t, succeed(t, "", env, "stat", "--once").out, "servers  2, all answer")
	succeed(t, "", env, "caches", "flush", "db0", "--yes")
}

func TestCitusServers(t *testing.T) {
	t.Parallel()
	c := pgtest.StartCitus(t, 1)
	c.Role("app")
	url, worker := pgtest.TCP(c.Coordinator().URL()), pgtest.TCP(c.Nodes()[1].URL())
	env := []string{"HOWDAH_DATABASE_URL=" + url}
	require.Contains(t, succeed(t, "", env, "migrate", "--citus", "--status").out, "coordinator: schema not installed, partitions none")
	r := succeed(t, "", env, "migrate", "--citus", "--partitions", "4")
	require.Equal(t, 2, strings.Count(r.out, "installed schema version"))
	require.Contains(t, r.out, "each cache has 4 partitions on 2 servers")
	lines := jsonLines(t, succeed(t, "", env, "migrate", "--citus", "--runtime-role", "app", "--output", "json").out)
	require.Len(t, lines, 2)
	require.EqualValues(t, 0, lines[0]["number"])
	require.EqualValues(t, "app", lines[1]["runtime_role"])

	succeed(t, "", env, "caches", "create", "pages", "--max-entries", "1000")
	succeed(t, "", env, "caches", "alter", "pages", "--max-entries", "2000")
	require.Contains(t, succeed(t, "", env, "caches", "list").out, "pages")
	succeed(t, "", env, "caches", "flush", "pages", "--yes")
	succeed(t, "", env, "caches", "drop", "pages", "--yes")
	lookedAt(t, c, env)
	succeed(t, "", env, "maintain", "--once")

	out := succeed(t, "", env, "servers").out
	require.Contains(t, out, "0,1,2,3")
	servers := jsonLines(t, succeed(t, "", env, "servers", "--output", "json").out)
	require.Len(t, servers, 2)
	require.Equal(t, "coordinator", servers[0]["role"])
	require.Empty(t, servers[1]["problem"])

	node := pgtest.TCP(c.StartNode().URL())
	address := node[strings.Index(node, "@")+1:]
	address = address[:strings.Index(address, "/")]
	super := []string{"HOWDAH_DATABASE_URL=" + pgtest.SuperURL(url)}
	require.Contains(t, succeed(t, "", super, "servers", "add", address).out, "is a server of this database")
	require.Equal(t, 2, strings.Count(succeed(t, "", env, "rebalance", "--dry-run").out, "would move partition"))
	require.Contains(t, succeed(t, "", env, "rebalance").out, "0 left")
	require.Contains(t, succeed(t, "", env, "rebalance").out, "nothing to move")

	for wrong, says := range map[string]string{
		"migrate --citus --print":                                       "does not go with",
		"migrate --citus --database-url " + worker:                      "this server is not the coordinator",
		"servers --database-url " + worker:                              "this server is not the coordinator",
		"servers add nowhere":                                           "is no address",
		"servers add " + address + " --database-url x":                  "",
		"rebalance --drain " + address:                                  "only a superuser",
		"migrate --citus --partitions 8":                                "divided into 4 partitions",
		"migrate --citus --database-url " + url + "&pooler=transaction": "without pooler=transaction",
		"migrate --runtime-role app":                                    "howdah migrate --citus",
	} {
		r := execute(t, "", env, strings.Fields(wrong)...)
		require.NotZero(t, r.code, wrong)
		require.Contains(t, r.err, says, wrong)
		require.Len(t, strings.Split(strings.TrimSpace(r.err), "\n"), 1, wrong)
	}
	report := execute(t, "", env, "doctor").out
	require.Contains(t, report, "1 error, 0 warnings")
	require.Contains(t, report, "fsync-off")
	require.Contains(t, execute(t, "", []string{"HOWDAH_DATABASE_URL=" + worker}, "doctor", "--verbose").out, "citus-worker")
	conn, err := pgx.Connect(t.Context(), pgtest.LocalURL(worker))
	require.NoError(t, err)
	defer conn.Close(t.Context())
	_, err = conn.Exec(t.Context(), "UPDATE howdah_internal.cache SET fillfactor = 40")
	require.NoError(t, err)
	report = execute(t, "", env, "doctor").out
	require.Contains(t, report, "server-unfit")
	require.Contains(t, report, "it knows other caches, or other settings")
	r = execute(t, "", env, "servers")
	require.Equal(t, 1, r.code)
	require.Contains(t, r.err, "not all servers fit: 127.0.0.1:")
	succeed(t, "", env, "migrate", "--citus")
	require.NotContains(t, execute(t, "", env, "doctor").out, "server-unfit")
}
