package bus

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/howdah/howdah/internal/test/pgtest"
	"github.com/howdah/howdah/internal/test/seed"
	"github.com/howdah/howdah/schema"
)

const publishSQL = "SELECT howdah.publish_text($1, $2)"

// What SQL publishes arrives at the commit, in every process, and never after a rollback,
// in whatever order transactions commit. One that stays open holds nothing back.
func TestPublishInSQL(t *testing.T) {
	t.Parallel()
	url := pgtest.New(t)
	a, b := start(t, url, ""), start(t, url, "none")
	both := []*process{a, b}
	a.subscribe(Published)
	b.subscribe(Published)
	first, second, third := connect(t, url), connect(t, url), connect(t, url)
	run(t, first, "BEGIN")
	run(t, first, publishSQL, "c", "first")
	run(t, first, "SAVEPOINT s")
	run(t, first, publishSQL, "c", "undone")
	run(t, first, "ROLLBACK TO s")
	run(t, second, "BEGIN")
	run(t, second, publishSQL, "c", "second")
	run(t, third, "BEGIN")
	run(t, third, publishSQL, "c", "third")
	run(t, third, "ROLLBACK")
	run(t, third, publishSQL, "c", "alone")
	for _, p := range both {
		require.Equal(t, map[string][]string{"c": {"alone"}}, p.await(1))
	}
	run(t, second, "COMMIT")
	for _, p := range both {
		require.Equal(t, map[string][]string{"c": {"alone", "second"}}, p.await(2))
	}
	run(t, third, "DO $$ BEGIN FOR i IN 0..1999 LOOP PERFORM howdah.publish_text('many', i::text); END LOOP; END $$")
	for _, p := range both {
		require.Equal(t, series(2000), p.await(2002)["many"])
	}
	run(t, first, "COMMIT")
	for _, p := range both {
		require.Equal(t, []string{"alone", "second", "first"}, p.await(2003)["c"])
	}
	a.publish("c", "end")
	b.await(2004)
	require.Len(t, a.got, 2003)
	require.Zero(t, one[int](t, third, "SELECT count(*) FROM howdah_internal.server WHERE renewed_at < now() - interval '15 s'"))
}

// Random transactions on several connections, some rolled back, some open for long, their
// commits in any order, with answers of a few rows each: every committed message comes
// once, those of one transaction in their order, and those of one connection.
func TestEveryCommitComesOnce(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(seed.Of(t), 0))
	url := pgtest.New(t)
	p := start(t, url, "")
	p.subscribe(Published)
	conns := make([]*pgx.Conn, 5)
	for i := range conns {
		conns[i] = connect(t, url)
	}
	open := make([][]string, len(conns))
	want := make([][]string, len(conns))
	total := 0
	for n := range 1500 {
		i := random.IntN(len(conns))
		switch {
		case open[i] == nil:
			run(t, conns[i], "BEGIN")
			open[i] = []string{}
			fallthrough
		case random.IntN(4) > 0:
			for range 1 + random.IntN(3)*random.IntN(300) {
				text := fmt.Sprint(n, ".", len(open[i]))
				open[i] = append(open[i], text)
			}
			if from := len(open[i]) - 1; from >= 0 {
				run(t, conns[i], "SELECT howdah.publish_text($1, m) FROM unnest($2::text[]) WITH ORDINALITY AS u (m, o) ORDER BY o",
					strconv.Itoa(i), open[i][published(open[i], n):])
			}
		case random.IntN(3) == 0:
			run(t, conns[i], "ROLLBACK")
			open[i] = nil
		default:
			run(t, conns[i], "COMMIT")
			want[i] = append(want[i], open[i]...)
			total += len(open[i])
			open[i] = nil
		}
	}
	got := p.await(total)
	other := start(t, url, "")
	p.nothingElse(other, total)
	for i := range conns {
		require.Equal(t, want[i], got[strconv.Itoa(i)], "connection %d", i)
	}
}

// published is how many of a transaction's texts were published before step n.
func published(texts []string, n int) int {
	return slices.IndexFunc(texts, func(text string) bool { return strings.HasPrefix(text, fmt.Sprint(n, ".")) })
}

