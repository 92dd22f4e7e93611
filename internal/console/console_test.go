package console

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"iter"
	"log/slog"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/howdah/howdah"
	"github.com/howdah/howdah/internal/core"
	"github.com/howdah/howdah/internal/figures"
	"github.com/howdah/howdah/internal/observe"
	"github.com/howdah/howdah/internal/test/pgtest"
	"github.com/howdah/howdah/session"
)

func TestMain(m *testing.M) { pgtest.Main(m) }

// The tokens of the consoles under test.
const (
	adminToken    = "admin-token-4711"
	viewerToken   = "viewer-token-4712"
	sessionsToken = "sessions-token-4713"
)

// site is a console under test on a database of its own.
type site struct {
	t        testing.TB
	console  *Console
	url      string
	db       *core.DB
	sessions *session.Manager
	log      *lockedBuffer
	traced   *told
	sent     statements
}

// told is a Tracer that keeps all that it is told as text.
type told struct{ lockedBuffer }

func (o *told) StartCall(ctx context.Context, call howdah.TraceCall) context.Context {
	fmt.Fprintf(o, "%+v\n", call)
	return ctx
}

func (o *told) EndCall(_ context.Context, call howdah.TraceCall, result howdah.TraceResult) {
	fmt.Fprintf(o, "%+v %+v\n", call, result)
}

func (o *told) StartShared(ctx context.Context, _ iter.Seq[context.Context], work howdah.TraceShared) context.Context {
	fmt.Fprintf(o, "%+v\n", work)
	return ctx
}

func (o *told) EndShared(_ context.Context, work howdah.TraceShared, err error) {
	fmt.Fprintf(o, "%+v %v\n", work, err)
}

// statements keeps the SQL that pgx has sent.
type statements struct {
	mu   sync.Mutex
	sent []sentSQL
}

type sentSQL struct {
	conn *pgx.Conn
	text string
	args []any
}

func (s *statements) TraceQueryStart(ctx context.Context, conn *pgx.Conn, data pgx.TraceQueryStartData) context.Context {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sent = append(s.sent, sentSQL{conn, data.SQL, data.Args})
	return ctx
}

func (*statements) TraceQueryEnd(context.Context, *pgx.Conn, pgx.TraceQueryEndData) {}

// take returns the statements since the last call.
func (s *statements) take() []sentSQL {
	s.mu.Lock()
	defer s.mu.Unlock()
	taken := s.sent
	s.sent = nil
	return taken
}

// lockedBuffer takes the log of several requests.
type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}

// open starts a console, with all tokens unless change says otherwise.
func open(t testing.TB, change func(*Options)) *site {
	t.Helper()
	return openAt(t, pgtest.New(t), change)
}

func openAt(t testing.TB, databaseURL string, change func(*Options)) *site {
	t.Helper()
	return openWith(t, databaseURL, func(*howdah.Options) {}, change)
}

// openWith is openAt on a DB with other options.
func openWith(t testing.TB, databaseURL string, tune func(*howdah.Options), change func(*Options)) *site {
	t.Helper()
	s := &site{t: t, log: &lockedBuffer{}, traced: &told{}}
	// Every call is slow, and traced.
	options := &howdah.Options{Timeout: 10 * time.Second, SlowCall: 1, Logger: slog.New(slog.NewTextHandler(s.log, nil)), Tracer: s.traced}
	tune(options)
	config, err := pgxpool.ParseConfig(databaseURL)
	require.NoError(t, err)
	config.ConnConfig.Tracer = &s.sent
	pool, err := pgxpool.NewWithConfig(t.Context(), config)
	require.NoError(t, err)
	t.Cleanup(pool.Close)
	opened, err := howdah.OpenPool(t.Context(), pool, options)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, opened.Close()) })
	db := (*core.DB)(opened)
	db.Observe(observed())
	s.db = db
	s.sessions, err = session.New(opened, nil)
	require.NoError(t, err)
	shown := figures.New(figures.Options{DB: db, Interval: time.Millisecond})
	t.Cleanup(shown.Close)
	o := Options{
		DB: db, Figures: shown, Removals: db.Removals(), Slow: db.SlowLog(), Sessions: s.sessions,
		Clients: &redisClients{},
		Token:   adminToken, ViewerToken: viewerToken, SessionToken: sessionsToken, Logger: slog.New(slog.NewTextHandler(s.log, nil)),
	}
	if change != nil {
		change(&o)
	}
	s.console = New(o)
	server := httptest.NewServer(s.console)
	t.Cleanup(server.Close)
	s.url = server.URL + Prefix
	return s
}

