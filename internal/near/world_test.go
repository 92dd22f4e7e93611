package near

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// faults break one rule each, of Memory or of its caller. The zero value breaks
// none. All of them act on what goes into Memory, or on its state between two
// calls; Memory itself knows nothing of them.
type faults struct {
	withoutXip       bool // polls ask only for transactions from xmax on
	tokenAfterAnswer bool // Begin is called when the answer is there
	endlessLease     bool // the lease is not checked
	noFloor          bool // trims are not noticed
	noIncarnation    bool // neither another change log nor another server is noticed
	noFillStart      bool // answers of other servers are kept
	noOverflow       bool // an answer that lacks changes is taken for complete
	noFirstDrop      bool // reads that began before the first poll are kept
	noBumpBefore     bool // own writes do not invalidate when they are submitted
	noBumpAfter      bool // nor when they are answered
	noFreshBump      bool // reads that do not fill do not invalidate
	fillAlways       bool // answers of other reads do not refuse a fill
	leaseFirst       bool // the lease is stored before slots are bumped
	noParking        bool // writes in open transactions invalidate as others do
	lateWriteToken   bool // the token of an own write is taken when it is answered
	fillBehindWrite  bool // an own write is kept though another is in line behind it
	writeAlways      bool // answers of reads do not refuse an own write
	noStranded       bool // prepared transactions without a log are ignored
}

const (
	worldBound    = 100 * time.Millisecond
	worldOverflow = 6  // changes in an answer
	worldKeep     = 3  // ticks between trim and floor
	replica       = 99 // the start of another server
)

// world is a database with its time, and a process with a Memory of it. It takes
// one step at a time, so that a seed is an interleaving.
type world struct {
	rng    *rand.Rand
	faults faults
	calm   int // in one of so many cases a write that could begin does
	m      *Memory
	caches [2]*Cache // the second one is durable
	keys   []*key
	origin map[*item]int // which value of its key an item is

	// Time is true; a process reads mono and wall.
	time, mono, wall int64
	wallSteps        bool // the wall clock is set back; otherwise the machine sleeps

	start       int64
	incarnation byte
	lit         bool
	tick, floor int64
	ticks       map[int64]snapshot
	log         []logged
	nextXid     uint64
	completed   uint64 // highest xid that is finished
	running     []*transaction
	reads       []*reading
	poll        *polling
	violations  []string
	hits        int
	kept        int // writes of this process that memory kept
}

// key is a key with all values it ever had.
type key struct {
	cache   *Cache
	name    []byte
	hash    int64
	history []value
	locked  *transaction
	writing *ownWrite
	behind  *ownWrite // submitted while writing is under way
	own     int       // the newest value that this process wrote and knows about
	seen    int       // the newest value that a read of this process answered
}

type value struct {
	absent bool
	acked  int64 // when its writer knew; -1: it does not yet
}

type logged struct {
	tx     *transaction
	change Change
}

type transaction struct {
	xid       uint64
	keys      []*key
	flush     *Cache
	committed bool
	prepared  bool
	logLost   bool
	own       bool
	parked    []*Parking
}

// ownWrite is a write of this process outside of a transaction.
type ownWrite struct {
	ordered  bool // the coalescer sends it before reads that begin later
	sent     bool
	token    Token // from before it was sent
	executed bool
	index    int // in the history; -1: it failed
	xid      uint64
	start    int64
}

type reading struct {
	key      *key
	token    Token
	after    *ownWrite // the coalescer sends it after this one
	fresh    bool
	executed bool
	index    int
	start    int64
}

type polling struct {
	sent     Instant
	since    Cursor
	executed bool
	answer   Answer
}

func newWorld(t testing.TB, seed uint64, f faults) *world {
	w := &world{
		rng: rand.New(rand.NewPCG(seed, 1)), faults: f, calm: 1 + int(seed/2%8),
		time: int64(time.Hour), mono: int64(time.Hour), wall: int64(time.Hour), wallSteps: seed%2 == 0,
		start: 1, nextXid: 10, completed: 9, ticks: map[int64]snapshot{}, origin: map[*item]int{},
	}
	m, err := New(Options{Bound: worldBound, Bytes: MinBytes, Poll: noPoll})
	require.NoError(t, err)
	m.clock = func() Instant { return Instant{w.mono, w.wall} }
	w.m = m
	require.True(t, m.enter())
	w.caches = [2]*Cache{m.Cache(1, false), m.Cache(2, true)}
	for i := range 6 {
		c := w.caches[i%2]
		w.keys = append(w.keys, &key{
			cache: c, name: fmt.Appendf(nil, "k%d", i), hash: int64(1000 + i/4),
			history: []value{{absent: true}},
		})
	}
	return w
}

func (w *world) violation(format string, args ...any) {
	w.violations = append(w.violations, fmt.Sprintf(format, args...))
}

