package httpapi

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/howdah/howdah"
	"github.com/howdah/howdah/internal/core"
	"github.com/howdah/howdah/internal/test/pgtest"
	"github.com/howdah/howdah/session"
)

// admin is the token of sessions in these tests.
const admin = "Authorization: Bearer m4nage"

// withSessions serves sessions, with more time than the default.
func withSessions(t testing.TB) func(*Options) {
	return func(o *Options) {
		manager, err := session.New((*howdah.DB)(o.DB), &session.Options{Timeout: 10 * time.Second, UserLimit: 3})
		require.NoError(t, err)
		o.Sessions, o.SessionToken = manager, "m4nage"
	}
}

func as(token string) string { return "Authorization: Bearer " + token }

// started is the answer to a request that made a token.
type started struct{ Token, ID string }

func (c *client) startSession(body string) (s started) {
	c.t.Helper()
	got := c.do("POST", "/v1/sessions", body, jsonType, admin).want(c.t, 201)
	decoder := json.NewDecoder(strings.NewReader(got.body))
	decoder.DisallowUnknownFields()
	require.NoError(c.t, decoder.Decode(&s))
	return s
}

func (c *client) current(token string) (s map[string]any) {
	c.t.Helper()
	got := c.do("GET", "/v1/sessions/current", "", as(token)).want(c.t, 200)
	require.NoError(c.t, json.Unmarshal([]byte(got.body), &s))
	return s
}

func TestSession(t *testing.T) {
	t.Parallel()
	c := serve(t, withSessions(t))
	s := c.startSession(`{"user":"ada","payload":{"theme": "dark", "n":{"a":1,"b":2}},"ip":"192.0.2.7","user_agent":"curl"}`)
	got := c.current(s.Token)
	require.Equal(t, s.ID, got["id"])
	require.Equal(t, "ada", got["user"])
	require.Equal(t, map[string]any{"theme": "dark", "n": map[string]any{"a": 1.0, "b": 2.0}}, got["payload"])
	for _, field := range []string{"created_at", "last_seen_at", "expires_at", "deadline"} {
		_, err := time.Parse(time.RFC3339, got[field].(string))
		require.NoError(t, err, field)
	}
	require.Len(t, got, 8, "neither a secret nor its hash: %v", got)

	merged := c.do("PATCH", "/v1/sessions/current", `{"theme":null,"n":{"c":3},"cart":[1]}`, jsonType, as(s.Token)).want(t, 200)
	var after struct {
		Payload json.RawMessage
		Version float64
	}
	require.NoError(t, json.Unmarshal([]byte(merged.body), &after))
	require.JSONEq(t, `{"n":{"c":3},"cart":[1]}`, string(after.Payload))
	require.Equal(t, after.Version, c.current(s.Token)["version"])
	require.Greater(t, after.Version, got["version"])

	rotated := c.do("POST", "/v1/sessions/current/rotate", "", as(s.Token)).want(t, 200)
	var next started
	require.NoError(t, json.Unmarshal([]byte(rotated.body), &next))
	require.Equal(t, s.ID, next.ID)
	require.NotEqual(t, s.Token, next.Token)
	c.do("GET", "/v1/sessions/current", "", as(s.Token)).problem(t, 401, "unauthorized")
	require.Equal(t, "ada", c.current(next.Token)["user"])

	c.do("DELETE", "/v1/sessions/current", "", as(next.Token)).want(t, 204)
	c.do("DELETE", "/v1/sessions/current", "", as(next.Token)).problem(t, 401, "unauthorized")

	anonymous := c.startSession(`{}`)
	got = c.current(anonymous.Token)
	require.NotContains(t, got, "user")
	require.Empty(t, got["payload"])
	c.do("DELETE", "/v1/sessions/"+anonymous.ID, "", admin).want(t, 204)
	c.do("DELETE", "/v1/sessions/"+anonymous.ID, "", admin).problem(t, 404, "session-not-found")
	c.do("GET", "/v1/sessions/current", "", as(anonymous.Token)).problem(t, 401, "unauthorized")
}

