package console

import (
	"fmt"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/howdah/howdah"
	"github.com/howdah/howdah/internal/engine"
	"github.com/howdah/howdah/internal/observe"
	"github.com/howdah/howdah/session"
)

func observed() engine.Observed { return engine.Observed{Removals: observe.NewRemovals(100)} }

// role is a kind of visitor, with what the specification lets them do.
type role struct {
	name   string
	tokens []string
	rights right
}

var roles = []role{
	{"nobody", nil, anyone},
	{"viewer", []string{viewerToken}, view},
	{"sessions", []string{sessionsToken}, persons},
	{"admin", []string{adminToken}, view | manage},
	{"all", []string{adminToken, sessionsToken}, view | manage | persons},
}

// changesOf are the routes that change something, written here a second time: the table of
// routes must not be able to open one of them by mistake.
var changesOf = map[string]right{
	"POST caches/{cache}/entry/delete":  manage,
	"POST caches/{cache}/entry/save":    manage,
	"POST caches/{cache}/entry/expiry":  manage,
	"POST caches/{cache}/settings":      manage,
	"POST caches/{cache}/flush":         manage,
	"POST caches/{cache}/drop":          manage,
	"POST caches/{cache}/delete-prefix": manage,
	"POST tags/invalidate":              manage,
	"POST slow/clear":                   manage,
	"POST clients/kill":                 manage,
	"POST sessions/revoke":              persons,
	"POST sessions/revoke-user":         persons,
}

// valuesOf are the routes that show values.
var valuesOf = []string{"POST caches/{cache}/entry/value", "POST caches/{cache}/entry/download"}

// openTo are the routes for everybody.
var openTo = []string{"GET assets/{file}", "GET login", "POST login", "POST logout", "POST theme"}

func TestRoutesAreWhatTheyShouldBe(t *testing.T) {
	t.Parallel()
	s := open(t, nil)
	found := map[string]right{}
	for _, rt := range s.console.routes() {
		name := rt.method + " " + rt.path
		switch {
		case rt.changes:
			found[name] = rt.right
			require.Equal(t, http.MethodPost, rt.method, name)
		case slices.Contains(valuesOf, name):
			require.Equal(t, manage, rt.right, name)
		case slices.Contains(openTo, name):
			require.Equal(t, anyone, rt.right, name)
		default:
			require.NotEqual(t, anyone, rt.right, "%s is open to everybody", name)
		}
	}
	for name, right := range changesOf {
		require.Equal(t, right, found[name], name)
	}
	require.Len(t, found, len(changesOf))
}

// TestEveryRouteMethodAndRole asks for each path by each method as each role, with and without the
// token of a form, and looks at what is left of the data.
func TestEveryRouteMethodAndRole(t *testing.T) {
	t.Parallel()
	s := open(t, nil)
	s.fill()
	start, err := s.sessions.Create(t.Context(), session.Start{User: "ada"})
	require.NoError(t, err)
	state := func() string {
		n, err := s.db.Cache("db0").Count(t.Context())
		require.NoError(t, err)
		configs, err := s.db.Caches(t.Context())
		require.NoError(t, err)
		live, err := s.sessions.Count(t.Context())
		require.NoError(t, err)
		return fmt.Sprint(n, configs, live)
	}
	before := state()
	fill := strings.NewReplacer("{cache}", "db0", "{file}", "app.css", "{$}", "")
	paths := map[string]map[string]route{}
	for _, rt := range s.console.routes() {
		if paths[rt.path] == nil {
			paths[rt.path] = map[string]route{}
		}
		paths[rt.path][rt.method] = rt
	}
	for _, who := range roles {
		b := s.browser(who.tokens...)
		form := b.formToken()
		for path, methods := range paths {
			for _, method := range []string{"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"} {
				rt, ok := methods[method]
				if method == "HEAD" {
					rt, ok = methods["GET"]
				}
				if path == "logout" || path == "login" && method == "POST" {
					continue // they change who this is; other tests have them
				}
				name := who.name + " " + method + " " + path
				target := fill.Replace(path)
				if strings.HasSuffix(path, "/entry") {
					target += "?key64=" + key64([]byte("plain"))
				}
				send := func(values url.Values) page {
					var body io.Reader
					if method != "GET" && method != "HEAD" {
						body = strings.NewReader(values.Encode())
					}
					return b.do(method, target, body)
				}
				got := send(url.Values{"form": {form}, "key64": {key64([]byte("absent"))}, "version": {"1"}, "id": {start.ID.String()[:8]}})
				switch {
				case !ok:
					got.want(t, http.StatusMethodNotAllowed)
					continue
				case who.rights.has(rt.right):
					require.NotContains(t, []int{http.StatusUnauthorized, http.StatusForbidden}, got.status, "%s: %s", name, got.body)
					require.Less(t, got.status, 500, "%s: %s", name, got.body)
				case who.rights == anyone && method == "POST":
					got.want(t, http.StatusUnauthorized)
				case who.rights == anyone:
					got.want(t, http.StatusSeeOther)
					require.Contains(t, got.header.Get("Location"), "login")
				default:
					got.want(t, http.StatusForbidden)
				}
				if method == "POST" { // without proof that a page of the console sent it
					send(url.Values{}).want(t, http.StatusForbidden)
					send(url.Values{"form": {"wrong"}}).want(t, http.StatusForbidden)
				}
			}
		}
	}
	require.Equal(t, before, state())
}

