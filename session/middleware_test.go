package session_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/howdah/howdah/session"
)

// site serves handlers behind the middleware, over TLS, so that the safest
// cookie is used.
func site(t testing.TB, m *session.Manager, handlers map[string]http.HandlerFunc) *httptest.Server {
	t.Helper()
	mux := http.NewServeMux()
	for path, h := range handlers {
		mux.HandleFunc(path, h)
	}
	server := httptest.NewTLSServer(m.Middleware(mux))
	t.Cleanup(server.Close)
	return server
}

// browser is a client with cookies of its own.
func browser(t testing.TB, server *httptest.Server) *http.Client {
	t.Helper()
	jar, err := cookiejar.New(nil)
	require.NoError(t, err)
	return &http.Client{Jar: jar, Transport: server.Client().Transport, Timeout: time.Minute}
}

func visit(t testing.TB, client *http.Client, url string) (*http.Response, string) {
	t.Helper()
	resp, err := client.Get(url)
	require.NoError(t, err)
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	return resp, string(body)
}

func token(t testing.TB, client *http.Client, server *httptest.Server) string {
	t.Helper()
	u, err := url.Parse(server.URL)
	require.NoError(t, err)
	for _, cookie := range client.Jar.Cookies(u) {
		if cookie.Name == "__Host-session" {
			return cookie.Value
		}
	}
	return ""
}

// pages is a small application.
func pages(t testing.TB) map[string]http.HandlerFunc {
	check := func(err error) {
		if err != nil {
			t.Errorf("handler: %v", err)
		}
	}
	return map[string]http.HandlerFunc{
		"/static": func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, "static") },
		"/who": func(w http.ResponseWriter, r *http.Request) {
			user, err := session.From(r.Context()).User()
			check(err)
			fmt.Fprintf(w, "user=%s", user)
		},
		"/login": func(w http.ResponseWriter, r *http.Request) {
			check(session.From(r.Context()).Login(r.FormValue("user")))
			io.WriteString(w, "in")
		},
		"/logout": func(w http.ResponseWriter, r *http.Request) { check(session.From(r.Context()).Logout()) },
		"/everywhere": func(w http.ResponseWriter, r *http.Request) {
			n, err := session.From(r.Context()).LogoutEverywhere()
			check(err)
			fmt.Fprint(w, n)
		},
		"/others": func(w http.ResponseWriter, r *http.Request) {
			n, err := session.From(r.Context()).LogoutOthers()
			check(err)
			fmt.Fprint(w, n)
		},
		"/set": func(w http.ResponseWriter, r *http.Request) {
			check(session.From(r.Context()).Set(r.FormValue("k"), r.FormValue("v")))
		},
		"/remove": func(w http.ResponseWriter, r *http.Request) {
			check(session.From(r.Context()).Remove(r.FormValue("k")))
		},
		"/get": func(w http.ResponseWriter, r *http.Request) {
			var v string
			found, err := session.From(r.Context()).Get(r.FormValue("k"), &v)
			check(err)
			fmt.Fprintf(w, "%t %s", found, v)
		},
		"/renew": func(w http.ResponseWriter, r *http.Request) { check(session.From(r.Context()).Renew()) },
	}
}

