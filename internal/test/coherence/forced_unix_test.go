//go:build unix

package coherence

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/howdah/howdah/internal/test/await"
	"github.com/howdah/howdah/internal/test/pgtest"
)

// forced is one interleaving, step by step, in one process: a reader with its
// memory, and writers beside it.
type forced struct {
	t      *testing.T
	e      *experiment
	a      *actor // reads and writes with memory, as process 1
	other  *actor // writes as process 2
	conn   *pgx.Conn
	server *pgtest.Server // to crash
	key    int
	follow func() (stop func())

	mu    sync.Mutex
	gates map[string]func() // what the reader does at a place
}

func force(t *testing.T, url string, s *pgtest.Server, m mutant, bound time.Duration) *forced {
	t.Helper()
	f := &forced{t: t, e: newExperiment(t, url), server: s, gates: map[string]func(){}}
	f.e.bound = bound
	f.connect()
	_, err := f.conn.Exec(t.Context(), faults[m])
	require.NoError(t, err)
	f.a, f.other = f.program(1, m), f.program(2, m)
	f.a.direct.before = func(place string) {
		f.mu.Lock()
		gate := f.gates[place]
		f.mu.Unlock()
		if gate != nil {
			gate()
		}
	}
	f.follow = func() func() {
		ctx, cancel := context.WithCancel(context.Background())
		var work sync.WaitGroup
		work.Go(func() { f.a.direct.memory.Run(ctx) })
		return sync.OnceFunc(func() { cancel(); work.Wait() })
	}
	return f
}

func (f *forced) program(process int, m mutant) *actor {
	p := &program{orders: orders{Process: process, URL: f.e.url, Bound: f.e.bound, Caches: cachesOfRun, Keys: 2}, report: report{Errors: map[string]int{}}}
	var err error
	p.direct, err = openDirect(f.t.Context(), f.e.url, f.e.bound, m)
	require.NoError(f.t, err)
	f.t.Cleanup(p.direct.pool.Close)
	return &actor{program: p, rng: rand.New(rand.NewPCG(f.e.seed, uint64(process)))}
}

func (f *forced) connect() {
	f.t.Helper()
	conn := f.e.connect(f.e.url)
	f.t.Cleanup(func() { conn.Close(context.Background()) })
	f.conn = conn
}

// at makes the reader call do when it comes to a place; nil: nothing.
func (f *forced) at(place string, do func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.gates[place] = do
}

// read reads the key once and notes the answer.
func (f *forced) read() (r Read) {
	f.t.Helper()
	var ok bool
	f.eventually("an answer", func() bool {
		r, ok = f.a.directRead(f.t.Context(), f.key)
		return ok
	})
	f.a.mu.Lock()
	defer f.a.mu.Unlock()
	f.a.report.Reads = append(f.a.report.Reads, r)
	return r
}

// warm reads until memory answers.
func (f *forced) warm() {
	f.t.Helper()
	f.eventually("a hit", func() bool { return f.read().Source == Memory })
}

// readOn reads for three bounds, in which a change must be noticed, and then
// until memory answers.
func (f *forced) readOn() {
	f.t.Helper()
	f.readAll()
	f.warm()
}

func (f *forced) readAll() {
	f.t.Helper()
	end := now() + 3*int64(f.e.bound)
	f.eventually("end of three bounds", func() bool { f.read(); return now() >= end })
}

// prime stores a value and reads it until memory answers, after the poll that
// shows the write.
func (f *forced) prime() {
	f.t.Helper()
	f.set()
	f.polled()
	f.warm()
}

// ask makes memory go on to poll.
func (f *forced) ask() { f.a.direct.memory.Cache(0, false).Get(nil) }

// polled returns after two more polls: the second began after the call.
func (f *forced) polled() {
	f.t.Helper()
	polls := f.a.direct.memory.Stats().Polls
	f.eventually("two polls", func() bool { f.ask(); return f.a.direct.memory.Stats().Polls >= polls+2 })
}

