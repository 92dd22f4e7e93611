package coherence

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

const ms = int64(time.Millisecond)

// story is a history of one key, told in milliseconds. The calendar and the
// monotonic clock are the same here.
type story struct {
	writes  []Write
	changes []Change
	reads   []Read
	held    int64
}

// write adds a write that took effect between two times; acked 0 is an unknown
// outcome, and process 2 is nobody of the readers.
func (s *story) write(value int64, process int, sent, acked int64) *story {
	w := Write{Value: value, Process: process, Sent: sent * ms, SentReal: sent * 1000}
	if acked != 0 {
		w.Acked, w.AckedReal = acked*ms, acked*1000
	}
	s.writes = append(s.writes, w)
	return s.change(value, sent+1)
}

func (s *story) change(value, at int64) *story {
	n := int64(len(s.changes) + 1)
	c := Change{Number: n, Old: s.held, New: value, At: at * 1000}
	if value != Absent {
		c.Version = n
	}
	s.held = value
	s.changes = append(s.changes, c)
	return s
}

func (s *story) read(value, begin, end int64) *story {
	s.reads = append(s.reads, Read{Process: 1, Value: value, Begin: begin * ms, End: end * ms, Source: Memory})
	return s
}

func (s *story) judge(t *testing.T) *Verdict {
	t.Helper()
	h, err := Order(s.changes, s.writes, nil)
	require.NoError(t, err)
	return h.Judge(s.reads, 100*time.Millisecond)
}

func TestRules(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		story *story
		rules map[Rule]int
	}{
		"a hit within the bound": {new(story).write(10, 2, 0, 5).write(11, 2, 10, 20).read(10, 119, 119), nil},
		"a hit beyond it":        {new(story).write(10, 2, 0, 5).write(11, 2, 10, 20).read(10, 121, 121), map[Rule]int{Stale: 1}},
		"a reader that was stopped": {
			new(story).write(10, 2, 0, 5).write(11, 2, 10, 20).read(10, 119, 5000), nil},
		"an unknown outcome, either way": {
			new(story).write(10, 2, 0, 5).write(11, 2, 10, 0).read(10, 5000, 5000).read(11, 5001, 5001), nil},
		"an absent key beyond the bound": {
			new(story).write(10, 2, 0, 5).read(Absent, 106, 106), map[Rule]int{Stale: 1}},
		"a deletion not heard of": {
			new(story).write(10, 2, 0, 5).write(Absent, 2, 10, 20).read(10, 121, 121), map[Rule]int{Stale: 1}},
		"absent, before and after the only value": {
			new(story).write(10, 2, 40, 45).write(Absent, 2, 200, 220).read(Absent, 10, 20).read(10, 50, 60).read(Absent, 220, 221), nil},
		"absent, but the deletion came later": {
			new(story).write(10, 2, 0, 5).write(Absent, 2, 800, 810).read(Absent, 300, 310), map[Rule]int{Stale: 1}},
		"its own write": {
			new(story).write(10, 2, 0, 5).write(11, 1, 10, 20).read(10, 15, 16).read(11, 21, 22), nil},
		"its own write not read": {
			new(story).write(10, 2, 0, 5).write(11, 1, 10, 20).read(10, 21, 22), map[Rule]int{OwnWrite: 1}},
		"its own deletion not read": {
			new(story).write(10, 2, 0, 5).write(Absent, 1, 10, 20).read(10, 21, 22), map[Rule]int{OwnWrite: 1}},
		"backwards": {
			new(story).write(10, 2, 0, 5).write(11, 2, 10, 20).read(11, 21, 22).read(10, 23, 24), map[Rule]int{Backwards: 1}},
		"two reads at a time in either order": {
			new(story).write(10, 2, 0, 5).write(11, 2, 10, 20).read(11, 21, 25).read(10, 22, 24), nil},
		"backwards over a read that overlaps both": {
			new(story).write(10, 2, 0, 5).write(11, 2, 10, 20).read(10, 21, 40).read(11, 22, 24).read(10, 25, 26), map[Rule]int{Backwards: 1}},
		"backwards behind an absent key": {
			new(story).write(10, 2, 0, 5).write(Absent, 2, 10, 20).read(10, 12, 13).read(Absent, 21, 22).read(10, 23, 24), map[Rule]int{Backwards: 1}},
		"a value that was rolled back": {
			new(story).write(10, 2, 0, 5).read(99, 10, 11), map[Rule]int{Uncommitted: 1}},
	} {
		t.Run(name, func(t *testing.T) {
			v := test.story.judge(t)
			if test.rules == nil {
				require.Empty(t, v.Broken, v.First)
				return
			}
			require.Equal(t, test.rules, v.Broken, v.First)
		})
	}
}

// What PostgreSQL itself answers has no bound to excuse it.
func TestLateAnswer(t *testing.T) {
	t.Parallel()
	s := new(story).write(10, 2, 0, 5).write(11, 2, 10, 20).read(10, 21, 22)
	s.reads[0].Source = Database
	require.Equal(t, map[Rule]int{Late: 1}, s.judge(t).Broken)
}