func TestSessionList(t *testing.T) {
	t.Parallel()
	c := serve(t, withSessions(t))
	list := func(query string) (ids []string, cursor string) {
		t.Helper()
		got := c.do("GET", "/v1/sessions"+query, "", admin).want(t, 200)
		var page struct {
			Sessions []struct {
				ID, User, IP string
				Bytes        int
			}
			Cursor *string
		}
		require.NoError(t, json.Unmarshal([]byte(got.body), &page))
		require.NotNil(t, page.Sessions, got.body)
		require.NotContains(t, got.body, "secret")
		require.NotContains(t, got.body, "hush")
		for _, s := range page.Sessions {
			ids = append(ids, s.ID)
			require.Equal(t, "192.0.2.7", s.IP)
		}
		if page.Cursor != nil {
			cursor = *page.Cursor
		}
		return ids, cursor
	}
	ids, _ := list("")
	require.Empty(t, ids)
	first := map[string][]string{}
	for i := range 5 {
		user := []string{"ada", "bob & co"}[i%2]
		s := c.startSession(fmt.Sprintf(`{"user":%q,"payload":{"k":"hush"},"ip":"192.0.2.7"}`, user))
		first[user] = append(first[user], s.ID)
	}
	ids, cursor := list("?user=ada")
	require.ElementsMatch(t, first["ada"], ids)
	require.Empty(t, cursor)
	ids, _ = list("?user=bob+%26+co")
	require.ElementsMatch(t, first["bob & co"], ids)
	ids, _ = list("?user=nobody")
	require.Empty(t, ids)

	var all []string
	for query := "?count=2"; ; query = "?count=2&cursor=" + cursor {
		ids, cursor = list(query)
		all = append(all, ids...)
		if cursor == "" {
			break
		}
	}
	require.ElementsMatch(t, append(first["ada"], first["bob & co"]...), all)

	c.do("POST", "/v1/sessions", `{"user":"ada"}`, jsonType, admin).problem(t, 409, "user-limit")
	require.JSONEq(t, `{"revoked":3}`, c.do("DELETE", "/v1/sessions?user=ada", "", admin).want(t, 200).body)
	require.JSONEq(t, `{"revoked":0}`, c.do("DELETE", "/v1/sessions?user=ada", "", admin).want(t, 200).body)
	ids, _ = list("")
	require.ElementsMatch(t, first["bob & co"], ids)
}

// TestSessionScopes: three kinds of tokens, none of which opens what another
// is for.
func TestSessionScopes(t *testing.T) {
	t.Parallel()
	c := serve(t, func(o *Options) {
		withSessions(t)(o)
		o.Token = "c4che"
	})
	s := c.startSession(`{"user":"ada"}`)
	administrative := [][3]string{
		{"POST", "/v1/sessions", `{"user":"ada"}`}, {"GET", "/v1/sessions", ""}, {"GET", "/v1/sessions?user=ada", ""},
		{"DELETE", "/v1/sessions?user=ada", ""}, {"DELETE", "/v1/sessions/" + s.ID, ""}, {"GET", "/v1/%73essions", ""},
	}
	for _, request := range administrative {
		for _, header := range []string{"X: y", as("c4che"), as(s.Token), as("m4nag"), as("m4nage2"), "Authorization: Basic m4nage"} {
			c.do(request[0], request[1], request[2], jsonType, header).problem(t, 401, "unauthorized")
		}
	}
	for _, path := range []string{"/get?key=k", "/v1/caches", entryPath("db0", "k"), "/v1/sessionsx", "/v1/sessions/../caches", "/nowhere"} {
		for _, header := range []string{admin, as(s.Token)} {
			got := c.do("GET", path, "", header)
			require.True(t, got.status == 401 || got.status >= 300 && got.status < 400, "%s: %d", path, got.status)
			require.NotContains(t, got.body, "db0")
		}
	}
	for _, header := range []string{"X: y", admin, as("c4che")} {
		c.do("GET", "/v1/sessions/current", "", header).problem(t, 401, "unauthorized")
	}
	// All of that changed nothing, and needs no name that the server knows.
	require.Equal(t, "ada", c.current(s.Token)["user"])
	c.do("GET", "/v1/sessions/current", "", as(s.Token), "Origin: https://evil.example").problem(t, 403, "foreign-origin")
	require.NotContains(t, c.do("GET", "/v1/sessions?user=ada", "", admin).want(t, 200).body, s.Token)

	// Without a token of sessions they end for themselves, and nothing else.
	o := Options{DB: (*core.DB)(c.db), Token: "c4che"}
	withSessions(t)(&o)
	o.SessionToken = ""
	closed := httptest.NewServer(New(o))
	defer closed.Close()
	c.url = closed.URL
	for _, request := range administrative[:5] {
		for _, header := range []string{"X: y", "Authorization: Bearer ", admin, as("c4che")} {
			c.do(request[0], request[1], request[2], jsonType, header).problem(t, 403, "sessions-closed")
		}
	}
	require.Equal(t, "ada", c.current(s.Token)["user"])
	c.do("DELETE", "/v1/sessions/current", "", as(s.Token)).want(t, 204)
}

