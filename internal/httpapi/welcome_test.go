package httpapi

import (
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"
)

// A browser that opens the server is told what runs here; programs get a
// problem, as for any path without a route.
func TestWelcome(t *testing.T) {
	t.Parallel()
	const browser = "Accept: text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"
	for name, change := range map[string]func(*Options){
		"open":       nil,
		"with token": func(o *Options) { o.Token = "correct horse" },
	} {
		t.Run(name, func(t *testing.T) {
			c := serve(t, change)
			const token = "Authorization: Bearer correct horse"
			page := c.do("GET", "/", "", browser)
			require.Equal(t, 200, page.status)
			require.Equal(t, "text/html; charset=utf-8", page.header.Get("Content-Type"))
			require.Contains(t, page.header.Get("Content-Security-Policy"), "default-src 'none'")
			require.Contains(t, page.body, "Howdah is running")
			require.Empty(t, c.do("HEAD", "/", "", browser).body)
			for _, link := range regexp.MustCompile(`href="(/v1/[^"]*)"`).FindAllStringSubmatch(page.body, -1) {
				require.Equal(t, 200, c.do("GET", link[1], "", token, browser).status, link[1])
			}

			c.do("GET", "/", "", token).problem(t, 404, "not-found")
			c.do("GET", "/nowhere", "", token, browser).problem(t, 404, "not-found")
			c.do("POST", "/", "", token, browser).problem(t, 405, "method-not-allowed")
			c.do("GET", "/", "", browser, "Origin: https://evil.example").problem(t, 403, "foreign-origin")
		})
	}
	c := serve(t, func(o *Options) { o.Token = "correct horse" })
	c.do("GET", "/", "").problem(t, 401, "unauthorized")
	c.do("GET", "/v1/caches", "", browser).problem(t, 401, "unauthorized")
}
