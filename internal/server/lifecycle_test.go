package server

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/howdah/howdah/internal/embedded"
	"github.com/howdah/howdah/internal/resp"
	"github.com/howdah/howdah/internal/test/pgtest"
)

// Every command that the server took before a shutdown is answered, truly: the
// database holds as many keys as there were replies.
func TestShutdownUnderLoad(t *testing.T) {
	t.Parallel()
	drivers(t, func(t *testing.T, configure func(*Config)) {
		s := start(t, func(c *Config) {
			c.Timeout, c.ShutdownTimeout = 30*time.Second, 30*time.Second
			configure(c)
		})
		// What waits for an answer is bounded: a slow machine must answer it in time.
		const clients, batch, batches = 20, 16, 32
		var (
			answered    atomic.Int64
			work, begun sync.WaitGroup
		)
		begun.Add(clients)
		for i := range clients {
			c := s.dial()
			unanswered, over := make(chan struct{}, batches), make(chan struct{})
			work.Go(func() { // sends as fast as it is taken
				for n := 0; ; {
					select {
					case unanswered <- struct{}{}:
					case <-over:
						return
					}
					var commands []byte
					for range batch {
						commands = resp.AppendCommand(commands, "SET", fmt.Sprintf("%d:%d", i, n), "v")
						n++
					}
					if _, err := c.Write(commands); err != nil {
						return
					}
				}
			})
			work.Go(func() {
				begin := sync.OnceFunc(begun.Done)
				defer begin()
				defer close(over)
				for n := 1; ; n++ {
					reply, err := resp.ReadReply(c.in)
					if err != nil {
						return
					}
					if string(reply.Str) != "OK" {
						t.Errorf("client %d: reply %d is %q", i, n, reply.Str)
						return
					}
					answered.Add(1)
					if n%batch == 0 {
						<-unanswered
					}
					if n == 100 {
						begin()
					}
				}
			})
		}
		begun.Wait()
		require.NoError(t, s.stop())
		work.Wait()

		conn, err := pgx.Connect(t.Context(), s.config.DatabaseURL)
		require.NoError(t, err)
		defer conn.Close(context.Background())
		var stored int64
		require.NoError(t, conn.QueryRow(t.Context(), "SELECT howdah.count('db0')").Scan(&stored))
		require.Equal(t, stored, answered.Load(), "keys in the database, replies")
	})
}

// A shutdown does not wait for ever for a client that takes no replies.
func TestShutdownCutsOff(t *testing.T) {
	t.Parallel()
	drivers(t, func(t *testing.T, configure func(*Config)) {
		s := start(t, func(c *Config) {
			c.ShutdownTimeout = time.Second
			configure(c)
		})
		c := s.dial()
		c.send("SET", "k", strings.Repeat("v", 1<<20))
		require.Equal(t, "OK", string(c.reply().Str))
		for range 64 {
			c.send("GET", "k")
		}
		_, err := c.in.Peek(1) // replies are on their way, and stay there
		require.NoError(t, err)
		require.ErrorContains(t, s.stop(), "shutdown-timeout")
	})
}

// A client that has not completed its TLS handshake does not hold a shutdown up.
func TestShutdownDuringHandshake(t *testing.T) {
	t.Parallel()
	certs := newCertificates(t)
	s := start(t, func(c *Config) { c.TLSCert, c.TLSKey = certs.cert, certs.key })
	s.tls = &tls.Config{RootCAs: certs.pool, ServerName: "localhost"}
	require.Eventually(t, func() bool {
		silent, err := net.Dial("tcp", s.Redis.String()) // another one: a handshake has ten seconds
		if err != nil {
			return false
		}
		t.Cleanup(func() { silent.Close() })
		_, metrics := s.get("/metrics", "")
		return strings.Contains(metrics, "\nhowdah_redis_clients ") && !strings.Contains(metrics, "\nhowdah_redis_clients 0\n")
	}, time.Minute, 10*time.Millisecond)
	require.NoError(t, s.stop())
}

func TestShutdownOfIdleServer(t *testing.T) {
	t.Parallel()
	s := start(t, nil)
	idle := s.dial()
	idle.send("PING")
	idle.reply()
	require.NoError(t, s.stop()) // not after its timeout, which is an error
	idle.closed()
	_, err := net.Dial("tcp", s.Redis.String())
	require.Error(t, err)
}