// TestWrongSessionTokens: what cannot be a token is refused without asking the
// database; what could be one is asked for once. The answer is the same.
func TestWrongSessionTokens(t *testing.T) {
	t.Parallel()
	var manager *session.Manager
	c := serve(t, func(o *Options) {
		withSessions(t)(o)
		manager = o.Sessions
	})
	s := c.startSession(`{"user":"ada"}`)
	other := c.startSession(`{"user":"bob"}`)
	want := c.do("GET", "/v1/sessions/current", "").problem(t, 401, "unauthorized")
	refuse := func(token string) {
		t.Helper()
		for _, request := range [][3]string{
			{"GET", "", ""}, {"PATCH", "", `{"a":1}`}, {"DELETE", "", ""}, {"POST", "/rotate", ""},
		} {
			got := c.do(request[0], "/v1/sessions/current"+request[1], request[2], jsonType, as(token)).problem(t, 401, "unauthorized")
			require.Equal(t, want.body, got.body)
			require.Equal(t, `Bearer realm="howdah"`, got.header.Get("WWW-Authenticate"))
		}
	}
	before := manager.Stats().Reads
	for _, token := range []string{
		"", " ", s.ID, s.Token[:63], s.Token + "A", s.Token[:63] + "!", s.Token[:63] + "=", strings.Repeat("A", 64),
		strings.Repeat("A", 10_000), s.Token + " " + s.Token,
	} {
		refuse(token)
	}
	require.Equal(t, before, manager.Stats().Reads, "the database was asked")
	require.Equal(t, "ada", c.current(s.Token)["user"])

	refuse(s.Token[:30] + other.Token[30:]) // one's id, another's secret
	require.Greater(t, manager.Stats().Reads, before)
	require.Equal(t, "ada", c.current(s.Token)["user"])
	require.Equal(t, "bob", c.current(other.Token)["user"])
}

func TestBadSessionInput(t *testing.T) {
	t.Parallel()
	c := serve(t, withSessions(t))
	s := c.startSession(`{"user":"ada","payload":{"a":1}}`)
	const path, current = "/v1/sessions", "/v1/sessions/current"
	for _, test := range []struct {
		method, path, body, header string
		status                     int
		code                       string
	}{
		{"POST", path, `{"user":"a"}`, "", 415, "unsupported-media-type"},
		{"POST", path, ``, jsonType, 400, "bad-request"},
		{"POST", path, `{"usr":"a"}`, jsonType, 400, "bad-request"},
		{"POST", path, `{"user":1}`, jsonType, 400, "bad-request"},
		{"POST", path, `{"payload":"text"}`, jsonType, 400, "bad-request"},
		{"POST", path, `{"payload":[1]}`, jsonType, 400, "bad-request"},
		{"POST", path, `{"ip":"192.0.2.7:80"}`, jsonType, 400, "bad-request"},
		{"POST", path, `{"user":"a\u0000b"}`, jsonType, 400, "invalid-user"},
		{"POST", path, `{"user":"` + strings.Repeat("u", 1025) + `"}`, jsonType, 400, "invalid-user"},
		{"POST", path, `{"payload":{"k":"` + strings.Repeat("v", 64<<10) + `"}}`, jsonType, 413, "too-large"},
		{"POST", path, `{"payload":{"k":"` + strings.Repeat("v", maxSessionBytes) + `"}}`, jsonType, 413, "too-large"},
		{"POST", path + "?ttl=1", `{}`, jsonType, 400, "bad-request"},
		{"GET", path + "?usr=ada", "", "", 400, "bad-request"},
		{"GET", path + "?user=", "", "", 400, "invalid-user"},
		{"GET", path + "?user=ada&count=1", "", "", 400, "bad-request"},
		{"GET", path + "?count=0", "", "", 400, "bad-request"},
		{"GET", path + "?cursor=x", "", "", 400, "bad-request"},
		{"DELETE", path, "", "", 400, "bad-request"},
		{"DELETE", path + "?user=", "", "", 400, "bad-request"},
		{"DELETE", path + "?user=ada", "", "If-Match: *", 400, "bad-request"},
		{"DELETE", path + "/ada", "", "", 400, "bad-request"},
		{"DELETE", path + "/..%2fcurrent", "", "", 400, "bad-request"},
		{"DELETE", path + "/" + s.ID + "?user=ada", "", "", 400, "bad-request"},
		{"GET", path + "/" + s.ID, "", "", 405, "method-not-allowed"},
		{"PUT", path, "", "", 405, "method-not-allowed"},
		{"POST", current, "", "", 405, "method-not-allowed"},
		{"GET", current + "/rotate", "", "", 405, "method-not-allowed"},
		{"GET", current + "/secret", "", "", 404, "not-found"},
		{"GET", current + "?id=1", "", "", 400, "bad-request"},
		{"PATCH", current, `{"a":2}`, "", 415, "unsupported-media-type"},
		{"PATCH", current, `{"a":2}`, "Content-Type: application/merge-patch+json", 415, "unsupported-media-type"},
		{"PATCH", current, `[]`, jsonType, 400, "bad-request"},
		{"PATCH", current, `null`, jsonType, 400, "bad-request"},
		{"POST", path, `{"payload":{"a":"\u0000"}}`, jsonType, 409, "not-mergeable"},
		{"POST", path, `{"payload":{"a":[1e131071]}}`, jsonType, 409, "not-mergeable"},
		{"PATCH", current, `{"a":"\u0000"}`, jsonType, 409, "not-mergeable"},
		{"PATCH", current, `{"a":[` + strings.Repeat("1e131071,", 1500) + `1]}`, jsonType, 409, "not-mergeable"},
		{"PATCH", current, `{"a":0e-16383}`, jsonType, 409, "not-mergeable"},
		{"PATCH", current, `{"a\u0000":null}`, jsonType, 409, "not-mergeable"},
		{"PATCH", current, `{"a":"` + strings.Repeat("v", 64<<10) + `"}`, jsonType, 413, "too-large"},
		{"POST", current + "/rotate", "", "If-Match: *", 400, "bad-request"},
	} {
		t.Run(fmt.Sprintf("%s %s %.40s", test.method, test.path, test.body), func(t *testing.T) {
			one := *c
			one.t = t
			header := []string{admin}
			if strings.HasPrefix(test.path, current) {
				header[0] = as(s.Token)
			}
			if test.header != "" {
				header = append(header, test.header)
			}
			got := one.do(test.method, test.path, test.body, header...).problem(t, test.status, test.code)
			require.NotContains(t, got.body, "SQLSTATE")
		})
	}
	require.Equal(t, map[string]any{"a": 1.0}, c.current(s.Token)["payload"])

	// Payloads of programs that keep something else than JSON.
	manager, err := session.New(c.db, &session.Options{Timeout: 10 * time.Second})
	require.NoError(t, err)
	raw, err := manager.Create(t.Context(), session.Start{Payload: []byte("{\"\xff\"")})
	require.NoError(t, err)
	got := c.current(raw.Token().Reveal())
	require.Equal(t, "base64", got["encoding"])
	require.Equal(t, "eyL/Ig==", got["payload"])
	c.do("PATCH", current, `{"a":1}`, jsonType, as(raw.Token().Reveal())).problem(t, 409, "not-mergeable")
}

