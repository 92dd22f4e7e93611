package contract

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/howdah/howdah"
	"github.com/howdah/howdah/internal/statement"
	"github.com/howdah/howdah/internal/test/dbtest"
	"github.com/howdah/howdah/internal/test/pgtest"
	"github.com/howdah/howdah/internal/verb"
)

// Sets and gets of a key that wait together are one write. Each get sees the set
// before it all the same, and what asks for more than a value asks PostgreSQL.
func TestGetsAreAnsweredBesideSets(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	url := pgtest.New(t)
	db := dbtest.Open(t, url, &howdah.Options{Timeout: 10 * time.Second})
	c := db.Cache("db0")
	require.NoError(t, c.Set(ctx, "k", []byte("old"), 0))
	before, err := c.GetEntry(ctx, "k")
	require.NoError(t, err)

	// Writes wait for this transaction; reads do not.
	tx, err := db.Pool().Begin(ctx)
	require.NoError(t, err)
	defer tx.Rollback(context.Background())
	_, err = tx.Exec(ctx, "LOCK TABLE "+pgtest.Table(t, tx, "db0")+" IN SHARE ROW EXCLUSIVE MODE")
	require.NoError(t, err)

	var calls []*verb.Call
	var wg sync.WaitGroup
	begin := func(c *howdah.Cache, call verb.Call) *verb.Call {
		wg.Add(1)
		call.Key = []byte("k")
		calls = append(calls, &call)
		dbtest.Start(c, &call, func(*verb.Call) { wg.Done() })
		return &call
	}
	set := func(value string, expiry verb.Expiry) {
		begin(c, verb.Call{Verb: statement.Set, Value: []byte(value), Expiry: expiry})
	}
	get := func() *verb.Call { return begin(c, verb.Call{Verb: statement.Get}) }
	set("first", verb.Expiry{})
	first := get()
	set("a", verb.Expiry{})
	a := get()
	set("b", verb.ExpireIn(time.Hour))
	b, again := get(), get()
	entry := begin(c, verb.Call{Verb: statement.GetEntry})
	set("", verb.ExpireIn(time.Hour))
	empty := get()
	set("gone", verb.ExpireAt(time.Unix(1, 0)))
	gone := get()
	begin(c, verb.Call{Verb: statement.Append, Value: []byte("appended")})
	appended := get()

	require.NoError(t, tx.Rollback(ctx))
	wg.Wait()
	for _, call := range calls {
		require.NoError(t, call.Err)
	}
	for want, call := range map[string]*verb.Call{"first": first, "a": a, "b": b, "": empty, "appended": appended} {
		require.Equal(t, verb.OK, call.Status, want)
		require.Equal(t, want, string(call.Result.Value))
		require.NotNil(t, call.Result.Value)
		require.Equal(t, len(want), call.Result.Length)
	}
	require.Equal(t, "b", string(again.Result.Value))
	require.Equal(t, verb.Miss, gone.Status)
	require.Equal(t, "b", string(entry.Result.Value))
	require.Greater(t, entry.Result.Version, before.Version)
	require.Positive(t, entry.Result.TTL)
}
