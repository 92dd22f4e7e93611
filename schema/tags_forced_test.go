package schema_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/howdah/howdah/internal/test/await"
	"github.com/howdah/howdah/schema"
)

// barrier is the advisory lock at which a store waits between the snapshot of its
// statement and its look at locks and marks.
const barrier = 77

// withBarrier puts the barrier into the function that refuses stores, and makes the
// replacements of a mutant in it.
func withBarrier(t *testing.T, db querier, mutant ...string) {
	t.Helper()
	const check = "PERFORM howdah_internal._check_isolation();"
	replaceFunction(t, db, "_refused", append([]string{check, check + fmt.Sprintf(" PERFORM pg_advisory_xact_lock_shared(%d);", barrier)}, mutant...)...)
}

// replaceFunction makes a function anew with changes of its text.
func replaceFunction(t *testing.T, db querier, name string, changes ...string) {
	t.Helper()
	for _, f := range schema.Functions() {
		if f.Name == name {
			for i := 0; i < len(changes); i += 2 {
				require.Contains(t, f.SQL, changes[i])
			}
			run(t, db, replaceAll(f.SQL, changes...))
			return
		}
	}
	require.Fail(t, "no function "+name)
}

// A tagStore is a way to store an entry that was made from the table "article".
type tagStore struct {
	name  string
	claim func(t *testing.T, q querier, table string) token // nil: the store has none
	store func(table, value string, token token) string
}

// A token is what a claim hands to the store.
type token struct {
	version  int64
	snapshot string
}

func claimedInSQL(t *testing.T, q querier, _ string) (claim token) {
	require.NoError(t, q.QueryRow(ctx(t), "SELECT coalesce(token, 0), snapshot::text FROM howdah.claim('c', 'k')").Scan(&claim.version, &claim.snapshot))
	return claim
}

// claimedBy runs the statement of programs.
func claimedBy(t *testing.T, q querier, table string) (claim token) {
	hash, key, lease := []int64{one[int64](t, q, "SELECT howdah.key_hash('k')")}, [][]byte{[]byte("k")}, []int64{1e7}
	rows, err := q.Query(ctx(t), schema.Statement("claim", schema.Table{Name: table}), hash, key, lease, false)
	require.NoError(t, err)
	defer rows.Close()
	for rows.Next() {
		values, err := rows.Values()
		require.NoError(t, err)
		if values[0] == nil {
			claim.snapshot, _ = values[10].(string)
		} else {
			claim.version = values[3].(int64)
		}
	}
	if claim.snapshot == "" { // a hit: as a refresh of it
		rows, err = q.Query(ctx(t), schema.Statement("refresh", schema.Table{Name: table}), hash, key, []int64{claim.version}, lease)
		require.NoError(t, err)
		defer rows.Close()
		if !rows.Next() { // whoever holds the row is changing it: the caller does not load
			return token{0, "1:1:"}
		}
		require.NoError(t, rows.Scan(nil, &claim.snapshot))
	}
	return claim
}

var tagStores = []tagStore{
	{"set_tagged()", nil, func(_, value string, _ token) string {
		return fmt.Sprintf("SELECT howdah.set_tagged('c', 'k', '%s', '{t,other}')", value)
	}},
	{"set_tagged.sql", nil, func(table, value string, _ token) string {
		return "PREPARE s AS " + schema.Statement("set_tagged", schema.Table{Name: table}) +
			fmt.Sprintf("; EXECUTE s (ARRAY[howdah.key_hash('k')], '{k}', '{%s}', '{NULL}', ARRAY[howdah.key_hash('k')], ARRAY[howdah.key_hash('t')]); DEALLOCATE s", value)
	}},
	{"fulfil()", claimedInSQL, func(_, value string, claim token) string {
		return fmt.Sprintf("SELECT howdah.fulfil('c', 'k', %d, '%s', tags => '{t,other}', snapshot => '%s')", claim.version, value, claim.snapshot)
	}},
	{"fulfil_tagged.sql", claimedBy, func(table, value string, claim token) string {
		return "PREPARE s AS " + schema.Statement("fulfil_tagged", schema.Table{Name: table}) +
			fmt.Sprintf("; EXECUTE s (ARRAY[howdah.key_hash('k')], '{k}', '{%s}', '{NULL}', '{%d}', '{0}', ARRAY[howdah.key_hash('k')], ARRAY[howdah.key_hash('t')], ARRAY['%s'::pg_snapshot]); DEALLOCATE s", value, claim.version, claim.snapshot)
	}},
}

