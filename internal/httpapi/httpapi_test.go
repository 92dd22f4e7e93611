package httpapi

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/howdah/howdah"
	"github.com/howdah/howdah/internal/core"
	"github.com/howdah/howdah/internal/test/pgtest"
)

func TestMain(m *testing.M) { pgtest.Main(m) }

// openDB gives calls more time than the default, for a busy test machine.
func openDB(t testing.TB, url string) *howdah.DB {
	t.Helper()
	db, err := howdah.Open(t.Context(), url, &howdah.Options{Timeout: 10 * time.Second})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	return db
}

// client is an HTTP client of a server under test.
type client struct {
	t   testing.TB
	url string
	db  *howdah.DB
}

// serve starts a server on a fresh database.
func serve(t testing.TB, change func(*Options)) *client {
	t.Helper()
	o := Options{DB: (*core.DB)(openDB(t, pgtest.New(t)))}
	if change != nil {
		change(&o)
	}
	server := httptest.NewServer(New(o))
	t.Cleanup(server.Close)
	return &client{t: t, url: server.URL, db: (*howdah.DB)(o.DB)}
}

// answer is a response that was read to its end.
type answer struct {
	status int
	header http.Header
	body   string
}

// do sends a request; header lines are "Name: value". Redirects are answers.
func (c *client) do(method, path, body string, header ...string) answer {
	c.t.Helper()
	request, err := http.NewRequestWithContext(c.t.Context(), method, c.url+path, strings.NewReader(body))
	require.NoError(c.t, err)
	for _, line := range header {
		name, value, _ := strings.Cut(line, ": ")
		if name == "Host" {
			request.Host = value
		}
		request.Header.Add(name, value)
	}
	response, err := http.DefaultTransport.RoundTrip(request)
	require.NoError(c.t, err)
	defer response.Body.Close()
	content, err := io.ReadAll(response.Body)
	require.NoError(c.t, err)
	a := answer{response.StatusCode, response.Header, string(content)}
	require.Equal(c.t, "nosniff", a.header.Get("X-Content-Type-Options"))
	require.Equal(c.t, "no-store", a.header.Get("Cache-Control"))
	require.Empty(c.t, a.header.Get("Access-Control-Allow-Origin"))
	return a
}

func (c *client) json(method, path, body string, header ...string) answer {
	c.t.Helper()
	return c.do(method, path, body, append(header, "Content-Type: application/json")...)
}

// want fails unless the status is this.
func (a answer) want(t testing.TB, status int) answer {
	t.Helper()
	require.Equal(t, status, a.status, a.body)
	return a
}

// problem fails unless the answer is this problem, complete and of use.
func (a answer) problem(t testing.TB, status int, code string) answer {
	t.Helper()
	require.Equal(t, status, a.status, a.body)
	require.Equal(t, "application/problem+json", a.header.Get("Content-Type"))
	var p struct {
		Type, Title, Detail, Code string
		Status                    int
	}
	decoder := json.NewDecoder(strings.NewReader(a.body))
	decoder.DisallowUnknownFields()
	require.NoError(t, decoder.Decode(&p), a.body)
	require.Equal(t, code, p.Code, a.body)
	require.Equal(t, problemTypes+code, p.Type)
	require.Equal(t, status, p.Status)
	require.NotEmpty(t, p.Title)
	require.True(t, strings.HasSuffix(p.Detail, "."), "detail is no sentence: %q", p.Detail)
	return a
}

func entryPath(cache, key string) string {
	return "/v1/caches/" + cache + "/entries/" + url.PathEscape(key)
}

