package memory_test

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/howdah/howdah"
	"github.com/howdah/howdah/backend"
	"github.com/howdah/howdah/backend/backendtest"
	"github.com/howdah/howdah/backend/memory"
	"github.com/howdah/howdah/internal/test/leaks"
)

func open(t *testing.T, opts *memory.Options) *memory.Store {
	t.Helper()
	store, err := memory.New(opts)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, store.Close()) })
	return store
}

func TestConformance(t *testing.T) {
	t.Parallel()
	caps, known := backend.CapabilitiesOf(open(t, nil))
	require.True(t, known)
	backendtest.Run(t, func(t *testing.T) howdah.Backend { return open(t, nil) }, caps)
}

func TestBoundedByBytes(t *testing.T) {
	t.Parallel()
	const budget = 256 << 10
	store := open(t, &memory.Options{MaxBytes: budget})
	value := make([]byte, 1024)
	keys := make([]string, 2000)
	for i := range keys {
		keys[i] = fmt.Sprint(i)
		require.NoError(t, store.Set(t.Context(), keys[i], value, howdah.NoExpiry))
	}
	require.Eventually(t, func() bool {
		found, err := store.GetMany(t.Context(), keys)
		require.NoError(t, err)
		return len(found) > 0 && len(found) <= budget/len(value)
	}, time.Minute, time.Millisecond, "the store keeps more than its budget, or nothing")
}

func TestBoundedByEntries(t *testing.T) {
	t.Parallel()
	store := open(t, &memory.Options{MaxEntries: 100})
	var keys []string
	for i := range 2000 {
		keys = append(keys, fmt.Sprint(i))
		require.NoError(t, store.Set(t.Context(), keys[i], nil, howdah.NoExpiry))
	}
	require.Eventually(t, func() bool {
		found, err := store.GetMany(t.Context(), keys)
		require.NoError(t, err)
		return len(found) > 0 && len(found) <= 100
	}, time.Minute, time.Millisecond)
}

// TestEntryLargerThanBudget: an entry that the budget could never hold is
// refused, and not stored to be dropped at once.
func TestEntryLargerThanBudget(t *testing.T) {
	t.Parallel()
	store := open(t, &memory.Options{MaxBytes: 1000})
	require.Less(t, store.MaxValueBytes(), 1000)
	require.NoError(t, store.Set(t.Context(), "", make([]byte, store.MaxValueBytes()), howdah.NoExpiry))
	_, err := store.Get(t.Context(), "")
	require.NoError(t, err)
	err = store.Set(t.Context(), strings.Repeat("k", 900), make([]byte, 100), howdah.NoExpiry)
	require.ErrorIs(t, err, howdah.ErrValueTooLarge)
}

func TestDefaultTTL(t *testing.T) {
	t.Parallel()
	store := open(t, &memory.Options{DefaultTTL: 100 * time.Millisecond})
	require.NoError(t, store.Set(t.Context(), "default", nil, 0))
	require.NoError(t, store.Set(t.Context(), "never", nil, howdah.NoExpiry))
	require.Eventually(t, func() bool {
		_, err := store.Get(t.Context(), "default")
		return errors.Is(err, howdah.ErrMiss)
	}, time.Minute, time.Millisecond)
	_, err := store.Get(t.Context(), "never")
	require.NoError(t, err)
}

func TestWrongOptions(t *testing.T) {
	t.Parallel()
	for _, opts := range []memory.Options{
		{MaxBytes: -1}, {MaxEntries: -1}, {MaxValueBytes: -1}, {DefaultTTL: -1},
		{MaxBytes: 1 << 20, MaxEntries: 10}, {MaxBytes: 100}, {MaxEntries: 1, MaxValueBytes: math.MaxInt},
	} {
		_, err := memory.New(&opts)
		require.Error(t, err, "%+v", opts)
	}
}

func TestCloseLeavesNoGoroutine(t *testing.T) {
	ignore := goleak.IgnoreCurrent()
	store, err := memory.New(nil)
	require.NoError(t, err)
	for i := range 1000 {
		require.NoError(t, store.Set(t.Context(), fmt.Sprint(i), nil, time.Minute))
	}
	require.NoError(t, store.Close())
	leaks.Await(t, ignore)
}