// The steps of a store and of an invalidation.
const (
	claims     = 'C' // the store's claim; nothing where it has none
	loads      = 'L' // it reads what the value is made from
	starts     = 'S' // its statement begins, and waits at the barrier
	passes     = 'P' // it goes on to its end
	changes    = 'U' // a transaction changes what the value is made from
	invalidate = 'I' // it invalidates the tag
	ends       = 'E' // it commits or rolls back
)

// orders are all ways to merge two sequences of steps.
func orders(a, b string) []string {
	if a == "" || b == "" {
		return []string{a + b}
	}
	var all []string
	for _, rest := range orders(a[1:], b) {
		all = append(all, a[:1]+rest)
	}
	for _, rest := range orders(a, b[1:]) {
		all = append(all, b[:1]+rest)
	}
	return all
}

// interleaving runs the steps of one order, and answers what is in the cache then.
type interleaving struct {
	t                      *testing.T
	db                     *pgxpool.Pool
	table                  string
	storing, changing, own *pgx.Conn // own holds the barrier
	store                  tagStore
	token                  token
	loaded                 string
	stored, invalidated    chan error
}

func (i *interleaving) run(order string, end string) string {
	i.t.Helper()
	run(i.t, i.db, "UPDATE article SET text = 'old'")
	run(i.t, i.own, "SELECT pg_advisory_lock($1)", barrier)
	i.stored, i.invalidated, i.token = nil, nil, token{}
	for _, step := range order {
		i.step(step, end)
	}
	if i.stored != nil {
		require.NoError(i.t, <-i.stored, order)
	}
	return one[string](i.t, i.db, "SELECT coalesce(howdah.get_text('c', 'k'), 'none')")
}

func (i *interleaving) step(step rune, end string) {
	switch step {
	case claims:
		if i.store.claim != nil {
			i.token = i.store.claim(i.t, i.storing, i.table)
		}
	case loads:
		i.loaded = one[string](i.t, i.db, "SELECT text FROM article")
	case starts:
		i.stored = i.begin(i.storing, i.store.store(i.table, i.loaded, i.token))
	case passes:
		run(i.t, i.own, "SELECT pg_advisory_unlock($1)", barrier)
		i.await(i.storing, i.stored, barrier)
	case changes:
		run(i.t, i.changing, "BEGIN")
		run(i.t, i.changing, "UPDATE article SET text = 'new'")
	case invalidate:
		i.invalidated = i.begin(i.changing, "SELECT howdah.invalidate_tag('c', 't')")
	case ends:
		require.NoError(i.t, <-i.invalidated)
		run(i.t, i.changing, end)
	}
}

// begin runs a statement and returns when it is done or waits for a lock.
func (i *interleaving) begin(conn *pgx.Conn, sql string) chan error {
	done := make(chan error, 1)
	go func() { done <- conn.PgConn().Exec(context.Background(), sql).Close() }()
	i.await(conn, done, 0)
	return done
}

// await returns when a statement is done or waits for a lock, but for the advisory
// lock that it has passed.
func (i *interleaving) await(conn *pgx.Conn, done chan error, passed int) {
	await.True(i.t, "the statement is done or waits for a lock", func() bool {
		return len(done) > 0 || one[bool](i.t, i.db,
			"SELECT EXISTS (SELECT FROM pg_locks WHERE pid = $1 AND NOT granted AND NOT (locktype = 'advisory' AND objid = $2))", conn.PgConn().PID(), passed)
	})
}

// What is in the cache before the steps.
const (
	empty       = "SELECT howdah.flush('c')"
	taggedEntry = "SELECT howdah.set_tagged('c', 'k', 'old', '{t}')"
	otherEntry  = "SELECT howdah.set_tagged('c', 'k', 'old', '{other}'), howdah.invalidate_tag('c', 't')"
)

