package coalesce

import (
	"context"
	"flag"
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/howdah/howdah/internal/test/seed"
)

var seedFlag = flag.Uint64("seed", 0, "seed of TestModel; 0: as HOWDAH_SEED says")

// The model: tables of registers, one for each key, used by workers that each
// submit a sequence of numbered calls, several at a time. A write leaves
// its number in the register, beside the numbers of the other workers; a read
// observes the register. From what each call observed and how it ended, the
// rules are checked: see checkEntry, checkWorker and the store's methods.
const (
	modelTables  = 3
	modelKeys    = 6
	modelWorkers = 16
	modelMaxKeys = 6
	modelBytes   = 400
	modelFlights = 8
)

// store stands for the database.
type store struct {
	t       *testing.T
	tables  [modelTables]*modelTable
	flights atomic.Int32 // in the air
}

type modelTable struct {
	keys     [modelKeys]register
	isolated atomic.Int32 // flights of Kind Isolated in the air
	// The kinds from which on a foreign transaction has locked the table:
	// Read (all ops), Write or exclusive (none).
	locked atomic.Int32
}

type register struct {
	mu      sync.Mutex
	readers int
	writer  bool
	locked  bool // by a foreign transaction
	last    snapshot
	acked   snapshot // what callers were told of
}

// snapshot is what a register holds: the last write of each worker.
type snapshot [modelWorkers]int

// enter and exit frame the time in which an op has its keys: writes exclude
// all, reads exclude writes.
func (m *modelTable) enter(t *testing.T, keys []uint64, read bool) {
	for _, k := range unique(keys) {
		r := &m.keys[k]
		r.mu.Lock()
		if r.writer || (!read && r.readers > 0) {
			t.Errorf("key %d is in two flights", k)
		}
		if read {
			r.readers++
		} else {
			r.writer = true
		}
		r.mu.Unlock()
	}
}

func (m *modelTable) exit(keys []uint64, read bool) {
	for _, k := range unique(keys) {
		r := &m.keys[k]
		r.mu.Lock()
		if read {
			r.readers--
		} else {
			r.writer = false
		}
		r.mu.Unlock()
	}
}

func unique(keys []uint64) []uint64 {
	var out []uint64
	for i, k := range keys {
		seen := false
		for _, earlier := range keys[:i] {
			seen = seen || earlier == k
		}
		if !seen {
			out = append(out, k)
		}
	}
	return out
}

func (m *modelTable) keyLocked(keys []uint64) bool {
	for _, k := range keys {
		r := &m.keys[k]
		r.mu.Lock()
		locked := r.locked
		r.mu.Unlock()
		if locked {
			return true
		}
	}
	return false
}

// entry is one call of a worker.
type entry struct {
	worker, number int
	table          int
	kind           Kind
	keys           []uint64
	payload        []byte // read by Run between Take and Sent, scribbled over by the caller once it is back

	applied  atomic.Bool
	left     atomic.Bool // Op.Left was seen
	echoed   atomic.Bool // Op.Echoed was seen
	observed []snapshot  // by a read, of each register
	stored   snapshot    // by a Set: what its register held right after it
	floor    []snapshot  // of each register: what was acknowledged when the call began
	answers  atomic.Int32
	err      error
}

// apply does what the statement does.
func (s *store) apply(e *entry) {
	e.applied.Store(true)
	for _, k := range e.keys {
		r := &s.tables[e.table].keys[k]
		r.mu.Lock()
		if e.kind == Read {
			e.observed = append(e.observed, r.last)
		} else {
			if r.last[e.worker] > e.number {
				s.t.Errorf("write %d of worker %d on key %d came after its write %d", e.number, e.worker, k, r.last[e.worker])
			}
			r.last[e.worker] = e.number
			e.stored = r.last
		}
		r.mu.Unlock()
	}
}

