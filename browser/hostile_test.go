package browser

import (
	"encoding/base64"
	"fmt"
	"net/url"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/howdah/howdah/internal/rediscli"
)

// hostile are texts that would run a script, or would hide themselves, where they are taken for
// more than text. Each script sets a global of the page.
var hostile = []string{
	`<script>window.ran='script'</script>`,
	`"><img src=x onerror="window.ran='attribute'">`,
	`'><svg onload=window.ran='svg'>`,
	`</title><script>window.ran='title'</script>`,
	`</textarea></pre></bdi><script>window.ran='closed'</script>`,
	`javascript:window.ran='address'`,
	`{{.Form}}${window.ran='template'}`,
	"\u202Egnp.exe\u202C \u2066x\u2069 \u200B",
	"nul\x00 esc\x1b[31m bell\a back\b",
	"\xff\xfe\xc3 not UTF-8",
	"&lt;script&gt; &amp; &#60;",
	strings.Repeat("long <b>", 8<<10), // 64 KiB
}

// shownAs is how a page must show a text: what would be hidden or obeyed is spelled out.
var shownAs = []string{
	`<script>window.ran='script'</script>`, `"><img src=x onerror=`, `<svg onload=`, `</title><script>`, `</pre></bdi><script>`,
	`javascript:window.ran`, `{{.Form}}${window.ran`, `\u{202E}gnp.exe`, `nul\u{0} esc\u{1B}[31m bell\u{7} back\u{8}`, `\xff\xfe\xc3 not UTF-8`,
	`&lt;script&gt; &amp; &#60;`, `long <b>long <b>`,
}

// untouched says that no script ran and that no element came out of a text.
func untouched(t *testing.T, s *hostileSite, where string) {
	t.Helper()
	require.Equal(t, "nothing", eval[string](t, s.tab, "window.ran ?? 'nothing'"), where)
	require.Zero(t, eval[int](t, s.tab, "document.querySelectorAll('main script, main img, main b, [onerror], [onload], a[href^=\"javascript\" i], svg:not([class])').length"), where)
	for _, fault := range s.tab.Faults(s.Server.URL) {
		require.Contains(t, fault, "responded with a status of 4", where) // a refusal is one
	}
}

// TestHostileTexts: texts that others choose are text, wherever the console shows them, at first
// and when the script asks for a page again.
func TestHostileTexts(t *testing.T) {
	s := newHostileSite(t)
	for _, page := range []string{"slow", "removals"} { // there is something to show
		open(t, s.tab, s.console+page)
		require.Contains(t, mainText(t, s.tab), shownAs[0][:30], page)
	}
	for _, address := range s.pages() {
		status, err := s.tab.Open(address)
		require.NoError(t, err, address)
		require.Less(t, status, 500, address)
		untouched(t, s, address)
	}
}

// TestHostileTextsAreShown: a reader sees each text as it is.
func TestHostileTextsAreShown(t *testing.T) {
	s := newHostileSite(t)
	open(t, s.tab, s.console+"caches/db0/entries?prefix=k")
	keys := mainText(t, s.tab)
	open(t, s.tab, s.console+"sessions")
	sessions := mainText(t, s.tab)
	for i, text := range shownAs {
		require.Contains(t, keys, text)
		if !binary(hostile[i]) && len(hostile[i]) < 200 {
			require.Contains(t, sessions, text)
		}
		follow := s.console + "caches/db0/entry?key64=" + base64.RawURLEncoding.EncodeToString([]byte("k"+cut(hostile[i])))
		open(t, s.tab, follow)
		require.Contains(t, heading(t, s.tab), text[:min(len(text), 20)])
		showValue(t, s)
		value := mainText(t, s.tab)
		if binary(hostile[i]) {
			require.Contains(t, value, "00000000", "bytes are shown as bytes")
		} else {
			require.Contains(t, value, text)
		}
		untouched(t, s, follow)
	}
	for _, collection := range []string{"hash", "list", "set", "zset"} {
		open(t, s.tab, s.console+"caches/db0/entry?key64="+base64.RawURLEncoding.EncodeToString([]byte(collection)))
		showValue(t, s)
		value := mainText(t, s.tab)
		for _, text := range shownAs {
			require.Contains(t, value, text, collection)
		}
		untouched(t, s, collection)
	}
}

