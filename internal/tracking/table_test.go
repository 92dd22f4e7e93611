package tracking

import (
	"fmt"
	"iter"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// told is a Sink that writes down what it is told.
type told struct {
	mu   sync.Mutex
	list []string
}

func (s *told) Invalidate(key string, own bool) { s.add(key, own) }
func (s *told) InvalidateKeys(prefix string, keys []string, own bool) {
	s.add(prefix+": "+strings.Join(keys, " "), own)
}
func (s *told) InvalidateAll(own bool) { s.add("*", own) }
func (s *told) Unheard(string)         {}

func (s *told) add(what string, own bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if own {
		what += " own"
	}
	s.list = append(s.list, what)
}

func (s *told) take() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	list := s.list
	s.list = nil
	return list
}

func begin(t *Table, number int64, noLoop bool) (*Client, *told) {
	c, s := t.NewClient(number), new(told)
	c.Begin(s, noLoop)
	return c, s
}

func TestOneShot(t *testing.T) {
	t.Parallel()
	table := New()
	require.False(t, table.Wanted())
	require.False(t, (*Table)(nil).Wanted())
	a, toldA := begin(table, 1, false)
	b, toldB := begin(table, 2, false)
	require.True(t, table.Wanted())
	table.Track(a, 7, []byte("k"))
	table.Track(a, 7, []byte("k"))
	table.Track(b, 7, []byte("k"))
	table.Track(b, 8, []byte("j"))
	require.Equal(t, Stats{Clients: 2, Keys: 2, Items: 3}, table.Stats())
	require.True(t, table.Tracks(a, 7, []byte("k")))
	require.False(t, table.Tracks(a, 8, []byte("j")))
	table.Changed(7, a)
	require.Equal(t, []string{"k own"}, toldA.take())
	require.Equal(t, []string{"k"}, toldB.take())
	require.False(t, table.Tracks(a, 7, []byte("k")))
	table.Changed(7, nil)
	require.Empty(t, toldA.take())
	require.Equal(t, Stats{Clients: 2, Keys: 1, Items: 1}, table.Stats())
}

// A key has the bytes by which its client has read it, whatever its hash.
func TestKeysOfOneHash(t *testing.T) {
	t.Parallel()
	table := New()
	a, toldA := begin(table, 1, false)
	table.Track(a, 7, []byte("k"))
	table.Track(a, 7, []byte("j"))
	table.Changed(7, nil)
	require.Equal(t, []string{"k", "j"}, toldA.take())
}

func TestNoLoop(t *testing.T) {
	t.Parallel()
	table := New()
	a, toldA := begin(table, 1, true)
	table.Track(a, 7, []byte("k"))
	table.Changed(7, a)
	require.Empty(t, toldA.take())
	require.False(t, table.Tracks(a, 7, []byte("k")), "the registration is used up, as in Redis")
	table.Track(a, 7, []byte("k"))
	table.Changed(7, nil)
	require.Equal(t, []string{"k"}, toldA.take())
	a.Begin(toldA, false)
	require.EqualValues(t, 1, table.Stats().Clients)
	table.Track(a, 7, []byte("k"))
	table.Changed(7, a)
	require.Equal(t, []string{"k own"}, toldA.take())
}

func TestClientsThatEnd(t *testing.T) {
	t.Parallel()
	table := New()
	a, toldA := begin(table, 1, false)
	table.Track(a, 7, []byte("k"))
	a.End()
	a.End()
	require.False(t, table.Wanted())
	table.Changed(7, nil)
	table.Flushed(nil, table.Told())
	require.Empty(t, toldA.take())
}

