//go:build peers

package redis_test

import (
	"context"
	"errors"
	"syscall"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/howdah/howdah"
	"github.com/howdah/howdah/backend"
	"github.com/howdah/howdah/backend/backendtest"
	"github.com/howdah/howdah/backend/redis"
	"github.com/howdah/howdah/internal/test/peers"
)

func open(t *testing.T, url string) *redis.Store {
	t.Helper()
	store, err := redis.Open(t.Context(), url)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, store.Close()) })
	return store
}

func TestConformance(t *testing.T) {
	t.Parallel()
	url := "redis://" + peers.Redis(t).Addr + "/3?pool_size=20"
	caps, known := backend.CapabilitiesOf(open(t, url))
	require.True(t, known)
	backendtest.Run(t, func(t *testing.T) howdah.Backend { return open(t, url) }, caps)
}

// TestOwnClient: New works with an application's client, and leaves it open.
func TestOwnClient(t *testing.T) {
	t.Parallel()
	client := goredis.NewClient(&goredis.Options{Addr: peers.Redis(t).Addr})
	t.Cleanup(func() { require.NoError(t, client.Close()) })
	store, err := redis.New(client, &redis.Options{DefaultTTL: time.Minute, MaxValueBytes: 10})
	require.NoError(t, err)
	require.NoError(t, store.Set(t.Context(), "k", []byte("v"), 0))
	ttl, err := client.PTTL(t.Context(), "k").Result()
	require.NoError(t, err)
	require.InDelta(t, time.Minute, ttl, float64(10*time.Second))
	require.ErrorIs(t, store.Set(t.Context(), "k", make([]byte, 11), 0), howdah.ErrValueTooLarge)
	require.NoError(t, store.Close())
	require.NoError(t, client.Ping(t.Context()).Err())
}

func TestURLParameters(t *testing.T) {
	t.Parallel()
	addr := peers.Redis(t, "--requirepass", "secret").Addr
	store := open(t, "redis://:secret@"+addr+"?default_ttl=1h&max_value_bytes=5&read_timeout=2s")
	require.Equal(t, 5, store.MaxValueBytes())

	_, err := redis.Open(t.Context(), "redis://:wr0ng@"+addr)
	require.ErrorContains(t, err, "WRONGPASS")
	require.NotContains(t, err.Error(), "wr0ng")
	for _, query := range []string{"?default_ttl=10", "?default_ttl=-1s", "?max_value_bytes=x", "?unknown=1"} {
		_, err := redis.Open(t.Context(), "redis://:secret@"+addr+query)
		require.Error(t, err, query)
	}
}

// TestStoppedServer: a server that hangs holds nobody longer than the
// caller's context, and is of use again when it goes on.
func TestStoppedServer(t *testing.T) {
	t.Parallel()
	peer := peers.Redis(t)
	store := open(t, "redis://"+peer.Addr+"?read_timeout=4s&max_retries=-1")
	patient := open(t, "redis://"+peer.Addr+"?read_timeout=1h&max_retries=-1")
	require.NoError(t, store.Set(t.Context(), "k", []byte("v"), 0))
	require.NoError(t, peer.Process.Signal(syscall.SIGSTOP))

	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(30*time.Millisecond, cancel)
	_, err := patient.Get(ctx, "k") // long before its own timeout
	require.ErrorIs(t, err, context.Canceled)

	ctx, cancel = context.WithTimeout(t.Context(), 30*time.Millisecond)
	defer cancel()
	require.ErrorIs(t, store.Set(ctx, "k", []byte("v2"), 0), context.DeadlineExceeded)

	_, err = store.Get(t.Context(), "k")
	require.ErrorIs(t, err, howdah.ErrTimeout)
	require.ErrorIs(t, store.Delete(t.Context(), "k"), howdah.ErrUnknownOutcome)

	require.NoError(t, peer.Process.Signal(syscall.SIGCONT))
	require.Eventually(t, func() bool {
		_, err := store.Get(t.Context(), "k")
		return err == nil || errors.Is(err, howdah.ErrMiss)
	}, time.Minute, 10*time.Millisecond)
}

func TestServerAway(t *testing.T) {
	t.Parallel()
	peer := peers.Redis(t)
	store := open(t, "redis://"+peer.Addr)
	require.NoError(t, peer.Process.Kill())
	_, err := store.Get(t.Context(), "k")
	require.ErrorIs(t, err, howdah.ErrUnavailable)
	_, err = store.GetMany(t.Context(), []string{"k"})
	require.ErrorIs(t, err, howdah.ErrUnavailable)
	_, err = redis.Open(t.Context(), "redis://"+peer.Addr)
	require.ErrorIs(t, err, howdah.ErrUnavailable)
}

func TestOutOfMemory(t *testing.T) {
	t.Parallel()
	addr := peers.Redis(t, "--maxmemory", "1", "--maxmemory-policy", "noeviction").Addr
	store := open(t, "redis://"+addr)
	require.ErrorIs(t, store.Set(t.Context(), "k", []byte("v"), 0), howdah.ErrCacheFull)
}
