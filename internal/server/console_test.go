package server

import (
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// The console is there where nobody else can reach it, and elsewhere only if it is asked for.
func TestConsoleIsOnWhereItIsSafe(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		config Config
		on     bool
	}{
		{Config{HTTPAddr: "x"}, true},
		{Config{HTTPAddr: "x", Token: "t"}, false},
		{Config{HTTPAddr: "x", Token: "t", Console: Console{ViewerToken: "v"}}, true},
		{Config{HTTPAddr: "x", Token: "t", Console: Console{Mode: "on"}}, true},
		{Config{HTTPAddr: "x", Console: Console{Mode: "off"}}, false},
		{Config{HTTPAddr: "x", Console: Console{Mode: "auto"}}, true},
		{Config{}, false},
	} {
		require.Equal(t, test.on, test.config.consoleOn(), "%+v", test.config.Console)
	}
}

func TestConsoleSettings(t *testing.T) {
	t.Parallel()
	name := func(name string) string { return name }
	for text, config := range map[string]Config{
		`console "yes" is unknown`:                {HTTPAddr: "x", Console: Console{Mode: "yes"}},
		"console on needs HTTP":                   {Console: Console{Mode: "on"}},
		"console-addr is for the console":         {HTTPAddr: "x", Console: Console{Mode: "off", Addr: "y"}},
		"console-addr needs http-addr":            {Console: Console{Addr: "y"}},
		"is also another token":                   {HTTPAddr: "x", Token: "t", Console: Console{ViewerToken: "t"}},
		"needs token-file":                        {HTTPAddr: "x", Console: Console{ViewerToken: "v"}},
		`base-path "howdah" is not a path`:        {HTTPAddr: "x", Console: Console{BasePath: "howdah"}},
		`base-path "/a; Path=/" is not a path`:    {HTTPAddr: "x", Console: Console{BasePath: "/a; Path=/"}},
		"console-mask: a pattern of keys to mask": {HTTPAddr: "x", Console: Console{Mask: []string{""}}},
	} {
		require.ErrorContains(t, config.Console.check(&config, name), text)
	}
	fine := Config{HTTPAddr: "x", Token: "t", Console: Console{Mode: "on", ViewerToken: "v", BasePath: "/howdah", Mask: []string{"invite:"}}}
	require.NoError(t, fine.Console.check(&fine, name))
}

func TestConsoleBesideTheRoutes(t *testing.T) {
	t.Parallel()
	s := start(t, nil)
	const html = "Accept: text/html,*/*;q=0.8"
	status, _, _ := s.ask("GET", "/", html)
	require.Equal(t, http.StatusOK, status, "the client follows to the console")
	status, kind, body := s.ask("GET", "/console/", html)
	require.Equal(t, http.StatusOK, status)
	require.True(t, strings.HasPrefix(kind, "text/html"))
	require.Contains(t, body, "Overview")
	status, _, _ = s.ask("GET", "/console", html)
	require.Equal(t, http.StatusOK, status)
	// A link of another site opens a page, and reads nothing else.
	status, _, _ = s.ask("GET", "/console/doctor", "Sec-Fetch-Site: cross-site")
	require.Equal(t, http.StatusOK, status)
	status, _, _ = s.ask("GET", "/v1/caches", "Sec-Fetch-Site: cross-site")
	require.Equal(t, http.StatusForbidden, status)
	// Keys may begin with the path of the console.
	status, _, _ = s.ask("GET", "/v1/caches/db0/entries/%2Fconsole%2F", "")
	require.Equal(t, http.StatusNotFound, status)
	status, _, body = s.ask("GET", "/console/", "Host: evil.example")
	require.Equal(t, http.StatusForbidden, status)
	require.NotContains(t, body, "Caches")
}

func TestConsoleIsOff(t *testing.T) {
	t.Parallel()
	s := start(t, func(c *Config) { c.Console.Mode = "off" })
	status, kind, _ := s.ask("GET", "/console/", "Accept: text/html")
	require.Equal(t, http.StatusNotFound, status)
	require.Equal(t, "application/problem+json", kind)
	status, _, body := s.ask("GET", "/", "Accept: text/html")
	require.Equal(t, http.StatusOK, status)
	require.Contains(t, body, "Howdah is running")
}

func TestConsoleOnItsOwnAddress(t *testing.T) {
	t.Parallel()
	s := start(t, func(c *Config) { c.Console.Addr = "127.0.0.1:0" })
	status, _, _ := s.ask("GET", "/console/", "Accept: text/html")
	require.Equal(t, http.StatusNotFound, status)
	at := "http://" + s.Console.String()
	for path, want := range map[string]int{"/console/": 200, "/": 200, "/v1/caches": 404, "/metrics": 404} {
		request, err := http.NewRequest("GET", at+path, nil)
		require.NoError(t, err)
		request.Header.Set("Accept", "text/html")
		response, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(request)
		require.NoError(t, err)
		require.NoError(t, response.Body.Close())
		require.Equal(t, want, response.StatusCode, path)
	}
}