// pick prefers a key whose write by this process was made and is not answered: what
// happens then is what matters.
func (w *world) pick() *key {
	if i := slices.IndexFunc(w.keys, func(k *key) bool { return k.writing != nil && k.writing.executed }); i >= 0 && w.chance(3) {
		return w.keys[i]
	}
	return w.keys[w.rng.IntN(len(w.keys))]
}

// chance is true in one of n cases.
func (w *world) chance(n int) bool { return w.rng.IntN(n) == 0 }

// snapshot is pg_current_snapshot(): xmax is one more than the highest finished
// xid, so a running transaction may be at or above it.
func (w *world) snapshot() snapshot {
	s := snapshot{xmax: w.completed + 1}
	for _, tx := range w.running {
		if tx.xid < s.xmax {
			s.xip = append(s.xip, tx.xid)
		}
	}
	slices.Sort(s.xip)
	return s
}

func (s snapshot) text() string {
	xmin := s.xmax
	words := make([]string, len(s.xip))
	for i, xid := range s.xip {
		xmin = min(xmin, xid)
		words[i] = fmt.Sprint(xid)
	}
	return fmt.Sprintf("%d:%d:%s", xmin, s.xmax, strings.Join(words, ","))
}

func (w *world) begin() *transaction {
	tx := &transaction{xid: w.nextXid}
	w.nextXid++
	w.running = append(w.running, tx)
	return tx
}

// write lets a transaction write a key and its row of the log. A key is locked
// until its writer ends.
func (w *world) write(tx *transaction, k *key) bool {
	if k.locked != nil && k.locked != tx {
		return false
	}
	k.locked = tx
	if !slices.Contains(tx.keys, k) {
		tx.keys = append(tx.keys, k)
	}
	w.log = append(w.log, logged{tx, Change{Xid: tx.xid, Cache: k.cache.id, Hashes: []int64{k.hash}}})
	return true
}

// end commits or rolls back. What it wrote is acknowledged at once, unless its
// writer does not know yet.
func (w *world) end(tx *transaction, commit, acked bool) {
	w.running = slices.DeleteFunc(w.running, func(other *transaction) bool { return other == tx })
	w.completed = max(w.completed, tx.xid)
	tx.committed = commit
	for _, k := range tx.keys {
		k.locked = nil
		if commit {
			w.append(k, tx.flush != nil || w.chance(4), acked)
		}
	}
}

func (w *world) append(k *key, absent, acked bool) {
	v := value{absent: absent, acked: -1}
	if acked {
		v.acked = w.time
	}
	k.history = append(k.history, v)
}

// answer is what the poll statement finds.
func (w *world) answer(since Cursor) Answer {
	a := Answer{
		Snapshot: w.snapshot().text(), Start: w.start, Lit: w.lit,
		Incarnation: [16]byte{w.incarnation}, Tick: w.tick, Floor: w.floor,
	}
	for _, tx := range w.running {
		a.Stranded = a.Stranded || tx.prepared && tx.logLost
	}
	for _, row := range w.log {
		if row.tx.committed && (row.tx.xid >= since.Xmax || slices.Contains(since.Xip, row.tx.xid)) {
			if len(a.Changes) == worldOverflow {
				a.Overflow = true
				break
			}
			a.Changes = append(a.Changes, row.change)
		}
	}
	return a
}

// trim is the leader's round: the log loses what every snapshot from the floor
// on sees.
func (w *world) trim() {
	if !w.lit {
		return
	}
	w.tick++
	w.ticks[w.tick] = w.snapshot()
	f := w.tick - worldKeep
	s, ok := w.ticks[f]
	if !ok {
		return
	}
	w.floor = f
	w.log = slices.DeleteFunc(w.log, func(row logged) bool { return row.tx.committed && s.finished(row.tx.xid) })
	delete(w.ticks, f)
}

// crash ends all but prepared transactions, and empties what is not durable.
func (w *world) crash() {
	for _, tx := range slices.Clone(w.running) {
		if tx.prepared || !tx.own && w.chance(2) {
			tx.prepared, tx.logLost = true, true
			tx.keys = slices.DeleteFunc(tx.keys, func(k *key) bool {
				if !k.cache.durable.Load() {
					k.locked = nil
				}
				return !k.cache.durable.Load()
			})
			continue
		}
		w.end(tx, false, false)
	}
	for _, k := range w.keys {
		if !k.cache.durable.Load() {
			w.append(k, true, true)
		}
	}
	w.lit, w.log, w.tick, w.floor, w.ticks = false, nil, 0, 0, map[int64]snapshot{}
	w.incarnation++
	switch w.rng.IntN(3) {
	case 0:
		w.start++ // the postmaster, too
	case 1: // a standby that lags takes over: it gives some xids again
		w.start++
		low := uint64(3)
		for _, tx := range w.running {
			low = max(low, tx.xid+1)
		}
		w.nextXid = max(low, w.nextXid-min(w.nextXid-3, uint64(w.rng.IntN(5))))
		w.completed = w.nextXid - 1
	}
}

// light writes the state row of the change log.
func (w *world) light() {
	if !w.lit {
		w.lit, w.tick = true, 1
	}
}
