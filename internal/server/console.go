package server

import (
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/howdah/howdah/internal/console"
	"github.com/howdah/howdah/internal/core"
	"github.com/howdah/howdah/internal/figures"
	"github.com/howdah/howdah/internal/httpapi"
	"github.com/howdah/howdah/internal/observe"
	"github.com/howdah/howdah/session"
)

// Console says whether the server has pages for people, and to whom they are open.
type Console struct {
	// Mode is "auto", "on" or "off". Auto, the default, is on where nobody can reach the
	// HTTP listener but this machine and no token is asked for, and where there is a
	// ViewerToken.
	Mode string

	// Addr is host:port of a listener of its own for the console. Default: it is below
	// /console/ of the HTTP listener.
	Addr string

	// ViewerToken opens figures and masked keys only.
	ViewerToken string

	// ReadOnly refuses every change in the console, whatever the token.
	ReadOnly bool

	// Mask are further patterns of keys that can be secrets, as observe.NewMask takes them.
	Mask []string

	// BasePath is the path below which a proxy serves this server, such as "/howdah".
	BasePath string
}

// on says whether there is to be a console.
func (c *Config) consoleOn() bool {
	switch c.Console.Mode {
	case "on":
		return true
	case "off":
		return false
	}
	return c.HTTPAddr != "" && (c.Token == "" || c.Console.ViewerToken != "")
}

// check finds settings that are out of range or in contradiction.
func (c *Console) check(config *Config, name func(string) string) error {
	_, maskErr := observe.NewMask(c.Mask)
	switch {
	case c.Mode != "" && c.Mode != "auto" && c.Mode != "on" && c.Mode != "off":
		return fmt.Errorf("%s %q is unknown: use auto, on or off", name("console"), c.Mode)
	case c.Mode == "on" && config.HTTPAddr == "":
		return fmt.Errorf("%s on needs HTTP: give %s an address", name("console"), name("http-addr"))
	case c.Addr != "" && c.Mode == "off":
		return fmt.Errorf("%s is for the console, which is off", name("console-addr"))
	case c.Addr != "" && config.HTTPAddr == "":
		return fmt.Errorf("%s needs %s: the console uses what HTTP serves", name("console-addr"), name("http-addr"))
	case c.ViewerToken != "" && (c.ViewerToken == config.Token || c.ViewerToken == config.SessionToken):
		return fmt.Errorf("%s is also another token: make one that opens figures only", name("console-viewer-token-file"))
	case c.ViewerToken != "" && config.Token == "":
		return fmt.Errorf("%s needs %s: without that every visitor may change everything", name("console-viewer-token-file"), name("token-file"))
	case c.BasePath != "" && (!strings.HasPrefix(c.BasePath, "/") || strings.HasSuffix(c.BasePath, "/") || strings.ContainsAny(c.BasePath, ";, \"\\")):
		return fmt.Errorf("%s %q is not a path such as /howdah", name("base-path"), c.BasePath)
	case maskErr != nil:
		return fmt.Errorf("%s: %w", name("console-mask"), maskErr)
	}
	return nil
}

// newConsole makes the pages, or returns nil if there are to be none.
func (s *server) newConsole(api httpapi.Handler, shown *figures.Figures, sessions *session.Manager) http.Handler {
	c := &s.config
	if !c.consoleOn() {
		return nil
	}
	db := (*core.DB)(s.database.db)
	var clients console.RedisClients
	if s.engine != nil {
		clients = s.engine
	}
	return console.New(console.Options{
		DB: db, Figures: shown, Slow: db.SlowLog(), Removals: db.Removals(), Prefixes: db.Prefixes(), Clients: clients,
		Sessions: sessions, Token: c.Token, ViewerToken: c.Console.ViewerToken, SessionToken: c.SessionToken,
		ReadOnly: c.Console.ReadOnly, NoScripts: c.NoScripts, BasePath: c.Console.BasePath, Mask: db.Mask(), KnownHost: api.KnownHost,
		Version: c.Version, Logger: c.Logger,
	})
}

// consoleURL is where the pages are, "" if nowhere.
func (c *Config) consoleURL(a Addresses) string {
	at := a.HTTP
	if a.Console != nil {
		at = a.Console
	}
	if at == nil || !c.consoleOn() {
		return ""
	}
	scheme := "http://"
	if c.TLSCert != "" {
		scheme = "https://"
	}
	return scheme + at.String() + console.Prefix
}

// serveConsole serves the pages on their own listener.
func (s *server) serveConsole(pages http.Handler) {
	if s.consoleListener == nil {
		return
	}
	s.console = boundedServer(withConsole(http.NotFoundHandler(), pages), s.memory, s.config.Logger)
	s.work.Go(func() {
		if err := s.console.Serve(s.limited(s.consoleListener)); !errors.Is(err, http.ErrServerClosed) {
			s.fail(fmt.Errorf("the listener of the console failed: %w", err))
		}
	})
}

// withConsole serves the pages below their path, sends a browser that opens the root
// there, and leaves the rest to next.
func withConsole(next, pages http.Handler) http.Handler {
	if pages == nil {
		return next
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		path := r.URL.Path
		switch {
		case strings.HasPrefix(path, console.Prefix), path+"/" == console.Prefix:
			pages.ServeHTTP(w, r)
			r.Pattern = console.Prefix // one route for the metrics
		case path == "/" && httpapi.AsksForPage(r):
			r.Pattern = "/{$}"
			w.Header().Set("Location", strings.TrimPrefix(console.Prefix, "/"))
			w.Header().Set("Cache-Control", "no-store")
			w.WriteHeader(http.StatusSeeOther)
		default:
			next.ServeHTTP(w, r)
		}
	})
}
