package main

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/howdah/howdah/internal/test/pgtest"
)

func TestCaches(t *testing.T) {
	t.Parallel()
	url := pgtest.New(t)
	env := []string{"HOWDAH_DATABASE_URL=" + url}
	do := func(stdin string, args ...string) result {
		return execute(t, stdin, env, append([]string{"caches"}, args...)...)
	}
	ok := func(args ...string) string {
		t.Helper()
		r := do("", args...)
		require.Zero(t, r.code, r.err)
		require.Empty(t, r.err)
		return r.out
	}
	show := func(name string) map[string]any {
		t.Helper()
		return jsonLines(t, ok("show", name, "--output", "json"))[0]
	}
	all := []string{
		"--durability", "async", "--default-ttl", "10m", "--max-ttl", "3600", "--ttl-jitter", "10", "--max-bytes", "1GiB", "--max-entries", "1000",
		"--eviction", "allkeys-lfu", "--fillfactor", "70", "--prefix-index", "--near", "--log-keys",
	}
	require.Equal(t, "created cache pages\n", ok(append([]string{"create", "pages"}, all...)...))
	want := map[string]any{
		"name": "pages", "durability": "async", "default_ttl": "10m0s", "max_ttl": "1h0m0s", "ttl_jitter": 10.0,
		"max_bytes": float64(1 << 30), "max_entries": 1000.0, "eviction": "allkeys-lfu", "fillfactor": 70.0,
		"prefix_index": true, "near": true, "log_keys": true, "entries": 0.0, "exact": true, "bytes": 0.0,
	}
	made := show("pages")
	require.Positive(t, made["disk_bytes"])
	delete(made, "disk_bytes")
	require.Equal(t, want, made)
	require.Regexp(t, `(?m)^max-bytes +1073741824$`, ok("show", "pages"))

	// What is not named stays; what is reset is the default.
	require.Equal(t, "changed cache pages\n", ok("alter", "pages", "--max-entries", "5", "--reset", "default-ttl,max_bytes", "--log-keys=false"))
	changed := show("pages")
	require.Equal(t, []any{5.0, "none", 0.0, false, "1h0m0s", "allkeys-lfu"},
		[]any{changed["max_entries"], changed["default_ttl"], changed["max_bytes"], changed["log_keys"], changed["max_ttl"], changed["eviction"]})

	for _, key := range []string{"a", "b", "c"} {
		require.Zero(t, execute(t, "", env, "set", key, "v", "--cache", "pages").code)
	}
	require.Regexp(t, `(?m)^CACHE .*\ndb0 +unlogged +0 .*\npages +async +3 +\d+ +\d+ +none +5 +none$`, ok("list"))
	require.Len(t, jsonLines(t, ok("list", "--output", "json")), 2)

	t.Run("flush and drop ask", func(t *testing.T) {
		for answer, says := range map[string]string{"": "no answer", "db0\n": "that is not the name of the cache", "yes\n": "that is not"} {
			for _, verb := range []string{"flush", "drop"} {
				r := do(answer, verb, "pages")
				require.Equal(t, exitFailed, r.code)
				require.Contains(t, r.err, "3 entries of pages"+map[string]string{"flush": "", "drop": ", and drops the cache"}[verb]+". This cannot be undone.\nType the name of the cache (pages) to go on: ")
				require.Contains(t, r.err, says)
				require.Contains(t, r.err, "nothing was changed")
				require.Empty(t, r.out)
			}
		}
		require.Equal(t, 3.0, show("pages")["entries"])
		r := do("pages\n", "flush", "pages", "--output", "json")
		require.Zero(t, r.code, r.err)
		require.Equal(t, []map[string]any{{"cache": "pages", "entries": 3.0, "exact": true}}, jsonLines(t, r.out))
		require.Equal(t, 0.0, show("pages")["entries"])

		require.Zero(t, execute(t, "", env, "set", "a", "v", "--cache", "pages").code)
		require.Equal(t, exitFailed, do("", "alter", "pages", "--durability", "unlogged", "--empty").code)
		require.Equal(t, "changed the cache and removed 1 entry\n", ok("alter", "pages", "--durability", "unlogged", "--empty", "--yes"))
		require.Equal(t, []any{"unlogged", 0.0}, []any{show("pages")["durability"], show("pages")["entries"]})
		require.Equal(t, "dropped the cache with 0 entries\n", ok("drop", "pages", "--yes"))
	})

	for name, test := range map[string]struct {
		code int
		want string
		args []string
	}{
		"unknown":       {2, "unknown command", []string{"lst"}},
		"exists":        {1, `"howdah caches alter db0"`, []string{"create", "db0"}},
		"name":          {2, "name", []string{"create", "No!"}},
		"setting":       {1, "eviction", []string{"create", "c", "--eviction", "lru"}},
		"absent":        {1, "there is no cache \"pages\"; there are db0", []string{"show", "pages"}},
		"flush absent":  {1, "there is no cache", []string{"flush", "pages", "--yes"}},
		"alter absent":  {1, "pages", []string{"alter", "pages", "--max-entries", "1"}},
		"alter what":    {2, "nothing to change", []string{"alter", "db0"}},
		"reset what":    {2, "is not a setting: give one of durability", []string{"alter", "db0", "--reset", "name"}},
		"both":          {2, "not both", []string{"alter", "db0", "--near", "--reset", "near"}},
		"yes alone":     {2, "--yes belongs to --empty", []string{"alter", "db0", "--near", "--yes"}},
		"which":         {2, "usage: howdah caches drop NAME", []string{"drop"}},
		"keys, no near": {1, "near", []string{"create", "c", "--log-keys"}},
	} {
		t.Run(name, func(t *testing.T) {
			r := do("", test.args...)
			require.Equal(t, test.code, r.code, r.err)
			require.Contains(t, r.err, test.want)
			require.Empty(t, r.out)
		})
	}
	t.Run("a runtime role", func(t *testing.T) {
		role := newRole(t, url, "howdah_test_caches")
		require.Zero(t, execute(t, "", env, "migrate", "--runtime-role", "howdah_test_caches").code)
		r := execute(t, "", nil, "caches", "create", "mine", "--database-url", role)
		require.Equal(t, exitFailed, r.code)
		require.Contains(t, r.err, "only the owner makes, changes and drops caches: connect as the owner of the schema")
		require.NotContains(t, r.err, "--runtime-role")
		require.Contains(t, execute(t, "", nil, "caches", "list", "--database-url", role).out, "db0")
	})
}