// silence lets no poll be answered from now on, until end is called.
func (f *forced) silence() (end func()) {
	f.t.Helper()
	entered, ended := make(chan struct{}, 1), make(chan struct{})
	f.at("poll", func() {
		select {
		case entered <- struct{}{}:
		default:
		}
		<-ended
	})
	f.eventually("poll", func() bool {
		f.ask()
		return len(entered) > 0
	})
	return func() { close(ended) }
}

// set writes a new value as another process does.
func (f *forced) set() {
	f.t.Helper()
	f.eventually("write", func() bool {
		w := f.other.store(f.key)
		return f.other.attempt(func() error {
			return f.other.direct.put(f.t.Context(), cachesOfRun[w.Cache], KeyName(w.Key), w.Value)
		}, w) == nil
	})
}

// begin opens a transaction that writes w.
func (f *forced) begin(w Write) {
	f.t.Helper()
	_, err := f.conn.Exec(f.t.Context(), fmt.Sprintf("BEGIN; SELECT howdah.set_text('%s', '%s', '%d')",
		cachesOfRun[w.Cache], KeyName(w.Key), w.Value))
	require.NoError(f.t, err)
}

// commit runs the statement that commits w.
func (f *forced) commit(w Write, sql string) {
	f.t.Helper()
	require.NoError(f.t, f.other.attempt(func() error {
		_, err := f.conn.Exec(f.t.Context(), sql)
		return err
	}, w))
}

func (f *forced) eventually(what string, condition func() bool) {
	f.t.Helper()
	await.True(f.t, what, condition)
}

// verdict judges what was read.
func (f *forced) verdict() *Verdict {
	f.t.Helper()
	conn := f.e.connect(f.e.url)
	defer conn.Close(context.Background())
	changes, err := ReadLedger(f.t.Context(), conn)
	require.NoError(f.t, err)
	h, err := Order(changes, append(f.a.report.Writes, f.other.report.Writes...), f.e.crashes)
	require.NoError(f.t, err)
	v := h.Judge(f.a.report.Reads, f.e.bound)
	f.t.Log(v)
	return v
}

// Each interleaving breaks a rule with its fault, and none without.
func TestForced(t *testing.T) {
	t.Parallel()
	for _, i := range interleavings {
		for _, m := range []mutant{i.mutant, sound} {
			t.Run(i.name(m), func(t *testing.T) {
				t.Parallel() // they wait, most of the time
				i.test(t, func() (string, *pgtest.Server) { return pgtest.New(t), nil }, m)
			})
		}
	}
}

func TestForcedCrashes(t *testing.T) {
	t.Parallel()
	for _, i := range crashes {
		for _, m := range []mutant{i.mutant, sound} {
			t.Run(i.name(m), func(t *testing.T) {
				t.Parallel()
				i.test(t, func() (string, *pgtest.Server) {
					s := twoPhase(t)
					return s.NewURL(), s
				}, m)
			})
		}
	}
}

func (i interleaving) name(m mutant) string {
	if m == sound {
		return fmt.Sprintf("%s/%s/sound", i.mutant, i.rule)
	}
	return fmt.Sprintf("%s/%s/caught", i.mutant, i.rule)
}

// test runs the interleaving in a database of its own, of a server to crash if there is one. With a fault it does so until
// a read shows it: where a lease ends because the machine is busy, memory asks
// PostgreSQL, and its answer hides the fault.
func (i interleaving) test(t *testing.T, database func() (url string, s *pgtest.Server), m mutant) {
	run := func() map[Rule]int {
		url, s := database()
		f := force(t, url, s, m, i.bound)
		i.run(f)
		return f.verdict().Broken
	}
	if m == sound {
		require.Empty(t, run())
		return
	}
	for range 20 {
		if run()[i.rule] > 0 {
			return
		}
	}
	t.Errorf("no read broke the rule: %v", i.rule)
}