// A viewer with a hand-made form changes nothing and sees no value, on any route.
func TestViewerChangesNothing(t *testing.T) {
	t.Parallel()
	s := open(t, nil)
	s.fill()
	b := s.browser(viewerToken)
	version := s.version("plain")
	forms := map[string]url.Values{
		"caches/db0/entry/delete":  {"key64": {key64([]byte("plain"))}, "version": {version}},
		"caches/db0/entry/value":   {"key64": {key64([]byte("plain"))}},
		"caches/db0/settings":      {"step": {"apply"}, "max_bytes": {"1000000"}, "confirm": {""}},
		"caches/db0/flush":         {"confirm": {"db0"}, "count": {"32"}},
		"caches/db0/drop":          {"confirm": {"db0"}, "count": {"32"}},
		"caches/db0/delete-prefix": {"prefix": {"user:"}, "confirm": {"user:"}, "count": {"30"}},
		"sessions/revoke-user":     {"user": {"ada"}, "confirm": {"ada"}, "count": {"0"}},
	}
	for path, form := range forms {
		b.post(path, form).want(t, http.StatusForbidden).lacks(t, "plain value")
	}
	n, err := s.db.Cache("db0").Count(t.Context())
	require.NoError(t, err)
	require.EqualValues(t, 32, n)
	require.Equal(t, version, s.version("plain"))
}

func (s *site) version(key string) string {
	s.t.Helper()
	b := s.browser(adminToken)
	got := b.get("caches/db0/entry?key64="+key64([]byte(key))).want(s.t, http.StatusOK)
	_, rest, ok := strings.Cut(got.body, `name="version" value="`)
	require.True(s.t, ok, got.body)
	version, _, _ := strings.Cut(rest, `"`)
	return version
}

// A console that is read-only changes nothing, whatever the token; it still shows values.
func TestReadOnly(t *testing.T) {
	t.Parallel()
	s := open(t, func(o *Options) { o.ReadOnly = true })
	s.fill()
	b := s.browser(adminToken, sessionsToken)
	for name := range changesOf {
		path := strings.Replace(strings.TrimPrefix(name, "POST "), "{cache}", "db0", 1)
		b.post(path, url.Values{"confirm": {"db0"}, "count": {"32"}}).want(t, http.StatusForbidden).has(t, "read-only")
	}
	b.get("caches/db0/settings").want(t, http.StatusOK).lacks(t, "Show what will run", "Empty the cache")
	b.post("caches/db0/entry/value", url.Values{"key64": {key64([]byte("plain"))}}).want(t, http.StatusOK).has(t, "plain value").lacks(t, "Delete entry")
}

// Without a token the visitors of a loopback address may manage, but sessions stay closed.
func TestOpenConsole(t *testing.T) {
	t.Parallel()
	s := open(t, func(o *Options) { o.Token, o.ViewerToken = "", "" })
	b := s.browser()
	b.get("").want(t, http.StatusOK).has(t, "no token needed")
	b.get("caches/db0/flush").want(t, http.StatusOK)
	b.get("sessions").want(t, http.StatusForbidden)
	b.post("caches/db0/flush", url.Values{"confirm": {"db0"}, "count": {"0"}}).want(t, http.StatusSeeOther)
}

