package session_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/howdah/howdah"
	"github.com/howdah/howdah/internal/test/pgtest"
	"github.com/howdah/howdah/session"
)

// long intervals: nothing is flushed or expired but by the test.
var byHand = session.Options{FlushInterval: time.Minute, ExpireInterval: time.Hour}

// The promise: a session used at u lives until u + idle timeout, whether or not
// the use was written; and at most the skip window longer.
func TestPromiseIsNeverCutShort(t *testing.T) {
	t.Parallel()
	m, pool := open(t, byHand) // 30 minutes, skip 10
	stop := running(t, m)
	s := create(t, m, session.Start{})
	about(t, 40*time.Minute, left(t, pool, s.ID))

	// Uses within the window are covered: 40 - 9 minutes are left, 30 promised.
	age(t, pool, s.ID, 9*time.Minute)
	get(t, m, s.Token())
	require.Zero(t, m.Stats().Waiting, "the row covers it")
	about(t, 31*time.Minute, left(t, pool, s.ID))

	// Past the window the row falls short of the promise and is extended.
	age(t, pool, s.ID, 2*time.Minute)
	get(t, m, s.Token())
	require.Equal(t, 1, m.Stats().Waiting)
	about(t, 29*time.Minute, left(t, pool, s.ID))
	require.NoError(t, m.Flush(t.Context()))
	require.Zero(t, m.Stats().Waiting)
	about(t, 40*time.Minute, left(t, pool, s.ID))
	require.Less(t, one[time.Duration](t, pool, "SELECT statement_timestamp() - last_seen_at FROM howdah.session"), time.Minute)

	// The worst case, again and again: the last use is the last one covered,
	// and the next comes just before the timeout that was promised then.
	for range 5 {
		age(t, pool, s.ID, 9*time.Minute+30*time.Second)
		get(t, m, s.Token())
		require.Zero(t, m.Stats().Waiting)
		age(t, pool, s.ID, 29*time.Minute) // now 38.5 minutes after the write, 1.5 are left
		get(t, m, s.Token())
		require.Zero(t, m.Stats().Waiting, "too close to the end for the next flush: written at once")
		about(t, 40*time.Minute, left(t, pool, s.ID))
	}

	// Nobody uses it: after the timeout and the window it is gone, to every verb.
	age(t, pool, s.ID, 40*time.Minute)
	dead(t, m, s.Token())
	_, err := m.Save(t.Context(), s.Token(), s.Version, nil)
	require.ErrorIs(t, err, session.ErrNotFound)
	_, err = m.Rotate(t.Context(), s.Token(), session.Renewal{})
	require.ErrorIs(t, err, session.ErrNotFound)
	n, err := m.Count(t.Context())
	require.NoError(t, err)
	require.Zero(t, n)
	require.NoError(t, stop())
}

// Changes count as uses, and cover the window for free.
func TestChangesExtend(t *testing.T) {
	t.Parallel()
	m, pool := open(t, byHand)
	for name, change := range map[string]func(s *session.Session) error{
		"save": func(s *session.Session) error {
			_, err := m.Save(t.Context(), s.Token(), s.Version, nil)
			return err
		},
		"merge": func(s *session.Session) error {
			_, _, err := m.Merge(t.Context(), s.Token(), nil)
			return err
		},
		"rotate": func(s *session.Session) error {
			_, err := m.Rotate(t.Context(), s.Token(), session.Renewal{})
			return err
		},
	} {
		s := create(t, m, session.Start{})
		age(t, pool, s.ID, 20*time.Minute)
		require.NoError(t, change(s), name)
		about(t, 40*time.Minute, left(t, pool, s.ID))
	}
}

// The flush counts from the use, not from itself.
func TestFlushKnowsWhenTheUseWas(t *testing.T) {
	t.Parallel()
	m, pool := open(t, byHand)
	s := create(t, m, session.Start{})
	age(t, pool, s.ID, 15*time.Minute)
	var touched int64
	var locked []string
	touch := func(age string) {
		require.NoError(t, pool.QueryRow(t.Context(),
			"SELECT touched, locked::text[] FROM howdah.session_touch(ARRAY[$1::uuid], ARRAY[$2::interval])", s.ID.String(), age).Scan(&touched, &locked))
	}
	touch("6 minutes") // 25 left, 24 promised
	require.Zero(t, touched)
	touch("2 minutes") // 28 promised
	require.EqualValues(t, 1, touched)
	about(t, 38*time.Minute, left(t, pool, s.ID))
	age(t, pool, s.ID, 20*time.Minute)
	touch("-1000 years") // a future use, if a clock or a caller is wrong
	require.EqualValues(t, 1, touched)
	about(t, 40*time.Minute, left(t, pool, s.ID))
	touch("5 minutes") // never shorter
	about(t, 40*time.Minute, left(t, pool, s.ID))
	require.Empty(t, locked)
	age(t, pool, s.ID, 41*time.Minute)
	touch("0") // what has expired stays so
	require.Zero(t, touched)
	require.Empty(t, locked)
	dead(t, m, s.Token())
}