// Shells complete commands, flags, and the names of caches.
func TestCompletion(t *testing.T) {
	t.Parallel()
	url := pgtest.New(t)
	query(t, url, "SELECT howdah.create_cache('pages')")
	env := []string{"HOWDAH_DATABASE_URL=" + url}
	for shell, want := range map[string]string{
		"bash": "complete -o default -F __start_howdah howdah", "zsh": "#compdef howdah", "fish": "complete -c howdah", "powershell": "Register-ArgumentCompleter",
	} {
		r := execute(t, "", nil, "completion", shell)
		require.Zero(t, r.code, r.err)
		require.Contains(t, r.out, want)
	}
	complete := func(args ...string) string {
		t.Helper()
		r := execute(t, "", env, append([]string{"__complete"}, args...)...)
		require.Zero(t, r.code, r.err)
		return r.out
	}
	require.Contains(t, complete("ca"), "caches\t")
	require.Equal(t, "db0\npages\n:4\n", complete("caches", "drop", ""))
	require.Equal(t, "pages\n:4\n", complete("get", "k", "--cache", "pa"))
	require.Equal(t, ":4\n", complete("caches", "drop", "pages", ""), "one argument only")
	require.Equal(t, ":4\n", complete("caches", "create", ""))
	require.Equal(t, "text\njson\n:4\n", complete("ttl", "--output", ""))
	require.Contains(t, complete("caches", "alter", "db0", "--eviction", ""), "volatile-ttl\n")
	// A database that does not answer completes nothing, without a word.
	r := execute(t, "", nil, "__complete", "caches", "drop", "--database-url", "postgres://u@127.0.0.1:1/d", "")
	require.Equal(t, ":4\n", r.out)
}
