package near

import (
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// stage is a Memory whose clock and polls the test moves by hand.
type stage struct {
	t      *testing.T
	m      *Memory
	c      *Cache
	now    Instant
	answer Answer // of the next poll, except the snapshot
}

const (
	stageBound = 100 * time.Millisecond
	stageStart = 7
	hash       = 4711
)

var name = []byte("key")

// newStage has a lease, and nothing in memory.
func newStage(t *testing.T) *stage {
	s := &stage{t: t, now: Instant{int64(time.Hour), int64(2 * time.Hour)}}
	m, err := New(Options{Bound: stageBound, Bytes: MinBytes, Poll: noPoll})
	require.NoError(t, err)
	m.clock = func() Instant { return s.now }
	s.m, s.c = m, m.Cache(1, true)
	require.True(t, m.enter())
	s.answer = Answer{Start: stageStart, Lit: true, Incarnation: [16]byte{1}, Tick: 10}
	s.poll("10:10:")
	return s
}

// poll applies a poll that was sent and answered now.
func (s *stage) poll(snapshot string, changes ...Change) {
	s.t.Helper()
	a := s.answer
	a.Snapshot, a.Changes = snapshot, changes
	require.NoError(s.t, s.m.apply(s.m.send(), a))
}

func (s *stage) pass(mono, wall time.Duration) {
	s.now = Instant{s.now.mono + int64(mono), s.now.wall + int64(wall)}
}

func (s *stage) read() Token { return s.c.Begin(hash) }

func (s *stage) fill(t Token, value string, version int64) {
	s.c.Fill(t, name, Entry{Value: []byte(value), Version: version}, stageStart)
}

// serves tells that memory answers with a value.
func (s *stage) serves(value string) {
	s.t.Helper()
	e, ok := s.c.Get(name)
	require.True(s.t, ok, "memory does not answer")
	require.Equal(s.t, value, string(e.Value))
}

func (s *stage) misses(why string) {
	s.t.Helper()
	_, ok := s.c.Get(name)
	require.False(s.t, ok, why)
}

func changed(hashes ...int64) Change { return Change{Cache: 1, Hashes: hashes} }

func TestHit(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.misses("nothing is there")
	key := []byte("key")
	s.c.Fill(s.read(), key, Entry{Value: []byte("v"), Version: 3, Kind: 2}, stageStart)
	key[0] = 'x' // the caller's buffer is its own again
	e, ok := s.c.Get(name)
	require.True(t, ok)
	require.Equal(t, Entry{Value: []byte("v"), Version: 3, Kind: 2}, e)
	var entries [Batch]Entry
	hits, run := s.c.GetBatch([][]byte{[]byte("other"), name}, &entries, 1<<30)
	require.Equal(t, uint32(1<<1), hits)
	require.Zero(t, run)
	require.Equal(t, e, entries[1])
	_, ok = s.m.Cache(2, false).Get(name)
	require.False(t, ok, "the key of another cache")

	s.c.Fill(s.c.Begin(5), []byte("none"), Entry{Absent: true}, stageStart)
	e, ok = s.c.Get([]byte("none"))
	require.True(t, ok)
	require.True(t, e.Absent)
	stats := s.m.Stats()
	require.EqualValues(t, 2, stats.Hits)
	require.EqualValues(t, 1, stats.AbsentHits)
	require.EqualValues(t, 2, stats.Misses)
	require.EqualValues(t, 2, stats.Fills)
	require.Equal(t, 2, stats.Entries)
}

// A change that a poll reports while a read is on its way may be missing in the
// answer of the read.
func TestStaleFill(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	token := s.read()
	s.poll("11:11:", changed(hash))
	s.fill(token, "old", 1)
	s.misses("the token is older than the change")
	require.EqualValues(t, 1, s.m.Stats().Refused.Overtaken)

	s.fill(s.read(), "new", 2)
	s.serves("new")
	s.poll("12:12:", changed(1, 2, hash))
	s.misses("the entry is older than the change")
	s.fill(s.read(), "newer", 3)
	s.poll("13:13:", changed(hash+1), Change{Cache: 9, Hashes: []int64{hash}})
	s.serves("newer")
}

// Two reads overlap; the second one saw a newer value. Hits must not go back
// behind what any caller was told.
func TestOverlappingReads(t *testing.T) {
	t.Parallel()
	t.Run("the newer one is answered last", func(t *testing.T) {
		s := newStage(t)
		a, b := s.read(), s.read()
		s.fill(a, "old", 1)
		s.fill(b, "new", 2)
		s.misses("a caller was told \"new\"")
	})
	t.Run("the newer one is answered first", func(t *testing.T) {
		s := newStage(t)
		a, b := s.read(), s.read()
		s.fill(b, "new", 2)
		s.serves("new")
		s.fill(a, "old", 1)
		e, ok := s.c.Get(name)
		require.True(t, !ok || string(e.Value) == "new")
	})
	t.Run("the newer one is not kept", func(t *testing.T) {
		for what, refuse := range map[string]func(*stage, Token){
			"another server": func(s *stage, b Token) {
				s.c.Fill(b, name, Entry{Value: []byte("new"), Version: 2}, stageStart+1)
			},
			"too large": func(s *stage, b Token) {
				s.c.Fill(b, name, Entry{Value: make([]byte, MinBytes/8), Version: 2}, stageStart)
			},
			"a read that bypasses memory": func(s *stage, _ Token) { s.c.Bump(hash) },
		} {
			s := newStage(t)
			a, b := s.read(), s.read()
			refuse(s, b)
			s.fill(a, "old", 1)
			s.misses(what)

			s = newStage(t)
			a, b = s.read(), s.read()
			s.fill(a, "old", 1)
			refuse(s, b)
			s.misses(what)
		}
	})
	t.Run("absent, and an empty value", func(t *testing.T) {
		s := newStage(t)
		a, b := s.read(), s.read()
		s.c.Fill(a, name, Entry{Absent: true}, stageStart)
		s.c.Fill(b, name, Entry{}, stageStart)
		s.misses("a caller was told that the key is there")
	})
	t.Run("a third one, begun before, is older than both", func(t *testing.T) {
		s := newStage(t)
		a := s.read()
		s.c.Bump(hash)
		b := s.read()
		c := s.read()
		s.fill(b, "new", 2) // refuses c, which has another answer
		s.fill(a, "oldest", 0)
		s.misses("refused answers invalidate other ones")
		s.fill(c, "old", 1)
		s.misses("a caller was told \"new\"")
	})
	t.Run("all of them saw the same", func(t *testing.T) {
		s := newStage(t)
		a, b, c := s.read(), s.read(), s.read()
		s.fill(a, "v", 1)
		s.fill(b, "v", 1)
		s.serves("v")
		s.fill(c, "v", 1)
		s.serves("v")
		require.EqualValues(t, 2, s.m.Stats().Refused.Same)
	})
	t.Run("the same, but for the version", func(t *testing.T) {
		s := newStage(t)
		a, b := s.read(), s.read()
		s.fill(a, "v", 1)
		s.fill(b, "v", 2)
		s.misses("a program may compare versions")
	})
}

// Reads of a hot key overlap all the time: one is always sent before the one
// before it is answered. After a change the key must be in memory again soon.
func TestHotKeyIsKept(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.fill(s.read(), "old", 1)
	before := s.read()
	s.poll("11:11:", changed(hash))
	token := s.read()
	s.fill(before, "old", 1)
	for range 2 {
		next := s.read()
		s.fill(token, "new", 2)
		token = next
	}
	s.serves("new")
	s.fill(token, "new", 2)
	s.serves("new")

	// Another key of the slot does not stand in the way.
	s = newStage(t)
	before = s.read()
	s.c.Bump(hash)
	token = s.read()
	s.fill(before, "v", 1)
	s.c.Fill(s.read(), []byte("other"), Entry{}, stageStart)
	s.fill(token, "v", 1)
	s.serves("v")

	// Equal answers say nothing about another answer before them.
	s = newStage(t)
	first := s.read()
	s.c.Bump(hash)
	second := s.read()
	third := s.read()
	s.fill(first, "a", 1)
	s.fill(second, "b", 2)
	fourth := s.read()
	s.fill(third, "a", 1)
	s.misses("answers a, b and a: nothing is known to be the newest")
	s.fill(fourth, "a", 1)
	s.serves("a")
}

func TestOwnWrite(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.fill(s.read(), "old", 1)
	before := s.read()
	s.c.Bump(hash) // submitted
	s.misses("a request behind the write must not overtake it")
	during := s.read()
	s.fill(before, "old", 1)
	s.misses("begun before the write")
	s.fill(during, "old", 1)
	s.c.Bump(hash) // answered
	s.misses("the caller must read its write")
	s.fill(s.read(), "new", 2)
	s.serves("new")
}

func TestParking(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.fill(s.read(), "old", 1)
	before := s.read()
	p := s.c.Park(hash)
	s.misses("parked")
	during := s.read()
	p.Until(20)
	s.fill(during, "old", 1)
	s.misses("parked")
	require.EqualValues(t, 1, s.m.Stats().Refused.Parked)
	require.Equal(t, 1, s.m.Stats().Parked)

	late := s.read()
	for _, running := range []string{"12:12:", "20:20:", "12:25:20", "12:25:13,20,22"} {
		s.poll(running)
		s.fill(s.read(), "old", 1)
		s.misses(running)
	}
	s.poll("12:25:13,22")
	require.Zero(t, s.m.Stats().Parked)
	s.fill(before, "old", 1)
	s.misses("begun before the parking")
	s.fill(late, "old", 1)
	s.misses("begun during the parking")
	require.EqualValues(t, 2, s.m.Stats().Refused.Overtaken)
	s.fill(s.read(), "new", 2)
	s.serves("new")
	p.Release()
	s.serves("new")
}

// The end of a parked write invalidates, also where nobody read meanwhile.
func TestParkingUnread(t *testing.T) {
	t.Parallel()
	for what, end := range map[string]func(*stage, *Parking){
		"release": func(_ *stage, p *Parking) { p.Release() },
		"poll":    func(s *stage, p *Parking) { p.Until(20); s.poll("21:21:") },
	} {
		s := newStage(t)
		s.fill(s.read(), "old", 1)
		token := s.read()
		end(s, s.c.Park(hash))
		s.misses(what)
		s.fill(token, "old", 1)
		s.misses(what)
	}
}

func TestParkingRolledBack(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.fill(s.read(), "old", 1)
	p, q := s.c.Park(hash), s.c.Park(hash)
	p.Until(20)
	p.Release()
	s.fill(s.read(), "old", 1)
	s.misses("another transaction has written it, too")
	q.Release()
	q.Release()
	q.Until(21)
	s.misses("entries from before are not valid any more")
	s.fill(s.read(), "old", 1)
	s.serves("old")
	require.Zero(t, s.m.Stats().Parked)
}

// A poll that was sent before the xid was known may have asked a server that was
// replaced since, and that had given the same xid.
func TestParkingAndLatePoll(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	sent := s.m.send()
	p := s.c.Park(hash)
	p.Until(20)
	late := s.answer
	late.Snapshot = "30:30:"
	require.NoError(t, s.m.apply(sent, late))
	require.Equal(t, 1, s.m.Stats().Parked)
	s.poll("30:30:")
	require.Zero(t, s.m.Stats().Parked)
}

// A transaction wrote before Run was called, and is open still.
func TestParkingBeforeRun(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.fill(s.read(), "old", 1)
	s.m.leave()
	for _, xid := range []uint64{19, 21, 20} {
		s.c.Park(hash).Until(xid)
	}
	s.c.Park(hash).Release()
	require.Zero(t, s.m.Stats().Parked, "without polls nothing would end it")
	require.True(t, s.m.enter())
	for _, open := range []string{"10:10:", "20:25:20", "21:21:", "20:22:20", "21:25:21"} {
		s.poll(open)
		s.fill(s.read(), "old", 1)
		s.misses(open)
	}
	s.poll("22:25:22", changed(hash)) // the row of the last one
	s.misses("begun before the end of the transactions")
	s.fill(s.read(), "new", 2)
	s.serves("new")
}

// The server is replaced while a write is parked. Its xid may never come.
func TestParkingOutlivesItsServer(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	p := s.c.Park(hash)
	p.Until(500)
	unsaid := s.c.Park(hash + 1)
	s.answer.Start++
	s.poll("30:30:")
	s.pass(patience, patience)
	s.poll("30:30:")
	require.Equal(t, 2, s.m.Stats().Parked, "it may be of the new server")
	s.pass(1, 1)
	s.poll("30:30:")
	require.Equal(t, 1, s.m.Stats().Parked)
	unsaid.Release()
	require.Zero(t, s.m.Stats().Parked)
}

func TestLease(t *testing.T) {
	t.Parallel()
	const b = stageBound
	for name, c := range map[string]struct {
		mono, wall time.Duration
		served     bool
	}{
		"at once":                           {0, 0, true},
		"one ns before its end":             {b - 1, b - 1, true},
		"at its end":                        {b, b, false},
		"the machine slept":                 {time.Millisecond, b, false},
		"the machine slept for a day":       {0, 24 * time.Hour, false},
		"the wall clock was set back":       {b, -time.Hour, false},
		"set back, with time left":          {b - 1, -time.Hour, true},
		"the wall clock was set forward":    {1, time.Hour, false},
		"the process was stopped for a day": {24 * time.Hour, 24 * time.Hour, false},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStage(t)
			s.fill(s.read(), "v", 1)
			s.pass(c.mono, c.wall)
			_, ok := s.c.Get([]byte("key"))
			require.Equal(t, c.served, ok)
			var entries [Batch]Entry
			_, run := s.c.GetBatch([][]byte{[]byte("key")}, &entries, 1<<30)
			require.Equal(t, c.served, run == 1)
			s.poll("11:11:")
			s.serves("v") // nothing was lost meanwhile
		})
	}
}

