package fetch

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/howdah/howdah/internal/test/bubble"
)

// world is a cache in memory that keeps the rules of PostgreSQL's: what a row
// says, who wins a lease, and what voids a token. Its clock is that of a synctest
// bubble.
type world struct {
	mu      sync.Mutex
	rows    map[string]*row
	version int64
	asked   []string // the verbs that were called, with their keys
	polls   []time.Time
	away    bool          // the database does not answer
	delay   func()        // before and after each call; nil: none
	within  time.Duration // after which changes are told of; 0: never
	silent  bool          // they are not, though it is said that they are
	waiting map[string][]chan struct{}

	listening int           // who have not stopped
	stored    func([]Value) // before values are stored; nil: nothing
	full      error         // of Fulfil

	// Mutants: a store that forgets to compare tokens, and one that calls a void
	// token good, so that those who joined take what it should have kept from them.
	unchecked, lying bool
}

type row struct {
	version int64
	value   []byte
	expires time.Time // zero: it is not a live value and never was
	stale   time.Duration
	leased  time.Time // until then
	absent  bool      // known, until leased
}

var _ Store = (*world)(nil)

func newWorld() *world { return &world{rows: map[string]*row{}, waiting: map[string][]chan struct{}{}} }

// begin is the way of a call to the database.
func (w *world) begin(verb string, keys ...string) {
	if w.delay != nil {
		w.delay()
	}
	w.mu.Lock()
	for _, key := range keys {
		w.asked = append(w.asked, verb+" "+key)
	}
}

// end is the way back.
func (w *world) end() {
	w.mu.Unlock()
	if w.delay != nil {
		w.delay()
	}
}

func (w *world) Claim(_ context.Context, keys []string, lease time.Duration) []Claim {
	w.begin("claim", keys...)
	defer w.end()
	w.polls = append(w.polls, time.Now())
	claims := make([]Claim, len(keys))
	for i, key := range keys {
		if w.away {
			claims[i].State = Unleased
		} else {
			claims[i] = w.claim(key, lease)
		}
	}
	return claims
}

func (w *world) claim(key string, lease time.Duration) Claim {
	now := time.Now()
	r := w.rows[key]
	if r == nil {
		r = &row{version: w.next()}
		w.rows[key] = r
	}
	c := Claim{Value: append([]byte(nil), r.value...), Token: Token{Version: r.version}, Left: r.leased.Sub(now)}
	leased := now.Before(r.leased)
	age := now.Sub(r.expires)
	switch {
	case r.expires.After(now):
		c.State, c.Leased, c.Left = Hit, leased, r.expires.Sub(now)
		return c
	case r.absent && leased:
		c.State = Absent
		return c
	case !r.expires.IsZero() && age < r.stale:
		c.State, c.Age, c.Won = Stale, age, !leased
	case leased:
		c.State = Lost
		return c
	default:
		c.State = Won
	}
	if !leased {
		r.leased, r.absent = now.Add(lease), false
		c.Left = lease
	}
	return c
}

func (w *world) Refresh(_ context.Context, key string, version int64, lease time.Duration) (Token, bool, error) {
	w.begin("refresh", key)
	defer w.end()
	r, now := w.rows[key], time.Now()
	if r == nil || r.version != version || !r.expires.After(now) || now.Before(r.leased) {
		return Token{}, false, nil
	}
	r.leased = now.Add(lease)
	return Token{Version: r.version}, true, nil
}

func (w *world) Fulfil(_ context.Context, values []Value) []error {
	if w.stored != nil {
		w.stored(values)
	}
	w.begin("fulfil")
	defer w.end()
	errs := make([]error, len(values))
	for i, v := range values {
		w.asked = append(w.asked, "fulfil "+v.Key)
		r := w.rows[v.Key]
		switch good := r != nil && r.version == v.Token.Version; {
		case w.away:
			errs[i] = errors.New("the database is away")
		case w.full != nil:
			errs[i] = w.full
		case !good && w.lying:
		case !good && !w.unchecked:
			errs[i] = ErrVoided
		case v.Absent:
			w.rows[v.Key] = &row{version: w.next(), absent: true, leased: time.Now().Add(v.TTL)}
		default:
			w.rows[v.Key] = &row{version: w.next(), value: v.Value, expires: time.Now().Add(v.TTL), stale: v.Stale}
		}
		w.changed(v.Key)
	}
	return errs
}

