package session_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/howdah/howdah"
	"github.com/howdah/howdah/internal/test/pgtest"
	"github.com/howdah/howdah/session"
)

// A session that cannot be read or saved is neither logged in nor logged out.
func TestDatabaseAway(t *testing.T) {
	t.Parallel()
	server := pgtest.Own(t)
	db, err := howdah.Open(t.Context(), server.NewURL(), nil)
	require.NoError(t, err)
	defer db.Close()
	m := manager(t, db, session.Options{})
	handlers := pages(t)
	ignore := func(fn func(*session.Current)) http.HandlerFunc { // handlers that look at no error
		return func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Length", "14")
			w.Header().Set("Cache-Control", "public, max-age=3600")
			fn(session.From(r.Context()))
			io.WriteString(w, "<p>welcome</p>")
		}
	}
	handlers["/who"] = ignore(func(s *session.Current) { s.User() })
	handlers["/set"] = ignore(func(s *session.Current) { s.Set("a", 1) })
	handlers["/login"] = ignore(func(s *session.Current) { s.Login("ada") })
	handlers["/logout"] = ignore(func(s *session.Current) { s.Logout() })
	web := site(t, m, handlers)
	client := browser(t, web)
	visit(t, client, web.URL+"/login")
	have := token(t, client, web)
	require.NotEmpty(t, have)

	server.Stop("fast")
	for _, path := range []string{"/who", "/set", "/login", "/logout"} {
		for _, c := range []*http.Client{client, browser(t, web)} {
			if c != client && (path == "/who" || path == "/logout") {
				continue // no cookie, no question
			}
			resp, body := visit(t, c, web.URL+path)
			require.Equal(t, http.StatusServiceUnavailable, resp.StatusCode, path)
			require.NotContains(t, body, "welcome")
			require.Equal(t, "no-store", resp.Header.Get("Cache-Control"))
			require.Empty(t, resp.Cookies(), "the browser keeps what it has")
			require.NotEmpty(t, resp.Header.Get("Retry-After"))
		}
	}
	resp, body := visit(t, client, web.URL+"/static")
	require.Equal(t, "static", body)
	require.Equal(t, http.StatusOK, resp.StatusCode)
	_, err = m.Get(t.Context(), mustParse(t, have))
	require.ErrorIs(t, err, howdah.ErrUnavailable)
	require.NotErrorIs(t, err, session.ErrNotFound)

	server.Start()
	eventually(t, "served again", func() bool {
		resp, body := visit(t, client, web.URL+"/who")
		return resp.StatusCode == http.StatusOK && strings.Contains(body, "welcome")
	})
	require.Equal(t, have, token(t, client, web))
	s, err := m.Get(t.Context(), mustParse(t, have))
	require.NoError(t, err)
	require.Equal(t, "ada", s.User)
}

func mustParse(t testing.TB, text string) session.Token {
	t.Helper()
	token, err := session.ParseToken(text)
	require.NoError(t, err)
	return token
}

