package httpapi

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"mime"
	"net/http"
	"time"
	"unicode/utf8"

	"github.com/howdah/howdah/session"
)

// jsonSession is a session in JSON, for who holds its token. The payload is
// JSON if it is that, else a string that Encoding says is base64.
type jsonSession struct {
	ID         session.ID      `json:"id"`
	User       string          `json:"user,omitempty"`
	Payload    json.RawMessage `json:"payload"`
	Encoding   string          `json:"encoding,omitempty"`
	Version    int64           `json:"version"`
	CreatedAt  time.Time       `json:"created_at"`
	LastSeenAt time.Time       `json:"last_seen_at"`
	ExpiresAt  time.Time       `json:"expires_at"`
	Deadline   time.Time       `json:"deadline"`
}

func fromSession(s *session.Session) jsonSession {
	j := jsonSession{
		ID: s.ID, User: s.User, Version: s.Version,
		CreatedAt: s.CreatedAt, LastSeenAt: s.LastSeenAt, ExpiresAt: s.ExpiresAt, Deadline: s.Deadline,
	}
	switch {
	case len(s.Payload) == 0:
		j.Payload = json.RawMessage("{}")
	case json.Valid(s.Payload) && utf8.Valid(s.Payload):
		j.Payload = s.Payload
	default:
		j.Encoding = asBase64
		j.Payload = json.RawMessage(`"` + base64.StdEncoding.EncodeToString(s.Payload) + `"`)
	}
	return j
}

// noSession is the answer to every token that stands for no session, whatever
// the reason.
func noSession() error {
	return problemf(unauthorized, "Send the token of a live session: Authorization: Bearer <token>. This one is none, or its session has ended, or its token was rotated.")
}

// ofSession serves who shows a session's token. A token that cannot be one is
// refused without asking the database.
func (a *api) ofSession(serve func(http.ResponseWriter, *http.Request, session.Token) error) handler {
	return func(w http.ResponseWriter, r *http.Request) error {
		token, err := a.sessions.ParseToken(bearer(r))
		if err != nil {
			return noSession()
		}
		if _, err := query(r); err != nil {
			return err
		}
		if err := unconditional(r); err != nil {
			return err
		}
		if err = serve(w, r, token); errors.Is(err, session.ErrNotFound) {
			return noSession()
		}
		return err
	}
}

func (a *api) getCurrent(w http.ResponseWriter, r *http.Request, token session.Token) error {
	s, err := a.sessions.Get(r.Context(), token)
	if err != nil {
		return err
	}
	return writeJSON(w, http.StatusOK, fromSession(s))
}

// mergeCurrent sets the fields of the payload that the body names, and removes
// those that are null there.
func (a *api) mergeCurrent(w http.ResponseWriter, r *http.Request, token session.Token) error {
	if mediaType, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type")); mediaType == "application/merge-patch+json" {
		return problemf(unsupportedMedia, "Fields of the top level are replaced whole, which is not what a merge patch says. Send them with Content-Type: application/json.")
	}
	var fields map[string]json.RawMessage
	if err := readJSON(w, r, maxSessionBytes, &fields); err != nil {
		return err
	}
	if fields == nil {
		return problemf(badRequest, `Send the fields to change as a JSON object, such as {"theme":"dark","draft":null}.`)
	}
	var remove []string
	for field, value := range fields {
		if string(value) == "null" {
			remove = append(remove, field)
			delete(fields, field)
		}
	}
	payload, version, err := a.sessions.Merge(r.Context(), token, fields, remove...)
	if err != nil {
		return payloadProblem(err)
	}
	return writeJSON(w, http.StatusOK, struct {
		Payload json.RawMessage `json:"payload"`
		Version int64           `json:"version"`
	}{payload, version})
}

// rotateCurrent gives the session a new token. The old one is dead.
func (a *api) rotateCurrent(w http.ResponseWriter, r *http.Request, token session.Token) error {
	s, err := a.sessions.Rotate(r.Context(), token, session.Renewal{})
	if err != nil {
		return err
	}
	return writeToken(w, http.StatusOK, s)
}

// endCurrent logs out.
func (a *api) endCurrent(w http.ResponseWriter, r *http.Request, token session.Token) error {
	ended, err := a.sessions.End(r.Context(), token)
	if err != nil {
		return err
	}
	if !ended {
		return session.ErrNotFound
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}