// The lease begins when the poll is sent, however long the answer takes.
func TestLeaseBeginsWhenThePollIsSent(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.fill(s.read(), "v", 1)
	sent := s.now
	s.pass(stageBound/2, stageBound/2)
	a := s.answer
	a.Snapshot = "11:11:"
	require.NoError(t, s.m.apply(sent, a))
	s.pass(stageBound/2-1, stageBound/2-1)
	s.serves("v")
	stats := s.m.Stats()
	require.EqualValues(t, stageBound-1, stats.MaxAge)
	require.EqualValues(t, 1, stats.Ages[AgeBuckets-1])
	s.pass(1, 1)
	s.misses("the lease is over")
	require.EqualValues(t, 1, s.m.Stats().Lapsed)
}

// What makes a cursor worthless drops everything, reads on their way included.
func TestReset(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change func(*Answer)
		count  func(Drops) uint64
	}{
		"incarnation": {func(a *Answer) { a.Incarnation[15]++ }, func(d Drops) uint64 { return d.Incarnation }},
		"start":       {func(a *Answer) { a.Start++ }, func(d Drops) uint64 { return d.Server }},
		"floor":       {func(a *Answer) { a.Floor, a.Tick = 11, 14 }, func(d Drops) uint64 { return d.Floor }},
		"overflow":    {func(a *Answer) { a.Overflow = true }, func(d Drops) uint64 { return d.Overflow }},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStage(t)
			s.fill(s.read(), "old", 1)
			token := s.c.Begin(hash + 1)
			c.change(&s.answer)
			s.poll("11:11:")
			s.misses(name)
			require.EqualValues(t, 1, c.count(s.m.Stats().Drops))
			s.c.Fill(token, []byte("other"), Entry{}, s.answer.Start)
			_, ok := s.c.Get([]byte("other"))
			require.False(t, ok)
			require.EqualValues(t, 1, s.m.Stats().Refused.Reset)
			s.c.Fill(s.read(), []byte("key"), Entry{Value: []byte("new")}, s.answer.Start)
			s.serves("new")
			s.answer.Overflow = false
			s.poll("12:12:")
			s.serves("new")
		})
	}
}