// The database is killed under load and started again: every call ends in
// time, no reply is wrong, and service resumes by itself.
func TestDatabaseKilled(t *testing.T) {
	t.Parallel()
	postgres := pgtest.Own(t)
	s := start(t, func(c *Config) { c.DatabaseURL, c.Timeout = postgres.NewURL(), time.Second })
	ctx := t.Context()

	var (
		work                 sync.WaitGroup
		stop                 atomic.Bool
		served, failed, late atomic.Int64
	)
	for i := range 20 {
		c := redis.NewClient(&redis.Options{Addr: s.Redis.String(), MaxRetries: -1, ReadTimeout: time.Minute})
		t.Cleanup(func() { c.Close() })
		work.Go(func() {
			for n := 0; !stop.Load(); n++ {
				key, value := fmt.Sprintf("key-%d-%d", i, n), fmt.Sprint(n)
				err := c.Set(ctx, key, value, 0).Err()
				if errors.Is(err, os.ErrDeadlineExceeded) {
					late.Add(1)
				}
				if err != nil {
					failed.Add(1)
					continue
				}
				// Killed, PostgreSQL empties unlogged tables: a miss is
				// right, another value never is.
				got, err := c.Get(ctx, key).Result()
				if err == nil && got != value {
					t.Errorf("%s is %q, want %q", key, got, value)
				}
				served.Add(1)
			}
		})
	}
	require.Eventually(t, func() bool { return served.Load() > 500 }, time.Minute, 10*time.Millisecond)
	s.awaitReady(http.StatusOK, "ready")

	postgres.Kill()
	require.Eventually(t, func() bool { return failed.Load() > 100 }, time.Minute, 10*time.Millisecond)
	status, body := s.get("/readyz", "")
	require.Equal(t, http.StatusServiceUnavailable, status, body)
	status, _ = s.get("/healthz", "")
	require.Equal(t, http.StatusOK, status)

	postgres.Start()
	resumed := served.Load()
	require.Eventually(t, func() bool { return served.Load() > resumed+500 }, time.Minute, 10*time.Millisecond)
	stop.Store(true)
	work.Wait()
	require.Zero(t, late.Load(), "calls that were not answered within a minute, where the server has a second")
	s.awaitReady(http.StatusOK, "ready")
	t.Logf("%d rounds served, %d failed while the database was away", served.Load(), failed.Load())
}

// What cannot start says why, in one sentence, and what to do.
func TestRefusals(t *testing.T) {
	t.Parallel()
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer taken.Close()
	const free = "127.0.0.1:0"
	url := pgtest.New(t)

	for name, test := range map[string]struct {
		config Config
		want   string
	}{
		"nothing to serve":         {Config{DatabaseURL: url}, "redis-addr or http-addr"},
		"no database":              {Config{RedisAddr: free}, "database-url"},
		"not PostgreSQL":           {Config{RedisAddr: free, DatabaseURL: "mysql://root@localhost"}, "must begin with postgres://"},
		"redis without a password": {Config{RedisAddr: "0.0.0.0:0", DatabaseURL: url}, "password-file"},
		"all addresses":            {Config{RedisAddr: ":0", DatabaseURL: url}, "password-file"},
		"http without a token":     {Config{HTTPAddr: "[::]:0", DatabaseURL: url}, "token-file"},
		"port in use":              {Config{RedisAddr: taken.Addr().String(), DatabaseURL: url}, "already in use"},
		"port in use, http":        {Config{HTTPAddr: taken.Addr().String(), DatabaseURL: url}, "http-addr"},
		"no address":               {Config{RedisAddr: "6379", DatabaseURL: url}, "host:port"},
		"certificate without key":  {Config{RedisAddr: free, DatabaseURL: url, TLSCert: "x"}, "tls-key"},
		"authority alone":          {Config{RedisAddr: free, DatabaseURL: url, TLSClientCA: "x"}, "tls-cert"},
		"one connection":           {Config{RedisAddr: free, DatabaseURL: url, MaxConns: 1}, "max-conns"},
		"pooler":                   {Config{RedisAddr: free, DatabaseURL: url, Pooler: "statement"}, "pooler"},
		"as the program says":      {Config{RedisAddr: free, DatabaseURL: url, MaxConns: 1, OptionName: func(name string) string { return "--" + name }}, "--max-conns must"},
		"too little memory":        {Config{RedisAddr: free, DatabaseURL: url, MaxClientsMemory: 1000}, "max-clients-memory"},
		"too large":                {Config{RedisAddr: free, DatabaseURL: url, MaxRequestBytes: 1 << 30}, "max-request-bytes"},
		"not migrated":             {Config{RedisAddr: free, DatabaseURL: pgtest.Empty(t)}, "howdah migrate --database-url"},
		"no server there":          {Config{RedisAddr: free, DatabaseURL: "postgres://u:hunter2@127.0.0.1:1/d"}, "database"},
	} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
			defer cancel()
			err := Run(ctx, test.config)
			require.ErrorContains(t, err, test.want)
			require.NotContains(t, err.Error(), "\n")
			require.NotContains(t, err.Error(), "hunter2")
		})
	}
}