// What a client leaves behind is freed: within seconds while others track the same keys,
// at once where it was the last. One that has only stopped keeps its registrations.
func TestClientsThatLeave(t *testing.T) {
	t.Parallel()
	table := New()
	stays, toldStays := begin(table, 1, false)
	stopped, _ := begin(table, 2, false)
	table.Track(stays, 7, []byte("k"))
	table.Track(stopped, 7, []byte("k"))
	stopped.End()
	for i := range 1000 {
		c, _ := begin(table, int64(i+3), false)
		table.Track(c, 7, []byte("k"))
		table.Track(c, int64(i+100), []byte("own"))
		table.Expires(int64(i+100), time.Unix(1e6, 0))
		c.Leave()
		c.Leave()
		table.Track(c, 7, []byte("k")) // a read that was under way
		c.Begin(new(told), false)
	}
	now := time.Unix(1000, 0)
	for range shards {
		table.Tick(now)
		table.Tick(now) // too soon
		now = now.Add(sweepPause)
	}
	require.Equal(t, Stats{Clients: 1, Keys: 1, Items: 2}, table.Stats())
	require.EqualValues(t, entryOverhead+2*itemOverhead+1, table.bytes.Load())
	require.True(t, table.Tracks(stays, 7, []byte("k")))
	require.True(t, table.Tracks(stopped, 7, []byte("k")))
	table.Changed(7, nil)
	require.Equal(t, []string{"k"}, toldStays.take())

	table.Track(stays, 7, []byte("k"))
	stays.Leave()
	require.Equal(t, Stats{Keys: 1, Items: 1}, table.Stats(), "the other may begin again")
	stopped.Leave()
	require.Equal(t, Stats{}, table.Stats())
	require.Zero(t, table.bytes.Load())
}

// Many clients of one key find themselves as few do, also where two keys have one hash.
func TestManyClientsOfAKey(t *testing.T) {
	t.Parallel()
	table := New()
	var clients []*Client
	var sinks []*told
	for i := range 3 * indexed {
		c, s := begin(table, int64(i), false)
		clients, sinks = append(clients, c), append(sinks, s)
		for _, key := range []string{"k", "k", "other"}[i%3:] {
			table.Track(c, 7, []byte(key))
		}
	}
	for i, c := range clients {
		require.Equal(t, i%3 < 2, table.Tracks(c, 7, []byte("k")))
		require.True(t, table.Tracks(c, 7, []byte("other")))
		require.False(t, table.Tracks(c, 7, []byte("third")))
	}
	require.EqualValues(t, 5*indexed, table.Stats().Items)
	table.Changed(7, nil)
	for i, s := range sinks {
		require.Len(t, s.take(), []int{2, 2, 1}[i%3])
	}
}

func TestEverythingChanges(t *testing.T) {
	t.Parallel()
	table := New()
	a, toldA := begin(table, 1, true)
	_, toldB := begin(table, 2, false)
	table.Missed()
	require.Empty(t, toldA.take(), "nothing was tracked yet")
	table.Track(a, 7, []byte("k"))
	table.Expires(7, time.Now())
	table.Missed()
	table.Missed()
	require.Equal(t, []string{"*"}, toldA.take(), "once")
	require.Equal(t, []string{"*"}, toldB.take(), "all clients, as in Redis")
	require.Equal(t, Stats{Clients: 2}, table.Stats())
	table.Tick(time.Now().Add(time.Hour))
	table.Changed(7, nil)
	require.Empty(t, toldA.take())

	before := table.Told()
	table.Flushed(a, before)
	require.Equal(t, []string{"* own"}, toldA.take(), "a flush is told in any case, and NOLOOP does not matter")
	table.Flushed(a, before)
	require.Empty(t, toldA.take(), "somebody else was quicker")
	table.Track(a, 7, []byte("k"))
	table.Flushed(a, before)
	require.Equal(t, []string{"* own"}, toldA.take(), "but a key was read since")
}

