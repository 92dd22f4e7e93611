package console

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/howdah/howdah"
	"github.com/howdah/howdah/session"
)

// A change comes from a form of this console in this browser, or is refused.
func TestFormsOfOthers(t *testing.T) {
	t.Parallel()
	s := open(t, nil)
	s.fill()
	b := s.browser(adminToken)
	form := url.Values{"confirm": {"db0"}, "count": {"32"}}
	for _, header := range []string{"Sec-Fetch-Site: cross-site", "Sec-Fetch-Site: same-site", "Origin: https://evil.example", "Origin: null"} {
		b.post("caches/db0/flush", form, header).want(t, http.StatusForbidden).has(t, "not from this console")
	}
	stolen := s.browser(adminToken).formToken() // written for another browser
	b.do(http.MethodPost, "caches/db0/flush", strings.NewReader("confirm=db0&count=32&form="+stolen)).want(t, http.StatusForbidden)
	b.do(http.MethodPost, "caches/db0/flush?form="+b.formToken(), strings.NewReader("confirm=db0&count=32")).want(t, http.StatusForbidden)
	b.post("login", url.Values{"token": {adminToken}}, "Sec-Fetch-Site: cross-site").want(t, http.StatusForbidden)
	n, err := s.db.Cache("db0").Count(t.Context())
	require.NoError(t, err)
	require.EqualValues(t, 32, n)

	// A proxy gives the request another Host; the browser says that it is the same origin.
	b.post("caches/db0/flush", form, "Origin: https://ops.example", "Sec-Fetch-Site: same-origin").want(t, http.StatusSeeOther)
	n, err = s.db.Cache("db0").Count(t.Context())
	require.NoError(t, err)
	require.Zero(t, n)
}

// A link from another site opens a page: it changes nothing.
func TestLinksOfOthers(t *testing.T) {
	t.Parallel()
	s := open(t, nil)
	b := s.browser(viewerToken)
	b.get("doctor", "Sec-Fetch-Site: cross-site", "Sec-Fetch-Mode: navigate", "Sec-Fetch-Dest: document").want(t, http.StatusOK)
}

// What destroys needs the name, and the count that the page has shown.
func TestConfirmations(t *testing.T) {
	t.Parallel()
	s := open(t, nil)
	s.fill()
	b := s.browser(adminToken, sessionsToken)
	count := func() int64 {
		n, err := s.db.Cache("db0").Count(t.Context())
		require.NoError(t, err)
		return n
	}
	b.get("caches/db0/flush").want(t, http.StatusOK).has(t, "<strong>32 entries</strong>", "Type the name of the cache")
	for _, form := range []url.Values{
		{}, {"confirm": {"db0"}}, {"confirm": {""}, "count": {"32"}}, {"confirm": {"DB0"}, "count": {"32"}},
		{"confirm": {"db0"}, "count": {"x"}}, {"confirm": {"db0"}, "count": {"320"}}, {"confirm": {"db0"}, "count": {"3"}},
	} {
		b.post("caches/db0/flush", form).want(t, http.StatusConflict).has(t, "Nothing was changed")
		b.post("caches/db0/drop", form).want(t, http.StatusConflict).has(t, "Nothing was changed")
	}
	require.EqualValues(t, 32, count())

	b.get("caches/db0/delete-prefix?prefix=user%3A").want(t, http.StatusOK).has(t, "<strong>30 entries</strong>", "user:")
	b.get("caches/db0/delete-prefix").want(t, http.StatusBadRequest)
	b.post("caches/db0/delete-prefix", url.Values{"prefix": {"user:"}, "confirm": {"user"}, "count": {"30"}}).want(t, http.StatusConflict)
	b.post("caches/db0/delete-prefix", url.Values{"prefix": {"user:"}, "confirm": {"user:"}, "count": {"30"}}).want(t, http.StatusSeeOther)
	require.EqualValues(t, 2, count())
	b.get("caches/db0/entries?done=prefix").has(t, "The entries were deleted.")
	b.get("removals").has(t, "prefix", "user:", "console", "admin")

	for range 3 {
		_, err := s.sessions.Create(t.Context(), session.Start{User: "ada"})
		require.NoError(t, err)
	}
	b.get("sessions/revoke-user?user=ada").want(t, http.StatusOK).has(t, "<strong>3 sessions</strong>")
	b.post("sessions/revoke-user", url.Values{"user": {"ada"}, "confirm": {"eve"}, "count": {"3"}}).want(t, http.StatusConflict)
	b.post("sessions/revoke-user", url.Values{"user": {"ada"}, "confirm": {"ada"}, "count": {"3"}}).want(t, http.StatusSeeOther)
	n, err := s.sessions.CountUser(t.Context(), "ada")
	require.NoError(t, err)
	require.Zero(t, n)

	b.post("caches/db0/drop", url.Values{"confirm": {"db0"}, "count": {"2"}}).want(t, http.StatusSeeOther)
	configs, err := s.db.Caches(t.Context())
	require.NoError(t, err)
	require.Empty(t, configs)
	for _, action := range []string{"cache dropped", "entries deleted by prefix", "sessions of a user revoked"} {
		require.Contains(t, s.log.String(), "console: "+action)
	}
}