func TestSimpleRoutes(t *testing.T) {
	t.Parallel()
	c := serve(t, nil)
	c.do("GET", "/get?key=greeting", "").problem(t, 404, "key-not-found")
	c.do("POST", "/set?key=greeting&ttl=60", "hello").want(t, 204)
	got := c.do("GET", "/get?key=greeting", "").want(t, 200)
	require.Equal(t, "hello", got.body)
	require.Equal(t, "application/octet-stream", got.header.Get("Content-Type"))
	require.Regexp(t, `^(5\d|60)\.\d{3}$`, got.header.Get("Howdah-TTL"))
	require.Empty(t, c.do("HEAD", "/get?key=greeting", "").want(t, 200).body)

	c.do("PUT", "/set?key=greeting&ttl=none", "bye").want(t, 204)
	got = c.do("GET", "/get?key=greeting&cache=db0", "").want(t, 200)
	require.Equal(t, "bye", got.body)
	require.Equal(t, "none", got.header.Get("Howdah-TTL"))
	c.do("GET", "/get?key=greeting", "", "If-None-Match: "+got.header.Get("ETag")).want(t, 304)

	c.do("POST", "/set?key=&ttl=", "empty key, default TTL").want(t, 204)
	require.Equal(t, "empty key, default TTL", c.do("GET", "/get?key=", "").want(t, 200).body)
	c.do("POST", "/set?key64=AP8", "").want(t, 204)
	require.Empty(t, c.do("GET", "/get?key64=AP8%3D", "").want(t, 200).body)

	// The same entries as by the long path and as the library has them.
	require.Equal(t, "bye", c.do("GET", entryPath("db0", "greeting"), "").want(t, 200).body)
	value, err := c.db.Cache("db0").Get(t.Context(), "\x00\xff")
	require.NoError(t, err)
	require.Empty(t, value)
}

func TestEntry(t *testing.T) {
	t.Parallel()
	c := serve(t, nil)
	path := entryPath("db0", "k")
	c.do("GET", path, "").problem(t, 404, "key-not-found")
	c.do("HEAD", path, "").want(t, 404)
	c.do("DELETE", path, "").problem(t, 404, "key-not-found")

	created := c.do("PUT", path+"?ttl=1h", "one").want(t, 201)
	got := c.do("GET", path, "").want(t, 200)
	require.Equal(t, "one", got.body)
	require.Equal(t, created.header.Get("ETag"), got.header.Get("ETag"))
	require.Equal(t, `"`+got.header.Get("Howdah-Version")+`"`, got.header.Get("ETag"))
	require.Regexp(t, `^(35\d\d|3600)\.\d{3}$`, got.header.Get("Howdah-TTL"))

	replaced := c.do("PUT", path, "two", "Howdah-TTL: 90").want(t, 204)
	require.NotEqual(t, created.header.Get("ETag"), replaced.header.Get("ETag"))
	head := c.do("HEAD", path, "").want(t, 200)
	require.Equal(t, replaced.header.Get("ETag"), head.header.Get("ETag"))
	require.Equal(t, "3", head.header.Get("Content-Length"))
	require.Regexp(t, `^([78]\d|90)\.\d{3}$`, head.header.Get("Howdah-TTL"))

	// What a read says of the TTL, a write takes.
	c.do("PUT", path, "three", "Howdah-TTL: "+head.header.Get("Howdah-TTL")).want(t, 204)
	c.do("PUT", path, "", "Howdah-TTL: none").want(t, 204)
	require.Equal(t, "none", c.do("GET", path, "").want(t, 200).header.Get("Howdah-TTL"))

	c.do("DELETE", path, "").want(t, 204)
	c.do("GET", path, "").problem(t, 404, "key-not-found")
	c.do("PUT", path+"?ttl=50ms", "short").want(t, 201)
	require.Eventually(t, func() bool { return c.do("GET", path, "").status == 404 }, time.Minute, 5*time.Millisecond)
}

// awkwardKeys are keys that paths, queries and proxies stumble over.
func awkwardKeys() []string {
	every := make([]byte, 256)
	for i := range every {
		every[i] = byte(i)
	}
	return []string{
		"", "/", "//", "a/b", "a//b", "/a/", ".", "..", "../x", "a/../b", "a/./b", "%", "%2F", "%zz", "a+b", "a b",
		"?ttl=1", "#x", "a&b=c", ";", "käse-象", "\x00", "\xff\xfe", "\r\n", "increment", "a/increment",
		"entries/", "/entries/x", string(every), strings.Repeat("k", howdah.MaxKeyBytes),
	}
}

