package near

import (
	"sync/atomic"
	"time"
)

const (
	// AgeBuckets is the number of buckets of Stats.Ages.
	AgeBuckets = 8
	// PollBuckets is the number of buckets of Stats.PollLatency.
	PollBuckets = 16
)

// PollBucket returns the longest poll that bucket i of Stats.PollLatency
// counts: 125 us for the first, then twice the one before. The last bucket
// counts all that took longer, too.
func PollBucket(i int) time.Duration { return 125 * time.Microsecond << i }

// Stats are counts since New, except Bytes, Entries and Parked.
type Stats struct {
	Hits       uint64 // reads answered from memory
	AbsentHits uint64 // hits that said that there is no entry
	Misses     uint64 // reads that had to ask PostgreSQL
	Lapsed     uint64 // misses with a valid entry in memory, but no lease

	// Ages is the histogram of hits by the age of the lease when they were
	// served: bucket i counts those from i to i+1 eighths of the bound.
	Ages   [AgeBuckets]uint64
	MaxAge time.Duration // age of the oldest hit

	Fills   uint64 // answers, and writes of this process, kept
	Refused Refusals
	Drops   Drops

	Polls       uint64              // polls that were answered
	FailedPolls uint64              // polls that gave an error, or found no change log
	PollLatency [PollBuckets]uint64 // of polls that were answered; see PollBucket
	Lapses      uint64              // leases that ended while polls were wanted

	// Lag is how long ago the last poll was sent that found the change log; 0 while
	// no polls are wanted.
	Lag time.Duration

	Bytes   int64 // used of the budget
	Entries int   // in memory, invalid ones included
	Parked  int   // writes in open transactions of this process
}

// Refusals are answers that were not kept, by reason.
type Refusals struct {
	Same      uint64 // memory held this answer already
	Overtaken uint64 // a write, or another read with another answer, came between
	Parked    uint64 // an open transaction of this process has written the key
	Unlit     uint64 // no poll has succeeded yet, or there is no change log
	Server    uint64 // the answer came from another server than the last poll's
	Reset     uint64 // everything was dropped while the answer was on its way
	Stranded  uint64 // see Answer.Stranded
	Large     uint64 // an entry of more than an eighth of the budget
	Expired   uint64 // the entry had expired when its answer came
}

// Drops count how often all entries of memory, or of one cache, were dropped,
// by reason.
type Drops struct {
	First       uint64 // a cursor was begun; memory was empty
	Server      uint64 // another start of the server
	Incarnation uint64 // another change log
	Unlit       uint64 // the change log was not there any more
	Floor       uint64 // changes that this process has not seen were trimmed
	Overflow    uint64 // a poll met more changes than it reports
	Stranded    uint64 // durable caches alone; see Answer.Stranded
	Flush       uint64 // one cache was flushed, here or elsewhere
}

// Add adds what other memory has counted. The greater lag and age count.
func (s *Stats) Add(o Stats) {
	s.Hits, s.AbsentHits, s.Misses, s.Lapsed = s.Hits+o.Hits, s.AbsentHits+o.AbsentHits, s.Misses+o.Misses, s.Lapsed+o.Lapsed
	for i, n := range o.Ages {
		s.Ages[i] += n
	}
	s.MaxAge, s.Lag = max(s.MaxAge, o.MaxAge), max(s.Lag, o.Lag)
	s.Fills += o.Fills
	s.Refused.add(o.Refused)
	s.Drops.add(o.Drops)
	s.Polls, s.FailedPolls, s.Lapses = s.Polls+o.Polls, s.FailedPolls+o.FailedPolls, s.Lapses+o.Lapses
	for i, n := range o.PollLatency {
		s.PollLatency[i] += n
	}
	s.Bytes, s.Entries, s.Parked = s.Bytes+o.Bytes, s.Entries+o.Entries, s.Parked+o.Parked
}

func (r *Refusals) add(o Refusals) {
	r.Same, r.Overtaken, r.Parked = r.Same+o.Same, r.Overtaken+o.Overtaken, r.Parked+o.Parked
	r.Unlit, r.Server, r.Reset = r.Unlit+o.Unlit, r.Server+o.Server, r.Reset+o.Reset
	r.Stranded, r.Large, r.Expired = r.Stranded+o.Stranded, r.Large+o.Large, r.Expired+o.Expired
}

func (d *Drops) add(o Drops) {
	d.First, d.Server, d.Incarnation, d.Unlit = d.First+o.First, d.Server+o.Server, d.Incarnation+o.Incarnation, d.Unlit+o.Unlit
	d.Floor, d.Overflow, d.Stranded, d.Flush = d.Floor+o.Floor, d.Overflow+o.Overflow, d.Stranded+o.Stranded, d.Flush+o.Flush
}

// refusal is the reason for which an answer was not kept.
type refusal int