func (w *world) Release(_ context.Context, leases []Lease) []bool {
	w.begin("release")
	defer w.end()
	good := make([]bool, len(leases))
	for i, l := range leases {
		w.asked = append(w.asked, "release "+l.Key)
		r := w.rows[l.Key]
		good[i] = !w.away && r != nil && r.version == l.Token.Version
		if good[i] {
			r.leased = time.Time{}
			w.changed(l.Key)
		}
	}
	return good
}

func (w *world) next() int64 {
	w.version++
	return w.version
}

// set and remove are the writes of others.
func (w *world) set(key, value string, ttl, stale time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.rows[key] = &row{version: w.next(), value: []byte(value), expires: time.Now().Add(ttl), stale: stale}
	w.changed(key)
}

func (w *world) remove(key string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.rows, key)
	w.changed(key)
}

func (w *world) Changed(key string) News {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.within == 0 {
		return News{}
	}
	changed := make(chan struct{})
	w.waiting[key] = append(w.waiting[key], changed)
	w.listening++
	return News{Changed: changed, Within: w.within, Stop: func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.listening--
	}}
}

// changed tells those who wait, after a while. The caller holds mu.
func (w *world) changed(key string) {
	waiting := w.waiting[key]
	delete(w.waiting, key)
	if w.silent {
		return
	}
	time.AfterFunc(w.within, func() {
		for _, changed := range waiting {
			close(changed)
		}
	})
}

// calls returns the verbs that were called since the last time.
func (w *world) calls() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	asked := w.asked
	w.asked = nil
	return asked
}

// now returns how often was asked, and how many listen.
func (w *world) now() (polls, listening int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.polls), w.listening
}

// tell sets when changes are told of from now on.
func (w *world) tell(within time.Duration, silent bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.within, w.silent = within, silent
}

// inTime runs a test in the fake time of synctest.
func inTime(t *testing.T, fn func(t *testing.T, w *world, g *Group)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		g := New(w, func(error) {})
		fn(t, w, g)
		g.Close()
	})
}

var plain = Options{TTL: time.Minute, Lease: 10 * time.Second, Timeout: 10 * time.Second}

// loading is a load that takes time and counts its calls.
type loading struct {
	mu    sync.Mutex
	began []time.Time
	takes time.Duration
	value string
	err   error
}

func (l *loading) load(_ context.Context, keys []string) (map[string][]byte, error) {
	l.mu.Lock()
	l.began = append(l.began, time.Now())
	value, err := l.value, l.err // what is read is read when it begins
	l.mu.Unlock()
	bubble.Pass(l.takes)
	if err != nil {
		return nil, err
	}
	values := map[string][]byte{}
	for _, key := range keys {
		values[key] = []byte(value)
	}
	return values, nil
}

func (l *loading) becomes(value string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.value = value
}

func (l *loading) loads() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.began)
}

// fetchOne returns what one key holds, "" if it is absent.
func fetchOne(ctx context.Context, g *Group, key string, load Load, o Options) (string, error) {
	r := g.Fetch(ctx, []string{key}, load, o)[0]
	return string(r.Value), r.Err
}

// pending is a Fetch under way.
type pending struct {
	done  chan struct{}
	value string
	err   error
}

func start(ctx context.Context, g *Group, key string, load Load, o Options) *pending {
	p := &pending{done: make(chan struct{})}
	go func() {
		defer close(p.done)
		p.value, p.err = fetchOne(ctx, g, key, load, o)
	}()
	return p
}
