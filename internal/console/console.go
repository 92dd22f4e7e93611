package console

import (
	"context"
	"crypto/rand"
	"embed"
	"log/slog"
	"net/http"
	"time"

	"github.com/howdah/howdah/internal/core"
	"github.com/howdah/howdah/internal/figures"
	"github.com/howdah/howdah/internal/observe"
	"github.com/howdah/howdah/internal/throttle"
	"github.com/howdah/howdah/session"
)

// Options say what the console shows, and to whom. The zero value of every field
// but DB and Figures is its default.
type Options struct {
	// DB is what is shown. Required.
	DB *core.DB

	// Figures are what pages show of the database. Required.
	Figures *figures.Figures

	// Slow, Removals and Prefixes are what the server observes of its own work. nil: it does
	// not, and the pages say so.
	Slow     *observe.SlowLog
	Removals *observe.Removals
	Prefixes *observe.Prefixes

	// Clients are the Redis clients of the server; nil: it has no listener for them.
	Clients RedisClients

	// Sessions are shown under sessions to those who have the SessionToken.
	// Default: the page says that there are none.
	Sessions *session.Manager

	// Token opens everything but sessions. Without a Token every visitor has
	// these rights: the server then listens on a loopback address only.
	Token string

	// ViewerToken opens the pages that show figures and masked keys. It shows no value
	// and changes nothing.
	ViewerToken string

	// SessionToken opens the page of sessions. Without it nobody can.
	SessionToken string

	// ReadOnly refuses every change, whatever the token.
	ReadOnly bool

	// NoScripts refuses EVAL and its relatives in the prompt.
	NoScripts bool

	// BasePath is the path, such as "/howdah", below which a proxy serves this
	// server. Cookies are bound to it.
	BasePath string

	// Mask hides keys that can be secrets from visitors with the ViewerToken.
	// Default: the patterns of observe.NewMask.
	Mask *observe.Mask

	// KnownHost says whether a request is addressed to a name of this server. Default:
	// every name is.
	KnownHost func(*http.Request) bool

	// Version is that of the program, at the foot of each page.
	Version string

	// Logger hears of changes, of values that were shown, of wrong tokens and of failures.
	// Default: none.
	Logger *slog.Logger
}

// Console is the handler of all pages. It expects paths below "/console/".
type Console struct {
	db       *core.DB
	figures  *figures.Figures
	slow     *observe.SlowLog
	removals *observe.Removals
	prefixes *observe.Prefixes
	clients  RedisClients
	sessions *session.Manager
	readOnly bool

	noScripts bool

	base    string
	mask    *observe.Mask
	known   func(*http.Request) bool
	version string
	log     *slog.Logger

	keys      []*key // one for each kind of token that there is
	open      bool   // there is no Token: everybody may do what it allows
	formKey   []byte
	failures  throttle.Failures
	tickets   tickets
	pages     pages
	mux       *http.ServeMux
	now       func() time.Time
	lookups   chan struct{} // a place for each statement on many entries
	crossSite *http.CrossOriginProtection
}

// Prefix is the path below which the console is served.
const Prefix = "/console/"

// maxLookups bounds the statements on many entries that run at a time for the console.
const maxLookups = 2

//go:embed templates/*.html
var templateFiles embed.FS

//go:embed assets/*
var assetFiles embed.FS

// New returns the console. It panics without a DB or Figures.
func New(o Options) *Console {
	if o.DB == nil || o.Figures == nil {
		panic("console: Options.DB or Options.Figures is nil")
	}
	c := &Console{
		db: o.DB, figures: o.Figures, slow: o.Slow, removals: o.Removals, prefixes: o.Prefixes, clients: o.Clients, sessions: o.Sessions, readOnly: o.ReadOnly, noScripts: o.NoScripts, base: o.BasePath, mask: o.Mask, known: o.KnownHost,
		version: o.Version, log: o.Logger, open: o.Token == "", mux: http.NewServeMux(), now: time.Now,
		failures: throttle.Failures{Pace: failurePace, Burst: failureBurst, Most: maxFailureDelay},
		lookups:  make(chan struct{}, maxLookups), crossSite: http.NewCrossOriginProtection(),
	}
	if c.log == nil {
		c.log = slog.New(slog.DiscardHandler)
	}
	if c.known == nil {
		c.known = func(*http.Request) bool { return true }
	}
	if c.mask == nil {
		c.mask, _ = observe.NewMask(nil) // without patterns of others it cannot fail
	}
	c.keys = newKeys(o)
	c.formKey = newFormKey(c.keys)
	c.tickets.used = make(map[string]time.Time)
	c.pages = parsePages()
	allowed := map[string][]string{}
	for _, route := range c.routes() {
		c.mux.Handle(route.pattern(), c.serve(route))
		allowed[route.path] = append(allowed[route.path], route.method)
	}
	for path, methods := range allowed {
		c.mux.Handle(Prefix+path, c.serve(route{method: http.MethodGet, right: anyone, page: notAllowed(methods)}))
	}
	c.mux.Handle(Prefix, c.serve(route{method: http.MethodGet, right: anyone, page: notFound}))
	return c
}

// ServeHTTP implements http.Handler.
func (c *Console) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	secure(w.Header())
	if r.URL.Path+"/" == Prefix {
		redirect(w, "console/")
		return
	}
	c.mux.ServeHTTP(w, r)
}

// lookup waits for a place among the statements on many entries.
func (c *Console) lookup(ctx context.Context) (release func(), err error) {
	select {
	case c.lookups <- struct{}{}:
		return func() { <-c.lookups }, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func random(n int) []byte {
	b := make([]byte, n)
	_, _ = rand.Read(b) // never fails
	return b
}
