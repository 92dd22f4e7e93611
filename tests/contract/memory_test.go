package contract

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/howdah/howdah"
	"github.com/howdah/howdah/internal/statement"
	"github.com/howdah/howdah/internal/test/dbtest"
	"github.com/howdah/howdah/internal/test/pgtest"
	"github.com/howdah/howdah/internal/test/seed"
	"github.com/howdah/howdah/internal/verb"
)

// Whatever a process writes, by whichever way, its next read sees.
func TestMemorySeesOwnWrites(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	db := dbtest.OpenNear(t, pgtest.New(t))
	require.NoError(t, db.CreateCache(ctx, howdah.CacheConfig{Name: "other", Near: true}))
	c, other := db.Cache("near"), db.Cache("other")
	inTx := func(end func(pgx.Tx) error, write func(*howdah.Cache) error) error {
		tx, err := db.Pool().Begin(ctx)
		require.NoError(t, err)
		defer tx.Rollback(context.Background())
		require.NoError(t, write(c.With(tx)))
		return end(tx)
	}
	commit := func(tx pgx.Tx) error { return tx.Commit(ctx) }
	rollback := func(tx pgx.Tx) error { return tx.Rollback(ctx) }
	set := func(c *howdah.Cache) error { return c.Set(ctx, "k", []byte("new"), 0) }
	remove := func(c *howdah.Cache) error { return c.Delete(ctx, "k") }
	for name, test := range map[string]struct {
		write func() error
		want  string
	}{
		"set":    {func() error { return set(c) }, "new"},
		"delete": {func() error { return remove(c) }, ""},
		"add":    {func() error { _ = remove(c); return c.Add(ctx, "k", []byte("new"), 0) }, "new"},
		"set many": {func() error {
			return c.SetMany(ctx, []howdah.Item{{Key: "j", Value: []byte("x")}, {Key: "k", Value: []byte("new")}}, 0)
		}, "new"},
		"delete prefix": {func() error { _, err := c.DeletePrefix(ctx, "k"); return err }, ""},
		"flush":         {func() error { return c.Flush(ctx) }, ""},
		"rename away":   {func() error { return c.Rename(ctx, "k", "j", howdah.RenameOptions{}) }, ""},
		"move away":     {func() error { return c.Move(ctx, "k", other) }, ""},
		"rename to": {func() error {
			require.NoError(t, c.Set(ctx, "j", []byte("new"), 0))
			return c.Rename(ctx, "j", "k", howdah.RenameOptions{})
		}, "new"},
		"copy to": {func() error {
			require.NoError(t, other.Set(ctx, "j", []byte("new"), 0))
			return other.Copy(ctx, "j", c, "k", howdah.CopyOptions{Replace: true})
		}, "new"},
		"transact": {func() error {
			return db.Transact(ctx, howdah.TxOptions{}, func(ctx context.Context, tx pgx.Tx) error { return set(c.With(tx)) })
		}, "new"},
		"commit":             {func() error { return inTx(commit, set) }, "new"},
		"rollback":           {func() error { return inTx(rollback, set) }, "old"},
		"commit of a delete": {func() error { return inTx(commit, remove) }, ""},
		"commit of a flush":  {func() error { return inTx(commit, func(c *howdah.Cache) error { return c.Flush(ctx) }) }, ""},
		"commit of delete prefix": {func() error {
			return inTx(commit, func(c *howdah.Cache) error { _, err := c.DeletePrefix(ctx, "k"); return err })
		}, ""},
		"commit of a rename": {func() error {
			return inTx(commit, func(c *howdah.Cache) error { return c.Rename(ctx, "k", "j", howdah.RenameOptions{}) })
		}, ""},
		"savepoint undone": {func() error {
			tx, err := db.Pool().Begin(ctx)
			require.NoError(t, err)
			defer tx.Rollback(context.Background())
			savepoint, err := tx.Begin(ctx)
			require.NoError(t, err)
			require.NoError(t, set(c.With(savepoint)))
			require.NoError(t, savepoint.Rollback(ctx))
			return tx.Commit(ctx)
		}, "old"},
		"drop and create": {func() error {
			require.NoError(t, db.DropCache(ctx, "near"))
			return db.CreateCache(ctx, howdah.CacheConfig{Name: "near", Near: true})
		}, ""},
		"empty": {func() error {
			return db.AlterCache(ctx, howdah.CacheConfig{Name: "near", Near: true}, howdah.AlterOptions{Empty: true})
		}, ""},
	} {
		require.NoError(t, c.Flush(ctx), name)
		require.NoError(t, c.Set(ctx, "k", []byte("old"), 0), name)
		dbtest.Warm(t, c, "k")
		require.NoError(t, test.write(), name)
		require.Equal(t, test.want, dbtest.Read(t, c, "k"), name)
		dbtest.Warm(t, c, "k")
		require.Equal(t, test.want, dbtest.Read(t, c, "k"), name)
	}
}

