package server

import (
	"log/slog"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/howdah/howdah/internal/httpapi"
)

// Bounds on HTTP requests. A body may be as large as a value and come over a
// slow line; headers may not take long. The longest key, percent-encoded, is
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
func newHTTPServer(api httpapi.Handler, h *health, registry *prometheus.Registry, log *slog.Logger) *http.Server {
	metrics := api.Guard(promhttp.HandlerFor(registry, promhttp.HandlerOpts{MaxRequestsInFlight: 4}))
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
