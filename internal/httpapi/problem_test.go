package httpapi

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/howdah/howdah"
	"github.com/howdah/howdah/internal/core"
	"github.com/howdah/howdah/internal/test/pgtest"
)

const jsonType = "Content-Type: application/json"

func TestBadInput(t *testing.T) {
	t.Parallel()
	c := serve(t, nil)
	c.do("PUT", entryPath("db0", "k"), "v").want(t, 201)
	long := strings.Repeat("k", howdah.MaxKeyBytes+1)
	for _, test := range []struct {
		method, path, body string
		header             string
		status             int
		code               string
	}{
		// Paths and methods.
		{"GET", "/", "", "", 404, "not-found"},
		{"GET", "/v1", "", "", 404, "not-found"},
		{"GET", "/v1/caches/db0/get-many/x", "", "", 404, "not-found"},
		{"GET", "/v2/caches/db0/entries/k", "", "", 404, "not-found"},
		{"POST", entryPath("db0", "k"), "", "", 404, "not-found"},
		{"POST", entryPath("db0", "k") + "/increase", "", "", 404, "not-found"},
		{"POST", "/get?key=k", "", "", 405, "method-not-allowed"},
		{"GET", "/set?key=k&ttl=1", "", "", 405, "method-not-allowed"},
		{"DELETE", "/set?key=k", "", "", 405, "method-not-allowed"},
		{"PATCH", entryPath("db0", "k"), "", "", 405, "method-not-allowed"},
		{"OPTIONS", entryPath("db0", "k"), "", "", 405, "method-not-allowed"},
		{"BREW", entryPath("db0", "k"), "", "", 405, "method-not-allowed"},
		{"PUT", "/v1/caches", "", "", 405, "method-not-allowed"},
		{"GET", "/v1/caches/db0/flush", "", "", 405, "method-not-allowed"},
		{"DELETE", "/v1/caches/db0/entries", "", "", 405, "method-not-allowed"},

		// Queries and keys.
		{"GET", "/get", "", "", 400, "bad-request"},
		{"POST", "/set", "v", "", 400, "bad-request"},
		{"GET", "/get?key=%zz", "", "", 400, "bad-request"},
		{"GET", "/get?key=a;b", "", "", 400, "bad-request"},
		{"GET", "/get?key=a&key=b", "", "", 400, "bad-request"},
		{"GET", "/get?key=a&key64=Yg", "", "", 400, "bad-request"},
		{"GET", "/get?key64=a!", "", "", 400, "bad-request"},
		{"GET", "/get?key64=_-%2B", "", "", 400, "bad-request"},
		{"GET", "/get?key=k&chace=pages", "", "", 400, "bad-request"},
		{"POST", "/set?key=k&tll=60", "v", "", 400, "bad-request"},
		{"GET", entryPath("db0", "k") + "?ttl=1", "", "", 400, "bad-request"},
		{"GET", entryPath("db0", "k") + "?key=k", "", "", 400, "bad-request"},
		{"GET", "/v1/caches?x=1", "", "", 400, "bad-request"},
		{"POST", "/set?key=" + long, "v", "", 400, "key-too-long"},
		{"GET", "/get?key=" + long, "", "", 400, "key-too-long"},
		{"PUT", entryPath("db0", long), "v", "", 400, "key-too-long"},
		{"DELETE", entryPath("db0", long), "", "", 400, "key-too-long"},
		{"GET", "/get?key=k&cache=No!", "", "", 400, "invalid-cache-name"},
		{"GET", "/get?key=k&cache=absent", "", "", 404, "cache-not-found"},
		{"PUT", entryPath("absent", "k"), "v", "", 404, "cache-not-found"},
		{"GET", "/v1/caches//entries/k", "", "", 400, "invalid-cache-name"},
		{"GET", "/v1/caches/%ff/entries/k", "", "", 400, "invalid-cache-name"},
		{"GET", "/v1/caches/absent/entries", "", "", 404, "cache-not-found"},

		// TTLs.
		{"POST", "/set?key=k&ttl=0", "v", "", 400, "invalid-ttl"},
		{"POST", "/set?key=k&ttl=-1", "v", "", 400, "invalid-ttl"},
		{"POST", "/set?key=k&ttl=-1s", "v", "", 400, "invalid-ttl"},
		{"POST", "/set?key=k&ttl=0s", "v", "", 400, "invalid-ttl"},
		{"POST", "/set?key=k&ttl=.", "v", "", 400, "invalid-ttl"},
		{"POST", "/set?key=k&ttl=1.2.3", "v", "", 400, "invalid-ttl"},
		{"POST", "/set?key=k&ttl=1d", "v", "", 400, "invalid-ttl"},
		{"POST", "/set?key=k&ttl=NaN", "v", "", 400, "invalid-ttl"},
		{"POST", "/set?key=k&ttl=1e3", "v", "", 400, "invalid-ttl"},
		{"POST", "/set?key=k&ttl=9223372037", "v", "", 400, "invalid-ttl"},
		{"POST", "/set?key=k&ttl=" + strings.Repeat("9", 400), "v", "", 400, "invalid-ttl"},
		{"PUT", entryPath("db0", "k") + "?ttl=10", "v", "Howdah-TTL: 20", 400, "invalid-ttl"},
		{"PUT", entryPath("db0", "k"), "v", "Howdah-TTL: soon", 400, "invalid-ttl"},
		{"POST", entryPath("db0", "k") + "/touch?ttl=soon", "", "", 400, "invalid-ttl"},

		// Bodies.
		{"PUT", entryPath("db0", "k"), "v", "Content-Encoding: gzip", 415, "unsupported-media-type"},
		{"PUT", entryPath("db0", "k"), "v", "Content-Range: bytes 0-0/1", 400, "bad-request"},
		{"POST", entryPath("db0", "k") + "/increment?delta=x", "", "", 400, "bad-request"},
		{"POST", entryPath("db0", "k") + "/increment?delta=9223372036854775808", "", "", 400, "bad-request"},
		{"POST", entryPath("db0", "k") + "/increment", "", "", 409, "not-an-integer"},
		{"POST", "/v1/caches/db0/get-many", `{"keys":[]}`, "Content-Type: text/plain", 415, "unsupported-media-type"},
		{"POST", "/v1/caches/db0/get-many", `{"keys":[]}`, "Content-Type: application/x-www-form-urlencoded", 415, "unsupported-media-type"},
		{"POST", "/v1/caches", `{"name":"x"}`, "", 415, "unsupported-media-type"},
		{"POST", "/v1/caches/db0/get-many", ``, jsonType, 400, "bad-request"},
		{"POST", "/v1/caches/db0/get-many", `{`, jsonType, 400, "bad-request"},
		{"POST", "/v1/caches/db0/get-many", `[]`, jsonType, 400, "bad-request"},
		{"POST", "/v1/caches/db0/get-many", `null`, jsonType, 400, "bad-request"},
		{"POST", "/v1/caches/db0/get-many", `{}`, jsonType, 400, "bad-request"},
		{"POST", "/v1/caches/db0/get-many", `{"keys":[]}{}`, jsonType, 400, "bad-request"},
		{"POST", "/v1/caches/db0/get-many", `{"keys":[1]}`, jsonType, 400, "bad-request"},
		{"POST", "/v1/caches/db0/get-many", `{"keys":["a"],"kesy":1}`, jsonType, 400, "bad-request"},
		{"POST", "/v1/caches/db0/get-many", "{\"keys\":[\"\xff\"]}", jsonType, 400, "bad-request"},
		{"POST", "/v1/caches/db0/get-many", `{"keys":["\ud800"]}`, jsonType, 400, "bad-request"},
		{"POST", "/v1/caches/db0/get-many", `{"keys":["?"],"encoding":"base64"}`, jsonType, 400, "bad-request"},
		{"POST", "/v1/caches/db0/get-many", `{"keys":[],"encoding":"hex"}`, jsonType, 400, "bad-request"},
		{"POST", "/v1/caches/db0/get-many", `{"keys":["` + long + `"]}`, jsonType, 400, "key-too-long"},
		{"POST", "/v1/caches/db0/get-many?x=1", `{"keys":[]}`, jsonType, 400, "bad-request"},
		{"POST", "/v1/caches/db0/get-many", strings.Repeat("[", 100_000), jsonType, 400, "bad-request"},
		{"POST", "/v1/caches/db0/set-many", `{"entries":[{"key":"a","value":"v"}],"ttl":"0"}`, jsonType, 400, "invalid-ttl"},
		{"POST", "/v1/caches/db0/set-many", `{"entries":[{"key":"a","value":"v"}],"ttl":-5}`, jsonType, 400, "invalid-ttl"},
		{"POST", "/v1/caches/db0/set-many", `{"entries":[{"key":"a","value":"v"}],"ttl":true}`, jsonType, 400, "invalid-ttl"},
		{"POST", "/v1/caches/db0/set-many", `{"entries":[{"key":"a","value":"v","ttl":5}]}`, jsonType, 400, "bad-request"},
		{"POST", "/v1/caches/db0/set-many", `{}`, jsonType, 400, "bad-request"},
		{"POST", "/v1/caches/absent/set-many", `{"entries":[{"key":"a","value":"v"}]}`, jsonType, 404, "cache-not-found"},
		{"POST", "/v1/caches/absent/get-many", `{"keys":["a"]}`, jsonType, 404, "cache-not-found"},
		{"POST", "/v1/caches", `{"name":"x","ttl_jitter":99999999999}`, jsonType, 422, "invalid-setting"},
		{"POST", "/v1/caches", `{"name":"x","fillfactor":-99999999999}`, jsonType, 422, "invalid-setting"},
		{"POST", "/v1/caches", `{"name":"x","durability":"\u0000"}`, jsonType, 422, "invalid-setting"},
		{"POST", "/v1/caches", `{"name":"x\u0000"}`, jsonType, 400, "invalid-cache-name"},
		{"DELETE", "/v1/caches/x%ff", "", "", 400, "invalid-cache-name"},
		{"PATCH", "/v1/caches/x%00", `{"max_ttl":60}`, jsonType, 400, "invalid-cache-name"},
		{"PATCH", "/v1/caches/db0", `{"ttl_jitter":99999999999}`, jsonType, 422, "invalid-setting"},
		{"PATCH", "/v1/caches/db0", `{"max_bytes":"many"}`, jsonType, 400, "bad-request"},
		{"PATCH", "/v1/caches/db0", `{"default_ttl":"often"}`, jsonType, 400, "invalid-ttl"},
		{"POST", "/v1/caches", `{"name":"` + strings.Repeat("x", maxSettingsBytes) + `"}`, jsonType, 413, "too-large"},

		// Lists.
		{"GET", "/v1/caches/db0/entries?count=0", "", "", 400, "bad-request"},
		{"GET", "/v1/caches/db0/entries?count=10001", "", "", 400, "bad-request"},
		{"GET", "/v1/caches/db0/entries?cursor=x", "", "", 400, "bad-request"},
		{"GET", "/v1/caches/db0/entries?cursor=-1", "", "", 400, "bad-request"},
		{"GET", "/v1/caches/db0/entries?cursor=99999999999999999999", "", "", 400, "bad-request"},
		{"GET", "/v1/caches/db0/entries?prefix=a&prefix64=YQ", "", "", 400, "bad-request"},
		{"GET", "/v1/caches/db0/entries?prefix64=!", "", "", 400, "bad-request"},
	} {
		name := fmt.Sprintf("%s %.80s %.60s", test.method, test.path, test.body)
		t.Run(name, func(t *testing.T) {
			one := *c
			one.t = t
			var header []string
			if test.header != "" {
				header = append(header, test.header)
			}
			got := one.do(test.method, test.path, test.body, header...).problem(t, test.status, test.code)
			require.Equal(t, test.status == 405, got.header.Get("Allow") != "")
		})
	}
	require.Equal(t, "v", c.do("GET", entryPath("db0", "k"), "").body)
	require.Equal(t, "GET, HEAD", c.do("POST", "/get?key=k", "").header.Get("Allow"))
}

