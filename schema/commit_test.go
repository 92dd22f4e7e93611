package schema_test

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/howdah/howdah/internal/test/seed"
	"github.com/howdah/howdah/schema"
)

// edit is what a group does with a key.
type edit struct {
	version int64 // 0: absent
	act     int32
}

// The acts of commit.sql.
const (
	onlyRead int32 = iota
	put
	putKeeping
	remove
)

// group runs commit.sql as the engine does. Mutate changes the texts of the
// statement: a test must notice.
type group struct {
	table  string
	sync   bool
	hashes map[string]int64
	mutate func(commit string) string
	noHold bool
	random bool // the keys come in no order
}

func newGroup(t testing.TB, db querier, cache string, keys ...string) *group {
	g := &group{table: table(t, db, cache), sync: cache == "s", hashes: map[string]int64{}}
	for _, key := range keys {
		g.hashes[key] = one[int64](t, db, "SELECT howdah.key_hash_text($1)", key)
	}
	return g
}

// sorted returns the keys in the order in which statements take them.
func (g *group) sorted(keys []string) []string {
	if g.random {
		rand.Shuffle(len(keys), func(i, j int) { keys[i], keys[j] = keys[j], keys[i] })
		return keys
	}
	slices.SortFunc(keys, func(a, b string) int { return int(min(1, max(-1, g.hashes[a]-g.hashes[b]))) })
	return keys
}

// commit answers the outcome of commit.sql; what is stored is value.
func (g *group) commit(ctx context.Context, db interface {
	Begin(context.Context) (pgx.Tx, error)
}, value string, edits map[string]edit) (outcome int64, err error) {
	var hashes, versions []int64
	var keys, values [][]byte
	var acts, kinds []int32
	absent := false
	for _, key := range g.sorted(slices.Collect(maps.Keys(edits))) {
		hashes, keys = append(hashes, g.hashes[key]), append(keys, []byte(key))
		versions, acts = append(versions, edits[key].version), append(acts, edits[key].act)
		values, kinds = append(values, []byte(value)), append(kinds, 0)
		absent = absent || edits[key].version == 0
	}
	shape := schema.Table{Name: g.table, RefuseCollision: g.sync}
	commit := schema.Statement("commit", shape)
	if g.mutate != nil {
		commit = g.mutate(commit)
	}
	err = pgx.BeginFunc(ctx, db, func(tx pgx.Tx) error {
		if absent && !g.noHold {
			if _, err := tx.Exec(ctx, schema.Statement("hold", shape), hashes, keys); err != nil {
				return err
			}
		}
		rows, err := tx.Query(ctx, commit, hashes, keys, values, make([]*int64, len(hashes)), versions, acts, kinds)
		if err != nil {
			return err
		}
		var hash *int64
		var number int64
		_, err = pgx.ForEachRow(rows, []any{&hash, &number}, func() error {
			if hash == nil {
				outcome = number
			}
			return nil
		})
		return err
	})
	return outcome, err
}

