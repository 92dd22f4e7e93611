package session

import (
	"fmt"
	"net/http"
	"strings"
	"time"
)

// Cookie is the cookie that carries the token. The zero value is the safest
// there is: Secure, HttpOnly, SameSite=Lax, of this host and all its paths,
// gone when the browser is closed.
type Cookie struct {
	// Name. Default "__Host-session", by which browsers refuse the cookie from
	// any other host and over plain HTTP; "__Secure-session" with a Domain or a
	// Path; "session" if Insecure.
	Name string
	// Domain lets hosts below it see the cookie. Default: this host alone.
	Domain string
	// Path. Default "/".
	Path string
	// Insecure lets the cookie travel over plain HTTP: for development only.
	Insecure bool
	// SameSite. Default http.SameSiteLaxMode.
	SameSite http.SameSite
	// Persistent keeps the cookie until the session's deadline, also when the
	// browser is closed.
	Persistent bool
}

// complete fills in the defaults and says what is wrong.
func (c *Cookie) complete() error {
	if c.Path == "" {
		c.Path = "/"
	}
	if c.SameSite == 0 {
		c.SameSite = http.SameSiteLaxMode
	}
	host := !c.Insecure && c.Domain == "" && c.Path == "/"
	if c.Name == "" {
		switch {
		case host:
			c.Name = "__Host-session"
		case !c.Insecure:
			c.Name = "__Secure-session"
		default:
			c.Name = "session"
		}
	}
	switch {
	case strings.HasPrefix(c.Name, "__Host-") && !host:
		return fmt.Errorf("session: Options.Cookie.Name %q needs a cookie without Insecure, Domain and Path; choose another name", c.Name)
	case strings.HasPrefix(c.Name, "__Secure-") && c.Insecure:
		return fmt.Errorf("session: Options.Cookie.Name %q needs a cookie without Insecure; choose another name", c.Name)
	case c.SameSite == http.SameSiteNoneMode && c.Insecure:
		return fmt.Errorf("session: Options.Cookie.SameSite None needs a cookie without Insecure, or browsers refuse it")
	}
	if err := c.make("v").Valid(); err != nil {
		return fmt.Errorf("session: Options.Cookie is not valid: %w", err)
	}
	return nil
}

func (c *Cookie) make(value string) *http.Cookie {
	return &http.Cookie{
		Name: c.Name, Value: value, Domain: c.Domain, Path: c.Path,
		Secure: !c.Insecure, HttpOnly: true, SameSite: c.SameSite,
	}
}

// of is the cookie of a session.
func (c *Cookie) of(s *Session) *http.Cookie {
	cookie := c.make(s.token.Reveal())
	if c.Persistent {
		// The browser's clock ends the cookie; the database's ends the session.
		cookie.MaxAge = max(int(time.Until(s.Deadline)/time.Second), 1)
	}
	return cookie
}

// gone is the cookie that removes the cookie.
func (c *Cookie) gone() *http.Cookie {
	cookie := c.make("")
	cookie.MaxAge = -1
	return cookie
}

// cookieToken finds the token in a request. Whatever is not a token of ours
// counts as no token. So do two different ones: somebody below our domain has
// planted one, and which is whose cannot be told.
func (m *Manager) cookieToken(r *http.Request) (token Token, ok bool) {
	cookies := r.CookiesNamed(m.opts.Cookie.Name)
	if len(cookies) == 0 {
		return Token{}, false
	}
	for _, other := range cookies[1:] {
		if other.Value != cookies[0].Value {
			m.stats.malformed.Add(1)
			return Token{}, false
		}
	}
	token, err := m.ParseToken(cookies[0].Value)
	return token, err == nil
}
