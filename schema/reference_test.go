package schema_test

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/howdah/howdah/schema"
)

const referenceFile = "../docs/sql.md"

// sections order the functions of the reference.
var sections = []struct {
	title     string
	functions []string
}{
	{"Reading", []string{"get", "get_text", "get_json", "get_entry", "get_entry_text", "get_many", "get_many_text", "ttl", "ttl_text"}},
	{"Reading collections", []string{"type", "type_text", "hgetall", "hgetall_text", "lrange", "lrange_text", "smembers", "smembers_text", "zrange", "zrange_text"}},
	{"Writing", []string{
		"set", "set_text", "set_json", "set_many", "set_many_text", "add", "add_text", "replace", "replace_text",
		"compare_and_set", "compare_and_set_text", "increment", "increment_text",
		"touch", "touch_text", "expire", "expire_text", "persist", "persist_text",
	}},
	{"Removing", []string{
		"delete", "delete_text", "delete_many", "delete_many_text", "delete_prefix", "delete_prefix_text",
		"get_and_delete", "get_and_delete_text", "flush",
	}},
	{"Loading", []string{"claim", "claim_text", "fulfil", "fulfil_text", "release", "release_text"}},
	{"Tags", []string{"set_tagged", "set_tagged_text", "invalidate_tag", "invalidate_tags"}},
	{"Walking and counting", []string{"scan", "scan_text", "count"}},
	{"Caches", []string{"create_cache", "alter_cache", "swap_caches", "drop_cache", "invalidate_all", "caches", "create_database", "grant_runtime", "revoke_runtime"}},
	{"Messages", []string{"publish", "publish_text"}},
	{"Watches of tables", []string{"watch_table", "unwatch_table", "watches"}},
	{"Upkeep", []string{"maintain"}},
	{"Sessions", []string{
		"session_create", "session_get", "session_save", "session_merge", "session_touch", "session_rotate",
		"session_end", "session_revoke", "session_revoke_user", "session_list", "session_count",
		"session_put", "session_bury", "session_expire", "session_beat",
	}},
	{"Small things", []string{"no_expiry", "key_hash", "key_hash_text"}},
}

// The second half of docs/sql.md is made from the comments in the database.
// go generate ./schema brings it up to date.
func TestReferenceIsUpToDate(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(referenceFile)
	require.NoError(t, err)
	marker := regexp.MustCompile(`(?m)^<!-- What follows is generated .*-->\n`).FindIndex(text)
	require.NotNil(t, marker)
	want := string(text[:marker[1]]) + "\n" + reference(t, open(t))
	if *update {
		require.NoError(t, os.WriteFile(referenceFile, []byte(want), 0o644))
		return
	}
	require.Equal(t, want, string(text), "run go generate ./schema")
}

func reference(t *testing.T, db querier) string {
	var b strings.Builder
	left := make(map[string]bool)
	for _, f := range schema.Functions() {
		left[f.Name] = !f.Internal()
	}
	for _, s := range sections {
		fmt.Fprintf(&b, "## %s\n\n", s.title)
		for _, name := range s.functions {
			require.True(t, left[name], "%s is no function, or named twice", name)
			left[name] = false
			arguments := one[string](t, db, "SELECT pg_get_function_arguments(('howdah.' || $1)::regproc)", name)
			result := one[string](t, db, "SELECT pg_get_function_result(('howdah.' || $1)::regproc)", name)
			comment := one[string](t, db, "SELECT obj_description(('howdah.' || $1)::regproc, 'pg_proc')", name)
			fmt.Fprintf(&b, "### %s\n\n```sql\n%s\n```\n\n%s\n", name, signature(name, arguments, result), markdown(comment))
		}
	}
	for name, missing := range left {
		require.False(t, missing, "%s is in no section of the reference", name)
	}
	return strings.TrimRight(b.String(), "\n") + "\n"
}

// signature writes long lists of arguments and columns one to a line.
func signature(name, arguments, result string) string {
	arguments = regexp.MustCompile(`DEFAULT (NULL|'[^']*')::[a-z]+(\[\])?`).ReplaceAllString(arguments, "DEFAULT $1")
	result = strings.ReplaceAll(result, "timestamp with time zone", "timestamptz")
	if columns, isTable := strings.CutPrefix(strings.TrimSuffix(result, ")"), "TABLE("); isTable && len(result) > 80 {
		result = "TABLE (" + onePerLine(columns) + ")"
	}
	line := fmt.Sprintf("howdah.%s(%s) RETURNS %s", name, arguments, result)
	if head, _, _ := strings.Cut(line, "\n"); len(head) > 100 {
		return fmt.Sprintf("howdah.%s(%s) RETURNS %s", name, onePerLine(arguments), result)
	}
	return line
}

func onePerLine(list string) string {
	return "\n    " + strings.ReplaceAll(list, ", ", ",\n    ") + "\n"
}

var mention = regexp.MustCompile(`howdah\.[a-z_]+(<name>)?(\([a-z, ]*\))?`)

var item = regexp.MustCompile(`^((?:[a-z_]+)(?:, [a-z_]+)*): (.*)`)

// markdown turns a comment into paragraphs, with a list where lines begin with
// the name of an argument or column.
func markdown(comment string) string {
	var b strings.Builder
	for paragraph := range strings.SplitSeq(comment, "\n\n") {
		lines := strings.Split(paragraph, "\n")
		// A list of names may be broken across lines.
		for i := 0; i+1 < len(lines); i++ {
			if strings.HasSuffix(lines[i], ",") && !strings.Contains(lines[i], ":") && item.MatchString(lines[i]+" "+lines[i+1]) {
				lines[i] += " " + lines[i+1]
				lines = slices.Delete(lines, i+1, i+2)
			}
		}
		for i, line := range lines {
			switch match := item.FindStringSubmatch(line); {
			case match != nil:
				line = "- `" + strings.ReplaceAll(match[1], ", ", "`, `") + "`: " + match[2]
			case item.MatchString(lines[0]) && !regexp.MustCompile(`^(Returns|Errors)`).MatchString(line):
				line = "  " + line
			case i > 0 && strings.HasPrefix(line, "Errors:"):
				line = "\n" + line
			}
			b.WriteString(line + "\n")
		}
		b.WriteString("\n")
	}
	return mention.ReplaceAllString(strings.TrimRight(b.String(), "\n")+"\n", "`$0`")
}

// Every error that the functions raise is in the table of the documentation,
// and the other way round.
func TestErrorsAreDocumented(t *testing.T) {
	t.Parallel()
	var raised, documented []string
	for _, f := range schema.Functions() {
		for _, m := range regexp.MustCompile(`ERRCODE = '(HW\d{3})'`).FindAllStringSubmatch(f.SQL, -1) {
			raised = append(raised, m[1])
		}
	}
	slices.Sort(raised)
	text, err := os.ReadFile(referenceFile)
	require.NoError(t, err)
	for _, m := range regexp.MustCompile(`(?m)^\| (HW\d{3}) \|`).FindAllStringSubmatch(string(text), -1) {
		documented = append(documented, m[1])
	}
	require.Equal(t, slices.Compact(raised), documented)
}