const (
	refusedNot refusal = iota // it was kept
	refusedSame
	refusedOvertaken
	refusedParked
	refusedUnlit
	refusedServer
	refusedReset
	refusedStranded
	refusedLarge
	refusedExpired
	refusals
)

// drop is the reason for which entries were dropped.
type drop int

const (
	dropNothing drop = iota
	dropFirst
	dropServer
	dropIncarnation
	dropUnlit
	dropFloor
	dropOverflow
	dropStranded
	dropFlush
	drops
)

// counts are spread where many readers count at once.
type counts struct {
	bound  time.Duration
	maxAge atomic.Int64
	hits   [64]struct {
		ages   [AgeBuckets]atomic.Uint64
		absent atomic.Uint64
		_      [56]byte // shares no cache line with the next
	}
	misses, lapsed        atomic.Uint64
	fills                 atomic.Uint64
	refused               [refusals]atomic.Uint64
	drops                 [drops]atomic.Uint64
	polls, failed, lapses atomic.Uint64
	latency               [PollBuckets]atomic.Uint64
}

// hit counts a hit that was served at an age of the lease.
func (n *counts) hit(it *item, age time.Duration) {
	absent := uint64(0)
	if it.absent {
		absent = 1
	}
	n.add(it.slot, 1, absent, age)
}

// hitBatch counts hits that were served at the same age.
func (n *counts) hitBatch(items []*item, age time.Duration) {
	if len(items) == 0 {
		return
	}
	absent := uint64(0)
	for _, it := range items {
		if it.absent {
			absent++
		}
	}
	n.add(items[0].slot, uint64(len(items)), absent, age)
}

// add counts hits, some of which said that there is no entry. Slot spreads them.
func (n *counts) add(slot uint32, hits, absent uint64, age time.Duration) {
	shard := &n.hits[slot%uint32(len(n.hits))]
	shard.ages[min(uint64(max(age, 0))*AgeBuckets/uint64(n.bound), AgeBuckets-1)].Add(hits)
	if absent > 0 {
		shard.absent.Add(absent)
	}
	for old := n.maxAge.Load(); int64(age) > old; old = n.maxAge.Load() {
		n.maxAge.CompareAndSwap(old, int64(age))
	}
}

// polled counts a poll that was answered.
func (n *counts) polled(took time.Duration) {
	n.polls.Add(1)
	i := 0
	for i < PollBuckets-1 && took > PollBucket(i) {
		i++
	}
	n.latency[i].Add(1)
}

// Stats returns a copy of the counters.
func (m *Memory) Stats() Stats {
	n := &m.counts
	s := Stats{
		Misses: n.misses.Load(), Lapsed: n.lapsed.Load(), Fills: n.fills.Load(),
		MaxAge: time.Duration(n.maxAge.Load()),
		Polls:  n.polls.Load(), FailedPolls: n.failed.Load(), Lapses: n.lapses.Load(),
		Parked: m.parkedWrites(), Lag: m.lag(),
	}
	if m.entries != nil {
		s.Bytes, s.Entries = int64(m.entries.WeightedSize()), m.entries.EstimatedSize()
	}
	for i := range n.hits {
		for age := range s.Ages {
			count := n.hits[i].ages[age].Load()
			s.Ages[age] += count
			s.Hits += count
		}
		s.AbsentHits += n.hits[i].absent.Load()
	}
	for i := range s.PollLatency {
		s.PollLatency[i] = n.latency[i].Load()
	}
	refused := func(why refusal) uint64 { return n.refused[why].Load() }
	s.Refused = Refusals{
		Same: refused(refusedSame), Overtaken: refused(refusedOvertaken), Parked: refused(refusedParked),
		Unlit: refused(refusedUnlit), Server: refused(refusedServer), Reset: refused(refusedReset),
		Stranded: refused(refusedStranded), Large: refused(refusedLarge), Expired: refused(refusedExpired),
	}
	dropped := func(why drop) uint64 { return n.drops[why].Load() }
	s.Drops = Drops{
		First: dropped(dropFirst), Server: dropped(dropServer), Incarnation: dropped(dropIncarnation),
		Unlit: dropped(dropUnlit), Floor: dropped(dropFloor), Overflow: dropped(dropOverflow),
		Stranded: dropped(dropStranded), Flush: dropped(dropFlush),
	}
	return s
}

// lag is Stats.Lag. Time in which no polls were wanted does not count.
func (m *Memory) lag() time.Duration {
	m.mu.Lock()
	running, began := m.running, m.ran
	m.mu.Unlock()
	if !running || m.idle.Load() {
		return 0
	}
	last := max(began.mono, m.resumed.Load())
	if end := m.view.Load().end; end != (Instant{}) {
		last = max(last, end.mono-int64(m.options.Bound))
	}
	return time.Duration(max(0, m.clock().mono-last))
}
