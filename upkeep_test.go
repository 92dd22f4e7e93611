package howdah_test

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/howdah/howdah"
	"github.com/howdah/howdah/internal/test/dbtest"
	"github.com/howdah/howdah/internal/test/leaks"
	"github.com/howdah/howdah/internal/test/pgtest"
)

func TestMaintainRemovesWhatExpired(t *testing.T) {
	t.Parallel()
	db := dbtest.Open(t, pgtest.New(t), nil)
	dbtest.Fill(t, db, "db0", 20_000, "statement_timestamp() + CASE WHEN i % 4 = 0 THEN interval '1 hour' ELSE interval '-1 second' END")

	var expired int64
	for i := 0; ; i++ {
		r := dbtest.Maintain(t, db, howdah.MaintainOptions{Cache: "db0", MaxRows: 700, MaxBlocks: 100, MaxTime: time.Minute})
		require.LessOrEqual(t, r.Expired, int64(700))
		require.LessOrEqual(t, r.Blocks, int64(100))
		require.Zero(t, r.Evicted)
		require.Equal(t, r.Expired*(100+200)+keyBytes(r), r.Bytes)
		expired += r.Expired
		require.Less(t, i, 200)
		if expired == 15_000 {
			break
		}
	}
	require.EqualValues(t, 5000, dbtest.Number(t, db, "SELECT count(*) FROM "+pgtest.Table(t, db.Pool(), "db0")))
	require.EqualValues(t, 5000, dbtest.Number(t, db, "SELECT howdah.count('db0')"))
	require.EqualValues(t, 15_000, dbtest.Number(t, db, "SELECT expired FROM howdah.upkeep WHERE cache = 'db0'"))
	for range 10 {
		r := dbtest.Maintain(t, db, howdah.MaintainOptions{})
		require.Zero(t, r.Expired, "live entries stay")
		require.False(t, r.More)
	}
}

// keyBytes is what is left of a round's bytes for the keys, "key:1" to
// "key:20000".
func keyBytes(r howdah.Upkeep) int64 {
	keys := r.Bytes - r.Expired*(100+200)
	if keys < 5*r.Expired || keys > 9*r.Expired {
		return -1
	}
	return keys
}

// A round of a millisecond ends soon, however much there is to do, and says so.
func TestMaintainKeepsItsTime(t *testing.T) {
	t.Parallel()
	db := dbtest.Open(t, pgtest.New(t), nil)
	dbtest.Fill(t, db, "db0", 60_000, "statement_timestamp() - interval '1 second'")
	r := dbtest.Maintain(t, db, howdah.MaintainOptions{MaxTime: time.Microsecond, MaxRows: 1_000_000})
	require.True(t, r.More)
	require.Positive(t, r.Expired)
	require.LessOrEqual(t, r.Blocks, int64(64), "one chunk")
	r = dbtest.Maintain(t, db, howdah.MaintainOptions{MaxTime: time.Minute, MaxRows: 1_000_000, MaxBlocks: 1_000_000})
	require.False(t, r.More)
	require.Zero(t, dbtest.Number(t, db, "SELECT count(*) FROM "+pgtest.Table(t, db.Pool(), "db0")))
}

