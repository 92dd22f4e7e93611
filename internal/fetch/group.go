package fetch

import (
	"context"
	"errors"
	"iter"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"
)

// Load makes the values of keys. A key that is not in its answer is absent. ctx
// ends after Options.Timeout; it has the values of the context of the Fetch that
// began the load, but does not end with it.
type Load func(ctx context.Context, keys []string) (map[string][]byte, error)

// Options say how a value is fetched. Package howdah documents them. Here every
// field is set: zero means zero.
type Options struct {
	TTL          time.Duration
	Stale        time.Duration
	StaleIfError time.Duration
	Early        float64 // at most 0: no early refresh
	Lease        time.Duration
	Timeout      time.Duration
	Absent       time.Duration
	Tags         []string
	Local        bool
}

// Result is the answer for one key. Without Err and Found, the key is absent.
type Result struct {
	Value []byte // the caller's own
	Found bool
	Err   error

	Loaded  bool            // a load has made it, or failed
	Loading context.Context // what Group.Loading returned for that load
}

// Loading is called when a load begins, with its context, those of the fetches that wait
// for it, or of the one that has caused it, and the number of its keys. It returns a
// context for the load, made of ctx, and what is called with its error when it has
// ended; nil for both: it wants none of that.
type Loading func(ctx context.Context, calls iter.Seq[context.Context], keys int) (context.Context, func(error))

// ErrClosed is the error of a Fetch when its Group is closed.
var ErrClosed = errors.New("the group is closed")

// LeftError is the error of a caller whose context ended first.
type LeftError struct{ Cause error }

func (e *LeftError) Error() string { return "the caller stopped waiting: " + e.Cause.Error() }

// Unwrap returns the cause of the end of the context.
func (e *LeftError) Unwrap() error { return e.Cause }

// Group makes one load of all the fetches of a key that overlap. It is safe for
// concurrent use.
type Group struct {
	Loading Loading // set before the first Fetch; nil: loads are not followed

	store  Store
	failed func(error)
	random func() float64 // in [0, 1)
	cost   atomic.Int64   // nanoseconds of a load; see noteCost
	counts counts

	rounds sync.WaitGroup // goroutines under way
	done   chan struct{}  // closed by Close

	mu         sync.Mutex // guards what is below, and flight.waiting
	closed     bool
	flights    map[string]*flight
	refreshing map[string]bool // keys for which an early refresh is under way
}

// New makes a Group. It starts nothing. failed gets the errors of loads in the
// background, of which no caller learns.
func New(store Store, failed func(error)) *Group {
	return &Group{
		store: store, failed: failed, random: rand.Float64, done: make(chan struct{}),
		flights: map[string]*flight{}, refreshing: map[string]bool{},
	}
}

// Fetch returns what a cache holds under keys, each of which is named once, or
// what load makes where it holds nothing. It starts goroutines, which end when
// the load has ended or its time is over.
//
// Errors: that of load; *PanicError; *LateError; *LeftError if ctx ends first;
// that of a claim; ErrClosed.
func (g *Group) Fetch(ctx context.Context, keys []string, load Load, o Options) []Result {
	calls := make([]*call, len(keys))
	for i := range keys {
		calls[i] = &call{ctx: ctx, load: load, o: o, answer: make(chan Result, 1)}
	}
	results := make([]Result, len(keys))
	if !g.join(keys, calls) {
		for i := range results {
			results[i].Err = ErrClosed
		}
		return results
	}
	for i, c := range calls {
		select {
		case results[i] = <-c.answer:
		case <-ctx.Done():
			c.left.Store(true)
			results[i].Err = &LeftError{context.Cause(ctx)}
		}
	}
	return results
}

// join lets each call wait for the flight of its key, and starts the flights that
// are not under way, together.
func (g *Group) join(keys []string, calls []*call) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed {
		return false
	}
	var begun []*flight
	for i, key := range keys {
		f := g.flights[key]
		if f == nil {
			f = &flight{key: key}
			g.flights[key] = f
			begun = append(begun, f)
		} else {
			g.counts.shared.Add(1)
		}
		f.waiting = append(f.waiting, calls[i])
	}
	if len(begun) > 0 {
		g.rounds.Go(func() { g.round(begun, calls[0]) })
	}
	return true
}

// Close refuses further fetches, answers those that wait for other processes with
// ErrClosed, and waits for loads: at most for their Timeout, and for Store.
func (g *Group) Close() {
	g.mu.Lock()
	if !g.closed {
		g.closed = true
		close(g.done)
	}
	g.mu.Unlock()
	g.rounds.Wait()
}
