package console

import (
	"bytes"
	"context"
	"errors"
	"html/template"
	"io/fs"
	"net/http"
	"path"
	"strings"
	"time"

	"github.com/howdah/howdah/internal/core"
	"github.com/howdah/howdah/internal/httpapi"
	"github.com/howdah/howdah/internal/observe"
)

// request is one request on its way through the console.
type request struct {
	*http.Request
	console *Console
	w       http.ResponseWriter
	visitor visitor
	form    string // the token for the forms of the page
}

// frame is what the layout shows around each page.
type frame struct {
	Title   string
	Section string // of the navigation
	Root    string // relative path to the root of the console
	Role    string
	Manage  bool // the visitor may manage, and the console is not read-only
	Values  bool // the visitor may see values
	Persons bool
	Open    bool // nobody has to log in
	Locked  bool // the console is read-only
	Form    string
	Theme   string
	Version string
	Notice  string // what the last change did
	Links   []link
	Live    bool // the script may ask for the page again
	Every   int  // seconds; the script asks no more often. 0: as often as the visitor wants
	Waiting bool // figures of the page are being read: it is asked for again in a moment
	Page    any  // what the page itself shows

	server string // the address by which the browser knows it
}

// Curl is a command line that asks a route of the HTTP interface for what a page shows.
func (f frame) Curl(path ...string) string {
	token := ""
	if !f.Open {
		token = `-H "Authorization: Bearer $TOKEN" `
	}
	return "curl " + token + "'" + f.server + strings.Join(path, "") + "'"
}

// pages are the templates by name. Each has the layout and its own "main".
type pages map[string]*template.Template

func parsePages() pages {
	layout := template.Must(template.New("layout.html").Funcs(formats).ParseFS(templateFiles, "templates/layout.html", "templates/parts.html"))
	names, err := fs.Glob(templateFiles, "templates/*.html")
	if err != nil {
		panic(err) // of a constant pattern
	}
	parsed := pages{}
	for _, name := range names {
		base := path.Base(name)
		if base == "layout.html" || base == "parts.html" {
			continue
		}
		parsed[base] = template.Must(template.Must(layout.Clone()).ParseFS(templateFiles, name))
	}
	return parsed
}

// show writes a page. Errors of a template come before its first byte.
func (r *request) show(status int, name string, f frame) error {
	r.complete(&f)
	var page bytes.Buffer
	if err := r.console.pages[name].Execute(&page, f); err != nil {
		return err
	}
	r.w.Header().Set("Content-Type", "text/html; charset=utf-8")
	r.w.WriteHeader(status)
	_, _ = r.w.Write(page.Bytes())
	return nil
}

// complete adds what every page has.
func (r *request) complete(f *frame) {
	c := r.console
	f.Root, f.Role, f.Form, f.Version = up(r.Request), r.visitor.role, r.form, c.version
	f.Values = r.visitor.rights.has(manage)
	f.Manage = f.Values && !c.readOnly
	f.Persons = r.visitor.rights.has(persons)
	f.Open, f.Locked = c.open, c.readOnly
	f.Theme, f.Links, f.server = themeOf(r.Request), r.links(), r.server()
	if f.Notice == "" {
		f.Notice = notices[r.URL.Query().Get("done")]
	}
}

// server is the address of this server, for the command lines that pages show.
func (r *request) server() string {
	scheme := "http://"
	if r.TLS != nil {
		scheme = "https://"
	}
	return scheme + strings.Map(inHost, r.Host) + r.console.base
}

// inHost leaves out of a host what does not stand in one, and could end a quoted word of a
// shell.
func inHost(c rune) rune {
	if c == '.' || c == '-' || c == ':' || c == '[' || c == ']' || '0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' {
		return c
	}
	return -1
}

// link is an item of the navigation.
type link struct{ Path, Name string }

// links are the pages that the visitor may open.
func (r *request) links() (links []link) {
	for _, l := range []struct {
		link
		right right
	}{
		{link{"clients", "Clients"}, view}, {link{"slow", "Slow calls"}, view}, {link{"removals", "Removals"}, view},
		{link{"doctor", "Doctor"}, view}, {link{"cost", "Cost"}, view}, {link{"near", "Memory"}, view},
		{link{"watches", "Watches"}, view}, {link{"scripts", "Scripts"}, view}, {link{"servers", "Servers"}, view},
		{link{"sessions", "Sessions"}, persons},
	} {
		if r.visitor.rights.has(l.right) {
			links = append(links, l.link)
		}
	}
	return links
}

// notices are what pages say after a change, by the parameter done. The text is ours alone:
// a link cannot put words into a page.
var notices = map[string]string{
	"deleted":  "The entry was deleted.",
	"saved":    "The value was stored. Its expiry stays.",
	"expiry":   "The expiry was changed.",
	"prefix":   "The entries were deleted.",
	"tag":      "The entries with the tag were invalidated.",
	"flushed":  "The cache was emptied.",
	"dropped":  "The cache was dropped.",
	"changed":  "The settings were changed.",
	"revoked":  "The session was revoked.",
	"user":     "All sessions of the user were revoked.",
	"loggedin": "You are logged in.",
	"killed":   "The connection was closed.",
	"cleared":  "The list was cleared.",
}

// back ends a change: the browser gets another page, so that loading it again repeats nothing.
// to is relative to the root of the console.
func (r *request) back(to, done string) error {
	if done != "" {
		separator := "?"
		if strings.Contains(to, "?") {
			separator = "&"
		}
		to += separator + "done=" + done
	}
	redirect(r.w, up(r.Request)+to)
	return nil
}

