//go:build peers

package memcached_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/bradfitz/gomemcache/memcache"
	"github.com/stretchr/testify/require"

	"github.com/howdah/howdah"
	"github.com/howdah/howdah/backend"
	"github.com/howdah/howdah/backend/backendtest"
	"github.com/howdah/howdah/backend/memcached"
	"github.com/howdah/howdah/internal/test/peers"
)

func open(t *testing.T, url string) *memcached.Store {
	t.Helper()
	store, err := memcached.Open(t.Context(), url)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, store.Close()) })
	return store
}

func TestConformance(t *testing.T) {
	t.Parallel()
	one := peers.Memcached(t).Addr
	two := peers.Memcached(t).Addr
	for name, url := range map[string]string{
		"OneServer":  "memcached://" + one + "?timeout=5s",
		"TwoServers": "memcached://" + one + "," + two + "?timeout=5s",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			caps, known := backend.CapabilitiesOf(open(t, url))
			require.True(t, known)
			backendtest.Run(t, func(t *testing.T) howdah.Backend { return open(t, url) }, caps)
		})
	}
}

// TestServersShareKeys: every key is on one server, and both have some.
func TestServersShareKeys(t *testing.T) {
	t.Parallel()
	one, two := peers.Memcached(t).Addr, peers.Memcached(t).Addr
	store := open(t, "memcached://"+one+","+two+"?timeout=5s")
	var items []howdah.Item
	var keys []string
	for i := range 100 {
		keys = append(keys, fmt.Sprint("key", i))
		items = append(items, howdah.Item{Key: keys[i], Value: []byte("v")})
	}
	require.NoError(t, store.SetMany(t.Context(), items, 0))
	first, err := open(t, "memcached://"+one+"?timeout=5s").GetMany(t.Context(), keys)
	require.NoError(t, err)
	second, err := open(t, "memcached://"+two+"?timeout=5s").GetMany(t.Context(), keys)
	require.NoError(t, err)
	require.NotEmpty(t, first)
	require.NotEmpty(t, second)
	require.Len(t, keys, len(first)+len(second))
}

// TestOwnClient: New works with an application's client.
func TestOwnClient(t *testing.T) {
	t.Parallel()
	client := memcache.New(peers.Memcached(t).Addr)
	client.Timeout = 5 * time.Second
	store, err := memcached.New(client, &memcached.Options{DefaultTTL: time.Second, MaxValueBytes: 10})
	require.NoError(t, err)
	require.NoError(t, store.Set(t.Context(), "k", []byte("v"), 0))
	require.Eventually(t, func() bool {
		_, err := store.Get(t.Context(), "k")
		return errors.Is(err, howdah.ErrMiss)
	}, time.Minute, 10*time.Millisecond, "the default TTL was not used")
	require.ErrorIs(t, store.Set(t.Context(), "k", make([]byte, 11), 0), howdah.ErrValueTooLarge)
	require.NoError(t, store.Close())
	require.NoError(t, client.Ping())
}

// TestLargerItems: servers with a larger item limit hold larger values, and a
// limit set too high is told by the server's own refusal.
func TestLargerItems(t *testing.T) {
	t.Parallel()
	large := peers.Memcached(t, "-I", "4m").Addr
	store := open(t, fmt.Sprintf("memcached://%s?timeout=5s&max_value_bytes=%d", large, 3<<20))
	value := make([]byte, 3<<20)
	require.NoError(t, store.Set(t.Context(), "k", value, 0))
	got, err := store.Get(t.Context(), "k")
	require.NoError(t, err)
	require.Len(t, got, len(value))

	small := peers.Memcached(t).Addr
	store = open(t, fmt.Sprintf("memcached://%s?timeout=5s&max_value_bytes=%d", small, 3<<20))
	require.ErrorIs(t, store.Set(t.Context(), "k", value, 0), howdah.ErrValueTooLarge)
}

// TestStoppedServer: a server that hangs holds nobody longer than the
// caller's context, and is of use again when it goes on.
func TestStoppedServer(t *testing.T) {
	t.Parallel()
	peer := peers.Memcached(t)
	store := open(t, "memcached://"+peer.Addr+"?timeout=4s")
	patient := open(t, "memcached://"+peer.Addr+"?timeout=1h")
	require.NoError(t, store.Set(t.Context(), "k", []byte("v"), 0))
	require.NoError(t, peer.Process.Signal(syscall.SIGSTOP))
	require.Eventually(t, func() bool { return !runs(t, peer.Process.Pid) }, time.Minute, time.Millisecond)

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

// runs tells whether a thread of the process goes on. One thread takes the
// signal to stop, and until it is given a processor the others answer. Where
// there is no /proc, all are taken for stopped.
func runs(t *testing.T, pid int) bool {
	threads, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/status", pid))
	require.NoError(t, err)
	for _, thread := range threads {
		status, err := os.ReadFile(thread)
		require.NoError(t, err)
		if !strings.Contains(string(status), "State:\tT") {
			return true
		}
	}
	return false
}

func TestServerAway(t *testing.T) {
	t.Parallel()
	peer := peers.Memcached(t)
	store := open(t, "memcached://"+peer.Addr)
	require.NoError(t, peer.Process.Kill())
	require.Eventually(t, func() bool { // the first call may find the old connection
		_, err := store.Get(t.Context(), "k")
		return errors.Is(err, howdah.ErrUnavailable)
	}, time.Minute, 10*time.Millisecond)
	_, err := memcached.Open(t.Context(), "memcached://"+peer.Addr)
	require.ErrorIs(t, err, howdah.ErrUnavailable)
}