// At the floor itself nothing was missed.
func TestFloorBoundary(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.fill(s.read(), "v", 1)
	s.answer.Floor, s.answer.Tick = 10, 13
	s.poll("11:11:")
	s.serves("v")
	s.answer.Floor, s.answer.Tick = 14, 17
	s.poll("12:12:")
	s.misses("the floor is above the tick of the last poll")
}

func TestUnlit(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.fill(s.read(), "v", 1)
	token := s.read()
	unlit := s.answer
	unlit.Lit, unlit.Snapshot = false, "11:11:"
	require.ErrorIs(t, s.m.apply(s.now, unlit), errUnlit)
	require.Equal(t, Cursor{}, s.m.follow.cursor)
	s.misses("there is no change log")
	s.fill(token, "v", 1)
	s.fill(s.read(), "v", 1)
	require.ErrorIs(t, s.m.apply(s.now, unlit), errUnlit)
	during := s.read()
	s.answer.Incarnation[0]++
	s.poll("12:12:")
	s.misses("nothing was kept")
	s.fill(during, "v", 1)
	s.misses("begun before the first poll of the new log")
	s.fill(s.read(), "v", 1)
	s.serves("v")
	require.Equal(t, Drops{First: 2, Unlit: 1}, s.m.Stats().Drops)
}

