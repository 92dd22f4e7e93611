//go:build clients && unix

package coherence

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// installation is the programs that read, in their languages.
type installation struct {
	env                []string
	python, node, java []string
}

// install installs the clients from their registries, in the versions of docs/works-with.md.
func install(t *testing.T) *installation {
	t.Helper()
	scripts, err := filepath.Abs("testdata/clients")
	require.NoError(t, err)
	dir := t.TempDir()
	lib, classes := filepath.Join(dir, "lib"), filepath.Join(dir, "classes")
	ended := make(chan error)
	languages := [][][]string{
		{{"python3", "-m", "venv", "venv"}, {filepath.Join(dir, "venv/bin/pip"), "install", "--quiet", "--no-compile", "redis==8.1.0"}},
		{{"npm", "install", "--silent", "--no-fund", "--no-audit", "redis@5.12.1"}},
		{{"mvn", "--quiet", "--batch-mode", "--file", filepath.Join(scripts, "pom.xml"),
			"org.apache.maven.plugins:maven-dependency-plugin:3.6.1:copy-dependencies", "-DoutputDirectory=" + lib},
			{"javac", "-cp", filepath.Join(lib, "*"), "-sourcepath", scripts, "-d", classes, filepath.Join(scripts, "Reader.java")}},
	}
	for _, commands := range languages {
		go func() { ended <- runAll(t.Context(), dir, commands) }()
	}
	for range languages {
		require.NoError(t, <-ended)
	}
	return &installation{
		env:    []string{"NODE_PATH=" + filepath.Join(dir, "node_modules"), "PYTHONDONTWRITEBYTECODE=1"},
		python: []string{filepath.Join(dir, "venv/bin/python"), filepath.Join(scripts, "reader.py")},
		node:   []string{"node", filepath.Join(scripts, "reader.cjs")},
		java:   []string{"java", "-cp", filepath.Join(lib, "*") + string(os.PathListSeparator) + classes, "Reader"},
	}
}

// runAll runs commands one after another in a directory, each up to three times: registries do
// not always answer.
func runAll(ctx context.Context, dir string, commands [][]string) error {
	for _, words := range commands {
		err := runOnce(ctx, dir, words)
		for try := 1; err != nil && try < 3 && ctx.Err() == nil; try++ {
			time.Sleep(10 * time.Second)
			err = runOnce(ctx, dir, words)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func runOnce(ctx context.Context, dir string, words []string) error {
	ctx, cancel := context.WithTimeout(ctx, 3*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, words[0], words[1:]...)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%q: %w\n%s", words, err, out)
	}
	return nil
}