func TestHostThatIsNotServed(t *testing.T) {
	t.Parallel()
	s := open(t, func(o *Options) {
		o.KnownHost = func(r *http.Request) bool { return !strings.HasPrefix(r.Host, "evil") }
	})
	b := s.browser()
	b.get("", "Host: evil.example").want(t, http.StatusForbidden).has(t, "--allowed-hosts")
	b.get("login", "Host: evil.example").want(t, http.StatusForbidden)
}

func TestLogin(t *testing.T) {
	t.Parallel()
	s := open(t, nil)
	b := s.browser()
	first := b.get("caches/db0?x=1").want(t, http.StatusSeeOther)
	require.Equal(t, "./../login?next=caches%2fdb0%3fx%3d1", strings.ToLower(first.header.Get("Location")))
	for _, wrong := range []string{"", " ", "x", adminToken + "x", adminToken[1:]} {
		b.post("login", url.Values{"token": {wrong}}).want(t, http.StatusUnauthorized).has(t, "opens nothing")
	}
	got := b.post("login", url.Values{"token": {" " + adminToken + "\n"}, "next": {"caches/db0?x=1"}}).want(t, http.StatusSeeOther)
	require.Equal(t, "./caches/db0?x=1&done=loggedin", got.header.Get("Location"))
	cookie := got.header.Get("Set-Cookie")
	require.Contains(t, cookie, "HttpOnly; SameSite=Lax")
	require.Contains(t, cookie, "Path=/console/")
	require.NotContains(t, cookie, adminToken)
	b.get("caches/db0").want(t, http.StatusOK).has(t, "admin")
	b.post("logout", nil).want(t, http.StatusSeeOther)
	b.get("caches/db0").want(t, http.StatusSeeOther)
	require.NotContains(t, s.log.String(), adminToken)
	require.Contains(t, s.log.String(), "wrong token")
}

// What a form or link names as the next page never leads to another site.
func TestNextStaysHere(t *testing.T) {
	t.Parallel()
	for _, next := range []string{
		"//evil.example", "/etc", "https://evil.example", "javascript:alert(1)", `\\evil.example`, "..//evil.example", "../x", "a/../../b",
		".", "a\r\nSet-Cookie: x=y", "a//b",
	} {
		require.Empty(t, safePath(next), next)
	}
	for _, next := range []string{"", "caches/db0", "caches/db0/entries?prefix=user", "doctor"} {
		require.Equal(t, next, safePath(next))
	}
}

func TestCookies(t *testing.T) {
	t.Parallel()
	s := open(t, nil)
	b := s.browser()
	host := strings.TrimPrefix(strings.TrimSuffix(s.url, Prefix), "http://")
	got := b.post("login", url.Values{"token": {viewerToken}}, "Origin: https://"+host, "Sec-Fetch-Site: same-origin").want(t, http.StatusSeeOther)
	cookie := got.header.Get("Set-Cookie")
	require.True(t, strings.HasPrefix(cookie, "__Host-howdah-viewer="), cookie)
	require.Contains(t, cookie, "Path=/;")
	require.Contains(t, cookie, "Secure")

	below := open(t, func(o *Options) { o.BasePath = "/howdah" }).browser()
	form := formField.FindStringSubmatch(below.get("login").body)[1]
	require.NotEmpty(t, form)
	cookie = below.get("login").header.Get("Set-Cookie")
	require.Contains(t, cookie, "Path=/howdah/console/;")
}

// A login lasts twelve hours, is taken by every server with the token, and ends with it.
func TestLifeOfALogin(t *testing.T) {
	t.Parallel()
	k := newKey("admin", adminToken, view|manage)
	now := time.Date(2026, 11, 23, 8, 0, 0, 0, time.UTC)
	c := &Console{now: func() time.Time { return now }}
	login := c.newLogin(k)
	other := newKey("admin", adminToken, view|manage)
	require.True(t, c.valid(other, login))
	now = now.Add(loginLifetime - time.Second)
	require.True(t, c.valid(k, login))
	now = now.Add(time.Second)
	require.False(t, c.valid(k, login))
	now = now.Add(-loginLifetime)
	require.False(t, c.valid(newKey("admin", "another token", view), login), "a new token ends all logins")
	require.False(t, c.valid(newKey("viewer", adminToken, view), login), "of another kind")
	for _, wrong := range []string{"", ".", "1", login + "x", "x" + login, strings.Replace(login, ".", ".A", 1)} {
		require.False(t, c.valid(k, wrong), wrong)
	}
	now = now.Add(-time.Hour)
	require.False(t, c.valid(k, login), "from the future")
}

