package server

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/howdah/howdah/internal/pgtest"
)

// call sends a request with a bearer token, and a JSON body if there is one.
func (s *running) call(method, path, token, body string) (status int, answer string) {
	s.t.Helper()
	request, err := http.NewRequestWithContext(s.t.Context(), method, "http://"+s.HTTP.String()+path, strings.NewReader(body))
	require.NoError(s.t, err)
	request.Header.Set("Authorization", "Bearer "+token)
	if body != "" {
		request.Header.Set("Content-Type", "application/json")
	}
	response, err := http.DefaultClient.Do(request)
	require.NoError(s.t, err)
	defer response.Body.Close()
	content, err := io.ReadAll(response.Body)
	require.NoError(s.t, err)
	return response.StatusCode, string(content)
}

// TestSessions: a use is kept in memory and written when the server stops.
func TestSessions(t *testing.T) {
	databaseURL := pgtest.New(t)
	s := start(t, func(c *Config) { c.DatabaseURL, c.Token, c.SessionToken = databaseURL, "c4che", "m4nage" })
	status, body := s.call("POST", "/v1/sessions", "c4che", `{"user":"ada"}`)
	require.Equal(t, 401, status, body)
	status, body = s.call("GET", "/v1/caches", "m4nage", "")
	require.Equal(t, 401, status, body)
	status, _ = s.call("GET", "/metrics", "m4nage", "")
	require.Equal(t, 401, status)
	status, body = s.call("POST", "/v1/sessions", "m4nage", `{"user":"ada"}`)
	require.Equal(t, 201, status, body)
	var made struct{ Token, ID string }
	require.NoError(t, json.Unmarshal([]byte(body), &made))

	conn, err := pgx.Connect(t.Context(), databaseURL)
	require.NoError(t, err)
	defer conn.Close(context.Background())
	left := func() (d time.Duration) {
		t.Helper()
		require.NoError(t, conn.QueryRow(t.Context(), "SELECT idle_expires_at - now() FROM howdah.session WHERE id = $1", made.ID).Scan(&d))
		return d
	}
	_, err = conn.Exec(t.Context(), "UPDATE howdah.session SET idle_expires_at = now() + interval '10 minutes' WHERE id = $1", made.ID)
	require.NoError(t, err)
	status, body = s.call("GET", "/v1/sessions/current", made.Token, "")
	require.Equal(t, 200, status, body)
	require.Less(t, left(), 11*time.Minute, "written at once")
	require.NoError(t, s.stop())
	require.Greater(t, left(), 29*time.Minute, "the use is lost")
	require.NotContains(t, s.log.String(), made.Token[30:])
	require.NotContains(t, s.log.String(), "m4nage")
}

func TestSessionsWithoutToken(t *testing.T) {
	s := start(t, nil)
	status, body := s.call("POST", "/v1/sessions", "", `{"user":"ada"}`)
	require.Equal(t, 403, status)
	require.Contains(t, body, "--session-token-file")
	status, _ = s.call("GET", "/v1/sessions/current", "x", "")
	require.Equal(t, 401, status)
}

func TestSessionTokenErrors(t *testing.T) {
	for want, c := range map[string]Config{
		"two tokens":  {HTTPAddr: "127.0.0.1:0", Token: "same", SessionToken: "same"},
		"--http-addr": {RedisAddr: "127.0.0.1:0", SessionToken: "m4nage"},
		// The token of the caches is needed all the same.
		"--token-file": {HTTPAddr: "0.0.0.0:0", SessionToken: "m4nage"},
	} {
		c.DatabaseURL = "postgres://127.0.0.1:1/never"
		require.ErrorContains(t, Run(t.Context(), c), want)
	}
}
