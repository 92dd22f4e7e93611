package server

import (
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/howdah/howdah"
	"github.com/howdah/howdah/internal/test/await"
)

// ask sends a request with one header, "Name: value" or "".
func (s *running) ask(method, path, header string) (status int, kind, body string) {
	s.t.Helper()
	request, err := http.NewRequest(method, "http://"+s.HTTP.String()+path, nil)
	require.NoError(s.t, err)
	switch name, value, _ := strings.Cut(header, ": "); name {
	case "":
	case "Host":
		request.Host = value
	default:
		request.Header.Set(name, value)
	}
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	response, err := client.Do(request)
	require.NoError(s.t, err)
	defer response.Body.Close()
	content, err := io.ReadAll(response.Body)
	require.NoError(s.t, err)
	return response.StatusCode, response.Header.Get("Content-Type"), string(content)
}

// The metrics name the caches, and are refused to whom the caches are. The
// probes are answered whoever asks, by whatever name.
func TestMetricsAreGuarded(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		token string
		want  map[string]int
	}{
		"no token": {"", map[string]int{
			"": 200, "Host: localhost:1": 200, "Host: evil.example": 403, "Host: 192.0.2.1": 403,
			"Origin: https://evil.example": 403, "Sec-Fetch-Site: cross-site": 403,
		}},
		"token": {"tok", map[string]int{
			"Authorization: Bearer tok": 200, "Authorization: bearer  tok": 200,
			"": 401, "Authorization: tok": 401, "Authorization: Bearer": 401, "Authorization: Bearer to": 401, "Authorization: Basic tok": 401,
		}},
	} {
		t.Run(name, func(t *testing.T) {
			s := start(t, func(c *Config) { c.Token = test.token })
			for header, want := range test.want {
				for _, path := range []string{"/metrics", "/v1/caches"} {
					status, kind, body := s.ask("GET", path, header)
					require.Equal(t, want, status, "%s with %q", path, header)
					if want != 200 {
						require.Equal(t, "application/problem+json", kind)
						require.NotContains(t, body, "db0")
					}
				}
				status, _, _ := s.ask("GET", "/healthz", header)
				require.Equal(t, 200, status, header)
				require.Eventually(t, func() bool { // it gives the database a second
					status, _, _ := s.ask("GET", "/readyz", header)
					return status == 200
				}, patience, 10*time.Millisecond, header)
			}
		})
	}
}

// The longest key fits into a request, every byte of it percent-encoded, and a
// longer one is refused in the words of the interface.
func TestLongKeys(t *testing.T) {
	t.Parallel()
	s := start(t, nil)
	for _, b := range []string{"k", "\xff"} {
		longest := strings.Repeat(b, howdah.MaxKeyBytes)
		for _, path := range []string{"/v1/caches/db0/entries/", "/v1/caches/db0/entries/?key=", "/get?key="} {
			status, _, body := s.ask("GET", path+url.QueryEscape(longest), "")
			require.Equal(t, 404, status, body)
			require.Contains(t, body, `"key-not-found"`)
			status, kind, body := s.ask("GET", path+url.QueryEscape(longest+b), "")
			require.Equal(t, 400, status, body)
			require.Equal(t, "application/problem+json", kind)
			require.Contains(t, body, `"key-too-long"`)
		}
	}
	// The server answers before it has read all, and closes: a slow client may lose the answer.
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	await.True(t, "the server says that the request is too large", func() bool {
		response, err := client.Get("http://" + s.HTTP.String() + "/get?key=" + strings.Repeat("k", maxHeaderBytes+16<<10))
		if err != nil {
			return false
		}
		defer response.Body.Close()
		require.Equal(t, http.StatusRequestHeaderFieldsTooLarge, response.StatusCode)
		return true
	})
}
