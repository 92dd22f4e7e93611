package near

import (
	"context"
	"flag"
	"fmt"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/howdah/howdah/internal/test/long"
	"github.com/howdah/howdah/internal/test/seed"
)

var (
	seedFlag   = flag.Uint64("seed", 0, "first seed of TestModel; 0: as HOWDAH_SEED says")
	worldsFlag = flag.Uint64("worlds", 200, "worlds of TestModel, each with a seed of its own")
)

func noPoll(context.Context, Cursor) (Answer, error) { panic("the test polls itself") }

// step does one thing, chosen by the seed.
func (w *world) step() {
	switch n := w.rng.IntN(1000); {
	case n < 350:
		w.hit(w.pick())
	case n < 430:
		w.beginRead(w.pick())
	case n < 600:
		w.advanceRead()
	case n < 740:
		w.advancePoll()
	case n < 800:
		w.pass()
	case n < 840:
		w.foreign()
	case n < 960:
		w.ownWriteStep(w.pick())
	case n < 975:
		w.ownTransaction()
	case n < 993:
		w.trim()
	case n < 996:
		w.flush(w.caches[w.rng.IntN(2)])
	case n < 997:
		w.crash()
	case n < 998:
		w.pause()
	default:
		w.light()
	}
}

// pause is a time in which this process does nothing.
func (w *world) pause() {
	w.poll, w.reads = nil, nil
	for range w.rng.IntN(60) {
		switch w.rng.IntN(3) {
		case 0:
			w.pass()
		case 1:
			w.foreign()
		default:
			w.trim()
		}
	}
}

// pass lets time pass: little as a rule, sometimes as long as a process that is
// stopped or a machine that sleeps.
func (w *world) pass() {
	d := int64(w.rng.IntN(int(worldBound) / 4))
	if w.chance(8) {
		d = int64(w.rng.IntN(int(worldBound) * 3))
	}
	w.time += d
	switch {
	case w.chance(12) && w.wallSteps:
		w.mono, w.wall = w.mono+d, w.wall-int64(time.Minute)
	case w.chance(12) && !w.wallSteps:
		w.wall += d // the monotonic clock stood still
	default:
		w.mono, w.wall = w.mono+d, w.wall+d
	}
}

// hit asks memory, and judges what it serves.
func (w *world) hit(k *key) {
	if _, ok := k.cache.Get(k.name); !ok {
		return
	}
	w.hits++
	index := w.origin[w.item(k)]
	due := 0
	for i, v := range k.history {
		if v.acked >= 0 && v.acked <= w.time-int64(worldBound) {
			due = i
		}
	}
	if index < due {
		w.violation("stale: %s served value %d, %d was acknowledged %v ago", k.name, index, due, time.Duration(w.time-k.history[due].acked))
	}
	if index < k.own {
		w.violation("own write not read: %s served value %d of %d", k.name, index, k.own)
	}
	if index < k.seen {
		w.violation("backwards: %s served value %d, %d was read before", k.name, index, k.seen)
	}
	for _, o := range []*ownWrite{k.writing, k.behind} {
		if o != nil && o.ordered && (!o.executed || index < o.index) {
			w.violation("overtook: %s served value %d ahead of an own write", k.name, index)
		}
	}
	k.seen = max(k.seen, index)
}

// item is what memory holds of a key, valid or not.
func (w *world) item(k *key) *item {
	it, _ := w.m.entries.GetIfPresent(entryKey{k.cache.id, string(k.name)})
	return it
}

// A read is begun, executed and answered; others do the same meanwhile.
func (w *world) beginRead(k *key) {
	if len(w.reads) == 6 {
		return
	}
	r := &reading{key: k, token: k.cache.Begin(k.hash), fresh: w.chance(8)}
	for _, o := range []*ownWrite{k.writing, k.behind} {
		if o != nil && o.ordered {
			r.after = o
		}
	}
	w.reads = append(w.reads, r)
}

