package console

import (
	"crypto/hmac"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"
)

// loginView is what the page of the login shows.
type loginView struct {
	Next   string
	Ticket string // of a link that logs in once
	Wrong  bool
	Server string
}

func (c *Console) loginPage(r *request) error {
	q := r.URL.Query()
	return r.show(http.StatusOK, "login.html", frame{Title: "Log in", Page: loginView{
		Next: safePath(q.Get("next")), Ticket: q.Get("ticket"), Server: r.Host,
	}})
}

// login gives the browser a cookie for a token, or for a ticket.
func (c *Console) login(r *request) error {
	next := safePath(r.PostForm.Get("next"))
	k := c.redeem(r.PostForm.Get("ticket"))
	if k == nil {
		k = c.matching(strings.TrimSpace(r.PostForm.Get("token")))
	}
	if k == nil {
		c.log.Warn("console: wrong token", "addr", r.RemoteAddr)
		c.delayFailure(r.Context())
		return r.show(http.StatusUnauthorized, "login.html", frame{Title: "Log in", Page: loginView{Next: next, Wrong: true, Server: r.Host}})
	}
	c.setCookie(r.w, r.Request, k.kind, c.newLogin(k), loginLifetime)
	c.log.Info("console: login", "role", k.kind, "addr", r.RemoteAddr)
	if next == "" && k.rights == persons && !r.visitor.rights.has(view) {
		next = "sessions"
	}
	return r.back(next, "loggedin")
}

// logout ends all logins of the browser.
func (c *Console) logout(r *request) error {
	for _, k := range c.keys {
		c.setCookie(r.w, r.Request, k.kind, "", -time.Second)
	}
	return r.back("login", "")
}

// ticketLifetime is how long a link of [Ticket] can be used.
const ticketLifetime = time.Minute

// Ticket returns the path and query of a page that logs in once, within a minute, whoever
// opens it: "console/login?ticket=...". token is Options.Token, Options.ViewerToken or
// Options.SessionToken of the server. The ticket does not reveal it.
func Ticket(token string, now time.Time) string {
	text := strconv.FormatInt(now.Unix(), 10) + "." + encode(random(16))
	k := newKey("", token, anyone)
	return strings.TrimPrefix(Prefix, "/") + "login?ticket=" + text + "." + encode(sign(k.ticket, text))
}

// tickets are those that were used here and have not expired. Another server with the same
// token does not know them.
type tickets struct {
	mu   sync.Mutex
	used map[string]time.Time
}

// first says whether the ticket is used for the first time.
func (t *tickets) first(ticket string, now time.Time) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	for used, at := range t.used {
		if now.Sub(at) > 2*ticketLifetime {
			delete(t.used, used)
		}
	}
	_, again := t.used[ticket]
	t.used[ticket] = now
	return !again
}

// redeem returns the key that a ticket was made with, nil if it is not valid.
func (c *Console) redeem(ticket string) *key {
	i := strings.LastIndexByte(ticket, '.')
	if i < 0 {
		return nil
	}
	text, mac := ticket[:i], ticket[i+1:]
	issued, _, _ := strings.Cut(text, ".")
	seconds, err := strconv.ParseInt(issued, 10, 64)
	if age := c.now().Sub(time.Unix(seconds, 0)); err != nil || age < -5*time.Second || age > ticketLifetime {
		return nil
	}
	for _, k := range c.keys {
		if hmac.Equal([]byte(mac), []byte(encode(sign(k.ticket, text)))) && c.tickets.first(text, c.now()) {
			return k
		}
	}
	return nil
}
