package contract

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/howdah/howdah"
	"github.com/howdah/howdah/internal/statement"
	"github.com/howdah/howdah/internal/test/dbtest"
	"github.com/howdah/howdah/internal/test/pgtest"
	"github.com/howdah/howdah/internal/test/seed"
	"github.com/howdah/howdah/internal/verb"
)

// edit reads keys, has fn say what becomes of their values ("" is an absent key),
// and commits that, again and again until nothing has changed in between.
func edit(ctx context.Context, t *testing.T, c *howdah.Cache, keys []string, fn func(values []string)) {
	for {
		commit := &verb.Call{Verb: statement.Commit}
		values := make([]string, len(keys))
		for i, key := range keys {
			entry := &verb.Call{Verb: statement.GetEntry, Key: []byte(key), Fresh: true}
			require.NoError(t, dbtest.Do(ctx, c, entry))
			values[i] = string(entry.Result.Value)
			commit.Group = append(commit.Group, verb.Edit{Version: entry.Result.Version})
			commit.Keys = append(commit.Keys, []byte(key))
		}
		before := slices.Clone(values)
		fn(values)
		for i, value := range values {
			switch {
			case value == before[i]:
			case value == "":
				commit.Group[i].Act = verb.Remove
			default:
				commit.Group[i].Act = verb.Put
			}
			commit.Values = append(commit.Values, []byte(value))
		}
		require.NoError(t, dbtest.Do(ctx, c, commit))
		if commit.Status == verb.OK {
			return
		}
		require.Equal(t, verb.NotStored, commit.Status)
	}
}

// Two processes move money between accounts, which are removed when they are empty
// and made again by the next deposit. No sum is ever lost, and no group sees half
// of another.
func TestMoneyIsMovedWhole(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	url := pgtest.New(t)
	dbs := []*howdah.DB{dbtest.Open(t, url, nil), dbtest.Open(t, url, nil)}
	for _, class := range []string{"unlogged", "sync"} {
		require.NoError(t, dbs[0].CreateCache(ctx, howdah.CacheConfig{Name: class, Durability: howdah.Durability(class), Near: true}))
		accounts := make([]string, 6)
		for i := range accounts {
			accounts[i] = fmt.Sprint("account:", i)
		}
		const each = 25
		for _, account := range accounts {
			require.NoError(t, dbs[0].Cache(class).Set(ctx, account, []byte(strconv.Itoa(each)), 0))
		}
		seed := seed.Of(t)
		dbtest.Together(8, func(i int) {
			cache, random := dbs[i%2].Cache(class), rand.New(rand.NewPCG(seed, uint64(i)))
			for range 60 {
				if random.IntN(6) == 0 { // all of them at one moment
					var seen []string
					edit(ctx, t, cache, accounts, func(values []string) { seen = slices.Clone(values) })
					assert.Equal(t, each*len(accounts), sum(seen), seen)
					continue
				}
				p := random.Perm(len(accounts))
				amount := 1 + random.IntN(30)
				edit(ctx, t, cache, []string{accounts[p[0]], accounts[p[1]]}, func(values []string) {
					from, to := balance(values[0]), balance(values[1])
					amount := min(amount, from)
					values[0], values[1] = account(from-amount), account(to+amount)
				})
			}
		})
		left := make([]string, len(accounts))
		edit(ctx, t, dbs[0].Cache(class), accounts, func(values []string) { copy(left, values) })
		require.Equal(t, each*len(accounts), sum(left), left)
	}
}

func balance(value string) int {
	n, _ := strconv.Atoi(value)
	return n
}

// account is a balance as it is stored: an empty account is not.
func account(n int) string {
	if n == 0 {
		return ""
	}
	return strconv.Itoa(n)
}

func sum(values []string) (total int) {
	for _, value := range values {
		total += balance(value)
	}
	return total
}

// Two processes each read what the other stores: that a key is absent, by what a read
// or a watch said of it. Both may not be written.
func TestAbsenceThatBothRead(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	url := pgtest.New(t)
	caches := []*howdah.Cache{dbtest.Open(t, url, nil).Cache("db0"), dbtest.Open(t, url, nil).Cache("db0")}
	for _, watched := range []bool{false, true} {
		for round := range 600 {
			keys := [][]byte{fmt.Appendf(nil, "a%t%d", watched, round), fmt.Appendf(nil, "b%t%d", watched, round)}
			var done atomic.Int32
			dbtest.Together(2, func(i int) {
				call := &verb.Call{Verb: statement.Commit, Keys: keys, Values: [][]byte{nil, nil}, Group: make([]verb.Edit, 2)}
				if watched {
					for n, key := range keys {
						watch := &verb.Call{Verb: statement.Watch, Key: key}
						require.NoError(t, dbtest.Do(ctx, caches[i], watch))
						call.Group[n] = verb.Edit{Version: watch.Result.Version, Absent: !watch.Result.Found}
						if watch.Result.Found {
							return // the other was first
						}
					}
				}
				call.Group[i].Act, call.Values[i] = verb.Put, []byte("1")
				require.NoError(t, dbtest.Do(ctx, caches[i], call))
				if call.Status == verb.OK {
					done.Add(1)
				}
			})
			require.EqualValues(t, 1, done.Load(), "watched: %t, round %d", watched, round)
		}
	}
}
