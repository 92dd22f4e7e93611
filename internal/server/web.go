package server

import (
	"log/slog"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/howdah/howdah/internal/httpapi"
	"github.com/howdah/howdah/internal/pipeline"
)

// Bounds on HTTP requests. A body may be as large as a value and come over a
// slow line (web_bounds.go has the least speed); headers may not take long. The longest key, percent-encoded, is
// three times howdah.MaxKeyBytes, and stands in a URL. Memory is used for what
// has come, not for what may.
const (
	headerTimeout  = 10 * time.Second
	bodyTimeout    = 5 * time.Minute
	idleTimeout    = 2 * time.Minute
	maxHeaderBytes = 256 << 10
)

// newHTTPServer serves api, and beside it the probes and the metrics. Cache
// names are in the metrics, so they are guarded like the caches. The probes are
// for everybody: a load balancer asks by an address of its own choice, and
// learns nothing worth guarding.
//
// pages, if there are any, are the console.
func newHTTPServer(api httpapi.Handler, pages http.Handler, h *health, registry *prometheus.Registry, counted httpMetrics, memory *pipeline.Budget, log *slog.Logger) *http.Server {
	metrics := api.Guard(promhttp.HandlerFor(registry, promhttp.HandlerOpts{MaxRequestsInFlight: 4}))
	// Not a ServeMux, which would clean the paths, and with them the keys,
	// before api sees them.
	route := func(w http.ResponseWriter, r *http.Request) {
		switch path := r.URL.Path; path {
		case "/healthz":
			r.Pattern = path
			h.live(w, r)
		case "/readyz":
			r.Pattern = path
			h.ready(w, r)
		case "/metrics":
			r.Pattern = path
			metrics.ServeHTTP(w, r)
		default:
			api.ServeHTTP(w, r)
		}
	}
	server := boundedServer(counted.count(withConsole(http.HandlerFunc(route), pages)), memory, log)
	server.RegisterOnShutdown(api.EndStreams)
	return server
}

// boundedServer is an HTTP server with the bounds above.
func boundedServer(handler http.Handler, memory *pipeline.Budget, log *slog.Logger) *http.Server {
	return &http.Server{
		Handler:           bodies{bodyGrace, memory}.bound(handler),
		ReadHeaderTimeout: headerTimeout,
		ReadTimeout:       bodyTimeout,
		WriteTimeout:      bodyTimeout,
		IdleTimeout:       idleTimeout,
		MaxHeaderBytes:    maxHeaderBytes,
		ErrorLog:          slog.NewLogLogger(log.Handler(), slog.LevelDebug),
	}
}
