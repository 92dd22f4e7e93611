package httpapi

import (
	"errors"
	"net/http"
	"strconv"
	"time"

	"github.com/howdah/howdah/internal/fault"
	"github.com/howdah/howdah/internal/figures"
)

// maxGroups is the most prefixes of one level that are listed.
const maxGroups = 1000

// figureRoutes are the paths of what is known of the whole database, and of the entries
// of a cache as a sample shows them.
func (a *api) figureRoutes() map[string]map[string]handler {
	return map[string]map[string]handler{
		"/v1/stats":                       {http.MethodGet: a.getStats},
		"/v1/history":                     {http.MethodGet: a.getHistory},
		"/v1/doctor":                      {http.MethodGet: a.getDoctor, http.MethodPost: a.examine},
		"/v1/cost":                        {http.MethodGet: a.getCost},
		"/v1/servers":                     {http.MethodGet: a.getServers},
		"/v1/caches/{cache}/distribution": {http.MethodGet: a.getDistribution},
		"/v1/caches/{cache}/sample":       {http.MethodGet: a.getSample},
	}
}

// showing begins an answer that shows figures, under a name: "age" says how many seconds ago they were
// read, and "error" why there are no newer ones. It is an error if there are none, or if
// what they are of is gone or not for this role.
func showing[T any](seen figures.Seen[T], name string) (map[string]any, error) {
	answer := map[string]any{"age": seen.Age().Seconds(), name: seen.Value}
	switch {
	case seen.Err == nil:
	case seen.Value == nil, errors.Is(seen.Err, fault.ErrCacheNotFound), errors.Is(seen.Err, fault.ErrPermission):
		return nil, seen.Err
	default:
		answer["error"] = problemOf(seen.Err).detail
	}
	return answer, nil
}

// show answers with figures.
func show[T any](w http.ResponseWriter, seen figures.Seen[T], name string) error {
	answer, err := showing(seen, name)
	if err != nil {
		return err
	}
	return writeJSON(w, http.StatusOK, answer)
}

// getStats answers what "howdah stat" shows, and what this process did. With
// history=true also the last minutes.
func (a *api) getStats(w http.ResponseWriter, r *http.Request) error {
	values, err := query(r, "history")
	if err != nil {
		return err
	}
	text := values.Get("history")
	if text != "" && text != "true" && text != "false" {
		return problemf(badRequest, "history=%.50q is neither true nor false.", text)
	}
	answer, err := showing(a.figures.Report(r.Context()), "stats")
	if err != nil {
		return err
	}
	history := a.figures.History()
	answer["process"] = nil // two readings are needed
	if len(history) > 0 {
		answer["process"] = history[len(history)-1].Process
	}
	if text == "true" {
		answer["history"] = history
	}
	return writeJSON(w, http.StatusOK, answer)
}

// getHistory answers what this server did in each minute of the last day, or in the last ones of them.
func (a *api) getHistory(w http.ResponseWriter, r *http.Request) error {
	values, err := query(r, "minutes")
	if err != nil {
		return err
	}
	last := figures.DayPoints
	if text := values.Get("minutes"); text != "" {
		if last, err = strconv.Atoi(text); err != nil || last < 1 || last > figures.DayPoints {
			return problemf(badRequest, "minutes=%.50q is not a number from 1 to %d.", text, figures.DayPoints)
		}
	}
	answer := struct {
		Sees    string           `json:"sees"`
		Since   *time.Time       `json:"since"` // null: it does not record
		Minutes []figures.Minute `json:"minutes"`
	}{Sees: thisServer}
	minutes, since := a.figures.Day()
	answer.Minutes = minutes[max(0, len(minutes)-last):]
	if !since.IsZero() {
		answer.Since = &since
	}
	return writeJSON(w, http.StatusOK, answer)
}

// getDoctor answers the last report of the doctor, an hour old at most.
func (a *api) getDoctor(w http.ResponseWriter, r *http.Request) error {
	if _, err := query(r); err != nil {
		return err
	}
	return show(w, a.figures.Doctor(r.Context()), "report")
}

// examine lets the doctor examine the database again.
func (a *api) examine(w http.ResponseWriter, r *http.Request) error {
	if _, err := query(r); err != nil {
		return err
	}
	if err := unconditional(r); err != nil {
		return err
	}
	return show(w, a.figures.Examine(r.Context()), "report")
}

func (a *api) getCost(w http.ResponseWriter, r *http.Request) error {
	if _, err := query(r); err != nil {
		return err
	}
	return show(w, a.figures.Cost(r.Context()), "cost")
}

func (a *api) getServers(w http.ResponseWriter, r *http.Request) error {
	if _, err := query(r); err != nil {
		return err
	}
	return show(w, a.figures.Servers(r.Context()), "servers")
}

// getDistribution answers how the entries of a cache are spread.
func (a *api) getDistribution(w http.ResponseWriter, r *http.Request) error {
	if _, err := query(r); err != nil {
		return err
	}
	seen := a.figures.Sample(r.Context(), r.PathValue("cache"))
	answer, err := showing(seen, "distribution")
	if err != nil {
		return err
	}
	answer["distribution"] = seen.Value.Distribution()
	return writeJSON(w, http.StatusOK, answer)
}

// getSample answers the entries of a cache by their prefixes, below one prefix.
func (a *api) getSample(w http.ResponseWriter, r *http.Request) error {
	values, err := query(r, "prefix", "prefix64", "limit")
	if err != nil {
		return err
	}
	prefix, err := prefixOf(values)
	if err != nil {
		return err
	}
	limit := 100
	if text := values.Get("limit"); text != "" {
		if limit, err = strconv.Atoi(text); err != nil || limit < 1 || limit > maxGroups {
			return problemf(badRequest, "limit=%.50q is not a number from 1 to %d.", text, maxGroups)
		}
	}
	seen := a.figures.Sample(r.Context(), r.PathValue("cache"))
	answer, err := showing(seen, "sample")
	if err != nil {
		return err
	}
	answer["sample"] = seen.Value.Level(prefix, limit)
	return writeJSON(w, http.StatusOK, answer)
}
