package howdah_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/howdah/howdah"
	"github.com/howdah/howdah/internal/core"
	"github.com/howdah/howdah/internal/near"
	"github.com/howdah/howdah/internal/statement"
	"github.com/howdah/howdah/internal/test/pgtest"
	"github.com/howdah/howdah/internal/test/seed"
	"github.com/howdah/howdah/internal/verb"
)

// nearBound is the bound of the tests. What they say does not depend on it: where a
// lease has lapsed, PostgreSQL answers.
const nearBound = 300 * time.Millisecond

// openNear opens a database with a cache "near", whose entries are kept in memory.
func openNear(t *testing.T, url string) *howdah.DB {
	t.Helper()
	db := open(t, url, &howdah.Options{Timeout: patient.Timeout, Near: howdah.NearOptions{Bound: nearBound, Exclude: []string{"excluded:"}}})
	require.NoError(t, db.EnsureCache(t.Context(), howdah.CacheConfig{Name: "near", Near: true}))
	running(t, db)
	return db
}

func memoryOf(db *howdah.DB) near.Stats { return (*core.DB)(db).Near().Stats() }

// warm reads a key until memory answers it.
func warm(t *testing.T, c *howdah.Cache, key string) {
	t.Helper()
	db := (*core.Cache)(c).DB()
	eventually(t, key+" is answered from memory", func() bool {
		hits := db.Near().Stats().Hits
		_, err := c.Get(t.Context(), key)
		require.True(t, err == nil || errors.Is(err, howdah.ErrMiss), err)
		return db.Near().Stats().Hits > hits
	})
}

// pollsPass awaits that polls have brought what was written before: other writes than
// plain sets are foreign to the polls of their own process, and end what memory holds.
func pollsPass(t *testing.T, c *howdah.Cache) {
	t.Helper()
	memory := (*core.Cache)(c).DB().Near()
	before := memory.Stats().Polls
	eventually(t, "there were polls", func() bool {
		read(t, c, "no such key")
		return memory.Stats().Polls > before+2
	})
}

// read gets a key; "" is a miss.
func read(t *testing.T, c *howdah.Cache, key string) string {
	t.Helper()
	value, err := c.Get(t.Context(), key)
	if !errors.Is(err, howdah.ErrMiss) {
		require.NoError(t, err)
	}
	return string(value)
}

// Whatever a process writes, by whichever way, its next read sees.
func TestMemorySeesOwnWrites(t *testing.T) {
	ctx := t.Context()
	db := openNear(t, pgtest.New(t))
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
		warm(t, c, "k")
		require.NoError(t, test.write(), name)
		require.Equal(t, test.want, read(t, c, "k"), name)
		warm(t, c, "k")
		require.Equal(t, test.want, read(t, c, "k"), name)
	}
}

// A get that is started after a set, and does not wait for it, sees the set.
func TestMemoryKeepsTheOrderOfAPipeline(t *testing.T) {
	db := openNear(t, pgtest.New(t))
	c := db.Cache("near")
	require.NoError(t, c.Set(t.Context(), "k", []byte("0"), 0))
	warm(t, c, "k")
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
		start(c, &verb.Call{Verb: statement.Set, Key: []byte("k"), Value: []byte(want)}, func(*verb.Call) {})
		start(c, &verb.Call{Verb: statement.Get, Key: []byte("k")}, func(c *verb.Call) { answers <- string(c.Result.Value) })
		require.Equal(t, want, <-answers)
	}
	stop()
	readers.Wait()
}

// What a process stores it serves from memory at once, and the polls that come to
// its own row of the log do not change that.
func TestMemoryKeepsWhatItsProcessSets(t *testing.T) {
	ctx := t.Context()
	url := pgtest.New(t)
	db, other := openNear(t, url), open(t, url, nil)
	c := db.Cache("near")
	n := 0
	set := func() string {
		n++
		value := fmt.Sprint(n)
		require.NoError(t, c.Set(ctx, "k", []byte(value), time.Hour))
		return value
	}
	// A lease may lapse on a slow machine: then PostgreSQL is asked, and it is tried again.
	eventually(t, "a set is served from memory", func() bool {
		value, before := set(), memoryOf(db)
		require.Equal(t, value, read(t, c, "k"))
		return memoryOf(db).Hits > before.Hits
	})
	eventually(t, "a set is served from memory after polls", func() bool {
		value, before := set(), memoryOf(db)
		eventually(t, "there were polls", func() bool {
			require.Equal(t, value, read(t, c, "k"))
			return memoryOf(db).Polls > before.Polls+2
		})
		return memoryOf(db).Misses == before.Misses
	})
	set()
	require.NoError(t, other.Cache("near").Set(ctx, "k", []byte("foreign"), 0))
	eventually(t, "the write of another process is read", func() bool { return read(t, c, "k") == "foreign" })
}

