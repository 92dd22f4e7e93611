package session

import (
	"context"
	"errors"
	"net/http"

	"github.com/howdah/howdah"
)

type contextKey struct{}

// Middleware gives every request its session: From finds it. Nothing is read
// until the handler asks, nothing is written unless it changes something, and
// what it changed is on disk before the first byte of the response leaves.
//
// If the session cannot be read or saved, the response is that of
// Options.ErrorHandler, whatever the handler writes.
func (m *Manager) Middleware(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c := &Current{manager: m}
		c.request = r.WithContext(context.WithValue(r.Context(), contextKey{}, c))
		rw := &response{ResponseWriter: w, current: c}
		next.ServeHTTP(rw, c.request)
		rw.finish()
	})
}

// From returns the session of a request, by the request's context. It panics
// if the request did not come through Middleware.
func From(ctx context.Context) *Current {
	c, ok := ctx.Value(contextKey{}).(*Current)
	if !ok {
		panic("session: From needs a request that came through Manager.Middleware")
	}
	return c
}

func defaultErrorHandler(w http.ResponseWriter, _ *http.Request, err error) {
	status := http.StatusInternalServerError
	switch {
	case errors.Is(err, howdah.ErrUnavailable), errors.Is(err, howdah.ErrTimeout), errors.Is(err, howdah.ErrUnknownOutcome),
		errors.Is(err, howdah.ErrOverloaded), errors.Is(err, context.Canceled):
		status = http.StatusServiceUnavailable
		w.Header().Set("Retry-After", "1")
	case errors.Is(err, ErrNotFound):
		status = http.StatusUnauthorized
	}
	w.Header().Set("Cache-Control", "no-store")
	http.Error(w, http.StatusText(status), status)
}