func TestTicket(t *testing.T) {
	t.Parallel()
	s := open(t, nil)
	link := Ticket(viewerToken, time.Now())
	require.NotContains(t, link, viewerToken)
	_, ticket, ok := strings.Cut(link, "console/login?ticket=")
	require.True(t, ok, link)
	b := s.browser()
	// Whoever reads ahead does not use it up.
	b.get("login?ticket="+ticket).want(t, http.StatusOK).has(t, "Log in with this link")
	b.post("login", url.Values{"ticket": {ticket}}).want(t, http.StatusSeeOther)
	b.get("").want(t, http.StatusOK).has(t, "viewer")
	again := s.browser()
	again.post("login", url.Values{"ticket": {ticket}}).want(t, http.StatusUnauthorized)
	for _, wrong := range []string{
		strings.TrimPrefix(Ticket("another token", time.Now()), "console/login?ticket="),
		strings.TrimPrefix(Ticket(viewerToken, time.Now().Add(-2*time.Minute)), "console/login?ticket="),
		strings.TrimPrefix(Ticket(viewerToken, time.Now().Add(time.Hour)), "console/login?ticket="),
		"1.2.3", "..", ".", "x",
	} {
		again.post("login", url.Values{"ticket": {wrong}}).want(t, http.StatusUnauthorized)
	}
}

// Viewers learn no masked part of a key by guesses: a right one is answered as a wrong one is, on
// every page that takes keys or prefixes.
func TestGuesses(t *testing.T) {
	t.Parallel()
	s := open(t, nil)
	s.fill()
	const laravel = "b3C1f0aa77aBcDeFgHiJkLmNoPqRsTuVwXyZ0123"
	c := (*howdah.DB)(s.db).Cache("db0")
	for _, key := range []string{"sess:b3c1:csrf", "SESS:b3", "shop:" + laravel} {
		require.NoError(t, c.Set(t.Context(), key, []byte("v"), time.Hour))
	}
	console := s.db.Cache("db0").As(&observe.Client{Door: observe.DoorConsole}, "")
	_, err := console.DeletePrefix(t.Context(), []byte("token:b3"))
	require.NoError(t, err)
	viewer, admin := s.browser(viewerToken), s.browser(adminToken)
	same := func(path func(guess string) string, right, wrong string) {
		t.Helper()
		clean := func(p page, guess string) string {
			return formField.ReplaceAllString(strings.NewReplacer(url.QueryEscape(guess), "", key64([]byte(guess)), "", guess, "").Replace(p.body), "")
		}
		r, w := viewer.get(path(right)), viewer.get(path(wrong))
		require.Equal(t, w.status, r.status, path(right))
		require.Equal(t, clean(w, wrong), clean(r, right), path(right))
	}
	entries := func(guess string) string { return "caches/db0/entries?prefix=" + url.QueryEscape(guess) }
	entries64 := func(guess string) string { return "caches/db0/entries?prefix64=" + key64([]byte(guess)) }
	below := func(guess string) string { return "caches/db0?below=" + key64([]byte(guess)) }
	entry := func(guess string) string { return "caches/db0/entry?key64=" + key64([]byte(guess)) }
	removals := func(guess string) string { return "removals?key=" + url.QueryEscape(guess) }
	for _, path := range []func(string) string{entries, entries64, below, entry, removals} {
		same(path, "sess:b", "sess:c")
		same(path, "sess:b3c1:", "sess:b3c2:")
		same(path, "SESS:b", "SESS:c")
		same(path, "sess:b3c1f0aa77", "sess:b3c1f0aa78")
		same(path, "token:b3", "token:b4") // entries whose keys began so were removed
		same(path, "shop:"+laravel, "shop:"+strings.ToUpper(laravel[:1])+laravel[1:])
	}
	for _, path := range []func(string) string{entries, entries64, below} {
		same(path, "shop:b3C1", "shop:b3C2") // nothing but its length tells that this is a secret
	}
	const refused = "your token shows their beginnings only"
	for _, path := range []func(string) string{entries, entries64, removals} {
		viewer.get(path("sess:b")).want(t, http.StatusForbidden).has(t, refused)
		viewer.get(path("sess:")).want(t, http.StatusOK)
		admin.get(path("sess:b")).want(t, http.StatusOK)
	}
	viewer.get(below("sess:b3c1:")).want(t, http.StatusForbidden).has(t, refused)
	viewer.get(entries("sess:")).has(t, "sess:***").lacks(t, "b3c1")
	viewer.get(entries("user:1")).has(t, "user:1:profile", "user:17:profile")
	admin.get(entries("shop:b3C1")).has(t, laravel)
	admin.get(removals("token:b3c1")).has(t, "token:b3")
}

