package core

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/howdah/howdah/internal/fetch"
	"github.com/howdah/howdah/internal/statement"
	"github.com/howdah/howdah/internal/test/pgtest"
	"github.com/howdah/howdah/internal/verb"
)

// reading is a way to read.
type reading struct {
	name  string
	fetch func(r *race, ctx context.Context, db *DB) ([]byte, error)
	alone bool // callers do not share loads
}

// changes is how often a writer changes the row. The last change removes what
// was stored before it, so there is one where such values are to be found.
func (o reading) changes() int {
	if o.alone {
		return 1
	}
	return 2
}

// longLoad is the lease of loads, and so how long they may take: a forced one waits for a
// change and for another Fetch.
const longLoad = time.Minute

// readings are the ways that are safe.
var readings = []reading{
	{name: "Fetch", fetch: func(r *race, ctx context.Context, db *DB) ([]byte, error) {
		return db.Cache(r.cache).Fetch(ctx, r.key, time.Hour, r.load(db), FetchOptions{Tags: r.tags, Lease: longLoad})
	}},
	{name: "FetchMany", fetch: func(r *race, ctx context.Context, db *DB) ([]byte, error) {
		neighbour := r.key + "'s neighbour"
		found, err := db.Cache(r.cache).FetchMany(ctx, []string{r.key, neighbour}, time.Hour, func(ctx context.Context, missing []string) (map[string][]byte, error) {
			loaded := map[string][]byte{}
			for _, key := range missing {
				loaded[key] = []byte(key)
				if key == r.key {
					value, err := r.load(db)(ctx)
					if err != nil {
						return nil, err
					}
					loaded[key] = value
				}
			}
			return loaded, nil
		}, FetchOptions{Tags: r.tags, Lease: longLoad})
		if err == nil && string(found[neighbour]) != neighbour {
			err = fmt.Errorf("of its neighbour it got %q", found[neighbour])
		}
		return found[r.key], err
	}},
	{name: "Stale", fetch: func(r *race, ctx context.Context, db *DB) ([]byte, error) {
		return db.Cache(r.cache).Fetch(ctx, r.key, time.Millisecond, r.load(db), FetchOptions{Tags: r.tags, Stale: time.Minute, Lease: longLoad})
	}},
}

// aside is the way that is not: the reader stores what it has loaded, whatever has
// happened since.
var aside = reading{name: "Get and Set", alone: true, fetch: func(r *race, ctx context.Context, db *DB) ([]byte, error) {
	get := &verb.Call{Verb: statement.Get, Key: []byte(r.key)}
	if err := db.Cache(r.cache).Do(ctx, get); err != nil || get.Status == verb.OK {
		return bytes.Clone(get.Result.Value), err
	}
	value, err := r.load(db)(ctx)
	if err == nil {
		err = db.Cache(r.cache).Do(ctx, &verb.Call{Verb: statement.Set, Key: get.Key, Value: value})
	}
	return value, err
}}

// writing is a way to change the row and to invalidate or replace its entry.
type writing struct {
	name   string
	change func(r *race, ctx context.Context, db *DB, n int) error
	past   bool // the library knows nothing of it
}

// update changes the row.
func (r *race) update(ctx context.Context, q interface {
	Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error)
}, n int) error {
	rows, err := q.Query(ctx, "UPDATE "+r.source+" SET n = $2 WHERE key = $1", r.key, n)
	if err == nil {
		rows.Close()
		err = rows.Err()
	}
	return err
}

// inOne is a writing whose second part is in the transaction of the change.
func inOne(name string, past bool, entry func(r *race, ctx context.Context, db *DB, tx pgx.Tx, n int) error) writing {
	return writing{name: name, past: past, change: func(r *race, ctx context.Context, db *DB, n int) error {
		return r.inTransaction(ctx, db, n, func(tx pgx.Tx) error { return entry(r, ctx, db, tx, n) })
	}}
}

