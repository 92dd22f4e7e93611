package httpapi

import (
	"context"
	"encoding/base64"
	"net/http"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/howdah/howdah/internal/observe"
)

// thisServer says what an answer from memory knows of: what other servers do, and SQL, it
// does not see.
const thisServer = "this server"

// The most removals of one answer, and how many there are without a limit.
const (
	maxRemovals     = 10_000
	defaultRemovals = 100
)

// clientOf is who sends a request.
func clientOf(r *http.Request) *observe.Client {
	product, _, _ := strings.Cut(r.UserAgent(), " ")
	name, version, _ := strings.Cut(product, "/")
	return &observe.Client{Door: observe.DoorHTTP, Library: observe.CutName(name), Version: observe.CutName(version), Address: r.RemoteAddr}
}

// withClient is the context of a request, for what concerns a whole cache or database.
func withClient(r *http.Request) context.Context {
	return observe.NewContext(r.Context(), clientOf(r))
}

// jsonRemoval is one removal in JSON. What is not known is left out.
type jsonRemoval struct {
	Time     time.Time      `json:"time"`
	Until    *time.Time     `json:"until,omitempty"`
	Cache    string         `json:"cache"`
	Reason   observe.Reason `json:"reason"`
	Key      *string        `json:"key,omitempty"`
	Prefix   *string        `json:"prefix,omitempty"`
	Encoding string         `json:"encoding,omitempty"`
	KeyBytes int            `json:"key_bytes,omitempty"` // only of a key that is cut
	Count    *int64         `json:"count"`               // null: unknown
	Detail   string         `json:"detail,omitempty"`
	Unsure   bool           `json:"unsure,omitempty"`
	Command  string         `json:"command,omitempty"`
	Door     string         `json:"door"`
	Client   string         `json:"client,omitempty"`
	Library  string         `json:"library,omitempty"`
	Version  string         `json:"version,omitempty"`
	Address  string         `json:"address,omitempty"`
	Role     string         `json:"role,omitempty"`
}

func fromRemoval(r *observe.Removal) jsonRemoval {
	j := jsonRemoval{
		Time: r.Time, Cache: r.Cache, Reason: r.Reason, Detail: r.Detail, Unsure: r.Unsure, Command: r.Command,
		Door: r.Door, Client: r.Name, Library: r.Library, Version: r.Version, Address: r.Address, Role: r.Role,
	}
	if !r.Until.IsZero() {
		j.Until = &r.Until
	}
	if r.Count != observe.Unknown {
		j.Count = &r.Count
	}
	if r.Key == nil {
		return j
	}
	text := string(r.Key)
	if !utf8.ValidString(text) {
		text, j.Encoding = base64.StdEncoding.EncodeToString(r.Key), asBase64
	}
	if r.Whole {
		j.Prefix = &text
	} else {
		j.Key = &text
	}
	if r.KeyBytes > len(r.Key) {
		j.KeyBytes = r.KeyBytes
	}
	return j
}

// listRemovals answers which entries ended lately, and who ended them, the last one first.
func (a *api) listRemovals(w http.ResponseWriter, r *http.Request) error {
	values, err := query(r, "cache", "key", "key64", "limit")
	if err != nil {
		return err
	}
	filter := observe.Filter{Cache: values.Get("cache"), Limit: defaultRemovals, NoPersons: true} // the token of sessions opens those
	key, given, err := queryKey(values)
	if err != nil {
		return err
	}
	if given {
		filter.Key = append([]byte{}, key...)
	}
	if text := values.Get("limit"); text != "" {
		if filter.Limit, err = strconv.Atoi(text); err != nil || filter.Limit < 1 || filter.Limit > maxRemovals {
			return problemf(badRequest, "limit=%.50q is not a number from 1 to %d.", text, maxRemovals)
		}
	}
	removals := a.db.Removals()
	answer := struct {
		Sees     string        `json:"sees"`
		Since    *time.Time    `json:"since"` // null: nothing is remembered
		Kept     int           `json:"kept"`
		Removals []jsonRemoval `json:"removals"`
	}{Sees: thisServer, Kept: removals.Kept(), Removals: []jsonRemoval{}}
	if since := removals.Since(); !since.IsZero() {
		answer.Since = &since
	}
	for _, removal := range removals.Recent(filter) {
		answer.Removals = append(answer.Removals, fromRemoval(&removal))
	}
	return writeJSON(w, http.StatusOK, answer)
}
