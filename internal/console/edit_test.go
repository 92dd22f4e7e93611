package console

import (
	"encoding/base64"
	"encoding/hex"
	"html"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/howdah/howdah"
)

// shownForm is the form that edits a value, as a browser would send it.
func (b *browser) shownForm(key string) url.Values {
	b.t.Helper()
	got := b.post("caches/db0/entry/value", url.Values{"key64": {key64([]byte(key))}}).want(b.t, http.StatusOK)
	_, form, ok := strings.Cut(got.body, `entry/save">`)
	require.True(b.t, ok, got.body)
	part := func(pattern string) string {
		match := regexp.MustCompile(`(?s)` + pattern).FindStringSubmatch(form)
		require.NotNil(b.t, match, pattern)
		return html.UnescapeString(match[1])
	}
	value := part("<textarea[^>]*>\n(.*?)</textarea>") // browsers drop the first end of line
	return url.Values{
		"key64": {key64([]byte(key))}, "version": {part(`name="version" value="([^"]*)"`)}, "as": {part(`<option selected>([^<]*)<`)},
		"value": {strings.ReplaceAll(value, "\n", "\r\n")}, "confirm": {visible(key)},
	}
}

// Whatever its bytes, a value that is stored as the form shows it is the same again, with its TTL; and
// what is typed is stored.
func TestValuesAreEdited(t *testing.T) {
	t.Parallel()
	s := open(t, nil)
	c, ctx := (*howdah.DB)(s.db).Cache("db0"), t.Context()
	b := s.browser(adminToken)
	for key, value := range map[string]string{
		"text": "hello", "empty": "", "lines": "\n\na\nb\n", "crlf": "a\r\nb", "zero": "a\x00b", "bytes": "\xff\xfe", "json": `{"a": "<b>&amp;"}`,
		"bidi": "a\u202eb", "long": strings.Repeat("ü\n", 20_000), "": "of the empty key", hostile: hostile, "\xff\x00key": "v",
	} {
		require.NoError(t, c.Set(ctx, key, []byte(value), time.Hour))
		form := b.shownForm(key)
		b.post("caches/db0/entry/save", form).want(t, http.StatusSeeOther)
		got, err := c.GetEntry(ctx, key)
		require.NoError(t, err)
		require.Equal(t, value, string(got.Value), "%q as %s", key, form.Get("as"))
		require.InDelta(t, time.Hour, got.TTL, float64(10*time.Minute), "the TTL stays")
	}
	for as, text := range map[string]string{
		"text": "typed\r\ntext", "hex": hex.EncodeToString([]byte("typed\ntext")), "base64": base64.StdEncoding.EncodeToString([]byte("typed\ntext")),
	} {
		form := b.shownForm("text")
		form.Set("as", as)
		form.Set("value", text)
		b.post("caches/db0/entry/save", form).want(t, http.StatusSeeOther)
		got, err := c.Get(ctx, "text")
		require.NoError(t, err)
		require.Equal(t, "typed\ntext", string(got))
	}
	require.Contains(t, s.log.String(), `msg="console: value changed"`)
	require.NotContains(t, s.log.String(), "typed")
	s.browser(viewerToken).get("removals").has(t, "value changed")
}

