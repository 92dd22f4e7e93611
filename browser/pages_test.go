package browser

import (
	"fmt"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/howdah/howdah/browser/internal/audit"
	"github.com/howdah/howdah/browser/internal/chrome"
	"github.com/howdah/howdah/browser/internal/scene"
	"github.com/howdah/howdah/internal/server"
	"github.com/howdah/howdah/internal/test/pgtest"
)

// shop starts a server with data, work in progress, and trouble.
func shop(t *testing.T, configure func(*server.Config)) *scene.Shop {
	t.Helper()
	database := pgtest.New(t)
	s := &scene.Shop{DatabaseURL: database, Token: adminToken, SessionToken: sessionToken, Password: "redis-passw0rd", Size: 40}
	s.Server = serve(t, func(c *server.Config) {
		c.DatabaseURL = database
		c.SlowCall = 100 * time.Millisecond
		withTokens(c)
		if configure != nil {
			configure(c)
		}
	})
	require.NoError(t, s.Fill(t.Context()))
	require.NoError(t, s.Trouble(t.Context()))
	return s
}

// pagesOf finds the pages that links lead to, one of each kind: pages that differ in the
// cache, the key or the position only are one kind. So a page that is added is found.
func pagesOf(t *testing.T, tab *chrome.Tab, s *scene.Server) (pages []string) {
	t.Helper()
	seen := map[string]bool{}
	waiting := []string{s.URL + "/console/"}
	for len(waiting) > 0 {
		page := waiting[0]
		waiting = waiting[1:]
		if kind := kindOf(t, page); seen[kind] {
			continue
		} else {
			seen[kind] = true
		}
		status, err := tab.Open(page)
		require.NoError(t, err, page)
		if !assert.Equal(t, 200, status, page) {
			continue
		}
		pages = append(pages, page)
		for _, link := range eval[[]string](t, tab, "[...document.links].map(a => a.href)") {
			if strings.HasPrefix(link, s.URL+"/console/") {
				waiting = append(waiting, link)
			}
		}
	}
	return pages
}

var cacheName = regexp.MustCompile(`/caches/[a-z0-9_]+`)

func kindOf(t *testing.T, address string) string {
	u, err := url.Parse(address)
	require.NoError(t, err)
	kind := cacheName.ReplaceAllString(u.Path, "/caches/*")
	for name, values := range u.Query() {
		kind += fmt.Sprintf(" %s:%t", name, values[0] != "")
	}
	return kind
}

// TestEveryPage: nothing is reported, nothing is asked of other hosts, nothing is wider than
// the window, and everything can be read, in both schemes of colours and in both widths.
func TestEveryPage(t *testing.T) {
	s := shop(t, nil)
	tab := visit(t)
	login(t, tab, s.Server.URL, sessionToken)
	login(t, tab, s.Server.URL, adminToken)
	pages := pagesOf(t, tab, s.Server)
	require.Greater(t, len(pages), 14, pages)
	tab.Faults()
	for _, page := range pages {
		open(t, tab, page)
		for _, scheme := range []string{"light", "dark"} {
			for _, width := range []int64{wide, narrow} {
				require.NoError(t, tab.Window(width, height, scheme))
				wrong, err := audit.Look(tab)
				require.NoError(t, err, page)
				assert.Empty(t, wrong, "%s, %s, %d px", page, scheme, width)
			}
		}
		assert.Empty(t, tab.Faults(s.Server.URL), page)
	}
}