// A group waits for each of its keys in turn, and is written only if what it waited
// for left the key as it was.
func TestCommitBehindEachLock(t *testing.T) {
	t.Parallel()
	db := open(t)
	g := newGroup(t, db, "c", "stored", "read", "removed", "new", "none")
	for _, change := range []struct {
		sql  string
		keys []string // that it changes
		lock bool     // it changes nothing
	}{
		{"SELECT howdah.set_text('c', $1, 'other')", []string{"stored", "read", "removed", "new", "none"}, false},
		{"SELECT howdah.delete_text('c', $1)", []string{"stored", "read", "removed"}, false},
		{"SELECT howdah.set_text('c', $1, 'other'), howdah.delete_text('c', $1), howdah.set_text('c', $1, 'again')", []string{"stored", "read", "removed", "new", "none"}, false},
		{"SELECT FROM " + g.table + " WHERE key = convert_to($1, 'UTF8') FOR UPDATE", []string{"stored", "read", "removed"}, true},
		{"SELECT howdah_internal._bury(c, ARRAY[convert_to($1, 'UTF8')], false) FROM howdah_internal.cache AS c WHERE c.name = 'c'", []string{"stored", "read", "removed"}, false},
	} {
		for _, key := range change.keys {
			for _, rollBack := range []bool{false, true} {
				what := fmt.Sprintf("%s of %s, rolled back: %t", change.sql, key, rollBack)
				run(t, db, "TRUNCATE "+g.table)
				run(t, db, "SELECT howdah.set_text('c', k, '1') FROM unnest('{stored,read,removed}'::text[]) AS k")
				version := func(key string) int64 {
					return one[int64](t, db, "SELECT version FROM "+g.table+" WHERE key = convert_to($1, 'UTF8')", key)
				}
				edits := map[string]edit{
					"stored": {version("stored"), put}, "read": {version("read"), onlyRead}, "removed": {version("removed"), remove},
					"new": {0, put}, "none": {0, onlyRead},
				}
				other, err := db.Begin(ctx(t))
				require.NoError(t, err)
				run(t, other, change.sql, key)
				outcome := make(chan int64)
				go func() {
					n, err := g.commit(ctx(t), db, "group", edits)
					if err != nil {
						t.Error(what, err)
					}
					outcome <- n
				}()
				awaitBlocked(t, db, int32(other.Conn().PgConn().PID()))
				if rollBack {
					require.NoError(t, other.Rollback(ctx(t)))
				} else {
					require.NoError(t, other.Commit(ctx(t)))
				}
				good := rollBack || change.lock
				require.Equal(t, good, <-outcome == 2, what)
				stored := one[int64](t, db, "SELECT count(*) FROM "+g.table+" WHERE value = 'group' AND expires_at > now()")
				require.Equal(t, map[bool]int64{true: 2, false: 0}[good], stored, what)
				require.Equal(t, good, one[bool](t, db, "SELECT howdah.get_text('c', 'removed') IS NULL") && good, what)
			}
		}
	}
}

// withoutClaim makes of commit.sql a statement that finds a key absent without a
// row for it, and so without a lock that others meet.
func withoutClaim(table string) func(string) string {
	return func(commit string) string {
		return replaceAll(commit, "CROSS JOIN LATERAL (", "LEFT JOIN LATERAL (",
			"FOR UPDATE) AS t", `FOR UPDATE) AS t ON true
			WHERE t.free IS NOT NULL OR u.version = 0 AND NOT EXISTS (
				SELECT FROM `+table+` AS p WHERE p.hash = u.h AND p.expires_at > statement_timestamp())`)
	}
}

// skewed runs rounds in which two sessions each read what the other stores: that A
// is absent, before B is stored, and that B is, before A is. It returns in how many
// both were written: in none, if one came after the other.
func skewed(t *testing.T, db *pgxpool.Pool, g *group, rounds int) (skewed int) {
	for round := range rounds {
		a, b := fmt.Sprint("a", round), fmt.Sprint("b", round)
		for _, key := range []string{a, b} {
			if g.hashes[key] == 0 {
				g.hashes[key] = one[int64](t, db, "SELECT howdah.key_hash_text($1)", key)
			}
		}
		var outcomes [2]int64
		var both sync.WaitGroup
		for i, stored := range []string{a, b} {
			both.Go(func() {
				edits := map[string]edit{a: {0, onlyRead}, b: {0, onlyRead}}
				edits[stored] = edit{0, put}
				var err error
				if outcomes[i], err = g.commit(ctx(t), db, "1", edits); err != nil {
					t.Error(err)
				}
			})
		}
		both.Wait()
		require.Contains(t, outcomes, int64(2), "nothing was written at all")
		if outcomes[0] == outcomes[1] {
			skewed++
		}
	}
	return skewed
}

func TestCommitAllowsNoWriteSkewOnAbsentKeys(t *testing.T) {
	t.Parallel()
	db := open(t)
	g := newGroup(t, db, "c")
	require.Zero(t, skewed(t, db, g, 2000))

	// The same without the row of the absent key.
	run(t, db, "TRUNCATE "+g.table)
	g.mutate, g.noHold = withoutClaim(g.table), true
	for range 20 {
		if skewed(t, db, g, 500) > 0 {
			return
		}
		run(t, db, "TRUNCATE "+g.table)
	}
	t.Error("the test would not notice that an absent key has no row")
}