// TestAwkwardKeys stores under each key by the path, and finds exactly it by
// every other way.
func TestAwkwardKeys(t *testing.T) {
	t.Parallel()
	c := serve(t, nil)
	for i, key := range awkwardKeys() {
		if key == "." || key == ".." {
			continue // clients take these out of a path; see below
		}
		value := "value " + strings.Repeat("x", i)
		c.do("PUT", entryPath("db0", key), value).want(t, 201)
		stored, err := c.db.Cache("db0").Get(t.Context(), key)
		require.NoError(t, err, "%.50q", key)
		require.Equal(t, value, string(stored))
		require.Equal(t, value, c.do("GET", entryPath("db0", key), "").want(t, 200).body)
		require.Equal(t, value, c.do("GET", "/get?key="+url.QueryEscape(key), "").want(t, 200).body)
	}
	n, err := c.db.Cache("db0").Count(t.Context())
	require.NoError(t, err)
	require.EqualValues(t, len(awkwardKeys())-2, n, "a key was stored as another")

	for _, key := range awkwardKeys() {
		path := "/v1/caches/db0/entries/?key64=" + base64url(key)
		c.do("PUT", path, "by key64")
		require.Equal(t, "by key64", c.do("GET", path, "").want(t, 200).body)
		require.Equal(t, "by key64", c.do("GET", "/v1/caches/db0/entries/?key="+url.QueryEscape(key), "").want(t, 200).body)
		c.do("DELETE", path, "").want(t, 204)
		_, err := c.db.Cache("db0").Get(t.Context(), key)
		require.ErrorIs(t, err, howdah.ErrMiss)
	}
}

// TestLiteralSlashes: a key's slashes need no encoding, and nobody is
// redirected to a tidier key.
func TestLiteralSlashes(t *testing.T) {
	t.Parallel()
	c := serve(t, nil)
	for _, key := range []string{"a/b", "a//b", "a/", "//", "http://host/x"} {
		path := "/v1/caches/db0/entries/" + key
		c.do("PUT", path, key).want(t, 201)
		require.Equal(t, key, c.do("GET", path, "").want(t, 200).body)
		stored, err := c.db.Cache("db0").Get(t.Context(), key)
		require.NoError(t, err)
		require.Equal(t, key, string(stored))
	}
}

func TestBinaryAndLargeValues(t *testing.T) {
	t.Parallel()
	c := serve(t, func(o *Options) { o.MaxValueBytes = 2 << 20 })
	value := string(bytes.Repeat([]byte("\x00\xff\r\n<script>"), 100_000))
	c.do("PUT", entryPath("db0", "k"), value, "Content-Type: text/html").want(t, 201)
	got := c.do("GET", entryPath("db0", "k"), "").want(t, 200)
	require.Equal(t, value, got.body)
	require.Equal(t, "application/octet-stream", got.header.Get("Content-Type"), "a stored page must not run")

	c.do("PUT", entryPath("db0", "k"), strings.Repeat("x", 2<<20)).want(t, 204)
	for _, path := range []string{entryPath("db0", "k"), "/set?key=k"} {
		c.do("PUT", path, strings.Repeat("x", 2<<20+1)).problem(t, 413, "too-large")
	}
	require.Len(t, c.do("GET", entryPath("db0", "k"), "").body, 2<<20)
}

// TestEndlessBody: a body without a length is cut off at the limit.
func TestEndlessBody(t *testing.T) {
	t.Parallel()
	c := serve(t, func(o *Options) { o.MaxValueBytes = 1 << 20 })
	endless := io.MultiReader(strings.NewReader("x"), zeros{})
	request, err := http.NewRequestWithContext(t.Context(), "PUT", c.url+entryPath("db0", "k"), endless)
	require.NoError(t, err)
	response, err := http.DefaultTransport.RoundTrip(request)
	if err == nil { // the server may close before the client has read
		require.Equal(t, 413, response.StatusCode)
		require.NoError(t, response.Body.Close())
	}
	_, err = c.db.Cache("db0").Get(t.Context(), "k")
	require.ErrorIs(t, err, howdah.ErrMiss)
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) { clear(p); return len(p), nil }

