package console

import (
	"context"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/howdah/howdah"
)

// A browser that stops waiting is not told that its page or its change was done,
// and the log is not told that something failed.
func TestBrowserThatLeaves(t *testing.T) {
	t.Parallel()
	s := open(t, nil)
	s.fill()
	b := s.browser(adminToken)
	form, at := b.formToken(), s.url
	address, err := url.Parse(at)
	require.NoError(t, err)
	left, leave := context.WithCancel(t.Context())
	leave()
	for path, values := range map[string]url.Values{
		"caches/db0/entries?prefix=a":                      nil,
		"caches/db0/entry?key64=" + key64([]byte("plain")): nil,
		"caches/db0/entry/delete":                          {"key64": {key64([]byte("plain"))}, "version": {"1"}},
		"caches/db0/delete-prefix":                         {"prefix": {"user:"}},
		"tags/invalidate":                                  {"cache": {"db0"}, "tag": {"x"}},
		"caches/db0/entry/value":                           {"key64": {key64([]byte("plain"))}},
	} {
		request := httptest.NewRequest(http.MethodGet, at+path, nil)
		if values != nil {
			values.Set("form", form)
			request = httptest.NewRequest(http.MethodPost, at+path, strings.NewReader(values.Encode()))
			request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		}
		for _, cookie := range b.http.Jar.Cookies(address) {
			request.AddCookie(cookie)
		}
		recorder := httptest.NewRecorder()
		s.console.ServeHTTP(recorder, request.WithContext(left))
		got := page{recorder.Code, recorder.Header(), recorder.Body.String()}
		got.want(t, 499).has(t, "The client stopped waiting")
	}
	value, err := (*howdah.DB)(s.db).Cache("db0").Get(t.Context(), "plain")
	require.NoError(t, err)
	require.Equal(t, "plain value", string(value))
	require.NotContains(t, s.log.String(), "a page of the console failed")
}