// What cannot be written is kept, and the reader is served all the same.
func TestFlushFails(t *testing.T) {
	t.Parallel()
	m, pool := open(t, byHand)
	s := create(t, m, session.Start{})
	age(t, pool, s.ID, 15*time.Minute)
	run(t, pool, "ALTER FUNCTION howdah.session_touch RENAME TO hidden")
	get(t, m, s.Token()) // nobody runs, so it is tried at once
	require.Equal(t, 1, m.Stats().Waiting)
	require.ErrorIs(t, m.Flush(t.Context()), howdah.ErrSchemaMissing)
	require.Equal(t, 1, m.Stats().Waiting)
	run(t, pool, "ALTER FUNCTION howdah.hidden RENAME TO session_touch")
	require.NoError(t, m.Flush(t.Context()))
	require.Zero(t, m.Stats().Waiting)
	about(t, 40*time.Minute, left(t, pool, s.ID))
}

func TestAbsoluteLimitIsNeverExtended(t *testing.T) {
	t.Parallel()
	m, pool := open(t, session.Options{Lifetime: time.Hour, FlushInterval: time.Minute})
	stop := running(t, m)
	s := create(t, m, session.Start{})
	for range 2 {
		age(t, pool, s.ID, 20*time.Minute)
		get(t, m, s.Token())
		require.NoError(t, m.Flush(t.Context()))
		_, _, err := m.Merge(t.Context(), s.Token(), nil)
		require.NoError(t, err)
	}
	about(t, 20*time.Minute, left(t, pool, s.ID))
	writes := m.Stats().Touched
	for range 10 {
		get(t, m, s.Token()) // nothing is to be gained: no write a read at the end of a life
		require.NoError(t, m.Flush(t.Context()))
	}
	require.Equal(t, writes, m.Stats().Touched)
	require.Zero(t, m.Stats().Waiting)

	// A login starts a new lifetime, a change of privilege does not.
	s, err := m.Rotate(t.Context(), s.Token(), session.Renewal{})
	require.NoError(t, err)
	about(t, 20*time.Minute, left(t, pool, s.ID))
	s, err = m.Rotate(t.Context(), s.Token(), session.Renewal{User: "ada", Restart: true})
	require.NoError(t, err)
	about(t, 40*time.Minute, left(t, pool, s.ID))
	age(t, pool, s.ID, time.Hour)
	dead(t, m, s.Token())
	require.NoError(t, stop())
}

func TestWithoutIdleTimeoutAndWithoutSkip(t *testing.T) {
	t.Parallel()
	m, pool := open(t, session.Options{IdleTimeout: session.NoIdleTimeout, Lifetime: time.Hour})
	s := create(t, m, session.Start{})
	age(t, pool, s.ID, 59*time.Minute)
	get(t, m, s.Token())
	require.Zero(t, m.Stats().Touched)
	about(t, time.Minute, left(t, pool, s.ID))
	s, err := m.Rotate(t.Context(), s.Token(), session.Renewal{User: "ada", Restart: true})
	require.NoError(t, err)
	about(t, time.Hour, left(t, pool, s.ID))

	exact := create(t, m, session.Start{IdleTimeout: 10 * time.Minute, SkipWindow: session.NoSkip})
	about(t, 10*time.Minute, left(t, pool, exact.ID))
	age(t, pool, exact.ID, time.Minute)
	get(t, m, exact.Token()) // nobody runs: written at once
	about(t, 10*time.Minute, left(t, pool, exact.ID))
	require.EqualValues(t, 1, m.Stats().Touched)
}

// Stopping writes what is in memory.
func TestShutdownFlushes(t *testing.T) {
	t.Parallel()
	m, pool := open(t, byHand)
	stop := running(t, m)
	s := create(t, m, session.Start{})
	eventually(t, "a use is kept in memory", func() bool {
		age(t, pool, s.ID, 11*time.Minute-time.Second)
		get(t, m, s.Token())
		return m.Stats().Waiting == 1
	})
	require.Less(t, left(t, pool, s.ID), 30*time.Minute)
	require.NoError(t, stop())
	about(t, 40*time.Minute, left(t, pool, s.ID))
	age(t, pool, s.ID, 11*time.Minute)
	get(t, m, s.Token())
	about(t, 40*time.Minute, left(t, pool, s.ID))
}

