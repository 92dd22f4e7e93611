package schema_test

import (
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/howdah/howdah/schema"
)

// SQL functions publish the events of what they change, at COMMIT, for caches that were
// made before and after the setting; and nothing while nobody wants it.
func TestEventsOfFunctions(t *testing.T) {
	t.Parallel()
	db := open(t)
	run(t, db, "SELECT howdah.set('c', 'quiet', 'v')")
	run(t, db, "INSERT INTO howdah_internal.server (id, name, kinds, notified, subscribers, waiters, renewed_at) VALUES (1, 'p', 2, false, 1, 0, 'infinity')")
	run(t, db, "SELECT howdah.set('c', 'still quiet', 'v')")
	require.Zero(t, one[int](t, db, "SELECT count(*) FROM howdah_internal.bus"))
	_, err := db.Exec(t.Context(), schema.Query("set_events"), "KA")
	require.NoError(t, err)
	run(t, db, "SELECT howdah.create_cache('later')")

	for _, c := range []struct {
		call   string
		events []string
	}{
		{"howdah.set('c', 'k', 'v')", []string{"k set"}},
		{"howdah.set('c', 'k', 'v', '1 h')", []string{"k set", "k expire"}},
		{"howdah.set('c', 'k', 'v', howdah.no_expiry())", []string{"k set"}},
		{"howdah.set_text('later', 'l', 'v')", []string{"l set"}},
		{"howdah.add('c', 'k', 'v')", nil},
		{"howdah.add('c', 'a', 'v', '1 h')", []string{"a set", "a expire"}},
		{"howdah.replace('c', 'a', 'v')", []string{"a set"}},
		{"howdah.replace('c', 'none', 'v')", nil},
		{"howdah.compare_and_set('c', 'new', 0, 'v')", []string{"new set"}},
		{`howdah.set_many('c', '{"{x}","{x}y"}', '{1,2}', '1 h')`, []string{"{x} set", "{x}y set", "{x} expire", "{x}y expire"}},
		{"howdah.increment('c', 'n', 5)", []string{"n incrby"}},
		{"howdah.expire('c', 'n', '1 h')", []string{"n expire"}},
		{"howdah.touch('c', 'n', '2 h')", []string{"n expire"}},
		{"howdah.persist('c', 'n')", []string{"n persist"}},
		{"howdah.expire('c', 'none', '1 h')", nil},
		{"howdah.delete('c', 'n')", []string{"n del"}},
		{"howdah.delete('c', 'n')", nil},
		{"howdah.get_and_delete('c', 'a')", []string{"a del"}},
		{"howdah.get_and_delete('c', 'a')", nil},
		{`howdah.delete_many('c', '{"{x}",none}')`, []string{"{x} del"}},
		{"howdah.delete_prefix('c', '{x}')", []string{"{x}y del"}},
		{"howdah.set_tagged('c', 'tagged', 'v', '{t}')", []string{"tagged set"}},
		{"howdah.invalidate_tag('c', 't')", []string{"tagged del"}},
		{"howdah.get('c', 'k')", nil},
	} {
		run(t, db, "DELETE FROM howdah_internal.bus")
		run(t, db, "SELECT "+c.call)
		require.Equal(t, append([]string{}, c.events...), all[string](t, db, `
			SELECT replace(replace(convert_from(m.channel, 'UTF8'), '__keyspace@c__:', ''), '__keyspace@later__:', '') || ' ' || convert_from(m.payload, 'UTF8')
			FROM howdah_internal.bus AS b CROSS JOIN unnest(b.channels, b.payloads) WITH ORDINALITY AS m (channel, payload, place)
			ORDER BY b.id, m.place`), c.call)
	}
	_, err = db.Exec(t.Context(), schema.Query("set_events"), "A")
	require.NoError(t, err)
	require.Zero(t, one[int](t, db, "SELECT count(*) FROM howdah_internal.cache WHERE events"))
}

