package server

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/howdah/howdah/internal/test/await"
	"github.com/howdah/howdah/internal/test/pgtest"
	"github.com/howdah/howdah/session"
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
	t.Parallel()
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
	t.Parallel()
	s := start(t, nil)
	status, body := s.call("POST", "/v1/sessions", "", `{"user":"ada"}`)
	require.Equal(t, 403, status)
	require.Contains(t, body, "--session-token-file")
	status, _ = s.call("GET", "/v1/sessions/current", "x", "")
	require.Equal(t, 401, status)
}

func TestSessionTokenErrors(t *testing.T) {
	t.Parallel()
	for want, c := range map[string]Config{
		"two tokens": {HTTPAddr: "127.0.0.1:0", Token: "same", SessionToken: "same"},
		"http-addr":  {RedisAddr: "127.0.0.1:0", SessionToken: "m4nage"},
		// The token of the caches is needed all the same.
		"token-file": {HTTPAddr: "0.0.0.0:0", SessionToken: "m4nage"},
	} {
		c.DatabaseURL = "postgres://127.0.0.1:1/never"
		require.ErrorContains(t, Run(t.Context(), c), want)
	}
}

// TestSessionMetrics: what was done is counted, and neither a token nor an id
// nor a user is in the metrics or in the log. A primary serves reads as well as
// a standby.
func TestSessionMetrics(t *testing.T) {
	t.Parallel()
	databaseURL := pgtest.New(t)
	s := start(t, func(c *Config) {
		c.DatabaseURL, c.SessionToken = databaseURL, "m4nage"
		c.Timeout = 20 * time.Second
		c.Sessions = session.Options{
			ReadURLs: []string{databaseURL}, MaxStaleness: time.Second, UserLimit: 2,
			FlushInterval: 10 * time.Millisecond, ExpireInterval: 10 * time.Millisecond,
		}
	})
	made := make([]struct{ Token, ID string }, 2)
	for i := range made {
		status, body := s.call("POST", "/v1/sessions", "m4nage", `{"user":"ada.lovelace","payload":{"pin":"s3cret-pin"}}`)
		require.Equal(t, 201, status, body)
		require.NoError(t, json.Unmarshal([]byte(body), &made[i]))
	}
	status, body := s.call("POST", "/v1/sessions", "m4nage", `{"user":"ada.lovelace"}`)
	require.Equal(t, 409, status, body)
	conn, err := pgx.Connect(t.Context(), databaseURL)
	require.NoError(t, err)
	defer conn.Close(context.Background())
	metrics := func() string {
		status, body := s.call("GET", "/metrics", "", "")
		require.Equal(t, 200, status)
		return body
	}
	value := func(name string) (v float64) {
		for line := range strings.Lines(metrics()) {
			if rest, ok := strings.CutPrefix(line, name+" "); ok {
				v, err := strconv.ParseFloat(strings.TrimSpace(rest), 64)
				require.NoError(t, err)
				return v
			}
		}
		return -1
	}
	awaitMetric := func(name string, do func()) {
		t.Helper()
		await.True(t, name, func() bool {
			if value(name) >= 1 {
				return true
			}
			do()
			return false
		})
	}
	read := func(want int, token string) func() {
		return func() {
			status, body := s.call("GET", "/v1/sessions/current", token, "")
			require.Equal(t, want, status, body)
		}
	}
	config, err := pgx.ParseConfig(databaseURL)
	require.NoError(t, err)
	standby := fmt.Sprintf("howdah_session_standby_reads_total{result=%%q,standby=%q}", net.JoinHostPort(config.Host, fmt.Sprint(config.Port)))
	awaitMetric(fmt.Sprintf(standby, "served"), read(200, made[0].Token))
	awaitMetric(`howdah_session_reads_total{result="found"}`, func() {})
	awaitMetric(`howdah_session_reads_total{result="malformed"}`, read(401, "nonsense"))
	wrong := []byte(made[0].Token)
	swap := func(i int) { wrong[i] = map[bool]byte{true: 'B', false: 'C'}[wrong[i] == 'C'] } // still of the alphabet
	swap(40)
	awaitMetric(`howdah_session_reads_total{result="wrong_secret"}`, read(401, string(wrong)))
	awaitMetric(fmt.Sprintf(standby, "missed"), read(401, string(wrong)))
	swap(19) // within the id
	awaitMetric(`howdah_session_reads_total{result="unknown"}`, read(401, string(wrong)))
	_, err = conn.Exec(t.Context(), "UPDATE howdah.session SET idle_expires_at = now() + interval '15 minutes' WHERE id = $1", made[0].ID)
	require.NoError(t, err)
	awaitMetric(`howdah_session_uses_total{outcome="written"}`, read(200, made[0].Token))
	awaitMetric(`howdah_session_flushes_total`, func() {})
	require.Positive(t, value("howdah_session_flush_seconds_total"))
	_, err = conn.Exec(t.Context(), "ANALYZE howdah.session")
	require.NoError(t, err)
	awaitMetric("howdah_sessions", func() {})
	status, body = s.call("POST", "/v1/sessions/current/rotate", made[0].Token, "")
	require.Equal(t, 200, status, body)
	var next struct{ Token string }
	require.NoError(t, json.Unmarshal([]byte(body), &next))
	status, _ = s.call("DELETE", "/v1/sessions/"+made[1].ID, "m4nage", "")
	require.Equal(t, 204, status)
	for name, want := range map[string]float64{
		"howdah_sessions_created_total": 2, "howdah_sessions_rotated_total": 1, "howdah_sessions_revoked_total": 1,
	} {
		require.Equal(t, want, value(name), name)
	}
	said := metrics()
	require.NoError(t, s.stop())
	for _, text := range []string{said, s.log.String()} {
		for _, secret := range []string{
			made[0].Token, made[0].Token[22:], made[1].Token[22:], next.Token[22:], string(wrong[22:]),
			made[0].ID, made[1].ID, "ada.lovelace", "s3cret-pin", "m4nage", config.Password,
		} {
			require.NotContains(t, text, secret)
		}
	}
	require.Contains(t, s.log.String(), "reading from a standby")
}
