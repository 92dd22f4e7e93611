package figures

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/howdah/howdah/internal/core"
	"github.com/howdah/howdah/internal/doctor"
	"github.com/howdah/howdah/internal/fault"
	"github.com/howdah/howdah/internal/stat"
	"github.com/howdah/howdah/internal/statement"
	"github.com/howdah/howdah/internal/test/pgtest"
	"github.com/howdah/howdah/internal/verb"
)

// get reads a key, which is not there.
func get(t *testing.T, f *Figures, key string) {
	t.Helper()
	err := f.db.Cache("db0").Do(t.Context(), &verb.Call{Verb: statement.Get, Key: []byte(key)})
	require.NoError(t, err)
}

// Viewers share one report, and what this process did is in the history.
func TestReportAndHistory(t *testing.T) {
	t.Parallel()
	f := open(t, pgtest.New(t), Options{Interval: time.Millisecond, Patience: time.Minute})
	require.Empty(t, f.History())
	first := eventually(t, f.Report)
	require.Zero(t, first.Value.Seconds, "no rates yet")
	require.Empty(t, f.History())
	for range 10 {
		get(t, f, "k")
	}
	require.Eventually(t, func() bool {
		f.Report(t.Context())
		for _, point := range f.History() {
			if point.Process.Calls > 0 {
				db0 := point.Caches["db0"]
				require.Equal(t, point.Process, db0.Process, "there is no other cache")
				require.Zero(t, *point.Process.Hit)
				require.Positive(t, *point.Process.P50)
				require.GreaterOrEqual(t, *point.Process.P99, *point.Process.P50)
				require.Zero(t, point.Process.Errors)
				require.NotNil(t, db0.Entries)
				return true
			}
		}
		return false
	}, time.Minute, time.Millisecond)
	f.report.interval = time.Hour // no reading beside those that follow
	last := eventually(t, f.Report)
	for range 2 * MaxHistory {
		f.observer.note(last.Value, nil)
	}
	points := f.History()
	require.Len(t, points, MaxHistory)
	require.True(t, points[0].At.Before(points[MaxHistory-1].At), "the oldest first")

	// Many viewers of one moment get one report.
	shown := f.report.last()
	var viewers sync.WaitGroup
	for range 50 {
		viewers.Go(func() {
			seen := f.Report(context.Background())
			require.Same(t, shown.Value, seen.Value)
		})
	}
	viewers.Wait()
}

// While PostgreSQL is away the last good figures are shown with the error, and come back
// with it.
func TestDatabaseAway(t *testing.T) {
	t.Parallel()
	server := pgtest.Own(t)
	f := open(t, server.NewURL(), Options{Interval: time.Millisecond})
	good := eventually(t, f.Report)
	report := eventually(t, f.Doctor)
	sample := eventually(t, func(ctx context.Context) Seen[stat.Sampling] { return f.Sample(ctx, "db0") })
	cost := eventually(t, f.Cost)
	require.NotEmpty(t, cost.Value.Reason)
	require.Empty(t, cost.Value.Minutes)

	server.Stop("immediate")
	var seen Seen[stat.Report]
	require.Eventually(t, func() bool {
		seen = f.Report(t.Context())
		return seen.Err != nil
	}, time.Minute, time.Millisecond)
	require.ErrorIs(t, seen.Err, fault.ErrUnavailable)
	require.Equal(t, good.Value.Database, seen.Value.Database)
	require.Positive(t, seen.Age())
	points := len(f.History())
	require.Eventually(t, func() bool {
		f.Report(t.Context())
		return len(f.History()) > points
	}, time.Minute, time.Millisecond, "the history goes on with what this process counts")
	require.Nil(t, f.History()[len(f.History())-1].Caches["db0"].Entries)

	again := f.Examine(t.Context())
	require.ErrorIs(t, again.Err, fault.ErrUnavailable)
	require.Same(t, report.Value, again.Value)
	require.Same(t, sample.Value, f.sample("db0").again(t.Context()).Value)
	require.ErrorIs(t, f.sample("db0").last().Err, fault.ErrUnavailable)

	server.Start()
	require.Eventually(t, func() bool {
		seen = f.Report(t.Context())
		return seen.Err == nil && seen.Age() < good.Age()
	}, time.Minute, 10*time.Millisecond)
}

// The doctor examines once at a time, and judges the settings of an application's
// connection, not those of the pool's.
func TestDoctor(t *testing.T) {
	t.Parallel()
	url := pgtest.New(t)
	f := open(t, url, Options{})
	require.Nil(t, f.LastDoctor().Value)
	var first Seen[doctor.Report]
	var viewers sync.WaitGroup
	all := make([]Seen[doctor.Report], 5)
	for i := range all {
		viewers.Go(func() { all[i] = f.Examine(context.Background()) })
	}
	viewers.Wait()
	first = all[0]
	require.NoError(t, first.Err)
	conn, err := pgx.Connect(t.Context(), url)
	require.NoError(t, err)
	defer conn.Close(t.Context())
	want, err := examine(t.Context(), conn)
	require.NoError(t, err)
	require.Equal(t, ids(want), ids(first.Value))
	kept := f.LastDoctor()
	require.Same(t, kept.Value, f.Doctor(t.Context()).Value, "an hour is not over")
	f.RenewDoctor()
	require.Same(t, kept.Value, f.LastDoctor().Value)
	require.NotSame(t, kept.Value, f.Examine(t.Context()).Value)
}