// The letters say which events are published, by which channels.
func TestEventLetters(t *testing.T) {
	t.Parallel()
	db := open(t)
	run(t, db, "INSERT INTO howdah_internal.server (id, name, kinds, notified, subscribers, waiters, renewed_at) VALUES (1, 'p', 2, false, 1, 0, 'infinity')")
	for _, c := range []struct {
		letters  string
		channels []string
	}{
		{"KEA", []string{"__keyspace@3__:k", "__keyevent@3__:set"}}, {"K$", []string{"__keyspace@3__:k"}}, {"E$g", []string{"__keyevent@3__:set"}},
		{"KEg", nil}, {"A", nil}, {"KEnm", nil}, {"", nil},
	} {
		_, err := db.Exec(t.Context(), schema.Query("set_events"), c.letters)
		require.NoError(t, err)
		run(t, db, "DELETE FROM howdah_internal.bus")
		run(t, db, "SELECT howdah_internal._announce('db3', '$', 'set', ARRAY['k'::bytea])")
		require.Equal(t, append([]string{}, c.channels...), all[string](t, db, "SELECT convert_from(c, 'UTF8') FROM howdah_internal.bus AS b CROSS JOIN unnest(b.channels) AS c"), c.letters)
	}
	_, err := db.Exec(t.Context(), schema.Query("set_events"), "KEy")
	require.Error(t, err, "no letter of Redis")
}

// Of two that set the events at once, the second decides for every cache, and so it does
// for a cache that is made meanwhile.
func TestEventsAreSetAtOnce(t *testing.T) {
	t.Parallel()
	db := open(t)
	set := func(q querier, letters string) {
		_, err := q.Exec(ctx(t), schema.Query("set_events"), letters)
		require.NoError(t, err)
	}
	for _, c := range []struct {
		first, second string
		caches        int
	}{{"KEA", "", 0}, {"", "KEA", 3}, {"KEA", "Kx", 3}} {
		set(db, c.second)
		first, err := db.Begin(ctx(t))
		require.NoError(t, err)
		set(first, c.first)
		commitBefore(t, db, first, func() { set(db, c.second) })
		require.Equal(t, c.caches, one[int](t, db, "SELECT count(*) FROM howdah_internal.cache WHERE events"), c)
	}

	first, err := db.Begin(ctx(t))
	require.NoError(t, err)
	run(t, first, "SELECT howdah.create_cache('made')")
	commitBefore(t, db, first, func() { set(db, "") })
	require.Zero(t, one[int](t, db, "SELECT count(*) FROM howdah_internal.cache WHERE events"))
}

// commitBefore commits a transaction when fn waits for it, and waits for fn.
func commitBefore(t *testing.T, db querier, tx pgx.Tx, fn func()) {
	t.Helper()
	done := make(chan struct{})
	go func() {
		defer close(done)
		fn()
	}()
	awaitBlocked(t, db, int32(tx.Conn().PgConn().PID()))
	require.NoError(t, tx.Commit(ctx(t)))
	<-done
}

// The events of many keys are several messages, in the order of the keys, and those who
// poll are not notified.
func TestEventsOfManyKeys(t *testing.T) {
	t.Parallel()
	db := open(t)
	run(t, db, "INSERT INTO howdah_internal.server (id, name, kinds, notified, subscribers, waiters, renewed_at) VALUES (1, 'p', 2, false, 1, 0, 'infinity')")
	_, err := db.Exec(ctx(t), schema.Query("set_events"), "KEA")
	require.NoError(t, err)
	listener, err := db.Acquire(ctx(t))
	require.NoError(t, err)
	defer listener.Release()
	run(t, listener, "LISTEN howdah")
	run(t, db, "SELECT howdah_internal._announce('c', '$', 'set', ARRAY(SELECT convert_to(n::text, 'UTF8') FROM generate_series(1, 2500) AS n))")
	run(t, db, "NOTIFY howdah, 'the first'")
	notification, err := listener.Conn().WaitForNotification(ctx(t))
	require.NoError(t, err)
	require.Equal(t, "the first", notification.Payload)
	require.Equal(t, []int{2000, 2000, 1000}, all[int](t, db, "SELECT cardinality(channels) FROM howdah_internal.bus ORDER BY id"))
	require.True(t, one[bool](t, db, `
		SELECT array_agg(convert_from(m.payload, 'UTF8')::int ORDER BY b.id, m.place) = ARRAY(SELECT n FROM generate_series(1, 2500) AS n)
		FROM howdah_internal.bus AS b CROSS JOIN unnest(b.channels, b.payloads) WITH ORDINALITY AS m (channel, payload, place)
		WHERE m.channel = '__keyevent@c__:set'`))
}