// An edit that is not confirmed, cannot be read, or is of a value that somebody has changed meanwhile,
// changes nothing; what was typed comes back.
func TestEditsThatChangeNothing(t *testing.T) {
	t.Parallel()
	s := open(t, nil)
	c, ctx := (*howdah.DB)(s.db).Cache("db0"), t.Context()
	require.NoError(t, c.Set(ctx, "k", []byte("first"), time.Hour))
	b := s.browser(adminToken)
	form := b.shownForm("k")
	for name, wrong := range map[string]string{"confirm": "K", "as": "hex"} {
		sent := url.Values{"key64": form["key64"], "version": form["version"], "as": form["as"], "value": {"mine <b>"}, "confirm": form["confirm"]}
		sent.Set(name, wrong)
		b.post("caches/db0/entry/save", sent).want(t, http.StatusUnprocessableEntity).has(t, "Nothing was changed", "mine &lt;b&gt;")
	}
	ttl := url.Values{"key64": form["key64"], "version": form["version"], "ttl": {"5m"}}
	require.NoError(t, c.Set(ctx, "k", []byte("theirs"), time.Hour))
	form.Set("value", "mine")
	b.post("caches/db0/entry/save", form).want(t, http.StatusConflict).has(t, "The entry has changed")
	b.post("caches/db0/entry/expiry", ttl).want(t, http.StatusConflict).has(t, "The entry has changed")
	got, err := c.GetEntry(ctx, "k")
	require.NoError(t, err)
	require.Equal(t, "theirs", string(got.Value))
	require.Greater(t, got.TTL, 30*time.Minute)
	require.NoError(t, c.Delete(ctx, "k"))
	b.post("caches/db0/entry/save", form).want(t, http.StatusConflict)
	_, err = c.Get(ctx, "k")
	require.ErrorIs(t, err, howdah.ErrMiss)

	// What no form was made for is not stored either.
	require.NoError(t, c.Set(ctx, "k", []byte("mine"), 0))
	form = b.shownForm("k")
	form.Set("value", strings.Repeat("v", previewBytes+1))
	b.post("caches/db0/entry/save", form).want(t, http.StatusUnprocessableEntity).has(t, "more than 64 KiB")
	require.NoError(t, c.Delete(ctx, "k"))
	_, err = c.HSet(ctx, "k", map[string][]byte{"f": []byte("v")}, 0)
	require.NoError(t, err)
	hash, err := statOf(ctx, s.db.Cache("db0"), []byte("k"))
	require.NoError(t, err)
	form.Set("value", "a string")
	form.Set("version", strconv.FormatInt(hash.Version, 10))
	b.post("caches/db0/entry/save", form).want(t, http.StatusUnprocessableEntity).has(t, "WRONGTYPE")
	fields, err := c.HGetAll(ctx, "k")
	require.NoError(t, err)
	require.Len(t, fields, 1)

	require.NoError(t, c.Set(ctx, "large", make([]byte, previewBytes+1), 0))
	b.post("caches/db0/entry/value", url.Values{"key64": {key64([]byte("large"))}}).want(t, http.StatusOK).lacks(t, "entry/save")
}

// The expiry of entries of every type is changed, and its value is not.
func TestExpiryIsEdited(t *testing.T) {
	t.Parallel()
	s := open(t, nil)
	s.fillKinds()
	c := (*howdah.DB)(s.db).Cache("db0")
	b := s.browser(adminToken)
	for _, key := range []string{"a:small", "b:hash", "b:set"} {
		for text, want := range map[string]time.Duration{"90": 90 * time.Second, "24h": 24 * time.Hour, "never": howdah.NoExpiry} {
			b.post("caches/db0/entry/expiry", url.Values{"key64": {key64([]byte(key))}, "version": {s.version(key)}, "ttl": {text}}).want(t, http.StatusSeeOther)
			entry, err := c.Stat(t.Context(), key)
			require.NoError(t, err)
			if want == howdah.NoExpiry {
				require.Equal(t, want, entry.TTL)
			} else {
				require.InDelta(t, want, entry.TTL, float64(want)/2, "%s %s", key, text)
			}
		}
		for _, wrong := range []string{"", "0", "-1", "soon", "1us"} {
			b.post("caches/db0/entry/expiry", url.Values{"key64": {key64([]byte(key))}, "version": {s.version(key)}, "ttl": {wrong}}).want(t, http.StatusBadRequest)
		}
	}
	fields, err := c.HGetAll(t.Context(), "b:hash")
	require.NoError(t, err)
	require.Equal(t, map[string][]byte{"f": []byte("1")}, fields)
	b.get("caches/db0/entry?key64="+key64([]byte("b:hash"))).has(t, "prompt?line=HSET%20%22b%3ahash%22%20field%20value")
}