// An entry that is stored again over its expired row, while rounds run, stays.
func TestMaintainLeavesRevivedEntries(t *testing.T) {
	t.Parallel()
	db := dbtest.Open(t, pgtest.New(t), nil)
	cache := db.Cache("db0")
	var stop atomic.Bool
	var rounds sync.WaitGroup
	var removed atomic.Int64
	for range 2 {
		rounds.Go(func() {
			for !stop.Load() {
				done, err := db.Maintain(t.Context(), howdah.MaintainOptions{})
				if err != nil {
					t.Error(err)
					return
				}
				for _, r := range done {
					removed.Add(r.Expired)
				}
			}
		})
	}
	dbtest.Together(8, func(g int) {
		// Until the race has taken place, if that takes longer.
		for i := 0; i < 150 || removed.Load() == 0 && i < 100_000; i++ {
			key := fmt.Sprintf("%d:%d", g, i%20)
			if err := cache.Set(t.Context(), key, []byte("old"), time.Microsecond); err != nil {
				t.Error(err)
			}
			if err := cache.Set(t.Context(), key, []byte("new"), time.Hour); err != nil {
				t.Error(err)
			}
			if value, err := cache.Get(t.Context(), key); err != nil || string(value) != "new" {
				t.Errorf("%s: %q %v", key, value, err)
			}
		}
	})
	stop.Store(true)
	rounds.Wait()
	require.Positive(t, removed.Load(), "the race took place")
	require.EqualValues(t, 160, dbtest.Number(t, db, "SELECT count(*) FROM "+pgtest.Table(t, db.Pool(), "db0")))
}

// A row that somebody holds is left for later, at once.
func TestMaintainWaitsForNobody(t *testing.T) {
	t.Parallel()
	db := dbtest.Open(t, pgtest.New(t), nil)
	dbtest.Fill(t, db, "db0", 100, "statement_timestamp() - interval '1 second'")
	tx, err := db.Pool().Begin(t.Context())
	require.NoError(t, err)
	defer tx.Rollback(t.Context())
	_, err = tx.Exec(t.Context(), "SELECT FROM "+pgtest.Table(t, tx, "db0")+" WHERE key = 'key:7' FOR UPDATE")
	require.NoError(t, err)
	require.EqualValues(t, 99, dbtest.Maintain(t, db, howdah.MaintainOptions{}).Expired)
	require.NoError(t, tx.Rollback(t.Context()))
	require.EqualValues(t, 1, dbtest.Maintain(t, db, howdah.MaintainOptions{}).Expired)

	// A cache whose table is locked as a whole is left out.
	dbtest.Exec(t, db, "SELECT howdah.create_cache('other')")
	tx, err = db.Pool().Begin(t.Context())
	require.NoError(t, err)
	defer tx.Rollback(t.Context())
	_, err = tx.Exec(t.Context(), "LOCK TABLE "+pgtest.Table(t, tx, "db0")+" IN ACCESS EXCLUSIVE MODE")
	require.NoError(t, err)
	require.Equal(t, "other", dbtest.Maintain(t, db, howdah.MaintainOptions{}).Cache)
}

