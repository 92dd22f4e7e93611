package contract

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/howdah/howdah"
	"github.com/howdah/howdah/internal/test/await"
	"github.com/howdah/howdah/internal/test/dbtest"
	"github.com/howdah/howdah/internal/test/pgtest"
)

// Two processes change the same collections at the same time, and no change is lost.
func TestCollectionsOfTwoProcesses(t *testing.T) {
	t.Parallel()
	const callers, rounds = 8, 25
	ctx, url := t.Context(), pgtest.New(t)
	var work sync.WaitGroup
	for p := range 2 {
		c := dbtest.Open(t, url, nil).Cache("db0")
		for i := range callers {
			work.Go(func() {
				for round := range rounds {
					element := fmt.Sprint(p, " ", i, " ", round)
					_, hash := c.HIncrBy(ctx, "hash", "n", 1, time.Hour)
					_, set := c.SAdd(ctx, "set", []string{element}, 0)
					_, zset := c.ZIncrBy(ctx, "zset", "n", 1, 0)
					_, list := c.RPush(ctx, "list", [][]byte{[]byte(element)}, 0)
					if err := errors.Join(hash, set, zset, list); err != nil {
						t.Error(err)
						return
					}
				}
			})
		}
	}
	work.Wait()
	const want = 2 * callers * rounds
	c := dbtest.Open(t, url, nil).Cache("db0")
	all, err := c.HGetAll(ctx, "hash")
	require.NoError(t, err)
	require.Equal(t, map[string][]byte{"n": fmt.Append(nil, want)}, all)
	n, err := c.SCard(ctx, "set")
	require.NoError(t, err)
	require.Equal(t, want, n)
	score, err := c.ZScore(ctx, "zset", "n")
	require.NoError(t, err)
	require.EqualValues(t, want, score)
	elements, err := c.LRange(ctx, "list", 0, -1)
	require.NoError(t, err)
	once := map[string]bool{}
	for _, element := range elements {
		once[string(element)] = true
	}
	require.Len(t, elements, want)
	require.Len(t, once, want)
}

// What a transaction does to collections is seen when it commits, and undone with it.
func TestCollectionsInTransactions(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	db := dbtest.Open(t, pgtest.New(t), nil)
	c := db.Cache("db0")
	_, err := c.HSet(ctx, "h", map[string][]byte{"a": []byte("1")}, 0)
	require.NoError(t, err)
	undone := errors.New("undone")
	for _, end := range []error{undone, nil} {
		err := pgx.BeginFunc(ctx, db.Pool(), func(tx pgx.Tx) error {
			in := c.With(tx)
			_, err := in.HIncrBy(ctx, "h", "a", 1, 0)
			require.NoError(t, err)
			_, err = in.SAdd(ctx, "s", []string{"m"}, 0)
			require.NoError(t, err)
			inside, err := in.HGet(ctx, "h", "a")
			require.NoError(t, err)
			require.Equal(t, "2", string(inside))
			outside, err := c.HGet(ctx, "h", "a")
			require.NoError(t, err)
			require.Equal(t, "1", string(outside))
			return end
		})
		require.ErrorIs(t, err, end)
	}
	value, err := c.HGet(ctx, "h", "a")
	require.NoError(t, err)
	require.Equal(t, "2", string(value))
	is, err := c.SIsMember(ctx, "s", "m")
	require.NoError(t, err)
	require.True(t, is)
}

// A limiter of several calls in one transaction lets exactly as many through as it says.
func TestLimiterInTransaction(t *testing.T) {
	t.Parallel()
	const limit, callers = 5, 12
	ctx, url := t.Context(), pgtest.New(t)
	var mu sync.Mutex
	var work sync.WaitGroup
	admitted := 0
	for p := range 2 {
		db := dbtest.Open(t, url, nil)
		for i := range callers {
			work.Go(func() {
				ok := false
				err := db.Transact(ctx, howdah.TxOptions{Cache: "db0", Keys: []string{"limit"}}, func(ctx context.Context, tx pgx.Tx) error {
					c := db.Cache("db0").With(tx)
					n, err := c.ZCard(ctx, "limit")
					if ok = n < limit; err != nil || !ok {
						return err
					}
					_, err = c.ZAdd(ctx, "limit", []howdah.ZMember{{Score: 1, Member: fmt.Sprint(p, " ", i)}}, time.Hour)
					return err
				})
				if err != nil {
					t.Error(err)
				}
				mu.Lock()
				defer mu.Unlock()
				if ok {
					admitted++
				}
			})
		}
	}
	work.Wait()
	require.Equal(t, limit, admitted)
}

