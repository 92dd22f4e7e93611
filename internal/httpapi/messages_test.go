package httpapi

import (
	"bufio"
	"bytes"
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/howdah/howdah/internal/core"
	"github.com/howdah/howdah/internal/test/pgtest"
)

// running runs the database of a server until the end of the test.
func (c *client) running() {
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- c.db.Run(ctx) }()
	c.t.Cleanup(func() {
		cancel()
		require.NoError(c.t, <-ended)
	})
}

// events subscribes and returns the lines of the stream, once that is confirmed.
func (c *client) events(path string) (next func() string) {
	c.t.Helper()
	request, err := http.NewRequestWithContext(c.t.Context(), http.MethodGet, c.url+path, nil)
	require.NoError(c.t, err)
	response, err := http.DefaultClient.Do(request)
	require.NoError(c.t, err)
	c.t.Cleanup(func() { response.Body.Close() })
	require.Equal(c.t, http.StatusOK, response.StatusCode)
	require.Equal(c.t, "text/event-stream", response.Header.Get("Content-Type"))
	require.Equal(c.t, "no-store", response.Header.Get("Cache-Control"))
	lines := bufio.NewReader(response.Body)
	next = func() string {
		c.t.Helper()
		for {
			line, err := lines.ReadString('\n')
			if err != nil {
				return err.Error()
			}
			if line = strings.TrimSpace(line); line != "" && line != ":" {
				return line
			}
		}
	}
	require.Equal(c.t, ": subscribed", next())
	return next
}

func TestMessages(t *testing.T) {
	t.Parallel()
	url := pgtest.New(t)
	onOne := func(o *Options) { o.DB = (*core.DB)(openDB(t, url)) }
	one, other := serve(t, onOne), serve(t, onOne)
	one.running()
	other.running()
	next := one.events("/v1/subscribe?channel=a&channel=b%00&pattern=p*&pattern=%5B%FF%5D")
	require.JSONEq(t, `{"receivers":1}`, one.do("POST", "/v1/publish?channel=a", "1").want(t, http.StatusOK).body)
	require.JSONEq(t, `{"receivers":0}`, other.do("POST", "/v1/publish?channel=a", "2\n3").want(t, http.StatusOK).body)
	other.do("POST", "/v1/publish?channel=b%00", "").want(t, http.StatusOK)
	other.do("POST", "/v1/publish?channel=pq", "\xff").want(t, http.StatusOK)
	other.do("POST", "/v1/publish?channel=%FF", "x").want(t, http.StatusOK)
	other.do("POST", "/v1/publish?channel=none", "x").want(t, http.StatusOK)
	other.do("POST", "/v1/publish?channel=a", "end").want(t, http.StatusOK)
	for _, want := range []string{
		`data: {"channel":"a","message":"1"}`,
		`data: {"channel":"a","message":"2\n3"}`,
		`data: {"channel":"b\u0000","message":""}`,
		`data: {"channel":"cHE=","pattern":"cCo=","message":"/w==","encoding":"base64"}`,
		`data: {"channel":"/w==","pattern":"W/9d","message":"eA==","encoding":"base64"}`,
		`data: {"channel":"a","message":"end"}`,
	} {
		require.Equal(t, want, next())
	}
}

// A client that leaves leaves nothing behind, and a stream ends when the server stops.
func TestStreamsEnd(t *testing.T) {
	t.Parallel()
	o := Options{DB: (*core.DB)(openDB(t, pgtest.New(t)))}
	api := New(o)
	server := httptest.NewServer(api)
	defer server.Close()
	db := o.DB
	ctx, cancel := context.WithCancel(t.Context())
	c := &client{t: t, url: server.URL}
	ended := make(chan error, 1)
	running, stop := context.WithCancel(t.Context())
	go func() { ended <- db.Run(running) }()
	defer func() { stop(); <-ended }()

	request, err := http.NewRequestWithContext(ctx, http.MethodGet, server.URL+"/v1/subscribe?channel=c", nil)
	require.NoError(t, err)
	response, err := http.DefaultClient.Do(request)
	require.NoError(t, err)
	require.Equal(t, 1, db.Hub().Subscribers(0, []byte("c")))
	cancel()
	response.Body.Close()
	require.Eventually(t, func() bool { return db.Hub().Subscribers(0, []byte("c")) == 0 }, time.Minute, time.Millisecond)
	next := c.events("/v1/subscribe?channel=c")
	api.EndStreams()
	require.Equal(t, "EOF", next())
}

// A client that does not read is told so when it does, and cannot fill the server's memory.
func TestSlowStream(t *testing.T) {
	t.Parallel()
	var logged bytes.Buffer
	c := serve(t, func(o *Options) {
		o.DB = (*core.DB)(openDB(t, pgtest.New(t)))
		o.Logger = slog.New(slog.NewTextHandler(&logged, nil))
	})
	c.running()
	next := c.events("/v1/subscribe?channel=c")
	message := strings.Repeat("x", 1<<20)
	sent := 0
	for ; sent < 100; sent++ {
		if c.do("POST", "/v1/publish?channel=c", message).want(t, http.StatusOK).body == "{\"receivers\":0}\n" {
			break
		}
	}
	require.Less(t, sent, 100)
	require.GreaterOrEqual(t, sent, maxStreamBytes>>20)
	read := 0
	line := next()
	for ; strings.HasPrefix(line, `data: {"channel":"c","message":"xxx`); line = next() {
		read++
	}
	require.Positive(t, read)
	require.Equal(t, "event: overloaded", line)
	require.Equal(t, "data: messages came faster than they were read", next())
	require.Equal(t, "EOF", next())
	require.Contains(t, logged.String(), "closing a stream of messages")
}

func TestMessagesRefused(t *testing.T) {
	t.Parallel()
	c := serve(t, func(o *Options) { o.MaxValueBytes = 10 })
	c.do("POST", "/v1/publish", "x").problem(t, http.StatusBadRequest, "bad-request")
	c.do("POST", "/v1/publish?channel=a&channel=b", "x").problem(t, http.StatusBadRequest, "bad-request")
	c.do("POST", "/v1/publish?channel=a&pattern=b", "x").problem(t, http.StatusBadRequest, "bad-request")
	c.do("POST", "/v1/publish?channel=a", "12345678901").problem(t, http.StatusRequestEntityTooLarge, "too-large")
	c.do("POST", "/v1/publish?channel="+strings.Repeat("x", core.MaxChannelBytes+1), "").problem(t, http.StatusBadRequest, "key-too-long")
	c.do("GET", "/v1/publish?channel=a", "").problem(t, http.StatusMethodNotAllowed, "method-not-allowed")
	c.do("GET", "/v1/subscribe", "").problem(t, http.StatusBadRequest, "bad-request")
	c.do("GET", "/v1/subscribe?chanel=a", "").problem(t, http.StatusBadRequest, "bad-request")
	c.do("GET", "/v1/subscribe?channel=a&pattern="+strings.Repeat("x", core.MaxPatternBytes+1), "").problem(t, http.StatusBadRequest, "key-too-long")
}