// Expired sessions go with the same rounds, within the same bounds; live ones
// stay, and one that somebody holds is left for later.
func TestMaintainRemovesSessions(t *testing.T) {
	t.Parallel()
	db := dbtest.Open(t, pgtest.New(t), nil)
	rounds, err := db.Maintain(t.Context(), howdah.MaintainOptions{})
	require.NoError(t, err)
	require.Len(t, rounds, 1, "no sessions, no row")
	dbtest.Exec(t, db, `INSERT INTO howdah.session (id, secret_hash, idle_expires_at, absolute_expires_at, payload)
		SELECT gen_random_uuid(), sha256(''), e, e, convert_to(repeat('p', 500), 'UTF8')
		FROM (SELECT statement_timestamp() + CASE WHEN i % 5 = 0 THEN interval '1 hour' ELSE interval '-1 s' END AS e
		      FROM generate_series(1, 20000) AS i) AS s`)
	tx, err := db.Pool().Begin(t.Context())
	require.NoError(t, err)
	defer tx.Rollback(context.Background())
	_, err = tx.Exec(t.Context(), "SELECT FROM howdah.session WHERE idle_expires_at < statement_timestamp() LIMIT 10 FOR UPDATE")
	require.NoError(t, err)

	var expired int64
	for i := 0; expired < 15_990; i++ {
		require.Less(t, i, 200)
		r := dbtest.Maintain(t, db, howdah.MaintainOptions{Cache: howdah.UpkeepOfSessions, MaxRows: 700, MaxBlocks: 600, MaxTime: time.Minute})
		require.LessOrEqual(t, r.Expired, int64(700))
		require.LessOrEqual(t, r.Blocks, int64(600))
		require.Equal(t, howdah.UpkeepOfSessions, r.Cache)
		expired += r.Expired
	}
	require.EqualValues(t, 15_990, expired)
	require.NoError(t, tx.Rollback(t.Context()))
	dbtest.Exec(t, db, "SELECT FROM howdah.maintain(max_time => '1 minute')")
	require.EqualValues(t, 4000, dbtest.Number(t, db, "SELECT count(*) FROM howdah.session"))
	require.EqualValues(t, 16_000, dbtest.Number(t, db, "SELECT expired FROM howdah.upkeep WHERE cache = 'howdah.session'"))

	// The first chunk is all that a short time allows.
	dbtest.Exec(t, db, "UPDATE howdah.session SET idle_expires_at = statement_timestamp()")
	r := dbtest.Maintain(t, db, howdah.MaintainOptions{Cache: howdah.UpkeepOfSessions, MaxTime: time.Microsecond})
	require.Positive(t, r.Expired+r.Blocks)
	require.LessOrEqual(t, r.Expired, int64(1000))

	// Run does it too, as an application's role would.
	dbtest.Run(t, db)
	dbtest.Eventually(t, "Run removes them", func() bool { return dbtest.Number(t, db, "SELECT count(*) FROM howdah.session") == 0 })
	dbtest.Eventually(t, "and counts them", func() bool { return db.Stats().Upkeep.Sessions > 0 })
}

func TestOneRoundAtATime(t *testing.T) {
	t.Parallel()
	url := pgtest.New(t)
	db := dbtest.Open(t, url, nil)
	dbtest.Fill(t, db, "db0", 5000, "statement_timestamp() - interval '1 second'")
	tx, err := db.Pool().Begin(t.Context())
	require.NoError(t, err)
	defer tx.Rollback(t.Context())
	_, err = tx.Exec(t.Context(), "SELECT howdah.maintain(max_rows => 10)")
	require.NoError(t, err)
	rounds, err := db.Maintain(t.Context(), howdah.MaintainOptions{})
	require.NoError(t, err)
	require.Empty(t, rounds, "another session is in a round")
	require.NoError(t, tx.Rollback(t.Context()))

	// Many at once remove every row once.
	var expired atomic.Int64
	dbtest.Together(6, func(int) {
		for expired.Load() < 5000 {
			rounds, err := db.Maintain(t.Context(), howdah.MaintainOptions{MaxRows: 200})
			if err != nil {
				t.Error(err)
				return
			}
			for _, r := range rounds {
				expired.Add(r.Expired)
			}
		}
	})
	require.EqualValues(t, 5000, expired.Load())
}

func TestMaintainRefusesBadArguments(t *testing.T) {
	t.Parallel()
	db := dbtest.Open(t, pgtest.New(t), nil)
	_, err := db.Maintain(t.Context(), howdah.MaintainOptions{Cache: "none"})
	require.ErrorIs(t, err, howdah.ErrCacheNotFound)
	for _, call := range []string{
		"max_rows => 0", "max_rows => -1", "max_blocks => 0", "max_time => '0'", "max_time => '-1 s'", "max_rows => NULL",
	} {
		_, err := db.Pool().Exec(t.Context(), "SELECT howdah.maintain("+call+")")
		require.ErrorContains(t, err, "HW012", call)
	}
	_, err = db.Maintain(t.Context(), howdah.MaintainOptions{MaxRows: -5})
	require.ErrorContains(t, err, "not positive")
	require.NoError(t, db.Close())
	_, err = db.Maintain(t.Context(), howdah.MaintainOptions{})
	require.ErrorIs(t, err, howdah.ErrClosed)
	require.ErrorIs(t, db.Run(t.Context()), howdah.ErrClosed)
}

