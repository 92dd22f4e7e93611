package server

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/howdah/howdah"
)

// readyTimeout bounds the question that /readyz asks the database.
const readyTimeout = time.Second

// health answers the probes of load balancers and orchestrators. Neither needs
// a token, and neither tells more than one short reason.
type health struct {
	ping     func(context.Context) error
	stopping atomic.Bool
}

type healthReply struct {
	Status string `json:"status"`
	Reason string `json:"reason,omitempty"`
}

// live says that the process serves HTTP. It does not ask the database: an
// outage there is no reason to restart this process.
func (h *health) live(w http.ResponseWriter, _ *http.Request) {
	h.reply(w, http.StatusOK, healthReply{Status: "ok"})
}

// ready says whether requests can be answered: the database is there and its
// schema is the one that this program works with.
func (h *health) ready(w http.ResponseWriter, r *http.Request) {
	if h.stopping.Load() {
		h.reply(w, http.StatusServiceUnavailable, healthReply{"unavailable", "the server is shutting down"})
		return
	}
	ctx, cancel := context.WithTimeout(r.Context(), readyTimeout)
	defer cancel()
	if err := h.ping(ctx); err != nil {
		h.reply(w, http.StatusServiceUnavailable, healthReply{"unavailable", reason(err)})
		return
	}
	h.reply(w, http.StatusOK, healthReply{Status: "ready"})
}

// reason is what anybody may know of an error: not the addresses and names
// that a driver's message holds.
func reason(err error) string {
	switch {
	case errors.Is(err, howdah.ErrSchemaMissing):
		return "the database has no Howdah schema, or one too old; run howdah migrate"
	case errors.Is(err, howdah.ErrSchemaTooNew):
		return "the schema is newer than this program; upgrade the program"
	case errors.Is(err, howdah.ErrPermission):
		return "the database role lacks a privilege; run howdah migrate --runtime-role"
	case errors.Is(err, howdah.ErrTimeout), errors.Is(err, context.DeadlineExceeded):
		return "the database does not answer in time"
	default:
		return "the database cannot be reached"
	}
}

func (h *health) reply(w http.ResponseWriter, status int, body healthReply) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body)
}