func TestMiddleware(t *testing.T) {
	t.Parallel()
	m, pool := open(t, session.Options{})
	server := site(t, m, pages(t))
	ada := browser(t, server)

	// Nothing is read or written for those who do not ask.
	resp, _ := visit(t, ada, server.URL+"/static")
	require.Empty(t, resp.Header.Get("Vary"))
	require.Empty(t, resp.Cookies())
	resp, body := visit(t, ada, server.URL+"/who")
	require.Equal(t, "user=", body)
	require.Equal(t, "Cookie", resp.Header.Get("Vary"))
	require.Equal(t, "private, no-cache", resp.Header.Get("Cache-Control"))
	require.Empty(t, resp.Cookies())
	visit(t, ada, server.URL+"/remove?k=x")
	require.Zero(t, m.Stats().Reads)
	require.Zero(t, one[int](t, pool, "SELECT count(*) FROM howdah.session"))

	// The first field starts a session.
	resp, _ = visit(t, ada, server.URL+"/set?k=cart&v=book")
	require.Len(t, resp.Cookies(), 1)
	require.Regexp(t, `^__Host-session=[A-Za-z0-9_-]{64}; Path=/; HttpOnly; Secure; SameSite=Lax$`, resp.Header.Get("Set-Cookie"))
	planted := token(t, ada, server)
	visit(t, ada, server.URL+"/set?k=other&v=1")
	visit(t, ada, server.URL+"/remove?k=other")
	_, body = visit(t, ada, server.URL+"/get?k=other")
	require.Equal(t, "false ", body)

	// Fixation: the token changes at login, and who knew the old one is out.
	visit(t, ada, server.URL+"/login?user=ada")
	require.NotEqual(t, planted, token(t, ada, server))
	_, body = visit(t, ada, server.URL+"/get?k=cart")
	require.Equal(t, "true book", body)
	_, body = visit(t, ada, server.URL+"/who")
	require.Equal(t, "user=ada", body)
	old, err := session.ParseToken(planted)
	require.NoError(t, err)
	dead(t, m, old)
	require.Equal(t, 1, one[int](t, pool, "SELECT count(*) FROM howdah.session"))

	// Replay after renewal and after logout.
	before := token(t, ada, server)
	visit(t, ada, server.URL+"/renew")
	require.NotEqual(t, before, token(t, ada, server))
	for _, replay := range []func(){func() {}, func() { visit(t, ada, server.URL+"/logout") }} {
		replay()
		req, _ := http.NewRequest("GET", server.URL+"/who", nil)
		req.Header.Set("Cookie", "__Host-session="+before)
		resp, err := server.Client().Do(req)
		require.NoError(t, err)
		text, _ := io.ReadAll(resp.Body)
		resp.Body.Close()
		require.Equal(t, "user=", string(text))
		require.Empty(t, resp.Cookies(), "a dead cookie is left alone")
		before = token(t, ada, server)
	}
	require.Empty(t, token(t, ada, server), "the browser has forgotten it")
	require.Zero(t, one[int](t, pool, "SELECT count(*) FROM howdah.session"))

	// Two devices; another user stays.
	phone, eve := browser(t, server), browser(t, server)
	visit(t, eve, server.URL+"/login?user=eve")
	for _, client := range []*http.Client{ada, phone} {
		visit(t, client, server.URL+"/login?user=ada")
	}
	_, body = visit(t, ada, server.URL+"/others")
	require.Equal(t, "1", body)
	_, body = visit(t, phone, server.URL+"/who")
	require.Equal(t, "user=", body)
	visit(t, phone, server.URL+"/login?user=ada")
	_, body = visit(t, phone, server.URL+"/everywhere")
	require.Equal(t, "2", body)
	for _, client := range []*http.Client{ada, phone} {
		_, body = visit(t, client, server.URL+"/who")
		require.Equal(t, "user=", body)
	}
	_, body = visit(t, eve, server.URL+"/who")
	require.Equal(t, "user=eve", body)

	// Logging in as somebody else leaves nothing of the other's session.
	visit(t, eve, server.URL+"/set?k=diary&v=private")
	visit(t, eve, server.URL+"/login?user=ada")
	_, body = visit(t, eve, server.URL+"/get?k=diary")
	require.Equal(t, "false ", body)
	require.Equal(t, 1, one[int](t, pool, "SELECT count(*) FROM howdah.sessions"))
}

// What a request has set before it logs in belongs to the session as it was:
// nobody's, or the same user's, and it stays; another user's, and it goes.
func TestLoginAfterSet(t *testing.T) {
	t.Parallel()
	m, _ := open(t, session.Options{})
	handlers := pages(t)
	handlers["/enter"] = func(w http.ResponseWriter, r *http.Request) {
		s := session.From(r.Context())
		assert.NoError(t, s.Remove("removed"))
		assert.NoError(t, s.Set("seen", r.FormValue("seen")))
		assert.NoError(t, s.Login(r.FormValue("user")))
	}
	server := site(t, m, handlers)
	client := browser(t, server)
	payload := func() string { return string(get(t, m, mustParse(t, token(t, client, server))).Payload) }

	visit(t, client, server.URL+"/enter?user=ada&seen=new")
	require.JSONEq(t, `{"seen":"new"}`, payload(), "of a visitor without a session")
	visit(t, client, server.URL+"/logout")
	visit(t, client, server.URL+"/set?k=removed&v=1")
	visit(t, client, server.URL+"/enter?user=ada&seen=anonymous")
	require.JSONEq(t, `{"seen":"anonymous"}`, payload(), "of an anonymous session")
	visit(t, client, server.URL+"/enter?user=ada&seen=again")
	require.JSONEq(t, `{"seen":"again"}`, payload(), "of the same user")
	visit(t, client, server.URL+"/enter?user=bob&seen=ada's")
	require.Empty(t, payload(), "of another user")
	visit(t, client, server.URL+"/set?k=own&v=1")
	require.JSONEq(t, `{"own":"1"}`, payload())
}

