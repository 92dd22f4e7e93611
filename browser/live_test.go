package browser

import (
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/howdah/howdah/browser/internal/chrome"
	"github.com/howdah/howdah/browser/internal/scene"
	"github.com/howdah/howdah/internal/server"
	"github.com/howdah/howdah/internal/test/pgtest"
)

// choose takes a value of a list, as somebody who uses it does.
func choose(t *testing.T, tab *chrome.Tab, selector, value string) {
	t.Helper()
	eval[bool](t, tab, fmt.Sprintf(`((list) => { list.value = %q; list.dispatchEvent(new Event("change")); return true })(document.querySelector(%q))`, value, selector))
}

// refreshed waits until the script has replaced the main part of the page.
func refreshed(t *testing.T, tab *chrome.Tab) {
	t.Helper()
	eval[bool](t, tab, "document.querySelector('h1').mark = true")
	await(t, tab, "document.querySelector('h1') && !document.querySelector('h1').mark")
}

// TestLive: figures change without loading the page again.
func TestLive(t *testing.T) {
	s := shop(t, nil)
	tab := visit(t)
	login(t, tab, s.Server.URL, adminToken)
	open(t, tab, s.Server.URL+"/console/removals")
	choose(t, tab, "#interval", "1")
	eval[bool](t, tab, "window.same = true")
	require.NotContains(t, mainText(t, tab), "product:11")
	api := scene.API{URL: s.Server.URL, Token: adminToken, Agent: "test"}
	require.NoError(t, api.Delete(t.Context(), "products", "product:11"))
	await(t, tab, "document.querySelector('main').innerText.includes('product:11')")
	require.True(t, eval[bool](t, tab, "window.same"), "the page was loaded again")

	// Nothing is asked for while somebody types, selects, or has a dialog open.
	require.NoError(t, tab.Click("#key"))
	typed(t, tab, "#key", "product:12")
	require.NoError(t, api.Delete(t.Context(), "products", "product:12"))
	stays(t, tab)
	require.Equal(t, "product:12", eval[string](t, tab, "document.querySelector('#key').value"))
	eval[bool](t, tab, "(document.activeElement.blur(), document.querySelector('#key').value = '', true)")
	refreshed(t, tab)

	// Whoever moves from link to link keeps the place.
	focused := "document.activeElement.getAttribute('href')"
	link := eval[string](t, tab, "document.querySelector('main a').focus() ?? "+focused)
	require.NotEmpty(t, link)
	refreshed(t, tab)
	require.Equal(t, link, eval[string](t, tab, focused))
	clean(t, tab, s.Server, "live")
}

// TestLivePauses: a page that is hidden asks for nothing, nor does one whose refresh is off.
func TestLivePauses(t *testing.T) {
	s := shop(t, nil)
	tab := visit(t)
	login(t, tab, s.Server.URL, adminToken)
	open(t, tab, s.Server.URL+"/console/")
	choose(t, tab, "#interval", "1")
	refreshed(t, tab)

	other, err := tab.Beside(t.Context())
	require.NoError(t, err)
	require.NoError(t, other.Front())
	await(t, tab, "document.hidden")
	stays(t, tab)
	require.NoError(t, tab.Front())
	await(t, tab, "!document.hidden")
	refreshed(t, tab)

	choose(t, tab, "#interval", "0")
	await(t, tab, "document.querySelector('#live-state').textContent === 'paused'")
	stays(t, tab)
	// Figures that are being read are awaited all the same, and no longer.
	eval[bool](t, tab, "(document.querySelector('#main').dataset.waiting = '', true)")
	choose(t, tab, "#interval", "0")
	refreshed(t, tab)
	await(t, tab, "!('waiting' in document.querySelector('#main').dataset)")
	stays(t, tab)
	open(t, tab, s.Server.URL+"/console/slow")
	require.Equal(t, "0", eval[string](t, tab, "document.querySelector('#interval').value"), "the choice is kept")

	// The last day has something new once a minute, and is not asked for more often.
	open(t, tab, s.Server.URL+"/console/history")
	choose(t, tab, "#interval", "1")
	await(t, tab, "document.querySelector('#live-state').textContent === 'this page every 60 s'")
	stays(t, tab)
	choose(t, tab, "#interval", "0")
	await(t, tab, "document.querySelector('#live-state').textContent === 'paused'")
}

