package schema_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/howdah/howdah/internal/test/pgtest"
	"github.com/howdah/howdah/internal/test/seed"
)

// loader is a program that claims a key, loads its value, and stores it unless
// the key was invalidated since.
type loader struct {
	table string
	db    *pgxpool.Pool
}

// claim returns the token, 0 if the lease was not won.
func (l loader) claim(ctx context.Context, key string) (token int64, err error) {
	err = l.db.QueryRow(ctx, "SELECT CASE WHEN won THEN token ELSE 0 END FROM howdah.claim_text('c', $1)", key).Scan(&token)
	return token, err
}

// wait is a claim that waits for as long as the row is locked.
func (l loader) wait(ctx context.Context, key string) (token int64, err error) {
	err = l.db.QueryRow(ctx, `
		INSERT INTO `+l.table+` AS c (hash, version, expires_at, leased_until, key, value)
		VALUES (howdah.key_hash_text($1), howdah_internal._clock(), '-infinity', clock_timestamp() + interval '10 s', convert_to($1, 'UTF8'), '')
		ON CONFLICT (hash) DO UPDATE SET leased_until = excluded.leased_until
		WHERE c.expires_at <= statement_timestamp() AND c.leased_until <= statement_timestamp()
		RETURNING c.version`, key).Scan(&token)
	return token, err
}

// fulfil tells whether the value was stored.
func (l loader) fulfil(ctx context.Context, key string, token int64, value string) (stored bool, err error) {
	err = l.db.QueryRow(ctx, "SELECT howdah.fulfil_text('c', $1, $2, $3) IS NOT NULL", key, token, value).Scan(&stored)
	return stored, err
}

func newLoader(t testing.TB, db *pgxpool.Pool) loader { return loader{table(t, db, "c"), db} }

// awaitBlocked waits until a backend waits for the one with this process id.
func awaitBlocked(t testing.TB, db querier, by int32) {
	t.Helper()
	require.Eventually(t, func() bool {
		return one[bool](t, db, "SELECT EXISTS (SELECT FROM pg_stat_activity WHERE $1 = ANY (pg_blocking_pids(pid)))", by)
	}, time.Minute, 2*time.Millisecond)
}

// What was claimed before the commit is void after it, whether the row was read
// before or after the writer's statement.
func TestLoadsFromBeforeTheCommitAreVoid(t *testing.T) {
	t.Parallel()
	db := articles(t)
	l := newLoader(t, db)
	for name, before := range map[string]string{
		"no row": "SELECT howdah.delete_text('c', 'article:1')", "an expired entry": "SELECT howdah.set_text('c', 'article:1', 'v', '1 us')",
		"a tombstone": "UPDATE public.articles SET title = 'x' WHERE id = 1",
	} {
		for _, early := range []bool{true, false} {
			run(t, db, before)
			var token int64
			claim := func() {
				var err error
				token, err = l.claim(ctx(t), "article:1")
				require.NoError(t, err)
				require.NotZero(t, token, name)
			}
			if early {
				claim()
			}
			require.NoError(t, pgx.BeginFunc(ctx(t), db, func(tx pgx.Tx) error {
				run(t, tx, "UPDATE public.articles SET title = 'NEW' WHERE id = 1")
				if !early {
					claim()
				}
				return nil
			}))
			stored, err := l.fulfil(ctx(t), "article:1", token, "OLD")
			require.NoError(t, err)
			require.False(t, stored, "%s, claimed before the statement: %t", name, early)
			require.True(t, one[bool](t, db, "SELECT howdah.get('c', 'article:1') IS NULL"))

			// After the commit it is as ever.
			token, err = l.claim(ctx(t), "article:1")
			require.NoError(t, err)
			stored, err = l.fulfil(ctx(t), "article:1", token, "NEW")
			require.NoError(t, err)
			require.True(t, stored, name)
		}
	}
}

