package schema_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"
)

// sweep runs rounds of upkeep until one has gone through all tags of the cache "c".
func sweep(t *testing.T, db querier) {
	t.Helper()
	for range 200 {
		run(t, db, "SELECT howdah.maintain('c')")
		if one[int](t, db, "SELECT tag_hand FROM howdah.upkeep WHERE cache = 'c'") == 0 {
			return
		}
	}
	require.Fail(t, "the sweep does not come to its end")
}

// Upkeep removes the tags of entries that are gone, a part with each round, and no
// others.
func TestSweepOfTags(t *testing.T) {
	t.Parallel()
	db := open(t)
	run(t, db, "SELECT howdah.set_tagged_text('c', i::text, 'v', ARRAY['t' || i % 10, 'u']) FROM generate_series(1, 10000) AS i")
	run(t, db, "SELECT howdah.delete_many_text('c', (SELECT array_agg(i::text) FROM generate_series(1, 9000) AS i))")
	rows := func() int { return one[int](t, db, "SELECT count(*) FROM "+tags(t, db, "c")) }
	require.Equal(t, 20000, rows())
	run(t, db, "SELECT howdah.maintain('c')")
	require.Greater(t, rows(), 20000-16*300, "a round looks at 16 blocks")
	require.Less(t, rows(), 20000)
	sweep(t, db)
	require.Equal(t, 2000, rows())
	require.EqualValues(t, 1000, one[int64](t, db, "SELECT howdah.invalidate_tag('c', 'u')"))
	sweep(t, db)
	require.Equal(t, 1, rows(), "the mark")
	require.Equal(t, 0, one[int](t, db, "SELECT howdah_internal._sweep_tags(c, 1) FROM howdah_internal.cache AS c WHERE c.name = 's'"), "an empty table")
}

// Marks stay for an hour, and longer where a transaction of that time runs. What was
// claimed before a mark that is gone cannot be stored.
func TestSweepOfMarks(t *testing.T) {
	t.Parallel()
	db := open(t)
	marks := func() int {
		return one[int](t, db, "SELECT count(*) FROM "+tags(t, db, "c")+" WHERE hash = -1 AND tag >= 0")
	}
	age := func() { run(t, db, "UPDATE "+tags(t, db, "c")+" SET marked_at = marked_at - interval '61 minutes'") }
	claim := claimedInSQL(t, db, "")
	run(t, db, "SELECT howdah.invalidate_tag('c', 't')")
	sweep(t, db)
	require.Equal(t, 1, marks())

	writer, err := db.Begin(ctx(t))
	require.NoError(t, err)
	run(t, writer, "SELECT pg_current_xact_id()")
	run(t, db, "SELECT howdah.invalidate_tag('c', 'u')")
	age()
	// Transactions of other databases of the server keep marks too, until they end.
	swept := func(want int, why string) {
		t.Helper()
		require.Eventually(t, func() bool { sweep(t, db); return marks() == want }, time.Minute, 10*time.Millisecond, why)
	}
	swept(1, "the mark of t is older than the writer")
	sweep(t, db)
	require.Equal(t, 1, marks(), "the mark of u is newer than the writer")
	require.NoError(t, writer.Rollback(ctx(t)))
	swept(0, "no transaction keeps the mark of u")
	require.Equal(t, 1, one[int](t, db, "SELECT count(*) FROM "+tags(t, db, "c")), "what is left of them")

	run(t, db, tagStores[2].store("", "old", claim))
	require.Empty(t, one[int](t, db, "SELECT howdah.count('c')"), "the claim is older than a mark that is gone")
	run(t, db, "SELECT howdah.release('c', 'k', $1)", claim.version)
	run(t, db, tagStores[2].store("", "new", claimedInSQL(t, db, "")))
	require.Equal(t, 1, one[int](t, db, "SELECT howdah.count('c')"), "a new one is not")

	// Marks of another server, as in a dump that was restored, go too.
	run(t, db, "UPDATE "+tags(t, db, "c")+" SET xid = '999999999999' WHERE hash = -1")
	run(t, db, "INSERT INTO "+tags(t, db, "c")+" VALUES (-1, 5, '999999999998', now() - interval '2 h')")
	sweep(t, db)
	require.Equal(t, 0, marks())
	run(t, db, "SELECT howdah.delete('c', 'k')")
	run(t, db, tagStores[2].store("", "new", claimedInSQL(t, db, "")))
	require.Equal(t, 1, one[int](t, db, "SELECT howdah.count('c')"))
}

// A store that finds a tag of a former entry, while the sweep is about to remove it,
// keeps it: in every order of the store and of the two steps of the sweep.
func TestSweepLeavesWhatIsStoredMeanwhile(t *testing.T) {
	t.Parallel()
	for _, mutant := range []bool{false, true} {
		for _, order := range []string{"before", "between", "open"} {
			t.Run(fmt.Sprint(order, mutant), func(t *testing.T) {
				db := open(t)
				// The sweep waits between its two statements.
				replaceFunction(t, db, "_sweep_tags", "    EXECUTE format($sql$\n        WITH gone AS (", fmt.Sprintf("    PERFORM pg_advisory_xact_lock_shared(%d);\n    EXECUTE format($sql$\n        WITH gone AS (", barrier))
				if mutant {
					replaceFunction(t, db, "_add_tags", "DO UPDATE SET tag = excluded.tag WHERE false", "DO NOTHING")
				}
				run(t, db, "SELECT howdah.set_tagged('c', 'a', 'v', '{t}'), howdah.delete('c', 'a')")
				own, err := pgx.ConnectConfig(ctx(t), db.Config().ConnConfig.Copy())
				require.NoError(t, err)
				defer own.Close(ctx(t))
				sweeper, err := pgx.ConnectConfig(ctx(t), db.Config().ConnConfig.Copy())
				require.NoError(t, err)
				defer sweeper.Close(ctx(t))
				storer, err := pgx.ConnectConfig(ctx(t), db.Config().ConnConfig.Copy())
				require.NoError(t, err)
				defer storer.Close(ctx(t))
				i := &interleaving{t: t, db: db}
				const store = "SELECT howdah.set_tagged('c', 'a', 'v', '{t}')"

				run(t, own, "SELECT pg_advisory_lock($1)", barrier)
				var stored chan error
				switch order {
				case "before": // it has stored, and not committed, when the sweep looks
					run(t, storer, "BEGIN")
					run(t, storer, store)
				}
				swept := i.begin(sweeper, "SELECT howdah_internal._sweep_tags(c, 100) FROM howdah_internal.cache AS c WHERE c.name = 'c'")
				switch order {
				case "between": // it stores while the sweep holds what it has found
					stored = i.begin(storer, store)
				case "open":
					stored = i.begin(storer, "BEGIN; "+store)
				}
				run(t, own, "SELECT pg_advisory_unlock($1)", barrier)
				require.NoError(t, <-swept)
				if stored != nil {
					require.NoError(t, <-stored)
				}
				if order != "between" {
					run(t, storer, "COMMIT")
				}
				removed := one[int64](t, db, "SELECT howdah.invalidate_tag('c', 't')")
				if mutant && order != "between" {
					require.Zero(t, removed, "the lock on the tag is needed")
				} else if !mutant {
					require.EqualValues(t, 1, removed)
				}
			})
		}
	}
}