// TestHostileTextsRefreshed: a page that the script asks for again is as safe as at first.
func TestHostileTextsRefreshed(t *testing.T) {
	s := newHostileSite(t)
	for _, page := range []string{"removals", "caches/db0", ""} {
		open(t, s.tab, s.console+page)
		choose(t, s.tab, "#interval", "1")
		refreshed(t, s.tab)
		untouched(t, s, page)
	}
}

// TestHostileForms: what a visitor typed comes back as text.
func TestHostileForms(t *testing.T) {
	s := newHostileSite(t)
	for _, text := range hostile[:7] {
		open(t, s.tab, s.console+"caches/db0/settings")
		typed(t, s.tab, "#max_entries", text)
		typed(t, s.tab, "#default_ttl", text)
		status, err := s.tab.Follow("main form button")
		require.NoError(t, err)
		require.Equal(t, 422, status, text)
		require.Equal(t, text, eval[string](t, s.tab, "document.querySelector('#max_entries').value"))
		untouched(t, s, text)
	}
}

// TestHostileLines: a line of the prompt, and its reply, are text.
func TestHostileLines(t *testing.T) {
	s := newHostileSite(t)
	for _, text := range hostile[:7] {
		open(t, s.tab, s.console+"caches/db0/prompt")
		typed(t, s.tab, "#line", "echo "+rediscli.Quote([]byte(text)))
		follow(t, s.tab, "main form button")
		await(t, s.tab, "!!document.querySelector('.reply')")
		untouched(t, s, text)
		typed(t, s.tab, "#line", text)
		_, err := s.tab.Follow("main form button")
		require.NoError(t, err)
		untouched(t, s, text)
	}
}

func showValue(t *testing.T, s *hostileSite) {
	t.Helper()
	follow(t, s.tab, "form[action$='entry/value'] button")
}

// binary says whether a text is shown as bytes, and is refused where a text is needed.
func binary(text string) bool { return !utf8.ValidString(text) || strings.Contains(text, "\x00") }

// cut shortens what is too long for a key.
func cut(text string) string { return text[:min(len(text), 4<<10)] }

// pages are those that show what others choose, and those whose addresses are hostile.
func (s *hostileSite) pages() (pages []string) {
	for _, page := range []string{"", "caches/db0", "slow", "removals", "watches", "sessions", "servers", "clients", "doctor"} {
		pages = append(pages, s.console+page)
	}
	for i, text := range hostile {
		q := url.QueryEscape(cut(text))
		b := base64.RawURLEncoding.EncodeToString([]byte(cut(text)))
		for j, page := range []string{
			"caches/db0/entries?prefix=%[1]s", "caches/db0/entries?prefix64=%[2]s", "caches/db0/entries?cursor=%[1]s", "caches/db0/entries?match=%[1]s", "caches/db0/prompt?line=%[1]s", "caches/db0?below=%[2]s", "caches/db0?below=%[1]s",
			"caches/db0/entry?key64=%[2]s", "caches/db0/delete-prefix?prefix=%[1]s", "sessions?user=%[1]s", "sessions?cursor=%[1]s", "sessions/revoke-user?user=%[1]s",
			"removals?key=%[1]s&cache=%[1]s", "login?next=%[1]s", "login?ticket=%[1]s", "?done=%[1]s",
		} {
			if (i+j)%3 == 0 { // each page with four texts, each text on five pages
				pages = append(pages, s.console+fmt.Sprintf(page, q, b))
			}
		}
		pages = append(pages, s.console+"caches/"+url.PathEscape(cut(text)))
	}
	return pages
}