func TestFillFromAnotherServer(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.c.Fill(s.read(), name, Entry{Value: []byte("replica's")}, stageStart+1)
	s.misses("its snapshots are not the primary's")
	require.EqualValues(t, 1, s.m.Stats().Refused.Server)
}

func TestStranded(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	volatile := s.m.Cache(2, false)
	read := func() bool { _, ok := volatile.Get(name); return ok }
	s.fill(s.read(), "v", 1)
	s.answer.Stranded = true
	s.answer.Incarnation[0]++
	s.poll("11:11:")
	token := s.read()
	s.fill(token, "v", 1)
	s.misses("a prepared write of it may be on its way")
	require.EqualValues(t, 1, s.m.Stats().Refused.Stranded)
	token = s.read()
	volatile.Fill(volatile.Begin(hash), name, Entry{}, stageStart)
	require.True(t, read())
	s.answer.Stranded = false
	s.poll("12:12:")
	s.fill(token, "v", 1)
	s.misses("begun while it was stranded")
	require.True(t, read())
	s.fill(s.read(), "v", 1)
	s.serves("v")
}

func TestDropAll(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	other := s.m.Cache(2, false)
	other.Fill(other.Begin(hash), name, Entry{}, stageStart)
	for _, drop := range []func(){s.c.DropAll, func() { s.poll("11:11:", Change{Cache: 1}) }} {
		s.fill(s.read(), "v", 1)
		s.serves("v")
		token := s.read()
		drop()
		s.misses("flushed")
		s.fill(token, "v", 1)
		s.misses("begun before the flush")
	}
	require.EqualValues(t, 2, s.m.Stats().Refused.Overtaken)
	s.fill(s.read(), "v", 1)
	s.poll("12:12:", Change{Cache: 3}, Change{Cache: 1, Hashes: []int64{}})
	s.serves("v")
	_, ok := other.Get(name)
	require.True(t, ok)
	require.EqualValues(t, 2, s.m.Stats().Drops.Flush)
}

