package server

import (
	"crypto/sha256"
	"crypto/subtle"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// Bounds on HTTP requests. A body may be as large as a value and come over a
// slow line; headers may not take long.
const (
	headerTimeout  = 10 * time.Second
	bodyTimeout    = 5 * time.Minute
	idleTimeout    = 2 * time.Minute
	maxHeaderBytes = 64 << 10
)

// newHTTPServer serves api, and beside it the probes and the metrics.
func newHTTPServer(api http.Handler, h *health, registry *prometheus.Registry, token string, log *slog.Logger) *http.Server {
	metrics := requireToken(token, promhttp.HandlerFor(registry, promhttp.HandlerOpts{MaxRequestsInFlight: 4}))
	// Not a ServeMux, which would clean the paths, and with them the keys,
	// before api sees them.
	route := func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/healthz":
			h.live(w, r)
		case "/readyz":
			h.ready(w, r)
		case "/metrics":
			metrics.ServeHTTP(w, r)
		default:
			api.ServeHTTP(w, r)
		}
	}
	return &http.Server{
		Handler:           http.HandlerFunc(route),
		ReadHeaderTimeout: headerTimeout,
		ReadTimeout:       bodyTimeout,
		WriteTimeout:      bodyTimeout,
		IdleTimeout:       idleTimeout,
		MaxHeaderBytes:    maxHeaderBytes,
		ErrorLog:          slog.NewLogLogger(log.Handler(), slog.LevelDebug),
	}
}

// requireToken lets through who shows the token as bearer. Cache names are in
// the metrics, so they are guarded like the caches.
func requireToken(token string, next http.Handler) http.Handler {
	if token == "" {
		return next
	}
	want := sha256.Sum256([]byte(token))
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		given, _ := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
		got := sha256.Sum256([]byte(given))
		if subtle.ConstantTimeCompare(got[:], want[:]) != 1 {
			w.Header().Set("WWW-Authenticate", `Bearer realm="howdah"`)
			http.Error(w, "send the token: Authorization: Bearer <token>", http.StatusUnauthorized)
			return
		}
		next.ServeHTTP(w, r)
	})
}
