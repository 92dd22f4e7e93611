package httpapi

import (
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/howdah/howdah/internal/observe"
)

// jsonSlowCall is one slow call in JSON. What is not known is left out.
type jsonSlowCall struct {
	ID        int64     `json:"id"`
	Time      time.Time `json:"time"`
	Duration  int64     `json:"duration_us"`
	Queued    int64     `json:"queued_us"`
	Statement int64     `json:"statement_us"`
	Blocked   int64     `json:"blocked_us"`
	Op        string    `json:"op"`
	Failed    bool      `json:"failed,omitempty"`
	Command   string    `json:"command,omitempty"`
	Verb      string    `json:"verb,omitempty"`
	Cache     string    `json:"cache"`
	Key       string    `json:"key"` // without its secret, as text
	Keys      int       `json:"keys"`
	Batch     int       `json:"batch,omitempty"`
	Door      string    `json:"door"`
	Client    string    `json:"client,omitempty"`
	Library   string    `json:"library,omitempty"`
	Version   string    `json:"version,omitempty"`
	Address   string    `json:"address,omitempty"`
}

func fromSlowCall(c *observe.SlowCall) jsonSlowCall {
	return jsonSlowCall{
		ID: c.ID, Time: c.Time, Duration: c.Duration.Microseconds(),
		Queued: c.Queued.Microseconds(), Statement: c.Statement.Microseconds(), Blocked: c.Blocked.Microseconds(),
		Op: c.Op(), Failed: c.Failed, Command: c.Command, Verb: c.Verb, Cache: c.Cache,
		Key: strings.ToValidUTF8(c.Key, "\uFFFD"), Keys: c.Keys, Batch: c.Batch,
		Door: c.Door, Client: c.Name, Library: c.Library, Version: c.Version, Address: c.Address,
	}
}

// listSlow answers the calls that took long, the last one first.
func (a *api) listSlow(w http.ResponseWriter, r *http.Request) error {
	values, err := query(r, "limit")
	if err != nil {
		return err
	}
	limit := observe.MaxSlowCalls
	if text := values.Get("limit"); text != "" {
		if limit, err = strconv.Atoi(text); err != nil || limit < 1 || limit > observe.MaxSlowCalls {
			return problemf(badRequest, "limit=%.50q is not a number from 1 to %d.", text, observe.MaxSlowCalls)
		}
	}
	slow := a.db.SlowLog()
	answer := struct {
		Sees      string         `json:"sees"`
		Threshold *int64         `json:"threshold_us"` // null: none is noted
		Kept      int            `json:"kept"`
		Reads     uint64         `json:"reads"`
		Writes    uint64         `json:"writes"`
		Calls     []jsonSlowCall `json:"calls"`
	}{Sees: thisServer, Kept: slow.Max(), Calls: []jsonSlowCall{}}
	answer.Reads, answer.Writes = slow.Counts()
	if slow.On() {
		threshold := slow.Threshold().Microseconds()
		answer.Threshold = &threshold
	}
	for _, call := range slow.Recent(limit) {
		answer.Calls = append(answer.Calls, fromSlowCall(&call))
	}
	return writeJSON(w, http.StatusOK, answer)
}

// forgetSlow forgets the calls that are kept. The counts stay.
func (a *api) forgetSlow(w http.ResponseWriter, r *http.Request) error {
	if _, err := query(r); err != nil {
		return err
	}
	a.db.SlowLog().Reset()
	w.WriteHeader(http.StatusNoContent)
	return nil
}