// Nothing about masked keys follows their order: neither that of the lists nor how many look alike.
func TestMaskedKeysHaveNoOrder(t *testing.T) {
	t.Parallel()
	prefixes := observe.NewPrefixes(1)
	s := open(t, func(o *Options) { o.Prefixes = prefixes })
	c := (*howdah.DB)(s.db).Cache("db0")
	for _, id := range []string{"m", "z", "a", "q", "b"} { // in this order are their sizes, and their versions
		require.NoError(t, c.Set(t.Context(), "sess:"+id, []byte(strings.Repeat("x", 1+strings.Index("mzaqb", id))), time.Hour))
		require.NoError(t, c.Set(t.Context(), "session:"+id+":csrf", []byte("v"), time.Hour))
		prefixes.Cache("db0").Note([]byte("session_"+id+":x"), true)
	}
	s.db.Removals().Whole(observe.Caller{}, "db0", observe.Invalidated, 1, "user, sess:m", nil)
	sizes := regexp.MustCompile(`sess:\*\*\*(?s:.*?)data-label="Size">([^<]*)<`)
	read := func(p page) (found []string) {
		for _, match := range sizes.FindAllStringSubmatch(p.body, -1) {
			found = append(found, match[1])
		}
		return found
	}
	viewer := s.browser(viewerToken)
	require.Equal(t, []string{"1 B", "2 B", "3 B", "4 B", "5 B"}, read(viewer.get("caches/db0/entries?prefix=sess:")))
	var figures page
	require.Eventually(t, func() bool {
		figures = viewer.get("caches/db0?below=" + key64([]byte("session:")))
		return strings.Contains(figures.body, "All 10 entries were read")
	}, time.Minute, 10*time.Millisecond)
	groups, reads, ok := strings.Cut(figures.body, "Reads by prefix")
	require.True(t, ok)
	_, groups, ok = strings.Cut(groups, "Entries and bytes by prefix")
	require.True(t, ok)
	require.Equal(t, 1, strings.Count(groups, "session:***"), groups)
	require.Equal(t, 1, strings.Count(reads, "session_***"), reads)
	require.Contains(t, reads, "≈ 5<")
	viewer.get("removals").has(t, "user, sess:***").lacks(t, "sess:m")
	s.browser(adminToken).get("removals").has(t, "user, sess:m")
}

// What somebody did to the sessions of users is shown to those who may see sessions, and is in
// the log.
func TestPersonsAreNotShown(t *testing.T) {
	t.Parallel()
	s := open(t, nil)
	one, err := s.sessions.Create(t.Context(), session.Start{User: "ada"})
	require.NoError(t, err)
	_, err = s.sessions.Create(t.Context(), session.Start{User: "grace"})
	require.NoError(t, err)
	b := s.browser(sessionsToken)
	b.post("sessions/revoke", url.Values{"id": {one.ID.String()}}).want(t, http.StatusSeeOther)
	b.post("sessions/revoke-user", url.Values{"user": {"grace"}, "confirm": {"grace"}, "count": {"1"}}).want(t, http.StatusSeeOther)
	named := []string{one.ID.String(), "grace"}
	s.browser(viewerToken).get("removals").want(t, http.StatusOK).lacks(t, append(named, "revoked")...)
	s.browser(adminToken).get("removals").want(t, http.StatusOK).lacks(t, append(named, "revoked")...)
	s.browser(viewerToken, sessionsToken).get("removals").want(t, http.StatusOK).has(t, named...)
	for _, name := range named {
		require.Contains(t, s.log.String(), name)
	}
}