// storm runs random groups and writes of several keys at once in sessions that wait
// for each other without a limit, and returns whether PostgreSQL found a deadlock.
func storm(t *testing.T, db *pgxpool.Pool, g *group, random *rand.Rand, sessions, rounds int) (deadlock bool) {
	keys := slices.Sorted(maps.Keys(g.hashes))
	var all sync.WaitGroup
	var mu sync.Mutex
	done := 0
	for range sessions {
		random := rand.New(rand.NewPCG(random.Uint64(), 0))
		all.Go(func() {
			conn, err := db.Acquire(ctx(t))
			if err != nil {
				t.Error(err)
				return
			}
			defer conn.Release()
			for range rounds {
				outcome, err := g.step(ctx(t), conn, random, keys)
				mu.Lock()
				if outcome == 2 {
					done++
				}
				if err != nil && state(err) == "40P01" {
					deadlock = true
				} else if err != nil {
					t.Error(err)
				}
				stop := deadlock || err != nil
				mu.Unlock()
				if stop {
					return
				}
			}
		})
	}
	all.Wait()
	require.True(t, deadlock || done > rounds/10, "hardly a group was written: %d", done)
	return deadlock
}

// step runs a random group, or a random write of several keys.
func (g *group) step(ctx context.Context, conn *pgxpool.Conn, random *rand.Rand, keys []string) (outcome int64, err error) {
	some := []string{}
	for _, key := range keys {
		if random.IntN(2) == 0 {
			some = append(some, key)
		}
	}
	some = g.sorted(some)
	var hashes []int64
	var names [][]byte
	for _, key := range some {
		hashes, names = append(hashes, g.hashes[key]), append(names, []byte(key))
	}
	switch random.IntN(4) {
	case 0:
		_, err = conn.Exec(ctx, schema.Statement("set", schema.Table{Name: g.table}), hashes, names, names, make([]*int64, len(hashes)))
		return 0, err
	case 1:
		_, err = conn.Exec(ctx, schema.Statement("delete", schema.Table{Name: g.table}), hashes, names)
		return 0, err
	}
	rows, err := conn.Query(ctx, "SELECT convert_from(key, 'UTF8'), version FROM "+g.table+" WHERE expires_at > now()")
	if err != nil {
		return 0, err
	}
	edits := map[string]edit{}
	for _, key := range some {
		edits[key] = edit{0, []int32{onlyRead, put}[random.IntN(2)]}
	}
	var key string
	var version int64
	if _, err = pgx.ForEachRow(rows, []any{&key, &version}, func() error {
		if _, wanted := edits[key]; wanted {
			edits[key] = edit{version, []int32{onlyRead, put, remove}[random.IntN(3)]}
		}
		return nil
	}); err != nil {
		return 0, err
	}
	return g.commit(ctx, conn, "1", edits)
}

func TestGroupsDoNotDeadlock(t *testing.T) {
	t.Parallel()
	db := open(t)
	keys := []string{"a", "b", "c", "d", "e", "f", "g", "h"}
	g := newGroup(t, db, "c", keys...)
	random := seed.Rand(t)
	require.False(t, storm(t, db, g, random, 6, 400))

	// Where each statement locks in an order of its own.
	g.random = true
	for range 20 {
		if storm(t, db, g, random, 6, 400) {
			return
		}
	}
	t.Error("the test would not notice a deadlock")
}

// A group does with the live entry of another key in the slot what a set does.
func TestCommitMeetsACollision(t *testing.T) {
	t.Parallel()
	db := open(t)
	for cache, want := range map[string]int64{"c": 2, "s": 1} {
		g := newGroup(t, db, cache, "k", "l")
		plant(t, db, cache, "k", "other", "v")
		outcome, err := g.commit(ctx(t), db, "1", map[string]edit{"k": {0, onlyRead}, "l": {0, put}})
		require.NoError(t, err)
		require.EqualValues(t, 2, outcome, "what is only read does not need the slot")
		outcome, err = g.commit(ctx(t), db, "1", map[string]edit{"k": {7, put}})
		require.NoError(t, err)
		require.Zero(t, outcome, "the version is another key's")
		version := one[int64](t, db, "SELECT version FROM "+g.table+" WHERE key = 'l'")
		outcome, err = g.commit(ctx(t), db, "2", map[string]edit{"k": {0, put}, "l": {version, remove}})
		require.NoError(t, err)
		require.Equal(t, want, outcome)
		got := strings.Join(all[string](t, db, "SELECT convert_from(key, 'UTF8') FROM "+g.table+" WHERE expires_at > now() ORDER BY 1"), " ")
		require.Equal(t, map[string]string{"c": "k", "s": "l other"}[cache], got)
	}
}