func TestActions(t *testing.T) {
	t.Parallel()
	c := serve(t, nil)
	path := entryPath("db0", "hits")
	first := c.do("POST", path+"/increment?ttl=1h", "").want(t, 200)
	require.Regexp(t, `^\{"value":1,"version":\d+\}\n$`, first.body)
	require.Regexp(t, `^(35\d\d|3600)\.`, c.do("GET", path, "").header.Get("Howdah-TTL"))
	second := c.do("POST", path+"/increment?delta=-11", "").want(t, 200)
	require.Contains(t, second.body, `"value":-10,`)
	require.NotEqual(t, first.header.Get("ETag"), second.header.Get("ETag"))
	c.do("PUT", path, "-11", "If-Match: "+second.header.Get("ETag")).want(t, 204)

	c.do("PUT", entryPath("db0", "text"), "x").want(t, 201)
	c.do("POST", entryPath("db0", "text")+"/increment", "").problem(t, 409, "not-an-integer")
	c.do("PUT", entryPath("db0", "max"), "9223372036854775807").want(t, 201)
	c.do("POST", entryPath("db0", "max")+"/increment", "").problem(t, 409, "overflow")

	c.do("POST", path+"/expire?ttl=1m", "").want(t, 204)
	require.Regexp(t, `^(5\d|60)\.`, c.do("HEAD", path, "").header.Get("Howdah-TTL"))
	c.do("POST", path+"/touch?ttl=1h", "").want(t, 204)
	require.Regexp(t, `^(35\d\d|3600)\.`, c.do("HEAD", path, "").header.Get("Howdah-TTL"))
	c.do("POST", path+"/touch?ttl=1m", "").want(t, 204) // never shortens
	require.Regexp(t, `^(35\d\d|3600)\.`, c.do("HEAD", path, "").header.Get("Howdah-TTL"))
	for range 2 { // the second time it has none already
		c.do("POST", path+"/expire?ttl=none", "").want(t, 204)
		require.Equal(t, "none", c.do("HEAD", path, "").header.Get("Howdah-TTL"))
	}
	for _, action := range []string{"touch", "expire"} {
		c.do("POST", entryPath("db0", "absent")+"/"+action+"?ttl=1m", "").problem(t, 404, "key-not-found")
		c.do("POST", entryPath("db0", "absent")+"/"+action+"?ttl=none", "").problem(t, 404, "key-not-found")
	}
	// The empty key, and keys that end like an action.
	c.do("POST", "/v1/caches/db0/entries//increment", "").want(t, 200)
	c.do("POST", "/v1/caches/db0/entries/increment?key=", "").want(t, 200)
	for _, action := range []string{"increment", "touch", "expire"} { // which key?
		c.do("POST", "/v1/caches/db0/entries/"+action+"?ttl=1m", "").problem(t, 400, "bad-request")
	}
	got := c.do("GET", "/get?key=", "")
	require.Equal(t, "2", got.body)
	require.Equal(t, "none", got.header.Get("Howdah-TTL"))
	c.do("POST", "/v1/caches/db0/entries/a/increment/increment?delta=7", "").want(t, 200)
	require.Equal(t, "7", c.do("GET", "/get?key=a/increment", "").body)
	c.do("POST", "/v1/caches/db0/entries/increment?key64="+base64url("..")+"&delta=3", "").want(t, 200)
	require.Equal(t, "3", c.do("GET", "/get?key=..", "").body)
}

func TestFlush(t *testing.T) {
	t.Parallel()
	c := serve(t, nil)
	c.do("POST", "/set?key=k", "v").want(t, 204)
	c.do("POST", "/v1/caches/db0/flush", "").want(t, 204)
	c.do("GET", "/get?key=k", "").problem(t, 404, "key-not-found")
	c.do("POST", "/v1/caches/absent/flush", "").problem(t, 404, "cache-not-found")
}
