package main

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/require"

	"github.com/howdah/howdah/internal/test/pgtest"
)

// withoutOutput are the commands that have no --output, with the reason.
func withoutOutput() map[string]string {
	return map[string]string{
		"howdah":                       "prints help",
		"howdah help":                  "prints help",
		"howdah serve":                 "prints a log, whose format is --log-format",
		"howdah psql":                  "what it prints is psql's",
		"howdah export":                "prints lines of JSON, whose format is --format",
		"howdah alerts":                "prints a file for Prometheus",
		"howdah grafana":               "prints a file for Grafana",
		"howdah sessions":              "prints help",
		"howdah caches":                "prints help",
		"howdah completion":            "prints help",
		"howdah completion bash":       "prints a script",
		"howdah completion fish":       "prints a script",
		"howdah completion powershell": "prints a script",
		"howdah completion zsh":        "prints a script",
	}
}

// Every command prints JSON, or has a reason not to, and is in a group of the help.
func TestOutputOfEveryCommand(t *testing.T) {
	t.Parallel()
	root := newRoot()
	root.InitDefaultHelpCmd()
	root.InitDefaultCompletionCmd()
	reasons := withoutOutput()
	var walk func(*cobra.Command)
	walk = func(cmd *cobra.Command) {
		path := cmd.CommandPath()
		_, excused := reasons[path]
		delete(reasons, path)
		if !excused {
			flag := cmd.Flags().Lookup("output")
			require.NotNil(t, flag, "%s prints: add --output, or a reason to the list", path)
			require.Equal(t, textOutput, flag.DefValue, path)
		}
		if cmd.Parent() == root {
			require.NotEmpty(t, cmd.GroupID, "%s: add it to groups()", path)
		}
		for _, sub := range cmd.Commands() {
			walk(sub)
		}
	}
	walk(root)
	require.Empty(t, reasons, "reasons of commands that do not exist")
}

// jsonLines takes lines of JSON apart.
func jsonLines(t *testing.T, text string) []map[string]any {
	t.Helper()
	var values []map[string]any
	for line := range strings.Lines(text) {
		var value map[string]any
		require.NoError(t, json.Unmarshal([]byte(line), &value), line)
		values = append(values, value)
	}
	return values
}

// The fields of what the commands print are stable: docs/cli.md names them.
func TestOutputJSON(t *testing.T) {
	t.Parallel()
	url := pgtest.New(t)
	env := []string{"HOWDAH_DATABASE_URL=" + url}
	run := func(args ...string) []map[string]any {
		t.Helper()
		r := execute(t, "", env, append(args, "--output", "json")...)
		require.Zero(t, r.code, "%v: %s", args, r.err)
		require.Empty(t, r.err)
		return jsonLines(t, r.out)
	}
	one := func(args ...string) map[string]any {
		t.Helper()
		values := run(args...)
		require.Len(t, values, 1)
		return values[0]
	}
	type object = map[string]any
	require.Equal(t, object{"key": "a<b"}, one("set", "a<b", "v"))
	require.Equal(t, object{"key": "a<b", "value": "v"}, one("get", "a<b"))
	require.Equal(t, object{"key": "a<b", "ttl_ms": nil}, one("ttl", "a<b"))
	require.Equal(t, object{"key": "b"}, one("set", "b", "\xff", "--ttl", "1h"))
	require.Equal(t, object{"key": "Yg==", "value": "/w==", "encoding": "base64"}, one("get", "b"))
	require.Greater(t, one("ttl", "b")["ttl_ms"], 3.59e6)
	require.ElementsMatch(t, []object{{"key": "a<b"}, {"key": "b"}}, run("keys"))
	require.Equal(t, object{"deleted": 1.0}, one("del", "b", "absent"))

	require.ElementsMatch(t, []string{"version", "os", "arch", "go"}, keysOf(one("version")))
	status := one("migrate", "--status")
	require.Equal(t, status["latest"], status["version"])
	require.ElementsMatch(t, []string{"version", "latest", "applied", "pending", "functions", "functions_current", "caches", "partitions", "watches"}, keysOf(status))
	require.Equal(t, object{"from": status["latest"], "to": status["latest"], "applied": []any{}, "functions_replaced": false, "partitions": 0.0}, one("migrate"))
	require.Contains(t, one("migrate", "--print"), "sql")
	require.Contains(t, run("migrate", "--uninstall", "--print"), object{"kind": "view", "name": "howdah.cache_db0"})
	require.ElementsMatch(t, []string{"cache", "expired", "evicted", "bytes", "blocks", "seconds", "more", "held_back"}, keysOf(one("maintain", "--once")))
	require.ElementsMatch(t, []string{"rounds", "expired", "evicted", "sessions"}, keysOf(one("maintain", "--for", "100ms")))
	require.Empty(t, run("sessions", "list"))
	query(t, url, "SELECT howdah.session_create(id => gen_random_uuid(), secret_hash => sha256('a'), user_id => 'ada')")
	session := one("sessions", "list")
	require.Subset(t, keysOf(session), []string{"id", "user", "created_at", "last_seen_at", "expires_at", "deadline", "bytes"})
	require.Equal(t, object{"revoked": 1.0}, one("sessions", "revoke", session["id"].(string)))
	require.Equal(t, object{"revoked": 0.0}, one("sessions", "revoke", "--user", "ada"))
	require.Contains(t, one("stat", "--interval", "100ms", "--once"), "tables")
	removed := one("migrate", "--uninstall", "--yes")
	require.Equal(t, []any{"db0"}, removed["caches"])
}

func keysOf(value map[string]any) []string { return slices.Collect(maps.Keys(value)) }

// Errors have one shape in JSON, also those of the command line.
func TestErrorsInJSON(t *testing.T) {
	t.Parallel()
	url := pgtest.New(t)
	for want, test := range map[string]struct {
		code int
		args []string
	}{
		`no key "k"`:              {1, []string{"get", "k", "--database-url", url, "--output", "json"}},
		`usage: howdah get KEY`:   {2, []string{"get", "--output=json"}},
		`unknown flag: --nothing`: {2, []string{"doctor", "--json", "--nothing"}},
		`unknown flag: --none`:    {2, []string{"get", "k", "--none", "--output", "json"}},
		`unknown flag: --zero`:    {2, []string{"get", "k", "--zero", "--output=json"}},
		`must be text or json`:    {2, []string{"ttl", "k", "--output", "xml"}},
		`cannot reach`:            {1, []string{"stat", "--server", "127.0.0.1:1", "--json"}},
	} {
		r := execute(t, "", nil, test.args...)
		require.Equal(t, test.code, r.code, want)
		require.Empty(t, r.out)
		if strings.HasPrefix(r.err, "howdah: --output") {
			require.Contains(t, r.err, want)
			continue
		}
		said := jsonLines(t, r.err)
		require.Len(t, said, 1)
		require.Contains(t, said[0]["error"], want)
		require.EqualValues(t, test.code, said[0]["exit_code"])
		require.Len(t, said[0], 2)
	}
}

// compact puts JSON of several lines on one.
func compact(t *testing.T, text string) string {
	t.Helper()
	var out bytes.Buffer
	require.NoError(t, json.Compact(&out, []byte(text)))
	return out.String()
}
