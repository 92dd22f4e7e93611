package httpapi

import (
	"cmp"
	"fmt"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/howdah/howdah/internal/core"
	"github.com/howdah/howdah/internal/engine"
	"github.com/howdah/howdah/internal/observe"
)

const (
	docFile    = "../../docs/http.md"
	docAddress = "http://127.0.0.1:8080"
)

// example is a command of the documentation and what it is said to print.
type example struct {
	command string
	prints  []string
}

// TestDocumentedExamples runs every command in docs/http.md, in order, against
// one server.
func TestDocumentedExamples(t *testing.T) {
	t.Parallel()
	c := serve(t, func(o *Options) { withSessions(t)(o); withFigures(t)(o) })
	(*core.DB)(c.db).Observe(engine.Observed{Removals: observe.NewRemovals(observe.DefaultRemovals), Prefixes: observe.NewPrefixes(1)})
	examples := readExamples(t)
	require.Greater(t, len(examples), 25)
	made := strings.NewReplacer() // $TOKEN and $ID are those that were printed last
	for _, e := range examples {
		t.Log(e.command)
		printed := c.curl(t, made.Replace(e.command))
		if m := regexp.MustCompile(`"token":"(.*?)","id":"(.*?)"`).FindStringSubmatch(strings.Join(printed, "\n")); m != nil {
			made = strings.NewReplacer("$TOKEN", m[1], "$ID", m[2])
		}
		for _, want := range e.prints {
			printed = requireLine(t, e.command, want, printed)
		}
	}
}

func readExamples(t *testing.T) (examples []example) {
	doc, err := os.ReadFile(docFile)
	require.NoError(t, err)
	for _, block := range regexp.MustCompile("(?s)```console\n(.*?)```").FindAllStringSubmatch(string(doc), -1) {
		text := strings.ReplaceAll(block[1], "\\\n", "")
		for line := range strings.SplitSeq(text, "\n") {
			if command, ok := strings.CutPrefix(line, "$ "); ok {
				examples = append(examples, example{command: command})
			} else if line != "" {
				require.NotEmpty(t, examples, line)
				last := &examples[len(examples)-1]
				last.prints = append(last.prints, line)
			}
		}
	}
	return examples
}

// requireLine finds the wanted line, in which "..." is anything, and returns
// the lines behind it.
func requireLine(t *testing.T, command, want string, printed []string) []string {
	t.Helper()
	pattern := regexp.MustCompile("^" + strings.ReplaceAll(regexp.QuoteMeta(want), `\.\.\.`, ".*") + "$")
	at := slices.IndexFunc(printed, pattern.MatchString)
	require.GreaterOrEqual(t, at, 0, "%s\nshould print\n%s\nbut prints\n%s", command, want, strings.Join(printed, "\n"))
	return printed[at+1:]
}

// curl does what curl does with the options that the documentation uses, and
// returns the lines that it prints.
func (c *client) curl(t *testing.T, command string) []string {
	t.Helper()
	words := shellWords(t, command)
	require.Equal(t, "curl", words[0])
	var method, address, body string
	var header []string
	withHeader := false
	for words = words[1:]; len(words) > 0; words = words[1:] {
		next := func() string {
			require.Greater(t, len(words), 1, command)
			words = words[1:]
			return words[0]
		}
		switch word := words[0]; word {
		case "-i":
			withHeader = true
		case "-I":
			withHeader, method = true, "HEAD"
		case "-X":
			method = next()
		case "-H":
			header = append(header, next())
		case "-d", "--data-binary":
			body = next()
			method = cmp.Or(method, "POST")
		default:
			require.True(t, strings.HasPrefix(word, docAddress), "%q in %s is not known to this test", word, command)
			address = strings.TrimPrefix(word, docAddress)
		}
	}
	if body != "" && !slices.ContainsFunc(header, func(h string) bool { return strings.HasPrefix(h, "Content-Type") }) {
		header = append(header, "Content-Type: application/x-www-form-urlencoded") // curl's own
	}
	got := c.do(cmp.Or(method, "GET"), address, body, header...)
	var printed []string
	if withHeader {
		printed = append(printed, fmt.Sprintf("HTTP/1.1 %d %s", got.status, http.StatusText(got.status)))
		for name, values := range got.header {
			printed = append(printed, name+": "+values[0])
		}
		slices.Sort(printed[1:])
	}
	return append(printed, strings.Split(got.body, "\n")...)
}

// shellWords splits a command as a shell does, quotes included.
func shellWords(t *testing.T, command string) (words []string) {
	for _, match := range regexp.MustCompile(`'([^']*)'|"([^"]*)"|(\S+)`).FindAllStringSubmatch(command, -1) {
		words = append(words, match[1]+match[2]+match[3])
	}
	require.NotEmpty(t, words)
	return words
}

// TestDocumentedProblems holds the table of problems to the code.
func TestDocumentedProblems(t *testing.T) {
	t.Parallel()
	doc, err := os.ReadFile(docFile)
	require.NoError(t, err)
	require.Contains(t, string(doc), problemTable(), "docs/http.md is out of date; the table must be:\n\n%s", problemTable())
}

func problemTable() string {
	kinds := []kind{
		badRequest, invalidTTL, unauthorized, foreignHost, foreignOrigin, sessionsClosed, sessionNotFound, notMergeable, notFound, methodNotAllowed,
		unsupportedMedia, callerLeft, internal, tagInvalidated,
	}
	for _, f := range failures {
		kinds = append(kinds, f.kind)
	}
	slices.SortFunc(kinds, func(a, b kind) int {
		return cmp.Or(cmp.Compare(a.status, b.status), cmp.Compare(a.code, b.code))
	})
	var table strings.Builder
	table.WriteString("| Status | Code | Meaning |\n|---|---|---|\n")
	for _, k := range slices.Compact(kinds) {
		fmt.Fprintf(&table, "| %d | <a id=\"%s\"></a>`%s` | %s |\n", k.status, k.code, k.code, k.title)
	}
	return table.String()
}
