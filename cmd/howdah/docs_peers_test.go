//go:build peers && unix

package main

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/require"
)

// example is a command line of docs/cli.md with what it prints.
type example struct{ line, want string }

// examples returns those of a page: lines that begin with "$ " in its console
// blocks, with the lines that follow them.
func examples(page string) (all []example) {
	for _, block := range regexp.MustCompile("(?s)```console\n(.*?)```").FindAllStringSubmatch(page, -1) {
		for line := range strings.Lines(block[1]) {
			if command, found := strings.CutPrefix(line, "$ "); found {
				all = append(all, example{line: strings.TrimSpace(command)})
			} else {
				all[len(all)-1].want += line
			}
		}
	}
	return all
}

// matches says whether output is what an example shows, where "..." is any text
// and a line of "..." any lines.
func (e example) matches(output string) bool {
	pattern := regexp.QuoteMeta(e.want)
	pattern = regexp.MustCompile(`(?m)^\\\.\\\.\\\.\n`).ReplaceAllString(pattern, `(?s:.*)`)
	pattern = strings.ReplaceAll(pattern, `\.\.\.`, `.*`)
	return regexp.MustCompile(`^` + pattern + `$`).MatchString(output)
}

// shownElsewhere are the commands of which docs/cli.md has no example, with the
// page that has one; "" where no page needs to.
func shownElsewhere() map[string]string {
	return map[string]string{
		"howdah help":                  "",
		"howdah serve":                 "deploy.md", // and it runs while the examples do
		"howdah completion zsh":        "",
		"howdah completion fish":       "",
		"howdah completion powershell": "",
		"howdah console":               "console.md",
		"howdah top":                   "operations.md",
		"howdah bigkeys":               "operations.md",
		"howdah slow":                  "operations.md",
		"howdah monitor":               "operations.md",
		"howdah alerts":                "operations.md",
		"howdah grafana":               "operations.md",
		"howdah export":                "coming-from-redis.md",
		"howdah import":                "coming-from-redis.md",
		"howdah compare":               "coming-from-redis.md",
		"howdah servers add":           "scale-out.md",
		"howdah rebalance":             "scale-out.md",
	}
}

// shown says whether the docs show a command where they should.
func shown(t *testing.T, path string, here bool) {
	t.Helper()
	page, elsewhere := shownElsewhere()[path]
	switch {
	case here:
	case !elsewhere:
		t.Errorf("%s: show an example in docs/cli.md, or enter the page that does in shownElsewhere", path)
	case page != "":
		text, err := os.ReadFile("../../docs/" + page)
		require.NoError(t, err, path)
		require.Contains(t, string(text), path, page)
	}
}

// Every command has an example, and every example prints what the page says.
func TestCommandLinePage(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../docs/cli.md")
	require.NoError(t, err)
	all := examples(string(page))
	commands := make(map[string]bool)
	root := newRoot()
	root.InitDefaultHelpCmd()
	root.InitDefaultCompletionCmd()
	for _, e := range all {
		for part := range strings.SplitSeq(e.line, "|") {
			if args := strings.Fields(part); args[0] == "howdah" {
				cmd, _, err := root.Find(args[1:])
				require.NoError(t, err, e.line)
				commands[cmd.CommandPath()] = true
			}
		}
	}
	var walk func(*cobra.Command)
	walk = func(cmd *cobra.Command) {
		if path := cmd.CommandPath(); !cmd.HasSubCommands() {
			shown(t, path, commands[path])
		}
		for _, sub := range cmd.Commands() {
			walk(sub)
		}
	}
	walk(root)

	shell := besideServer(t)
	for _, e := range all {
		output, err := shell(e.line)
		if !e.matches(output) {
			t.Errorf("$ %s\nprints\n%sand the page says\n%s", e.line, output, e.want)
		} else if !strings.Contains("\n"+e.want, "\nhowdah: ") && !strings.Contains(e.want, `"exit_code"`) {
			require.NoError(t, err, e.line)
		}
	}
}

// besideServer starts a server with an embedded PostgreSQL, and returns a shell
// whose "howdah" is this program and finds both.
func besideServer(t *testing.T) (run func(line string) (output string, err error)) {
	dir := dataDir(t)
	parent := filepath.Dir(dir)
	p := serve(t, []string{"HOWDAH_DATA_DIR=" + dir}, "--monitor=false") // whose answer has an end
	t.Cleanup(func() {
		require.NoError(t, p.cmd.Process.Signal(syscall.SIGTERM))
		require.Zero(t, p.wait(), p.log.String())
	})
	program, err := filepath.Abs(os.Args[0])
	require.NoError(t, err)
	require.NoError(t, os.Symlink(program, filepath.Join(parent, "howdah")))
	env := append(cleanEnvironment(), "HOWDAH_DATA_DIR="+dir, "HOWDAH_SERVER=redis://"+p.redis, "REDIS_ADDR="+p.redis, "HTTP_ADDR="+p.http,
		"PATH="+parent+string(os.PathListSeparator)+os.Getenv("PATH"))
	return func(line string) (string, error) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		cmd := exec.CommandContext(ctx, "sh", "-c", line)
		cmd.WaitDelay = time.Second // what the shell has started may go on
		cmd.Env, cmd.Dir = env, parent
		output, err := cmd.CombinedOutput()
		return string(output), err
	}
}
