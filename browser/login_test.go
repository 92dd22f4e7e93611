package browser

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/howdah/howdah/browser/internal/chrome"
	"github.com/howdah/howdah/browser/internal/scene"
	"github.com/howdah/howdah/internal/server"
)

// heading is the main heading of the page.
func heading(t *testing.T, tab *chrome.Tab) string {
	t.Helper()
	return eval[string](t, tab, "document.querySelector('h1').textContent")
}

// main is the text of the page's main part, as it is shown.
func mainText(t *testing.T, tab *chrome.Tab) string {
	t.Helper()
	return eval[string](t, tab, "document.querySelector('main').innerText")
}

// TestRoot: a server without tokens opens its console to whoever opens its address.
func TestRoot(t *testing.T) {
	s := serve(t, nil)
	tab := visit(t)
	open(t, tab, s.URL+"/")
	require.Equal(t, "Overview", heading(t, tab))
	require.Contains(t, eval[string](t, tab, "document.querySelector('.role').textContent"), "no token")
	clean(t, tab, s, "overview")
}

// TestRoles: what each token shows, and where a wrong one leads.
func TestRoles(t *testing.T) {
	s := shop(t, nil)
	url := s.Server.URL
	const entries = "/console/caches/db0/entries?prefix=session%3A"

	tab := visit(t)
	open(t, tab, url+entries)
	require.Equal(t, "Log in", heading(t, tab))
	typed(t, tab, "#token", "wrong")
	status, err := tab.Follow("main form button")
	require.NoError(t, err)
	require.Equal(t, http.StatusUnauthorized, status)
	require.Contains(t, mainText(t, tab), "opens nothing here")

	// The viewer returns to the page that was asked for, and sees no secret of it.
	typed(t, tab, "#token", viewerToken)
	follow(t, tab, "main form button")
	require.Contains(t, eval[string](t, tab, "location.href"), entries)
	require.Contains(t, mainText(t, tab), "session:***")
	require.Zero(t, eval[int](t, tab, "document.querySelectorAll('main tbody a').length"), "masked keys are no links")
	require.NotContains(t, eval[string](t, tab, "document.querySelector('nav').innerText"), "Sessions")
	open(t, tab, url+"/console/caches/products/entries")
	follow(t, tab, "main tbody a")
	require.Contains(t, mainText(t, tab), "Your token shows no values")
	require.Zero(t, eval[int](t, tab, "document.querySelectorAll('main form').length"))
	status, err = tab.Open(url + "/console/sessions")
	require.NoError(t, err)
	require.Equal(t, http.StatusForbidden, status)

	follow(t, tab, ".who button")
	require.Equal(t, "Log in", heading(t, tab))
	open(t, tab, url+"/console/")
	require.Equal(t, "Log in", heading(t, tab))

	// The token of sessions opens those and nothing else.
	login(t, tab, url, sessionToken)
	require.Equal(t, "Sessions", heading(t, tab))
	require.Contains(t, mainText(t, tab), "grace")
	status, err = tab.Open(url + "/console/")
	require.NoError(t, err)
	require.Equal(t, http.StatusForbidden, status)
}

// TestReadOnly: the buttons of changes are absent for the server's token too.
func TestReadOnly(t *testing.T) {
	s := shop(t, func(c *server.Config) { c.Console.ReadOnly = true })
	tab := visit(t)
	login(t, tab, s.Server.URL, adminToken)
	open(t, tab, s.Server.URL+"/console/caches/products/entries")
	follow(t, tab, "main tbody a")
	require.Zero(t, eval[int](t, tab, "document.querySelectorAll('main .danger').length"))
	follow(t, tab, "form[action$='entry/value'] button")
	require.Contains(t, mainText(t, tab), "stock")
}

// elsewhere is a page of another site.
func elsewhere(t *testing.T, body string) (url string) {
	t.Helper()
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		_, _ = w.Write([]byte("<!doctype html><title>elsewhere</title>" + body))
	}))
	t.Cleanup(site.Close)
	return strings.Replace(site.URL, "127.0.0.1", "localhost", 1) // another site than the console's
}

// TestOtherSites: a link from elsewhere leads to the page that it names, with the login. A form
// from elsewhere changes nothing, and no site shows the console within its own page.
func TestOtherSites(t *testing.T) {
	s := shop(t, nil)
	console := s.Server.URL + "/console/"
	tab := visit(t)
	login(t, tab, s.Server.URL, adminToken)

	open(t, tab, elsewhere(t, `<a id="a" href="`+console+`doctor">the doctor</a>`))
	follow(t, tab, "#a")
	require.Equal(t, "Doctor", heading(t, tab))

	for _, form := range []string{
		`<form method="post" action="` + console + `slow/clear"><button id="b">go</button></form>`,
		`<form method="post" action="` + console + `caches/products/flush"><input name="confirm" value="products"><input name="count" value="40"><input name="form" value="x"><button id="b">go</button></form>`,
	} {
		open(t, tab, elsewhere(t, form))
		status, err := tab.Follow("#b")
		require.NoError(t, err)
		require.Equal(t, http.StatusForbidden, status)
		require.Contains(t, mainText(t, tab), "Nothing was changed")
	}
	require.Equal(t, 39, countOf(t, tab, s.Server, "products"))

	tab.Faults()
	open(t, tab, elsewhere(t, `<iframe src="`+console+`" onload="loaded = true"></iframe>`))
	await(t, tab, "window.loaded")
	require.Eventually(t, func() bool { return strings.Contains(strings.Join(tab.Faults(), "\n"), "frame-ancestors") }, time.Minute, 10*time.Millisecond)

	// A page that opens the console keeps no hold of its window.
	open(t, tab, elsewhere(t, `<button id="b" onclick="other = window.open('`+console+`')">open</button>`))
	require.NoError(t, tab.Click("#b"))
	await(t, tab, "window.other?.closed")
}

// countOf is the number of entries that the confirmation of a flush shows.
func countOf(t *testing.T, tab *chrome.Tab, s *scene.Server, cache string) int {
	t.Helper()
	open(t, tab, s.URL+"/console/caches/"+cache+"/flush")
	return eval[int](t, tab, "Number(document.querySelector('input[name=count]').value)")
}
