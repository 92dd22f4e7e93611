package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/howdah/howdah/internal/test/pgtest"
)

func TestMigratePartitions(t *testing.T) {
	t.Parallel()
	env := []string{"HOWDAH_DATABASE_URL=" + pgtest.Empty(t)}
	r := succeed(t, "", env, "migrate", "--partitions", "4")
	require.Regexp(t, `^installed schema version \d+\ndivided the keys of each cache into 4 partitions\n$`, r.out)
	status := succeed(t, "", env, "migrate", "--status").out
	require.Contains(t, status, "caches:     db0\npartitions: 4\n")
	require.EqualValues(t, 4, jsonLines(t, succeed(t, "", env, "migrate", "--status", "--output", "json").out)[0]["partitions"])
	require.Contains(t, succeed(t, "", env, "migrate").out, "nothing to do")
	again := jsonLines(t, succeed(t, "", env, "migrate", "--partitions", "4", "--output", "json").out)[0]
	require.EqualValues(t, 4, again["partitions"])
	require.Equal(t, again["from"], again["to"])
	require.Contains(t, succeed(t, "", nil, "migrate", "--print", "--partitions", "8").out, "howdah_internal._divide(8)")

	plain := []string{"HOWDAH_DATABASE_URL=" + pgtest.New(t)}
	succeed(t, "", plain, "set", "k", "v")
	for wrong, says := range map[string]string{
		"--partitions 8":                        "divided into 4 partitions",
		"--partitions 0":                        "--partitions wants 2, 4, 8, 16, 32 or 64",
		"--partitions 4 --status":               "does not go with",
		"--partitions 4 --uninstall --print":    "does not go with",
		"--partitions 6":                        "6 is no number of partitions",
		"--partitions 6 --print":                "6 is no number of partitions",
		"--partitions 6 --print --database-url": "6 is no number of partitions", // of none
	} {
		args := append([]string{"migrate"}, strings.Fields(wrong)...)
		with := env
		if strings.HasSuffix(wrong, "url") {
			args, with = args[:len(args)-1], nil
		}
		r := execute(t, "", with, args...)
		require.NotZero(t, r.code, wrong)
		require.Contains(t, r.err, says, wrong)
		require.Len(t, strings.Split(strings.TrimSpace(r.err), "\n"), 1, wrong)
	}
	r = execute(t, "", plain, "migrate", "--partitions", "4")
	require.Equal(t, exitFailed, r.code)
	require.Contains(t, r.err, "'db0' holds entries")
	require.Equal(t, "v", succeed(t, "", plain, "get", "k").out)
}

