package server

import (
	"context"
	"errors"
	"fmt"
	"io"
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
	"github.com/howdah/howdah/internal/pgtest"
	"github.com/howdah/howdah/internal/resp"
)

// Every command that the server took before a shutdown is answered, truly: the
// database holds as many keys as there were replies.
func TestShutdownUnderLoad(t *testing.T) {
	drivers(t, func(t *testing.T, configure func(*Config)) {
		s := start(t, func(c *Config) {
			c.Timeout, c.ShutdownTimeout = 30*time.Second, 30*time.Second
			configure(c)
		})
		const clients = 20
		var (
			answered    atomic.Int64
			work, begun sync.WaitGroup
		)
		begun.Add(clients)
		for i := range clients {
			c := s.dial()
			work.Go(func() { // sends as fast as it is taken
				for n := 0; ; {
					var batch []byte
					for range 16 {
						batch = resp.AppendCommand(batch, "SET", fmt.Sprintf("%d:%d", i, n), "v")
						n++
					}
					if _, err := c.Write(batch); err != nil {
						return
					}
				}
			})
			work.Go(func() {
				begin := sync.OnceFunc(begun.Done)
				defer begin()
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
		began := time.Now()
		require.ErrorContains(t, s.stop(), "--shutdown-timeout")
		require.Less(t, time.Since(began), 5*time.Second)
	})
}

func TestShutdownOfIdleServer(t *testing.T) {
	s := start(t, nil)
	idle := s.dial()
	idle.send("PING")
	idle.reply()
	began := time.Now()
	require.NoError(t, s.stop())
	require.Less(t, time.Since(began), 3*time.Second)
	idle.closed()
	_, err := net.Dial("tcp", s.Redis.String())
	require.Error(t, err)
}

// The database is killed under load and started again: every call ends in
// time, no reply is wrong, and service resumes by itself.
func TestDatabaseKilled(t *testing.T) {
	postgres := pgtest.Own(t)
	s := start(t, func(c *Config) { c.DatabaseURL = postgres.NewURL() })
	s.restarts = true
	ctx := t.Context()

	var (
		work                 sync.WaitGroup
		stop                 atomic.Bool
		served, failed, late atomic.Int64
	)
	for i := range 20 {
		c := redis.NewClient(&redis.Options{Addr: s.Redis.String(), MaxRetries: -1, ReadTimeout: 20 * time.Second})
		t.Cleanup(func() { c.Close() })
		work.Go(func() {
			for n := 0; !stop.Load(); n++ {
				key, value := fmt.Sprintf("key-%d-%d", i, n), fmt.Sprint(n)
				began := time.Now()
				err := c.Set(ctx, key, value, 0).Err()
				if time.Since(began) > 3*time.Second {
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
	require.Eventually(t, func() bool { return served.Load() > 500 }, 30*time.Second, 10*time.Millisecond)
	status, _ := s.get("/readyz", "")
	require.Equal(t, http.StatusOK, status)

	postgres.Kill()
	require.Eventually(t, func() bool { return failed.Load() > 100 }, 30*time.Second, 10*time.Millisecond)
	status, body := s.get("/readyz", "")
	require.Equal(t, http.StatusServiceUnavailable, status, body)
	status, _ = s.get("/healthz", "")
	require.Equal(t, http.StatusOK, status)

	postgres.Start()
	resumed := served.Load()
	require.Eventually(t, func() bool { return served.Load() > resumed+500 }, 30*time.Second, 10*time.Millisecond)
	stop.Store(true)
	work.Wait()
	require.Zero(t, late.Load(), "calls that took more than 3 s")
	status, body = s.get("/readyz", "")
	require.Equal(t, http.StatusOK, status, body)
	t.Logf("%d rounds served, %d failed while the database was away", served.Load(), failed.Load())
}

// What cannot start says why, in one sentence, and what to do.
func TestRefusals(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer taken.Close()
	const free = "127.0.0.1:0"
	url := pgtest.New(t)

	for name, test := range map[string]struct {
		config Config
		want   string
	}{
		"nothing to serve":         {Config{DatabaseURL: url}, "--redis-addr or --http-addr"},
		"no database":              {Config{RedisAddr: free}, "--database-url"},
		"not PostgreSQL":           {Config{RedisAddr: free, DatabaseURL: "mysql://root@localhost"}, "must begin with postgres://"},
		"redis without a password": {Config{RedisAddr: "0.0.0.0:0", DatabaseURL: url}, "--password-file"},
		"all addresses":            {Config{RedisAddr: ":0", DatabaseURL: url}, "--password-file"},
		"http without a token":     {Config{HTTPAddr: "[::]:0", DatabaseURL: url}, "--token-file"},
		"port in use":              {Config{RedisAddr: taken.Addr().String(), DatabaseURL: url}, "already in use"},
		"port in use, http":        {Config{HTTPAddr: taken.Addr().String(), DatabaseURL: url}, "--http-addr"},
		"no address":               {Config{RedisAddr: "6379", DatabaseURL: url}, "host:port"},
		"certificate without key":  {Config{RedisAddr: free, DatabaseURL: url, TLSCert: "x"}, "--tls-key"},
		"authority alone":          {Config{RedisAddr: free, DatabaseURL: url, TLSClientCA: "x"}, "--tls-cert"},
		"one connection":           {Config{RedisAddr: free, DatabaseURL: url, MaxConns: 1}, "--max-conns"},
		"pooler":                   {Config{RedisAddr: free, DatabaseURL: url, Pooler: "statement"}, "--pooler"},
		"too large":                {Config{RedisAddr: free, DatabaseURL: url, MaxRequestBytes: 1 << 30}, "--max-request-bytes"},
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

// --migrate brings an empty database up to date, and only then.
func TestMigrate(t *testing.T) {
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
	dir, cache := embeddedDirs(t)
	configure := func(c *Config) { c.DataDir, c.CacheDir = dir, cache }
	for round := range 2 {
		ready, ended := make(chan Addresses, 1), make(chan error, 1)
		config := Config{RedisAddr: "127.0.0.1:0", Ready: func(a Addresses) { ready <- a }}
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
		c := redis.NewClient(&redis.Options{Addr: addresses.Redis.String()})
		if round == 0 {
			require.NoError(t, c.Set(t.Context(), "k", "v", 0).Err())
		} else {
			// Stopped in order, an unlogged table keeps its rows.
			require.Equal(t, "v", c.Get(t.Context(), "k").Val())
		}
		c.Close()
		cancel()
		require.NoError(t, <-ended)
	}
}

func TestHealthAndMetrics(t *testing.T) {
	s := start(t, func(c *Config) { c.Token, c.Version = "token", "1.2.3" })
	ctx := t.Context()

	status, body := s.get("/healthz", "")
	require.Equal(t, http.StatusOK, status)
	require.JSONEq(t, `{"status":"ok"}`, body)
	status, body = s.get("/readyz", "")
	require.Equal(t, http.StatusOK, status)
	require.JSONEq(t, `{"status":"ready"}`, body)
	status, _ = s.get("/metrics", "")
	require.Equal(t, http.StatusUnauthorized, status)
	status, _ = s.get("/metrics", "wrong")
	require.Equal(t, http.StatusUnauthorized, status)

	metric := func(name string) float64 {
		t.Helper()
		status, body := s.get("/metrics", "token")
		require.Equal(t, http.StatusOK, status)
		for line := range strings.Lines(body) {
			if rest, ok := strings.CutPrefix(line, name+" "); ok {
				var value float64
				_, err := fmt.Sscan(rest, &value)
				require.NoError(t, err)
				return value
			}
		}
		return 0
	}
	c := s.client()
	require.NoError(t, c.Set(ctx, "k", "v", 0).Err())
	hits := metric(`howdah_call_hits_total{cache="db0",verb="get"}`)
	for range 5 {
		require.Equal(t, "v", c.Get(ctx, "k").Val())
	}
	require.ErrorIs(t, c.Get(ctx, "absent").Err(), redis.Nil)
	require.Equal(t, hits+5, metric(`howdah_call_hits_total{cache="db0",verb="get"}`))
	require.Equal(t, 1.0, metric(`howdah_call_misses_total{cache="db0",verb="get"}`))
	require.Equal(t, 6.0, metric(`howdah_calls_total{cache="db0",verb="get"}`))
	require.Equal(t, 6.0, metric(`howdah_call_duration_seconds_count{cache="db0",verb="get"}`))
	require.Equal(t, 6.0, metric(`howdah_redis_commands_total{command="get"}`))
	require.Positive(t, metric(`howdah_batch_keys_count{cache="db0"}`))
	require.Equal(t, 1.0, metric("howdah_redis_clients"))
	require.Equal(t, 10000.0, metric("howdah_redis_clients_max"))
	require.Equal(t, 8.0, metric("howdah_pool_connections_max"))
	require.Positive(t, metric("go_goroutines"))
	_, body = s.get("/metrics", "token")
	require.Contains(t, body, `howdah_build_info{`)
	require.Contains(t, body, `version="1.2.3"`)
}

func TestNotReady(t *testing.T) {
	postgres := pgtest.Own(t)
	s := start(t, func(c *Config) { c.DatabaseURL = postgres.NewURL() })
	postgres.Stop("fast")
	status, body := s.get("/readyz", "")
	require.Equal(t, http.StatusServiceUnavailable, status)
	require.Contains(t, body, "the database cannot be reached")
	status, _ = s.get("/healthz", "")
	require.Equal(t, http.StatusOK, status)
}

func TestLimits(t *testing.T) {
	t.Run("clients", func(t *testing.T) {
		drivers(t, func(t *testing.T, configure func(*Config)) {
			s := start(t, func(c *Config) {
				c.MaxClients = 2
				configure(c)
			})
			first, second := s.dial(), s.dial()
			first.send("PING")
			second.send("PING")
			first.reply()
			second.reply()
			third := s.dial()
			require.Equal(t, "ERR max number of clients reached", string(third.reply().Str))
			third.closed()
			second.Close()
			require.Eventually(t, func() bool {
				c := s.dial()
				defer c.Close()
				c.send("PING")
				reply, err := resp.ReadReply(c.in)
				return err == nil && string(reply.Str) == "PONG"
			}, 10*time.Second, 20*time.Millisecond)
		})
	})
	t.Run("idle", func(t *testing.T) {
		drivers(t, func(t *testing.T, configure func(*Config)) {
			s := start(t, func(c *Config) {
				c.IdleTimeout = time.Second
				configure(c)
			})
			idle, busy := s.dial(), s.dial()
			gone := make(chan error, 1)
			go func() {
				_, err := io.ReadAll(idle)
				gone <- err
			}()
			for waiting := true; waiting; {
				busy.send("PING")
				require.Equal(t, "PONG", string(busy.reply().Str))
				select {
				case err := <-gone:
					require.NoError(t, err)
					waiting = false
				case <-time.After(100 * time.Millisecond):
				}
			}
		})
	})
	t.Run("stalled", func(t *testing.T) {
		drivers(t, func(t *testing.T, configure func(*Config)) {
			s := start(t, func(c *Config) {
				c.StallTimeout, c.Timeout = time.Second, 10*time.Second
				configure(c)
			})
			c := s.dial()
			c.send("SET", "k", strings.Repeat("v", 1<<20))
			require.Equal(t, "OK", string(c.reply().Str))
			for range 64 {
				c.send("GET", "k")
			}
			other := s.dial()
			require.Eventually(t, func() bool {
				other.send("INFO", "clients")
				return strings.Contains(string(other.reply().Str), "connected_clients:1\r\n")
			}, 20*time.Second, 50*time.Millisecond)
		})
	})
	t.Run("authentication", func(t *testing.T) {
		drivers(t, func(t *testing.T, configure func(*Config)) {
			s := start(t, func(c *Config) {
				c.Password, c.AuthTimeout = "secret", time.Second
				configure(c)
			})
			known := s.dial()
			known.send("AUTH", "secret")
			require.Equal(t, "OK", string(known.reply().Str))
			slow := s.dial()
			began := time.Now()
			for { // one byte at a time does not keep it alive
				if _, err := slow.Write([]byte("*")); err != nil {
					break
				}
				require.NoError(t, slow.SetReadDeadline(time.Now().Add(100*time.Millisecond)))
				if _, err := slow.in.Peek(1); errors.Is(err, io.EOF) {
					break
				}
				require.Less(t, time.Since(began), 20*time.Second)
			}
			known.send("PING")
			require.Equal(t, "PONG", string(known.reply().Str))
		})
	})
}
