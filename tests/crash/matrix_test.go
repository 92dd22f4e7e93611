package crash_test

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"text/tabwriter"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/howdah/howdah"
	"github.com/howdah/howdah/internal/test/dbtest"
	"github.com/howdah/howdah/internal/test/pgtest"
)

// event is what happens to a server in the midst of writes.
type event struct {
	name    string
	writing []string // the classes that are written; nil: all
	// strike makes it happen and returns when a server serves again: the same
	// one, another one that url names, or a copy whose URL it returns.
	strike  func(t *testing.T, db *howdah.DB) (copyURL string)
	url     func() string // of the servers that are written to; nil: the one
	emptied bool          // UNLOGGED tables are
	orderly bool          // nothing that was acknowledged is lost
	copied  bool          // the copy is looked at

	struck, served time.Time
	flushed        time.Time // what was acknowledged before it is on disk when the event strikes
}

// classes are the caches of the matrix, by durability class.
var classes = []string{"unlogged", "async", "sync"}

// TestCrashMatrix strikes a server in every way there is while writers of all
// classes are at work, and looks at each single write afterwards: what must
// have survived, what may have, what must not have. It prints what it found,
// and compares its judgement with the table in docs/operations.md.
//
// A killed process loses what is in its memory, not what it has written: that
// is the kernel's. Only a loss of power would show what fsync is for, so these
// servers do without, and start in a fraction of the time.
func TestCrashMatrix(t *testing.T) {
	t.Parallel()
	server := pgtest.Own(t, "fsync", "off")
	setUp := dbtest.Open(t, server.NewURL(), nil)
	for _, class := range classes {
		require.NoError(t, setUp.CreateCache(t.Context(), howdah.CacheConfig{Name: class, Durability: howdah.Durability(class)}))
	}
	down := func(stop func()) func(*testing.T, *howdah.DB) string {
		return func(t *testing.T, db *howdah.DB) string {
			stop()
			away(t, db)
			server.Start()
			return ""
		}
	}
	var standby *pgtest.Server
	events := []*event{
		{name: "restart", orderly: true, strike: down(func() { server.Stop("fast") })},
		{name: "immediate stop", emptied: true, strike: down(func() { server.Stop("immediate") })},
		{name: "kill -9 of the postmaster", emptied: true, strike: down(server.Kill)},
		// Without commits of class sync, nobody flushes for class async.
		{name: "the same, class async alone", writing: []string{"async"}, emptied: true, strike: down(server.Kill)},
		{name: "kill -9 of a backend", emptied: true, strike: func(*testing.T, *howdah.DB) string {
			server.KillBackend()
			return ""
		}},
		{name: "base backup, restored", emptied: true, orderly: true, copied: true, strike: func(*testing.T, *howdah.DB) string {
			return server.Backup().Restore().URL()
		}},
		{name: "promotion of a standby", emptied: true, url: func() string {
			standby = server.Standby("standby")
			server.Synchronous(standby)
			return pgtest.Hosts(server, standby)
		}, strike: func(t *testing.T, db *howdah.DB) string {
			server.Kill()
			away(t, db)
			standby.Promote()
			return ""
		}},
	}
	var text strings.Builder
	table := tabwriter.NewWriter(&text, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "event\tunlogged\tasync\tsync\tsessions\treset noticed\tpause of writes")
	for _, e := range events {
		t.Run(e.name, func(t *testing.T) {
			url := server.URL
			if e.url != nil {
				url = e.url
			}
			fmt.Fprintln(table, strings.Join(e.run(t, url()), "\t"))
		})
	}
	table.Flush()
	page, err := os.ReadFile("../../docs/operations.md")
	require.NoError(t, err)
	for _, e := range events {
		if e.writing == nil {
			require.Contains(t, string(page), e.promise(), "docs/operations.md promises something else")
		}
	}
	t.Logf("what survived, on PostgreSQL %d:\n%s", server.Major(), text.String())
}

// promise is the event's row in docs/operations.md: what fate says of what was
// acknowledged before it.
func (e *event) promise() string {
	cells := []string{"kept", "kept", "kept", "kept"} // the three classes, and sessions
	if e.emptied {
		cells[0] = "emptied"
	}
	if !e.orderly {
		cells[1] = "all but the last moments"
	}
	return fmt.Sprintf("| %s | %s |", e.name, strings.Join(cells, " | "))
}

// away asserts that calls fail, and do not hang, while nobody serves.
func away(t *testing.T, db *howdah.DB) {
	t.Helper()
	for _, class := range classes {
		ctx, ended := dbtest.Unhurried(t)
		_, err := db.Cache(class).Get(ctx, "k")
		require.Error(t, err)
		require.NotErrorIs(t, err, howdah.ErrMiss, "it cannot know")
		require.Error(t, db.Cache(class).Set(ctx, "k", nil, 0))
		ended()
	}
	require.Error(t, db.Ping(t.Context()))
}

