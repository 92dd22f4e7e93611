//go:build peers

package peers_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/howdah/howdah"
	"github.com/howdah/howdah/internal/core"
	"github.com/howdah/howdah/internal/test/dbtest"
	"github.com/howdah/howdah/internal/test/peers"
	"github.com/howdah/howdah/internal/test/pgtest"
	"github.com/howdah/howdah/tests/contract"
)

// throughPgbouncer puts a pgbouncer in transaction mode, with few server
// connections, before a database, and returns the URL through it.
func throughPgbouncer(t *testing.T, databaseURL string) string {
	t.Helper()
	u := dbtest.ParseURL(t, pgtest.TCP(databaseURL))
	password, _ := u.User.Password()

	dir, err := os.MkdirTemp("", "howdah-pgbouncer-")
	require.NoError(t, err)
	t.Cleanup(func() { os.RemoveAll(dir) })
	require.NoError(t, os.Chmod(dir, 0o755))
	write := func(name, text string) string {
		file := filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(file, []byte(text), 0o644))
		return file
	}
	users := write("users", fmt.Sprintf("%q %q\n", u.User.Username(), password))
	args := func(port string) []string {
		args := []string{write("pgbouncer.ini", fmt.Sprintf(`[databases]
* = host=127.0.0.1 port=%s
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = %s
unix_socket_dir =
auth_type = plain
auth_file = %s
pool_mode = transaction
default_pool_size = 3
max_client_conn = 200
`, u.Port(), port, users))}
		if os.Geteuid() == 0 { // pgbouncer refuses to run as root
			args = append(args, "-u", "nobody")
		}
		return args
	}
	u.Host = peers.Start(t, "pgbouncer", peers.Says("process up"), args).Addr
	q := u.Query()
	q.Set("sslmode", "disable")
	q.Set("pooler", "transaction")
	u.RawQuery = q.Encode()
	return u.String()
}

// Without word of the pooler, the error says which word that is.
func TestPgbouncerNotNamed(t *testing.T) {
	t.Parallel()
	u := dbtest.ParseURL(t, throughPgbouncer(t, pgtest.New(t)))
	q := u.Query()
	q.Del("pooler")
	u.RawQuery = q.Encode()
	_, err := howdah.Open(t.Context(), u.String(), nil)
	require.ErrorIs(t, err, howdah.ErrUnavailable)
	require.ErrorContains(t, err, "--pooler transaction")
	require.ErrorContains(t, err, "pooler=transaction")
	require.ErrorContains(t, err, u.Host)
	require.NotContains(t, err.Error(), "start it")
}

// TestPgbouncer holds the contract through a pooler that gives every
// transaction another server connection.
func TestPgbouncer(t *testing.T) {
	t.Parallel()
	db := dbtest.Open(t, throughPgbouncer(t, pgtest.New(t)), nil)
	for _, class := range []string{"unlogged", "async"} {
		require.NoError(t, db.CreateCache(t.Context(), howdah.CacheConfig{Name: class, Durability: howdah.Durability(class)}))
		t.Run(class, func(t *testing.T) {
			contract.Run(t, db.Cache(class), false)
		})
	}
	t.Run("nothing stays behind on a server connection", func(t *testing.T) {
		ctx := t.Context()
		var refused atomic.Int32
		dbtest.Together(32, func(i int) {
			c := db.Cache([]string{"unlogged", "async"}[i%2])
			for n := range 30 {
				if err := c.Set(ctx, fmt.Sprint("k", i), []byte{byte(n)}, time.Minute); err != nil {
					refused.Add(1)
				}
				got, err := c.Get(ctx, fmt.Sprint("k", i))
				require.NoError(t, err)
				require.Equal(t, []byte{byte(n)}, got)
				var commit, seqscan, lock string
				require.NoError(t, db.Pool().QueryRow(ctx, `SELECT current_setting('synchronous_commit'),
					current_setting('enable_seqscan'), current_setting('lock_timeout')`).Scan(&commit, &seqscan, &lock))
				require.Equal(t, []string{"on", "on", "0"}, []string{commit, seqscan, lock})
			}
		})
		require.Zero(t, refused.Load())
	})
	t.Run("transactions", func(t *testing.T) {
		ctx := t.Context()
		c := db.Cache("unlogged")
		rollback := errors.New("rolled back on purpose")
		err := pgx.BeginFunc(ctx, db.Pool(), func(tx pgx.Tx) error {
			require.NoError(t, c.With(tx).Set(ctx, "tx", []byte("v"), 0))
			return rollback
		})
		require.ErrorIs(t, err, rollback)
		_, err = c.Get(ctx, "tx")
		require.ErrorIs(t, err, howdah.ErrMiss)
		require.NoError(t, db.Transact(ctx, howdah.TxOptions{}, func(ctx context.Context, tx pgx.Tx) error {
			return c.With(tx).Set(ctx, "tx", []byte("v"), 0)
		}))
	})
}

