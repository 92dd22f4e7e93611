package httpapi

import (
	"bufio"
	"encoding/base64"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/howdah/howdah/internal/core"
	"github.com/howdah/howdah/internal/test/pgtest"
)

// FuzzKey: whatever the key, each way to write it in a URL leads back to it.
func FuzzKey(f *testing.F) {
	for _, key := range awkwardKeys() {
		if len(key) < 1000 { // long seeds make for slow fuzzing
			f.Add("db0", key)
		}
	}
	f.Fuzz(func(t *testing.T, cache, key string) {
		if strings.Contains(cache, "entries") {
			return // the path of another entry
		}
		u, err := url.ParseRequestURI("/v1/caches/" + url.PathEscape(cache) + "/entries/" + url.PathEscape(key))
		if err != nil {
			t.Fatal(err)
		}
		gotCache, segment, encoded, ok := cutEntry(u.EscapedPath())
		if !ok || segment != "entries" || gotCache != cache {
			t.Fatalf("cutEntry(%q) = %q, %v", u.EscapedPath(), gotCache, ok)
		}
		if got, err := entryKey(encoded, nil); err != nil || string(got) != key {
			t.Fatalf("key %q is read from the path as %q, %v", key, got, err)
		}
		for _, values := range []url.Values{{"key": {key}}, {"key64": {base64url(key)}}} {
			values, err := url.ParseQuery(values.Encode())
			if err != nil {
				t.Fatal(err)
			}
			if got, err := entryKey("", values); err != nil || string(got) != key {
				t.Fatalf("key %q is read from %v as %q, %v", key, values, got, err)
			}
		}
	})
}

// fuzzToken is the token of the session that FuzzRequest makes: its secret is
// 32 zero bytes.
var fuzzToken = base64.RawURLEncoding.EncodeToString(append([]byte{0x01, 0x99, 0, 0, 0, 0, 0x70, 0, 0x80, 0, 0, 0, 0, 0, 0, 0}, make([]byte, 32)...))

// FuzzRequest: no request makes the handler panic, fail in a way that it does
// not know, or answer an error that is not a problem.
func FuzzRequest(f *testing.F) {
	for _, seed := range [][4]string{
		{"GET", "/get?key=a", "", ""}, {"POST", "/set?key=a&ttl=1", "", "v"}, {"PUT", "/v1/caches/db0/entries/a%00", `If-Match: "1"`, "v"},
		{"DELETE", "/v1/caches/db0/entries//", "If-Match: *", ""}, {"POST", "/v1/caches/db0/entries/n/increment?delta=5", "", ""},
		{"POST", "/v1/caches/db0/get-many", jsonType, `{"keys":["a"]}`}, {"POST", "/v1/caches/db0/set-many", jsonType, `{"entries":[{"key":"a","value":"v"}],"ttl":1}`},
		{"GET", "*", "", ""}, {"GET", "//get?key=a", "", ""}, {"GET", "http://localhost/get?key=a", "", ""},
		{"GET", "/v1/caches/db0/entries?prefix=a&cursor=1", "", ""}, {"PATCH", "/v1/caches/db0", jsonType, `{"max_ttl":"1h"}`},
		{"POST", "/v1/sessions", admin + "\r\n" + jsonType, `{"user":"ada","payload":{"a":1},"ip":"::1","user_agent":"x"}`},
		{"GET", "/v1/sessions?user=ada", admin, ""}, {"GET", "/v1/sessions?count=2&cursor=01990000-0000-7000-8000-000000000000", admin, ""},
		{"DELETE", "/v1/sessions?user=ada", admin, ""}, {"DELETE", "/v1/sessions/01990000-0000-7000-8000-000000000000", admin, ""},
		{"GET", "/v1/sessions/current", as(fuzzToken), ""}, {"PATCH", "/v1/sessions/current", as(fuzzToken) + "\r\n" + jsonType, `{"a":{"b":[1]},"c":null}`},
		{"POST", "/v1/sessions/current/rotate", as(fuzzToken), ""}, {"DELETE", "/v1/sessions/current", as(fuzzToken), ""},
	} {
		f.Add(seed[0], seed[1], seed[2], seed[3])
	}
	o := Options{DB: (*core.DB)(openDB(f, pgtest.New(f)))}
	withSessions(f)(&o)
	// A session that is there; a request may change and end it.
	_, err := o.DB.Pool().Exec(f.Context(), `SELECT howdah.session_create('01990000-0000-7000-8000-000000000000', sha256($1), 'ada')`, make([]byte, 32))
	require.NoError(f, err)
	handler := New(o)
	f.Fuzz(func(t *testing.T, method, target, header, body string) {
		if strings.ContainsAny(method+target, " \r\n") || method == "CONNECT" || strings.Contains(header, "\n\n") {
			return
		}
		request, err := http.ReadRequest(bufio.NewReader(strings.NewReader(
			method + " " + target + " HTTP/1.1\r\nHost: localhost\r\n" + header + "\r\n\r\n")))
		if err != nil {
			return
		}
		request.Body, request.ContentLength = io.NopCloser(strings.NewReader(body)), int64(len(body))
		recorder := httptest.NewRecorder()
		handler.ServeHTTP(recorder, request)
		isProblem := recorder.Header().Get("Content-Type") == "application/problem+json"
		if recorder.Code == http.StatusInternalServerError || isProblem != (recorder.Code >= 400) {
			t.Fatalf("%s %s: %d %s", method, target, recorder.Code, recorder.Body)
		}
	})
}

