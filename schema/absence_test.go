package schema_test

import (
	"context"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/howdah/howdah/schema"
)

// watchKey answers the version of a key by watch.sql, whether there is an entry, and
// whether that has expired and its row is now that of an absent key.
func watchKey(ctx context.Context, db querier, table, key string) (version int64, live, expired bool, err error) {
	rows, err := db.Query(ctx, schema.Statement("watch", schema.Table{Name: table}), []int64{hashOf(ctx, db, key)}, [][]byte{[]byte(key)})
	if err != nil {
		return 0, false, false, err
	}
	var hash int64
	var found []byte
	_, err = pgx.ForEachRow(rows, []any{&hash, &found, &version, &live, &expired}, func() error { return nil })
	return version, live, expired, err
}

func hashOf(ctx context.Context, db querier, key string) (hash int64) {
	if err := db.QueryRow(ctx, "SELECT howdah.key_hash_text($1)", key).Scan(&hash); err != nil {
		return 0
	}
	return hash
}

func watchAbsent(t *testing.T, db querier, key string) (version int64) {
	t.Helper()
	version, live, expired, err := watchKey(ctx(t), db, table(t, db, "c"), key)
	require.NoError(t, err)
	require.False(t, live)
	require.False(t, expired)
	require.Positive(t, version)
	return version
}

// The row in the place of a watched key is there for ten minutes, each watch
// prolongs that, and then upkeep removes it. What else an expired row is kept for
// goes on.
func TestUpkeepKeepsWatchedAbsence(t *testing.T) {
	t.Parallel()
	db := open(t)
	name := table(t, db, "c")
	const minutes = "(SELECT accessed - ceil(extract(epoch FROM now()) / 60)::integer FROM "
	exists := "SELECT EXISTS (SELECT FROM " + name + " WHERE key = 'k')"
	maintain := func() bool {
		run(t, db, "SELECT howdah.maintain('c')")
		return one[bool](t, db, exists)
	}
	version := watchAbsent(t, db, "k")
	left := one[int](t, db, "SELECT "+minutes+name+" WHERE key = 'k')")
	require.Contains(t, []int{10, 11}, left)
	require.True(t, maintain())

	// The last minute but one, when it is prolonged. One message has one time, and so one minute.
	run(t, db, "UPDATE "+name+" SET accessed = ceil(extract(epoch FROM statement_timestamp()) / 60)::integer + 1; SELECT howdah.maintain('c')")
	require.True(t, one[bool](t, db, exists))
	require.Equal(t, version, watchAbsent(t, db, "k"))
	require.Contains(t, []int{10, 11}, one[int](t, db, "SELECT "+minutes+name+" WHERE key = 'k')"))
	watchTwiceInAMinute(t, db, version)
	run(t, db, "UPDATE "+name+" SET accessed = accessed - 11")
	require.False(t, maintain())
	require.Greater(t, watchAbsent(t, db, "k"), version)

	// An expired row with a value that may be served still.
	run(t, db, "SELECT howdah.set('c', 'k', '1')")
	run(t, db, "UPDATE "+name+" SET expires_at = now(), stale_seconds = 3600")
	version = one[int64](t, db, "SELECT version FROM "+name+" WHERE key = 'k'")
	require.Equal(t, version, watchAbsent(t, db, "k"))
	require.Equal(t, "stale", one[string](t, db, "SELECT state FROM howdah.claim('c', 'k')"))
	require.Equal(t, version, watchAbsent(t, db, "k"), "a lease changes nothing")

	// An entry that was read a moment ago, and has expired, is no watched key.
	run(t, db, "SELECT howdah.delete('c', 'k'), howdah.set('c', 'k', '1')")
	run(t, db, schema.Statement("note_recency", schema.Table{Name: name}), []int64{hashOf(ctx(t), db, "k")}, []int32{1})
	require.Positive(t, one[int](t, db, "SELECT accessed FROM "+name+" WHERE key = 'k'"))
	expireNow(t, db, "c", "k")
	require.False(t, maintain())

	// Nor is one that was stored in the place of a watched key. Watched once more, its
	// absence is.
	watchAbsent(t, db, "k")
	run(t, db, "SELECT howdah.set('c', 'k', '1')")
	expireNow(t, db, "c", "k")
	require.False(t, maintain())
	watchAbsent(t, db, "k")
	run(t, db, "SELECT howdah.set('c', 'k', '1')")
	expireNow(t, db, "c", "k")
	version, _, expired, err := watchKey(ctx(t), db, name, "k")
	require.NoError(t, err)
	require.True(t, expired)
	require.True(t, maintain())
	require.Equal(t, version, watchAbsent(t, db, "k"))
}