// The commands show whole caches, and work on all their partitions.
func TestCommandsOnPartitions(t *testing.T) {
	t.Parallel()
	env := []string{"HOWDAH_DATABASE_URL=" + pgtest.Divided(t, 4)}
	do := func(args ...string) string {
		t.Helper()
		out := succeed(t, "", env, args...).out
		require.NotRegexp(t, `\w/0\d`, out, "names of partitions are not for people: %v", args)
		return out
	}
	fill(t, env, "page:", 100)
	require.Equal(t, "text 7", do("get", "page:7"))
	do("set", "page:7", "other", "--ttl", "1h")
	require.Equal(t, "other", do("get", "page:7"))
	require.Regexp(t, `^(1h|59m)`, do("ttl", "page:7"))
	require.Len(t, lines(do("keys")), 100)
	require.Len(t, lines(do("keys", "page:1*")), 11)
	require.Equal(t, "3\n", do("del", "page:1", "page:2", "page:3", "absent"))

	do("caches", "create", "pages", "--max-entries", "400", "--durability", "async")
	do("caches", "alter", "pages", "--max-entries", "800")
	shown := do("caches", "show", "pages")
	require.Regexp(t, `(?m)^max-entries +800$`, shown)
	require.Regexp(t, `(?m)^durability +async$`, shown)
	require.Regexp(t, `(?m)^db0 +unlogged +97 `, do("caches", "list"))
	require.Len(t, strings.Split(strings.TrimSpace(do("caches", "list")), "\n"), 3)

	require.Regexp(t, `(?m)^db0 .*\b97 +4 of \d+-\d+ `, do("stat"))
	var report struct {
		Tables []struct {
			Name       string
			Entries    int64
			MaxEntries int64 `json:"max_entries"`
			Partitions *struct{ Number, Smallest, Largest int64 }
		}
	}
	require.NoError(t, json.Unmarshal([]byte(do("stat", "--output", "json")), &report))
	require.Len(t, report.Tables, 3)
	db0 := report.Tables[0]
	require.Equal(t, "db0", db0.Name)
	require.EqualValues(t, 97, db0.Entries)
	require.EqualValues(t, 4, db0.Partitions.Number)
	require.Positive(t, db0.Partitions.Smallest)
	require.Less(t, db0.Partitions.Smallest, db0.Partitions.Largest)
	require.EqualValues(t, 800, report.Tables[1].MaxEntries)
	require.Nil(t, report.Tables[2].Partitions, "sessions are not divided")

	require.Regexp(t, `97 entries`, do("bigkeys"))
	require.Regexp(t, `page:`, do("bigkeys", "--prefix", ""))
	doctor := execute(t, "", env, "doctor", "--verbose").out // it finds fault with the server of tests
	require.Contains(t, doctor, "The keys of each cache are divided into 4 partitions.")
	require.Contains(t, doctor, "Examined 3 Howdah tables (howdah.cache_db0, howdah.cache_pages, howdah.session)")
	require.NotContains(t, doctor, "partition-")
	require.Contains(t, execute(t, "", env, "doctor", "--cache", "pages").out, "Examined 1 Howdah table (howdah.cache_pages)")
	require.Contains(t, do("migrate", "--status"), "caches:     db0, pages\n")

	flushed := succeed(t, "", env, "caches", "flush", "db0", "--yes").out
	require.Equal(t, "removed 97 entries\n", flushed)
	require.Empty(t, do("keys"))
	do("caches", "drop", "pages", "--yes")
	require.NotContains(t, do("caches", "list"), "pages")
	require.Equal(t, exitFailed, execute(t, "", env, "keys", "--cache", "db0/00").code)
	require.Contains(t, do("migrate", "--uninstall", "--yes"), "removed")
}

// Upkeep goes through the partitions.
func TestMaintainPartitions(t *testing.T) {
	t.Parallel()
	url := pgtest.Divided(t, 4)
	env := []string{"HOWDAH_DATABASE_URL=" + url}
	fill(t, env, "page:", 40)
	query(t, url, `DO $$ DECLARE t text; BEGIN
		FOR t IN SELECT howdah_internal._table(c) FROM howdah_internal.cache AS c LOOP
			EXECUTE format('UPDATE %s SET expires_at = now() - interval ''1 s''', t);
		END LOOP; END $$`)
	for expired := 0.0; expired < 40; { // a round may run out of time before the last partition
		round := jsonLines(t, succeed(t, "", env, "maintain", "--once", "--cache", "db0", "--output", "json").out)
		require.Len(t, round, 1)
		require.Equal(t, "db0", round[0]["cache"])
		expired += round[0]["expired"].(float64)
	}
	query(t, url, `DO $$ BEGIN
		ASSERT (SELECT sum(expired) FROM howdah.upkeep WHERE cache LIKE 'db0/__') = 40; END $$`)
}

// withoutTTLs drops what differs between exports of the same entries.
func withoutTTLs(lines []string) (rest []string) {
	for _, line := range lines {
		rest = append(rest, regexp.MustCompile(`,"(ttl_ms|expires_at)":[^,}]*`).ReplaceAllString(line, ""))
	}
	return rest
}