// Collections are read from memory; Fresh and transactions are not, own changes are seen
// at once, and those of others within the bound.
func TestCollectionsReadFromMemory(t *testing.T) {
	t.Parallel()
	ctx, url := t.Context(), pgtest.New(t)
	db := dbtest.OpenNear(t, url)
	c, other := db.Cache("near"), dbtest.Open(t, url, nil).Cache("near")
	write := func(c *howdah.Cache, v string) {
		t.Helper()
		_, hash := c.HSet(ctx, "h", map[string][]byte{"f": []byte(v)}, 0)
		_, set := c.SAdd(ctx, "s", []string{v}, 0)
		_, zset := c.ZAdd(ctx, "z", []howdah.ZMember{{Member: v}}, 0)
		_, list := c.LPush(ctx, "l", [][]byte{[]byte(v)}, 0)
		require.NoError(t, errors.Join(hash, set, zset, list))
	}
	reads := map[string]func(c *howdah.Cache, v string) bool{
		"hash": func(c *howdah.Cache, v string) bool {
			got, err := c.HGet(ctx, "h", "f")
			require.NoError(t, err)
			return string(got) == v
		},
		"set": func(c *howdah.Cache, v string) bool {
			is, err := c.SIsMember(ctx, "s", v)
			require.NoError(t, err)
			return is
		},
		"sorted set": func(c *howdah.Cache, v string) bool {
			_, err := c.ZScore(ctx, "z", v)
			require.True(t, err == nil || errors.Is(err, howdah.ErrMiss), err)
			return err == nil
		},
		"list": func(c *howdah.Cache, v string) bool {
			got, err := c.LRange(ctx, "l", 0, 0)
			require.NoError(t, err)
			return string(got[0]) == v
		},
	}
	write(c, "own")
	for name, read := range reads {
		dbtest.Eventually(t, "memory answers the "+name, func() bool {
			hits := dbtest.Memory(db).Hits
			require.True(t, read(c, "own"), name)
			return dbtest.Memory(db).Hits > hits
		})
		hits := dbtest.Memory(db).Hits
		require.True(t, read(c.Fresh(), "own"))
		require.NoError(t, pgx.BeginFunc(ctx, db.Pool(), func(tx pgx.Tx) error {
			require.True(t, read(c.With(tx), "own"))
			return nil
		}))
		require.Equal(t, hits, dbtest.Memory(db).Hits, name)
	}
	write(c, "own again")
	for name, read := range reads {
		require.True(t, read(c, "own again"), name)
	}
	write(other, "of another process")
	for name, read := range reads {
		require.True(t, read(c.Fresh(), "of another process"), name)
	}
	for name, read := range reads {
		await.True(t, "memory has the "+name+" of another process", func() bool { return read(c, "of another process") })
	}
}

// A cache that fails open has no collections where the database is away.
func TestCollectionsFailOpen(t *testing.T) {
	t.Parallel()
	db := dbtest.Open(t, pgtest.New(t), nil)
	ctx, cancel := context.WithDeadline(t.Context(), time.Now().Add(-time.Second))
	defer cancel()
	open := db.Cache("db0").FailOpen()
	all, err := open.HGetAll(ctx, "h")
	require.NoError(t, err)
	require.Empty(t, all)
	_, err = open.HGet(ctx, "h", "f")
	require.ErrorIs(t, err, howdah.ErrMiss)
	both, err := open.SUnion(ctx, "a", "b")
	require.NoError(t, err)
	require.Empty(t, both)
	_, err = open.SAdd(ctx, "s", []string{"m"}, 0)
	require.ErrorIs(t, err, howdah.ErrTimeout)
}