// A client that keeps copies is held to what it has been told, and to all that its own server had acknowledged when the
// client sent its last command.
func TestClientCopies(t *testing.T) {
	t.Parallel()
	const server = 7
	for name, test := range map[string]struct {
		writer      int // of the value that replaced the copy, acknowledged at 20
		told, fence int64
		rules       map[Rule]int
	}{
		"not told yet":            {2, 19, 90, nil},
		"told":                    {2, 21, 90, map[Rule]int{Kept: 1}},
		"its server has written":  {server, 19, 21, map[Rule]int{OwnWrite: 1}},
		"its server writes":       {server, 19, 19, nil},
		"its server writes again": {2, 21, 45, nil}, // from 40 to 50
	} {
		t.Run(name, func(t *testing.T) {
			s := new(story).write(10, 2, 0, 5).write(11, test.writer, 10, 20).read(10, 900, 900)
			if test.fence == 45 {
				s.write(12, server, 40, 50)
			}
			s.reads[0].Server, s.reads[0].Told, s.reads[0].Fence = server, test.told*ms, test.fence*ms
			v := s.judge(t)
			if test.rules == nil {
				require.Empty(t, v.Broken, v.First)
			} else {
				require.Equal(t, test.rules, v.Broken, v.First)
			}
			require.Equal(t, map[int][]time.Duration{1: {880 * time.Millisecond}}, v.Ages)
		})
	}
}

func TestCloseHitsAreCounted(t *testing.T) {
	t.Parallel()
	s := new(story).write(10, 2, 0, 5).write(11, 1, 400, 405).
		read(10, 6, 7).read(10, 304, 304).read(10, 306, 306).read(11, 406, 406)
	v := s.judge(t)
	require.Empty(t, v.Broken)
	require.Equal(t, 4, v.Hits)
	require.Equal(t, 2, v.Close, "not the one beyond three bounds, nor that behind an own write")
}

func TestWorstIsMeasured(t *testing.T) {
	t.Parallel()
	s := new(story).write(10, 2, 0, 5).write(11, 2, 10, 20).read(10, 150, 151).read(10, 420, 421)
	v := s.judge(t)
	require.Equal(t, 300*time.Millisecond, v.Worst[Stale])
}

func TestLedgerWithAGapIsRefused(t *testing.T) {
	t.Parallel()
	s := new(story).write(10, 2, 0, 5).write(11, 2, 10, 20)
	s.changes[1].Old = 12
	_, err := Order(s.changes, s.writes, nil)
	require.EqualError(t, err, "entry 2 of the ledger replaces 12 in key-0000, which held 10")
}

// After a crash a key of an UNLOGGED cache may be absent, and only of one.
func TestCrashesEmptyUnloggedCaches(t *testing.T) {
	t.Parallel()
	s := new(story).write(10, 2, 0, 5)
	s.held = Absent
	s.write(11, 2, 500, 505).read(10, 20, 21).read(Absent, 400, 401).read(11, 506, 507)
	crash := Crash{From: 200_000, To: 300_000}
	_, err := Order(s.changes, s.writes, []Crash{crash})
	require.Error(t, err)
	crash.Caches = []int{0}
	h, err := Order(s.changes, s.writes, []Crash{crash})
	require.NoError(t, err)
	require.Empty(t, h.Judge(s.reads, 100*time.Millisecond).First)
	s.read(10, 700, 701)
	v := h.Judge(s.reads, 100*time.Millisecond)
	require.Equal(t, map[Rule]int{Stale: 1, Backwards: 1}, v.Broken)
}

// After a crash a key is absent, although its cache is flushed much later.
func TestFlushAfterACrash(t *testing.T) {
	t.Parallel()
	s := new(story).write(10, 2, 0, 5)
	s.writes = append(s.writes, Write{Key: All, Sent: 900 * ms, SentReal: 900_000, Acked: 910 * ms, AckedReal: 910_000})
	s.changes = append(s.changes, Change{Number: 2, Key: All, At: 905_000})
	s.read(Absent, 400, 401)
	require.Equal(t, map[Rule]int{Stale: 1}, s.judge(t).Broken, "there was no crash")
	h, err := Order(s.changes, s.writes, []Crash{{From: 200_000, To: 300_000, Caches: []int{0}}})
	require.NoError(t, err)
	require.Empty(t, h.Judge(s.reads, 100*time.Millisecond).Broken)
}

// A flush ends the states of all keys of its cache.
func TestFlush(t *testing.T) {
	t.Parallel()
	s := new(story).write(10, 2, 0, 5)
	s.writes = append(s.writes, Write{Key: All, Sent: 10 * ms, SentReal: 10_000, Acked: 20 * ms, AckedReal: 20_000})
	s.changes = append(s.changes, Change{Number: 2, Key: All, At: 15_000})
	s.read(10, 100, 101).read(Absent, 102, 103).read(10, 121, 122)
	v := s.judge(t)
	require.Equal(t, map[Rule]int{Stale: 1, Backwards: 1}, v.Broken)
}

// A deletion that two calls may have made is the acknowledged one of neither.
func TestDeletionsThatCannotBeToldApart(t *testing.T) {
	t.Parallel()
	s := new(story).write(10, 2, 0, 5).write(Absent, 2, 100, 200)
	s.writes = append(s.writes, Write{Process: 2, Sent: 100 * ms, SentReal: 100_000, Acked: 110 * ms, AckedReal: 110_000})
	s.read(10, 500, 501)
	h, err := Order(s.changes, s.writes, nil)
	require.NoError(t, err)
	require.Equal(t, 1, h.Unmatched)
	require.Empty(t, h.Judge(s.reads, 100*time.Millisecond).Broken)
}

// The tag of a transaction says whose deletion it was.
func TestTags(t *testing.T) {
	t.Parallel()
	s := new(story).write(10, 2, 0, 5).write(Absent, 2, 100, 200).write(Absent, 3, 100, 300)
	s.writes[1].Tag, s.changes[1].Tag = 7, 7
	s.changes = s.changes[:2]
	s.read(10, 350, 351)
	require.Equal(t, map[Rule]int{Stale: 1}, s.judge(t).Broken)
}