// A role without rights gets an error that says so, and no connection is lost.
func TestWithoutRights(t *testing.T) {
	t.Parallel()
	url := pgtest.New(t)
	f := open(t, url, Options{})
	conn, err := pgx.Connect(t.Context(), url)
	require.NoError(t, err)
	defer conn.Close(t.Context())
	table := pgtest.Table(t, conn, "db0")
	_, err = conn.Exec(t.Context(), "REVOKE SELECT ON "+table+", howdah_internal.server FROM CURRENT_USER")
	require.NoError(t, err)
	for _, seen := range []error{f.sample("db0").again(t.Context()).Err, f.servers.again(t.Context()).Err} {
		require.ErrorIs(t, seen, fault.ErrPermission)
	}
	report := eventually(t, f.Report)
	require.Equal(t, []string{"rows of " + table}, report.Value.Hidden)
	require.Empty(t, f.slots)
	require.Zero(t, f.db.Pool().Stat().AcquiredConns())
}

// However many figures are read at the same time, they take two connections.
func TestFewConnections(t *testing.T) {
	t.Parallel()
	url := pgtest.New(t)
	f := open(t, url, Options{})
	require.Equal(t, 2, cap(f.slots))
	require.Equal(t, []int{1, 1, 1, 2, 2}, []int{connections(1), connections(2), connections(3), connections(4), connections(100)})
	conn, err := pgx.Connect(t.Context(), url)
	require.NoError(t, err)
	defer conn.Close(context.Background())
	_, err = conn.Exec(t.Context(), "SELECT howdah.create_cache('c' || i) FROM generate_series(1, 8) AS i")
	require.NoError(t, err)
	var viewers sync.WaitGroup
	for i := range 8 {
		viewers.Go(func() {
			seen := f.sample("c" + string(rune('1'+i))).again(context.Background())
			require.NoError(t, seen.Err)
		})
	}
	viewers.Wait()
	require.LessOrEqual(t, f.db.Pool().Stat().TotalConns(), int32(3), "two, and one that opened the database")
}

// Behind a pooler that gives each transaction another connection nothing is prepared by
// name, and parameters have the types that Go gives them.
func TestBehindAPooler(t *testing.T) {
	t.Parallel()
	db, err := core.Open(t.Context(), pgtest.New(t), core.Options{Timeout: 10 * time.Second, Pooler: core.PoolerTransaction})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	f := New(Options{DB: db, Patience: time.Minute})
	t.Cleanup(f.Close)
	for _, err := range []error{
		f.Report(t.Context()).Err, f.Doctor(t.Context()).Err, f.Cost(t.Context()).Err, f.Servers(t.Context()).Err,
		f.Sample(t.Context(), "db0").Err,
	} {
		require.NoError(t, err)
	}
	require.NotEmpty(t, f.Report(t.Context()).Value.Tables[0].TableBytes+f.Report(t.Context()).Value.Tables[0].IndexBytes)
}

// Cost is kept for an hour and compared with what was kept.
func TestCostOfAnHour(t *testing.T) {
	t.Parallel()
	server := pgtest.Own(t, "shared_preload_libraries", "pg_stat_statements")
	url := server.NewURL()
	super, err := pgx.Connect(t.Context(), server.SuperURL())
	require.NoError(t, err)
	defer super.Close(t.Context())
	conn, err := pgx.Connect(t.Context(), url)
	require.NoError(t, err)
	var role string
	require.NoError(t, conn.QueryRow(t.Context(), "SELECT quote_ident(current_user)").Scan(&role))
	require.NoError(t, conn.Close(t.Context()))
	_, err = super.Exec(t.Context(), "CREATE EXTENSION pg_stat_statements; GRANT pg_read_all_stats TO "+role)
	require.NoError(t, err)
	f := open(t, url, Options{})
	require.Nil(t, f.LastCost().Value, "it waits for nothing")
	first := f.cost.again(t.Context())
	require.NoError(t, first.Err)
	for range 5 {
		get(t, f, "k")
	}
	second := f.cost.again(t.Context())
	require.NoError(t, second.Err)
	require.NotNil(t, second.Value.Hour)
	require.Positive(t, second.Value.Hour.Howdah.Calls)
	require.NotEmpty(t, second.Value.Minutes)
	require.Same(t, second.Value, f.LastCost().Value)

	// What is older than an hour is forgotten.
	for _, old := range f.costs.measured {
		old.At = old.At.Add(-2 * time.Hour)
	}
	third := f.cost.again(t.Context())
	require.NoError(t, third.Err)
	require.Nil(t, third.Value.Hour)
	require.Empty(t, third.Value.Minutes)
}

func ids(r *doctor.Report) (all []string) {
	for _, finding := range r.Findings {
		all = append(all, finding.ID+" of "+finding.Object)
	}
	return all
}