// A get that is started after a set, and does not wait for it, sees the set.
func TestMemoryKeepsTheOrderOfAPipeline(t *testing.T) {
	t.Parallel()
	db := dbtest.OpenNear(t, pgtest.New(t))
	c := db.Cache("near")
	require.NoError(t, c.Set(t.Context(), "k", []byte("0"), 0))
	dbtest.Warm(t, c, "k")
	var readers sync.WaitGroup
	ctx, stop := context.WithCancel(t.Context())
	for range 4 {
		readers.Go(func() {
			for ctx.Err() == nil {
				_, _ = c.Get(ctx, "k")
			}
		})
	}
	for n := range 500 {
		want := fmt.Sprint(n)
		answers := make(chan string, 1)
		dbtest.Start(c, &verb.Call{Verb: statement.Set, Key: []byte("k"), Value: []byte(want)}, func(*verb.Call) {})
		dbtest.Start(c, &verb.Call{Verb: statement.Get, Key: []byte("k")}, func(c *verb.Call) { answers <- string(c.Result.Value) })
		require.Equal(t, want, <-answers)
	}
	stop()
	readers.Wait()
}

// What a process stores it serves from memory at once, and the polls that come to
// its own row of the log do not change that.
func TestMemoryKeepsWhatItsProcessSets(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	url := pgtest.New(t)
	db, other := dbtest.OpenNear(t, url), dbtest.Open(t, url, nil)
	c := db.Cache("near")
	n := 0
	set := func() string {
		n++
		value := fmt.Sprint(n)
		require.NoError(t, c.Set(ctx, "k", []byte(value), time.Hour))
		return value
	}
	// A lease may lapse on a slow machine: then PostgreSQL is asked, and it is tried again.
	dbtest.Eventually(t, "a set is served from memory", func() bool {
		value, before := set(), dbtest.Memory(db)
		require.Equal(t, value, dbtest.Read(t, c, "k"))
		return dbtest.Memory(db).Hits > before.Hits
	})
	dbtest.Eventually(t, "a set is served from memory after polls", func() bool {
		value, before := set(), dbtest.Memory(db)
		dbtest.Eventually(t, "there were polls", func() bool {
			require.Equal(t, value, dbtest.Read(t, c, "k"))
			return dbtest.Memory(db).Polls > before.Polls+2
		})
		return dbtest.Memory(db).Misses == before.Misses
	})
	set()
	require.NoError(t, other.Cache("near").Set(ctx, "k", []byte("foreign"), 0))
	dbtest.Eventually(t, "the write of another process is read", func() bool { return dbtest.Read(t, c, "k") == "foreign" })
}