// TestTooLargeUnread: a body that says it is too large is refused before it is
// sent, where the client waits to be told.
func TestTooLargeUnread(t *testing.T) {
	t.Parallel()
	c := serve(t, nil)
	conn, err := net.Dial("tcp", strings.TrimPrefix(c.url, "http://"))
	require.NoError(t, err)
	defer conn.Close()
	require.NoError(t, conn.SetDeadline(time.Now().Add(10*time.Second)))
	_, err = fmt.Fprintf(conn, "PUT /v1/caches/db0/entries/k HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\nExpect: 100-continue\r\n\r\n", int64(1)<<40)
	require.NoError(t, err)
	response, err := http.ReadResponse(bufio.NewReader(conn), nil)
	require.NoError(t, err)
	require.Equal(t, 413, response.StatusCode)
}

// TestBrokenBody: a body that ends early stores nothing.
func TestBrokenBody(t *testing.T) {
	t.Parallel()
	c := serve(t, nil)
	conn, err := net.Dial("tcp", strings.TrimPrefix(c.url, "http://"))
	require.NoError(t, err)
	_, err = fmt.Fprint(conn, "PUT /v1/caches/db0/entries/k HTTP/1.1\r\nHost: localhost\r\nContent-Length: 10\r\n\r\nhalf")
	require.NoError(t, err)
	require.NoError(t, conn.(*net.TCPConn).CloseWrite())
	require.NoError(t, conn.SetDeadline(time.Now().Add(10*time.Second)))
	response, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err == nil { // otherwise the server just closed
		require.Equal(t, 400, response.StatusCode)
	}
	require.NoError(t, conn.Close())
	_, err = c.db.Cache("db0").Get(t.Context(), "k")
	require.ErrorIs(t, err, howdah.ErrMiss)
}