// A claim that meets the tombstone of a transaction which is about to commit waits
// for its end, though writers share that tombstone.
func TestClaimsWaitForTombstones(t *testing.T) {
	t.Parallel()
	db := articles(t)
	l := newLoader(t, db)
	run(t, db, "UPDATE public.articles SET title = 'x' WHERE id = 1") // leaves a tombstone
	var writers []pgx.Tx
	for range 2 {
		tx, err := db.Begin(ctx(t))
		require.NoError(t, err)
		defer tx.Rollback(context.Background())
		run(t, tx, "SET LOCAL lock_timeout = '10 s'")
		run(t, tx, fmt.Sprintf("INSERT INTO public.articles VALUES (%d)", 100+len(writers)))
		run(t, tx, "SELECT howdah_internal._note_watch('x', 'c', '{article:1}', '{}', NULL)")
		run(t, tx, "SET CONSTRAINTS ALL IMMEDIATE") // as the commit does
		writers = append(writers, tx)
	}
	claimed := make(chan error, 1)
	go func() {
		_, err := l.wait(context.Background(), "article:1")
		claimed <- err
	}()
	awaitBlocked(t, db, int32(writers[0].Conn().PgConn().PID()))
	require.Equal(t, "unleased", one[string](t, db, "SELECT state FROM howdah.claim_text('c', 'article:1')"), "what is loaded now is not stored")
	require.NoError(t, writers[0].Commit(ctx(t)))
	awaitBlocked(t, db, int32(writers[1].Conn().PgConn().PID()))
	select {
	case err := <-claimed:
		t.Fatal("the claim did not wait for the second writer", err)
	default:
	}
	require.NoError(t, writers[1].Commit(ctx(t)))
	require.NoError(t, <-claimed)
}

// Loaders and writers at random: when all have ended, no entry is older than its row.
func TestWatchedRowsAndLoadersAtRandom(t *testing.T) {
	t.Parallel()
	db := articles(t)
	l := newLoader(t, db)
	seed := seed.Of(t)
	run(t, db, "UPDATE public.articles SET title = '0'")
	var stored, void int
	for round := range 15 {
		var mu sync.Mutex
		var group sync.WaitGroup
		for worker := range 8 {
			random := rand.New(rand.NewPCG(seed, uint64(round*8+worker)))
			group.Go(func() {
				for range 12 {
					id := 1 + random.IntN(2)
					if worker%2 == 0 {
						_, err := db.Exec(ctx(t), "UPDATE public.articles SET title = (title::int + 1)::text WHERE id = $1", id)
						assert.NoError(t, err)
						continue
					}
					key := fmt.Sprintf("article:%d", id)
					token, err := l.claim(ctx(t), key)
					assert.NoError(t, err)
					if token == 0 {
						continue
					}
					var title string
					assert.NoError(t, db.QueryRow(ctx(t), "SELECT title FROM public.articles WHERE id = $1", id).Scan(&title))
					ok, err := l.fulfil(ctx(t), key, token, title)
					assert.NoError(t, err)
					mu.Lock()
					if ok {
						stored++
					} else {
						void++
					}
					mu.Unlock()
				}
			})
		}
		group.Wait()
		require.Empty(t, all[string](t, db, `
			SELECT a.id || ': ' || a.title || ' ' || howdah.get_text('c', 'article:' || a.id)
			FROM public.articles AS a WHERE howdah.get_text('c', 'article:' || a.id) <> a.title`), "stale, round %d", round)
	}
	t.Logf("%d loads stored, %d void", stored, void)
	require.Positive(t, stored)
}

// Sixteen writers whose rows map to a few keys of two caches, in any order and
// several to a transaction, never deadlock.
func TestWatchedWritersDoNotDeadlock(t *testing.T) {
	t.Parallel()
	db := open(t)
	seed := seed.Of(t)
	run(t, db, `CREATE TABLE public.articles (id int PRIMARY KEY, writer int, topic int);
		INSERT INTO public.articles SELECT i, i / 20, i % 20 FROM generate_series(0, 319) AS i`)
	watch(t, db, "public.articles", "c", "ARRAY['topic:' || topic, 'all']")
	watch(t, db, "public.articles", "s", "'topic:' || topic")
	l := newLoader(t, db)
	var group sync.WaitGroup
	for writer := range 16 {
		random := rand.New(rand.NewPCG(seed, uint64(writer)))
		group.Go(func() {
			for range 15 {
				err := pgx.BeginFunc(ctx(t), db, func(tx pgx.Tx) error {
					for range 1 + random.IntN(4) {
						if _, err := tx.Exec(ctx(t), "UPDATE public.articles SET writer = writer WHERE writer = $1 AND topic = ANY ($2)",
							writer, []int{random.IntN(20), random.IntN(20), random.IntN(20)}); err != nil {
							return err
						}
					}
					return nil
				})
				assert.NoError(t, err)
				_, err = l.claim(ctx(t), fmt.Sprintf("topic:%d", random.IntN(20))) // no tombstone lasts
				assert.NoError(t, err)
			}
		})
	}
	group.Wait()
}

