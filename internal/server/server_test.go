package server

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/howdah/howdah/internal/resp"
	"github.com/howdah/howdah/internal/test/leaks"
	"github.com/howdah/howdah/internal/test/pgtest"
)

// Servers leave no goroutine behind. Tests run at the same time, so that only the end of
// all of them shows it.
func TestMain(m *testing.M) {
	leaks.Exit(pgtest.Run(m),
		// The connections that HTTP clients keep.
		goleak.IgnoreAnyFunction("net/http.(*persistConn).readLoop"),
		goleak.IgnoreAnyFunction("net/http.(*persistConn).writeLoop"))
}

// patience is how long a call or a shutdown may take on a busy machine.
const patience = time.Minute

// running is a server under test.
type running struct {
	t      *testing.T
	config Config
	Addresses
	tls    *tls.Config // of clients; nil: plain
	cancel context.CancelFunc
	ended  chan error
	log    *bytes.Buffer // read it only after stop
}

// start runs a server on free ports over a fresh database, and stops it at the
// end of the test.
func start(t *testing.T, configure func(*Config)) *running {
	t.Helper()
	s := prepare(t, configure)
	s.run()
	return s
}

func prepare(t *testing.T, configure func(*Config)) *running {
	t.Helper()
	config := Config{RedisAddr: "127.0.0.1:0", HTTPAddr: "127.0.0.1:0", Timeout: patience, ShutdownTimeout: patience}
	if configure != nil {
		configure(&config)
	}
	if config.DatabaseURL == "" {
		config.DatabaseURL = pgtest.New(t)
	}
	s := &running{t: t, config: config, ended: make(chan error, 1), log: new(bytes.Buffer)}
	s.config.Logger = slog.New(slog.NewTextHandler(s.log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	return s
}

func (s *running) run() {
	s.t.Helper()
	ready := make(chan Addresses, 1)
	s.config.Ready = func(a Addresses) { ready <- a }
	ctx, cancel := context.WithCancel(context.Background())
	s.cancel = cancel
	go func() { s.ended <- Run(ctx, s.config) }()
	select {
	case s.Addresses = <-ready:
	case err := <-s.ended:
		s.t.Fatalf("Run: %v", err)
	case <-time.After(time.Minute):
		s.t.Fatal("the server was not ready within a minute")
	}
	s.t.Cleanup(func() {
		if s.cancel != nil {
			require.NoError(s.t, s.stop())
		}
	})
}

// stop ends the server and returns what Run returned.
func (s *running) stop() error {
	s.t.Helper()
	s.cancel()
	s.cancel = nil
	select {
	case err := <-s.ended:
		return err
	case <-time.After(s.config.ShutdownTimeout + 30*time.Second):
		s.t.Fatal("Run did not return")
		return nil
	}
}

// drivers runs a test once for each way in which connections are driven, at the same time.
func drivers(t *testing.T, test func(t *testing.T, configure func(*Config))) {
	t.Run("event loop", func(t *testing.T) {
		t.Parallel()
		test(t, func(*Config) {})
	})
	t.Run("goroutines", func(t *testing.T) {
		t.Parallel()
		test(t, func(c *Config) { c.Goroutines = true })
	})
}

// patient are the settings of a go-redis client that waits as long as a busy machine
// needs, and sends a command once.
func patient(o redis.Options) *redis.Options {
	o.DialTimeout, o.ReadTimeout, o.WriteTimeout, o.MaxRetries = patience, patience, patience, -1
	return &o
}

func (s *running) client() *redis.Client {
	c := redis.NewClient(patient(redis.Options{Addr: s.Redis.String(), Password: s.config.Password, TLSConfig: s.tls}))
	s.t.Cleanup(func() { c.Close() })
	return c
}

// rawConn is a bare connection that speaks RESP.
type rawConn struct {
	t *testing.T
	net.Conn
	in *bufio.Reader
}

func (s *running) dial() *rawConn {
	s.t.Helper()
	conn, err := net.Dial("tcp", s.Redis.String())
	require.NoError(s.t, err)
	if s.tls != nil {
		conn = tls.Client(conn, s.tls)
	}
	s.t.Cleanup(func() { conn.Close() })
	require.NoError(s.t, conn.SetDeadline(time.Now().Add(time.Minute)))
	return &rawConn{s.t, conn, bufio.NewReader(conn)}
}

func (c *rawConn) send(args ...string) {
	c.t.Helper()
	_, err := c.Write(resp.AppendCommand(nil, args...))
	require.NoError(c.t, err)
}

func (c *rawConn) reply() resp.Reply {
	c.t.Helper()
	reply, err := resp.ReadReply(c.in)
	require.NoError(c.t, err)
	return reply
}

// closed waits for the server to close the connection.
func (c *rawConn) closed() {
	c.t.Helper()
	rest, err := io.ReadAll(c.in)
	if err != nil && !strings.Contains(err.Error(), "reset") {
		c.t.Fatalf("want the connection closed, got %v", err)
	}
	require.Empty(c.t, string(rest))
}

func (s *running) get(path, token string) (int, string) {
	s.t.Helper()
	scheme := "http"
	if s.tls != nil {
		scheme = "https"
	}
	request, err := http.NewRequest("GET", scheme+"://"+s.HTTP.String()+path, nil)
	require.NoError(s.t, err)
	if token != "" {
		request.Header.Set("Authorization", "Bearer "+token)
	}
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: s.tls, DisableKeepAlives: true}}
	response, err := client.Do(request)
	require.NoError(s.t, err)
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	require.NoError(s.t, err)
	return response.StatusCode, string(body)
}