// TestDatabaseAway: within the deadline every route says so, and how long to
// wait; afterwards it serves again by itself.
func TestDatabaseAway(t *testing.T) {
	t.Parallel()
	server := pgtest.Own(t)
	db, err := howdah.Open(t.Context(), server.NewURL(), nil)
	require.NoError(t, err)
	t.Cleanup(func() { _ = db.Close() })
	var log bytes.Buffer
	handler := httptest.NewServer(New(Options{DB: (*core.DB)(db), Logger: slog.New(slog.NewTextHandler(&log, nil))}))
	defer handler.Close()
	c := &client{t: t, url: handler.URL, db: db}
	serves := func() {
		t.Helper()
		require.Eventually(t, func() bool { return c.do("PUT", entryPath("db0", "k"), "v").status < 300 }, time.Minute, 20*time.Millisecond)
	}
	serves()

	server.Stop("immediate")
	for _, request := range [][2]string{
		{"GET", "/get?key=k"}, {"POST", "/set?key=k"}, {"PUT", entryPath("db0", "k")}, {"DELETE", entryPath("db0", "k")},
		{"POST", entryPath("db0", "n") + "/increment"}, {"GET", "/v1/caches"}, {"GET", "/v1/caches/db0/entries"},
	} {
		got := c.do(request[0], request[1], "")
		switch got.status {
		case 503:
			require.Equal(t, "1", got.problem(t, 503, "database-unavailable").header.Get("Retry-After"))
		case 504: // the connection broke under the call, or the deadline passed
			require.Regexp(t, `"code":"(timeout|outcome-unknown)"`, got.body)
		default:
			t.Errorf("%v: %d %s", request, got.status, got.body)
		}
		require.NotContains(t, got.body, "PGSQL", "the answer shows what is inside the server")
	}
	require.Eventually(t, func() bool { return c.do("GET", "/get?key=k", "").status == 503 }, time.Minute, 20*time.Millisecond)
	server.Start()
	serves()
	handler.Close()
	require.Contains(t, log.String(), "code=database-unavailable")
}