// What is exported from a plain database is imported into one with partitions, and back.
func TestExportAndImportPartitions(t *testing.T) {
	t.Parallel()
	plain := []string{"HOWDAH_DATABASE_URL=" + pgtest.New(t)}
	parts := []string{"HOWDAH_DATABASE_URL=" + pgtest.Divided(t, 4)}
	back := []string{"HOWDAH_DATABASE_URL=" + pgtest.New(t)}
	fill(t, plain, "page:", 300)
	source := serve(t, nil, "--database-url", strings.TrimPrefix(plain[0], "HOWDAH_DATABASE_URL="))
	for _, command := range [][]string{{"HSET", "h", "a", "1"}, {"RPUSH", "l", "x", "y"}} {
		succeed(t, "", []string{"HOWDAH_SERVER=redis://" + source.redis}, append([]string{"cli"}, command...)...)
	}
	exported := func(env []string) (file string, entries []string) {
		file = filepath.Join(t.TempDir(), "all")
		succeed(t, "", env, "export", "--file", file)
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		for line := range strings.Lines(string(text)) {
			if strings.Contains(line, `"key"`) {
				entries = append(entries, line)
			}
		}
		return file, entries
	}
	file, entries := exported(plain)
	require.Len(t, entries, 302)
	require.Contains(t, succeed(t, "", parts, "import", file).out, "302 stored")
	require.Contains(t, succeed(t, "", parts, "import", file).out, "302 kept")
	file, same := exported(parts)
	require.ElementsMatch(t, withoutTTLs(entries), withoutTTLs(same))
	require.Equal(t, "text 7", succeed(t, "", parts, "get", "page:7").out)
	require.Contains(t, succeed(t, "", []string{"HOWDAH_DATABASE_URL=" + pgtest.New(t)}, "import", file).out, "302 stored")

	// A server of partitions is a source too, which is read by SCAN, interrupted or not.
	p := serve(t, nil, "--database-url", strings.TrimPrefix(parts[0], "HOWDAH_DATABASE_URL="))
	state := filepath.Join(t.TempDir(), "state")
	r := succeed(t, "", back, "import", "redis://"+p.redis, "--state", state, "--page", "7")
	require.Contains(t, r.out, "302 stored")
	r = succeed(t, "", back, "import", "redis://"+p.redis, "--state", state, "--verify")
	require.Contains(t, r.out, "302 equal, 0 missing")
}

// Metrics, the HTTP API and the console show whole caches.
func TestServePartitions(t *testing.T) {
	t.Parallel()
	url := pgtest.Divided(t, 4)
	env := []string{"HOWDAH_DATABASE_URL=" + url}
	fill(t, env, "page:", 50)
	query(t, url, "VACUUM (ANALYZE)")
	p := serve(t, nil, "--database-url", url)
	server := []string{"HOWDAH_SERVER=redis://" + p.redis}
	succeed(t, "", server, "set", "{a}:1", "v")
	require.Equal(t, "v", succeed(t, "", server, "get", "{a}:1").out)
	require.Len(t, lines(succeed(t, "", server, "keys").out), 51)
	page := func(path string) string {
		response, err := http.Get("http://" + p.http + path)
		require.NoError(t, err)
		defer response.Body.Close()
		body, err := io.ReadAll(response.Body)
		require.NoError(t, err)
		require.Equal(t, http.StatusOK, response.StatusCode, "%s: %s", path, body)
		require.NotRegexp(t, `db0(/|%2F)0\d`, string(body), "%s names a partition", path)
		return string(body)
	}
	var metrics string
	require.Eventually(t, func() bool { // the database has a second for its part
		metrics = page("/metrics")
		return strings.Contains(metrics, "\nhowdah_database_up 1\n")
	}, time.Minute, 100*time.Millisecond)
	require.Regexp(t, `howdah_cache_table_bytes\{cache="db0"\} [1-9]`, metrics)
	require.Regexp(t, `howdah_keys_total\{cache="db0",op="read",result="hit"\} [1-9]`, metrics)
	require.Contains(t, metrics, `howdah_cache_entries{cache="db0"} 50`+"\n")
	var caches struct{ Caches []struct{ Name string } }
	require.NoError(t, json.Unmarshal([]byte(page("/v1/caches")), &caches))
	require.Len(t, caches.Caches, 1)
	require.Equal(t, "db0", caches.Caches[0].Name)
	require.Contains(t, page("/v1/caches/db0"), `"eviction"`)
	for _, path := range []string{
		"", "caches/db0", "caches/db0/entries", "caches/db0/settings", "doctor", "cost", "clients", "slow", "removals", "near", "watches",
		"scripts", "servers",
	} {
		page("/console/" + path)
	}
	require.Regexp(t, `Partitions</dt><dd>4, of \d+ to \d+ entries<`, page("/console/caches/db0"))
	require.Contains(t, page("/console/caches/db0/entries"), "page:")
	require.Contains(t, succeed(t, "", env, "stat", "--metrics", fmt.Sprintf("http://%s/metrics", p.http)).out, "db0")
}