// run is Options.Run.
func (s *store) run(_ context.Context, f Flight) {
	if n := s.flights.Add(1); n > modelFlights+laneCount-1 {
		s.t.Errorf("%d flights at once", n)
	}
	defer s.flights.Add(-1)
	pause()
	if rand.IntN(300) == 0 {
		panic("model: before Take")
	}
	ops := f.Take()
	defer s.checkBatch(f.Kind(), ops)()
	s.enter(ops)
	if rand.IntN(50) == 0 { // a failed attempt; what comes back may have other leaders
		s.exit(ops)
		f.Sent()
		pause()
		ops = f.Retake(ops)
		s.enter(ops)
	}
	for _, op := range ops {
		readPayload(op)
	}
	pause()
	f.Sent()
	pause()
	for ops = s.answerLocked(f, ops); len(ops) > 0; ops = ops[1:] {
		op := ops[0]
		if rand.IntN(500) == 0 {
			s.exit(ops)
			panic("model: in the middle")
		}
		if op.Kind != Read && s.tableOf(op).keyLocked(op.Keys) {
			s.exit(ops[:1])
			f.Blocked(op)
			continue
		}
		err := [20]error{0: errStatement, 1: errUnknown}[rand.IntN(20)]
		if err == nil || err == errUnknown && rand.IntN(2) == 0 {
			// A merged write stands for all of its group, oldest first.
			var group []*entry
			group = append(group, op.Call.(*entry))
			for o := range op.Followers() {
				group = append(group, o.Call.(*entry))
			}
			for i := range group {
				s.apply(group[len(group)-1-i])
			}
		}
		for o := op; o != nil; o = o.Follower() {
			o.Call.(*entry).left.Store(o.Left())
			o.Call.(*entry).echoed.Store(o.Echoed())
		}
		s.exit(ops[:1])
		if op.Kind == Set && err == nil {
			f.Acknowledge(op, rand.IntN(10) > 0)
		} else {
			f.Complete(op, err)
		}
	}
	if rand.IntN(100) == 0 {
		runtime.Gosched()
	}
}

// acknowledged is Options.Acknowledged.
func (s *store) acknowledged(set *Op, echoes []Echo, _ bool) {
	for _, echo := range echoes {
		read, of := echo.Read.Call.(*entry), echo.Set.Call.(*entry)
		if echo.Set != set && !of.echoed.Load() {
			s.t.Error("Run was not told that a read is answered with what a follower stored")
		}
		if echo.Set == set && of.payload[0] != 'p' {
			s.t.Error("a read is answered with a Set whose caller has left and scribbled over its value")
		}
		read.applied.Store(true)
		read.observed = append(read.observed, of.stored)
	}
}

func (s *store) tableOf(op *Op) *modelTable { return s.tables[op.Call.(*entry).table] }

func (s *store) enter(ops []*Op) {
	for _, op := range ops {
		s.tableOf(op).enter(s.t, op.Keys, op.Kind == Read)
	}
}

func (s *store) exit(ops []*Op) {
	for _, op := range ops {
		s.tableOf(op).exit(op.Keys, op.Kind == Read)
	}
}

// answerLocked answers for the tables that are locked, and returns the other
// ops.
func (s *store) answerLocked(f Flight, ops []*Op) (rest []*Op) {
	var locked [modelTables][]*Op
	for _, op := range ops {
		if i := op.Call.(*entry).table; int32(op.Kind) >= s.tables[i].locked.Load() {
			locked[i] = append(locked[i], op)
		} else {
			rest = append(rest, op)
		}
	}
	for _, ops := range locked {
		s.exit(ops)
		f.TableBlocked(ops...)
	}
	return rest
}

// checkBatch returns what is to be done at the end of the flight.
func (s *store) checkBatch(kind Kind, ops []*Op) func() {
	keys, size := 0, 0
	for _, op := range ops {
		keys += len(op.Keys)
		size += op.Bytes
		if s.tableOf(op) != s.tableOf(ops[0]) && kind >= Alone {
			s.t.Errorf("two tables in a flight of kind %d", kind)
		}
		if (op.Kind == Read) != (kind == Read) && kind < Alone {
			s.t.Errorf("an op of kind %d in a flight of kind %d", op.Kind, kind)
		}
		for o := range op.Followers() {
			if o.Table != op.Table || o.Kind != op.Kind || o.Class != op.Class || len(o.Keys) != 1 || o.Keys[0] != op.Keys[0] {
				s.t.Error("merged what must not merge")
			}
		}
	}
	if len(ops) > 1 && (keys > modelMaxKeys || size > modelBytes || kind == Alone) {
		s.t.Errorf("%d ops with %d keys and %d bytes in a flight of kind %d", len(ops), keys, size, kind)
	}
	if kind != Isolated || len(ops) == 0 {
		return func() {}
	}
	table := s.tableOf(ops[0])
	if table.isolated.Add(1) > 1 {
		s.t.Error("two flights at once of a table that was locked")
	}
	return func() { table.isolated.Add(-1) }
}

