package observe_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/howdah/howdah/internal/observe"
)

// named are the counts as text.
func named(n *observe.Named) map[string]string {
	found := map[string]string{}
	n.Each(func(cache, prefix string, hits, misses uint64) {
		found[cache+" "+prefix] = fmt.Sprintf("%d %d", hits, misses)
	})
	return found
}

// Each read counts, once, for the longest of the prefixes that its key begins with.
func TestNamedPrefixes(t *testing.T) {
	t.Parallel()
	n, err := observe.NewNamed([]string{"user:", "user:admin:", "page:", "ü"})
	require.NoError(t, err)
	require.Empty(t, named(n))
	a, b := n.Cache("a"), n.Cache("b")
	require.Same(t, a, n.Cache("a"))
	require.Equal(t, "0 0", named(n)["b page:"], "it is there before the first read")
	for key, hit := range map[string]bool{
		"user:1": true, "user:2": false, "user:": true, "user:admin:1": false, "user:admin": true, "user": true, "": true, "ü1": true,
		"\xc3": true, "other:1": true, "p": true, "USER:1": true,
	} {
		a.Note([]byte(key), hit)
	}
	var work sync.WaitGroup
	for range 4 {
		work.Go(func() {
			for i := range 1000 {
				b.Note([]byte("page:1"), i%2 == 0)
			}
		})
	}
	work.Wait()
	require.Equal(t, map[string]string{
		"a user:": "3 1", "a user:admin:": "0 1", "a page:": "0 0", "a ü": "1 0",
		"b user:": "0 0", "b user:admin:": "0 0", "b page:": "2000 2000", "b ü": "0 0",
	}, named(n))
}

func TestNamedPrefixesAreChecked(t *testing.T) {
	t.Parallel()
	many := func(n int) (all []string) {
		for i := range n {
			all = append(all, fmt.Sprintf("p%d:", i))
		}
		return all
	}
	for says, prefixes := range map[string][]string{
		"names 21 prefixes; the most are 20": many(21),
		"names an empty prefix":              {"user:", ""},
		"a prefix of 65 bytes":               {strings.Repeat("x", 65)},
		"is no UTF-8":                        {"\xff:"},
		`names "user:" twice`:                {"user:", "page:", "user:"},
	} {
		_, err := observe.NewNamed(prefixes)
		require.ErrorContains(t, err, says)
	}
	n, err := observe.NewNamed(append(many(19), strings.Repeat("x", 64)))
	require.NoError(t, err)
	n.Cache("c")
	require.Len(t, named(n), 20)

	off, err := observe.NewNamed(nil)
	require.NoError(t, err)
	require.Nil(t, off)
	off.Cache("c").Note([]byte("k"), true)
	require.Empty(t, named(off))
}
