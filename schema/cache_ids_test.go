package schema_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/stretchr/testify/require"

	"github.com/howdah/howdah/internal/test/seed"
)

func cacheID(t testing.TB, q querier, cache string) int {
	t.Helper()
	return one[int](t, q, "SELECT id FROM howdah_internal.cache WHERE name = $1", cache)
}

// Two databases hold a cache under one id, whatever each has made before.
func TestTheIDOfACacheCanBeChosen(t *testing.T) {
	t.Parallel()
	first, second := open(t), open(t)
	run(t, second, "SELECT howdah.create_cache('another')")
	for _, db := range []querier{first, second} {
		require.True(t, one[bool](t, db, "SELECT howdah.create_cache('x', prefix_index => true, near => true, id => 1000)"))
		require.Equal(t, "howdah_internal.cache_1000", table(t, db, "x"))
		run(t, db, "SELECT howdah.set('x', 'k', 'v'), howdah.maintain('x')")
		require.Equal(t, "v", one[string](t, db, "SELECT convert_from(value, 'UTF8') FROM howdah.cache_x"))

		// The next ones follow it.
		run(t, db, "SELECT howdah.create_cache('next')")
		require.Equal(t, 1001, cacheID(t, db, "next"))
		run(t, db, "SELECT howdah.alter_cache('next', near => true)")
		require.Equal(t, 1002, cacheID(t, db, "next"))

		// A cache that exists keeps its id.
		require.False(t, one[bool](t, db, "SELECT howdah.create_cache('x', if_not_exists => true, id => 2000)"))
		require.Equal(t, 1000, cacheID(t, db, "x"))
		refused(t, db, "HW003", "SELECT howdah.create_cache('x', id => 2000)")
		run(t, db, "SELECT howdah.create_cache('lowest', id => 1003)")
	}
}

func TestIDsThatCannotBeChosen(t *testing.T) {
	t.Parallel()
	db := open(t)
	run(t, db, "SELECT howdah.create_cache('x', id => 100)")
	refusedWith := func(id int, hint string) {
		t.Helper()
		_, err := db.Exec(ctx(t), "SELECT howdah.create_cache('y', id => $1)", id)
		var pgErr *pgconn.PgError
		require.ErrorAs(t, err, &pgErr)
		require.Equal(t, "HW004", pgErr.Code)
		require.Equal(t, fmt.Sprintf("Cache 'y' cannot have the id %d.", id), pgErr.Message)
		require.Regexp(t, hint, pgErr.Hint)
	}
	for _, id := range []int{0, -1, 1_000_000_001} {
		refusedWith(id, `^id must be from 1 to 1000000000, or NULL for the next one\.$`)
	}
	const used = `^Each id is used once in a database, also after its cache was dropped: choose 1\d\d or more\.$`
	refusedWith(100, used)
	refusedWith(99, used)
	run(t, db, "SELECT howdah.drop_cache('x')")
	refusedWith(100, used)
	require.Equal(t, []string{"c", "db0", "s"}, all[string](t, db, "SELECT name FROM howdah_internal.cache ORDER BY name"))

	// A rollback takes the cache back, not the id.
	tx, err := db.Begin(ctx(t))
	require.NoError(t, err)
	run(t, tx, "SELECT howdah.create_cache('y', id => 500)")
	require.NoError(t, tx.Rollback(ctx(t)))
	run(t, db, "SELECT howdah.create_cache('y')")
	require.Equal(t, 501, cacheID(t, db, "y"))
}

// patiently runs a statement again that has waited too long for a lock.
func patiently(ctx context.Context, q querier, sql string, args ...any) error {
	for {
		if _, err := q.Exec(ctx, sql, args...); state(err) != "55P03" {
			return err
		}
	}
}

// Those who make caches with and without an id, make them again and turn the change
// log on and off at the same time never get an id that was there before.
func TestIDsAreUsedOnceAlsoAtTheSameTime(t *testing.T) {
	t.Parallel()
	db := open(t)
	seed := seed.Of(t)
	const callers, rounds = 8, 25
	var (
		mu     sync.Mutex
		used   = make(map[int]string)
		chosen int
	)
	together(t, callers, func(ctx context.Context, i int) error {
		random := rand.New(rand.NewPCG(seed, uint64(i)))
		name := fmt.Sprintf("x%d", i)
		for range rounds {
			var id *int
			if i%2 == 0 {
				mu.Lock()
				id = new(int)
				for used := range used {
					*id = max(*id, used)
				}
				// Close to what others draw now.
				*id += 1 + random.IntN(4*callers)
				mu.Unlock()
			}
			err := patiently(ctx, db, "SELECT howdah.create_cache($1, id => $2)", name, id)
			if id != nil && state(err) == "HW004" {
				continue // another caller was faster
			}
			if err != nil {
				return err
			}
			if id != nil {
				mu.Lock()
				chosen++
				mu.Unlock()
			}
			for _, then := range []string{"SELECT howdah.alter_cache($1, near => true)", "SELECT howdah.drop_cache($1)"} {
				var got int
				if err := db.QueryRow(ctx, "SELECT id FROM howdah_internal.cache WHERE name = $1", name).Scan(&got); err != nil {
					return err
				}
				mu.Lock()
				before, again := used[got]
				used[got] = name
				mu.Unlock()
				if again {
					return fmt.Errorf("id %d of %s was already that of %s", got, name, before)
				}
				if err := patiently(ctx, db, then, name); err != nil {
					return err
				}
			}
		}
		return nil
	})
	require.Positive(t, chosen)
}

// No session draws an id while another one chooses one. Caches that are made without an id do
// not wait for each other.
func TestWhoChoosesAnIDExcludesThoseWhoDraw(t *testing.T) {
	t.Parallel()
	db := open(t)
	for _, pair := range []struct {
		first, second string
		wait          bool
	}{
		{"create_cache('x')", "create_cache('y')", false},
		{"create_cache('x')", "create_cache('y', id => 1000)", true},
		{"create_cache('x', id => 2000)", "create_cache('y')", true},
		{"create_cache('x', id => 3000)", "alter_cache('c', near => true)", true},
		{"alter_cache('c', near => true)", "create_cache('y', id => 4000)", true},
	} {
		first, err := db.Begin(ctx(t))
		require.NoError(t, err)
		defer first.Rollback(ctx(t))
		run(t, first, "SELECT howdah."+pair.first)
		second, err := db.Begin(ctx(t))
		require.NoError(t, err)
		defer second.Rollback(ctx(t))
		run(t, second, "SET LOCAL lock_timeout = '100ms'")
		_, err = second.Exec(ctx(t), "SELECT howdah."+pair.second)
		if pair.wait {
			require.Equal(t, "55P03", state(err), "%v: %v", pair, err)
		} else {
			require.NoError(t, err)
		}
		require.NoError(t, second.Rollback(ctx(t)))
		require.NoError(t, first.Rollback(ctx(t)))
	}
}
