// Package httpapi is Howdah's HTTP interface: routes to the library. It knows
// no listeners; what it serves is documented in docs/http.md.
package httpapi

import (
	"context"
	"crypto/sha256"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/howdah/howdah/internal/core"
	"github.com/howdah/howdah/internal/figures"
	"github.com/howdah/howdah/internal/verb"
	"github.com/howdah/howdah/session"
)

// defaultCache is the cache of a request that names none.
const defaultCache = "db0"

// Bounds of the requests that name many keys. Answers are bounded by the same
// number of bytes as requests.
const (
	maxManyKeys      = 10_000
	defaultManyBytes = 64 << 20
)

// Options tune the handler. The zero value of every field but DB is its default.
type Options struct {
	// DB is what is served. Required.
	DB *core.DB

	// Token, if given, must come with every request as a bearer token, but for
	// those on sessions. Without it, only requests for a known host are served: see AllowedHosts.
	Token string

	// AllowedHosts are host names, without port, that requests may be
	// addressed to besides localhost, loopback addresses and the address that
	// the connection came in on. They keep a web page that has its own name
	// point to this machine (DNS rebinding) from reading the cache. With a
	// Token they are not asked for, unless some are given.
	AllowedHosts []string

	// Sessions, if given, are served under /v1/sessions.
	Sessions *session.Manager

	// SessionToken must come as a bearer token with requests that create, list
	// or revoke sessions. Without it these are refused; requests of a session
	// itself, which carry its own token, are served. It is not to be that of
	// the caches: whoever has it can be any user.
	SessionToken string

	// MaxValueBytes bounds a value. Default verb.DefaultMaxValueBytes; not
	// more than the DB's own bound.
	MaxValueBytes int

	// MaxManyBytes bounds the body of a request on many keys, and the keys and
	// values of its answer. Default 64 MiB.
	MaxManyBytes int

	// Redis are the Redis clients of the same server, which are served under /v1/clients.
	// Default: there are none.
	Redis RedisClients
	// Figures, if given, are served under /v1/stats, /v1/history, /v1/doctor, /v1/cost and
	// /v1/servers, and for each cache. They are those of DB; New does not close them.
	Figures *figures.Figures

	// Near gives a cache that is created a change log, unless the request says
	// otherwise.
	Near bool

	// Logger hears of answers with a status of 500 or more, and of privileges
	// that the database role should have. Default: nobody.
	Logger *slog.Logger
}

// Handler serves all routes.
type Handler interface {
	http.Handler
	// Guard serves something else to those who may use the caches, as the
	// routes are: by the token, or to known hosts.
	Guard(next http.Handler) http.Handler
	// KnownHost says whether the request is addressed to a host that is served, by
	// Options.AllowedHosts. Another handler of the same listener asks it.
	KnownHost(r *http.Request) bool
	// AuthFailures is how many requests were refused because they did not show the
	// Token, or the SessionToken, that they need.
	AuthFailures() uint64
	// EndStreams ends the answers that have no end of their own, as the server stops. Later
	// ones end at once.
	EndStreams()
}

// api serves the routes.
type api struct {
	db            *core.DB
	token         *[sha256.Size]byte // nil: none is asked for
	sessions      *session.Manager   // nil: none are served
	sessionToken  *[sha256.Size]byte // nil: nobody has it
	allowedHosts  []string
	maxValueBytes int64
	maxManyBytes  int64
	near          bool
	redis         RedisClients     // nil: there are none
	figures       *figures.Figures // nil: none are served
	log           *slog.Logger
	mux           *http.ServeMux
	entries       map[string]http.Handler // what cutEntry finds, by segment
	unauthorized  atomic.Uint64           // see AuthFailures
	streams       context.Context         // ends with EndStreams
	endStreams    context.CancelFunc
}

// New returns the handler of all routes. It panics without a DB.
func New(o Options) Handler {
	if o.DB == nil {
		panic("httpapi: Options.DB is nil")
	}
	a := &api{
		db:            o.DB,
		sessions:      o.Sessions,
		allowedHosts:  slices.Clone(o.AllowedHosts),
		maxValueBytes: verb.DefaultMaxValueBytes,
		maxManyBytes:  defaultManyBytes,
		near:          o.Near,
		redis:         o.Redis,
		figures:       o.Figures,
		log:           slog.New(slog.DiscardHandler),
		mux:           http.NewServeMux(),
	}
	a.streams, a.endStreams = context.WithCancel(context.Background())
	a.token, a.sessionToken = digest(o.Token), digest(o.SessionToken)
	if o.MaxValueBytes > 0 {
		a.maxValueBytes = int64(o.MaxValueBytes)
	}
	if o.MaxManyBytes > 0 {
		a.maxManyBytes = int64(o.MaxManyBytes)
	}
	if o.Logger != nil {
		a.log = o.Logger
	}
	a.mux.Handle("/", a.methods(nil)) // no such path
	for path, methods := range a.routes() {
		a.mux.Handle(path, a.methods(methods))
	}
	if a.sessions != nil {
		for path, methods := range a.sessionRoutes() {
			a.mux.Handle(path, a.methods(methods))
		}
	}
	if a.figures != nil {
		for path, methods := range a.figureRoutes() {
			a.mux.Handle(path, a.methods(methods))
		}
	}
	a.entries = map[string]http.Handler{"entries": a.methods(a.entryMethods())}
	for segment, methods := range a.collectionMethods() {
		a.entries[segment] = a.methods(methods)
	}
	return a
}