// run puts one event in the midst of writes and returns its row of the table.
func (e *event) run(t *testing.T, url string) []string {
	db, log := openLogged(t, url)
	dbtest.Run(t, db)
	dbtest.Eventually(t, "upkeep leads", func() bool { return db.Stats().Upkeep.Leader })
	epoch := epochOf(t, db)
	sessions := startSessions(t, db)
	calm := dbtest.Open(t, url, nil) // for calls that must not fail
	for _, class := range classes {
		require.NoError(t, calm.Cache(class).Set(t.Context(), "short-lived", []byte("v"), 50*time.Millisecond))
		dbtest.Eventually(t, "expiry", func() bool { return misses(t, calm, class, "short-lived") })
	}

	ledgers := make(map[string]*ledger)
	for _, class := range classes {
		ledgers[class] = &ledger{cache: class, writes: make(map[string][]write)}
	}
	writing := e.writing
	if writing == nil {
		writing = classes
	}
	stop := make(chan struct{})
	var writers sync.WaitGroup
	halt := sync.OnceFunc(func() { close(stop); writers.Wait() })
	defer halt()
	for _, class := range writing {
		for i := range 3 {
			writers.Go(func() { ledgers[class].scribble(t, db, fmt.Sprintf("%s/%d", e.name, i), stop) })
		}
	}
	await := func() {
		t.Helper()
		before := make(map[string]int64)
		for _, class := range writing {
			before[class] = ledgers[class].acks.Load()
		}
		for _, class := range writing {
			dbtest.Eventually(t, "writes to cache "+class, func() bool { return ledgers[class].acks.Load() > before[class]+150 })
		}
	}
	await()
	// A commit of class sync flushes all that was committed before it.
	e.flushed = time.Now()
	require.NoError(t, calm.Cache("sync").Set(t.Context(), "flush", nil, 0))
	await()
	e.struck = time.Now()
	copyURL := e.strike(t, db)
	e.served = time.Now()
	await()
	halt()

	pause, back := longestPause(ledgers, e.struck)
	if e.copied {
		awaitWatch(t, db)
		require.Zero(t, db.Stats().Upkeep.Resets, "the original has lost nothing")
		url = copyURL
		db, log = openLogged(t, url)
		dbtest.Run(t, db)
	}
	noticed := e.awaitReset(t, db, log, back, epoch)

	calm = dbtest.Open(t, url, nil)
	row := []string{e.name}
	for _, class := range classes {
		require.True(t, misses(t, calm, class, "short-lived"), "what had expired came back")
		s := ledgers[class].check(t, calm, class, e)
		if slices.Contains(writing, class) {
			require.Greater(t, s.kept+s.lost, 40, "too few writes to judge by")
		}
		row = append(row, e.cell(t, class, s))
	}
	sessions.check(t, db)
	return append(row, fmt.Sprintf("kept %d of %[1]d", len(sessions.live)), noticed, pause.Round(time.Millisecond).String())
}

// allows lists the states that a key may be in: after which of its writes, by
// index, or absent.
func (e *event) allows(class string, writes []write) []int {
	allowed := []int{absent}
	for i, w := range writes {
		leaves := i
		if w.removal {
			leaves = absent
		}
		switch e.fate(class, w) {
		case must:
			allowed = []int{leaves}
		case may:
			allowed = append(allowed, leaves)
		}
	}
	return allowed
}

type fate int

const (
	must fate = iota
	may
	mustNot
)

// fate is what the durability classes promise of one write.
func (e *event) fate(class string, w write) fate {
	before, after := w.answered.Before(e.struck), w.issued.After(e.served)
	switch {
	case w.outcome == refused, e.copied && after:
		return mustNot
	case e.copied && class == "unlogged":
		return mustNot
	case w.outcome == unknown, e.copied && !before:
		return may
	case after, e.orderly, class == "sync":
		return must
	case class == "unlogged" && before:
		return mustNot
	case class == "async" && before && w.answered.Before(e.flushed):
		return must
	default: // in the midst of the event, or not flushed yet
		return may
	}
}

// longestPause is how long the writers had to wait for the server, and when
// it served again.
func longestPause(ledgers map[string]*ledger, struck time.Time) (pause time.Duration, end time.Time) {
	var answers []time.Time
	for _, l := range ledgers {
		for _, writes := range l.writes {
			for _, w := range writes {
				if w.outcome == acknowledged && w.answered.After(struck) {
					answers = append(answers, w.answered)
				}
			}
		}
	}
	slices.SortFunc(answers, time.Time.Compare)
	last := struck
	for _, at := range answers {
		if at.Sub(last) > pause {
			pause, end = at.Sub(last), at
		}
		last = at
	}
	return pause, end
}

// cell says what survived, and asserts what the class promises in sum.
func (e *event) cell(t *testing.T, class string, s survived) string {
	t.Helper()
	switch {
	case class == "unlogged" && e.emptied:
		require.Zero(t, s.kept)
		return "emptied"
	case s.kept+s.lost == 0:
		return "-"
	case s.lost == 0:
		return fmt.Sprintf("kept %d of %[1]d", s.kept)
	default:
		require.Equal(t, "async", class)
		return fmt.Sprintf("kept %d of %d, lost the last %v", s.kept, s.kept+s.lost, s.span.Round(100*time.Microsecond))
	}
}