// staleOrders are the orders after which the entry is older than a committed change.
func staleOrders(t *testing.T, store tagStore, mutate func(db querier), states ...string) (stale []string) {
	db := open(t)
	run(t, db, "CREATE TABLE article AS SELECT 'old'::text AS text")
	mutate(db)
	i := &interleaving{t: t, db: db, table: table(t, db, "c"), store: store}
	for _, conn := range []**pgx.Conn{&i.storing, &i.changing, &i.own} {
		c, err := pgx.ConnectConfig(ctx(t), db.Config().ConnConfig.Copy())
		require.NoError(t, err)
		t.Cleanup(func() { c.Close(context.Background()) })
		*conn = c
	}
	for _, before := range states {
		steps := "CLSP"
		if store.claim == nil {
			steps = "LSP"
		}
		for _, order := range orders(steps, "UIE") {
			if store.claim == nil && strings.IndexByte(order, starts) > strings.IndexByte(order, ends) {
				continue // without a claim, PostgreSQL does not know when the value was loaded
			}
			run(t, db, before)
			if i.run(order, "COMMIT") == "old" && before != otherEntry {
				stale = append(stale, order)
			}
			run(t, db, before)
			if before == taggedEntry {
				require.Equal(t, "old", i.run(order, "ROLLBACK"), "%s: what was not committed has removed an entry", order)
			}
		}
	}
	return stale
}

// Whatever the order of a store's steps and those of a transaction that changes what
// it is made from and invalidates its tag: when both have ended, no entry remains that
// was loaded before the change.
func TestInvalidationAndStoreInEveryOrder(t *testing.T) {
	t.Parallel()
	for _, store := range tagStores {
		t.Run(store.name, func(t *testing.T) {
			require.Empty(t, staleOrders(t, store, func(db querier) { withBarrier(t, db) }, empty, taggedEntry, otherEntry))
		})
	}
}

// Each guard is needed: without it, some order leaves a stale entry.
func TestGuardsOfTags(t *testing.T) {
	t.Parallel()
	for name, mutate := range map[string]func(db querier){
		"without the lock": func(db querier) {
			withBarrier(t, db, "pg_try_advisory_xact_lock_shared(1752135540, l.key)", "true")
		},
		"without the mark": func(db querier) {
			withBarrier(t, db)
			replaceFunction(t, db, "_invalidate_tags", "FROM unnest($1) AS t (tag)\n        ON", "FROM unnest($1) AS t (tag) WHERE false\n        ON")
		},
		"by the snapshot of the statement": func(db querier) {
			withBarrier(t, db, "LANGUAGE plpgsql VOLATILE", "LANGUAGE plpgsql STABLE")
		},
	} {
		t.Run(name, func(t *testing.T) {
			for _, store := range tagStores {
				stale := staleOrders(t, store, mutate, empty)
				t.Log(store.name, stale)
				require.NotEmpty(t, stale, store.name)
			}
		})
	}
}

// A function sees more than the statement that calls it: the value comes from the
// snapshot of the statement, and so must what the store is judged by.
func TestTaggedSetIsJudgedByItsStatement(t *testing.T) {
	t.Parallel()
	db := open(t)
	for _, function := range []string{"set_tagged", "set_tagged_text"} {
		holder, err := db.Acquire(ctx(t))
		require.NoError(t, err)
		defer holder.Release()
		run(t, holder, "SELECT pg_advisory_lock($1)", barrier)
		stored := make(chan *int64, 1)
		go func() {
			var version *int64
			err := db.QueryRow(ctx(t), "SELECT howdah."+function+`('c', 'k', 'old', '{t}')
				FROM (SELECT pg_advisory_xact_lock($1) OFFSET 0) AS late`, barrier).Scan(&version)
			if err != nil {
				version = new(int64)
			}
			stored <- version
		}()
		require.Eventually(t, func() bool {
			return one[bool](t, holder, "SELECT EXISTS (SELECT FROM pg_locks WHERE locktype = 'advisory' AND objid = $1 AND NOT granted "+
				"AND database = (SELECT oid FROM pg_database WHERE datname = current_database()))", barrier)
		}, time.Minute, time.Millisecond)
		run(t, holder, "SELECT howdah.invalidate_tag('c', 't')")
		run(t, holder, "SELECT pg_advisory_unlock($1)", barrier)
		require.Nil(t, <-stored, function)
		require.NotNil(t, one[*int64](t, db, "SELECT howdah."+function+"('c', 'k', 'new', '{t}')"))
	}
}
