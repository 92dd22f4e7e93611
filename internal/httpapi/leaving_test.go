package httpapi

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/howdah/howdah/internal/core"
	"github.com/howdah/howdah/internal/fault"
	"github.com/howdah/howdah/internal/test/pgtest"
)

// A client that stops waiting is not told that its call was done, and the log is
// not told of it at all.
func TestClientThatLeaves(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	db := openDB(t, pgtest.New(t))
	require.NoError(t, db.Cache("db0").Set(t.Context(), "k", []byte("v"), 0))
	handler := New(Options{DB: (*core.DB)(db), Logger: slog.New(slog.NewTextHandler(&log, nil))})
	left, leave := context.WithCancel(t.Context())
	leave()
	for _, one := range []struct{ method, path, body string }{
		{"GET", "/get?key=k", ""}, {"GET", entryPath("db0", "k"), ""}, {"HEAD", entryPath("db0", "k"), ""}, {"GET", "/v1/caches", ""},
		{"POST", "/set?key=k", "w"}, {"PUT", entryPath("db0", "k"), "w"}, {"DELETE", entryPath("db0", "k"), ""},
		{"POST", entryPath("db0", "n") + "/increment", ""},
	} {
		recorder := httptest.NewRecorder()
		handler.ServeHTTP(recorder, httptest.NewRequest(one.method, "http://localhost"+one.path, strings.NewReader(one.body)).WithContext(left))
		answer{recorder.Code, recorder.Header(), recorder.Body.String()}.problem(t, statusClientClosed, "caller-left")
	}
	value, err := db.Cache("db0").Get(t.Context(), "k")
	require.NoError(t, err)
	require.Equal(t, "v", string(value))
	require.Empty(t, log.String())
}

// Where the write of a client that left had been sent, its outcome is unknown. The
// same error of a request that goes on is for the log.
func TestUnknownOutcomeOfClientThatLeaves(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	a := &api{log: slog.New(slog.NewTextHandler(&log, nil))}
	left, leave := context.WithCancel(t.Context())
	leave()
	fail := func(ctx context.Context, err error) answer {
		recorder := httptest.NewRecorder()
		a.fail(recorder, httptest.NewRequest("PUT", "/", nil).WithContext(ctx), err)
		return answer{recorder.Code, recorder.Header(), recorder.Body.String()}
	}
	unknown := fmt.Errorf("%w: %w", fault.ErrUnknownOutcome, context.Canceled)
	fail(left, unknown).problem(t, http.StatusGatewayTimeout, "outcome-unknown")
	fail(left, context.Canceled).problem(t, statusClientClosed, "caller-left")
	require.Empty(t, log.String())
	fail(t.Context(), unknown).problem(t, http.StatusGatewayTimeout, "outcome-unknown")
	require.Contains(t, log.String(), "code=outcome-unknown")
	fail(t.Context(), context.Canceled).problem(t, http.StatusInternalServerError, "internal")
	require.Contains(t, log.String(), "code=internal")
}

// A client that closes its own side of the connection still reads the answer,
// which must not be that its write was done while another transaction holds the
// row.
func TestClientThatClosesItsSide(t *testing.T) {
	t.Parallel()
	c := serve(t, nil)
	require.NoError(t, c.db.Cache("db0").Set(t.Context(), "k", []byte("v"), 0))
	tx, err := c.db.Pool().Begin(t.Context())
	require.NoError(t, err)
	defer tx.Rollback(context.Background())
	require.NoError(t, c.db.Cache("db0").With(tx).Set(t.Context(), "k", []byte("held"), 0))

	conn, err := net.Dial("tcp", strings.TrimPrefix(c.url, "http://"))
	require.NoError(t, err)
	defer conn.Close()
	require.NoError(t, conn.SetDeadline(time.Now().Add(time.Minute)))
	_, err = fmt.Fprintf(conn, "PUT %s HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1\r\n\r\nw", entryPath("db0", "k"))
	require.NoError(t, err)
	require.Eventually(t, func() bool {
		var waits bool
		err := c.db.Pool().QueryRow(t.Context(), "SELECT EXISTS (SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock')").Scan(&waits)
		return err == nil && waits
	}, time.Minute, time.Millisecond)
	require.NoError(t, conn.(*net.TCPConn).CloseWrite())
	response, err := http.ReadResponse(bufio.NewReader(conn), nil)
	require.NoError(t, err)
	body, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	got := answer{response.StatusCode, response.Header, string(body)}
	if got.status == statusClientClosed { // the write was not sent, or did nothing
		got.problem(t, statusClientClosed, "caller-left")
		return
	}
	got.problem(t, http.StatusGatewayTimeout, "outcome-unknown")
}