func TestExpiry(t *testing.T) {
	t.Parallel()
	table := New()
	a, toldA := begin(table, 1, false)
	now := time.Now()
	at := func(seconds int) time.Time { return now.Add(time.Duration(seconds) * time.Second) }
	for i, seconds := range []int{5, 3, 9, 1, 7} {
		hash := int64(i * shards) // of one shard
		table.Track(a, hash, fmt.Append(nil, seconds))
		table.Expires(hash, at(seconds+10))
		table.Expires(hash, at(seconds))
		table.Expires(hash, at(seconds+1))
	}
	table.Expires(4711, at(0)) // not tracked
	table.Changed(0, nil)      // 5
	require.Equal(t, []string{"5"}, toldA.take())
	table.Tick(at(3))
	require.Equal(t, []string{"1", "3"}, toldA.take())
	table.Tick(at(8))
	require.Equal(t, []string{"7"}, toldA.take())
	table.Track(a, 2*shards, []byte("9"))
	table.Tick(at(20))
	require.Equal(t, []string{"9"}, toldA.take())
	require.Equal(t, Stats{Clients: 1}, table.Stats())
	for i := range table.shards {
		require.Empty(t, table.shards[i].expiries)
	}
}

func TestBoundOfKeys(t *testing.T) {
	t.Parallel()
	table := New()
	a, toldA := begin(table, 1, false)
	table.SetMaxKeys(10)
	for i := range int64(100) {
		table.Track(a, i*shards, fmt.Append(nil, i)) // of one shard
		require.True(t, table.Tracks(a, i*shards, fmt.Append(nil, i)), "the newest one stays")
	}
	require.EqualValues(t, 10, table.Stats().Keys)
	list := toldA.take()
	require.Len(t, list, 90)
	slices.Sort(list)
	require.Len(t, slices.Compact(list), 90)
	table.SetMaxKeys(5)
	for i := range int64(5) {
		table.Track(a, (100+i)*shards, []byte("k"))
	}
	require.EqualValues(t, 5, table.Stats().Keys)
	table.SetMaxKeys(0)
	for i := range int64(100) {
		table.Track(a, i, []byte("k"))
	}
	require.Greater(t, table.Stats().Keys, int64(100))
}

// Long keys do not make the table large.
func TestBoundOfBytes(t *testing.T) {
	t.Parallel()
	table := New()
	a, _ := begin(table, 1, false)
	b, _ := begin(table, 2, false)
	key := make([]byte, 64<<10)
	table.Track(a, 7, key)
	table.Track(b, 7, key)
	require.Less(t, table.bytes.Load(), int64(len(key))+500, "clients share the memory of a key")
	for i := range int64(2 * maxBytes / len(key)) {
		key[0], key[1], key[2] = byte(i), byte(i>>8), byte(i>>16)
		table.Track(a, i, key)
		require.LessOrEqual(t, table.bytes.Load(), int64(maxBytes+shards*(len(key)+500)))
	}
	require.Greater(t, table.bytes.Load(), int64(maxBytes/2))
	table.Missed()
	require.Zero(t, table.bytes.Load())
}

// reader is a client that keeps what it reads, by the rules of the package.
type reader struct {
	client *Client
	queue  *told // replies and invalidations, in the order of the connection
	read   func() string
	yield  func()
}

// call reads as a command does whose reply has its place before the read begins.
func (r *reader) call(table *Table) {
	var answer string
	r.queue.add("place", false)
	r.yield()
	table.Track(r.client, 7, []byte("k"))
	r.yield()
	answer = r.read()
	r.queue.answer(answer)
}

// recall reads as memory answers: the reply has its place afterwards.
func (r *reader) recall(table *Table) {
	table.Track(r.client, 7, []byte("k"))
	r.yield()
	answer := r.read()
	r.yield()
	r.queue.add(answer, false)
	r.yield()
	if !table.Tracks(r.client, 7, []byte("k")) {
		r.queue.add("k", false)
	}
}

// answer puts an answer where it has its place.
func (s *told) answer(what string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.list[slices.Index(s.list, "place")] = what
}

// copy is what the client has when it has read all that was sent.
func (r *reader) copy() (copy string) {
	for _, what := range r.queue.take() {
		switch what {
		case "k", "*":
			copy = ""
		default:
			copy = what
		}
	}
	return copy
}

