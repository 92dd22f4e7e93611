package crash_test

import (
	"context"
	"errors"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/howdah/howdah"
	"github.com/howdah/howdah/internal/test/dbtest"
	"github.com/howdah/howdah/internal/test/pgtest"
)

// aWrite is a write of a value under the key k, or of what replaces it.
type aWrite struct {
	marks []string // of what is sent when it is to be applied
	write func(db *howdah.DB, value string) error
}

// writes are the ways in which a cache is written.
var writes = map[string]aWrite{
	"set": {[]string{"older"}, func(db *howdah.DB, value string) error {
		return db.Cache("db0").Set(context.Background(), "k", []byte(value), 0)
	}},
	"of several": {[]string{"older"}, func(db *howdah.DB, value string) error {
		return db.Cache("db0").SetMany(context.Background(), []howdah.Item{{Key: "k", Value: []byte(value)}, {Key: "l", Value: []byte(value)}}, 0)
	}},
	"transaction": {[]string{"commit\x00"}, func(db *howdah.DB, value string) error {
		opts := howdah.TxOptions{Cache: "db0", Keys: []string{"k"}}
		return db.Transact(context.Background(), opts, func(ctx context.Context, tx pgx.Tx) error {
			return db.Cache("db0").With(tx).Set(ctx, "k", []byte(value), 0)
		})
	}},
	"flush": {[]string{"howdah.flush", "stmtcache"}, func(db *howdah.DB, value string) error {
		if value == "older" {
			return db.Cache("db0").Flush(context.Background())
		}
		return db.Cache("db0").Set(context.Background(), "k", []byte(value), 0)
	}},
}

// TestOlderWriteNeverUndoesAnAcknowledgedOne loses a connection while a write is on its way in
// the network, acknowledges another write of the key, and lets the first one arrive.
func TestOlderWriteNeverUndoesAnAcknowledgedOne(t *testing.T) {
	t.Parallel()
	for name, older := range writes {
		for _, newer := range []string{"set", "transaction"} {
			t.Run(name+" before "+newer, func(t *testing.T) {
				t.Parallel()
				network := pgtest.StartSlowNetwork(t, pgtest.New(t))
				db := dbtest.Open(t, network.URL, nil)
				cache := db.Cache("db0")
				require.NoError(t, cache.Set(t.Context(), "k", []byte("first"), 0))

				network.Hold(older.marks...)
				answer := make(chan error, 1)
				go func() { answer <- older.write(db, "older") }()
				held := <-network.Held
				held.Lose()
				require.ErrorIs(t, <-answer, howdah.ErrUnknownOutcome)
				require.NoError(t, writes[newer].write(db, "newer"))
				held.Arrive()

				value, err := cache.Get(t.Context(), "k")
				require.NoError(t, err)
				require.Equal(t, "newer", string(value))
			})
		}
	}
}

// TestFrozenBackendKeepsLaterWritesBack: while a backend stands still that may still apply a
// write, later writes of its keys are not applied, and say why; those of other keys go on.
func TestFrozenBackendKeepsLaterWritesBack(t *testing.T) {
	t.Parallel()
	databaseURL := pgtest.New(t)
	network := pgtest.StartSlowNetwork(t, databaseURL)
	db := dbtest.Open(t, network.URL, nil)
	hasty := dbtest.Open(t, network.URL, &howdah.Options{Timeout: 300 * time.Millisecond})
	cache := db.Cache("db0")
	require.NoError(t, cache.Set(t.Context(), "k", []byte("first"), 0))
	require.NoError(t, hasty.Cache("db0").Set(t.Context(), "k", []byte("first"), 0))

	network.Hold("older")
	answer := make(chan error, 1)
	go func() { answer <- hasty.Cache("db0").Set(context.Background(), "k", []byte("older"), 0) }()
	held := <-network.Held
	backend := held.Backend()
	require.NoError(t, backend.Signal(syscall.SIGSTOP))
	thaw := sync.OnceFunc(func() { _ = backend.Signal(syscall.SIGCONT) })
	t.Cleanup(thaw)
	held.Send() // it will find them when it goes on
	held.Lose()
	require.ErrorIs(t, <-answer, howdah.ErrUnknownOutcome)

	err := hasty.Cache("db0").Set(t.Context(), "k", []byte("newer"), 0)
	require.ErrorIs(t, err, howdah.ErrTimeout)
	require.NotErrorIs(t, err, howdah.ErrUnknownOutcome)
	require.ErrorContains(t, err, "an older write whose connection was lost may still run in PostgreSQL; nothing was changed")
	dbtest.Eventually(t, "another key is written", func() bool {
		return hasty.Cache("db0").Set(t.Context(), "other", []byte("v"), 0) == nil
	})
	thaw()
	dbtest.Eventually(t, "the key is written", func() bool {
		err := hasty.Cache("db0").Set(t.Context(), "k", []byte("newer"), 0)
		require.False(t, err != nil && !errors.Is(err, howdah.ErrTimeout), err)
		return err == nil
	})
	held.Arrive()
	value, err := cache.Get(t.Context(), "k")
	require.NoError(t, err)
	require.Equal(t, "newer", string(value))
}
