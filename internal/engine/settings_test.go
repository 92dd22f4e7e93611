package engine

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/howdah/howdah/internal/fault"
	"github.com/howdah/howdah/internal/statement"
	"github.com/howdah/howdah/internal/test/pgtest"
	"github.com/howdah/howdah/internal/verb"
)

func TestMain(m *testing.M) { pgtest.Main(m) }

// newSet makes the engines of a fresh database.
func newSet(t *testing.T) *Set {
	t.Helper()
	pool, err := pgxpool.New(t.Context(), pgtest.New(t))
	require.NoError(t, err)
	t.Cleanup(pool.Close)
	s := New(pool, Options{
		Timeout: 20 * time.Second, LockTimeout: 100 * time.Millisecond, MaxConns: 4, Named: true,
		MaxBatchKeys: 64, MaxBatchBytes: 1 << 20, MaxQueueBytes: 1 << 20, MaxValueBytes: 1 << 20, Logger: slog.New(slog.DiscardHandler),
	})
	t.Cleanup(func() {
		_, err := s.Close(context.Background())
		require.NoError(t, err)
	})
	return s
}

// twoCaches returns the engines of two caches of one class: the settings of the first are
// known, those of the other are not.
func twoCaches(t *testing.T, s *Set) (known, unknown *Engine) {
	t.Helper()
	execute(t, s, "SELECT howdah.create_cache('other', durability => (SELECT durability FROM howdah_internal.cache WHERE name = 'db0'))")
	known, err := s.Engine(t.Context(), "db0", s.Pool)
	require.NoError(t, err)
	unknown, err = s.Unasked("other")
	require.NoError(t, err)
	return known, unknown
}

func execute(t *testing.T, s *Set, sql string) {
	t.Helper()
	_, err := s.Pool.Exec(t.Context(), sql)
	require.NoError(t, err)
}

// together runs the same call on each engine, in one flight.
func together(t *testing.T, s *Set, v *verb.Verb, engines ...*Engine) (errs []error) {
	t.Helper()
	var calls []*verb.Call
	for range engines {
		calls = append(calls, &verb.Call{Verb: v, Key: []byte("k"), Value: []byte("v")})
	}
	_ = s.DoAll(t.Context(), calls, func(i int) *Engine { return engines[i] })
	for _, c := range calls {
		errs = append(errs, c.Err)
	}
	return errs
}

// TestRefreshReadsWhatTheFlightNeeds: two flights are the first on a cache. One has taken it
// from the list of caches in use, and PostgreSQL has not answered it. The other reads the
// settings too, or its calls would fail as if the cache did not exist.
func TestRefreshReadsWhatTheFlightNeeds(t *testing.T) {
	t.Parallel()
	s := newSet(t)
	conn, err := s.Pool.Acquire(t.Context())
	require.NoError(t, err)
	defer conn.Release()
	e, err := s.Unasked("db0")
	require.NoError(t, err)

	e.used.Store(false) // by the other flight
	require.NoError(t, s.refresh(t.Context(), conn, []*Engine{e}))
	require.True(t, e.Table().Known())
}

// TestSettingsOfOneCacheFailItsCallsOnly: a cache whose settings cannot be used, or are
// locked, does not fail the calls of another that share its flight.
func TestSettingsOfOneCacheFailItsCallsOnly(t *testing.T) {
	t.Parallel()
	t.Run("a newer feature", func(t *testing.T) {
		s := newSet(t)
		known, unknown := twoCaches(t, s)
		execute(t, s, "UPDATE howdah_internal.cache SET features = '{tomorrow}' WHERE name = 'other'")
		for _, settings := range []string{"fresh", "old"} {
			errs := together(t, s, statement.Get, known, unknown)
			require.NoError(t, errs[0], settings)
			require.ErrorIs(t, errs[1], fault.ErrSchemaTooNew, settings)
			known.use(known.Table().AsOf(time.Now().Add(-settingsLife)))
		}
	})
	t.Run("locked", func(t *testing.T) {
		s := newSet(t)
		known, unknown := twoCaches(t, s)
		tx, err := s.Pool.Begin(t.Context())
		require.NoError(t, err)
		defer tx.Rollback(t.Context())
		_, err = tx.Exec(t.Context(), "LOCK TABLE howdah_internal.cache IN ACCESS EXCLUSIVE MODE")
		require.NoError(t, err)
		errs := together(t, s, statement.Get, known, unknown)
		require.NoError(t, errs[0])
		require.ErrorIs(t, errs[1], fault.ErrTimeout)
		require.NoError(t, tx.Rollback(t.Context()))
		require.NoError(t, together(t, s, statement.Get, unknown)[0])
	})
}

// TestCallsThatWereNotSentAreKnown: PostgreSQL is read-only, so the flight ends its
// connection at the first refusal. What it had not sent yet has no unknown outcome.
func TestCallsThatWereNotSentAreKnown(t *testing.T) {
	t.Parallel()
	s := newSet(t)
	first, second := twoCaches(t, s)
	require.NoError(t, together(t, s, statement.Set, first, second)[1])
	execute(t, s, "DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET default_transaction_read_only = on', current_database()); END $$")
	s.Pool.Reset()
	for _, err := range together(t, s, statement.Set, first, second) {
		require.ErrorIs(t, err, fault.ErrUnavailable)
		require.NotErrorIs(t, err, fault.ErrUnknownOutcome)
	}
}