// TestLiveWithoutServer: a page whose server is gone keeps its figures and says that they are old.
func TestLiveWithoutServer(t *testing.T) {
	s, err := scene.Serve(t.Context(), server.Config{DatabaseURL: pgtest.New(t)})
	require.NoError(t, err)
	tab := visit(t)
	open(t, tab, s.URL+"/console/")
	choose(t, tab, "#interval", "1")
	require.NoError(t, s.Stop())
	await(t, tab, "document.querySelector('#live-state').textContent.includes('does not answer')")
	require.Equal(t, "Overview", heading(t, tab))
}

// TestKeys: what the keys do, and that they can be switched off.
func TestKeys(t *testing.T) {
	s := shop(t, nil)
	tab := visit(t)
	login(t, tab, s.Server.URL, sessionToken)
	login(t, tab, s.Server.URL, adminToken)
	focused := "document.activeElement.getAttribute('href')"
	press := func(keys string) {
		t.Helper()
		require.NoError(t, tab.Keys(keys))
	}

	open(t, tab, s.Server.URL+"/console/caches/products/entries")
	first := eval[string](t, tab, "document.querySelectorAll('main tbody a')[0].getAttribute('href')")
	second := eval[string](t, tab, "document.querySelectorAll('main tbody a')[1].getAttribute('href')")
	press("j")
	require.Equal(t, first, eval[string](t, tab, focused))
	press("jjk")
	require.Equal(t, second, eval[string](t, tab, focused))
	press("\r")
	await(t, tab, "location.pathname.endsWith('/entry')")

	open(t, tab, s.Server.URL+"/console/caches/products/entries")
	press("/")
	require.Equal(t, "prefix", eval[string](t, tab, "document.activeElement.id"))
	press("go?/jk") // in a field they are letters
	require.Equal(t, "go?/jk", eval[string](t, tab, "document.activeElement.value"))
	eval[bool](t, tab, "(document.activeElement.blur(), true)")

	press("?")
	require.True(t, eval[bool](t, tab, "document.querySelector('#keys').open"))
	press("\x1b")
	await(t, tab, "!document.querySelector('#keys').open")
	listed := keysOf(t, tab)
	require.Len(t, listed, 4)
	for keys, page := range listed { // each leads to the page that the list names, and is in the documentation
		open(t, tab, s.Server.URL+"/console/cost")
		goTo(t, tab, keys, page)
	}
	documented, err := os.ReadFile("../docs/console.md")
	require.NoError(t, err)
	require.Equal(t, map[string]string{"go": "Overview", "gc": "Clients", "gd": "Doctor", "gs": "Sessions"}, listed)
	require.Contains(t, string(documented), "`g` then `o`, `c`, `d` or `s` goes to the overview, the clients, the\ndoctor, the sessions.")
	open(t, tab, s.Server.URL+"/console/")

	press("?")
	require.NoError(t, tab.Click("#keys-on"))
	press("\x1b")
	open(t, tab, s.Server.URL+"/console/caches/products/entries")
	press("j/gd")
	require.Equal(t, "BODY", eval[string](t, tab, "document.activeElement.tagName"))
	press("?")
	require.True(t, eval[bool](t, tab, "document.querySelector('#keys').open"), "the list is where they are switched on again")
	clean(t, tab, s.Server, "keys")
}

// keysOf are the pairs of keys in the list of keys, with the names of the pages to which they lead.
func keysOf(t *testing.T, tab *chrome.Tab) map[string]string {
	t.Helper()
	return eval[map[string]string](t, tab, `Object.fromEntries([...document.querySelectorAll("#keys tbody tr")]
		.map((row) => [[...row.querySelectorAll("kbd")].map((key) => key.textContent).join(""), row.querySelector("td").textContent])
		.filter(([keys]) => keys.length === 2 && keys[0] === "g"))`)
}

// goTo presses two keys that open a page. The second key has to come within 1.5 s: on a machine
// that is too slow for that they are pressed again.
func goTo(t *testing.T, tab *chrome.Tab, keys, title string) {
	t.Helper()
	there := fmt.Sprintf("document.readyState === 'complete' && document.querySelector('nav [aria-current]')?.textContent === %q", title)
	var err error
	for range 5 {
		require.NoError(t, tab.Keys(keys))
		if err = tab.AwaitFor(4*time.Second, there); err == nil {
			return
		}
	}
	require.NoError(t, err)
}

// stays says that the page is not replaced for longer than its interval. The page counts the
// time itself, so that a slow machine does not matter.
func stays(t *testing.T, tab *chrome.Tab) {
	t.Helper()
	replaced := eval[bool](t, tab, `new Promise((answer) => {
		const watch = new MutationObserver(() => answer(true));
		watch.observe(document.querySelector("main"), { childList: true });
		setTimeout(() => { watch.disconnect(); answer(false) }, 2500);
	})`)
	require.False(t, replaced, "the page was replaced")
}
