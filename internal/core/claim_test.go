package core

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/howdah/howdah/internal/fault"
	"github.com/howdah/howdah/internal/statement"
	"github.com/howdah/howdah/internal/test/pgtest"
	"github.com/howdah/howdah/internal/verb"
)

// claimed is a claim of a key for an hour.
func claimed(t *testing.T, c *Cache, key string) *verb.Call {
	t.Helper()
	claim := &verb.Call{Verb: statement.Claim, Key: []byte(key), Lease: time.Hour}
	require.NoError(t, c.Do(t.Context(), claim))
	return claim
}

// fulfil stores a value under a lease.
func fulfil(t *testing.T, c *Cache, key string, token int64, value string) error {
	t.Helper()
	return c.One(t.Context(), &verb.Call{Verb: statement.Fulfil, Key: []byte(key), Token: token, Value: []byte(value)})
}

// holds reports whether a release or a refresh finds its token good.
func holds(t *testing.T, c *Cache, v *verb.Verb, key string, token int64) bool {
	t.Helper()
	call := &verb.Call{Verb: v, Key: []byte(key), Token: token, Lease: time.Hour}
	require.NoError(t, c.Do(t.Context(), call))
	return call.Status == verb.OK
}

func TestClaim(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	cache := openDB(t, pgtest.New(t)).Cache("db0")
	claim := claimed(t, cache, "k")
	require.Equal(t, verb.Won, claim.Claim.State)
	require.ErrorIs(t, fulfil(t, cache, "k", 1, "v"), fault.ErrNotStored)
	stored := &verb.Call{Verb: statement.Fulfil, Key: []byte("k"), Token: claim.Result.Version, Value: []byte("v"), Expiry: verb.ExpireIn(time.Hour), Stale: time.Hour}
	require.NoError(t, cache.One(ctx, stored))
	version := stored.Result.Version
	hit := claimed(t, cache, "k")
	require.Equal(t, verb.Hit, hit.Claim.State)
	require.Equal(t, "v", string(hit.Result.Value))
	require.Equal(t, version, hit.Result.Version)
	for _, v := range []*verb.Verb{statement.Refresh, statement.Release} {
		require.True(t, holds(t, cache, v, "k", version))
		require.False(t, holds(t, cache, v, "k", version), "only once")
		if v == statement.Refresh {
			require.Positive(t, claimed(t, cache, "k").Claim.Left)
		}
	}
	require.ErrorIs(t, cache.Do(ctx, &verb.Call{Verb: statement.Claim, Key: []byte("k")}), fault.ErrInvalidTTL)
	absent := &verb.Call{Verb: statement.Fulfil, Key: []byte("k"), Token: version, Absent: true}
	require.ErrorIs(t, cache.Do(ctx, absent), fault.ErrInvalidTTL)
}

// Claims of many keys share statements, and of many callers of a key one wins.
func TestManyClaims(t *testing.T) {
	t.Parallel()
	const keys, callers = 100, 8
	databaseURL := pgtest.New(t)
	won := make([][]bool, callers)
	var wg sync.WaitGroup
	for i := range callers {
		// A claim that waits too long for the lock of another caller gets no lease, and does not lose.
		db, err := Open(t.Context(), databaseURL, Options{Timeout: time.Minute, LockTimeout: 5 * time.Second})
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, db.Close()) })
		cache := db.Cache("db0")
		won[i] = make([]bool, keys)
		wg.Go(func() {
			calls := make([]*verb.Call, keys)
			for k := range calls {
				calls[k] = &verb.Call{Verb: statement.Claim, Key: fmt.Append(nil, "k", k), Lease: time.Hour}
			}
			if err := cache.Do(context.Background(), calls...); err != nil {
				t.Error(err)
				return
			}
			for k, call := range calls {
				won[i][k] = call.Claim.Won
				if state := call.Claim.State; state != verb.Won && state != verb.Lost {
					t.Errorf("%s: %v", call.Key, state)
				}
			}
		})
	}
	wg.Wait()
	for k := range keys {
		winners := 0
		for i := range callers {
			if won[i][k] {
				winners++
			}
		}
		require.Equal(t, 1, winners, k)
	}
}