// awaitReady waits until /readyz answers so: it gives the database a second, which may be too
// little on a busy machine.
func (s *running) awaitReady(status int, content string) {
	s.t.Helper()
	require.Eventually(s.t, func() bool {
		got, body := s.get("/readyz", "")
		return got == status && strings.Contains(body, content)
	}, time.Minute, 10*time.Millisecond, content)
}

func randomBytes(r *rand.Rand, n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(r.Uint32())
	}
	return b
}

func TestGoRedis(t *testing.T) {
	t.Parallel()
	certs := newCertificates(t)
	test := func(t *testing.T, configure func(*Config)) {
		s := start(t, func(c *Config) {
			c.Password = "secret"
			configure(c)
		})
		if s.config.TLSCert != "" {
			s.tls = &tls.Config{RootCAs: certs.pool, ServerName: "localhost"}
		}
		ctx := t.Context()
		c := s.client()
		require.NoError(t, c.Set(ctx, "k", "v", time.Minute).Err())
		require.Equal(t, "v", c.Get(ctx, "k").Val())
		require.ErrorIs(t, c.Get(ctx, "absent").Err(), redis.Nil)

		_, err := c.Pipelined(ctx, func(p redis.Pipeliner) error {
			for i := range 500 {
				p.Set(ctx, fmt.Sprint("key", i), i, 0)
			}
			return nil
		})
		require.NoError(t, err)
		got, err := c.Pipelined(ctx, func(p redis.Pipeliner) error {
			for i := range 500 {
				p.Get(ctx, fmt.Sprint("key", i))
			}
			return nil
		})
		require.NoError(t, err)
		for i, cmd := range got {
			require.Equal(t, fmt.Sprint(i), cmd.(*redis.StringCmd).Val())
		}
		cmds, err := c.TxPipelined(ctx, func(p redis.Pipeliner) error {
			p.Incr(ctx, "n")
			p.Incr(ctx, "n")
			return nil
		})
		require.NoError(t, err)
		require.Equal(t, int64(2), cmds[1].(*redis.IntCmd).Val())

		wrong := redis.NewClient(patient(redis.Options{Addr: s.Redis.String(), Password: "wrong", TLSConfig: s.tls}))
		defer wrong.Close()
		require.ErrorContains(t, wrong.Ping(ctx).Err(), "WRONGPASS")
	}
	drivers(t, test)
	t.Run("tls", func(t *testing.T) {
		test(t, func(c *Config) { c.TLSCert, c.TLSKey = certs.cert, certs.key })
	})
}

func TestClientCertificates(t *testing.T) {
	t.Parallel()
	certs := newCertificates(t)
	s := start(t, func(c *Config) {
		c.TLSCert, c.TLSKey, c.TLSClientCA = certs.cert, certs.key, certs.ca
	})
	s.tls = &tls.Config{RootCAs: certs.pool, ServerName: "localhost"}
	require.Error(t, s.client().Ping(t.Context()).Err(), "without a certificate")

	pair, err := tls.LoadX509KeyPair(certs.cert, certs.key)
	require.NoError(t, err)
	s.tls = &tls.Config{RootCAs: certs.pool, ServerName: "localhost", Certificates: []tls.Certificate{pair}}
	require.NoError(t, s.client().Ping(t.Context()).Err())
	status, _ := s.get("/healthz", "")
	require.Equal(t, http.StatusOK, status)
}

func TestTLSConfigErrors(t *testing.T) {
	t.Parallel()
	certs := newCertificates(t)
	for name, c := range map[string]Config{
		"no such file":   {TLSCert: "/nowhere", TLSKey: certs.key},
		"key mismatched": {TLSCert: certs.cert, TLSKey: certs.ca},
		"not a CA":       {TLSCert: certs.cert, TLSKey: certs.key, TLSClientCA: certs.key},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := c.tls()
			require.ErrorContains(t, err, "tls-")
		})
	}
}