// What is rolled back invalidates nothing, and what is released does.
func TestWatchAndSavepoints(t *testing.T) {
	t.Parallel()
	db := articles(t)
	fill(t, db, "c", "article:", 9)
	tx, err := db.Begin(ctx(t))
	require.NoError(t, err)
	for i, end := range []string{"ROLLBACK TO s", "RELEASE s", "ROLLBACK TO s"} {
		run(t, tx, "SAVEPOINT s")
		run(t, tx, "UPDATE public.articles SET title = 'x' WHERE id = $1", i+1)
		run(t, tx, end)
	}
	require.NoError(t, tx.Commit(ctx(t)))
	require.Equal(t, "1 3 4 5 6 7 8 9", left(t, db, "c", "article:", 9))
	tx, err = db.Begin(ctx(t))
	require.NoError(t, err)
	run(t, tx, "TRUNCATE public.articles")
	require.NoError(t, tx.Rollback(ctx(t)))
	require.Equal(t, "1 3 4 5 6 7 8 9", left(t, db, "c", "article:", 9))

	// An entry that the transaction itself stores goes too.
	require.NoError(t, pgx.BeginFunc(ctx(t), db, func(tx pgx.Tx) error {
		run(t, tx, "UPDATE public.articles SET title = 'x' WHERE id = 3")
		run(t, tx, "SELECT howdah.set_text('c', 'article:3', 'x')")
		return nil
	}))
	require.Equal(t, "1 4 5 6 7 8 9", left(t, db, "c", "article:", 9))
}

// With an older snapshot a writer must repeat its transaction where an entry has
// changed since. It never leaves an entry that it does not see.
func TestWatchAndOlderSnapshots(t *testing.T) {
	t.Parallel()
	db := articles(t)
	for _, level := range []pgx.TxIsoLevel{pgx.RepeatableRead, pgx.Serializable} {
		for _, x := range []struct{ statement, since, code string }{
			{"UPDATE public.articles SET title = 'x' WHERE id = 1", "SELECT", ""},
			{"UPDATE public.articles SET title = 'x' WHERE id = 1", "SELECT howdah.set_text('c', 'article:2', 'v')", ""},
			{"UPDATE public.articles SET title = 'x' WHERE id = 1", "SELECT howdah.set_text('c', 'article:1', 'v')", "40001"},
			{"UPDATE public.articles SET title = 'x' WHERE id = 5", "SELECT howdah.set_text('c', 'article:5', 'v')", "40001"},
			{"UPDATE public.articles SET title = 'x' WHERE id = 1", "SELECT howdah.alter_cache('c', near => NOT near) FROM howdah.caches() WHERE name = 'c'", "40001"},
			{"TRUNCATE public.articles", "SELECT howdah.set_text('c', 'article:7', 'v')", ""},
		} {
			run(t, db, "SELECT howdah.flush('c'), howdah.set_text('c', 'article:1', 'v')")
			run(t, db, "INSERT INTO public.articles SELECT i FROM generate_series(1, 9) AS i ON CONFLICT DO NOTHING")
			fill(t, db, "c", "article:", 1)
			tx, err := db.BeginTx(ctx(t), pgx.TxOptions{IsoLevel: level})
			require.NoError(t, err)
			run(t, tx, "SELECT FROM public.articles")
			run(t, db, x.since)
			run(t, tx, x.statement)
			err = tx.Commit(ctx(t))
			require.Equal(t, x.code, state(err), "%s, %s, %s: %v", level, x.statement, x.since, err)
			if x.code == "" && x.since != "SELECT howdah.set_text('c', 'article:2', 'v')" {
				require.Empty(t, left(t, db, "c", "article:", 9), "%s, %s", level, x.statement)
			}
		}
	}
}