func TestCountsThatDiffer(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		shown, now int64
		differs    bool
	}{{0, 0, false}, {0, 10, false}, {0, 11, true}, {100, 90, false}, {100, 110, false}, {100, 111, true}, {1000, 1100, false}, {1000, 899, true}} {
		require.Equal(t, c.differs, differs(c.shown, c.now), "%+v", c)
	}
}

// An entry is deleted only as the one that was shown.
func TestDeleteEntry(t *testing.T) {
	t.Parallel()
	s := open(t, nil)
	s.fill()
	b := s.browser(adminToken)
	version := s.version("plain")
	form := url.Values{"key64": {key64([]byte("plain"))}, "version": {version}}
	require.NoError(t, (*howdah.DB)(s.db).Cache("db0").Set(t.Context(), "plain", []byte("newer"), howdah.NoExpiry))
	b.post("caches/db0/entry/delete", form).want(t, http.StatusConflict).has(t, "The entry has changed")
	form.Set("version", s.version("plain"))
	b.post("caches/db0/entry/delete", form).want(t, http.StatusSeeOther)
	b.post("caches/db0/entry/delete", form).want(t, http.StatusConflict)
	b.get("caches/db0/entry?key64="+form.Get("key64")).want(t, http.StatusOK).has(t, "absent or expired", "deleted", "console")
}

func TestSettings(t *testing.T) {
	t.Parallel()
	s := open(t, nil)
	b := s.browser(adminToken)
	b.get("caches/db0/settings").want(t, http.StatusOK).has(t, "Longest TTL", "allkeys-lru")
	b.post("caches/db0/settings", nil).want(t, http.StatusOK).has(t, "Nothing was changed")
	for field, wrong := range map[string][]string{
		"max_bytes": {"-1", "x", "1e9"}, "default_ttl": {"-1s", "soon", "0"}, "ttl_jitter": {"", "x", "99999999999"}, "durability": {"", "fast"}, "near": {"true"},
	} {
		for _, value := range wrong {
			b.post("caches/db0/settings", url.Values{field: {value}}).want(t, http.StatusUnprocessableEntity).has(t, `aria-describedby="`+field+`-help"`)
		}
	}
	form := url.Values{"max_bytes": {"104857600"}, "default_ttl": {"24h"}, "eviction": {"volatile-lfu"}, "ttl_jitter": {"0"}}
	const sql = "SELECT howdah.alter_cache(&#39;db0&#39;, default_ttl =&gt; &#39;86400000000 microseconds&#39;, max_bytes =&gt; 104857600, eviction =&gt; &#39;volatile-lfu&#39;);"
	review := b.post("caches/db0/settings", form).want(t, http.StatusOK).has(t, "This will run", sql)
	require.Equal(t, state(s.config("db0")), stateField(t, review))

	form.Set("step", "apply")
	form.Set("state", "of another time")
	b.post("caches/db0/settings", form).want(t, http.StatusConflict).has(t, "have changed since")
	form.Set("state", stateField(t, review))
	b.post("caches/db0/settings", form).want(t, http.StatusSeeOther)
	config := s.config("db0")
	require.EqualValues(t, 104857600, config.MaxBytes)
	require.Equal(t, "24h", shortDuration(config.DefaultTTL))
	require.Equal(t, "volatile-lfu", config.Eviction)

	// The statement that was shown does the same: run by hand, it changes nothing more.
	before := state(config)
	_, err := s.db.Pool().Exec(t.Context(), alterSQL(config, []string{"max_bytes", "default_ttl", "eviction", "max_ttl"}))
	require.NoError(t, err)
	require.Equal(t, before, state(s.config("db0")))

	// A value goes back to its default by nothing.
	form = url.Values{"max_bytes": {""}, "default_ttl": {" "}}
	review = b.post("caches/db0/settings", form).want(t, http.StatusOK).has(t, "reset =&gt; ARRAY[&#39;default_ttl&#39;, &#39;max_bytes&#39;]")
	form.Set("step", "apply")
	form.Set("state", stateField(t, review))
	b.post("caches/db0/settings", form).want(t, http.StatusSeeOther)
	require.Zero(t, s.config("db0").MaxBytes)
}

