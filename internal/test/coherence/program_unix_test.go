//go:build unix

package coherence

import (
	"context"
	"encoding/gob"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/howdah/howdah"
)

// orders are what a child process is to do.
type orders struct {
	Process int
	URL     string        // default: that of the run
	Bound   time.Duration // of memory; 0: none
	Caches  []string
	Keys    int
	Seed    uint64
	Serve   bool     // be a server for Redis clients
	Keeps   bool     // a server keeps entries in memory
	Actors  []string // names in the table actors
	Servers []served // for the actor "redis"
	Pace    time.Duration
	Slow    bool // answers of PostgreSQL are held back now and then

	// Direct is a program that does without the library: the actors "direct
	// reader" and "direct writer".
	Direct bool
	Mutant mutant // of a direct program

	// Memo makes the readers keep answers for so long by themselves, and never
	// drop one: a mutant.
	Memo time.Duration
}

// served is a server for Redis clients.
type served struct {
	Process int
	Addr    string
}

// hello is the first message of a child: it is at work.
type hello struct {
	Addr string // where it serves
	Err  string
}

// report is the last message of a child.
type report struct {
	Writes []Write
	Reads  []Read
	Near   nearStats
	Errors map[string]int // by actor
	Broken []string       // what an actor saw that must not be
}

// program is one process: a DB and those who use it.
type program struct {
	orders
	db     *howdah.DB
	direct *direct

	values atomic.Int64

	mu     sync.Mutex
	report report
}

// runChild is the body of a child process. The end of its input ends it.
func runChild(in io.Reader, out io.Writer) int {
	p := &program{report: report{Errors: map[string]int{}}}
	encoder := gob.NewEncoder(out)
	err := gob.NewDecoder(in).Decode(&p.orders)
	if err == nil {
		ctx, cancel := context.WithCancel(context.Background())
		go func() {
			io.Copy(io.Discard, in)
			cancel()
		}()
		if p.Slow {
			if p.URL, err = slowDown(context.WithoutCancel(ctx), p.URL); err != nil {
				fmt.Fprintln(os.Stderr, "coherence:", err)
				return 1
			}
		}
		switch {
		case p.Serve:
			err = p.serve(ctx, encoder)
		case p.Direct:
			err = p.runDirect(ctx, encoder)
		default:
			err = p.run(ctx, encoder)
		}
		cancel()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "coherence:", err)
		return 1
	}
	return 0
}

// run opens the database and lets all actors work until ctx ends.
func (p *program) run(ctx context.Context, out *gob.Encoder) (err error) {
	p.db, err = openNear(ctx, p.URL, p.Bound)
	if err != nil {
		return err
	}
	if err := out.Encode(hello{}); err != nil {
		return err
	}
	var work sync.WaitGroup
	upkeep, stop := context.WithCancel(context.WithoutCancel(ctx))
	work.Go(func() { p.db.Run(upkeep) })
	p.act(ctx)
	p.report.Near = statsOf(p.db)
	stop()
	work.Wait()
	if err := p.db.Close(); err != nil {
		return err
	}
	return out.Encode(p.report)
}

// runDirect is run for a direct program.
func (p *program) runDirect(ctx context.Context, out *gob.Encoder) (err error) {
	if p.direct, err = openDirect(ctx, p.URL, p.Bound, p.Mutant); err != nil {
		return err
	}
	defer p.direct.pool.Close()
	if err := out.Encode(hello{}); err != nil {
		return err
	}
	var follower sync.WaitGroup
	following, stop := context.WithCancel(context.WithoutCancel(ctx))
	follower.Go(func() { p.direct.memory.Run(following) })
	p.act(ctx)
	s := p.direct.memory.Stats()
	p.report.Near = nearStats{Hits: s.Hits, Misses: s.Misses}
	stop()
	follower.Wait()
	return out.Encode(p.report)
}

// act lets all actors work until ctx ends.
func (p *program) act(ctx context.Context) {
	var acting sync.WaitGroup
	for i, name := range p.Actors {
		a := &actor{program: p, name: name, rng: rand.New(rand.NewPCG(p.Seed, uint64(p.Process)<<16|uint64(i)))}
		acting.Go(func() { actors[name](a, ctx) })
	}
	acting.Wait()
}

// actor is one goroutine of a program that writes or reads at random.
type actor struct {
	*program
	name string
	rng  *rand.Rand
	past bool // it goes past the library

	level pgx.TxIsoLevel // of its transaction
}

// actors are those that orders may name.
var actors = map[string]func(*actor, context.Context){
	"reader":      (*actor).reads,
	"library":     (*actor).library,
	"transaction": (*actor).transactions,
	"prepared":    (*actor).prepared,
	"sql":         (*actor).functions,
	"trigger":     (*actor).triggers,
	"admin":       (*actor).administration,
	"idle":        (*actor).idle,
	"redis":       (*actor).redis,
	"trim":        (*actor).trim,
	"watch":       (*actor).watched,

	"direct reader": (*actor).directReads,
	"direct writer": (*actor).directWrites,
}

// pause waits for a random time, twice the mean at most, and reports whether
// the work goes on.
func (a *actor) pause(ctx context.Context, mean time.Duration) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(time.Duration(a.rng.Int64N(int64(2*mean) + 1))):
		return ctx.Err() == nil
	}
}

// within bounds one call. The end of the run does not interrupt it.
func within(ctx context.Context, limit time.Duration) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(ctx), limit)
}

// key picks one: half of the time one of the first few.
func (a *actor) key() int {
	if a.rng.IntN(2) == 0 {
		return a.rng.IntN(min(8, a.Keys))
	}
	return a.rng.IntN(a.Keys)
}

// cacheOf returns the number of the cache of a key.
func (p *program) cacheOf(key int) int { return key % len(p.Caches) }

// cache returns the cache of a key.
func (p *program) cache(key int) *howdah.Cache { return p.db.Cache(p.Caches[p.cacheOf(key)]) }

// value returns a number that no other write of the run has.
func (p *program) value() int64 { return int64(p.Process)<<40 | p.values.Add(1) }

// store is a write of a new value.
func (a *actor) store(key int) Write { return Write{Value: a.value(), Key: key, Cache: a.cacheOf(key)} }

// remove is a deletion.
func (a *actor) remove(key int) Write { return Write{Key: key, Cache: a.cacheOf(key)} }

// attempt does what the writes say and notes them with the time.
func (a *actor) attempt(do func() error, writes ...Write) error {
	sent, sentReal := now(), calendar()
	err := do()
	acked, ackedReal := now(), calendar()
	if err != nil {
		acked, ackedReal = 0, 0
	}
	process := a.Process
	if a.past {
		process = 0
	}
	for i := range writes {
		w := &writes[i]
		if w.Process == 0 {
			w.Process = process
		}
		w.Sent, w.SentReal, w.Acked, w.AckedReal = sent, sentReal, acked, ackedReal
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.report.Writes = append(a.report.Writes, writes...)
	if err != nil {
		a.report.Errors[a.name]++
	}
	return err
}

// broken notes what must not be.
func (a *actor) broken(format string, args ...any) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.report.Broken) < examples {
		a.report.Broken = append(a.report.Broken, fmt.Sprintf(format, args...))
	}
}