// Where a transaction uses the cache for long, so that TRUNCATE cannot have it, all
// entries go all the same, and a claim waits for the end of the commit.
func TestWatchEmptiesACacheInUse(t *testing.T) {
	t.Parallel()
	db := articles(t)
	fill(t, db, "c", "article:", 9)
	reader, err := db.Begin(ctx(t))
	require.NoError(t, err)
	defer reader.Rollback(context.Background())
	require.Equal(t, "v", one[string](t, reader, "SELECT howdah.get_text('c', 'article:1')"))
	writer, err := db.Begin(ctx(t))
	require.NoError(t, err)
	defer writer.Rollback(context.Background())
	run(t, writer, "TRUNCATE public.articles; SET CONSTRAINTS ALL IMMEDIATE")
	require.Equal(t, "v", one[string](t, reader, "SELECT howdah.get_text('c', 'article:1')"), "readers go on")
	claimed := make(chan int64, 1)
	go func() {
		token, _ := newLoader(t, db).wait(context.Background(), "article:99")
		claimed <- token
	}()
	awaitBlocked(t, db, int32(writer.Conn().PgConn().PID()))
	require.NoError(t, writer.Commit(ctx(t)))
	require.NotZero(t, <-claimed)
	require.Empty(t, left(t, db, "c", "article:", 9))
}

// Two-phase commit: the tombstones are there from PREPARE on, and claims wait for
// COMMIT PREPARED. Where a transaction may be prepared, readers are never stopped.
func TestWatchAndTwoPhaseCommit(t *testing.T) {
	t.Parallel()
	url := pgtest.Own(t, "max_prepared_transactions", "4").NewURL()
	db := connect(t, url)
	run(t, db, `SELECT howdah.create_cache('c'); CREATE TABLE public.articles (id int PRIMARY KEY, title text);
		INSERT INTO public.articles SELECT i FROM generate_series(1, 9) AS i`)
	watch(t, db, "public.articles", "c", "'article:' || id")
	l := newLoader(t, db)
	for _, x := range []struct{ statement, finish, left string }{
		{"UPDATE public.articles SET title = 'x' WHERE id = 1", "COMMIT PREPARED 'p'", "2 3 4 5 6 7 8 9"},
		{"UPDATE public.articles SET title = 'x' WHERE id = 1", "ROLLBACK PREPARED 'p'", "1 2 3 4 5 6 7 8 9"},
		{"TRUNCATE public.articles", "ROLLBACK PREPARED 'p'", "1 2 3 4 5 6 7 8 9"},
		{"TRUNCATE public.articles", "COMMIT PREPARED 'p'", ""},
	} {
		fill(t, db, "c", "article:", 9)
		run(t, db, "SELECT howdah.delete_text('c', 'article:1')")
		conn, err := db.Acquire(ctx(t))
		require.NoError(t, err)
		for _, sql := range []string{"BEGIN", x.statement, "PREPARE TRANSACTION 'p'"} {
			run(t, conn, sql)
		}
		conn.Release()
		require.Equal(t, "2 3 4 5 6 7 8 9", left(t, db, "c", "article:", 9), "readers go on")
		claimed := make(chan int64, 1)
		go func() {
			token, _ := l.wait(context.Background(), "article:1")
			claimed <- token
		}()
		awaitBlocked(t, db, 0) // a prepared transaction has no process
		run(t, db, x.finish)
		token := <-claimed
		require.NotZero(t, token)
		stored, err := l.fulfil(ctx(t), "article:1", token, "v")
		require.NoError(t, err)
		require.True(t, stored)
		want := x.left
		if x.finish == "COMMIT PREPARED 'p'" {
			want = "1" + map[bool]string{true: " " + x.left}[x.left != ""]
		}
		require.Equal(t, want, left(t, db, "c", "article:", 9), "%s, %s", x.statement, x.finish)
	}
}

// Changes that replication applies, and a restore with --disable-triggers, do not
// fire a watch unless its triggers are made to; then the rest fires as well.
func TestWatchAndReplicationRole(t *testing.T) {
	t.Parallel()
	db := articles(t)
	fill(t, db, "c", "article:", 9)
	conn, err := pgx.Connect(ctx(t), pgtest.SuperURL(db.Config().ConnString()))
	require.NoError(t, err)
	defer conn.Close(context.Background())
	run(t, conn, "SET session_replication_role = replica")
	run(t, conn, "UPDATE public.articles SET title = 'x' WHERE id = 1")
	require.Equal(t, "1 2 3 4 5 6 7 8 9", left(t, db, "c", "article:", 9))
	run(t, db, "ALTER TABLE public.articles ENABLE ALWAYS TRIGGER howdah_c_update")
	run(t, conn, "UPDATE public.articles SET title = 'x' WHERE id = 1")
	require.Equal(t, "2 3 4 5 6 7 8 9", left(t, db, "c", "article:", 9))
	require.Equal(t, "active", one[string](t, db, "SELECT state FROM howdah.watches()"))
}