// watchTwiceInAMinute finds that the second watch of an absent key writes nothing.
func watchTwiceInAMinute(t *testing.T, db querier, version int64) {
	t.Helper()
	const minute = "SELECT ceil(extract(epoch FROM now()) / 60)::integer"
	row := "SELECT ctid::text FROM " + table(t, db, "c") + " WHERE key = 'k'"
	for {
		began := one[int](t, db, minute)
		require.Equal(t, version, watchAbsent(t, db, "k"))
		before := one[string](t, db, row)
		require.Equal(t, version, watchAbsent(t, db, "k"))
		after := one[string](t, db, row)
		if one[int](t, db, minute) == began {
			require.Equal(t, before, after)
			return
		}
	}
}

// A watch waits for who is storing the key, and answers what that left.
func TestWatchBehindALock(t *testing.T) {
	t.Parallel()
	db := open(t)
	name := table(t, db, "c")
	first := watchAbsent(t, db, "k")
	run(t, db, "DELETE FROM "+name) // as upkeep does
	for what, c := range map[string]struct {
		sql          string
		commit, live bool
	}{
		"stored":             {"SELECT howdah.set('c', 'k', '1')", true, true},
		"stored, undone":     {"SELECT howdah.set('c', 'k', '1')", false, false},
		"stored and removed": {"SELECT howdah.set('c', 'k', '1'), howdah.delete('c', 'k')", true, false},
	} {
		run(t, db, "DELETE FROM "+name)
		tx, err := db.Begin(ctx(t))
		require.NoError(t, err)
		run(t, tx, c.sql)
		type answer struct {
			version int64
			live    bool
			err     error
		}
		answers := make(chan answer)
		go func() {
			var a answer
			a.version, a.live, _, a.err = watchKey(context.Background(), db, name, "k")
			answers <- a
		}()
		if c.sql == "SELECT howdah.set('c', 'k', '1')" {
			awaitBlocked(t, db, int32(tx.Conn().PgConn().PID()))
		}
		if c.commit {
			require.NoError(t, tx.Commit(ctx(t)))
		} else {
			require.NoError(t, tx.Rollback(ctx(t)))
		}
		a := <-answers
		require.NoError(t, a.err, what)
		if c.live {
			require.Zero(t, a.version, "%s: a row appeared meanwhile: the caller asks again", what)
			version, live, _, err := watchKey(ctx(t), db, name, "k")
			require.NoError(t, err)
			require.True(t, live)
			require.Greater(t, version, first)
			continue
		}
		require.False(t, a.live, what)
		require.Greater(t, a.version, first, what)
		require.Equal(t, a.version, watchAbsent(t, db, "k"), what)
	}
}

// Of several that watch a key which has expired, one learns it, and upkeep finds no
// entry any more. What upkeep will find is not answered.
func TestWatchOfAnExpiredEntry(t *testing.T) {
	t.Parallel()
	db := open(t)
	name := table(t, db, "c")
	run(t, db, "SELECT howdah.set('c', 'k', '1')")
	expireNow(t, db, "c", "k")
	const watchers = 8
	answers := make(chan bool, watchers)
	tx, err := db.Begin(ctx(t))
	require.NoError(t, err)
	run(t, tx, "SELECT FROM "+name+" FOR UPDATE") // they all begin with the row as it is
	for range watchers {
		go func() {
			_, live, expired, err := watchKey(context.Background(), db, name, "k")
			assert.NoError(t, err)
			assert.False(t, live)
			answers <- expired
		}()
	}
	require.Eventually(t, func() bool {
		return one[int](t, db, "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND pg_blocking_pids(pid) <> '{}'") == watchers
	}, time.Minute, 2*time.Millisecond)
	require.NoError(t, tx.Rollback(ctx(t)))
	said := 0
	for range watchers {
		if <-answers {
			said++
		}
	}
	require.Equal(t, 1, said)
	require.Zero(t, one[int](t, db, "SELECT expired FROM howdah.maintain('c')"))

	for what, sql := range map[string]string{
		"it may be served stale": "UPDATE " + name + " SET expires_at = now() - interval '1 s', stale_seconds = 3600",
		"a lease":                "UPDATE " + name + " SET expires_at = now() - interval '1 s', leased_until = now() + interval '1 h'",
	} {
		run(t, db, "SELECT howdah.delete('c', 'k'), howdah.set('c', 'k', '1')")
		run(t, db, sql)
		_, live, expired, err := watchKey(ctx(t), db, name, "k")
		require.NoError(t, err, what)
		require.False(t, live, what)
		require.False(t, expired, what)
		require.True(t, one[bool](t, db, "SELECT expires_at > '-infinity' FROM "+name+" WHERE key = 'k'"), what)
	}
}
