package howdah

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/howdah/howdah/internal/coalesce"
)

// needsRoom tells the verbs that a full cache refuses, as Redis does: all that
// store, also where they would replace something.
func (v Verb) needsRoom() bool {
	switch v {
	case VerbSet, VerbSetMany, VerbSetManyIfAbsent, VerbIncrement, VerbIncrementFloat, VerbAppend, VerbSetRange:
		return true
	}
	return false
}

// refuse ends a call as a full cache does.
func (c *Call) refuse() {
	c.Result, c.Entries, c.Int, c.Count = Entry{}, nil, 0, 0
	c.Status = StatusOutOfMemory
}

// refuseFull completes the calls that a full cache refuses, and returns the
// others.
func (fl *flight) refuseFull(ops []*coalesce.Op) []*coalesce.Op {
	if !fl.engine.table.Load().full || fl.Kind() == coalesce.Read {
		return ops
	}
	rest := ops[:0]
	for _, op := range ops {
		c := op.Call.(*Call)
		if !c.Verb.needsRoom() {
			rest = append(rest, op)
			continue
		}
		c.refuse()
		fl.complete(c, nil)
	}
	return rest
}

// firstRound is how many rows may be written before upkeep looks at a cache
// for the first time.
const firstRound = 500

// pressure is how upkeep and the writers of one cache with a budget feel each
// other: many writes call for a round, and where rounds evict, writers wait for
// them a little rather than run away from the budget; Redis makes the writer
// evict. Each process feels its own writers, and does the rounds that they call
// for: who leads does not know of them.
type pressure struct {
	wake chan<- struct{} // calls for a round

	rows  atomic.Int64 // written
	asked atomic.Int64 // of them, when a round was called for
	seen  atomic.Int64 // of them, when the last round began
	every atomic.Int64 // so many call for a round; 0: none do
	allow atomic.Int64 // so many may be written since the last round began; 0: any number
}

const (
	// holdStep and longestHold are how a held write looks whether it may go on,
	// and when it goes on in any case.
	holdStep    = 2 * time.Millisecond
	longestHold = 100 * time.Millisecond
)

// hold lets a write wait while upkeep is behind.
func (p *pressure) hold(ctx context.Context) {
	for waited := time.Duration(0); waited < longestHold; waited += holdStep {
		allow := p.allow.Load()
		if allow == 0 || p.rows.Load()-p.seen.Load() < allow {
			return
		}
		p.call()
		timer := time.NewTimer(holdStep)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return
		}
	}
}

// written counts rows, and calls for a round when they are many.
func (p *pressure) written(n int) {
	rows, every := p.rows.Add(int64(n)), p.every.Load()
	if every == 0 || rows-p.asked.Load() < every {
		return
	}
	p.asked.Store(rows)
	p.call()
}

// call calls for a round.
func (p *pressure) call() {
	select {
	case p.wake <- struct{}{}:
	default:
	}
}

// expect takes what the budget of the cache is and what it holds, and returns
// about how many rows the budget has room for: 0 without a budget.
func (p *pressure) expect(b budget, entries, size int64) (rows int64) {
	if !b.limited() {
		p.every.Store(0)
		p.allow.Store(0)
		return 0
	}
	rows = b.maxEntries
	if b.maxSize > 0 {
		row := int64(512) // until the first estimate
		if entries > 0 {
			row = max(88, size/entries)
		}
		if n := b.maxSize / row; rows == 0 || n < rows {
			rows = n
		}
	}
	p.every.Store(max(1, rows/50)) // 2 %
	return rows
}

// bound says how much may be written before the next round, by how much of
// the budget the last one found used: half of what there is room for, for other
// processes may write too. At the budget that is 2 %; beyond 102 % ever less, and
// from 106 % on next to nothing. Where nothing had to go, what is written may well
// replace what is there, and 7 % do no harm.
func (p *pressure) bound(b budget, share float64, rows int64, evicting bool) {
	if rows == 0 || b.policy == "noeviction" {
		p.allow.Store(0)
		return
	}
	room := max((1-share)/2, 0.02*min(1, (1.06-share)/0.04))
	if !evicting {
		room = max(room, min(0.07, 1.02-share))
	}
	p.allow.Store(max(1, int64(room*float64(rows))))
}