// removals are what an application does in the transaction that changes the source
// of an entry.
var removals = map[string]func(context.Context, *Cache) error{
	"Delete": func(ctx context.Context, c *Cache) error {
		return c.Do(ctx, &verb.Call{Verb: statement.Delete, Key: []byte("k")})
	},
	"DeleteMany": func(ctx context.Context, c *Cache) error {
		return c.Do(ctx, &verb.Call{Verb: statement.DeleteMany, Keys: [][]byte{[]byte("j"), []byte("k"), []byte("l"), []byte("k")}})
	},
	"GetAndDelete": func(ctx context.Context, c *Cache) error {
		return c.Do(ctx, &verb.Call{Verb: statement.GetDelete, Key: []byte("k")})
	},
	"several calls": func(ctx context.Context, c *Cache) error {
		return c.Do(ctx, &verb.Call{Verb: statement.Get, Key: []byte("k")}, &verb.Call{Verb: statement.Delete, Key: []byte("k")},
			&verb.Call{Verb: statement.Set, Key: []byte("other")})
	},
	"Set": func(ctx context.Context, c *Cache) error {
		return c.Do(ctx, &verb.Call{Verb: statement.Set, Key: []byte("k"), Value: []byte("new")})
	},
}

// The race that breaks cache-aside, in each order: a transaction changes a row and
// removes what was made from it; a caller loads the row before it commits.
func TestNothingOldIsStored(t *testing.T) {
	t.Parallel()
	db := openDB(t, pgtest.New(t))
	for name, remove := range removals {
		for _, commit := range []bool{true, false} {
			for _, claimFirst := range []bool{true, false} {
				for _, was := range []string{"absent", "live", "claimed"} {
					t.Run(fmt.Sprint(name, ", commit ", commit, ", claim first ", claimFirst, ", ", was), func(t *testing.T) {
						nothingOld(t, db, remove, commit, claimFirst, was)
					})
				}
			}
		}
	}
}

func nothingOld(t *testing.T, db *DB, remove func(context.Context, *Cache) error, commit, claimFirst bool, was string) {
	ctx := t.Context()
	cache := db.Cache("db0")
	require.NoError(t, cache.Flush(ctx))
	switch was {
	case "live":
		require.NoError(t, cache.Do(ctx, &verb.Call{Verb: statement.Set, Key: []byte("k"), Value: []byte("old")}))
	case "claimed": // and the lease has ended
		require.NoError(t, cache.Do(ctx, &verb.Call{Verb: statement.Claim, Key: []byte("k"), Lease: time.Nanosecond}))
	}
	tx, err := db.Pool().Begin(ctx)
	require.NoError(t, err)
	defer tx.Rollback(context.WithoutCancel(ctx))
	if !claimFirst {
		require.NoError(t, remove(ctx, cache.With(tx)))
	}
	claim := claimed(t, cache, "k")
	if claimFirst {
		require.NoError(t, remove(ctx, cache.With(tx)))
	}
	if commit {
		require.NoError(t, tx.Commit(ctx))
	} else {
		require.NoError(t, tx.Rollback(ctx))
	}
	switch {
	case was == "live":
		require.Equal(t, verb.Hit, claim.Claim.State, "as it was before the transaction")
	case claimFirst:
		require.Equal(t, verb.Won, claim.Claim.State)
		err := fulfil(t, cache, "k", claim.Result.Version, "old")
		require.Equal(t, commit, errors.Is(err, fault.ErrNotStored), "%v", err)
	default:
		require.Equal(t, verb.Unleased, claim.Claim.State, "it waits for the transaction, and not for long")
	}
	get := &verb.Call{Verb: statement.Get, Key: []byte("k")}
	require.NoError(t, cache.Do(ctx, get))
	if commit {
		require.NotEqual(t, "old", string(get.Result.Value))
	}
	if after := claimed(t, cache, "k"); after.Claim.State != verb.Hit {
		require.Equal(t, verb.Won, after.Claim.State, "no caller waits for a load that was voided")
	}
}

// A store waits for a transaction that holds its row, and not for long.
func TestFulfilBehindALock(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	db := openDB(t, pgtest.New(t))
	cache := db.Cache("db0")
	token := claimed(t, cache, "k").Result.Version
	tx, err := db.Pool().Begin(ctx)
	require.NoError(t, err)
	defer tx.Rollback(context.WithoutCancel(ctx))
	require.NoError(t, removals["Delete"](ctx, cache.With(tx)))
	require.ErrorIs(t, fulfil(t, cache, "k", token, "old"), fault.ErrNotStored)
	require.False(t, holds(t, cache, statement.Release, "k", token))
	require.False(t, holds(t, cache, statement.Refresh, "k", token))
	require.NoError(t, tx.Rollback(ctx))
	require.NoError(t, fulfil(t, cache, "k", token, "v"), "the removal was undone")
}