func TestSameHandle(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.fill(s.read(), "v", 1)
	again := s.m.Cache(1, true)
	require.Same(t, s.c, again)
	require.NotSame(t, s.c, s.m.Cache(-1, true))
	s.m.Cache(1, false)
	s.answer.Stranded = true
	s.poll("11:11:")
	s.serves("v") // it is not durable any more
	s.m.Cache(1, true)
	s.misses("durable, and stranded")
}

func TestExpiry(t *testing.T) {
	t.Parallel()
	for name, pass := range map[string][2]time.Duration{
		"mono": {time.Second, -time.Hour},
		"wall": {0, time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStage(t)
			// The clock of the stage: a time is as far from the base as its
			// monotonic reading says.
			expires := func(d time.Duration) time.Time { return s.m.base.Add(time.Duration(s.now.mono) + d) }
			shift := s.m.base.UnixNano() + s.now.mono - s.now.wall
			s.m.clock = func() Instant { return Instant{s.now.mono, s.now.wall + shift} }
			s.poll("10:10:")
			v := *s.m.view.Load()
			v.end = Instant{math.MaxInt64, math.MaxInt64}
			s.m.view.Store(&v)
			s.c.Fill(s.read(), []byte("key"), Entry{Value: []byte("v"), Expires: expires(time.Second)}, stageStart)
			s.pass(pass[0]-1, pass[1]-1)
			s.serves("v")
			s.pass(1, 1)
			s.misses("expired")
			s.c.Fill(s.read(), []byte("key"), Entry{Value: []byte("v"), Expires: expires(time.Hour)}, stageStart)
			s.serves("v") // the same again
			s.c.Fill(s.read(), []byte("key"), Entry{Value: []byte("w"), Expires: expires(-1)}, stageStart)
			s.misses("expired before it came")
			require.EqualValues(t, 1, s.m.Stats().Refused.Expired)
		})
	}
}

