package main

import (
	"fmt"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"regexp"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/howdah/howdah"
	"github.com/howdah/howdah/internal/test/pgtest"
	"github.com/howdah/howdah/session"
)

func TestMain(m *testing.M) { pgtest.Main(m) }

// Without a database the example says where to get one.
func TestWhichDatabase(t *testing.T) {
	t.Parallel()
	require.ErrorContains(t, run(t.Context(), "127.0.0.1:0", ""), "howdah url")
}

// The tour that the example invites to, in two browsers.
func TestTour(t *testing.T) {
	t.Parallel()
	database := pgtest.Empty(t)
	require.NoError(t, install(t.Context(), database))
	require.NoError(t, install(t.Context(), database), "again is no error")
	db, err := howdah.Open(t.Context(), database, nil)
	require.NoError(t, err)
	defer db.Close()
	sessions, err := session.New(db, &session.Options{Timeout: 20 * time.Second, Cookie: session.Cookie{Insecure: true}})
	require.NoError(t, err)
	web := httptest.NewServer(sessions.Middleware(routes(sessions)))
	defer web.Close()

	browser := func() (get func() string, post func(path, field, value string)) {
		jar, err := cookiejar.New(nil)
		require.NoError(t, err)
		client := &http.Client{Jar: jar}
		read := func(resp *http.Response, err error) string {
			require.NoError(t, err)
			defer resp.Body.Close()
			body, err := io.ReadAll(resp.Body)
			require.NoError(t, err)
			require.Equal(t, http.StatusOK, resp.StatusCode, string(body))
			return string(body)
		}
		return func() string { return read(client.Get(web.URL)) },
			func(path, field, value string) {
				read(client.PostForm(web.URL+path, url.Values{field: {value}}))
			}
	}
	here, clickHere := browser()
	there, clickThere := browser()
	require.Contains(t, here(), "Who are you?")
	clickHere("/login", "user", "<b>ada</b>")
	clickThere("/login", "user", "<b>ada</b>")
	require.Contains(t, here(), "Hello, &lt;b&gt;ada&lt;/b&gt;")
	for i := 3; i < 6; i++ {
		require.Contains(t, here(), fmt.Sprintf("seen %d page views", i))
	}
	id := regexp.MustCompile(`name="id" value="([^"]+)"`).FindStringSubmatch(here())
	require.Len(t, id, 2, "one other session is listed")
	clickHere("/revoke", "id", id[1])
	require.Contains(t, there(), "Who are you?")
	clickThere("/login", "user", "<b>ada</b>")
	clickThere("/logout-others", "", "")
	require.Contains(t, here(), "Who are you?")
	clickHere("/login", "user", "<b>ada</b>")
	clickHere("/logout-everywhere", "", "")
	require.Contains(t, here(), "Who are you?")
	require.Contains(t, there(), "Who are you?")
	clickHere("/revoke", "id", id[1]) // on a page that is still open
	require.Contains(t, here(), "Who are you?")
	resp, err := http.PostForm(web.URL+"/login", url.Values{"user": {"  "}})
	require.NoError(t, err)
	resp.Body.Close()
	require.Equal(t, http.StatusBadRequest, resp.StatusCode)

	request, err := http.NewRequest("POST", web.URL+"/login", nil)
	require.NoError(t, err)
	request.Header.Set("Sec-Fetch-Site", "cross-site")
	resp, err = http.DefaultClient.Do(request)
	require.NoError(t, err)
	resp.Body.Close()
	require.Equal(t, http.StatusForbidden, resp.StatusCode)
}
