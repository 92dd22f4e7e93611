package server

import (
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/howdah/howdah/internal/httpapi"
)

// httpMetrics count HTTP requests. Their labels are patterns of routes and classes of
// status codes, never what a client has sent.
type httpMetrics struct {
	requests  *prometheus.CounterVec
	durations *prometheus.HistogramVec
}

func newHTTPMetrics() httpMetrics {
	return httpMetrics{
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "howdah_http_requests_total",
			Help: "HTTP requests that were answered, by the route and by the class of the status code.",
		}, []string{"route", "status"}),
		durations: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name:    "howdah_http_request_duration_seconds",
			Help:    "Time of an HTTP request up to the end of its answer, by the kind of route.",
			Buckets: durationBounds,
			// Schema 0, as the histograms that Howdah keeps itself.
			NativeHistogramBucketFactor:  2,
			NativeHistogramZeroThreshold: 1. / 32768,
		}, []string{"class"}),
	}
}

var httpAuthDesc = describe("http_auth_failures_total", "HTTP requests without the right token of the server.")

// otherRoute is the label of requests that no route serves.
const otherRoute = "other"

// count counts the requests that next serves. It reads the pattern of the route from
// the request when that has been served.
func (m httpMetrics) count(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		began := time.Now()
		status := &statusWriter{ResponseWriter: w, status: http.StatusOK}
		defer func() { // a handler may end its answer by a panic
			route := r.Pattern
			if route == "" || route == "/" {
				route = otherRoute
			}
			for _, class := range []string{"2xx", "4xx", "5xx"} {
				m.requests.WithLabelValues(route, class) // from 0 on
			}
			m.requests.WithLabelValues(route, strconv.Itoa(status.status/100)+"xx").Inc()
			if class := routeClass(route); class != "" {
				m.durations.WithLabelValues(class).Observe(time.Since(began).Seconds())
			}
		}()
		next.ServeHTTP(status, r)
	})
}

// routeClass is the kind of a route for http_request_duration_seconds; "" for a
// stream, whose time says nothing.
func routeClass(route string) string {
	below := func(prefix string) bool { return route == prefix || strings.HasPrefix(route, prefix+"/") }
	switch {
	case route == httpapi.StreamRoute:
		return ""
	case route == "/get", route == "/set", strings.HasSuffix(route, httpapi.KeySuffix):
		return "entry"
	case strings.HasSuffix(route, "-many"):
		return "many"
	case below("/v1/sessions"):
		return "session"
	case below("/v1"):
		return "admin"
	case route == "/healthz", route == "/readyz", route == "/metrics":
		return "probe"
	}
	return "other"
}

// statusWriter notes the status of an answer.
type statusWriter struct {
	http.ResponseWriter
	status  int
	written bool
}

// WriteHeader implements http.ResponseWriter.
func (w *statusWriter) WriteHeader(status int) {
	if !w.written && status >= http.StatusOK { // an informational answer is followed by another
		w.status, w.written = status, true
	}
	w.ResponseWriter.WriteHeader(status)
}

// Write implements http.ResponseWriter.
func (w *statusWriter) Write(p []byte) (int, error) {
	w.written = true
	return w.ResponseWriter.Write(p)
}

// Unwrap is for http.ResponseController.
func (w *statusWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }
