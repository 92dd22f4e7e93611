package arrows_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// SQL lives in schema/: no string of the program begins a statement, but in the
// files that say why. Every query is asked by its name.
func TestSQL(t *testing.T) {
	t.Parallel()
	root := filepath.Join("..", "..", "..")
	_, files := readModule(t, root)
	var statements []literal
	words := map[string]bool{}
	for _, f := range files {
		if f.test() || f.room() == "schema" || house[f.room()].testOnly {
			continue
		}
		text, err := os.ReadFile(filepath.Join(root, f.path))
		require.NoError(t, err)
		strs, err := literals(f.path, string(text))
		require.NoError(t, err)
		for _, s := range strs {
			words[s.text] = true
			if begins.MatchString(s.text) {
				statements = append(statements, s)
			}
		}
	}
	for _, sentence := range checkSQL(statements, sqlElsewhere) {
		t.Error(sentence)
	}
	names, err := fs.Glob(os.DirFS(root), "schema/queries/*.sql")
	require.NoError(t, err)
	require.NotEmpty(t, names)
	for _, p := range names {
		if name := strings.TrimSuffix(path.Base(p), ".sql"); !words[name] {
			t.Errorf("%s: nothing asks the query %q; remove it", p, name)
		}
	}
}

// sqlElsewhere lists the files with SQL of their own, and why.
var sqlElsewhere = map[string]string{
	"internal/console/changes.go":   "a statement that is shown, with the name of a cache",
	"internal/console/settings.go":  "a statement that is shown, with the settings of a cache",
	"internal/doctor/caches.go":     "repairs that are shown, with the names of one table",
	"internal/doctor/handmade.go":   "repairs that are shown, with the names of one table",
	"internal/doctor/health.go":     "repairs that are shown, with the names of one table",
	"internal/doctor/holders.go":    "repairs that are shown, with the number of a process or the name of a database",
	"internal/doctor/near.go":       "repairs that are shown, with the names of caches or of a transaction",
	"internal/doctor/partitions.go": "repairs that are shown, with the name of a cache and the number of a partition",
	"internal/doctor/privileges.go": "repairs that are shown, with the names of roles",
	"internal/doctor/sample.go":     "the columns are those that a table of the user happens to have",
	"internal/doctor/settings.go":   "repairs that are shown, with the names of settings",
	"internal/doctor/servers.go":    "the repair that is shown, a call of one function of Citus",
	"internal/doctor/statements.go": "repairs that are shown, with the numbers of a statement",
	"internal/doctor/storage.go":    "the words by which it finds a table in a migration",
	"internal/doctor/tags.go":       "repairs that are shown, with the number of a cache",
	"internal/doctor/watches.go":    "repairs that are shown, with the names of a table, a cache and a role",
	"internal/doctor/upkeep.go":     "repairs that are shown, with the name of a cache",
	"internal/embedded/cluster.go":  "a leaf, which knows no schema: it creates the role and the database that a schema needs",
	"internal/engine/set.go":        "SET LOCAL of as many settings as a statement needs, in one word",
	"internal/stat/cost.go":         "statements that are shown, with the name of a role",
	"migrate/grant.go":              "a script that is shown, with the name of a role",
	"migrate/plan.go":               "a script that is shown, with the names that the state of the database demands",
}

// literal is a string of the program.
type literal struct {
	path string
	line int
	text string
}

// literals returns the strings of one source file.
func literals(p, text string) (all []literal, err error) {
	set := token.NewFileSet()
	syntax, err := parser.ParseFile(set, p, text, parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	ast.Inspect(syntax, func(n ast.Node) bool {
		if l, ok := n.(*ast.BasicLit); ok && l.Kind == token.STRING {
			value, unquoted := strconv.Unquote(l.Value)
			if unquoted != nil {
				err = unquoted
			}
			all = append(all, literal{p, set.Position(l.Pos()).Line, value})
		}
		return true
	})
	return all, err
}

// begins finds what begins as a statement does, after comments. SET, SHOW, BEGIN
// and the like are no statements on data and may stand anywhere.
var begins = regexp.MustCompile(`^\s*(--[^\n]*\n\s*)*(SELECT|WITH|UPDATE|INSERT\s+INTO|DELETE\s+FROM|(CREATE|ALTER|DROP)\s+[A-Z]+)\s+\S|` +
	`^\s*(SELECT|UPDATE|INSERT\s+INTO|DELETE\s+FROM|(CREATE|ALTER|DROP)\s+[A-Z]+)\s+$`)

// checkSQL returns a sentence for every statement outside of schema, and for
// every file that is said to have some and has none.
func checkSQL(statements []literal, elsewhere map[string]string) (broken []string) {
	has := map[string]bool{}
	for _, s := range statements {
		has[s.path] = true
		if elsewhere[s.path] == "" {
			broken = append(broken, fmt.Sprintf("%s:%d: a statement in Go; put it into schema/queries or schema/statements, or the file into sqlElsewhere of internal/test/arrows/sql_test.go with the reason", s.path, s.line))
		}
	}
	for p := range elsewhere {
		if !has[p] {
			broken = append(broken, fmt.Sprintf("%s: it has no SQL any more; remove it from sqlElsewhere of internal/test/arrows/sql_test.go", p))
		}
	}
	slices.Sort(broken)
	return broken
}

// The rule applied to a made-up file: it must be able to fail.
func TestSQLInGoIsFound(t *testing.T) {
	t.Parallel()
	all, err := literals("a.go", "package a\n\nvar (\n"+
		"_ = \"SELECT 1\"\n"+
		"_ = `\n\tWITH a AS (SELECT) SELECT`\n"+
		"_ = \"-- why\\nDROP SCHEMA howdah\"\n"+
		"_ = \"INSERT INTO \" + b\n"+
		"_ = \"UPDATE \" + b\n"+
		"_ = \"SELECT\"\n"+ // a command of Redis
		"_ = \"DELETE takes no body.\"\n"+
		"_ = \"`ALTER TABLE`\"\n"+
		"_ = \"SET LOCAL lock_timeout = 1\"\n"+
		")\n")
	require.NoError(t, err)
	var lines []int
	statements := slices.DeleteFunc(all, func(l literal) bool { return !begins.MatchString(l.text) })
	for _, s := range statements {
		lines = append(lines, s.line)
	}
	require.Equal(t, []int{4, 5, 7, 8, 9}, lines)
	require.Len(t, checkSQL(statements, nil), 5)
	require.Empty(t, checkSQL(statements, map[string]string{"a.go": "a reason"}))
	require.Equal(t, []string{"b.go: it has no SQL any more; remove it from sqlElsewhere of internal/test/arrows/sql_test.go"},
		checkSQL(nil, map[string]string{"b.go": "a reason"}))
}
