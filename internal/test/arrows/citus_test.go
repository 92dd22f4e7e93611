package arrows_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// folder is the package of a file, as the Makefile names it.
func folder(f file) string {
	if f.room() == "." {
		return "."
	}
	return "./" + f.room()
}

// "make test-citus" runs the tests of some packages by their name: none with the build tag
// may be left out.
func TestCitusTarget(t *testing.T) {
	t.Parallel()
	root := filepath.Join("..", "..", "..")
	makefile, err := os.ReadFile(filepath.Join(root, "Makefile"))
	require.NoError(t, err)
	target := regexp.MustCompile(`(?m)^\t.*-tags citus\S* (.*) -run (\S+)$`).FindSubmatch(makefile)
	require.NotNil(t, target, "the Makefile has no target test-citus")
	packages, pattern := strings.Fields(string(target[1])), regexp.MustCompile(string(target[2]))
	module, files := readModule(t, root)
	require.NotEmpty(t, module)
	found := 0
	for _, f := range files {
		text, err := os.ReadFile(filepath.Join(root, f.path))
		require.NoError(t, err)
		if !f.test() || !regexp.MustCompile(`^//go:build .*\bcitus\b`).Match(text) {
			continue
		}
		for _, test := range regexp.MustCompile(`(?m)^func (Test\w+)\(t \*testing\.T\)`).FindAllSubmatch(text, -1) {
			found++
			require.Regexp(t, pattern, string(test[1]), "%s: make test-citus does not run it: name it after Citus", f.path)
			require.Contains(t, packages, folder(f), "%s: make test-citus leaves this package out", f.path)
		}
	}
	require.Positive(t, found)
}
