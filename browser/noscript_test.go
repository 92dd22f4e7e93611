package browser

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestWithoutScripts: a browser without JavaScript does all that there is to do.
func TestWithoutScripts(t *testing.T) {
	s := shop(t, nil)
	console := s.Server.URL + "/console/"
	tab := visit(t)
	require.NoError(t, tab.WithoutScripts())
	login(t, tab, s.Server.URL, adminToken)
	require.Contains(t, mainText(t, tab), "You are logged in")
	require.True(t, eval[bool](t, tab, "document.querySelector('#live').hidden"), "what needs the script is not shown")

	// While the first figures are being read the page asks for itself again.
	await(t, tab, "!!document.querySelector('main tbody') && !document.querySelector('.waiting')")

	// Browse, search, look, delete.
	follow(t, tab, "main tbody a[href$='caches/carts']")
	follow(t, tab, ".tabs a[href$='entries']")
	typed(t, tab, "#prefix", "cart:grace.1")
	follow(t, tab, ".search button")
	require.Contains(t, mainText(t, tab), "cart:grace.15")
	follow(t, tab, "main tbody a")
	require.NotContains(t, mainText(t, tab), "quantity")
	follow(t, tab, "form[action$='entry/value'] button")
	require.Contains(t, mainText(t, tab), `"quantity"`)

	// Edit the value, with its name, and the expiry.
	require.NoError(t, tab.Click(".edit summary"))
	eval[bool](t, tab, "(document.querySelector('#value').value = '', true)")
	typed(t, tab, "#value", `{"items":[]}`)
	typed(t, tab, "#confirm", "cart:grace.1")
	follow(t, tab, ".edit form button")
	require.Contains(t, mainText(t, tab), "The value was stored")
	typed(t, tab, "#ttl", "never")
	follow(t, tab, "form[action$='entry/expiry'] button")
	require.Contains(t, mainText(t, tab), "The expiry was changed")
	require.Contains(t, mainText(t, tab), "no expiry")

	// Ask by a command line, and choose entries by what they are.
	follow(t, tab, ".crumbs a")
	follow(t, tab, ".tabs a[href$='prompt']")
	typed(t, tab, "#line", "GET cart:grace.1")
	follow(t, tab, "main form button")
	require.Contains(t, mainText(t, tab), `"{\"items\":[]}"`)
	follow(t, tab, ".tabs a[href$='entries']")
	eval[bool](t, tab, "(document.querySelector('#ttl').value = 'never', true)")
	typed(t, tab, "#match", "cart:*.1")
	follow(t, tab, ".search button")
	require.Contains(t, mainText(t, tab), "1 entry matches. Looked at all 40 entries.")
	follow(t, tab, "main tbody a")
	follow(t, tab, "form[action$='entry/delete'] button")
	require.Contains(t, mainText(t, tab), "The entry was deleted")

	// Settings, in two steps: first the statement, then the change.
	open(t, tab, console+"caches/carts/settings")
	typed(t, tab, "#max_entries", "5000")
	follow(t, tab, "main form button")
	require.Contains(t, mainText(t, tab), "howdah.alter_cache('carts', max_entries => 5000)")
	follow(t, tab, ".panel form button")
	require.Contains(t, mainText(t, tab), "The settings were changed")
	require.Equal(t, "5000", eval[string](t, tab, "document.querySelector('#max_entries').value"))

	// A wrong name flushes nothing; the right one does.
	open(t, tab, console+"caches/carts/flush")
	require.Contains(t, mainText(t, tab), "39 entries will be removed")
	typed(t, tab, "#confirm", "pages")
	status, err := tab.Follow("main form button")
	require.NoError(t, err)
	require.Equal(t, http.StatusConflict, status)
	require.Contains(t, mainText(t, tab), "Nothing was changed")
	typed(t, tab, "#confirm", "carts")
	follow(t, tab, "main form button")
	require.Contains(t, mainText(t, tab), "The cache was emptied")
	require.Zero(t, countOf(t, tab, s.Server, "carts"))

	// Colours, sessions, logout.
	follow(t, tab, "button[value=dark]")
	require.Equal(t, "dark", eval[string](t, tab, "document.documentElement.dataset.theme"))
	login(t, tab, s.Server.URL, sessionToken)
	open(t, tab, console+"sessions?user=ada")
	require.Equal(t, 3, eval[int](t, tab, "document.querySelectorAll('main tbody tr').length"))
	follow(t, tab, "main tbody form button")
	open(t, tab, console+"sessions/revoke-user?user=ada")
	require.Contains(t, mainText(t, tab), "2 sessions will be removed")
	typed(t, tab, "#confirm", "ada")
	follow(t, tab, "main form button")
	require.Contains(t, mainText(t, tab), "All sessions of the user were revoked")
	follow(t, tab, ".who button")
	open(t, tab, console)
	require.Equal(t, "Log in", heading(t, tab))
}
