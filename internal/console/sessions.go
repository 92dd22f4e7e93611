package console

import (
	"net/http"

	"github.com/howdah/howdah/session"
)

// sessionsShown bounds a page of sessions.
const sessionsShown = 100

// sessionRow is one session. Neither its secret nor its payload is ever read for a page.
type sessionRow struct {
	session.Info
	User, Agent, Address string
	Created, Seen        string
	Expires              string
}

type sessionsView struct {
	User   string
	Rows   []sessionRow
	Next   string
	Closed string // why there is nothing to show
}

// sessionsPage lists the sessions of a user, or a page of all.
func (c *Console) sessionsPage(r *request) error {
	view := &sessionsView{User: r.URL.Query().Get("user")}
	if c.sessions == nil {
		view.Closed = "This server serves no sessions."
		return r.showSessions(view)
	}
	ctx, cancel := r.bounded()
	defer cancel()
	var found []session.Info
	var err error
	if view.User != "" {
		found, err = c.sessions.List(ctx, view.User)
	} else {
		after := session.ID{}
		if text := r.URL.Query().Get("cursor"); text != "" {
			if after, err = session.ParseID(text); err != nil {
				return badRequest("The position in the address is not one that this console gave. Begin without it.")
			}
		}
		found, err = c.sessions.All(ctx, after, sessionsShown)
		if len(found) == sessionsShown {
			view.Next = found[len(found)-1].ID.String()
		}
	}
	if err != nil {
		return err
	}
	now := c.now()
	for _, info := range found {
		row := sessionRow{Info: info, User: visible(info.User), Agent: visible(info.UserAgent),
			Created: ago(now, info.CreatedAt), Seen: ago(now, info.LastSeenAt), Expires: duration(info.ExpiresAt.Sub(now))}
		if info.IP.IsValid() {
			row.Address = info.IP.String()
		}
		view.Rows = append(view.Rows, row)
	}
	return r.showSessions(view)
}

func (r *request) showSessions(view *sessionsView) error {
	return r.show(http.StatusOK, "sessions.html", frame{Title: "Sessions", Section: "sessions", Page: view})
}

// revokeSession ends one session.
func (c *Console) revokeSession(r *request) error {
	id, err := session.ParseID(r.PostForm.Get("id"))
	if err != nil || c.sessions == nil {
		return badRequest("The form names no session.")
	}
	ctx, cancel := r.bounded()
	defer cancel()
	ended, err := c.sessions.Revoke(ctx, id)
	if err != nil {
		return err
	}
	if !ended {
		return &refusal{http.StatusNotFound, "The session has ended", "No session has this id; it may have expired or been revoked."}
	}
	r.auditPersons("session revoked", id.String())
	return r.back("sessions", "revoked")
}

func (r *request) revokeUserView(user string) (*confirmView, error) {
	c := r.console
	if user == "" || c.sessions == nil {
		return nil, badRequest("Name the user whose sessions end.")
	}
	ctx, cancel := r.bounded()
	defer cancel()
	n, err := c.sessions.CountUser(ctx, user)
	return &confirmView{
		Title: "Revoke all sessions of a user", Action: "sessions/revoke-user", Back: "sessions",
		What: "All sessions of the user “" + visible(user) + "” will end. The user has to log in again everywhere.",
		Word: user, Label: "id of the user", Count: n, Noun: "session", Nouns: "sessions", Hidden: map[string]string{"user": user}, Button: "Revoke the sessions",
	}, err
}

func (c *Console) revokeUserPage(r *request) error {
	view, err := r.revokeUserView(r.URL.Query().Get("user"))
	if err != nil {
		return err
	}
	return r.confirm(http.StatusOK, view)
}

func (c *Console) revokeUser(r *request) error {
	user := r.PostForm.Get("user")
	view, err := r.revokeUserView(user)
	if err != nil {
		return err
	}
	if !r.confirmed(view) {
		return r.confirm(http.StatusConflict, view)
	}
	ctx, cancel := r.bounded()
	defer cancel()
	n, err := c.sessions.RevokeUser(ctx, user)
	if err != nil {
		return err
	}
	r.auditPersons("sessions of a user revoked", visible(user)+", "+number(n)+" sessions")
	return r.back("sessions", "user")
}