func readPayload(op *Op) {
	sum := byte(0)
	for o := op; o != nil; o = o.Follower() {
		for _, b := range o.Call.(*entry).payload {
			sum += b
		}
	}
	sink.Store(uint32(sum))
}

var sink atomic.Uint32

func pause() {
	switch rand.IntN(40) {
	case 0:
		d := time.Duration(rand.IntN(300)) * time.Microsecond
		if rand.IntN(50) == 0 {
			d += 2 * time.Duration(lateFlight)
		}
		time.Sleep(d)
	case 1, 2, 3, 4:
		runtime.Gosched()
	}
}

func TestModel(t *testing.T) {
	t.Parallel()
	seed := seed.Or(t, *seedFlag)
	calls := 1500
	if testing.Short() {
		calls = 300
	}
	s := &store{t: t}
	c := New(Options{
		MaxKeys: modelMaxKeys, MaxBytes: modelBytes, MaxQueueBytes: 30000, MaxFlights: modelFlights,
		Run: s.run, Acknowledged: s.acknowledged,
		Unknown: func(err error) bool { return err == errUnknown },
	})
	var tables []*Table
	for i := range s.tables {
		s.tables[i] = &modelTable{}
		s.tables[i].locked.Store(int32(exclusive))
		tables = append(tables, c.NewTable(TableOptions{MaxQueueBytes: 15000}))
	}
	stop := make(chan struct{})
	var foreign, workers sync.WaitGroup
	foreign.Go(func() { s.lockKeys(rand.New(rand.NewPCG(seed, 1000)), stop) })
	foreign.Go(func() { s.lockTables(rand.New(rand.NewPCG(seed, 1001)), stop) })
	logs := make([][]*entry, modelWorkers)
	for w := range modelWorkers {
		workers.Go(func() {
			m := &modelWorker{c: c, tables: tables, s: s, id: w, rng: rand.New(rand.NewPCG(seed, uint64(w)))}
			logs[w] = m.work(calls)
		})
	}
	workers.Wait()
	close(stop)
	foreign.Wait()
	if err := c.Close(background); err != nil {
		t.Error(err)
	}
	checkEmpty(t, c, tables...)
	outcomes := map[string]int{}
	for _, log := range logs {
		for _, e := range log {
			outcomes[checkEntry(t, e)]++
		}
		checkWorker(t, log)
	}
	t.Logf("%v, %+v", outcomes, c.Stats())
	for _, outcome := range []string{"ok", "failed", "not sent", "sent", "unknown"} {
		if outcomes[outcome] == 0 && !testing.Short() {
			t.Errorf("no call ended as %q: the model tests too little", outcome)
		}
	}
	for _, table := range tables {
		if s := table.Stats(); s.Merged == 0 || s.Blocked == 0 || s.Alone == 0 || s.Isolated == 0 || s.Expired == 0 || s.Cancelled == 0 || s.Echoed == 0 {
			t.Errorf("the model tests too little: %+v", s)
		}
	}
}

// lockTables plays foreign transactions that lock whole tables, some for reads
// too.
func (s *store) lockTables(rng *rand.Rand, stop chan struct{}) {
	for {
		table := s.tables[rng.IntN(modelTables)]
		table.locked.Store(int32([]Kind{Read, Set}[rng.IntN(2)]))
		time.Sleep(time.Duration(rng.IntN(2000)) * time.Microsecond)
		table.locked.Store(int32(exclusive))
		select {
		case <-stop:
			return
		case <-time.After(time.Duration(rng.IntN(5000)) * time.Microsecond):
		}
	}
}

// lockKeys plays foreign transactions that lock rows.
func (s *store) lockKeys(rng *rand.Rand, stop chan struct{}) {
	for {
		r := &s.tables[rng.IntN(modelTables)].keys[rng.IntN(modelKeys)]
		setLocked := func(locked bool) {
			r.mu.Lock()
			r.locked = locked
			r.mu.Unlock()
		}
		setLocked(true)
		time.Sleep(time.Duration(rng.IntN(2000)) * time.Microsecond)
		setLocked(false)
		select {
		case <-stop:
			return
		case <-time.After(time.Duration(rng.IntN(5000)) * time.Microsecond):
		}
	}
}
