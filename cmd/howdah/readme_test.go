package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/howdah/howdah/internal/test/pgtest"
)

// TestReadme takes the way of README.md's "Use it with your database", word for
// word, from an empty database.
func TestReadme(t *testing.T) {
	t.Parallel()
	readme, err := os.ReadFile("../../README.md")
	require.NoError(t, err)
	_, section, found := strings.Cut(string(readme), "\n## Use it with your database\n")
	require.True(t, found)
	section, _, _ = strings.Cut(section, "\n## ")
	blocks := map[string][]string{}
	for _, m := range regexp.MustCompile("(?s)```(\\w+)\n(.*?)```").FindAllStringSubmatch(section, -1) {
		blocks[m[1]] = append(blocks[m[1]], strings.TrimSpace(m[2]))
	}
	owner := pgtest.Empty(t)
	app := newRole(t, owner, "app")
	real := strings.NewReplacer("postgres://owner@db.example/app", owner, "postgres://app@db.example/app", app)

	var p *process
	for line := range strings.Lines(blocks["sh"][0]) {
		args := strings.Fields(real.Replace(line))
		switch {
		case strings.TrimSpace(line) == "go install ./cmd/howdah":
		case args[0] == "psql": // newRole did it, because owner has no CREATEROLE here
			require.Contains(t, line, `'CREATE ROLE app LOGIN'`)
		case args[0] == "howdah" && args[1] == "serve":
			p = serve(t, nil, args[2:]...)
		default:
			require.Equal(t, "howdah", args[0], line)
			r := execute(t, "", nil, args[1:]...)
			require.Zero(t, r.code, "%s: %s", line, r.err)
		}
	}
	require.NotNil(t, p, "the way does not end with a server")
	for _, database := range []string{"", "/1"} {
		r := execute(t, "", nil, "set", "k", "v", "--server", "redis://"+p.redis+database)
		require.Zero(t, r.code, r.err)
	}

	conn, err := pgx.Connect(t.Context(), owner)
	require.NoError(t, err)
	defer conn.Close(t.Context())
	statements := strings.Split(blocks["sql"][0], "\n")
	require.Len(t, statements, 3)
	var got any
	for _, statement := range statements {
		require.NoError(t, conn.QueryRow(t.Context(), statement).Scan(&got), statement)
	}
	require.Equal(t, "hello", got)

	query(t, owner, "CREATE TABLE public.articles (id integer PRIMARY KEY, title text)")
	query(t, owner, "INSERT INTO public.articles VALUES (7, 'old')")
	query(t, owner, "GRANT SELECT ON public.articles TO app")
	fetch := func() string { return runSnippet(t, real.Replace(blocks["go"][0])) }
	require.Equal(t, "old\n", fetch())
	require.NoError(t, conn.QueryRow(t.Context(), blocks["sql"][1]).Scan(&got))
	require.Equal(t, "old\n", fetch())
	query(t, owner, "UPDATE public.articles SET title = 'new' WHERE id = 7")
	require.NoError(t, conn.QueryRow(t.Context(), "SELECT howdah.get_text('pages', 'article:7')").Scan(&got))
	require.Nil(t, got, "the entry outlived the change of its row")
	require.Equal(t, "new\n", fetch())
}

// runSnippet runs the body of a function as a program of this module, which
// the go command sees at a path where nothing is. It returns what the program
// prints.
func runSnippet(t *testing.T, snippet string) string {
	t.Helper()
	program := fmt.Sprintf(`package main

import (
	"context"
	"fmt"
	"log"
	"time"

	"github.com/howdah/howdah"
)

func main() {
	if err := run(context.Background()); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context) error {
	%s
}
`, snippet)
	dir := t.TempDir()
	file, overlay := filepath.Join(dir, "main.go"), filepath.Join(dir, "overlay.json")
	require.NoError(t, os.WriteFile(file, []byte(program), 0o600))
	at, err := filepath.Abs("readmesnippet/main.go")
	require.NoError(t, err)
	content, err := json.Marshal(map[string]any{"Replace": map[string]string{at: file}})
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(overlay, content, 0o600))
	out, err := exec.CommandContext(t.Context(), "go", "run", "-overlay", overlay, "./readmesnippet").CombinedOutput()
	require.NoError(t, err, "%s\n%s", out, program)
	return string(out)
}