// Run does it by itself.
func TestRunFlushesAndExpires(t *testing.T) {
	t.Parallel()
	m, pool := open(t, session.Options{FlushInterval: 5 * time.Millisecond, ExpireInterval: 5 * time.Millisecond})
	running(t, m)
	gone, stays := create(t, m, session.Start{}), create(t, m, session.Start{})
	age(t, pool, gone.ID, time.Hour)
	age(t, pool, stays.ID, 20*time.Minute)
	eventually(t, "the use is written", func() bool {
		get(t, m, stays.Token())
		return left(t, pool, stays.ID) > 39*time.Minute
	})
	eventually(t, "the expired row is gone, and counted", func() bool {
		return one[int](t, pool, "SELECT count(*) FROM howdah.session") == 1 && m.Stats().Expired == 1
	})
}

// Where the upkeep of the database looks after sessions, Run does not do it a
// second time; it takes over when that has ended.
func TestUpkeepHasOneOwner(t *testing.T) {
	t.Parallel()
	m, pool := open(t, session.Options{ExpireInterval: 5 * time.Millisecond, FlushInterval: time.Minute})
	run(t, pool, "INSERT INTO howdah.upkeep (cache, last_round) VALUES ('howdah.session', statement_timestamp() + interval '1 hour')")
	gone := create(t, m, session.Start{})
	age(t, pool, gone.ID, time.Hour)
	run(t, pool, "ANALYZE howdah.session")
	running(t, m)
	// A backend may count its insert once more after the ANALYZE.
	eventually(t, "Run looks at the table", func() bool { return m.Stats().Live > 0 })
	require.Equal(t, 1, one[int](t, pool, "SELECT count(*) FROM howdah.session"))
	run(t, pool, "UPDATE howdah.upkeep SET last_round = statement_timestamp() - interval '1 hour'")
	eventually(t, "the expired row is gone", func() bool { return one[int](t, pool, "SELECT count(*) FROM howdah.session") == 0 })
}

// A flush neither waits for a row that somebody holds, nor forgets it, nor
// brings back what was ended.
func TestFlushMeetsLockedAndEndedSessions(t *testing.T) {
	t.Parallel()
	m, pool := open(t, byHand)
	running(t, m)
	eventually(t, "Run has begun", func() bool {
		s := create(t, m, session.Start{})
		age(t, pool, s.ID, 15*time.Minute)
		get(t, m, s.Token())
		return m.Stats().Waiting > 0
	})
	require.NoError(t, m.Flush(t.Context()))
	held, ended, free := create(t, m, session.Start{}), create(t, m, session.Start{User: "u"}), create(t, m, session.Start{})
	for _, s := range []*session.Session{held, ended, free} {
		age(t, pool, s.ID, 15*time.Minute)
		get(t, m, s.Token())
	}
	require.Equal(t, 3, m.Stats().Waiting)
	tx, err := pool.Begin(t.Context())
	require.NoError(t, err)
	defer tx.Rollback(context.Background())
	_, err = tx.Exec(t.Context(), "SELECT FROM howdah.session WHERE id = $1::uuid FOR UPDATE", held.ID.String())
	require.NoError(t, err)
	_, err = m.RevokeUser(t.Context(), "u")
	require.NoError(t, err)

	require.NoError(t, m.Flush(t.Context()))
	about(t, 40*time.Minute, left(t, pool, free.ID))
	about(t, 25*time.Minute, left(t, pool, held.ID))
	dead(t, m, ended.Token())
	require.Equal(t, 1, m.Stats().Waiting, "the held one waits for the next flush")
	require.NoError(t, tx.Rollback(t.Context()))
	require.NoError(t, m.Flush(t.Context()))
	about(t, 40*time.Minute, left(t, pool, held.ID))
}

// numbered is an id of version 7 by hand.
func numbered(t *testing.T, i int) session.ID {
	t.Helper()
	id, err := session.ParseID(fmt.Sprintf("01990000-0000-7000-8000-%012x", i))
	require.NoError(t, err)
	return id
}

// More uses than one statement takes: all are written.
func TestFlushOfMoreThanOneStatement(t *testing.T) {
	t.Parallel()
	m, pool := open(t, byHand)
	run(t, pool, `
		INSERT INTO howdah.session (id, secret_hash, idle_expires_at, absolute_expires_at, idle_seconds, skip_seconds)
		SELECT ('01990000-0000-7000-8000-' || lpad(to_hex(i), 12, '0'))::uuid, sha256('x'),
		       statement_timestamp() + interval '20 minutes', statement_timestamp() + interval '7 days', 1800, 600
		FROM generate_series(0, $1::integer) AS i`, session.MaxBatch)
	ids := make([]session.ID, session.MaxBatch+1)
	for i := range ids {
		ids[i] = numbered(t, i)
	}
	m.Keep(ids...)
	require.NoError(t, m.Flush(t.Context()))
	require.Equal(t, len(ids), one[int](t, pool,
		"SELECT count(*) FROM howdah.session WHERE idle_expires_at > statement_timestamp() + interval '30 minutes'"))
	require.EqualValues(t, len(ids), m.Stats().Touched)
	require.EqualValues(t, 1, m.Stats().Flushes)
	require.Zero(t, m.Stats().Waiting)
}