// Cookies that are not ours cost no statement and open nothing.
func TestForeignCookies(t *testing.T) {
	t.Parallel()
	m, _ := open(t, session.Options{})
	server := site(t, m, pages(t))
	a, b := create(t, m, session.Start{User: "a"}).Token().Reveal(), create(t, m, session.Start{User: "b"}).Token().Reveal()
	who := func(cookie string) string {
		req, err := http.NewRequest("GET", server.URL+"/who", nil)
		require.NoError(t, err)
		req.Header.Set("Cookie", cookie)
		resp, err := server.Client().Do(req)
		require.NoError(t, err)
		defer resp.Body.Close()
		body, err := io.ReadAll(resp.Body)
		require.NoError(t, err)
		return string(body)
	}
	for _, cookie := range []string{
		"__Host-session=", "__Host-session=x", "__Host-session=" + strings.Repeat("A", 60_000), "__Host-session=" + a + "A",
		"__Host-session=" + a[:63], "session=" + a, "__host-session=" + a, "__Host-session=" + a + "; __Host-session=" + b,
		"__Host-session=\"" + a[:20] + "\\" + a[21:] + "\"", "__Host-session=" + a[:10] + "%0d%0aSet-Cookie:x" + a[30:],
	} {
		require.Equal(t, "user=", who(cookie), "%.90s", cookie)
	}
	require.Zero(t, m.Stats().Reads)
	require.Equal(t, "user=a", who("__Host-session="+a))
	require.Equal(t, "user=a", who("x=1; __Host-session="+a+"; __Host-session="+a))

	// Headers beyond the server's limit do not get here at all.
	req, _ := http.NewRequest("GET", server.URL+"/who", nil)
	req.Header.Set("Cookie", "__Host-session="+strings.Repeat("A", 2<<20))
	if resp, err := server.Client().Do(req); err == nil {
		require.Equal(t, http.StatusRequestHeaderFieldsTooLarge, resp.StatusCode)
		resp.Body.Close()
	}
}

// What a client sends in its headers ends up in a column, not in a header or
// in a log.
func TestHeaderInjection(t *testing.T) {
	t.Parallel()
	m, _ := open(t, session.Options{})
	server := site(t, m, pages(t))
	req, err := http.NewRequest("GET", server.URL+"/login?user="+url.QueryEscape("ada\r\nSet-Cookie: evil=1"), nil)
	require.NoError(t, err)
	req.Header.Set("User-Agent", "'); DROP TABLE howdah.session; --")
	resp, err := server.Client().Do(req)
	require.NoError(t, err)
	resp.Body.Close()
	require.Len(t, resp.Cookies(), 1)
	list, err := m.List(t.Context(), "ada\r\nSet-Cookie: evil=1")
	require.NoError(t, err)
	require.Equal(t, "'); DROP TABLE howdah.session; --", list[0].UserAgent)
	require.Equal(t, "127.0.0.1", list[0].IP.String())
}

// Requests of one session that run at the same time keep their own fields.
func TestConcurrentRequests(t *testing.T) {
	t.Parallel()
	m, _ := open(t, session.Options{})
	arrived := make(chan struct{}, 10)
	leave := make(chan struct{})
	handlers := pages(t)
	handlers["/slow"] = func(w http.ResponseWriter, r *http.Request) {
		s := session.From(r.Context())
		var seen string
		if _, err := s.Get("start", &seen); err != nil || seen != "1" {
			t.Errorf("start %q, %v", seen, err)
		}
		arrived <- struct{}{}
		<-leave // all have read before any writes
		if err := s.Set(r.FormValue("k"), "set"); err != nil {
			t.Error(err)
		}
	}
	server := site(t, m, handlers)
	client := browser(t, server)
	visit(t, client, server.URL+"/set?k=start&v=1")
	go func() {
		for range 8 {
			<-arrived
		}
		close(leave)
	}()
	together(8, func(i int) { visit(t, client, fmt.Sprintf("%s/slow?k=f%d", server.URL, i)) })
	var fields map[string]string
	parsed, err := session.ParseToken(token(t, client, server))
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(get(t, m, parsed).Payload, &fields))
	require.Len(t, fields, 9)
}
