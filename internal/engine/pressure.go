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

// firstRound is how many rows may be written before upkeep looks at a cache
// for the first time.
const firstRound = 500

// Pressure is how upkeep and the writers of one cache with a budget feel each
// other: many writes call for a round, and where rounds evict, writers wait for
// them a little rather than run away from the budget; Redis makes the writer
// evict. Each process feels its own writers, and does the rounds that they call
// for: who leads does not know of them.
type Pressure struct {
	called chan<- struct{} // Options.Called

	rows  atomic.Int64 // written
	asked atomic.Int64 // of them, when a round was called for
	seen  atomic.Int64 // of them, when the last round began
	every atomic.Int64 // so many call for a round; 0: none do
	allow atomic.Int64 // so many may be written since the last round began; 0: any number
}

const (
	// HoldStep and longestHold are how a held write looks whether it may go on,
	// and when it goes on in any case.
	HoldStep    = 2 * time.Millisecond
	longestHold = 100 * time.Millisecond
)

// hold lets a write wait while upkeep is behind.
func (p *Pressure) hold(ctx context.Context) {
	for waited := time.Duration(0); waited < longestHold; waited += HoldStep {
		allow := p.allow.Load()
		if allow == 0 || p.rows.Load()-p.seen.Load() < allow {
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

// Release lets all writers go on.
func (p *Pressure) Release() { p.allow.Store(0) }

// Observe takes what a round of upkeep found that began when this process had
// written so many rows: what the cache holds, and whether something had to go.
func (p *Pressure) Observe(b Budget, entries, size int64, evicting bool, written int64) {
	p.seen.Store(written)
	p.limit(b, b.Share(entries, size), p.expect(b, entries, size), evicting)
}

// expect takes what the budget of the cache is and what it holds, and returns
// about how many rows the budget has room for: 0 without a budget.
func (p *Pressure) expect(b Budget, entries, size int64) (rows int64) {
	if !b.Limited() {
		p.every.Store(0)
		p.allow.Store(0)
		return 0
	}
	rows = b.MaxEntries
	if b.MaxBytes > 0 {
		row := int64(512) // until the first estimate
		if entries > 0 {
			row = max(88, size/entries)
		}
		if n := b.MaxBytes / row; rows == 0 || n < rows {
			rows = n
		}
	}
	p.every.Store(max(1, rows/50)) // 2 %
	return rows
}

// limit says how much may be written before the next round, by how much of
// the budget the last one found used: half of what there is room for, for other
// processes may write too. At the budget that is 2 %; beyond 102 % ever less, and
// from 106 % on next to nothing. Where nothing had to go, what is written may well
// replace what is there, and 7 % do no harm.
func (p *Pressure) limit(b Budget, share float64, rows int64, evicting bool) {
	if rows == 0 || b.Policy == "noeviction" {
		p.allow.Store(0)
		return
	}
	room := max((1-share)/2, 0.02*min(1, (1.06-share)/0.04))
	if !evicting {
		room = max(room, min(0.07, 1.02-share))
	}
	p.allow.Store(max(1, int64(room*float64(rows))))
}
