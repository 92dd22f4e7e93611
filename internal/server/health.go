package server

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/howdah/howdah"
	"github.com/howdah/howdah/internal/core"
)

// readyTimeout bounds the question that /readyz asks the database.
const readyTimeout = time.Second

// health answers the probes of load balancers and orchestrators. Neither needs
// a token, and neither tells more than one short reason.
type health struct {
	ping     func(context.Context) error
	degraded func() (reason string) // "" if all is well; nil: always
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
// schema is the one that this program works with. A server that can do less than
// it should says so and stays ready: other servers of the same database could do
// no more, and reads go on.
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
	if h.degraded != nil {
		if reason := h.degraded(); reason != "" {
			h.reply(w, http.StatusOK, healthReply{"degraded", reason})
			return
		}
	}
	h.reply(w, http.StatusOK, healthReply{Status: "ready"})
}

// diskFullFor is for how long after a write that PostgreSQL refused its disk
// counts as full: small writes succeed in between, in pages that have room.
const diskFullFor = 30 * time.Second

func diskIsFull(stats core.Stats) bool {
	return !stats.DiskFull.IsZero() && time.Since(stats.DiskFull) < diskFullFor
}

// idleUpkeep is for how long no server may have done a round of upkeep before it counts as
// not running, as for the alert and the doctor.
const idleUpkeep = 2 * time.Minute

// upkeepIsIdle says whether no server has done upkeep lately. A database whose caches had none
// yet has the time since the server began.
func upkeepIsIdle(found states, began time.Time) bool {
	if !found.up || len(found.caches) == 0 {
		return false // not known, or nothing to do
	}
	last := 0.0
	for _, cache := range found.caches {
		last = max(last, cache.lastRound)
	}
	if last == 0 {
		return time.Since(began) > idleUpkeep
	}
	return time.Since(time.Unix(int64(last), 0)) > idleUpkeep
}

// degradation returns in one sentence what the server can do less well than it
// should, "" if there is nothing. It names no cache: anybody may read it.
func degradation(stats core.Stats, found states, began time.Time) string {
	var reasons []string
	if diskIsFull(stats) {
		reasons = append(reasons, "the disk of the database is full: writes that need space fail")
	}
	if stats.Pool.Limit < stats.Pool.Max {
		reasons = append(reasons, fmt.Sprintf("the database allows %d of the %d connections asked for", stats.Pool.Limit, stats.Pool.Max))
	}
	if found.up && slices.ContainsFunc(found.caches, func(c cacheState) bool { return c.full }) {
		reasons = append(reasons, "a cache is full and refuses writes: its eviction is noeviction")
	}
	if upkeepIsIdle(found, began) {
		reasons = append(reasons, "no server does upkeep: what has expired or exceeds a budget stays")
	}
	if stats.Near.Bound > 0 && stats.Near.Lag > stats.Near.Bound {
		reasons = append(reasons, "the memory of this server has lapsed: reads ask the database")
	}
	return strings.Join(reasons, "; ")
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
