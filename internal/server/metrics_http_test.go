package server

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	"github.com/stretchr/testify/require"
)

func TestHTTPMetrics(t *testing.T) {
	t.Parallel()
	m := newHTTPMetrics()
	handler := m.count(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		r.Pattern = r.Header.Get("Pattern")
		switch r.URL.Path {
		case "/silent":
		case "/early":
			w.WriteHeader(http.StatusEarlyHints)
			w.WriteHeader(http.StatusServiceUnavailable)
		case "/late":
			_, _ = w.Write([]byte("x"))
			w.WriteHeader(http.StatusNotFound) // is ignored: the answer has begun
		case "/flushed":
			require.NoError(t, http.NewResponseController(w).Flush())
		case "/panics":
			panic(http.ErrAbortHandler)
		}
	}))
	for path, pattern := range map[string]string{
		"/silent": "/get", "/early": "/v1/caches/{cache}/entries/{key}", "/late": "/v1/caches/{cache}/get-many",
		"/flushed": "/v1/subscribe", "/unknown": "/", "/unrouted": "",
	} {
		request := httptest.NewRequest(http.MethodGet, path, nil)
		request.Header.Set("Pattern", pattern)
		handler.ServeHTTP(httptest.NewRecorder(), request)
	}
	require.Panics(t, func() {
		request := httptest.NewRequest(http.MethodGet, "/panics", nil)
		request.Header.Set("Pattern", "/get")
		handler.ServeHTTP(httptest.NewRecorder(), request)
	})
	count := func(route, status string) float64 {
		var metric dto.Metric
		require.NoError(t, m.requests.WithLabelValues(route, status).Write(&metric))
		return metric.GetCounter().GetValue()
	}
	require.EqualValues(t, 2, count("/get", "2xx"))
	require.EqualValues(t, 1, count("/v1/caches/{cache}/entries/{key}", "5xx"))
	require.EqualValues(t, 1, count("/v1/caches/{cache}/get-many", "2xx"))
	require.EqualValues(t, 1, count("/v1/subscribe", "2xx"))
	require.EqualValues(t, 2, count(otherRoute, "2xx"))
	require.Zero(t, count("/get", "5xx"), "a series is there from zero on")
	registry := prometheus.NewPedanticRegistry()
	require.NoError(t, registry.Register(m.durations))
	families, err := registry.Gather()
	require.NoError(t, err)
	var classes []string
	for _, metric := range families[0].Metric {
		classes = append(classes, metric.Label[0].GetValue())
	}
	require.Equal(t, []string{"entry", "many", "other"}, classes)
}

// Requests without the right token are counted, and only these.
func TestHTTPAuthFailures(t *testing.T) {
	t.Parallel()
	s := start(t, func(c *Config) { c.Token, c.SessionToken = "token", "session" })
	failures := func() (value string) {
		status, body := s.get("/metrics", "token")
		require.Equal(t, http.StatusOK, status)
		for line := range strings.Lines(body) {
			if rest, ok := strings.CutPrefix(line, "howdah_http_auth_failures_total "); ok {
				value = strings.TrimSpace(rest)
			}
		}
		return value
	}
	require.Equal(t, "0", failures())
	s.get("/get?key=k", "")
	s.get("/get?key=k", "wrong")
	s.get("/v1/sessions?user=a", "token")
	require.Equal(t, "3", failures())
	s.get("/v1/sessions/current", "token") // no token of the server is asked for there
	s.get("/get?key=k", "token")
	require.Equal(t, "3", failures())
}