// More rows than an answer has come in several answers, while transactions that began
// earlier commit in between.
func TestAnswersInPages(t *testing.T) {
	t.Parallel()
	url := pgtest.New(t)
	conn, early := connect(t, url), connect(t, url)
	p := newProcess(t, url, "none")
	r := receiver{Bus: p.Bus}
	page := func() int {
		n, err := r.page(context.Background())
		require.NoError(t, err)
		return n
	}
	run(t, conn, publishSQL, "c", "before the start")
	require.Zero(t, page())
	const n = pageRows + 7
	run(t, early, "BEGIN")
	run(t, early, "SELECT howdah.publish_text('early', i::text) FROM generate_series(0, $1 - 1) AS i", n)
	publish := func(channel string) { // in transactions of their own, but soon: the log is trimmed
		run(t, conn, fmt.Sprintf("DO $$ BEGIN FOR i IN 0..%d LOOP PERFORM howdah.publish_text('%s', i::text); COMMIT; END LOOP; END $$", n-1, channel))
	}
	publish("one")
	require.Equal(t, pageRows, page())
	run(t, early, "COMMIT")
	publish("two")
	sizes := []int{page(), page(), page(), page(), page()}
	require.Equal(t, []int{7, pageRows, pageRows, 14, 0}, sizes)
	require.Equal(t, map[string][]string{"early": series(n), "one": series(n), "two": series(n)}, byChannel(p.got))
}

// A process that has much to read renews its row meanwhile: others go on sending for it.
func TestRowIsRenewedWhileMuchIsRead(t *testing.T) {
	t.Parallel()
	url := pgtest.New(t)
	conn := connect(t, url)
	p := newProcess(t, url, "none")
	r := receiver{Bus: p.Bus}
	step := func() {
		r.renewAt = time.Time{} // a second has passed
		require.NoError(t, r.step(t.Context(), Published.bit(), 1, 0))
	}
	step()
	run(t, conn, "SELECT howdah.publish_text('c', i::text) FROM generate_series(0, $1 - 1) AS i", 3*pageRows)
	step()
	require.Less(t, len(p.got), 3*pageRows)
	for range 3 {
		run(t, conn, "UPDATE howdah_internal.server SET renewed_at = '-infinity'")
		step()
		require.True(t, one[bool](t, conn, "SELECT renewed_at > '-infinity' FROM howdah_internal.server"))
	}
	require.Equal(t, series(3*pageRows), byChannel(p.got)["c"])
}

// What is sent between a crash and the first answer after it comes, once, also if the
// transactions of the new life have smaller numbers.
func TestNewLifeOfTheTable(t *testing.T) {
	t.Parallel()
	url := pgtest.New(t)
	conn := connect(t, url)
	r := receiver{Bus: newProcess(t, url, "none").Bus}
	var got []string
	r.options.Deliver = func(m Message) { got = append(got, string(m.Payload)) }
	read := func() {
		t.Helper()
		for range 4 {
			_, err := r.page(context.Background())
			require.NoError(t, err)
		}
	}
	read()
	run(t, conn, publishSQL, "c", "before")
	read()
	for _, lit := range []bool{false, true} {
		run(t, conn, "TRUNCATE howdah_internal.bus; DELETE FROM howdah_internal.change_state") // as a crash does
		if lit {
			run(t, conn, schema.Query("light_log"))
		}
		run(t, conn, publishSQL, "c", "after")
		r.cursor.xmax += 1000 // transactions whose commit did not reach the disk
		read()
		run(t, conn, publishSQL, "c", "later")
		read()
	}
	require.Equal(t, []string{"before", "after", "later", "after", "later"}, got)
}