// refusal is an error with its own page.
type refusal struct {
	status        int
	title, detail string
}

func (e *refusal) Error() string { return e.title + ": " + e.detail }

// errLogin sends the visitor to the page that asks for a token.
var errLogin = errors.New("log in first")

// fail answers with a page that says what happened and what to do.
func (r *request) fail(err error) {
	c := r.console
	if errors.Is(err, errLogin) {
		r.askForLogin()
		return
	}
	refused := (*refusal)(nil)
	if !errors.As(err, &refused) {
		status, title, detail, left := httpapi.ExplainTo(r.Context(), err)
		refused = &refusal{status, title, detail}
		if status >= http.StatusInternalServerError && !left {
			c.log.Warn("a page of the console failed", "path", r.URL.Path, "error", err)
		}
	}
	if err := r.show(refused.status, "error.html", frame{Title: refused.title, Page: refused.detail}); err != nil {
		c.log.Error("the console cannot write a page", "error", err)
		http.Error(r.w, "The console cannot write this page; the server's log says why.", http.StatusInternalServerError)
	}
}

// askForLogin sends a browser to the login, and back afterwards.
func (r *request) askForLogin() {
	if r.Method == http.MethodPost {
		r.fail(&refusal{http.StatusUnauthorized, "Log in first", "Nothing was changed. Your login has ended; log in and repeat what you did."})
		return
	}
	target := up(r.Request) + "login"
	below := strings.TrimPrefix(r.URL.EscapedPath(), Prefix)
	if r.URL.RawQuery != "" {
		below += "?" + r.URL.RawQuery
	}
	if below != "" {
		target += "?next=" + template.URLQueryEscaper(below)
	}
	redirect(r.w, target)
}

const (
	// statementTime bounds the statements of one page.
	statementTime = 2 * time.Second

	// statementMargin is how long before that PostgreSQL ends them.
	statementMargin = 100 * time.Millisecond
)

// limited is a cache whose statements PostgreSQL ends before ctx does: none goes on when its place
// among the lookups is free for another.
func limited(ctx context.Context, cache *core.Cache) *core.Cache {
	deadline, _ := ctx.Deadline()
	return cache.Limited(max(time.Until(deadline)-statementMargin, time.Millisecond))
}

// bounded is the context of the statements of a page.
func (r *request) bounded() (context.Context, context.CancelFunc) {
	return context.WithTimeout(r.Context(), statementTime)
}

// client is the visitor as the lists of removals and of slow calls show who called.
func (r *request) client() *observe.Client {
	return &observe.Client{Door: observe.DoorConsole, Name: r.visitor.role, Address: r.RemoteAddr}
}

// changing is the context of a change of entries, which are then remembered as removed by
// this visitor.
func (r *request) changing(ctx context.Context) context.Context {
	return observe.NewContext(ctx, r.client())
}

// log writes the audit line of a change, or of a value that was shown.
func (r *request) log(action string, args ...any) {
	r.console.log.Info("console: "+action, append([]any{"role", r.visitor.role, "addr", r.RemoteAddr}, args...)...)
}

// audit is log for a change that removes no entries, which would be remembered as removed.
// detail says what changed, such as the statement.
func (r *request) audit(cache, action, detail string) {
	r.log(action, "cache", cache, "detail", detail)
	r.console.removals.Audit(r.client(), r.visitor.role, cache, nil, strings.TrimSpace(action+" "+detail))
}

// auditPersons is audit for a change of sessions. Visitors without the right to see sessions
// do not see it among the removals.
func (r *request) auditPersons(action, detail string) {
	r.log(action, "detail", detail)
	r.console.removals.AuditPersons(r.client(), r.visitor.role, strings.TrimSpace(action+" "+detail))
}

// logged is a key as a log may have it.
func (r *request) logged(key []byte) string {
	text, _ := r.console.mask.KeyCut(key, 256)
	return visible(text)
}

// asset serves the script, the style and the icon.
func (c *Console) asset(r *request) error {
	name := r.PathValue("file")
	content, err := assetFiles.ReadFile("assets/" + name)
	kind := assetTypes[path.Ext(name)]
	if err != nil || kind == "" {
		return notFound(c, r)
	}
	r.w.Header().Set("Content-Type", kind)
	r.w.Header().Set("Cache-Control", "no-cache")
	_, _ = r.w.Write(content)
	return nil
}

var assetTypes = map[string]string{
	".js": "text/javascript; charset=utf-8", ".css": "text/css; charset=utf-8", ".svg": "image/svg+xml",
}

// The theme is kept by the browser.
const themeCookie = "theme"

func themeOf(r *http.Request) string {
	switch theme := cookieValue(r, themeCookie); theme {
	case "light", "dark":
		return theme
	}
	return ""
}

func (c *Console) setTheme(r *request) error {
	theme := r.PostForm.Get("theme")
	if theme != "light" && theme != "dark" {
		theme = "system"
	}
	c.setCookie(r.w, r.Request, themeCookie, theme, 365*24*time.Hour)
	return r.back(safePath(r.PostForm.Get("next")), "")
}

// safePath is a path below the console that a form or a link named, "" if it is none: what
// it names must not lead to another site.
func safePath(next string) string {
	if strings.HasPrefix(next, "/") || strings.ContainsAny(next, "\\:\r\n") || strings.Contains(next, "//") {
		return ""
	}
	for _, part := range strings.Split(next, "/") {
		if strings.HasPrefix(part, ".") {
			return ""
		}
	}
	return next
}
