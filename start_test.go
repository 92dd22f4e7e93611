package howdah_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/howdah/howdah"
	"github.com/howdah/howdah/internal/pgtest"
)

// lockSettings makes whoever asks for the settings of a cache wait, as in a
// database that hangs.
func lockSettings(t *testing.T, url string) (tx pgx.Tx) {
	tx, err := open(t, url, nil).Pool().Begin(t.Context())
	require.NoError(t, err)
	_, err = tx.Exec(t.Context(), "LOCK TABLE howdah_internal.cache IN ACCESS EXCLUSIVE MODE")
	require.NoError(t, err)
	return tx
}

// An event loop calls Start: the first call on a cache must not wait for the
// database either. What was started meanwhile is run in its order.
func TestStartDoesNotWait(t *testing.T) {
	url := pgtest.New(t)
	db := open(t, url, &howdah.Options{Timeout: 30 * time.Second, LockTimeout: time.Minute})
	tx := lockSettings(t, url)
	defer tx.Rollback(t.Context())
	cache := db.Cache("db0")
	done := make(chan *howdah.Call, 100)
	start := func(call *howdah.Call) { cache.Start(call, func(call *howdah.Call) { done <- call }) }
	want := ""
	for i := range 20 {
		start(&howdah.Call{Verb: howdah.VerbAppend, Key: []byte("k"), Value: fmt.Append(nil, i)})
		want += fmt.Sprint(i)
	}
	start(&howdah.Call{Verb: howdah.VerbGet, Key: []byte("k")})
	require.Empty(t, done, "nobody could answer yet")
	require.NoError(t, tx.Commit(t.Context()))
	var last *howdah.Call
	for range 21 {
		last = <-done
		require.NoError(t, last.Err)
	}
	require.Equal(t, howdah.VerbGet, last.Verb)
	require.Equal(t, want, string(last.Result.Value))
}

// The first call on a cache has no more time than any other.
func TestFirstCallKeepsItsTime(t *testing.T) {
	url := pgtest.New(t)
	db := open(t, url, &howdah.Options{Timeout: 200 * time.Millisecond, LockTimeout: time.Minute})
	tx := lockSettings(t, url)
	defer tx.Rollback(t.Context())
	began := time.Now()
	_, err := db.Cache("db0").Get(t.Context(), "k")
	require.ErrorIs(t, err, howdah.ErrTimeout)
	failed := make(chan error, 1)
	db.Cache("db0").Start(&howdah.Call{Verb: howdah.VerbGet, Key: []byte("k")}, func(call *howdah.Call) { failed <- call.Err })
	require.ErrorIs(t, <-failed, howdah.ErrTimeout)
	require.Less(t, time.Since(began), 4*time.Second)
	require.NoError(t, tx.Commit(t.Context()))
	eventually(t, "it answers", func() bool { return db.Cache("db0").Set(t.Context(), "k", nil, 0) == nil })
}

// A cache that does not exist is not remembered as such.
func TestStartOnAbsentCache(t *testing.T) {
	db := open(t, pgtest.New(t), nil)
	cache := db.Cache("later")
	set := func(cache *howdah.Cache) error {
		done := make(chan error, 1)
		cache.Start(&howdah.Call{Verb: howdah.VerbSet, Key: []byte("k"), Value: []byte("v")}, func(call *howdah.Call) { done <- call.Err })
		return <-done
	}
	require.ErrorIs(t, set(db.Cache("No name")), howdah.ErrInvalidName)
	for range 2 {
		require.ErrorIs(t, set(cache), howdah.ErrCacheNotFound)
		_, err := cache.Get(t.Context(), "k")
		require.ErrorIs(t, err, howdah.ErrCacheNotFound)
	}
	require.NoError(t, db.CreateCache(t.Context(), howdah.CacheConfig{Name: "later"}))
	require.NoError(t, set(cache))
	got, err := cache.Get(t.Context(), "k")
	require.NoError(t, err)
	require.Equal(t, "v", string(got))
}
