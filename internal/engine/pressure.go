package engine

import (
	"context"
	"sync/atomic"
	"time"
)

// Budget is what upkeep needs to know of a cache's settings.
type Budget struct {
	Policy               string // what gives way, by Redis's names
	MaxEntries, MaxBytes int64  // 0: no limit
	Full                 bool   // it refuses writes
}

// noEviction is the policy that removes nothing: writes beyond the budget are
// refused.
const noEviction = "noeviction"

// Limited reports whether there is a budget at all.
func (b Budget) Limited() bool { return b.MaxEntries > 0 || b.MaxBytes > 0 }

// Share is how much of the budget so many entries and bytes use.
func (b Budget) Share(entries, size int64) float64 {
	var share float64
	if b.MaxEntries > 0 {
		share = float64(entries) / float64(b.MaxEntries)
	}
	if b.MaxBytes > 0 {
		share = max(share, float64(size)/float64(b.MaxBytes))
	}
	return share
}

// rows is about how many rows the budget has room for: 0 without a budget.
func (b Budget) rows(entries, size int64) (rows int64) {
	rows = b.MaxEntries
	if b.MaxBytes > 0 {
		row := int64(512) // until the first estimate
		if entries > 0 {
			row = max(100, size/entries)
		}
		if n := b.MaxBytes / row; rows == 0 || n < rows {
			rows = n
		}
	}
	return rows
}

// firstRound is how many rows may be written before upkeep looks at a cache
// for the first time.
const firstRound = 500

// Pressure is how upkeep and the writers of one cache with a budget feel each
// other: many writes call for a round of upkeep, and each round allows so many
// writes until the next. Each process counts its own writers, and does the rounds
// that they call for: the leader does not know of them.
//
// Where rounds evict, writers beyond the allowance wait for the next round a
// little, rather than run away from the budget; Redis makes the writer evict.
// Where nothing may be evicted, the allowance is an eighth of the room that is
// left, and it is used up before the rows are sent: the sum of several processes
// then stays within the budget. The settings of the cache, which every writer has read,
// bind it from its first row on.
type Pressure struct {
	called chan<- struct{} // Options.Called

	rows  atomic.Int64 // written
	asked atomic.Int64 // of them, when a round was called for
	seen  atomic.Int64 // of them, when the last round began
	every atomic.Int64 // so many call for a round; 0: none do
	allow atomic.Int64 // so many may be written since the last round began; 0: any number

	strict   atomic.Bool  // nothing may be evicted
	reserved atomic.Int64 // if strict: rows that were written or are being written
}

const (
	// HoldStep and longestHold are how a held write looks whether it may go on,
	// and when it looks no more.
	HoldStep    = 2 * time.Millisecond
	longestHold = 100 * time.Millisecond
)

// grant returns how many of n rows may be written now. If strict, they are
// reserved until settle.
func (p *Pressure) grant(n int) int {
	allow := p.allow.Load()
	switch {
	case allow == 0:
		p.reserve(n)
		return n
	case !p.strict.Load():
		if p.rows.Load()-p.seen.Load() >= allow {
			return 0
		}
		return n
	}
	for {
		reserved := p.reserved.Load()
		granted := min(int64(n), allow-(reserved-p.seen.Load()))
		if granted <= 0 {
			return 0
		}
		if p.reserved.CompareAndSwap(reserved, reserved+granted) {
			return int(granted)
		}
	}
}

func (p *Pressure) reserve(n int) {
	if p.strict.Load() {
		p.reserved.Add(int64(n))
	}
}

// hold waits while upkeep is behind, and calls for a round.
func (p *Pressure) hold(ctx context.Context) {
	for waited := time.Duration(0); waited < longestHold; waited += HoldStep {
		allow := p.allow.Load()
		used := &p.rows
		if p.strict.Load() {
			used = &p.reserved
		}
		if allow == 0 || used.Load()-p.seen.Load() < allow {
			return
		}
		p.call()
		timer := time.NewTimer(HoldStep)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return
		}
	}
}

// written counts rows, and calls for a round when they are many.
func (p *Pressure) written(n int) {
	rows, every := p.rows.Add(int64(n)), p.every.Load()
	if every == 0 || rows-p.asked.Load() < every {
		return
	}
	p.asked.Store(rows)
	p.call()
}

// call calls for a round.
func (p *Pressure) call() {
	select {
	case p.called <- struct{}{}:
	default:
	}
}

// Rows returns how many rows this process has written to the cache.
func (p *Pressure) Rows() int64 { return p.rows.Load() }

// release lets all writers go on.
func (p *Pressure) release() { p.allow.Store(0) }

// bind begins to keep a budget of which nothing may be evicted. How much room is left is
// not known before a round, which the writers soon call for.
func (p *Pressure) bind() {
	if p.strict.Load() {
		return
	}
	p.reserved.Store(p.rows.Load())
	p.seen.Store(p.rows.Load())
	p.allow.Store(leastRoom)
	p.strict.Store(true)
}

// apply takes the budget of the cache and what it holds.
func (p *Pressure) apply(b Budget, entries, size int64) {
	rows := b.rows(entries, size)
	if rows == 0 {
		p.every.Store(0)
		p.allow.Store(0)
		p.strict.Store(false)
		return
	}
	p.every.Store(max(1, rows/50)) // 2 %
	if b.Policy == noEviction {
		p.bind()
	} else if p.strict.Swap(false) {
		p.allow.Store(0)
	}
}

// leastRoom is how many rows each process may write between two rounds even
// where hardly any room is left, and before its first round.
const leastRoom = 32

// strictRoom is how many rows one process may write before the next round where
// nothing may be evicted: an eighth of what is left, for other processes may
// write too.
func strictRoom(rows int64, share float64) int64 {
	return max(leastRoom, int64(float64(rows)*(1-share)/8))
}

// observe takes what a round found that began when this process had written so
// many rows.
func (p *Pressure) observe(b Budget, entries, size int64, evicting bool, written int64) {
	p.seen.Store(written)
	p.apply(b, entries, size)
	rows, share := b.rows(entries, size), b.Share(entries, size)
	switch {
	case rows == 0:
	case b.Policy == noEviction:
		p.allow.Store(strictRoom(rows, share))
	default:
		p.allow.Store(room(rows, share, evicting))
	}
}

// room is how many rows one process may write before the next round where
// upkeep evicts, by how much of the budget is used: half of what there is room
// for. At the budget that is 2 %; beyond 102 % ever less, and from 106 % on next
// to nothing. Where nothing had to go, what is written may well replace what is
// there, and 7 % do no harm.
func room(rows int64, share float64, evicting bool) int64 {
	part := max((1-share)/2, 0.02*min(1, (1.06-share)/0.04))
	if !evicting {
		part = max(part, min(0.07, 1.02-share))
	}
	return max(1, int64(part*float64(rows)))
}