func TestOptions(t *testing.T) {
	t.Parallel()
	good := Options{Bound: MinBound, Bytes: MinBytes, Poll: noPoll}
	for want, change := range map[string]func(*Options){
		"near: a bound of 9ms is not possible; choose one from 10ms to 10s": func(o *Options) { o.Bound = 9 * time.Millisecond },
		"near: a bound of 11s is not possible; choose one from 10ms to 10s": func(o *Options) { o.Bound = 11 * time.Second },
		"near: a budget of 4096 bytes is too small; give at least 1048576":  func(o *Options) { o.Bytes = 4096 },
		"near: Options.Poll is missing; it asks PostgreSQL for changes":     func(o *Options) { o.Poll = nil },
	} {
		o := good
		change(&o)
		_, err := New(o)
		require.EqualError(t, err, want)
	}
	_, err := New(good)
	require.NoError(t, err)
}

func TestParseSnapshot(t *testing.T) {
	t.Parallel()
	s, err := parseSnapshot("100:110:100,103,109")
	require.NoError(t, err)
	require.Equal(t, Cursor{Xmax: 110, Xip: []uint64{100, 103, 109}}, s.cursor())
	for xid, finished := range map[uint64]bool{
		3: true, 99: true, 100: false, 101: true, 102: true, 103: false, 108: true, 109: false, 110: false, math.MaxUint64: false,
	} {
		require.Equal(t, finished, s.finished(xid), xid)
	}
	s, err = parseSnapshot("18446744073709551615:18446744073709551615:")
	require.NoError(t, err)
	require.True(t, s.finished(math.MaxUint64-1))

	for _, text := range []string{
		"", "1", "1:2", "1:2:3:4", "0:1:", "2:1:", "a:2:", "1:b:", "1:2:c", "5:9:4", "5:9:9", "5:9:6,", "5:9:7,6", "5:9:6,6",
		"1:18446744073709551616:", "-1:2:", "1:2: 1",
	} {
		_, err := parseSnapshot(text)
		require.EqualError(t, err, fmt.Sprintf("near: %q is not a pg_snapshot; a poll answers pg_current_snapshot()", text))
	}
	m := newStage(t).m
	require.Error(t, m.apply(Instant{}, Answer{Snapshot: "?", Lit: true}))
}