// Config.Migrate brings an empty database up to date, and only then.
func TestMigrate(t *testing.T) {
	t.Parallel()
	url := pgtest.Empty(t)
	s := start(t, func(c *Config) { c.DatabaseURL, c.Migrate = url, true })
	require.NoError(t, s.client().Set(t.Context(), "k", "v", 0).Err())
	require.NoError(t, s.stop())
}

// embeddedDirs are a data directory that does not exist yet, which an
// unprivileged user can reach, and the cache of downloads.
func embeddedDirs(t *testing.T) (data, cache string) {
	t.Helper()
	parent, err := os.MkdirTemp("/tmp", "howdah-server-")
	require.NoError(t, err)
	require.NoError(t, os.Chmod(parent, 0o755))
	data = filepath.Join(parent, "data")
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		require.NoError(t, embedded.Remove(ctx, data))
		require.NoError(t, os.RemoveAll(parent))
	})
	cache, err = embedded.DefaultCacheDir()
	require.NoError(t, err)
	return data, cache
}

// Without a database of one's own, one is run, and outlives the server's end.
func TestEmbedded(t *testing.T) {
	t.Parallel()
	dir, cache := embeddedDirs(t)
	configure := func(c *Config) { c.DataDir, c.CacheDir = dir, cache }
	for round := range 2 {
		ready, ended := make(chan Addresses, 1), make(chan error, 1)
		config := Config{RedisAddr: "127.0.0.1:0", HTTPAddr: "127.0.0.1:0", Timeout: patience, ShutdownTimeout: patience, Ready: func(a Addresses) { ready <- a }}
		configure(&config)
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		go func() { ended <- Run(ctx, config) }()
		var addresses Addresses
		select {
		case addresses = <-ready:
		case err := <-ended:
			t.Fatal(err)
		}
		c := redis.NewClient(patient(redis.Options{Addr: addresses.Redis.String()}))
		if round == 0 {
			require.NoError(t, c.Set(t.Context(), "k", "v", 0).Err())
			requireNear(t, addresses, c)
		} else {
			// Stopped in order, an unlogged table keeps its rows.
			require.Equal(t, "v", c.Get(t.Context(), "k").Val())
		}
		c.Close()
		cancel()
		require.NoError(t, <-ended)
	}
}

// requireNear checks that entries are kept in memory, of the databases that there
// were and of what is made later.
func requireNear(t *testing.T, addresses Addresses, c *redis.Client) {
	t.Helper()
	info, err := c.Info(t.Context(), "near").Result()
	require.NoError(t, err)
	require.Contains(t, info, "near_bound_ms:100\r\nnear_max_bytes:67108864\r\n")
	three := redis.NewClient(patient(redis.Options{Addr: addresses.Redis.String(), DB: 3}))
	defer three.Close()
	require.NoError(t, three.Set(t.Context(), "k", "v", 0).Err())
	caches := "http://" + addresses.HTTP.String() + "/v1/caches"
	for _, body := range []string{`{"name":"pages"}`, `{"name":"plain","near":false}`} {
		response, err := http.Post(caches, "application/json", strings.NewReader(body))
		require.NoError(t, err)
		require.NoError(t, response.Body.Close())
		require.Equal(t, 201, response.StatusCode)
	}
	require.Equal(t, map[string]bool{"db0": true, "db3": true, "pages": true, "plain": false}, nearOf(t, addresses.HTTP.String()))
}