// EndStreams implements Handler.
func (a *api) EndStreams() { a.endStreams() }

// AuthFailures implements Handler.
func (a *api) AuthFailures() uint64 { return a.unauthorized.Load() }

// digest is what is kept of a token; nil if there is none.
func digest(token string) *[sha256.Size]byte {
	if token == "" {
		return nil
	}
	sum := sha256.Sum256([]byte(token))
	return &sum
}

// handler serves one method of one path. An error becomes its problem.
type handler func(w http.ResponseWriter, r *http.Request) error

// routes are all paths but those of sessions, and of entries, which cutEntry
// finds.
func (a *api) routes() map[string]map[string]handler {
	return map[string]map[string]handler{
		"/{$}": {http.MethodGet: a.welcome, http.MethodHead: a.welcome},

		"/get": {http.MethodGet: a.simpleGet, http.MethodHead: a.simpleGet},
		"/set": {http.MethodPost: a.simpleSet, http.MethodPut: a.simpleSet},

		"/v1/publish": {http.MethodPost: a.publish},
		StreamRoute:   {http.MethodGet: a.subscribe},

		"/v1/caches": {http.MethodGet: a.listCaches, http.MethodPost: a.createCache},
		"/v1/caches/{cache}": {
			http.MethodGet: a.getCache, http.MethodPatch: a.alterCache, http.MethodDelete: a.dropCache,
		},
		"/v1/caches/{cache}/entries":     {http.MethodGet: a.listEntries},
		"/v1/caches/{cache}/get-many":    {http.MethodPost: a.getMany},
		"/v1/caches/{cache}/set-many":    {http.MethodPost: a.setMany},
		"/v1/caches/{cache}/delete-many": {http.MethodPost: a.deleteMany},
		"/v1/caches/{cache}/flush":       {http.MethodPost: a.flush},
		"/v1/caches/{cache}/tags/{tag}":  {http.MethodDelete: a.invalidateTag},
		"/v1/caches/{cache}/prefixes":    {http.MethodGet: a.listPrefixes},

		"/v1/slow":             {http.MethodGet: a.listSlow, http.MethodDelete: a.forgetSlow},
		"/v1/removals":         {http.MethodGet: a.listRemovals},
		"/v1/clients":          {http.MethodGet: a.listClients},
		"/v1/clients/{id}":     {http.MethodDelete: a.killClient},
		"/v1/commands/unknown": {http.MethodGet: a.listUnknown},
	}
}

// Parts of http.Request.Pattern, which is the route of a request when it has been
// served: that of the stream of messages, and what the routes of a key end with.
const (
	StreamRoute = "/v1/subscribe"
	KeySuffix   = "/{key}"
)

// entryMethods are the methods of one entry. POST names an action after the key.
func (a *api) entryMethods() map[string]handler {
	return map[string]handler{
		http.MethodGet: a.getEntry, http.MethodHead: a.getEntry, http.MethodPut: a.putEntry,
		http.MethodDelete: a.deleteEntry, http.MethodPost: a.entryAction,
	}
}

// ServeHTTP implements http.Handler.
func (a *api) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if !a.admitted(w, r) {
		return
	}
	// ServeMux would clean "//" and ".." out of a key and redirect to another,
	// so the key is taken off the path before it.
	if cache, segment, key, ok := cutEntry(r.URL.EscapedPath()); ok {
		if entry := a.entries[segment]; entry != nil {
			r.SetPathValue("cache", cache)
			r.SetPathValue("key", key)
			r.Pattern = "/v1/caches/{cache}/" + segment + KeySuffix
			entry.ServeHTTP(w, r)
			return
		}
	}
	if r.URL.Path == "*" { // of the server, not of a path; ServeMux refuses it in its own way
		a.methods(nil).ServeHTTP(w, r)
		return
	}
	a.mux.ServeHTTP(w, r)
}

// methods serves a path by its methods.
func (a *api) methods(methods map[string]handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		serve, ok := methods[r.Method]
		switch {
		case ok:
			if err := serve(w, r); err != nil {
				a.fail(w, r, err)
			}
		case methods == nil:
			a.fail(w, r, noRoute(r))
		default:
			allowed := make([]string, 0, len(methods))
			for method := range methods {
				allowed = append(allowed, method)
			}
			slices.Sort(allowed)
			w.Header().Set("Allow", strings.Join(allowed, ", "))
			a.fail(w, r, problemf(methodNotAllowed, "Use %s here.", strings.Join(allowed, ", ")))
		}
	})
}

func noRoute(r *http.Request) error {
	return problemf(notFound, "No route %.100q. The routes are in docs/http.md; an entry is /v1/caches/{cache}/entries/{key}.", r.URL.Path)
}

// cache returns the cache that the path names.
func (a *api) cache(r *http.Request) *core.Cache { return a.cacheNamed(r, r.PathValue("cache")) }

// cacheNamed returns a cache, whose calls are those of who sends the request.
func (a *api) cacheNamed(r *http.Request, name string) *core.Cache {
	return a.db.Cache(name).As(clientOf(r), "")
}