// What another process writes is seen, in every way in which it can write.
func TestMemorySeesOtherProcesses(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	url := pgtest.New(t)
	db, other := dbtest.OpenNear(t, url), dbtest.Open(t, url, nil)
	c, there := db.Cache("near"), other.Cache("near")
	for name, write := range map[string]func(){
		"library":  func() { require.NoError(t, there.Set(ctx, "k", []byte("new"), 0)) },
		"function": func() { dbtest.Exec(t, other, "SELECT howdah.set_text('near', 'k', 'new')") },
		"transaction": func() {
			tx, err := other.Pool().Begin(ctx)
			require.NoError(t, err)
			require.NoError(t, there.With(tx).Set(ctx, "k", []byte("new"), 0))
			require.NoError(t, tx.Commit(ctx))
		},
		"copy": func() {
			require.NoError(t, there.Set(ctx, "j", []byte("new"), 0))
			require.NoError(t, there.Rename(ctx, "j", "k", howdah.RenameOptions{}))
		},
		"made anew": func() {
			require.NoError(t, other.DropCache(ctx, "near"))
			require.NoError(t, other.CreateCache(ctx, howdah.CacheConfig{Name: "near", Near: true}))
			require.NoError(t, there.Set(ctx, "k", []byte("new"), 0))
		},
		"without log": func() {
			dbtest.Exec(t, other, "SELECT howdah.alter_cache('near', near => false)")
			require.NoError(t, there.Set(ctx, "k", []byte("new"), 0))
		},
	} {
		t.Run(name, func(t *testing.T) {
			if name == "without log" {
				defer dbtest.Exec(t, other, "SELECT howdah.alter_cache('near', near => true)")
			}
			dbtest.Eventually(t, "the old value is in memory", func() bool {
				require.NoError(t, c.Set(ctx, "k", []byte("old"), 0))
				dbtest.Read(t, c, "k")
				hits := dbtest.Memory(db).Hits
				dbtest.Read(t, c, "k")
				return dbtest.Memory(db).Hits > hits
			})
			require.Equal(t, "old", dbtest.Read(t, c, "k"))
			write()
			require.Equal(t, "new", dbtest.Read(t, there, "k"))
			dbtest.Eventually(t, "the new value is read", func() bool { return dbtest.Read(t, c, "k") == "new" })
		})
	}
}

// An absent key is kept like a value, an excluded one is not, and one that
// expires is not served after its time.
func TestMemoryOfAbsentExcludedAndExpiring(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	db := dbtest.OpenNear(t, pgtest.New(t))
	c := db.Cache("near")
	dbtest.Warm(t, c, "absent")
	require.Positive(t, dbtest.Memory(db).AbsentHits)

	require.NoError(t, c.Set(ctx, "excluded:k", []byte("v"), 0))
	hits := dbtest.Memory(db).Hits
	for range 10 {
		require.Equal(t, "v", dbtest.Read(t, c, "excluded:k"))
	}
	require.Equal(t, hits, dbtest.Memory(db).Hits)

	require.NoError(t, c.Set(ctx, "short", []byte("v"), 300*time.Millisecond))
	dbtest.Eventually(t, "it expires", func() bool { return dbtest.Read(t, c, "short") == "" })
	require.Equal(t, "", dbtest.Read(t, c.Fresh(), "short"), "it expired in memory before it did in PostgreSQL")
}

// Where the log cannot be read, a sentence says why, and PostgreSQL answers.
func TestMemoryWithoutRightsOnTheLog(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	databaseURL := pgtest.New(t)
	owner := dbtest.Open(t, databaseURL, nil)
	require.NoError(t, owner.CreateCache(ctx, howdah.CacheConfig{Name: "near", Near: true}))
	role, app := dbtest.NewRole(t, databaseURL)
	dbtest.Exec(t, owner, "SELECT howdah.grant_runtime($1)", role)
	dbtest.Exec(t, owner, "REVOKE SELECT ON howdah_internal.change FROM "+role)

	log := new(dbtest.Log)
	db := dbtest.Open(t, app, &howdah.Options{
		Timeout: dbtest.Timeout, Near: howdah.NearOptions{Bound: dbtest.NearBound}, Logger: slog.New(slog.NewTextHandler(log, nil)),
	})
	dbtest.Run(t, db)
	c := db.Cache("near")
	require.Equal(t, "", dbtest.Read(t, c, "k"))
	dbtest.Eventually(t, "the log says why", func() bool {
		dbtest.Read(t, c, "k")
		return strings.Contains(log.String(), "permission denied for table change")
	})
	require.Zero(t, dbtest.Memory(db).Hits)
}