// A change of the class rewrites the table: the page says so, and asks for the name.
func TestChangeOfClass(t *testing.T) {
	t.Parallel()
	s := open(t, nil)
	b := s.browser(adminToken)
	form := url.Values{"durability": {"sync"}}
	review := b.post("caches/db0/settings", form).want(t, http.StatusOK).has(t, "rewrites the table", "Type the name of the cache")
	form.Set("step", "apply")
	form.Set("state", stateField(t, review))
	b.post("caches/db0/settings", form).want(t, http.StatusConflict)
	require.Equal(t, "unlogged", s.config("db0").Durability)
	form.Set("confirm", "db0")
	b.post("caches/db0/settings", form).want(t, http.StatusSeeOther)
	require.Equal(t, "sync", s.config("db0").Durability)
}

func stateField(t *testing.T, p page) string {
	t.Helper()
	_, rest, ok := strings.Cut(p.body, `name="state" value="`)
	require.True(t, ok, p.body)
	state, _, _ := strings.Cut(rest, `"`)
	return strings.NewReplacer("&#43;", "+", "&#39;", "'").Replace(state)
}

func TestCloseAConnection(t *testing.T) {
	t.Parallel()
	s := open(t, nil)
	b := s.browser(adminToken)
	b.get("clients").want(t, http.StatusOK).has(t, "redis-py", "subscribed")
	b.post("clients/kill", url.Values{"id": {"9"}}).want(t, http.StatusNotFound)
	b.post("clients/kill", url.Values{"id": {"x"}}).want(t, http.StatusBadRequest)
	b.post("clients/kill", url.Values{"id": {"7"}}).want(t, http.StatusSeeOther)
}

func TestInvalidateTag(t *testing.T) {
	t.Parallel()
	s := open(t, nil)
	c := (*howdah.DB)(s.db).Cache("db0")
	require.NoError(t, c.SetWith(t.Context(), "page", []byte("v"), 0, howdah.SetOptions{Tags: []string{"news"}}))
	require.NoError(t, c.Set(t.Context(), "other", []byte("v"), 0))
	for i := range 30 {
		require.NoError(t, c.SetWith(t.Context(), fmt.Sprint("page", i), []byte("v"), 0, howdah.SetOptions{Tags: []string{"news", "all"}}))
	}
	b := s.browser(adminToken)
	b.get("tags/invalidate?cache=db0").want(t, http.StatusBadRequest)
	b.get("tags/invalidate?cache=nope&tag=news").want(t, http.StatusNotFound)
	b.get("tags/invalidate?cache=db0&tag=news").want(t, http.StatusOK).has(t, "Type the tag", "<strong>31 entries</strong>")
	b.get("tags/invalidate?cache=db0&tag=nobody").want(t, http.StatusOK).has(t, "<strong>0 entries</strong>")
	form := url.Values{"cache": {"db0"}, "tag": {"news"}, "count": {"31"}}
	b.post("tags/invalidate", form).want(t, http.StatusConflict)
	form.Set("confirm", "news")
	form.Set("count", "10") // of another time
	b.post("tags/invalidate", form).want(t, http.StatusConflict).has(t, "the number is 31 now, and the page showed 10")
	n, err := s.db.Cache("db0").Count(t.Context())
	require.NoError(t, err)
	require.EqualValues(t, 32, n)
	form.Set("count", "31")
	b.post("tags/invalidate", form).want(t, http.StatusSeeOther)
	n, err = s.db.Cache("db0").Count(t.Context())
	require.NoError(t, err)
	require.EqualValues(t, 1, n)
	b.get("removals").has(t, "invalidated", "console")
}

// A tag of very many entries is counted up to a bound.
func TestCountOfATag(t *testing.T) {
	t.Parallel()
	s := open(t, nil)
	c := (*howdah.DB)(s.db).Cache("db0")
	for i := range 12 {
		require.NoError(t, c.SetWith(t.Context(), fmt.Sprint("page", i), []byte("v"), 0, howdah.SetOptions{Tags: []string{"news"}}))
	}
	require.NoError(t, c.SetWith(t.Context(), "short", []byte("v"), time.Millisecond, howdah.SetOptions{Tags: []string{"brief"}}))
	count := func(tag string, most int) (n int64, atLeast bool) {
		t.Helper()
		n, atLeast, err := s.db.Cache("db0").CountTag(t.Context(), tag, most)
		require.NoError(t, err)
		return n, atLeast
	}
	n, atLeast := count("news", 100)
	require.EqualValues(t, 12, n)
	require.False(t, atLeast)
	n, atLeast = count("news", 10)
	require.EqualValues(t, 10, n)
	require.True(t, atLeast)
	require.Eventually(t, func() bool { n, _ := count("brief", 100); return n == 0 }, time.Minute, time.Millisecond, "what has expired counts")
	_, _, err := s.db.Cache("db0").CountTag(t.Context(), "", 10)
	require.Error(t, err)
}