func TestRunRemovesWhatExpired(t *testing.T) {
	db := dbtest.Open(t, pgtest.New(t), nil)
	defer leaks.Await(t, goleak.IgnoreCurrent())
	dbtest.Exec(t, db, "SELECT howdah.create_cache('logged', durability => 'sync')")
	stop := dbtest.Run(t, db)
	dbtest.Eventually(t, "it leads", func() bool { return db.Stats().Upkeep.Leader })
	dbtest.Fill(t, db, "db0", 30_000, "statement_timestamp() + CASE WHEN i % 10 = 0 THEN interval '1 hour' ELSE interval '1 second' END")
	dbtest.Fill(t, db, "logged", 3000, "statement_timestamp()")
	dbtest.Eventually(t, "all that expired goes", func() bool {
		return dbtest.Number(t, db, "SELECT (SELECT count(*) FROM "+pgtest.Table(t, db.Pool(), "db0")+") + (SELECT count(*) FROM "+pgtest.Table(t, db.Pool(), "logged")+")") == 3000
	})
	dbtest.Eventually(t, "and is counted", func() bool { return db.Stats().Upkeep.Expired >= 30_000 })
	stop()
	require.False(t, db.Stats().Upkeep.Leader)
}

// Each budget is looked after, whoever else has work: other budgets, and very
// much that has expired.
func TestRunReachesEveryBudget(t *testing.T) {
	t.Parallel()
	db := dbtest.Open(t, pgtest.New(t), nil)
	for _, name := range []string{"a", "b", "c", "d"} {
		dbtest.Exec(t, db, fmt.Sprintf("SELECT howdah.create_cache('%s', max_entries => 4000, eviction => 'allkeys-random')", name))
		dbtest.Fill(t, db, name, 20_000, "'infinity'")
	}
	dbtest.Exec(t, db, "INSERT INTO "+pgtest.Table(t, db.Pool(), "a")+" (hash, version, expires_at, key, value) SELECT hash + 1, version, '-infinity', key, value FROM "+pgtest.Table(t, db.Pool(), "a"))
	dbtest.Fill(t, db, "db0", 60_000, "statement_timestamp()")
	dbtest.Run(t, db)
	for _, name := range []string{"a", "b", "c", "d"} {
		dbtest.Eventually(t, "the budget of "+name, func() bool {
			return dbtest.Number(t, db, "SELECT count(*) FROM "+pgtest.Table(t, db.Pool(), name)) <= 4400
		})
	}
	dbtest.Eventually(t, "all that expired goes", func() bool {
		return dbtest.Number(t, db, "SELECT count(*) FROM "+pgtest.Table(t, db.Pool(), "db0")) == 0
	})
}

// One of several leads. Whether it stops in order or dies, another takes over.
func TestAnotherTakesOver(t *testing.T) {
	t.Parallel()
	url := pgtest.New(t)
	dbs := []*howdah.DB{dbtest.Open(t, url, nil), dbtest.Open(t, url, nil)}
	stops := []func(){dbtest.Run(t, dbs[0]), dbtest.Run(t, dbs[1])}
	leaders := func() (n, which int) {
		for i, db := range dbs {
			if db.Stats().Upkeep.Leader {
				n, which = n+1, i
			}
		}
		return n, which
	}
	dbtest.Eventually(t, "one leads", func() bool { n, _ := leaders(); return n == 1 })
	_, first := leaders()
	stops[first]()
	dbtest.Eventually(t, "the other leads", func() bool { n, which := leaders(); return n == 1 && which != first })
	stops[1-first]()

	// A leader died just after it had renewed the lease: who leads next began
	// after its end.
	until := dbtest.Number(t, dbs[0], "UPDATE howdah.leader SET holder = 'dead', until = clock_timestamp() + interval '2 s' RETURNING (extract(epoch FROM until) * 1000)::bigint")
	dbtest.Run(t, dbs[0])
	dbtest.Eventually(t, "the lease runs out", func() bool { n, _ := leaders(); return n == 1 })
	require.GreaterOrEqual(t, dbtest.Number(t, dbs[0], "SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint"), until)
}

