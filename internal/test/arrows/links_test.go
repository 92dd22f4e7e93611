package arrows_test

import (
	"fmt"
	"io/fs"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"

	"github.com/stretchr/testify/require"
)

// Every link in the documents of this repository leads to a file that is
// there, and to a heading in it.
func TestLinks(t *testing.T) {
	t.Parallel()
	root := os.DirFS("../../..")
	pages := 0
	err := fs.WalkDir(root, ".", func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && p != "." && (d.Name() == "testdata" || d.Name() == "node_modules" || strings.HasPrefix(d.Name(), ".")) {
			return fs.SkipDir
		}
		if path.Ext(p) == ".md" && !d.IsDir() {
			pages++
			broken, err := brokenLinks(root, p)
			if err != nil {
				return err
			}
			for _, sentence := range broken {
				t.Error(sentence)
			}
		}
		return nil
	})
	require.NoError(t, err)
	require.Greater(t, pages, 10, "the walk did not find the documents")
}

var (
	link    = regexp.MustCompile(`\]\(([^)\s]+)\)|(?:src|href)="([^"]+)"`)
	fenced  = regexp.MustCompile("(?ms)^```.*?^```")
	inline  = regexp.MustCompile("`[^`\n]+`")
	heading = regexp.MustCompile(`(?m)^#{1,6} +(.+)$`)
	anchor  = regexp.MustCompile(`<a id="([^"]+)">`)
)

// brokenLinks returns a sentence for every link of a page that leads nowhere.
// Links to other sites are not followed.
func brokenLinks(root fs.FS, page string) (broken []string, err error) {
	text, err := fs.ReadFile(root, page)
	if err != nil {
		return nil, err
	}
	prose := inline.ReplaceAll(fenced.ReplaceAll(text, nil), nil)
	for _, m := range link.FindAllSubmatch(prose, -1) {
		target := string(m[1]) + string(m[2])
		if strings.Contains(target, "://") || strings.HasPrefix(target, "mailto:") {
			continue
		}
		file, fragment, _ := strings.Cut(target, "#")
		to := page
		if file != "" {
			to = path.Join(path.Dir(page), file)
		}
		if _, err := fs.Stat(root, to); err != nil {
			broken = append(broken, fmt.Sprintf("%s links to %s, which is not there", page, target))
			continue
		}
		if fragment == "" || path.Ext(to) != ".md" {
			continue
		}
		content, err := fs.ReadFile(root, to)
		if err != nil {
			return nil, err
		}
		if !slices.Contains(anchors(content), fragment) {
			broken = append(broken, fmt.Sprintf("%s links to %s, and %s has no such heading", page, target, to))
		}
	}
	return broken, nil
}

// anchors are the fragments that lead somewhere in a page, as GitHub names
// them.
func anchors(page []byte) (names []string) {
	page = fenced.ReplaceAll(page, nil)
	for _, m := range heading.FindAllSubmatch(page, -1) {
		names = append(names, strings.Map(func(r rune) rune {
			switch {
			case unicode.IsLetter(r), unicode.IsDigit(r), r == '-', r == '_':
				return unicode.ToLower(r)
			case r == ' ':
				return '-'
			}
			return -1
		}, strings.TrimSpace(string(m[1]))))
	}
	for _, m := range anchor.FindAllSubmatch(page, -1) {
		names = append(names, string(m[1]))
	}
	return names
}