// In a new life of the tables, which may have lost the row of this process, no subscription
// is confirmed before others know of it again.
func TestNewLifeOfTheRow(t *testing.T) {
	t.Parallel()
	url := pgtest.New(t)
	conn := connect(t, url)
	p, publisher := newProcess(t, url, "none"), start(t, url, "none")
	r := receiver{Bus: p.Bus}
	step := func() {
		t.Helper()
		wanted, subscribers, waiters := r.members.wanted(time.Now())
		require.NoError(t, r.step(t.Context(), wanted, subscribers, waiters))
	}
	join := func() (joined bool, told chan error) {
		told = make(chan error, 1)
		return r.members.join(Published, func(err error) { told <- err }), told
	}
	told := func(told chan error) func() bool {
		return func() bool { step(); return len(told) > 0 }
	}
	_, first := join()
	eventually(t, "it is confirmed", told(first))
	for i, lit := range []bool{false, true} {
		r.renewAt = time.Now().Add(time.Hour) // it was renewed just now
		run(t, conn, "TRUNCATE howdah_internal.bus; DELETE FROM howdah_internal.change_state; DELETE FROM howdah_internal.server")
		if lit {
			run(t, conn, schema.Query("light_log"))
		}
		step()
		joined, again := join()
		require.False(t, joined, "nobody knows of it")
		step()
		require.Equal(t, 1, one[int](t, conn, "SELECT count(*) FROM howdah_internal.server"))
		eventually(t, "it is confirmed", told(again))
		require.NoError(t, <-again)
		publisher.publish("c", fmt.Sprint(i))
		step()
		require.Equal(t, series(i+1), p.await(i + 1)["c"])
	}
}

// The plan of a poll does not depend on what the planner knows of the table.
func TestPollsUseTheIndex(t *testing.T) {
	t.Parallel()
	conn := connect(t, pgtest.New(t))
	run(t, conn, "INSERT INTO howdah_internal.bus (sender, kinds, channels, payloads) SELECT 0, '{1}', '{c}', '{p}' FROM generate_series(1, 20000)")
	for _, analyzed := range []string{"SELECT", "ANALYZE howdah_internal.bus"} {
		run(t, conn, analyzed)
		for _, mode := range []string{"force_generic_plan", "force_custom_plan"} {
			run(t, conn, "SET plan_cache_mode = "+mode)
			run(t, conn, "PREPARE p AS "+schema.Query("bus_receive"))
			rows, err := conn.Query(t.Context(), "EXPLAIN EXECUTE p (pg_snapshot_xmax(pg_current_snapshot())::text, '{5,6}', '0', 0, 1, 500, '')")
			require.NoError(t, err)
			lines, err := pgx.CollectRows(rows, pgx.RowTo[string])
			require.NoError(t, err)
			run(t, conn, "DEALLOCATE p")
			require.NotContains(t, strings.Join(lines, "\n"), "Seq Scan on bus")
			require.Contains(t, strings.Join(lines, "\n"), "bus_xid")
		}
	}
}

// An answer in the middle of many rows of one transaction reads no more than the rows in it,
// also if the transaction was open when the older snapshot was taken.
func TestPagesCostTheSame(t *testing.T) {
	t.Parallel()
	conn := connect(t, pgtest.New(t))
	const n = 20_000
	var xid string
	require.NoError(t, conn.QueryRow(t.Context(), `WITH sent AS (
		INSERT INTO howdah_internal.bus (sender, kinds, channels, payloads) SELECT 0, '{1}', '{c}', '{p}' FROM generate_series(1, $1) RETURNING xid)
		SELECT max(xid)::text FROM sent`, n).Scan(&xid))
	id := one[int64](t, conn, "SELECT max(id) FROM howdah_internal.bus")
	run(t, conn, "VACUUM howdah_internal.bus")
	run(t, conn, "SET enable_seqscan = off")
	run(t, conn, "SET enable_bitmapscan = off")
	run(t, conn, "PREPARE p AS "+schema.Query("bus_receive"))
	blocks := func(xmax, late string, last int64) int {
		var plan []struct {
			Plan struct {
				Blocks int `json:"Shared Hit Blocks"`
			}
		}
		err := conn.QueryRow(t.Context(), fmt.Sprintf("EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) EXECUTE p ('%s', '%s', '%s', %d, 1, 500, '')",
			xmax, late, xid, last)).Scan(&plan)
		require.NoError(t, err)
		return plan[0].Plan.Blocks
	}
	next := one[string](t, conn, "SELECT pg_snapshot_xmax(pg_current_snapshot())::text")
	for _, way := range []struct{ xmax, late string }{{xid, "{}"}, {next, "{" + xid + "}"}} {
		for _, last := range []int64{id - n, id - n/2, id - 500} {
			require.Less(t, blocks(way.xmax, way.late, last), 40, "of about 300; after row %d, %v", last, way)
		}
	}
}

