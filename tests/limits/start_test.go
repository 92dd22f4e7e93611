package limits_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/howdah/howdah"
	"github.com/howdah/howdah/internal/statement"
	"github.com/howdah/howdah/internal/test/dbtest"
	"github.com/howdah/howdah/internal/test/pgtest"
	"github.com/howdah/howdah/internal/verb"
)

// lockSettings makes whoever asks for the settings of a cache wait, as in a
// database that hangs.
func lockSettings(t *testing.T, url string) (tx pgx.Tx) {
	tx, err := dbtest.Open(t, url, nil).Pool().Begin(t.Context())
	require.NoError(t, err)
	_, err = tx.Exec(t.Context(), "LOCK TABLE howdah_internal.cache IN ACCESS EXCLUSIVE MODE")
	require.NoError(t, err)
	return tx
}

// An event loop calls Start: the first call on a cache must not wait for the
// database either. What was started meanwhile is run in its order.
func TestStartDoesNotWait(t *testing.T) {
	t.Parallel()
	url := pgtest.New(t)
	db := dbtest.Open(t, url, &howdah.Options{Timeout: 30 * time.Second, LockTimeout: time.Minute})
	tx := lockSettings(t, url)
	defer tx.Rollback(t.Context())
	cache := db.Cache("db0")
	done := make(chan *verb.Call, 100)
	start := func(call *verb.Call) { dbtest.Start(cache, call, func(call *verb.Call) { done <- call }) }
	want := ""
	for i := range 20 {
		start(&verb.Call{Verb: statement.Append, Key: []byte("k"), Value: fmt.Append(nil, i)})
		want += fmt.Sprint(i)
	}
	start(&verb.Call{Verb: statement.Get, Key: []byte("k")})
	require.Empty(t, done, "nobody could answer yet")
	require.NoError(t, tx.Commit(t.Context()))
	var last *verb.Call
	for range 21 {
		last = <-done
		require.NoError(t, last.Err)
	}
	require.Equal(t, statement.Get, last.Verb)
	require.Equal(t, want, string(last.Result.Value))
}

// The first call on a cache has no more time than any other.
func TestFirstCallKeepsItsTime(t *testing.T) {
	t.Parallel()
	url := pgtest.New(t)
	db := dbtest.Open(t, url, &howdah.Options{Timeout: 200 * time.Millisecond, LockTimeout: time.Minute})
	tx := lockSettings(t, url)
	defer tx.Rollback(t.Context())
	// The settings are locked until the end of this test: a call that returns has
	// given up by itself, and not at LockTimeout, by which PostgreSQL would say so.
	_, err := db.Cache("db0").Get(t.Context(), "k")
	require.ErrorIs(t, err, howdah.ErrTimeout)
	require.NotContains(t, err.Error(), "SQLSTATE")
	failed := make(chan error, 1)
	dbtest.Start(db.Cache("db0"), &verb.Call{Verb: statement.Get, Key: []byte("k")}, func(call *verb.Call) { failed <- call.Err })
	err = <-failed
	require.ErrorIs(t, err, howdah.ErrTimeout)
	require.NotContains(t, err.Error(), "SQLSTATE")
	require.NoError(t, tx.Commit(t.Context()))
	dbtest.Eventually(t, "it answers", func() bool { return db.Cache("db0").Set(t.Context(), "k", nil, 0) == nil })
}

// A cache that does not exist is not remembered as such.
func TestStartOnAbsentCache(t *testing.T) {
	t.Parallel()
	db := dbtest.Open(t, pgtest.New(t), nil)
	cache := db.Cache("later")
	set := func(cache *howdah.Cache) error {
		done := make(chan error, 1)
		dbtest.Start(cache, &verb.Call{Verb: statement.Set, Key: []byte("k"), Value: []byte("v")}, func(call *verb.Call) { done <- call.Err })
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