// TestHeldRow: a row that another transaction holds is answered at the deadline,
// and not when the transaction ends, which it does only after that.
func TestHeldRow(t *testing.T) {
	t.Parallel()
	databaseURL := pgtest.New(t)
	patient := openDB(t, databaseURL)
	require.NoError(t, patient.Cache("db0").Set(t.Context(), "k", []byte("v"), 0))
	tx, err := patient.Pool().Begin(t.Context())
	require.NoError(t, err)
	defer tx.Rollback(context.Background())
	require.NoError(t, patient.Cache("db0").With(tx).Set(t.Context(), "k", []byte("held"), 0))

	db, err := howdah.Open(t.Context(), databaseURL, nil)
	require.NoError(t, err)
	t.Cleanup(func() { _ = db.Close() })
	handler := httptest.NewServer(New(Options{DB: (*core.DB)(db)}))
	defer handler.Close()
	c := &client{t: t, url: handler.URL, db: db}
	require.Eventually(t, func() bool { // it is connected, and knows the cache
		return c.do("PUT", entryPath("db0", "other"), "").status < 300
	}, time.Minute, 20*time.Millisecond)
	require.Eventually(t, func() bool { // a busy PostgreSQL may be to blame before
		answer := c.do("PUT", entryPath("db0", "k"), "w")
		answer.want(t, 504)
		return strings.Contains(answer.body, "The time of the request ran out: another transaction holds the row. Nothing was changed")
	}, time.Minute, time.Millisecond)
	require.NoError(t, tx.Rollback(t.Context()))
	value, err := patient.Cache("db0").Get(t.Context(), "k")
	require.NoError(t, err)
	require.Contains(t, []string{"v", "w"}, string(value))
}