// page is an answer that was read to its end.
type page struct {
	status int
	header http.Header
	body   string
}

// browser is a visitor with cookies.
type browser struct {
	*site
	http *http.Client
}

func (s *site) browser(tokens ...string) *browser {
	s.t.Helper()
	jar, err := cookiejar.New(nil)
	require.NoError(s.t, err)
	b := &browser{site: s, http: &http.Client{Jar: jar, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}}
	for _, token := range tokens {
		b.post("login", url.Values{"token": {token}}).want(s.t, http.StatusSeeOther)
	}
	return b
}

// do sends a request; header lines are "Name: value".
func (b *browser) do(method, path string, body io.Reader, header ...string) page {
	b.t.Helper()
	request, err := http.NewRequestWithContext(b.t.Context(), method, b.url+path, body)
	require.NoError(b.t, err)
	if body != nil {
		request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	for _, line := range header {
		name, value, _ := strings.Cut(line, ": ")
		if name == "Host" {
			request.Host = value
		}
		request.Header.Set(name, value)
	}
	response, err := b.http.Do(request)
	require.NoError(b.t, err)
	defer response.Body.Close()
	content, err := io.ReadAll(response.Body)
	require.NoError(b.t, err)
	return page{response.StatusCode, response.Header, string(content)}
}

func (b *browser) get(path string, header ...string) page {
	b.t.Helper()
	return b.do(http.MethodGet, path, nil, header...)
}

var formField = regexp.MustCompile(`name="form" value="([^"]+)"`)

// formToken is that of a page, as a browser would send it.
func (b *browser) formToken() string {
	b.t.Helper()
	match := formField.FindStringSubmatch(b.get("login").body)
	require.NotNil(b.t, match)
	return match[1]
}

// post sends a form of a page that the browser has loaded.
func (b *browser) post(path string, values url.Values, header ...string) page {
	b.t.Helper()
	sent := url.Values{"form": {b.formToken()}}
	for name, value := range values {
		sent[name] = value
	}
	return b.do(http.MethodPost, path, strings.NewReader(sent.Encode()), header...)
}

func (p page) want(t testing.TB, status int) page {
	t.Helper()
	require.Equal(t, status, p.status, p.body)
	return p
}

// has fails unless the page has all the texts.
func (p page) has(t testing.TB, texts ...string) page {
	t.Helper()
	for _, text := range texts {
		require.Contains(t, p.body, text)
	}
	return p
}

// lacks fails if the page has one of the texts.
func (p page) lacks(t testing.TB, texts ...string) page {
	t.Helper()
	for _, text := range texts {
		require.NotContains(t, p.body, text)
	}
	return p
}

// fill puts entries of all types into db0.
func (s *site) fill() {
	s.t.Helper()
	c := (*howdah.DB)(s.db).Cache("db0")
	ctx := s.t.Context()
	for i := range 30 {
		require.NoError(s.t, c.Set(ctx, fmt.Sprintf("user:%d:profile", i), []byte(`{"name":"Ada"}`), time.Hour))
	}
	require.NoError(s.t, c.Set(ctx, "sess:b3c1f0aa77", []byte("payload-of-a-session"), time.Hour))
	require.NoError(s.t, c.Set(ctx, "plain", []byte("plain value"), howdah.NoExpiry))
}

// redisClients are those of a server without one.
type redisClients struct{ killed int64 }

func (*redisClients) Clients() []observe.Connection {
	return []observe.Connection{
		{ID: 7, Client: observe.Client{Name: hostile, Library: hostile, Version: hostile, Address: hostile}, Command: hostile},
		{ID: 8, Client: observe.Client{Library: "redis-py"}, Listens: true},
	}
}

func (c *redisClients) Kill(id int64) bool { c.killed = id; return id == 7 }

func (*redisClients) UnknownCommands() []observe.UnknownCommand {
	return []observe.UnknownCommand{{Name: hostile, Count: 3, Libraries: []observe.LibraryCount{{Library: hostile, Count: 3}}}}
}