// Old messages are removed, also while no process reads, and a transaction that was open all
// the time is not.
func TestOldMessagesAreRemoved(t *testing.T) {
	t.Parallel()
	url := pgtest.New(t)
	conn, long := connect(t, url), connect(t, url)
	const rows = "SELECT count(*) FROM howdah_internal.bus"
	p := start(t, url, "none")
	p.subscribe(Published)
	run(t, long, "BEGIN")
	run(t, long, publishSQL, "long", "x")
	for i := range 40 {
		run(t, conn, publishSQL, "c", fmt.Sprint(i))
		p.await(i + 1) // within ten real seconds it would be
		tick(t, conn)
	}
	require.LessOrEqual(t, one[int](t, conn, rows), 11)
	require.Positive(t, one[int](t, conn, rows))
	run(t, long, "COMMIT")
	require.Equal(t, []string{"x"}, p.await(41)["long"])
	for range 12 {
		tick(t, conn)
	}
	require.Zero(t, one[int](t, conn, rows))
	require.True(t, one[bool](t, conn, "SELECT pg_snapshot_xmax(bus_trimmed) > '1' FROM howdah_internal.change_state"))

	// psql alone keeps it short.
	for range 12 {
		run(t, conn, "UPDATE howdah_internal.change_state SET ticked_at = '-infinity'")
		for range 150 {
			run(t, conn, publishSQL, "c", "x")
		}
	}
	eventually(t, "it is trimmed", func() bool {
		run(t, conn, "UPDATE howdah_internal.change_state SET ticked_at = '-infinity'")
		run(t, conn, publishSQL, "c", "x")
		return one[int](t, conn, rows) < 1800
	})
}

// tick removes what is old, as once a second.
func tick(t *testing.T, conn *pgx.Conn) {
	t.Helper()
	run(t, conn, "UPDATE howdah_internal.change_state SET ticked_at = '-infinity'")
	run(t, conn, schema.Query("bus_trim"), 1000)
}

// While a transaction stays open, VACUUM removes nothing. What was removed from the table is
// not looked at again each second all the same, and what the transaction sends is removed
// when it has committed.
func TestRemovalBesideAnOpenTransaction(t *testing.T) {
	t.Parallel()
	url := pgtest.New(t)
	conn, long := connect(t, url), connect(t, url)
	read := func() int { // how many entries of the index a call looks at
		const entries = "SELECT pg_stat_get_xact_tuples_returned('howdah_internal.bus_xid'::regclass)"
		run(t, conn, "BEGIN")
		defer run(t, conn, "COMMIT")
		before := one[int](t, conn, entries)
		tick(t, conn)
		return one[int](t, conn, entries) - before
	}
	run(t, long, "BEGIN")
	run(t, long, publishSQL, "long", "x")
	const n = 5000
	run(t, conn, "SELECT howdah.publish_text('c', i::text) FROM generate_series(1, $1) AS i", n)
	for range 11 {
		tick(t, conn)
	}
	require.Equal(t, 0, one[int](t, conn, "SELECT count(*) FROM howdah_internal.bus"))
	require.Less(t, read(), 10, "of %d that were removed", n)
	run(t, long, "COMMIT")
	for range 9 {
		read()
	}
	require.Equal(t, 1, one[int](t, conn, "SELECT count(*) FROM howdah_internal.bus"))
	for range 3 {
		read()
	}
	require.Equal(t, 0, one[int](t, conn, "SELECT count(*) FROM howdah_internal.bus"))
}

