package console

import (
	"net/http"
	"strings"
)

// route is one method of one path.
type route struct {
	method  string
	path    string // below Prefix, as http.ServeMux writes patterns
	right   right
	changes bool // refused by a console that is read-only
	page    func(*Console, *request) error
}

func (rt route) pattern() string { return rt.method + " " + Prefix + rt.path }

// routes are all of them. What a visitor may do stands here and nowhere else, but for the lines of the
// prompt: withoutRight says which of them need more.
func (c *Console) routes() []route {
	const get, post = http.MethodGet, http.MethodPost
	return []route{
		{get, "assets/{file}", anyone, false, (*Console).asset},
		{get, "login", anyone, false, (*Console).loginPage},
		{post, "login", anyone, false, (*Console).login},
		{post, "logout", anyone, false, (*Console).logout},
		{post, "theme", anyone, false, (*Console).setTheme},

		{get, "{$}", view, false, (*Console).overview},
		{get, "history", view, false, (*Console).history},
		{get, "caches/{cache}", view, false, (*Console).cache},
		{get, "caches/{cache}/entries", view, false, (*Console).entries},
		{get, "caches/{cache}/entry", view, false, (*Console).entry},
		{post, "caches/{cache}/entry/value", manage, false, (*Console).entryValue},
		{post, "caches/{cache}/entry/download", manage, false, (*Console).entryDownload},
		{post, "caches/{cache}/entry/delete", manage, true, (*Console).entryDelete},
		{post, "caches/{cache}/entry/save", manage, true, (*Console).entrySave},
		{post, "caches/{cache}/entry/expiry", manage, true, (*Console).entryExpiry},
		{get, "caches/{cache}/prompt", view, false, (*Console).promptPage},
		{post, "caches/{cache}/prompt", view, false, (*Console).runLine},
		{get, "caches/{cache}/settings", view, false, (*Console).settings},
		{post, "caches/{cache}/settings", manage, true, (*Console).changeSettings},
		{get, "caches/{cache}/flush", manage, false, (*Console).flushPage},
		{post, "caches/{cache}/flush", manage, true, (*Console).flush},
		{get, "caches/{cache}/drop", manage, false, (*Console).dropPage},
		{post, "caches/{cache}/drop", manage, true, (*Console).drop},
		{get, "caches/{cache}/delete-prefix", manage, false, (*Console).deletePrefixPage},
		{post, "caches/{cache}/delete-prefix", manage, true, (*Console).deletePrefix},

		{get, "doctor", view, false, (*Console).doctorPage},
		{post, "doctor", view, false, (*Console).examine},
		{get, "cost", view, false, (*Console).cost},
		{get, "clients", view, false, (*Console).clientsPage},
		{post, "clients/kill", manage, true, (*Console).killClient},
		{get, "slow", view, false, (*Console).slowPage},
		{post, "slow/clear", manage, true, (*Console).clearSlow},
		{get, "removals", view, false, (*Console).removalsPage},
		{get, "near", view, false, (*Console).nearPage},
		{get, "watches", view, false, (*Console).watchesPage},
		{get, "scripts", view, false, (*Console).scriptsPage},
		{get, "tags/invalidate", manage, false, (*Console).invalidatePage},
		{post, "tags/invalidate", manage, true, (*Console).invalidate},
		{get, "servers", view, false, (*Console).serversPage},

		{get, "sessions", persons, false, (*Console).sessionsPage},
		{post, "sessions/revoke", persons, true, (*Console).revokeSession},
		{get, "sessions/revoke-user", persons, false, (*Console).revokeUserPage},
		{post, "sessions/revoke-user", persons, true, (*Console).revokeUser},
	}
}

// serve is the way of every request to its page.
func (c *Console) serve(rt route) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, hr *http.Request) {
		r := &request{console: c, w: w, Request: hr, visitor: c.visitor(hr)}
		r.form = c.formToken(w, hr) // pages that refuse something have forms too
		if err := c.admit(rt, r); err != nil {
			r.fail(err)
			return
		}
		if err := rt.page(c, r); err != nil {
			r.fail(err)
		}
	})
}

// admit refuses what the route does not allow. A change must come from a form of the
// console before anything else is looked at.
func (c *Console) admit(rt route, r *request) error {
	if !c.known(r.Request) {
		return &refusal{http.StatusForbidden, "This name is not served", "The request is addressed to a host that this server does not serve. Use localhost or the listener's address, or let --allowed-hosts name the host."}
	}
	if rt.method == http.MethodPost && !c.ownForm(r.w, r.Request) {
		return &refusal{http.StatusForbidden, "The form is not from this console", "Nothing was changed. The form was written for another browser, or too long ago, or a page of another site sent it. Go back, load the page again, and repeat what you did."}
	}
	switch {
	case !r.visitor.rights.has(rt.right) && r.visitor.rights == 0:
		return errLogin
	case !r.visitor.rights.has(rt.right):
		return &refusal{http.StatusForbidden, "You may not do this", "You are logged in as " + r.visitor.role + ". This page needs " + rt.right.needs() + "."}
	case rt.changes && c.readOnly:
		return &refusal{http.StatusForbidden, "This console is read-only", "The server runs with --console-read-only: no token allows a change here."}
	}
	return nil
}

// needs names the token that gives a right.
func (have right) needs() string {
	switch {
	case have.has(manage):
		return "the server's token (--token-file)"
	case have.has(persons):
		return "the token of sessions (--session-token-file)"
	}
	return "the token of viewers (--console-viewer-token-file) or the server's token"
}

func notFound(_ *Console, r *request) error {
	return &refusal{http.StatusNotFound, "No such page", "The console has no page at this address. It may have moved, or the cache may have been dropped."}
}

// notAllowed answers a method that a path does not have.
func notAllowed(methods []string) func(*Console, *request) error {
	allow := strings.Join(methods, ", ")
	return func(_ *Console, r *request) error {
		r.w.Header().Set("Allow", allow)
		return &refusal{http.StatusMethodNotAllowed, "The method is not allowed here", "Use " + allow + " here."}
	}
}

// up is the relative path from a page to the root of the console.
func up(r *http.Request) string {
	below := strings.TrimPrefix(r.URL.EscapedPath(), Prefix)
	return "./" + strings.Repeat("../", strings.Count(below, "/"))
}