func (w *world) advanceRead() {
	if len(w.reads) == 0 {
		return
	}
	i := w.rng.IntN(len(w.reads))
	r := w.reads[i]
	switch {
	case !r.executed && (r.after == nil || r.after.executed):
		r.executed, r.start, r.index = true, w.start, len(r.key.history)-1
		if w.chance(20) { // a proxy led it to a replica
			r.start, r.index = replica, w.rng.IntN(len(r.key.history))
		}
	case r.executed:
		w.reads = slices.Delete(w.reads, i, i+1)
		w.answerRead(r)
	}
}

func (w *world) answerRead(r *reading) {
	k := r.key
	e := Entry{Absent: true}
	if !k.history[r.index].absent {
		e = Entry{Value: fmt.Append(nil, r.index), Version: int64(r.index)}
	}
	stale := r.start == replica
	if w.faults.noFillStart {
		r.start = w.m.view.Load().start
	}
	if w.faults.tokenAfterAnswer {
		r.token = k.cache.Begin(k.hash)
	}
	if w.faults.fillAlways {
		now := w.m.slots.load(r.token.slot)
		r.token.state = r.token.state&^math.MaxUint32 | now&math.MaxUint32
	}
	switch {
	case !r.fresh:
		before := w.item(k)
		k.cache.Fill(r.token, k.name, e, r.start)
		w.note(before, w.item(k), r.index, stale)
	case !w.faults.noFreshBump:
		k.cache.Bump(k.hash)
	}
	if !stale {
		k.seen = max(k.seen, r.index)
	}
}

// note records which value an item is after an answer: the newest of those that
// are the same to a caller, such as "absent" before and after a value.
func (w *world) note(before, now *item, index int, stale bool) {
	switch {
	case now == nil:
	case now == before:
		if !stale {
			w.origin[now] = max(w.origin[now], index)
		}
	case before != nil && now.since == before.since: // it had the same answer
		w.origin[now] = max(w.origin[before], index)
	default:
		w.origin[now] = index
	}
}

// A poll is sent, executed and applied; it may fail.
func (w *world) advancePoll() {
	switch p := w.poll; {
	case p == nil:
		w.poll = &polling{sent: w.m.send(), since: w.m.follow.cursor}
	case !p.executed:
		p.executed = true
		since := p.since
		if w.faults.withoutXip {
			since.Xip = nil
		}
		p.answer = w.answer(since)
		if w.chance(20) {
			w.poll = nil
		}
	default:
		w.poll = nil
		w.applyPoll(p)
		if w.chance(2) {
			w.light()
		}
	}
}

func (w *world) applyPoll(p *polling) {
	a := p.answer
	if w.faults.noFloor {
		a.Floor = 0
	}
	if w.faults.noIncarnation {
		a.Incarnation, a.Start = [16]byte{}, 1
		a.Lit = a.Lit || w.m.follow.cursor.Xmax != 0
	}
	if w.faults.noOverflow {
		a.Overflow = false
	}
	if w.faults.noStranded {
		a.Stranded = false
	}
	if w.faults.leaseFirst {
		early := a
		early.Changes = nil
		_ = w.m.apply(p.sent, early)
		w.hit(w.pick())
	}
	gen, first := w.m.view.Load().gen, w.m.follow.cursor.Xmax == 0
	_ = w.m.apply(p.sent, a)
	v := *w.m.view.Load()
	if w.faults.endlessLease && v.lit {
		v.end = Instant{math.MaxInt64, math.MaxInt64}
	}
	if w.faults.noFirstDrop && first {
		v.gen = gen
	}
	w.m.view.Store(&v)
}

