package schema_test

import (
	"context"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/howdah/howdah/schema"
)

// watchKey answers the version of a key by watch.sql, and whether there is an entry.
func watchKey(ctx context.Context, db querier, table, key string) (version int64, live bool, err error) {
	rows, err := db.Query(ctx, schema.Statement("watch", schema.Table{Name: table}), []int64{hashOf(ctx, db, key)}, [][]byte{[]byte(key)})
	if err != nil {
		return 0, false, err
	}
	var hash int64
	var found []byte
	_, err = pgx.ForEachRow(rows, []any{&hash, &found, &version, &live}, func() error { return nil })
	return version, live, err
}

func hashOf(ctx context.Context, db querier, key string) (hash int64) {
	if err := db.QueryRow(ctx, "SELECT howdah.key_hash_text($1)", key).Scan(&hash); err != nil {
		return 0
	}
	return hash
}

func watchAbsent(t *testing.T, db querier, key string) (version int64) {
	t.Helper()
	version, live, err := watchKey(ctx(t), db, table(t, db, "c"), key)
	require.NoError(t, err)
	require.False(t, live)
	require.Positive(t, version)
	return version
}

// The row in the place of a watched key is there for ten minutes, each watch
// prolongs that, and then upkeep removes it. What else an expired row is kept for
// goes on.
func TestUpkeepKeepsWatchedAbsence(t *testing.T) {
	db := open(t)
	name := table(t, db, "c")
	const minutes = "(SELECT accessed - ceil(extract(epoch FROM now()) / 60)::integer FROM "
	maintain := func() bool {
		run(t, db, "SELECT howdah.maintain('c')")
		return one[bool](t, db, "SELECT EXISTS (SELECT FROM "+name+" WHERE key = 'k')")
	}
	version := watchAbsent(t, db, "k")
	left := one[int](t, db, "SELECT "+minutes+name+" WHERE key = 'k')")
	require.Contains(t, []int{10, 11}, left)
	require.True(t, maintain())

	// The last minute but one, when it is prolonged.
	run(t, db, "UPDATE "+name+" SET accessed = accessed - 10")
	require.True(t, maintain())
	require.Equal(t, version, watchAbsent(t, db, "k"))
	require.Contains(t, []int{10, 11}, one[int](t, db, "SELECT "+minutes+name+" WHERE key = 'k')"))
	before := one[string](t, db, "SELECT ctid::text FROM "+name+" WHERE key = 'k'")
	require.Equal(t, version, watchAbsent(t, db, "k"))
	require.Equal(t, before, one[string](t, db, "SELECT ctid::text FROM "+name+" WHERE key = 'k'"), "a second watch in a minute writes nothing")
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
			a.version, a.live, a.err = watchKey(context.Background(), db, name, "k")
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
			version, live, err := watchKey(ctx(t), db, name, "k")
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