// A full batch does not wait for the interval.
func TestFullBatchIsWrittenAtOnce(t *testing.T) {
	t.Parallel()
	m, pool := open(t, byHand)
	s := create(t, m, session.Start{})
	running(t, m)
	eventually(t, "Run has begun", func() bool { m.Used(numbered(t, 0)); return m.Stats().Waiting == 1 })
	age(t, pool, s.ID, 15*time.Minute)
	get(t, m, s.Token())
	for i := range session.MaxBatch - 2 {
		m.Used(numbered(t, i)) // of sessions that have ended
	}
	require.Equal(t, session.MaxBatch-1, m.Stats().Waiting)
	about(t, 25*time.Minute, left(t, pool, s.ID))
	m.Used(numbered(t, session.MaxBatch))
	eventually(t, "it is written", func() bool { return left(t, pool, s.ID) > 39*time.Minute })
	eventually(t, "with all others", func() bool { return m.Stats().Skipped == session.MaxBatch-1 })
}

// updates is what PostgreSQL counted. It counts late: the backends of a closed
// pool report when they exit.
func updates(t *testing.T, url string) (n int64) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	require.NoError(t, err)
	defer conn.Close(context.Background())
	require.NoError(t, conn.QueryRow(t.Context(), "SELECT n_tup_upd FROM pg_stat_user_tables WHERE relname = 'session'").Scan(&n))
	return n
}

// A hundred reads a lifetime: the skip saves all but a few of the writes.
func TestKeepaliveWritesLittle(t *testing.T) {
	t.Parallel()
	const sessions, reads = 50, 100
	measure := func(skip time.Duration) int64 {
		url := pgtest.New(t)
		db, err := howdah.Open(t.Context(), url, nil)
		require.NoError(t, err)
		o := byHand
		o.SkipWindow = skip
		m := manager(t, db, o)
		stop := running(t, m)
		var all []*session.Session
		for range sessions {
			all = append(all, create(t, m, session.Start{Payload: []byte("{}")}))
		}
		for range reads { // a lifetime, a hundredth at a time
			run(t, db.Pool(), `UPDATE howdah.session SET last_seen_at = last_seen_at - $1::interval,
				idle_expires_at = idle_expires_at - $1::interval, absolute_expires_at = absolute_expires_at - $1::interval`, 18*time.Second)
			for _, s := range all {
				get(t, m, s.Token())
			}
			require.NoError(t, m.Flush(t.Context()))
		}
		require.NoError(t, stop())
		require.NoError(t, db.Close())
		eventually(t, "PostgreSQL has counted", func() bool { return updates(t, url) == m.Stats().Touched+sessions*reads })
		return m.Stats().Touched
	}
	without, with := measure(session.NoSkip), measure(0)
	t.Logf("%d sessions, %d reads each: %d updates batched, %d batched with skip", sessions, reads, without, with)
	require.GreaterOrEqual(t, without, int64(sessions*reads*9/10))
	require.LessOrEqual(t, with, int64(sessions*4))
	require.GreaterOrEqual(t, without, 10*with)
}

// No touch writes to an index.
func TestTouchesAreHOT(t *testing.T) {
	t.Parallel()
	m, pool := open(t, byHand)
	for range 200 {
		s := create(t, m, session.Start{User: "u", Payload: make([]byte, 200)})
		age(t, pool, s.ID, 15*time.Minute)
	}
	run(t, pool, "VACUUM howdah.session")
	// Counted inside the transaction itself, on a connection that did nothing else.
	conn, err := pgx.ConnectConfig(t.Context(), pool.Config().ConnConfig)
	require.NoError(t, err)
	defer conn.Close(context.Background())
	tx, err := conn.Begin(t.Context())
	require.NoError(t, err)
	defer tx.Rollback(context.Background())
	var touched, updated, hot int64
	require.NoError(t, tx.QueryRow(t.Context(), "SELECT touched FROM howdah.session_touch(ARRAY(SELECT id FROM howdah.session))").Scan(&touched))
	require.NoError(t, tx.QueryRow(t.Context(), `
		SELECT pg_stat_get_xact_tuples_updated(c), pg_stat_get_xact_tuples_hot_updated(c)
		FROM (VALUES ('howdah.session'::regclass)) AS v (c)`).Scan(&updated, &hot))
	require.EqualValues(t, 200, touched)
	require.EqualValues(t, 200, updated)
	require.Greater(t, hot, int64(150), "there is room on the pages, and no index in the way")
}