// What docs/scale-out.md says of commands with several keys.
func TestCommandsAcrossPartitions(t *testing.T) {
	t.Parallel()
	p := serve(t, nil, "--database-url", pgtest.Divided(t, 4))
	do := func(args ...string) string {
		r := execute(t, "", []string{"HOWDAH_SERVER=redis://" + p.redis}, append([]string{"cli"}, args...)...)
		return strings.TrimSpace(r.out + r.err)
	}
	keys := strings.Fields("a b c d e f g h i j k l m n o p") // not all of one partition
	with := func(value string, command ...string) []string {
		for _, key := range keys {
			command = append(command, key)
			if value != "" {
				command = append(command, value)
			}
		}
		return command
	}
	require.Equal(t, "OK", do(with("v", "MSET")...))
	require.Equal(t, strings.Repeat("v\n", 15)+"v", do(with("", "MGET")...))
	for _, command := range []string{"EXISTS", "TOUCH"} {
		require.Equal(t, "16", do(with("", command)...), command)
	}
	require.Equal(t, "16", do("DBSIZE"))
	require.Contains(t, do(with("", "SUNION")...), "WRONGTYPE", "the values were read")
	require.ElementsMatch(t, keys, lines(do("KEYS", "*")))
	require.Equal(t, "16", do(with("", "UNLINK")...))
	for _, command := range [][]string{
		with("v", "MSETNX"), with("", "SUNIONSTORE", "q"), append(with("", "BLPOP"), "0.01"),
		with("", "EVAL", "return redis.call('set', KEYS[1], 'v')", "16"), with("", "EVAL", "for _, k in ipairs(ARGV) do redis.call('set', k, 'v') end", "0"),
	} {
		require.Contains(t, do(command...), "CROSSSLOT", command)
	}
	for _, script := range []string{"MULTI\nSET " + strings.Join(keys, " v\nSET ") + " v", "WATCH " + strings.Join(keys, " ") + "\nMULTI\nSET a v"} {
		r := execute(t, script+"\nEXEC\n", []string{"HOWDAH_SERVER=redis://" + p.redis}, "cli")
		require.Contains(t, r.out+r.err, "CROSSSLOT")
	}
	require.Equal(t, "0", do("DBSIZE"), "nothing was done")
	require.Equal(t, "1", do("MSETNX", "{t}a", "1", "b{t}", "2"))
	require.Equal(t, "OK", do("RENAME", "{t}a", "{t}c"))
	require.Contains(t, execute(t, "MULTI\nSET {t}d 1\nGET {t}c\nEXEC\n", []string{"HOWDAH_SERVER=redis://" + p.redis}, "cli").out, "OK\n1")
	require.Equal(t, "OK", do("FLUSHDB"))
	require.Equal(t, "0", do("DBSIZE"))
}