func TestShuttingDown(t *testing.T) {
	t.Parallel()
	c := serve(t, nil)
	require.NoError(t, c.db.Close())
	got := c.do("GET", "/get?key=k", "").problem(t, 503, "shutting-down")
	require.Equal(t, "1", got.header.Get("Retry-After"))
}

// TestEveryProblem holds the table of kinds to what the interface promises.
func TestEveryProblem(t *testing.T) {
	t.Parallel()
	for _, f := range failures {
		p := problemOf(fmt.Errorf("%w: /var/run/secret", f.err))
		require.Equal(t, f.code, p.code)
		require.Equal(t, f.status, p.status)
		if f.status >= 500 || f.err == howdah.ErrPermission {
			require.NotContains(t, p.detail, "secret", "what is inside the server is for its log")
		}
	}
	require.Equal(t, internal, problemOf(fmt.Errorf("anything")).kind)
	require.Equal(t, http.StatusInsufficientStorage, problemOf(howdah.ErrCacheFull).status)
}

// TestRuntimeRole: a server whose role may only use caches serves entries and
// sessions, and says which right it lacks for the rest.
func TestRuntimeRole(t *testing.T) {
	t.Parallel()
	owner := pgtest.New(t)
	super, err := pgx.Connect(t.Context(), pgtest.SuperURL(owner))
	require.NoError(t, err)
	defer super.Close(context.Background())
	role := fmt.Sprintf("runtime_%d", time.Now().UnixNano())
	run := func(sql string) {
		_, err := super.Exec(context.Background(), sql)
		require.NoError(t, err)
	}
	run(`CREATE ROLE ` + role + ` LOGIN`)
	defer run(`DROP OWNED BY ` + role + `; DROP ROLE ` + role)
	run(`SELECT howdah.grant_runtime('` + role + `')`)

	u, err := url.Parse(owner)
	require.NoError(t, err)
	u.User = url.User(role)
	db := openDB(t, u.String())
	o := Options{DB: (*core.DB)(db)}
	withSessions(t)(&o)
	server := httptest.NewServer(New(o))
	defer server.Close()
	c := &client{t: t, url: server.URL, db: db}
	c.do("PUT", entryPath("db0", "k"), "v").want(t, 201)
	c.do("GET", "/v1/caches", "").want(t, 200)
	s := c.startSession(`{"user":"ada"}`)
	require.Equal(t, "ada", c.current(s.Token)["user"])
	require.Contains(t, c.do("GET", "/v1/sessions", "", admin).want(t, 200).body, s.ID)
	c.do("DELETE", "/v1/sessions?user=ada", "", admin).want(t, 200)
	for _, got := range []answer{
		c.do("POST", "/v1/caches", `{"name":"pages"}`, jsonType), c.do("PATCH", "/v1/caches/db0", `{"max_ttl":60}`, jsonType), c.do("DELETE", "/v1/caches/db0", ""),
	} {
		require.Contains(t, got.problem(t, 403, "permission").body, "needs the owner of the schema")
		require.NotRegexp(t, "SQLSTATE|runtime-role|"+role, got.body)
	}
	c.do("DELETE", entryPath("db0", "k"), "").want(t, 204)

	run(`REVOKE ALL ON ` + pgtest.Table(t, super, "db0") + ` FROM ` + role)
	got := c.do("GET", entryPath("db0", "k"), "").problem(t, 403, "permission")
	require.Contains(t, got.body, "howdah migrate --runtime-role")
	require.NotRegexp(t, "SQLSTATE|howdah_internal", got.body)
}