// A key is written while clients read it, step by step in random order. Each client must
// end up with the new value or none.
func TestNoInvalidationIsLost(t *testing.T) {
	t.Parallel()
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	kept := 0
	for round := range 20_000 {
		table := New()
		var value, memory atomic.Pointer[string]
		old, next := "old", "new"
		value.Store(&old)
		memory.Store(&old)
		steps := newSteps(rand.New(rand.NewPCG(seed, uint64(round))))
		readers := make([]*reader, 2)
		for i := range readers {
			client, queue := begin(table, int64(i), false)
			r := &reader{client: client, queue: queue}
			readers[i] = r
			steps.add(func(yield func()) {
				r.yield = yield
				if i == 0 {
					r.read = func() string { return *value.Load() }
					r.call(table)
				} else {
					r.read = func() string { return *memory.Load() }
					r.recall(table)
				}
			})
		}
		steps.add(func(yield func()) {
			value.Store(&next) // the commit
			yield()
			memory.Store(&next) // a poll invalidates
			yield()
			if round%5 == 0 {
				table.Missed()
			} else {
				table.Changed(7, nil)
			}
		})
		steps.run()
		for i, r := range readers {
			switch copy := r.copy(); copy {
			case "new":
				kept++
			case "":
			default:
				t.Fatalf("round %d: client %d keeps %q, and nothing ends that", round, i, copy)
			}
		}
	}
	require.Positive(t, kept)
}

// steps run functions one step at a time, in a random order.
type steps struct {
	rng     *rand.Rand
	resumes []func() bool // goes on until the next yield; false: the function is over
}

func newSteps(rng *rand.Rand) *steps { return &steps{rng: rng} }

func (s *steps) add(fn func(yield func())) {
	next, _ := iter.Pull(func(yield func(struct{}) bool) { fn(func() { yield(struct{}{}) }) })
	s.resumes = append(s.resumes, func() bool {
		_, more := next()
		return more
	})
}

func (s *steps) run() {
	for len(s.resumes) > 0 {
		i := s.rng.IntN(len(s.resumes))
		if !s.resumes[i]() {
			s.resumes = slices.Delete(s.resumes, i, i+1)
		}
	}
}

// What was registered and not read is as if it had never been registered.
func TestUntrack(t *testing.T) {
	t.Parallel()
	table := New()
	a, toldA := begin(table, 1, false)
	b, toldB := begin(table, 2, false)
	require.True(t, table.Track(a, 7, []byte("k")))
	require.False(t, table.Track(a, 7, []byte("k")))
	require.True(t, table.Track(b, 7, []byte("k")))
	require.True(t, table.Track(a, 7, []byte("same hash")))
	before := table.bytes.Load()
	for _, key := range []string{"another", "k"} {
		table.Untrack(a, 7, []byte(key))
	}
	require.False(t, table.Tracks(a, 7, []byte("k")))
	require.EqualValues(t, itemOverhead, before-table.bytes.Load(), "another client has the key")
	table.Changed(7, nil)
	require.Equal(t, []string{"same hash"}, toldA.take())
	require.Equal(t, []string{"k"}, toldB.take())
	for i := range 2 * indexed {
		c, _ := begin(table, int64(10+i), false)
		table.Track(c, 8, []byte("k"))
		defer table.Untrack(c, 8, []byte("k"))
	}
	require.True(t, table.Track(a, 8, []byte("k")))
	table.Untrack(a, 8, []byte("k"))
	require.True(t, table.Track(a, 8, []byte("k")))
	table.Untrack(a, 8, []byte("k"))
	require.True(t, table.Track(a, 9, []byte("k")))
	table.Untrack(a, 9, []byte("k"))
	table.Untrack(a, 9, []byte("k"))
	require.Equal(t, Stats{Clients: int64(2 + 2*indexed), Keys: 1, Items: 2 * indexed}, table.Stats())
}
