package fetch

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/howdah/howdah/internal/test/bubble"
	"github.com/howdah/howdah/internal/test/seed"
)

// runs is how many random runs the model makes: "go test ./internal/fetch -run
// TestModel -fetch.runs 10000".
var runs = flag.Int("fetch.runs", 300, "random runs of the model")

// firstSeed repeats runs.
var firstSeed = flag.Uint64("fetch.seed", 0, "seed of the first run of the model; 0: as HOWDAH_SEED says")

// model is one run: a source that writers change, and processes that fetch from it
// through one cache. The judge knows when each value was current.
type model struct {
	*world
	seed   uint64
	mu     sync.Mutex
	rng    *rand.Rand
	source map[string]int // what the source holds of each key
	floor  map[string]int // the same at the last change whose invalidation was acknowledged
	broken []string
}

var modelKeys = []string{"a", "b"}

func newModel(seed uint64) *model {
	m := &model{world: newWorld(), seed: seed, rng: rand.New(rand.NewPCG(seed, 0)), source: map[string]int{}, floor: map[string]int{}}
	slow := time.Duration(5+m.rng.IntN(100)) * time.Millisecond
	m.delay = func() { m.sleep(slow) }
	m.within = time.Duration(m.rng.IntN(3)*m.rng.IntN(50)) * time.Millisecond
	m.silent = m.rng.IntN(8) == 0
	return m
}

func (m *model) random(n int) int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.rng.IntN(n)
}

func (m *model) sleep(longest time.Duration) { bubble.Pass(time.Duration(m.random(int(longest)))) }

// load reads the source at some moment, and fails now and then.
func (m *model) load(_ context.Context, keys []string) (map[string][]byte, error) {
	m.sleep(100 * time.Millisecond)
	m.mu.Lock()
	values := map[string][]byte{}
	for _, key := range keys {
		values[key] = fmt.Appendf(nil, "%d", m.source[key])
	}
	m.mu.Unlock()
	m.sleep(300 * time.Millisecond) // some are late
	switch m.random(20) {
	case 0:
		return nil, errors.New("broken")
	case 1:
		panic("broken")
	}
	return values, nil
}

// write changes the source and invalidates its key: in one transaction, or one
// after the other.
func (m *model) write() {
	key := modelKeys[m.random(len(modelKeys))]
	m.sleep(100 * time.Millisecond)
	together := m.random(2) == 0
	m.world.mu.Lock()
	m.mu.Lock()
	m.source[key]++
	committed := m.source[key]
	m.mu.Unlock()
	if together {
		delete(m.rows, key)
		m.changed(key)
	}
	m.world.mu.Unlock()
	if !together {
		m.sleep(50 * time.Millisecond)
		m.remove(key)
	}
	m.mu.Lock()
	m.floor[key] = max(m.floor[key], committed)
	m.mu.Unlock()
}

// fetch judges what a Fetch returns: nothing older than the last change that was
// acknowledged before it began.
func (m *model) fetch(g *Group) {
	keys := modelKeys[m.random(2):]
	o := Options{TTL: time.Minute, Lease: 400 * time.Millisecond, Timeout: 300 * time.Millisecond}
	if m.random(4) == 0 {
		o.TTL = 100 * time.Millisecond
	}
	o.Local = m.random(8) == 0
	ctx, cancel := context.Background(), context.CancelFunc(func() {})
	if m.random(4) == 0 {
		ctx, cancel = context.WithTimeout(ctx, time.Duration(m.random(int(200*time.Millisecond))))
	}
	defer cancel()
	m.mu.Lock()
	floors := make([]int, len(keys))
	for i, key := range keys {
		floors[i] = m.floor[key]
	}
	m.mu.Unlock()
	for i, r := range g.Fetch(ctx, keys, m.load, o) {
		var got int
		switch {
		case r.Err != nil:
			continue
		case !r.Found:
			m.say("%s is absent", keys[i])
			continue
		}
		fmt.Sscan(string(r.Value), &got)
		if got < floors[i] {
			m.say("a Fetch of %s got %d, and %d was committed before it began", keys[i], got, floors[i])
		}
	}
}

func (m *model) say(format string, args ...any) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.broken = append(m.broken, fmt.Sprintf("seed %d: ", m.seed)+fmt.Sprintf(format, args...))
}

// run lets three processes fetch while writers write, and then looks at what is
// stored: the present value, or none.
func (m *model) run() {
	var all sync.WaitGroup
	for range 3 {
		g := New(m, func(error) {})
		defer g.Close()
		for range 4 {
			all.Go(func() {
				for range 5 {
					m.sleep(500 * time.Millisecond)
					m.fetch(g)
				}
			})
		}
		all.Go(func() {
			for range 8 {
				m.write()
				m.fetch(g) // it reads what it has written
			}
		})
	}
	all.Wait()
	bubble.Pass(time.Minute / 2) // late loads
	m.world.mu.Lock()
	defer m.world.mu.Unlock()
	for key, r := range m.rows {
		if want := fmt.Sprint(m.source[key]); r.expires.After(time.Now()) && string(r.value) != want {
			m.say("the cache holds %s of %s, and the source %s", r.value, key, want)
		}
	}
}

func judge(t *testing.T, seed uint64, change func(*model)) (broken []string) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		m := newModel(seed)
		change(m)
		m.run()
		broken = m.broken
	})
	return broken
}

func startSeed(t *testing.T) uint64 {
	seed := seed.Or(t, *firstSeed)
	return seed
}

func TestModel(t *testing.T) {
	t.Parallel()
	seed := startSeed(t)
	for i := range uint64(*runs) {
		require.Empty(t, judge(t, seed+i, func(*model) {}))
	}
}

// The judge finds a store that forgets to compare tokens, and joiners that take
// values which are void.
func TestModelMutants(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*model){
		"unchecked": func(m *model) { m.unchecked = true },
		"lying":     func(m *model) { m.lying = true },
	} {
		seed := startSeed(t)
		found := 0
		for i := range uint64(200) {
			if len(judge(t, seed+i, change)) > 0 {
				found++
			}
		}
		t.Logf("%s: found in %d of 200 runs", name, found)
		require.NotZero(t, found, name)
	}
}
