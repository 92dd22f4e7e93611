package browser

import (
	"context"
	"fmt"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/howdah/howdah/browser/internal/chrome"
	"github.com/howdah/howdah/browser/internal/scene"
	"github.com/howdah/howdah/internal/server"
	"github.com/howdah/howdah/internal/test/pgtest"
)

// The tokens of the test servers.
const (
	adminToken   = "admin-t0ken"
	viewerToken  = "viewer-t0ken"
	sessionToken = "session-t0ken"
)

// chromium is the browser of all tests; each visitor has a profile of its own in it.
var chromium *chrome.Browser

func TestMain(m *testing.M) {
	var err error
	if chromium, err = chrome.Start(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	pgtest.Main(m, chromium.Close)
}

// serve starts a server on a database of its own.
func serve(t *testing.T, configure func(*server.Config)) *scene.Server {
	t.Helper()
	config := server.Config{Version: "1.0.0-test"}
	if configure != nil {
		configure(&config)
	}
	if config.DatabaseURL == "" {
		config.DatabaseURL = pgtest.New(t)
	}
	s, err := scene.Serve(t.Context(), config)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Stop()) })
	return s
}

// withTokens asks for the tokens of the tests.
func withTokens(c *server.Config) {
	c.Token, c.Console.ViewerToken, c.SessionToken, c.Password = adminToken, viewerToken, sessionToken, "redis-passw0rd"
}

// visit opens a tab for somebody who was never here, in a wide window with light colours.
func visit(t *testing.T) *chrome.Tab {
	t.Helper()
	tab, err := chromium.Visitor(context.Background())
	require.NoError(t, err)
	t.Cleanup(tab.Close)
	require.NoError(t, tab.Window(wide, height, "light"))
	return tab
}

// The windows in which pages are looked at.
const (
	wide   = 1200
	narrow = 390
	height = 900
)

// open loads a page, which must answer.
func open(t *testing.T, tab *chrome.Tab, address string) {
	t.Helper()
	status, err := tab.Open(address)
	require.NoError(t, err, address)
	require.Equal(t, 200, status, address)
}

// follow clicks on what a selector finds; the page that this loads must answer.
func follow(t *testing.T, tab *chrome.Tab, selector string) {
	t.Helper()
	status, err := tab.Follow(selector)
	require.NoError(t, err, selector)
	require.Equal(t, 200, status, selector)
}

// eval evaluates JavaScript in the page.
func eval[T any](t *testing.T, tab *chrome.Tab, expression string) (value T) {
	t.Helper()
	require.NoError(t, tab.Eval(expression, &value))
	return value
}

// await waits until an expression of JavaScript is true.
func await(t *testing.T, tab *chrome.Tab, expression string) {
	t.Helper()
	require.NoError(t, tab.Await(expression))
}

// typed types a text into what a selector finds.
func typed(t *testing.T, tab *chrome.Tab, selector, text string) {
	t.Helper()
	require.NoError(t, tab.Type(selector, text))
}

// login gives a token to the console of a server.
func login(t *testing.T, tab *chrome.Tab, url, token string) {
	t.Helper()
	open(t, tab, url+"/console/login")
	typed(t, tab, "#token", token)
	follow(t, tab, "main form button")
}

// clean says that the pages since the last call did nothing that they should not.
func clean(t *testing.T, tab *chrome.Tab, s *scene.Server, where string) {
	t.Helper()
	require.Empty(t, tab.Faults(s.URL), where)
}