// FuzzPath: no path panics, and a key that is taken from one is the path's own
// text.
func FuzzPath(f *testing.F) {
	for _, path := range []string{"/v1/caches/db0/entries/a%2fb", "/v1/caches//entries/", "/v1/caches/db0/hashes/a/b", "/v1/caches/%zz/entries/%", "/entries/"} {
		f.Add(path)
	}
	f.Fuzz(func(t *testing.T, path string) {
		cache, segment, encoded, ok := cutEntry(path)
		if !ok {
			return
		}
		if !strings.HasSuffix(path, "/"+segment+"/"+encoded) {
			t.Fatalf("cutEntry(%q) = %q, %q", path, cache, encoded)
		}
		if key, err := entryKey(encoded, nil); err == nil && len(key) > len(encoded) {
			t.Fatalf("key %q of %q grew", key, encoded)
		}
	})
}

// FuzzTTL: what is read as a TTL is positive, and what is written of it is
// read as the same, to the unit that is written.
func FuzzTTL(f *testing.F) {
	for _, text := range []string{"10m", "600", "0.5", "none", "0", "-1", "1e9", "9223372036.854775807", "0.0000000001"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		ttl, err := parseTTL(text)
		if err != nil {
			return
		}
		if ttl <= 0 {
			t.Fatalf("parseTTL(%q) = %v", text, ttl)
		}
		if again, err := parseTTL(ttlText(ttl)); err != nil || again != ttl {
			t.Fatalf("%v is written %q and read as %v, %v", ttl, ttlText(ttl), again, err)
		}
		if ttl > maxHeaderTTL {
			return
		}
		again, err := parseTTL(ttlSeconds(ttl))
		if err != nil || again < ttl || again-ttl >= 2_000_000 {
			t.Fatalf("%v is written %q and read as %v, %v", ttl, ttlSeconds(ttl), again, err)
		}
	})
}

// maxHeaderTTL is where decimal seconds reach the end of a time.Duration.
const maxHeaderTTL = 9_000_000_000 * 1_000_000_000

// FuzzLoneSurrogate: text that is let through is decoded without a
// replacement character that was not written.
func FuzzLoneSurrogate(f *testing.F) {
	for _, body := range []string{`"\ud83d\ude00"`, `"\ud800"`, `"\\ud800"`, `"\udc00\ud800"`, `"\ud800\u0041"`, `"\uD83D\\uDE00"`, `"\u`, `\`} {
		f.Add(body)
	}
	f.Fuzz(func(t *testing.T, body string) {
		var text string
		if !utf8.ValidString(body) || strings.ContainsRune(body, utf8.RuneError) || strings.Contains(strings.ToLower(body), `\ufffd`) {
			return
		}
		lone := loneSurrogate([]byte(body))
		if json.Unmarshal([]byte(body), &text) != nil {
			return
		}
		if replaced := strings.ContainsRune(text, utf8.RuneError); replaced != lone {
			t.Fatalf("%q: lone surrogate %v, decoded as %q", body, lone, text)
		}
	})
}