// foreign is what other processes do, in transactions of any length.
func (w *world) foreign() {
	var open []*transaction
	for _, tx := range w.running {
		if !tx.own {
			open = append(open, tx)
		}
	}
	if len(open) == 0 || w.chance(3) {
		if !w.chance(w.calm) {
			return
		}
		tx := w.begin()
		for range 1 + w.rng.IntN(3) {
			w.write(tx, w.pick())
		}
		if w.chance(2) {
			w.end(tx, true, true)
		}
		return
	}
	tx := open[w.rng.IntN(len(open))]
	switch {
	case !tx.prepared && w.chance(4):
		w.write(tx, w.pick())
	case !tx.prepared && w.chance(3):
		tx.prepared = true
	case !tx.prepared || w.chance(3):
		w.end(tx, !w.chance(4), true)
	}
}

// ownWriteStep submits, executes or answers a write of this process.
func (w *world) ownWriteStep(k *key) {
	if i := slices.IndexFunc(w.keys, func(k *key) bool { return k.writing != nil }); i >= 0 && !w.chance(4) {
		k = w.keys[i]
	} else if !w.chance(w.calm) {
		return
	}
	switch o := k.writing; {
	case o == nil:
		k.writing = w.submit(k)
	case k.behind == nil && w.chance(6):
		k.behind = w.submit(k)
	case !o.sent:
		o.sent, o.token = true, k.cache.Begin(k.hash)
	case !o.executed && k.locked == nil:
		o.executed, o.start = true, w.start
		tx := w.begin()
		w.write(tx, k)
		commit := !w.chance(6)
		w.end(tx, commit, false)
		if commit {
			o.index, o.xid = len(k.history)-1, tx.xid
		}
	case o.executed && w.chance(2):
		known := o.index >= 0 && !w.chance(6)
		w.answerWrite(k, o, known)
		k.writing, k.behind = k.behind, nil
		if known {
			k.history[o.index].acked = w.time
			k.own = max(k.own, o.index)
		}
	}
}

// submit gives a write of this process its place in line.
func (w *world) submit(k *key) *ownWrite {
	if !w.faults.noBumpBefore {
		k.cache.Bump(k.hash)
	}
	return &ownWrite{index: -1, ordered: !w.chance(4)}
}

// answerWrite is what happens before the caller of a write is answered.
func (w *world) answerWrite(k *key, o *ownWrite, known bool) {
	if w.faults.lateWriteToken {
		o.token = k.cache.Begin(k.hash)
	}
	if w.faults.writeAlways {
		o.token.state = o.token.state&^math.MaxUint32 | w.m.slots.load(o.token.slot)&math.MaxUint32
	}
	if known {
		k.cache.Own(o.token, o.xid, o.start)
	}
	last := k.behind == nil || !k.behind.ordered && w.chance(2)
	switch {
	case w.faults.noBumpAfter:
	case known && (last || w.faults.fillBehindWrite) && !w.chance(4):
		e := Entry{Absent: true}
		if !k.history[o.index].absent {
			e = Entry{Value: fmt.Append(nil, o.index), Version: int64(o.index)}
		}
		k.cache.Wrote(o.token, k.name, e, o.start)
		if it := w.item(k); it != nil {
			w.origin[it] = o.index
			w.kept++
		}
	default:
		k.cache.Bump(k.hash)
	}
}

// ownTransaction is one of the application, which commits it itself.
func (w *world) ownTransaction() {
	i := slices.IndexFunc(w.running, func(tx *transaction) bool { return tx.own })
	if i < 0 || w.chance(4) {
		if !w.chance(w.calm) {
			return
		}
		k := w.pick()
		if k.locked != nil || k.writing != nil {
			return
		}
		tx := w.begin()
		tx.own = true
		var p *Parking
		if w.faults.noParking {
			k.cache.Bump(k.hash)
		} else {
			if w.chance(3) { // it does not know which key it writes
				p = k.cache.ParkAll()
			} else {
				p = k.cache.Park(k.hash)
			}
			tx.parked = append(tx.parked, p)
		}
		w.write(tx, k)
		if w.faults.noParking {
			k.cache.Bump(k.hash)
		} else {
			p.Until(tx.xid)
		}
		return
	}
	tx := w.running[i]
	commit := !w.chance(4)
	w.end(tx, commit, true)
	for _, k := range tx.keys {
		if commit {
			k.own = len(k.history) - 1
		}
	}
	if w.chance(2) { // its end was seen
		for _, p := range tx.parked {
			p.Release()
		}
	}
}

