package browser

import (
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/howdah/howdah/browser/internal/scene"
	"github.com/howdah/howdah/internal/server"
)

// behindProxy serves a server below /howdah of another host, as a reverse proxy does that
// takes the path away and sends its own Host. Every other path is not found.
func behindProxy(t *testing.T, s *scene.Server) (root string) {
	t.Helper()
	target, err := url.Parse(s.URL)
	require.NoError(t, err)
	proxy := &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(target) // and with it the Host
		r.SetXForwarded()
	}}
	front := httptest.NewServer(http.StripPrefix("/howdah", proxy))
	t.Cleanup(front.Close)
	return strings.Replace(front.URL, "127.0.0.1", "localhost", 1) + "/howdah"
}

// TestBehindProxy: links, forms, assets, the login and its way back work below a path of a
// proxy, and the cookies stay below it.
func TestBehindProxy(t *testing.T) {
	s := shop(t, func(c *server.Config) { c.Console.BasePath = "/howdah" })
	root := behindProxy(t, s.Server)
	tab := visit(t)

	open(t, tab, root+"/console/caches/db0/entries?prefix=user")
	require.Equal(t, "Log in", heading(t, tab))
	typed(t, tab, "#token", adminToken)
	follow(t, tab, "main form button")
	require.Contains(t, eval[string](t, tab, "location.href"), root+"/console/caches/db0/entries?prefix=user")
	require.Equal(t, "", eval[string](t, tab, "document.cookie"), "scripts read no cookie")

	pages := pagesOf(t, tab, &scene.Server{URL: root})
	require.Greater(t, len(pages), 12, pages)
	require.Empty(t, tab.Faults(root))

	open(t, tab, root+"/console/caches/db0/entries?prefix=user")
	follow(t, tab, "main tbody a")
	follow(t, tab, "form[action$='entry/value'] button")
	follow(t, tab, "form[action$='entry/delete'] button")
	require.Contains(t, mainText(t, tab), "The entry was deleted")
	follow(t, tab, "button[value=dark]")
	require.Equal(t, "dark", eval[string](t, tab, "document.documentElement.dataset.theme"))
	goTo(t, tab, "gd", "Doctor")
	follow(t, tab, ".brand")
	choose(t, tab, "#interval", "1")
	refreshed(t, tab)
	require.Empty(t, tab.Faults(root))

	cookies, err := tab.Cookies()
	require.NoError(t, err)
	require.NotEmpty(t, cookies)
	for _, cookie := range cookies {
		assert.Equal(t, "/howdah/console/", cookie.Path, cookie.Name)
		assert.True(t, cookie.HTTPOnly, cookie.Name)
	}
	follow(t, tab, ".who button")
	require.Equal(t, "Log in", heading(t, tab))
}
