package arrows_test

import (
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"
)

// The check of links, applied to made-up pages: it must be able to fail.
func TestBrokenLinksAreFound(t *testing.T) {
	t.Parallel()
	root := fstest.MapFS{
		"README.md": {Data: []byte("[a](docs/a.md) [b](docs/b.md) [c](docs/a.md#two-words) [d](docs/a.md#three) [e](https://example.org/x)\n" +
			"`[code](nowhere)`\n```\n[code](nowhere)\n```\n![i](docs/i.svg) <img src=\"docs/j.svg\">")},
		"docs/a.md":  {Data: []byte("# Two `words`\n[up](../README.md) [here](#two-words) [there](#nowhere) [id](#given)\n<a id=\"given\"></a>\n```\n# three\n```\n")},
		"docs/i.svg": {},
	}
	broken, err := brokenLinks(root, "README.md")
	require.NoError(t, err)
	require.Equal(t, []string{
		"README.md links to docs/b.md, which is not there",
		"README.md links to docs/a.md#three, and docs/a.md has no such heading",
		"README.md links to docs/j.svg, which is not there",
	}, broken)
	broken, err = brokenLinks(root, "docs/a.md")
	require.NoError(t, err)
	require.Equal(t, []string{"docs/a.md links to #nowhere, and docs/a.md has no such heading"}, broken)
}
