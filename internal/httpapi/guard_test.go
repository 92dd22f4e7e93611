package httpapi

import (
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/howdah/howdah/internal/core"
	"github.com/howdah/howdah/internal/test/pgtest"
)

func TestToken(t *testing.T) {
	t.Parallel()
	c := serve(t, func(o *Options) { o.Token = "correct horse" })
	for _, header := range []string{
		"X: y", "Authorization: ", "Authorization: Bearer", "Authorization: Bearer ", "Authorization: Bearer wrong",
		"Authorization: Bearer correct hors", "Authorization: Bearer correct horse2", "Authorization: Basic correct horse",
		"Authorization: correct horse", "Authorization: Bearer Correct horse",
	} {
		for _, path := range []string{"/get?key=k", entryPath("db0", "k"), "/v1/caches", "/nowhere"} {
			got := c.do("GET", path, "", header).problem(t, 401, "unauthorized")
			require.Equal(t, `Bearer realm="howdah"`, got.header.Get("WWW-Authenticate"))
		}
	}
	c.do("PUT", entryPath("db0", "k"), "v", "Authorization: Bearer wrong").problem(t, 401, "unauthorized")
	c.do("PUT", entryPath("db0", "k"), "v", "Authorization: Bearer correct horse").want(t, 201)
	c.do("GET", "/get?key=k", "", "Authorization: bearer  correct horse").want(t, 200)
	// With a token the name does not matter, unless names were given.
	c.do("GET", "/get?key=k", "", "Authorization: Bearer correct horse", "Host: cache.example.com").want(t, 200)
	c.do("GET", "/get?key=k", "", "Authorization: Bearer correct horse", "Origin: https://evil.example").problem(t, 403, "foreign-origin")
}

func TestHost(t *testing.T) {
	t.Parallel()
	c := serve(t, func(o *Options) { o.AllowedHosts = []string{"cache.example.com"} })
	c.do("POST", "/set?key=k", "v").want(t, 204)
	for _, host := range []string{
		"localhost", "localhost:8080", "LOCALHOST.", "app.localhost", "127.0.0.1", "127.9.9.9:1", "[::1]", "[::1]:8080",
		"cache.example.com", "Cache.Example.Com:443", "cache.example.com.",
	} {
		c.do("GET", "/get?key=k", "", "Host: "+host).want(t, 200)
	}
	for _, host := range []string{
		"evil.example", "localhost.evil.example", "127.0.0.1.evil.example", "evil.example:8080", "notlocalhost",
		"192.0.2.1", "[2001:db8::1]:80", "cache.example.com.evil.example", "[", "::", "a:b:c",
	} {
		for _, path := range []string{"/get?key=k", entryPath("db0", "k"), "/v1/caches"} {
			c.do("GET", path, "", "Host: "+host).problem(t, 403, "foreign-host")
		}
	}
}

func TestOrigin(t *testing.T) {
	t.Parallel()
	c := serve(t, nil)
	c.do("POST", "/set?key=k", "v").want(t, 204)
	host := strings.TrimPrefix(c.url, "http://")
	c.do("GET", "/get?key=k", "", "Origin: http://"+host).want(t, 200)
	c.do("GET", "/get?key=k", "", "Origin: http://"+host, "Sec-Fetch-Site: same-origin").want(t, 200)
	c.do("GET", "/get?key=k", "", "Sec-Fetch-Site: none").want(t, 200)
	for _, header := range []string{
		"Origin: https://evil.example", "Origin: null", "Origin: http://localhost:1", "Origin: %zz", "Origin: " + host,
		"Sec-Fetch-Site: cross-site", "Sec-Fetch-Site: same-site",
	} {
		c.do("GET", "/get?key=k", "", header).problem(t, 403, "foreign-origin")
		c.do("POST", "/set?key=k", "w", header).problem(t, 403, "foreign-origin")
		c.do("OPTIONS", "/set?key=k", "", header, "Access-Control-Request-Method: POST").problem(t, 403, "foreign-origin")
	}
	require.Equal(t, "v", c.do("GET", "/get?key=k", "").body)
}

// TestListenerAddress: the address that the connection came in on is a name of
// the server, without being told to it.
func TestListenerAddress(t *testing.T) {
	t.Parallel()
	handler := New(Options{DB: (*core.DB)(openDB(t, pgtest.New(t)))})
	local := &net.TCPAddr{IP: net.ParseIP("192.0.2.7"), Port: 8080}
	for host, want := range map[string]int{"192.0.2.7:8080": 404, "192.0.2.7": 404, "192.0.2.8:8080": 403} {
		request := httptest.NewRequest("GET", "http://"+host+"/get?key=k", nil)
		ctx := context.WithValue(request.Context(), http.LocalAddrContextKey, net.Addr(local))
		recorder := httptest.NewRecorder()
		handler.ServeHTTP(recorder, request.WithContext(ctx))
		require.Equal(t, want, recorder.Code, host)
	}
	require.Panics(t, func() { New(Options{}) })
}

// TestOriginBehindAProxy: a proxy may give a request another Host. What the browser says of
// the origin itself decides then.
func TestOriginBehindAProxy(t *testing.T) {
	t.Parallel()
	c := serve(t, func(o *Options) { o.Token = "correct horse" })
	token := "Authorization: Bearer correct horse"
	c.do("POST", "/set?key=k", "v", token, "Origin: https://ops.example", "Sec-Fetch-Site: same-origin").want(t, 204)
	c.do("POST", "/set?key=k", "v", token, "Origin: https://ops.example", "Sec-Fetch-Site: cross-site").problem(t, 403, "foreign-origin")
	c.do("POST", "/set?key=k", "v", token, "Origin: https://ops.example").problem(t, 403, "foreign-origin")
}