// The role of an application may do the upkeep, and cannot do more than that.
func TestUpkeepByTheRuntimeRole(t *testing.T) {
	t.Parallel()
	databaseURL := pgtest.New(t)
	owner := dbtest.Open(t, databaseURL, nil)
	role, appURL := dbtest.NewRole(t, databaseURL)
	dbtest.Exec(t, owner, "SELECT howdah.grant_runtime($1)", role)
	dbtest.Exec(t, owner, "SELECT howdah.create_cache('full', max_entries => 100, eviction => 'noeviction')")
	dbtest.Exec(t, owner, "SELECT howdah.create_cache('lru', max_entries => 100)")
	dbtest.Exec(t, owner, "DELETE FROM howdah.beacon") // as a crash does
	dbtest.Fill(t, owner, "full", 200, "'infinity'")
	dbtest.Fill(t, owner, "lru", 200, "'infinity'")
	dbtest.Fill(t, owner, "db0", 200, "statement_timestamp()")

	app := dbtest.Open(t, appURL, nil)
	_, err := app.Cache("lru").Get(t.Context(), "key:200")
	require.NoError(t, err)
	dbtest.Run(t, app)
	dbtest.Eventually(t, "all is done", func() bool {
		s := app.Stats().Upkeep
		return s.Leader && s.Expired == 200 && s.Evicted >= 100 && s.Resets == 1
	})
	dbtest.Eventually(t, "full", func() bool {
		return dbtest.Number(t, owner, "SELECT count(full_since) FROM howdah_internal.cache") == 1
	})
	_, err = app.Pool().Exec(t.Context(), "DELETE FROM howdah.upkeep")
	require.ErrorContains(t, err, "42501")
}

// A crash empties the UNLOGGED caches, which is noticed soon after the restart.
func TestResetIsDetected(t *testing.T) {
	t.Parallel()
	server := pgtest.Own(t, "fsync", "off")
	db := dbtest.Open(t, server.NewURL(), nil)
	dbtest.Exec(t, db, "SELECT howdah.create_cache('kept', durability => 'sync')")
	for _, cache := range []string{"db0", "kept"} {
		require.NoError(t, db.Cache(cache).Set(t.Context(), "k", []byte("v"), 0))
	}
	dbtest.Run(t, db)
	dbtest.Eventually(t, "it leads", func() bool { return db.Stats().Upkeep.Leader })

	server.Stop("fast")
	server.Start()
	dbtest.Eventually(t, "upkeep goes on", func() bool { return db.Stats().Upkeep.Leader && db.Ping(t.Context()) == nil })
	rounds := db.Stats().Upkeep.Rounds
	dbtest.Eventually(t, "another round", func() bool { return db.Stats().Upkeep.Rounds > rounds })
	require.Zero(t, db.Stats().Upkeep.Resets, "an orderly restart loses nothing")
	_, err := db.Cache("db0").Get(t.Context(), "k")
	require.NoError(t, err)

	server.Kill()
	server.Start()
	dbtest.Eventually(t, "it answers", func() bool { return db.Ping(t.Context()) == nil })
	began := time.Now()
	dbtest.Eventually(t, "the reset is counted", func() bool { return db.Stats().Upkeep.Resets == 1 })
	t.Logf("detected %v after the first answer", time.Since(began))
	_, err = db.Cache("db0").Get(t.Context(), "k")
	require.ErrorIs(t, err, howdah.ErrMiss)
	_, err = db.Cache("kept").Get(t.Context(), "k")
	require.NoError(t, err)
	require.EqualValues(t, 2, dbtest.Number(t, db, "SELECT epoch FROM howdah.epoch"))
	require.EqualValues(t, 2, dbtest.Number(t, db, "SELECT howdah_internal._detect_reset()"), "counted once")
}