// TestSessionsDatabaseAway: nobody is taken for logged out, and no secret gets
// into the log.
func TestSessionsDatabaseAway(t *testing.T) {
	t.Parallel()
	server := pgtest.Own(t)
	db, err := howdah.Open(t.Context(), server.NewURL(), nil)
	require.NoError(t, err)
	t.Cleanup(func() { _ = db.Close() })
	var log bytes.Buffer
	o := Options{DB: (*core.DB)(db), Logger: slog.New(slog.NewTextHandler(&log, nil))}
	withSessions(t)(&o)
	handler := httptest.NewServer(New(o))
	defer handler.Close()
	c := &client{t: t, url: handler.URL, db: db}
	s := c.startSession(`{"user":"ada","payload":{"k":"hush"}}`)

	server.Stop("immediate")
	for _, request := range [][4]string{
		{"GET", "/current", "", as(s.Token)}, {"PATCH", "/current", `{"k":"hush"}`, as(s.Token)},
		{"POST", "/current/rotate", "", as(s.Token)}, {"DELETE", "/current", "", as(s.Token)},
		{"POST", "", `{"user":"ada"}`, admin}, {"GET", "?user=ada", "", admin}, {"GET", "", "", admin},
		{"DELETE", "?user=ada", "", admin}, {"DELETE", "/" + s.ID, "", admin},
	} {
		got := c.do(request[0], "/v1/sessions"+request[1], request[2], jsonType, request[3]).problem(t, 503, "database-unavailable")
		require.Equal(t, "1", got.header.Get("Retry-After"))
	}
	c.do("GET", "/v1/sessions/current", "", as("x")).problem(t, 401, "unauthorized")

	server.Start()
	require.Eventually(t, func() bool {
		return c.do("GET", "/v1/sessions/current", "", as(s.Token)).status == 200
	}, time.Minute, 50*time.Millisecond)
	require.Equal(t, "ada", c.current(s.Token)["user"])
	require.Contains(t, log.String(), "request failed")
	for _, secret := range []string{s.Token, s.Token[30:], "m4nage", "hush"} {
		require.NotContains(t, log.String(), secret)
	}
}