// A role that runs applications uses the partitions that there are, and those of caches that
// are made later; it does not divide.
func TestRuntimeRoleOnPartitions(t *testing.T) {
	t.Parallel()
	url := pgtest.Empty(t)
	env := []string{"HOWDAH_DATABASE_URL=" + newRole(t, url, "howdah_test_parts")}
	r := succeed(t, "", nil, "migrate", "--database-url", url, "--partitions", "4", "--runtime-role", "howdah_test_parts", "--allow-databases")
	require.Contains(t, r.out, "into 4 partitions\nrole")
	succeed(t, "", nil, "caches", "create", "pages", "--database-url", url)
	for _, cache := range []string{"db0", "pages"} {
		for _, key := range []string{"a", "b", "c", "d", "e"} {
			succeed(t, "", env, "set", key, "v", "--cache", cache)
			require.Equal(t, "v", succeed(t, "", env, "get", key, "--cache", cache).out)
		}
		require.Len(t, lines(succeed(t, "", env, "keys", "--cache", cache).out), 5)
	}
	require.NotContains(t, succeed(t, "", env, "stat").out, "\nhidden ")
	require.Contains(t, succeed(t, "", env, "bigkeys").out, "5 entries")
	require.Contains(t, succeed(t, "", env, "caches", "list").out, "pages")
	succeed(t, "", env, "maintain", "--once")
	succeed(t, "", env, "caches", "flush", "pages", "--yes")
	require.NotContains(t, execute(t, "", env, "doctor", "--verbose").out, "the partitions: not-checked")
	p := serve(t, nil, "--database-url", strings.TrimPrefix(env[0], "HOWDAH_DATABASE_URL="))
	succeed(t, "", nil, "set", "k", "v", "--server", "redis://"+p.redis+"/5")
	require.Regexp(t, `(?m)^db5 .* 4 of 0-1 `, succeed(t, "", env, "stat").out)
	refused := execute(t, "", env, "migrate", "--partitions", "8")
	require.Equal(t, exitFailed, refused.code)
	require.Contains(t, refused.err, "divided into 4 partitions")
}

// Each partition keeps its share of the budget, and all of them together the budget.
func TestBudgetOfPartitions(t *testing.T) {
	t.Parallel()
	url := pgtest.Divided(t, 4)
	env := []string{"HOWDAH_DATABASE_URL=" + url}
	succeed(t, "", env, "caches", "create", "small", "--max-entries", "2000")
	var entries strings.Builder
	for i := range 8000 {
		fmt.Fprintf(&entries, `{"cache":"small","key":"k%d","type":"string","value":"v"}`+"\n", i)
	}
	succeed(t, entries.String(), env, "import", "-")
	var evicted float64
	for more := true; more; {
		more = false
		for _, round := range jsonLines(t, succeed(t, "", env, "maintain", "--once", "--cache", "small", "--output", "json").out) {
			evicted += round["evicted"].(float64)
			more = more || round["more"].(bool)
		}
	}
	left := len(lines(succeed(t, "", env, "keys", "--cache", "small").out))
	require.EqualValues(t, 8000-left, evicted)
	require.InDelta(t, 1900, left, 150, "between about 90 %% and 100 %%")
	// The running count of PostgreSQL is wrong for a while where autovacuum came between the rounds.
	query(t, pgtest.SuperURL(url), "ANALYZE")
	var report struct {
		Tables []struct {
			Name       string
			Used       float64
			Partitions struct{ Smallest, Largest int64 }
		}
	}
	require.NoError(t, json.Unmarshal([]byte(succeed(t, "", env, "stat", "--output", "json").out), &report))
	small := report.Tables[1]
	require.Equal(t, "small", small.Name)
	require.LessOrEqual(t, small.Used, 1.05)
	require.InDelta(t, 475, small.Partitions.Smallest, 75)
	require.InDelta(t, 475, small.Partitions.Largest, 75)
}

// A server that runs while its database is divided answers with errors, loses nothing, and
// works after a restart.
func TestDividedUnderAServer(t *testing.T) {
	t.Parallel()
	url := pgtest.New(t)
	p := serve(t, nil, "--database-url", url)
	server := []string{"HOWDAH_SERVER=redis://" + p.redis}
	succeed(t, "", server, "set", "k", "v")
	succeed(t, "", server, "del", "k")
	succeed(t, "", nil, "migrate", "--database-url", url, "--partitions", "4")
	r := execute(t, "", server, "set", "k", "v")
	require.Equal(t, exitFailed, r.code)
	require.Contains(t, r.err, "no cache")
	p = serve(t, nil, "--database-url", url)
	succeed(t, "", []string{"HOWDAH_SERVER=redis://" + p.redis}, "set", "k", "v")
	require.Equal(t, "v", succeed(t, "", []string{"HOWDAH_DATABASE_URL=" + url}, "get", "k").out)
}
