package httpapi

import (
	"bytes"
	"encoding/json"
	"errors"
	"net/http"
	"net/netip"
	"strconv"
	"strings"

	"github.com/howdah/howdah/session"
)

// sessionsPath is where sessions are. What is below it asks for the token of
// sessions or that of one session, never for that of the caches.
const sessionsPath = "/v1/sessions"

// maxSessionBytes bounds the body of a request on a session. A payload is
// smaller, and is bounded by the session manager.
const maxSessionBytes = 2 << 20

// belowSessions looks at the path as the routes do: still encoded.
func belowSessions(r *http.Request) bool {
	rest, ok := strings.CutPrefix(r.URL.EscapedPath(), sessionsPath)
	return ok && (rest == "" || rest[0] == '/')
}

func (a *api) sessionRoutes() map[string]map[string]handler {
	return map[string]map[string]handler{
		sessionsPath: {
			http.MethodGet: a.administer(a.listSessions), http.MethodPost: a.administer(a.createSession),
			http.MethodDelete: a.administer(a.revokeUser),
		},
		sessionsPath + "/{id}": {http.MethodDelete: a.administer(a.revokeSession)},
		sessionsPath + "/current": {
			http.MethodGet: a.ofSession(a.getCurrent), http.MethodPatch: a.ofSession(a.mergeCurrent),
			http.MethodDelete: a.ofSession(a.endCurrent),
		},
		sessionsPath + "/current/rotate": {http.MethodPost: a.ofSession(a.rotateCurrent)},
	}
}

// administer serves who shows the token of sessions. Without one nobody can:
// whoever makes sessions can be any user.
func (a *api) administer(serve handler) handler {
	return func(w http.ResponseWriter, r *http.Request) error {
		if a.sessionToken == nil {
			return problemf(sessionsClosed, "Sessions are not administered here, because the server has no token for it. Start it with --session-token-file.")
		}
		if !bears(r, a.sessionToken) {
			a.unauthorized.Add(1)
			return problemf(unauthorized, "Send the server's token for sessions: Authorization: Bearer <token>. The token of the caches does not open them.")
		}
		return serve(w, r)
	}
}

// createSession starts a session. Its token is in no other answer.
func (a *api) createSession(w http.ResponseWriter, r *http.Request) error {
	if _, err := query(r); err != nil {
		return err
	}
	if err := unconditional(r); err != nil {
		return err
	}
	var request struct {
		User      string          `json:"user"`
		Payload   json.RawMessage `json:"payload"`
		IP        string          `json:"ip"`
		UserAgent string          `json:"user_agent"`
	}
	if err := readJSON(w, r, maxSessionBytes, &request); err != nil {
		return err
	}
	start := session.Start{User: request.User, UserAgent: request.UserAgent}
	if p := request.Payload; len(p) > 0 && string(p) != "null" {
		if p[0] != '{' {
			return problemf(badRequest, `The payload must be a JSON object, such as {"theme":"dark"}.`)
		}
		var compact bytes.Buffer
		if err := json.Compact(&compact, p); err != nil {
			return err
		}
		start.Payload = compact.Bytes()
		if err := session.CheckJSON(start.Payload); err != nil {
			return payloadProblem(err)
		}
	}
	if request.IP != "" {
		ip, err := netip.ParseAddr(request.IP)
		if err != nil {
			return problemf(badRequest, "ip %.50q is not an IP address; write it without a port.", request.IP)
		}
		start.IP = ip
	}
	s, err := a.sessions.Create(r.Context(), start)
	if err != nil {
		return payloadProblem(err)
	}
	return writeToken(w, http.StatusCreated, s)
}

// payloadProblem says what is wrong with a payload, in words of this interface.
func payloadProblem(err error) error {
	switch {
	case errors.Is(err, session.ErrPayloadTooLarge):
		return problemf(tooLarge, "The payload is larger than a session may be. Nothing was saved; keep less in the session.")
	case errors.Is(err, session.ErrNotJSON):
		return problemf(notMergeable, "The payload must be a JSON object. No string in it may hold a zero character, and no number may be out of the range of a double or longer than 400 characters. Nothing was saved.")
	}
	return err
}

// writeToken gives a session's token to its client.
func writeToken(w http.ResponseWriter, status int, s *session.Session) error {
	return writeJSON(w, status, struct {
		Token string     `json:"token"`
		ID    session.ID `json:"id"`
	}{s.Token().Reveal(), s.ID})
}

// listSessions answers the live sessions of a user, newest first, or without a
// user a page of everybody's, in the order of their ids.
func (a *api) listSessions(w http.ResponseWriter, r *http.Request) error {
	values, err := query(r, "user", "cursor", "count")
	if err != nil {
		return err
	}
	var answer struct {
		Sessions []session.Info `json:"sessions"`
		Cursor   *session.ID    `json:"cursor"`
	}
	if values.Has("user") {
		if values.Has("cursor") || values.Has("count") {
			return problemf(badRequest, "A user's sessions come on one page; leave out cursor and count.")
		}
		answer.Sessions, err = a.sessions.List(r.Context(), values.Get("user"))
	} else {
		count, after := 100, session.ID{}
		if text := values.Get("count"); text != "" {
			if count, err = strconv.Atoi(text); err != nil || count < 1 || count > maxPage {
				return problemf(badRequest, "count=%.50q is not a number from 1 to %d.", text, maxPage)
			}
		}
		if text := values.Get("cursor"); text != "" {
			if after, err = session.ParseID(text); err != nil {
				return problemf(badRequest, "cursor=%.50q is not one that this server gave; begin without it.", text)
			}
		}
		answer.Sessions, err = a.sessions.All(r.Context(), after, count)
		if n := len(answer.Sessions); n == count {
			answer.Cursor = &answer.Sessions[n-1].ID
		}
	}
	if err != nil {
		return err
	}
	if answer.Sessions == nil {
		answer.Sessions = []session.Info{}
	}
	return writeJSON(w, http.StatusOK, answer)
}

// revokeSession ends one session, whosever it is.
func (a *api) revokeSession(w http.ResponseWriter, r *http.Request) error {
	if _, err := query(r); err != nil {
		return err
	}
	if err := unconditional(r); err != nil {
		return err
	}
	id, err := session.ParseID(r.PathValue("id"))
	if err != nil {
		return problemf(badRequest, "%.50q is not the id of a session, which is a UUID.", r.PathValue("id"))
	}
	ended, err := a.sessions.Revoke(r.Context(), id)
	if err != nil {
		return err
	}
	if !ended {
		return problemf(sessionNotFound, "No session has the id %s; it may have expired or been revoked.", id)
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

// revokeUser ends all sessions of a user and answers how many there were.
func (a *api) revokeUser(w http.ResponseWriter, r *http.Request) error {
	values, err := query(r, "user")
	if err != nil {
		return err
	}
	if err := unconditional(r); err != nil {
		return err
	}
	if values.Get("user") == "" {
		return problemf(badRequest, "Name the user whose sessions end: ?user=...")
	}
	revoked, err := a.sessions.RevokeUser(r.Context(), values.Get("user"))
	if err != nil {
		return err
	}
	return writeJSON(w, http.StatusOK, map[string]int64{"revoked": revoked})
}