// later is a writing whose second part comes after the change was committed.
func later(name string, entry func(r *race, ctx context.Context, c *Cache, n int) error) writing {
	return writing{name: name, change: func(r *race, ctx context.Context, db *DB, n int) error {
		if err := r.update(ctx, db.Pool(), n); err != nil {
			return err
		}
		r.pause()
		return entry(r, ctx, db.Cache(r.cache), n)
	}}
}

// onlyTheRow is what a writer of a watched table does.
var onlyTheRow = inOne("UPDATE", true, func(*race, context.Context, *DB, pgx.Tx, int) error { return nil })

// combinations are the ways to write that readers meet together.
var combinations = []struct {
	name     string
	writings []writing
	tagged   bool
	watch    string
}{
	{name: "delete", writings: []writing{
		inOne("With(tx).Delete", false, func(r *race, ctx context.Context, db *DB, tx pgx.Tx, _ int) error {
			return db.Cache(r.cache).With(tx).Do(ctx, &verb.Call{Verb: statement.Delete, Key: []byte(r.key)})
		}),
		inOne("SQL delete", true, func(r *race, ctx context.Context, _ *DB, tx pgx.Tx, _ int) error {
			_, err := tx.Exec(ctx, "SELECT howdah.delete_text($1, $2)", r.cache, r.key)
			return err
		}),
		{name: "Transact", change: func(r *race, ctx context.Context, db *DB, n int) error {
			return db.Transact(ctx, TxOptions{}, func(ctx context.Context, tx Tx) error {
				if err := r.update(ctx, tx, n); err != nil {
					return err
				}
				return db.Cache(r.cache).With(tx).Do(ctx, &verb.Call{Verb: statement.GetDelete, Key: []byte(r.key)})
			})
		}},
		later("Delete", func(r *race, ctx context.Context, c *Cache, _ int) error {
			return c.Do(ctx, &verb.Call{Verb: statement.Delete, Key: []byte(r.key)})
		}),
	}},
	{name: "set", writings: []writing{
		inOne("With(tx).Set", false, func(r *race, ctx context.Context, db *DB, tx pgx.Tx, n int) error {
			return db.Cache(r.cache).With(tx).One(ctx, &verb.Call{Verb: statement.Set, Key: []byte(r.key), Value: fmt.Append(nil, n)})
		}),
		later("Set", func(r *race, ctx context.Context, c *Cache, n int) error {
			return c.One(ctx, &verb.Call{Verb: statement.Set, Key: []byte(r.key), Value: fmt.Append(nil, n)})
		}),
	}},
	{name: "tag", tagged: true, writings: []writing{
		inOne("With(tx).InvalidateTag", false, func(r *race, ctx context.Context, db *DB, tx pgx.Tx, _ int) error {
			_, err := db.Cache(r.cache).With(tx).InvalidateTags(ctx, r.tags)
			return err
		}),
		inOne("SQL invalidate_tag", true, func(r *race, ctx context.Context, _ *DB, tx pgx.Tx, _ int) error {
			_, err := tx.Exec(ctx, "SELECT howdah.invalidate_tag($1, $2)", r.cache, r.tags[0])
			return err
		}),
		later("InvalidateTag", func(r *race, ctx context.Context, c *Cache, _ int) error {
			_, err := c.InvalidateTags(ctx, r.tags)
			return err
		}),
	}},
	{name: "watched key", writings: []writing{onlyTheRow}, watch: "key => 'key'"},
	{name: "watched tag", writings: []writing{onlyTheRow}, watch: "tag => $$'tag of ' || key$$", tagged: true},
}

// eachCombination runs a test for each of the combinations with one way to read.
func eachCombination(t *testing.T, dbs []*DB, how reading, bound time.Duration, test func(t *testing.T, o racing)) {
	for _, c := range combinations {
		t.Run(how.name+", "+c.name, func(t *testing.T) {
			o := racing{
				reading: how, writings: c.writings, watch: c.watch, tagged: c.tagged,
				dbs: dbs, cache: "plain", source: fmt.Sprintf("public.source_%x", rand.Uint64()), bound: bound,
			}
			if bound > 0 {
				o.cache = "near"
			}
			test(t, o)
		})
	}
}

