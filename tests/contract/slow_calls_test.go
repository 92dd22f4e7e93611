package contract

import (
	"bytes"
	"context"
	"log/slog"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/howdah/howdah"
	"github.com/howdah/howdah/internal/core"
	"github.com/howdah/howdah/internal/observe"
	"github.com/howdah/howdah/internal/test/dbtest"
	"github.com/howdah/howdah/internal/test/pgtest"
)

// slowCalls are the calls that a DB has noted, the last one first.
func slowCalls(db *howdah.DB) []observe.SlowCall { return (*core.DB)(db).SlowLog().Recent(-1) }

// Calls whose row a transaction holds are noted as blocked: one whose time ends, and those
// whose callers leave together with others.
func TestSlowCallsBehindAHeldRow(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	var log bytes.Buffer
	db := dbtest.Open(t, pgtest.New(t), &howdah.Options{
		Timeout: 2 * time.Second, LockTimeout: 200 * time.Millisecond, SlowCall: 20 * time.Millisecond, MaskKeys: []string{"invite:"},
		Logger: slog.New(slog.NewTextHandler(&log, nil)),
	})
	cache := db.Cache("db0")
	require.NoError(t, cache.Set(ctx, "invite:SECRET", []byte("VALUE"), 0))
	tx, err := db.Pool().Begin(ctx)
	require.NoError(t, err)
	defer tx.Rollback(ctx)
	require.NoError(t, cache.With(tx).Set(ctx, "invite:SECRET", []byte("held"), 0))
	(*core.DB)(db).SlowLog().Reset()

	require.ErrorIs(t, cache.Set(ctx, "invite:SECRET", []byte("VALUE"), 0), howdah.ErrTimeout)
	call := slowCalls(db)[0]
	require.True(t, call.Failed && call.Writes && call.Blocked > 0 && call.Statement == 0, "%+v", call)
	require.Equal(t, []string{"set", "db0", "invite:***", observe.DoorGo}, []string{call.Verb, call.Cache, call.Key, call.Door})

	short, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	dbtest.Together(8, func(int) {
		require.Error(t, cache.Set(short, "invite:SECRET", []byte("VALUE"), 0))
	})
	calls := slowCalls(db)
	require.Len(t, calls, 9)
	blocked := 0
	for _, call := range calls {
		require.Equal(t, call.Duration, call.Queued+call.Statement+call.Blocked)
		require.True(t, call.Failed, "%+v", call)
		if call.Blocked > 0 {
			blocked++
		}
	}
	require.Greater(t, blocked, 1, "%+v", calls)
	require.NotContains(t, log.String(), "SECRET")
	require.NotContains(t, log.String(), "VALUE")
	require.Contains(t, log.String(), `msg="slow call" command=set cache=db0 key=invite:*** keys=1`)
}

// The calls of a transaction that go together are one line, and so is an edit.
func TestSlowCallsOfATransaction(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	db := dbtest.Open(t, pgtest.New(t), &howdah.Options{Timeout: time.Minute, SlowCall: 1})
	cache := db.Cache("db0")
	tx, err := db.Pool().Begin(ctx)
	require.NoError(t, err)
	defer tx.Rollback(ctx)
	require.NoError(t, cache.With(tx).SetMany(ctx, []howdah.Item{{Key: "a", Value: []byte("VALUE")}, {Key: "b", Value: []byte("VALUE")}}, 0))
	calls := slowCalls(db)
	require.Len(t, calls, 1)
	require.Equal(t, 2, calls[0].Keys)
	require.True(t, calls[0].Writes)
	_, err = cache.With(tx).HSet(ctx, "h", map[string][]byte{"f": []byte("VALUE")}, 0)
	require.NoError(t, err)
	require.Len(t, slowCalls(db), 2)
	require.Equal(t, []string{"edit", "h"}, []string{slowCalls(db)[0].Verb, slowCalls(db)[0].Key})
	require.NoError(t, tx.Commit(ctx))
	_, err = cache.HSet(ctx, "h", map[string][]byte{"g": []byte("VALUE")}, 0)
	require.NoError(t, err)
	require.Len(t, slowCalls(db), 3)
	_, err = cache.Get(ctx, "absent")
	require.ErrorIs(t, err, howdah.ErrMiss)
	require.False(t, slowCalls(db)[0].Writes)
	require.Equal(t, 1, slowCalls(db)[0].Batch)
}

func TestSlowCallOptions(t *testing.T) {
	t.Parallel()
	url := pgtest.New(t)
	_, err := howdah.Open(t.Context(), url, &howdah.Options{SlowCall: -1})
	require.ErrorContains(t, err, "Options.SlowCall is -1ns; it must not be negative")
	_, err = howdah.Open(t.Context(), url, &howdah.Options{MaskKeys: []string{"a*b"}})
	require.ErrorContains(t, err, "Options.MaskKeys: pattern")
	require.False(t, (*core.DB)(dbtest.Open(t, url, nil)).SlowLog().On())
}