// What handlers do with their writers works through the middleware.
func TestResponseController(t *testing.T) {
	t.Parallel()
	m, pool := open(t, session.Options{})
	late := make(chan error, 4)
	server := site(t, m, map[string]http.HandlerFunc{
		"/stream": func(w http.ResponseWriter, r *http.Request) {
			s := session.From(r.Context())
			s.Set("a", "early")
			w.WriteHeader(http.StatusEarlyHints) // informational: nothing is decided yet
			s.Set("b", "early")
			rc := http.NewResponseController(w)
			if err := rc.SetWriteDeadline(time.Now().Add(time.Minute)); err != nil {
				t.Error(err)
			}
			if err := rc.Flush(); err != nil {
				t.Error(err)
			}
			w.(http.Flusher).Flush()
			io.Copy(w, strings.NewReader("body"))
			late <- s.Set("c", "late") // saved at the end
			late <- s.Login("ada")     // no cookie any more
			late <- s.Renew()          // neither
		},
		"/new-late": func(w http.ResponseWriter, r *http.Request) {
			io.WriteString(w, "body")
			late <- session.From(r.Context()).Set("c", "late")
		},
		"/hijack": func(w http.ResponseWriter, r *http.Request) {
			session.From(r.Context()).Set("h", "hijacked")
			conn, rw, err := http.NewResponseController(w).Hijack()
			if err != nil {
				t.Error(err)
				return
			}
			defer conn.Close()
			fmt.Fprintf(rw, "HTTP/1.1 200 OK\r\nSet-Cookie: %s\r\nContent-Length: 2\r\nConnection: close\r\n\r\nhi", w.Header().Get("Set-Cookie"))
			rw.Flush()
		},
		"/panic": func(w http.ResponseWriter, r *http.Request) {
			session.From(r.Context()).Set("p", "never")
			panic(http.ErrAbortHandler)
		},
		"/cached": func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Cache-Control", r.FormValue("c"))
			w.Header().Set("Vary", r.FormValue("v"))
			session.From(r.Context()).Set("x", 1)
		},
		"/conflict": func(w http.ResponseWriter, r *http.Request) {
			s := session.From(r.Context())
			cur, err := s.Session()
			if err == nil {
				_, err = m.Revoke(r.Context(), cur.ID)
			}
			if err != nil {
				t.Error(err)
			}
			s.Set("lost", 1)
			io.WriteString(w, "welcome")
		},
		"/too-large": func(w http.ResponseWriter, r *http.Request) {
			session.From(r.Context()).Set("big", strings.Repeat("x", 70_000))
			io.WriteString(w, "welcome")
		},
	})
	client := browser(t, server)
	resp, body := visit(t, client, server.URL+"/stream")
	require.Equal(t, "body", body)
	require.Len(t, resp.Cookies(), 1)
	require.NoError(t, <-late)
	require.ErrorIs(t, <-late, session.ErrResponseBegun)
	require.ErrorIs(t, <-late, session.ErrResponseBegun)
	payload := func() string {
		return string(get(t, m, mustParse(t, token(t, client, server))).Payload)
	}
	eventually(t, "what was set late is saved", func() bool {
		return payload() == `{"a": "early", "b": "early", "c": "late"}`
	})
	_, body = visit(t, browser(t, server), server.URL+"/new-late")
	require.Equal(t, "body", body)
	require.ErrorIs(t, <-late, session.ErrResponseBegun)

	before := one[int64](t, pool, "SELECT max(version) FROM howdah.session")
	_, err := client.Get(server.URL + "/panic")
	require.Error(t, err)
	require.Equal(t, before, one[int64](t, pool, "SELECT max(version) FROM howdah.session"), "a handler that panics saves nothing")

	hijacker := browser(t, server)
	_, body = visit(t, hijacker, server.URL+"/hijack")
	require.Equal(t, "hi", body)
	require.Contains(t, string(get(t, m, mustParse(t, token(t, hijacker, server))).Payload), "hijacked")

	for control, want := range map[string]string{
		"public, max-age=60": "private, no-cache", "max-age=60,Private": "max-age=60,Private", "no-store": "no-store",
		`private="Set-Cookie", max-age=60`: "private, no-cache",
	} {
		resp, _ := visit(t, browser(t, server), server.URL+"/cached?c="+url.QueryEscape(control))
		require.Equal(t, want, resp.Header.Get("Cache-Control"))
	}
	for vary, want := range map[string][]string{
		"Accept-Encoding, cookie": {"Accept-Encoding, cookie"}, "X-Cookie-Consent": {"X-Cookie-Consent", "Cookie"},
	} {
		resp, _ := visit(t, browser(t, server), server.URL+"/cached?v="+url.QueryEscape(vary))
		require.Equal(t, want, resp.Header.Values("Vary"))
	}

	resp, body = visit(t, client, server.URL+"/conflict")
	require.Equal(t, http.StatusUnauthorized, resp.StatusCode, "the session ended while the request ran")
	require.NotContains(t, body, "welcome")
	resp, body = visit(t, browser(t, server), server.URL+"/too-large")
	require.Equal(t, http.StatusInternalServerError, resp.StatusCode)
	require.NotContains(t, body, "welcome")
}

func TestErrorHandlerOfTheApplication(t *testing.T) {
	t.Parallel()
	var heard error
	m, pool := open(t, session.Options{ErrorHandler: func(w http.ResponseWriter, r *http.Request, err error) {
		heard = err
		w.WriteHeader(http.StatusTeapot)
	}})
	server := site(t, m, map[string]http.HandlerFunc{"/who": func(w http.ResponseWriter, r *http.Request) {
		session.From(r.Context()).User()
		http.Redirect(w, r, "/elsewhere", http.StatusFound)
	}})
	s := create(t, m, session.Start{User: "ada"})
	run(t, pool, "ALTER TABLE howdah.session RENAME TO hidden")
	req, _ := http.NewRequest("GET", server.URL+"/who", nil)
	req.Header.Set("Cookie", "__Host-session="+s.Token().Reveal())
	resp, err := server.Client().Do(req)
	require.NoError(t, err)
	resp.Body.Close()
	require.Equal(t, http.StatusTeapot, resp.StatusCode)
	require.Empty(t, resp.Header.Get("Location"))
	require.ErrorIs(t, heard, howdah.ErrSchemaMissing)
}

func TestFromWithoutMiddleware(t *testing.T) {
	t.Parallel()
	require.Panics(t, func() { session.From(context.Background()) })
}

// Cookies for plain HTTP, for a domain, and ones that stay.
func TestCookieOptions(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		cookie session.Cookie
		want   string
	}{
		{session.Cookie{Insecure: true}, `^session=[^;]+; Path=/; HttpOnly; SameSite=Lax$`},
		{session.Cookie{Domain: "example.org"}, `^__Secure-session=[^;]+; Path=/; Domain=example.org; HttpOnly; Secure; SameSite=Lax$`},
		{session.Cookie{Path: "/app", SameSite: http.SameSiteStrictMode}, `^__Secure-session=[^;]+; Path=/app; HttpOnly; Secure; SameSite=Strict$`},
		{session.Cookie{Persistent: true}, `^__Host-session=[^;]+; Path=/; Max-Age=6047[0-9]{2}; HttpOnly; Secure; SameSite=Lax$`},
		{session.Cookie{Name: "sid"}, `^sid=[^;]+; Path=/; HttpOnly; Secure; SameSite=Lax$`},
	} {
		m, _ := open(t, session.Options{Cookie: c.cookie})
		w := httptest.NewRecorder()
		m.Middleware(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			require.NoError(t, session.From(r.Context()).Login("ada"))
		})).ServeHTTP(w, httptest.NewRequest("GET", "/", nil))
		require.Regexp(t, c.want, w.Header().Get("Set-Cookie"))
	}
}