// raceway makes a database with a cache that has a change log, and one without.
func raceway(t *testing.T) (url string) {
	t.Helper()
	url = pgtest.New(t)
	db := openDB(t, url)
	require.NoError(t, db.CreateCache(t.Context(), CacheConfig{Name: "plain"}))
	require.NoError(t, db.CreateCache(t.Context(), CacheConfig{Name: "near", Near: true}))
	return url
}

// With Fetch no stale value is stored, nor returned to a Fetch that began after
// the change, however the writer invalidates.
func TestFetchRace(t *testing.T) {
	t.Parallel()
	url := raceway(t)
	for name, bound := range map[string]time.Duration{"without memory": 0, "with memory": 50 * time.Millisecond} {
		t.Run(name, func(t *testing.T) {
			dbs := openRacing(t, url, bound)
			for _, how := range readings {
				eachCombination(t, dbs, how, bound, func(t *testing.T, o racing) {
					began := time.Now()
					require.Empty(t, o.run(t, *races, max(*races/10, 4)))
					t.Logf("%d races in %v", *races, time.Since(began).Round(time.Millisecond))
				})
			}
			for i, db := range dbs {
				t.Logf("process %d: %+v", i, db.Stats().Fetch)
			}
		})
	}
}

// Whoever stores what it has loaded without a lease can store an old value, however
// the writer invalidates, and the judge sees that.
func TestCacheAsideRace(t *testing.T) {
	t.Parallel()
	dbs := openRacing(t, raceway(t), 0)
	eachCombination(t, dbs, aside, 0, func(t *testing.T, o racing) {
		for i, w := range o.writings {
			t.Run(w.name, func(t *testing.T) {
				o.source, o.writings = fmt.Sprintf("%s_%d", o.source, i), []writing{w}
				broken := o.run(t, 10, 10)
				t.Logf("%d, such as %v", len(broken), broken[:min(1, len(broken))])
				require.NotEmpty(t, broken)
			})
		}
	})
}

// mutantStore is a cache that forgets what makes Fetch safe.
type mutantStore struct {
	fetchStore
	lying bool // it calls a void token good; otherwise it stores without comparing
}

func (s mutantStore) Fulfil(ctx context.Context, values []fetch.Value) []error {
	if s.lying {
		errs := s.fetchStore.Fulfil(ctx, values)
		for i, err := range errs {
			if errors.Is(err, fetch.ErrVoided) {
				errs[i] = nil
				s.Release(ctx, []fetch.Lease{values[i].Lease}) // or others wait for its end
			}
		}
		return errs
	}
	errs := make([]error, len(values))
	for i, v := range values {
		errs[i] = s.c.One(ctx, &verb.Call{Verb: statement.Set, Key: []byte(v.Key), Value: v.Value, Expiry: verb.ExpireIn(v.TTL), Tags: v.Tags})
	}
	return errs
}

// The judge finds both, with each way to read and each combination of writings.
func TestFetchRaceMutants(t *testing.T) {
	t.Parallel()
	for name, lying := range map[string]bool{"stores without comparing": false, "joiners take void values": true} {
		t.Run(name, func(t *testing.T) {
			dbs := openRacing(t, raceway(t), 0)
			for _, db := range dbs {
				db.fetches.groups = map[string]*fetch.Group{"plain": fetch.New(mutantStore{fetchStore{db.Cache("plain")}, lying}, nil)}
			}
			eachCombination(t, dbs, readings[0], 0, func(t *testing.T, o racing) {
				broken := o.run(t, 20, 20)
				t.Logf("%d, such as %v", len(broken), broken[:min(1, len(broken))])
				require.NotEmpty(t, broken)
			})
		})
	}
}
