package main

import (
	"encoding/json"
	"regexp"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/howdah/howdah/internal/test/pgtest"
)

// A server that reads from memory shows how often.
func TestStatOfMemory(t *testing.T) {
	t.Parallel()
	url := pgtest.New(t)
	query(t, url, "SELECT howdah.alter_cache('db0', near => true)")
	p := serve(t, nil, "--database-url", url, "--near", "10s")
	stat := func(args ...string) string {
		r := execute(t, "", nil, append([]string{"stat", "--server", p.redis, "--interval", "100ms", "--once"}, args...)...)
		require.Zero(t, r.code, r.err)
		return r.out
	}
	var report struct{ Near map[string]any }
	require.Eventually(t, func() bool { // until the change log was polled, and what was read then is kept
		execute(t, "", nil, "get", "k", "--server", p.redis)
		require.NoError(t, json.Unmarshal([]byte(stat("--json")), &report))
		return report.Near["hits"] != 0.0
	}, time.Minute, time.Millisecond)
	require.EqualValues(t, 10_000, report.Near["bound_ms"])
	require.Contains(t, report.Near, "hit")
	require.Regexp(t, `(?m)^ *MEMORY +BOUND +ENTRIES`, stat())
	require.Regexp(t, `(?m)^ *total +10s +\d`, stat())
}

func TestStatOnce(t *testing.T) {
	t.Parallel()
	url := pgtest.New(t)
	p := serve(t, nil, "--database-url", url)
	env := []string{"HOWDAH_DATABASE_URL=" + url}
	for _, key := range []string{"a", "b", "c"} {
		require.Zero(t, execute(t, "", env, "set", key, "v").code)
	}
	for name, args := range map[string][]string{
		"database": {"--database-url", url, "--metrics", "http://" + p.http + "/metrics"},
		"server":   {"--server", p.redis},
	} {
		t.Run(name, func(t *testing.T) {
			args := append([]string{"stat", "--interval", "200ms", "--once"}, args...)
			var r result
			require.Eventually(t, func() bool { // a look on a busy machine may come too late for its figures
				r = execute(t, "", nil, args...)
				return r.code == 0 && regexp.MustCompile(`(?m)^ *db0 .*\b3\b`).MatchString(r.out)
			}, time.Minute, 10*time.Millisecond)
			require.NotContains(t, r.out, "\x1b")
			r = execute(t, "", nil, append(args, "--json")...)
			require.Zero(t, r.code, r.err)
			var report map[string]any
			require.NoError(t, json.Unmarshal([]byte(r.out), &report))
			require.Positive(t, report["seconds"])
		})
	}
	for want, args := range map[string][]string{
		"at least 100ms":      {"--interval", "1ms", "--database-url", url},
		"belongs to":          {"--server", p.redis, "--metrics", "http://127.0.0.1/"},
		"cannot reach":        {"--server", "127.0.0.1:1"},
		"cannot read":         {"--database-url", url, "--metrics", "http://127.0.0.1:1/"},
		"no Howdah schema":    {"--database-url", pgtest.Empty(t)},
		"must be a duration ": {"--interval", "soon"},
	} {
		r := execute(t, "", nil, append([]string{"stat"}, args...)...)
		require.NotZero(t, r.code, want)
		require.Contains(t, r.err, want)
	}
}
