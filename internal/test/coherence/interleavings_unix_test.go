//go:build unix

package coherence

import (
	"fmt"
	"time"

	"github.com/stretchr/testify/require"
)

// An interleaving, and the fault without which it breaks no rule.
type interleaving struct {
	mutant mutant
	rule   Rule
	run    func(f *forced)
	bound  time.Duration
}

const (
	quick = 100 * time.Millisecond
	// slow lets a lease outlast what happens while no poll is answered.
	slow = 2 * time.Second
)

var interleavings = []interleaving{
	{withoutXip, Stale, openTransaction, quick},
	{lateToken, Stale, overtakenFill, quick},
	{lateToken, Backwards, twoFills, slow},
	{withoutFloor, Stale, trimmedLog, quick},
	{withoutLease, Stale, silentDatabase, quick},
	{withoutBump, OwnWrite, ownWrite, slow},
	{withoutLog, Stale, plainWrite, quick},
	{formerID, Stale, remadeCache, quick},
	{withoutFunctionLog, Stale, functionCall, quick},
	{withoutCacheLog, Stale, flush, quick},
	{withoutCacheLog, Stale, logTurnedOff, quick},
	{withoutCacheLog, Stale, droppedCache, quick},
}

// crashes are interleavings in which PostgreSQL crashes.
var crashes = []interleaving{
	{withoutLife, Stale, lostLog, quick},
	{withoutStrand, Stale, strandedWrite, quick},
}

// faults are those of the database.
var faults = map[mutant]string{
	withoutFunctionLog: `CREATE OR REPLACE FUNCTION howdah_internal._log(settings howdah_internal.cache, hashes bigint[], keys bytea[] DEFAULT NULL) RETURNS void
		LANGUAGE plpgsql AS 'BEGIN END'`,
	withoutCacheLog: `CREATE FUNCTION coherence.swallow() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END';
		CREATE TRIGGER swallow BEFORE INSERT ON howdah_internal.change
		FOR EACH ROW WHEN (NEW.hashes IS NULL) EXECUTE FUNCTION coherence.swallow()`,
}

// A transaction writes, is open during a poll, and commits.
func openTransaction(f *forced) {
	defer f.follow()()
	f.prime()
	w := f.other.store(f.key)
	f.begin(w)
	f.key += 2
	f.set() // a later transaction ends first
	f.key -= 2
	f.polled()
	f.warm()
	f.commit(w, "COMMIT")
	f.readOn()
}

// A read is answered; before memory is filled, another process writes, and the
// poll that shows the write comes and goes.
func overtakenFill(f *forced) {
	defer f.follow()()
	f.set()
	f.polled()
	f.at("answered", func() {
		f.at("answered", nil)
		f.set()
		f.polled()
	})
	f.read()
	f.readOn()
}

// The same, but it is a second read that fills memory in between.
func twoFills(f *forced) {
	defer f.follow()()
	f.set()
	f.polled()
	defer f.silence()()
	f.at("answered", func() {
		f.at("answered", nil)
		f.set()
		f.read()
	})
	f.read()
	f.read()
}

// A reader is stopped until the change log was trimmed.
func trimmedLog(f *forced) {
	stop := f.follow()
	defer func() { stop() }()
	f.prime()
	stop()
	f.set()
	f.eventually("the trim", func() bool {
		_, err := f.conn.Exec(f.t.Context(), "SELECT howdah_internal._trim_log(clock_timestamp() + interval '10 milliseconds')")
		require.NoError(f.t, err)
		var left int
		require.NoError(f.t, f.conn.QueryRow(f.t.Context(), "SELECT count(*) FROM howdah_internal.change").Scan(&left))
		return left == 0
	})
	stop = f.follow()
	f.polled()
	f.readOn()
}

// No poll is answered.
func silentDatabase(f *forced) {
	defer f.follow()()
	f.prime()
	defer f.silence()()
	f.set()
	f.readAll()
}

// The process writes, and no poll comes before it reads.
func ownWrite(f *forced) {
	defer f.follow()()
	f.prime()
	defer f.silence()()
	w := f.a.store(f.key)
	require.NoError(f.t, f.a.attempt(func() error {
		return f.a.direct.put(f.t.Context(), cachesOfRun[w.Cache], KeyName(w.Key), w.Value)
	}, w))
	f.read()
}

// Another process writes.
func plainWrite(f *forced) {
	defer f.follow()()
	f.prime()
	f.set()
	f.readOn()
}

// A cache is dropped and made again before another process writes.
func remadeCache(f *forced) {
	defer f.follow()()
	f.prime()
	require.NoError(f.t, f.other.remake(f.t.Context(), f.conn, 0))
	f.eventually("answer of the new table", func() bool { return f.read().Source == Database })
	f.prime()
	f.set()
	f.readOn()
}

// An application writes by SQL.
func functionCall(f *forced) {
	defer f.follow()()
	f.prime()
	w := f.other.store(f.key)
	f.commit(w, fmt.Sprintf("SELECT howdah.set_text('%s', '%s', '%d')", cachesOfRun[w.Cache], KeyName(w.Key), w.Value))
	f.readOn()
}

// A cache is flushed.
func flush(f *forced) {
	defer f.follow()()
	f.prime()
	f.commit(Write{Key: All}, "SELECT howdah.flush('"+cachesOfRun[0]+"')")
	f.readOn()
}

// A cache is dropped and made again, and the reader asks only for what it has in
// memory.
func droppedCache(f *forced) {
	defer f.follow()()
	f.prime()
	require.NoError(f.t, f.other.attempt(func() error { return f.other.remake(f.t.Context(), f.conn, 0) }, Write{Key: All}))
	f.readAll()
}

// The change log of a cache is turned off, and another process writes.
func logTurnedOff(f *forced) {
	defer f.follow()()
	f.prime()
	_, err := f.conn.Exec(f.t.Context(), "SELECT howdah.alter_cache('"+cachesOfRun[0]+"', near => false)")
	require.NoError(f.t, err)
	f.set()
	f.readAll()
}

// A process writes while the reader is stopped, and a crash empties the log. The
// entry itself is in a LOGGED cache.
func lostLog(f *forced) {
	f.key = 1
	stop := f.follow()
	defer func() { stop() }()
	f.prime()
	stop()
	f.set()
	f.e.crash(f.server)
	stop = f.follow()
	f.polled()
	f.readOn()
}

// A prepared transaction outlives a crash, and its row in the log does not.
func strandedWrite(f *forced) {
	f.key = 1
	defer f.follow()()
	f.prime()
	w := f.other.store(f.key)
	f.begin(w)
	_, err := f.conn.Exec(f.t.Context(), "PREPARE TRANSACTION 'stranded'")
	require.NoError(f.t, err)
	f.e.crash(f.server)
	f.connect()
	f.polled()
	f.readAll()
	f.commit(w, "COMMIT PREPARED 'stranded'")
	f.readOn()
}