// Without Run there is no lease, and every read asks PostgreSQL.
func TestMemoryNeedsRun(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	db := dbtest.Open(t, pgtest.New(t), &howdah.Options{Timeout: dbtest.Timeout, Near: howdah.NearOptions{Bound: time.Second}})
	require.NoError(t, db.CreateCache(ctx, howdah.CacheConfig{Name: "near", Near: true}))
	c := db.Cache("near")
	require.NoError(t, c.Set(ctx, "k", []byte("v"), 0))
	for range 20 {
		require.Equal(t, "v", dbtest.Read(t, c, "k"))
	}
	require.Zero(t, dbtest.Memory(db).Hits)
}

// The caller of Get may change what it got.
func TestMemoryIsNotShared(t *testing.T) {
	t.Parallel()
	db := dbtest.OpenNear(t, pgtest.New(t))
	c := db.Cache("near")
	require.NoError(t, c.Set(t.Context(), "k", []byte("value"), 0))
	for range 10 {
		value, err := c.Get(t.Context(), "k")
		require.NoError(t, err)
		require.Equal(t, "value", string(value))
		copy(value, "XXXXX")
	}
	dbtest.Warm(t, c, "k")
	require.Equal(t, "value", dbtest.Read(t, c, "k"))
}

// Wrong options are refused with a sentence.
func TestNearOptions(t *testing.T) {
	t.Parallel()
	url := pgtest.New(t)
	for want, o := range map[string]howdah.NearOptions{
		"1ms":    {Bound: time.Millisecond},
		"1h0m0s": {Bound: time.Hour},
		"-1s":    {Bound: -time.Second},
		"1000":   {Bound: time.Second, Bytes: 1000},
	} {
		_, err := howdah.Open(t.Context(), url, &howdah.Options{Near: o})
		require.ErrorContains(t, err, want)
	}
}

// Many processes read and write at random: each sees its own writes, and no read
// goes back.
func TestMemoryNeverGoesBack(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	url := pgtest.New(t)
	seed := seed.Of(t)
	dbs := []*howdah.DB{dbtest.OpenNear(t, url), dbtest.OpenNear(t, url)}
	const keys, each = 5, 400
	var work sync.WaitGroup
	for i, db := range dbs {
		c := db.Cache("near")
		for w := range 4 {
			work.Go(func() {
				random := rand.New(rand.NewPCG(seed, uint64(i*10+w)))
				var seen [keys]int64
				for range each {
					k := random.IntN(keys)
					key := fmt.Sprint("k", k)
					if w == 0 && random.IntN(4) == 0 {
						// Increments are ordered by PostgreSQL.
						n, err := c.Increment(ctx, key, 1, 0)
						if err != nil {
							t.Error(err)
							return
						}
						seen[k] = max(seen[k], n)
						continue
					}
					value, err := c.Get(ctx, key)
					if errors.Is(err, howdah.ErrMiss) {
						value = []byte("0")
					} else if err != nil {
						t.Error(err)
						return
					}
					var n int64
					_, _ = fmt.Sscan(string(value), &n)
					if n < seen[k] {
						t.Errorf("process %d read %d of %s after %d", i, n, key, seen[k])
						return
					}
					seen[k] = n
				}
			})
		}
	}
	work.Wait()
	require.Positive(t, dbtest.Memory(dbs[0]).Hits)
}