// What another process writes is seen, in every way in which it can write.
func TestMemorySeesOtherProcesses(t *testing.T) {
	ctx := t.Context()
	url := pgtest.New(t)
	db, other := openNear(t, url), open(t, url, nil)
	c, there := db.Cache("near"), other.Cache("near")
	for name, write := range map[string]func(){
		"library":  func() { require.NoError(t, there.Set(ctx, "k", []byte("new"), 0)) },
		"function": func() { execute(t, other, "SELECT howdah.set_text('near', 'k', 'new')") },
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
			execute(t, other, "SELECT howdah.alter_cache('near', near => false)")
			require.NoError(t, there.Set(ctx, "k", []byte("new"), 0))
		},
	} {
		t.Run(name, func(t *testing.T) {
			if name == "without log" {
				defer execute(t, other, "SELECT howdah.alter_cache('near', near => true)")
			}
			eventually(t, "the old value is in memory", func() bool {
				require.NoError(t, c.Set(ctx, "k", []byte("old"), 0))
				read(t, c, "k")
				hits := memoryOf(db).Hits
				read(t, c, "k")
				return memoryOf(db).Hits > hits
			})
			require.Equal(t, "old", read(t, c, "k"))
			write()
			require.Equal(t, "new", read(t, there, "k"))
			eventually(t, "the new value is read", func() bool { return read(t, c, "k") == "new" })
		})
	}
}

// An absent key is kept like a value, an excluded one is not, and one that
// expires is not served after its time.
func TestMemoryOfAbsentExcludedAndExpiring(t *testing.T) {
	ctx := t.Context()
	db := openNear(t, pgtest.New(t))
	c := db.Cache("near")
	warm(t, c, "absent")
	require.Positive(t, memoryOf(db).AbsentHits)

	require.NoError(t, c.Set(ctx, "excluded:k", []byte("v"), 0))
	hits := memoryOf(db).Hits
	for range 10 {
		require.Equal(t, "v", read(t, c, "excluded:k"))
	}
	require.Equal(t, hits, memoryOf(db).Hits)

	require.NoError(t, c.Set(ctx, "short", []byte("v"), 300*time.Millisecond))
	eventually(t, "it expires", func() bool { return read(t, c, "short") == "" })
	require.Equal(t, "", read(t, c.Fresh(), "short"), "it expired in memory before it did in PostgreSQL")
}

// Where the log cannot be read, a sentence says why, and PostgreSQL answers.
func TestMemoryWithoutRightsOnTheLog(t *testing.T) {
	ctx := t.Context()
	databaseURL := pgtest.New(t)
	owner := open(t, databaseURL, nil)
	require.NoError(t, owner.CreateCache(ctx, howdah.CacheConfig{Name: "near", Near: true}))
	role, app := newRole(t, databaseURL)
	execute(t, owner, "SELECT howdah.grant_runtime($1)", role)
	execute(t, owner, "REVOKE SELECT ON howdah_internal.change FROM "+role)

	log := new(logBuffer)
	db := open(t, app, &howdah.Options{
		Timeout: patient.Timeout, Near: howdah.NearOptions{Bound: nearBound}, Logger: slog.New(slog.NewTextHandler(log, nil)),
	})
	running(t, db)
	c := db.Cache("near")
	require.Equal(t, "", read(t, c, "k"))
	eventually(t, "the log says why", func() bool {
		read(t, c, "k")
		return strings.Contains(log.String(), "permission denied for table change")
	})
	require.Zero(t, memoryOf(db).Hits)
}

// newRole makes a role that may log in, and returns its name and its URL.
func newRole(t *testing.T, owner string) (role, app string) {
	t.Helper()
	u, err := url.Parse(owner)
	require.NoError(t, err)
	role = "role_" + u.Path[1:]
	super, err := pgx.Connect(t.Context(), pgtest.SuperURL(owner))
	require.NoError(t, err)
	_, err = super.Exec(t.Context(), "CREATE ROLE "+role+" LOGIN PASSWORD 'p'")
	require.NoError(t, err)
	t.Cleanup(func() {
		_, err := super.Exec(context.Background(), "DROP OWNED BY "+role+"; DROP ROLE "+role)
		require.NoError(t, err)
		require.NoError(t, super.Close(context.Background()))
	})
	u.User = url.UserPassword(role, "p")
	return role, u.String()
}

// Without Run there is no lease, and every read asks PostgreSQL.
func TestMemoryNeedsRun(t *testing.T) {
	ctx := t.Context()
	db := open(t, pgtest.New(t), &howdah.Options{Timeout: patient.Timeout, Near: howdah.NearOptions{Bound: time.Second}})
	require.NoError(t, db.CreateCache(ctx, howdah.CacheConfig{Name: "near", Near: true}))
	c := db.Cache("near")
	require.NoError(t, c.Set(ctx, "k", []byte("v"), 0))
	for range 20 {
		require.Equal(t, "v", read(t, c, "k"))
	}
	require.Zero(t, memoryOf(db).Hits)
}

// The caller of Get may change what it got.
func TestMemoryIsNotShared(t *testing.T) {
	db := openNear(t, pgtest.New(t))
	c := db.Cache("near")
	require.NoError(t, c.Set(t.Context(), "k", []byte("value"), 0))
	for range 10 {
		value, err := c.Get(t.Context(), "k")
		require.NoError(t, err)
		require.Equal(t, "value", string(value))
		copy(value, "XXXXX")
	}
	warm(t, c, "k")
	require.Equal(t, "value", read(t, c, "k"))
}

// Wrong options are refused with a sentence.
func TestNearOptions(t *testing.T) {
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
	ctx := t.Context()
	url := pgtest.New(t)
	seed := seed.Of(t)
	dbs := []*howdah.DB{openNear(t, url), openNear(t, url)}
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
	require.Positive(t, memoryOf(dbs[0]).Hits)
}