// flush empties a cache, here or elsewhere.
func (w *world) flush(c *Cache) {
	tx := w.begin()
	tx.flush = c
	own := w.chance(2)
	for _, k := range w.keys {
		if k.cache == c && (k.locked != nil || k.writing != nil) {
			w.end(tx, false, false)
			return
		}
	}
	if own {
		c.DropAll()
	}
	for _, k := range w.keys {
		if k.cache == c {
			k.locked = tx
			tx.keys = append(tx.keys, k)
		}
	}
	w.log = append(w.log, logged{tx, Change{Cache: c.id}})
	w.end(tx, true, true)
	if own {
		c.DropAll()
		for _, k := range tx.keys {
			k.own = len(k.history) - 1
		}
	}
}

const modelSteps = 5000

func runModel(t testing.TB, seed uint64, f faults) *world {
	w := newWorld(t, seed, f)
	w.light()
	for range modelSteps {
		w.step()
		if len(w.violations) > 0 {
			break
		}
	}
	return w
}

// TestModel takes random steps in a simulated database and a process that
// caches it, and judges every hit: no staler than the bound, never behind a
// write of this process that was acknowledged, never behind a read of this
// process that was answered.
func TestModel(t *testing.T) {
	t.Parallel()
	seed := seed.Or(t, *seedFlag)
	worlds := *worldsFlag
	if testing.Short() {
		worlds = 40
	}
	hits, kept := 0, 0
	for i := range worlds {
		w := runModel(t, seed+i, faults{})
		require.Empty(t, w.violations, "seed %d", seed+i)
		hits, kept = hits+w.hits, kept+w.kept
	}
	t.Logf("%d hits judged in %d worlds, %d writes kept", hits, worlds, kept)
	require.Greater(t, kept, int(worlds), "too few own writes are kept to prove anything")
	require.Greater(t, hits, int(worlds)*modelSteps/40, "the worlds are too wild for hits; they prove nothing")
}

// TestMutants breaks one rule at a time: the model must notice each of them.
func TestMutants(t *testing.T) {
	t.Parallel()
	long.Only(t, "it searches for each mutant by thousands of random runs")
	for name, f := range map[string]faults{
		"cursor without xip":             {withoutXip: true},
		"token after the answer":         {tokenAfterAnswer: true},
		"no lease":                       {endlessLease: true},
		"no floor":                       {noFloor: true},
		"no incarnation":                 {noIncarnation: true},
		"fill from another server":       {noFillStart: true},
		"overflow ignored":               {noOverflow: true},
		"no drop at the first poll":      {noFirstDrop: true},
		"no invalidation before a write": {noBumpBefore: true},
		"no invalidation after a write":  {noBumpAfter: true},
		"no invalidation by fresh reads": {noFreshBump: true},
		"fill whatever others read":      {fillAlways: true},
		"lease before slots":             {leaseFirst: true},
		"parking ignored":                {noParking: true},
		"stranded ignored":               {noStranded: true},
		"token of a write at its answer": {lateWriteToken: true},
		"write kept before another":      {fillBehindWrite: true},
		"write kept whatever was read":   {writeAlways: true},
	} {
		t.Run(name, func(t *testing.T) {
			for seed := range uint64(5000) {
				if w := runModel(t, seed, f); len(w.violations) > 0 {
					t.Logf("seed %d: %s", seed, w.violations[0])
					return
				}
			}
			t.Error("no seed noticed it")
		})
	}
}
