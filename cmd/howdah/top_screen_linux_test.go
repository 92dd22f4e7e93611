package main

import (
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/howdah/howdah/internal/test/pgtest"
)

// In a terminal keys change the order and what is shown below the table.
func TestTopLive(t *testing.T) {
	t.Parallel()
	url := pgtest.New(t)
	query(t, url, "SELECT howdah.create_cache('zzz'); SELECT howdah.set_text('zzz', 'page/' || i, 'v') FROM generate_series(1, 5) AS i")
	m := openTerminal(t, 120, 40, "top", "--database-url", url, "--interval", "100ms", "--sort", "entries")
	order := func() []string {
		return regexp.MustCompile(`(?m)^(db0|zzz|\[sessions\]) `).FindAllString(m.page(), -1)
	}
	m.await(func() bool { return strings.Join(order(), "") == "zzz db0 [sessions] " })
	m.await(func() bool {
		return strings.Contains(m.page(), "page/") && strings.Contains(m.page(), "by entries; r w d")
	})
	key := func(key string) {
		_, err := m.master.WriteString(key)
		require.NoError(t, err)
	}
	key("n")
	m.await(func() bool {
		return strings.Join(order(), "") == "db0 zzz [sessions] " && strings.Contains(m.page(), "by name")
	})
	key("ep")
	m.await(func() bool {
		return strings.Join(order(), "") == "zzz db0 [sessions] " && !strings.Contains(m.page(), "page/")
	})
	key("p")
	m.await(func() bool { return strings.Contains(m.page(), "page/") })
	m.resize(60, 10) // no room for more than the table
	m.await(func() bool { return !strings.Contains(m.page(), "page/") && strings.Contains(m.page(), "zzz") })
	key("q")
	require.NoError(t, m.cmd.Wait())
	m.await(func() bool { return strings.HasSuffix(m.output(), leaveScreen) })
}