// A caller whose time ends while the row is locked is told the same as one that has
// waited enough.
func TestClaimBehindALockUntilItsDeadline(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	db, err := Open(ctx, pgtest.New(t), Options{LockTimeout: 300 * time.Millisecond, Timeout: 2 * time.Second})
	require.NoError(t, err)
	defer db.Close()
	cache := db.Cache("db0")
	tx, err := db.Pool().Begin(ctx)
	require.NoError(t, err)
	defer tx.Rollback(context.WithoutCancel(ctx))
	require.NoError(t, removals["Delete"](ctx, cache.With(tx)))
	require.Equal(t, verb.Unleased, claimed(t, cache, "k").Claim.State)
	calls := []*verb.Call{
		{Verb: statement.Claim, Key: []byte("k"), Lease: time.Hour},
		{Verb: statement.Claim, Key: []byte("other"), Lease: time.Hour},
	}
	require.NoError(t, cache.Do(ctx, calls...))
	require.Equal(t, verb.Unleased, calls[0].Claim.State)
	require.Equal(t, verb.Won, calls[1].Claim.State)
}

// Removals of keys in opposite orders, of present and of absent ones, lock them in
// one order.
func TestRemovalsInTransactionsDoNotDeadlock(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	db := openDB(t, pgtest.New(t))
	cache := db.Cache("db0")
	var wg sync.WaitGroup
	for i := range 6 {
		wg.Go(func() {
			for round := range 20 {
				keys := make([][]byte, 20)
				for k := range keys {
					keys[(k*(2*i+1)+round)%20] = fmt.Append(nil, "k", k)
				}
				err := func() error {
					tx, err := db.Pool().Begin(ctx)
					if err != nil {
						return err
					}
					defer tx.Rollback(context.WithoutCancel(ctx))
					// The lock_timeout of the pool is short.
					if _, err := tx.Exec(ctx, "SET LOCAL lock_timeout = 0"); err != nil {
						return err
					}
					call := &verb.Call{Verb: statement.DeleteMany, Keys: keys}
					if i%3 == 0 {
						call = &verb.Call{Verb: statement.SetMany, Keys: keys, Values: keys}
					}
					if err := cache.With(tx).Do(ctx, call); err != nil {
						return err
					}
					return tx.Commit(ctx)
				}()
				if err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
}

// A full cache that evicts nothing grants no lease, and answers what it has.
func TestAFullCacheGrantsNoLease(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	db := openDB(t, pgtest.New(t))
	cache := db.Cache("db0")
	token := claimed(t, cache, "lost").Result.Version
	require.NoError(t, cache.Do(ctx, &verb.Call{Verb: statement.Set, Key: []byte("live"), Value: []byte("v")}))
	_, err := db.Pool().Exec(ctx, "UPDATE howdah_internal.cache SET full_since = now() WHERE name = 'db0'")
	require.NoError(t, err)
	full := openDB(t, db.Pool().Config().ConnString()).Cache("db0")
	require.Equal(t, verb.Unleased, claimed(t, full, "new").Claim.State)
	require.Equal(t, verb.Lost, claimed(t, full, "lost").Claim.State)
	require.Equal(t, verb.Hit, claimed(t, full, "live").Claim.State)
	require.ErrorIs(t, fulfil(t, full, "lost", token, "v"), fault.ErrCacheFull)
}

// A claim that hits fills memory as a get does; one that wins a lease ends nothing
// that is there, and what is stored under it is read at once.
func TestClaimsFillMemory(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	db, err := Open(ctx, pgtest.New(t), Options{Timeout: 20 * time.Second, Near: NearOptions{Bound: 10 * time.Second}})
	require.NoError(t, err)
	defer db.Close()
	require.NoError(t, db.CreateCache(ctx, CacheConfig{Name: "n", Near: true}))
	run, stop := context.WithCancel(ctx)
	var upkeep sync.WaitGroup
	upkeep.Go(func() { _ = db.Run(run) })
	defer upkeep.Wait()
	defer stop()
	cache := db.Cache("n")
	recalled := func(key string) (string, bool) {
		get := &verb.Call{Verb: statement.Get, Key: []byte(key)}
		require.NoError(t, cache.Do(ctx, get))
		return string(get.Result.Value), get.Recalled
	}
	require.NoError(t, cache.Do(ctx, &verb.Call{Verb: statement.Set, Key: []byte("k"), Value: []byte("v")}))
	eventually(t, func() bool { // until the change log was polled once
		require.Equal(t, verb.Hit, claimed(t, cache, "k").Claim.State)
		value, fromMemory := recalled("k")
		require.Equal(t, "v", value)
		return fromMemory
	})
	hit := claimed(t, cache, "k")
	require.True(t, holds(t, cache, statement.Refresh, "k", hit.Result.Version))
	_, fromMemory := recalled("k")
	require.True(t, fromMemory, "a lease changes no value")
	require.NoError(t, fulfil(t, cache, "k", hit.Result.Version, "w"))
	value, _ := recalled("k")
	require.Equal(t, "w", value)
}
