package crash_test

import (
	"context"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/howdah/howdah"
	"github.com/howdah/howdah/internal/test/dbtest"
	"github.com/howdah/howdah/internal/test/pgtest"
)

// While a standby does not replay, what expired in logged tables goes at a
// trickle; UNLOGGED caches and budgets are kept as ever.
func TestUpkeepLeavesStandbysTime(t *testing.T) {
	t.Parallel()
	primary := pgtest.Own(t, "fsync", "off")
	url := primary.NewURL()
	super, err := pgx.Connect(t.Context(), primary.SuperURL())
	require.NoError(t, err)
	t.Cleanup(func() { super.Close(context.Background()) })
	asSuper := func(sql string) {
		t.Helper()
		_, err := super.Exec(t.Context(), sql)
		require.NoError(t, err, sql)
	}
	const rows = 6000
	db := dbtest.Open(t, url, &howdah.Options{Timeout: 20 * time.Second, MaxReplicationLag: 256 << 10})
	dbtest.Exec(t, db, "SELECT howdah.create_cache('logged', durability => 'sync')")
	dbtest.Exec(t, db, "SELECT howdah.create_cache('kept', durability => 'async', max_entries => 1000)")
	expire := func() {
		t.Helper()
		for _, cache := range []string{"db0", "logged"} {
			dbtest.Fill(t, db, cache, rows, "statement_timestamp()")
		}
		dbtest.Exec(t, db, `INSERT INTO howdah.session (id, secret_hash, idle_expires_at, absolute_expires_at)
			SELECT gen_random_uuid(), sha256(''), now() - interval '1 s', now() - interval '1 s' FROM generate_series(1, $1)`, rows)
	}
	round := func(opts howdah.MaintainOptions) map[string]howdah.Upkeep {
		t.Helper()
		opts.MaxTime, opts.MaxRows, opts.MaxBlocks = time.Minute, 1_000_000, 1_000_000
		rounds, err := db.Maintain(t.Context(), opts)
		require.NoError(t, err)
		found := make(map[string]howdah.Upkeep)
		for _, r := range rounds {
			found[r.Cache] = r
		}
		return found
	}

	standby := primary.Standby("slow")
	expire()
	standby.AwaitReplay(primary)
	dbtest.Eventually(t, "its slot says so", func() bool { return !round(howdah.MaintainOptions{Cache: "kept"})["kept"].HeldBack })
	for cache, r := range round(howdah.MaintainOptions{}) {
		require.False(t, r.HeldBack, cache)
		if cache != "kept" {
			require.EqualValues(t, rows, r.Expired, cache)
		}
	}

	standby.PauseReplay()
	expire()
	dbtest.Fill(t, db, "kept", 2000, "'infinity'")

	// A role that may not see standbys does not know of the lag: the slot of
	// this one goes on, for it does receive.
	dbtest.Eventually(t, "the standby has received all", func() bool {
		return !round(howdah.MaintainOptions{Cache: "kept"})["kept"].HeldBack
	})
	asSuper("GRANT pg_read_all_stats TO howdah")

	last := dbtest.Number(t, db, "SELECT min(extract(epoch FROM last_round) * 1000)::bigint FROM howdah.upkeep WHERE cache IN ('logged', 'howdah.session')")
	found := round(howdah.MaintainOptions{})
	elapsed := dbtest.Number(t, db, "SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint") - last
	require.EqualValues(t, rows, found["db0"].Expired, "an UNLOGGED table writes no WAL")
	require.False(t, found["db0"].HeldBack)
	for _, name := range []string{"logged", howdah.UpkeepOfSessions} {
		require.True(t, found[name].HeldBack, name)
		require.LessOrEqual(t, found[name].Expired, elapsed+1, "1,000 a second since the last round")
	}
	require.True(t, found["kept"].HeldBack)
	require.EqualValues(t, 3, dbtest.Number(t, db, "SELECT count(held_back_since) FROM howdah.upkeep"))
	require.LessOrEqual(t, dbtest.Number(t, db, "SELECT count(*) FROM "+pgtest.Table(t, db.Pool(), "kept")), int64(1000), "the budget holds")

	// It never stops altogether, and whoever does not care need not.
	dbtest.Eventually(t, "a trickle goes on", func() bool {
		return round(howdah.MaintainOptions{Cache: "logged"})["logged"].Expired > 0
	})
	left := dbtest.Number(t, db, "SELECT count(*) FROM "+pgtest.Table(t, db.Pool(), "logged"))
	if left > 0 {
		r := round(howdah.MaintainOptions{Cache: "logged", MaxReplicationLag: -1})["logged"]
		require.Equal(t, left, r.Expired)
		require.False(t, r.HeldBack)
	}

	// Run says so, and is back at full speed when the standby is.
	expire()
	dbtest.Run(t, db)
	dbtest.Eventually(t, "Run is held back", func() bool { return db.Stats().Upkeep.HeldBack })
	standby.ResumeReplay()
	dbtest.Eventually(t, "Run goes on", func() bool {
		return !db.Stats().Upkeep.HeldBack &&
			dbtest.Number(t, db, "SELECT (SELECT count(*) FROM "+pgtest.Table(t, db.Pool(), "logged")+") + (SELECT count(*) FROM howdah.session)") == 0
	})
	dbtest.Eventually(t, "it is counted", func() bool { return db.Stats().Upkeep.Sessions > 0 })
	dbtest.Eventually(t, "it is written down", func() bool { return dbtest.Number(t, db, "SELECT count(held_back_since) FROM howdah.upkeep") == 0 })
}

// A slot that nobody reads is seen by every role.
func TestUpkeepSeesSlots(t *testing.T) {
	t.Parallel()
	server := pgtest.Own(t, "fsync", "off", "wal_level", "replica")
	db := dbtest.Open(t, server.NewURL(), nil)
	super, err := pgx.Connect(t.Context(), server.SuperURL())
	require.NoError(t, err)
	defer super.Close(context.Background())
	_, err = super.Exec(t.Context(), "SELECT pg_create_physical_replication_slot('forgotten', true)")
	require.NoError(t, err)
	dbtest.Exec(t, db, "SELECT howdah.create_cache('logged', durability => 'async')")
	dbtest.Fill(t, db, "logged", 5000, "statement_timestamp()")
	held := func(lag int64) bool {
		t.Helper()
		return dbtest.Maintain(t, db, howdah.MaintainOptions{Cache: "logged", MaxReplicationLag: lag}).HeldBack
	}
	require.False(t, held(0), "64 MiB by default")
	require.True(t, held(100<<10))
	_, err = super.Exec(t.Context(), "SELECT pg_drop_replication_slot('forgotten')")
	require.NoError(t, err)
	require.False(t, held(100<<10))
}