// Large messages are removed in pieces, so that a call ends soon after its deadline.
func TestRemovalOfLargeMessages(t *testing.T) {
	t.Parallel()
	conn := connect(t, pgtest.New(t))
	const rows = "SELECT count(*)::integer FROM howdah_internal.bus"
	run(t, conn, `INSERT INTO howdah_internal.bus (sender, kinds, channels, payloads)
		SELECT 0, '{1}', '{c}', ARRAY[convert_to(repeat('x', 1 << 20), 'UTF8')] FROM generate_series(1, 40)`)
	for range 10 {
		tick(t, conn)
	}
	require.Equal(t, 40, one[int](t, conn, rows))
	run(t, conn, "UPDATE howdah_internal.change_state SET ticked_at = '-infinity'")
	run(t, conn, schema.Query("bus_trim"), -1)
	require.Equal(t, 40-16, one[int](t, conn, rows), "the one that reaches 16 MiB is the last")
	tick(t, conn)
	require.Zero(t, one[int](t, conn, rows))
}

// A row that could not be renewed, because PostgreSQL was away or its clock was set, is
// still that of a process that wants messages. That of a killed process is removed.
func TestRowsThatCouldNotBeRenewed(t *testing.T) {
	t.Parallel()
	url := pgtest.New(t)
	conn := connect(t, url)
	sender := newProcess(t, url, "none")
	rows := func(table string) int {
		return one[int](t, conn, "SELECT count(*)::integer FROM howdah_internal."+table)
	}
	for range 20 {
		tick(t, conn)
	}
	run(t, conn, schema.Query("server_renew"), 7, "away", int32(Published.bit()), false, 1, 0, false)
	run(t, conn, "UPDATE howdah_internal.server SET renewed_at = renewed_at - interval '1 hour'")
	tick(t, conn)
	sender.publish("c", "x")
	require.Equal(t, 1, rows("bus"))
	for range 5 {
		tick(t, conn)
	}
	require.Zero(t, rows("server"), "it had time to renew its row")

	// After a restart the ticks begin anew.
	run(t, conn, schema.Query("server_renew"), 7, "away", int32(Published.bit()), false, 1, 0, false)
	run(t, conn, "UPDATE howdah_internal.server SET renewed_at = renewed_at - interval '1 hour'")
	run(t, conn, "TRUNCATE howdah_internal.bus, howdah_internal.change_tick; DELETE FROM howdah_internal.change_state") // as a crash does
	run(t, conn, schema.Query("light_log"))
	for range 9 {
		tick(t, conn)
	}
	sender.view.Store(nil)
	sender.publish("c", "x")
	require.Equal(t, 1, rows("bus"))
	for range 3 {
		tick(t, conn)
	}
	require.Zero(t, rows("server"))
}

// SQL notifies only processes that want what is published, and while there is none it does
// not write without end.
func TestPublishWithoutSubscribers(t *testing.T) {
	t.Parallel()
	url := pgtest.New(t)
	conn, listener := connect(t, url), connect(t, url)
	run(t, listener, schema.Query("bus_listen"), pgx.QueryExecModeSimpleProtocol)
	renew := func(wanted kinds) {
		run(t, conn, schema.Query("server_renew"), 7, "other", int32(wanted), true, 0, 0, false)
	}
	first := func() string {
		run(t, conn, publishSQL, "c", "x")
		run(t, conn, schema.Query("bus_test"), "end")
		n, err := listener.WaitForNotification(t.Context())
		require.NoError(t, err)
		return n.Payload
	}
	renew(Ready.bit())
	require.Equal(t, "end", first())
	renew(Ready.bit() | Published.bit())
	require.Empty(t, first())

	const rows = "SELECT count(*)::integer FROM howdah_internal.bus"
	renew(Ready.bit())
	run(t, conn, `INSERT INTO howdah_internal.bus (sender, kinds, channels, payloads)
		SELECT 0, '{1}', '{c}', ARRAY[convert_to(repeat('x', 1 << 20), 'UTF8')] FROM generate_series(1, 64)`)
	require.Equal(t, 66, one[int](t, conn, rows))
	run(t, conn, publishSQL, "c", "x")
	require.Equal(t, 66, one[int](t, conn, rows))
	renew(Published.bit())
	run(t, conn, publishSQL, "c", "x")
	require.Equal(t, 67, one[int](t, conn, rows))
}