// Notifications do not pass the pooler: messages are polled for, and the log says so. A
// URL past the pooler makes them arrive.
func TestMessagesThroughPgbouncer(t *testing.T) {
	t.Parallel()
	direct := pgtest.New(t)
	pooled := throughPgbouncer(t, direct)
	var logs [3]dbtest.Log
	var dbs [3]*howdah.DB
	var subscriptions [3]*howdah.Subscription
	for i, listen := range []string{"", pooled, direct} {
		dbs[i] = dbtest.Open(t, pooled, &howdah.Options{ListenURL: listen, Timeout: 10 * time.Second, Logger: slog.New(slog.NewTextHandler(&logs[i], nil))})
		dbtest.Run(t, dbs[i])
		subscriptions[i] = dbtest.Subscribe(t, dbs[i], howdah.SubscribeOptions{Channels: []string{"c"}})
	}
	for n := range 30 {
		_, err := dbs[n%3].Publish(t.Context(), "c", fmt.Append(nil, n))
		require.NoError(t, err)
		for _, s := range subscriptions {
			require.Equal(t, fmt.Sprint(" c ", n), dbtest.NextMessage(t, s))
		}
	}
	dbtest.Exec(t, dbs[0], "SELECT howdah.publish('c', 'SQL')")
	for _, s := range subscriptions {
		require.Equal(t, " c SQL", dbtest.NextMessage(t, s))
	}
	dbtest.Eventually(t, "the log says so", func() bool {
		return strings.Contains(logs[0].String(), "because the pooler passes no notifications") &&
			strings.Contains(logs[1].String(), "no notification arrives")
	})
	listening := func(i int) bool { return (*core.DB)(dbs[i]).Bus().Stats().Listening }
	dbtest.Eventually(t, "notifications arrive past the pooler", func() bool { return listening(2) })
	require.False(t, listening(0) || listening(1))
	require.Equal(t, "off", settingOf(t, dbs[0], "is_superuser"), "the pool works as before")
	require.Equal(t, "on", settingOf(t, dbs[0], "synchronous_commit"), "nothing stays behind on a server connection")
}

func settingOf(t *testing.T, db *howdah.DB, name string) (value string) {
	t.Helper()
	require.NoError(t, db.Pool().QueryRow(t.Context(), "SELECT current_setting($1)", name).Scan(&value))
	return value
}

// Behind pgbouncer nobody knows which backend has the statement whose connection was lost: later
// writes of its key wait while any is at work that may be it.
func TestOlderWriteBehindPgbouncer(t *testing.T) {
	t.Parallel()
	databaseURL := pgtest.New(t)
	db := dbtest.Open(t, throughPgbouncer(t, databaseURL), &howdah.Options{Timeout: 20 * time.Second, LockTimeout: 10 * time.Second})
	cache := db.Cache("db0")
	require.NoError(t, cache.Set(t.Context(), "k", []byte("first"), 0))
	holder, err := pgx.Connect(t.Context(), databaseURL)
	require.NoError(t, err)
	defer holder.Close(context.Background())
	_, err = holder.Exec(t.Context(), "BEGIN; SELECT howdah.set_text('db0', 'k', 'held')")
	require.NoError(t, err)

	ctx, leave := context.WithCancel(t.Context())
	answer := make(chan error, 1)
	go func() { answer <- cache.Set(ctx, "k", []byte("older"), 0) }()
	var pid int
	dbtest.Eventually(t, "the write waits for the row", func() bool {
		err := holder.QueryRow(t.Context(), "SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'").Scan(&pid)
		return err == nil
	})
	require.NoError(t, syscall.Kill(pid, syscall.SIGSTOP))
	thaw := sync.OnceFunc(func() { _ = syscall.Kill(pid, syscall.SIGCONT) })
	t.Cleanup(thaw)
	leave()
	require.ErrorIs(t, <-answer, howdah.ErrUnknownOutcome)
	_, err = holder.Exec(t.Context(), "COMMIT")
	require.NoError(t, err)

	soon, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	err = cache.Set(soon, "k", []byte("newer"), 0)
	require.ErrorIs(t, err, howdah.ErrTimeout)
	require.ErrorContains(t, err, "an older write whose connection was lost may still run")
	thaw()
	require.NoError(t, cache.Set(t.Context(), "k", []byte("newer"), 0))
	value, err := cache.Get(t.Context(), "k")
	require.NoError(t, err)
	require.Equal(t, "newer", string(value))
}
