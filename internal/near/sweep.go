package near

import (
	"context"
	"maps"
	"runtime"
	"time"

	"github.com/maypok86/otter/v2"
)

// sweepEvery is how long an entry that is not valid any more may stay. It
// could only be read as a miss, but takes room. The expiry of otter would not
// find what was invalidated, needs a goroutine, and costs a reading of the clock
// with each lookup (120 ns instead of 50) and 32 bytes for each entry.
const sweepEvery = 10 * time.Second

// sweepPart is after how many entries the sweeper lets other goroutines go on: where
// they share one processor, they would otherwise wait for it up to 10 ms.
const sweepPart = 64

// sweepUntil removes entries that are not valid any more until ctx ends.
func (m *Memory) sweepUntil(ctx context.Context) {
	ticks := time.NewTicker(sweepEvery)
	defer ticks.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-m.sweep:
		case <-ticks.C:
		}
		m.sweepOnce(ctx)
	}
}

// sweepSoon has much to remove.
func (m *Memory) sweepSoon() {
	select {
	case m.sweep <- struct{}{}:
	default:
	}
}

func (m *Memory) sweepOnce(ctx context.Context) {
	now, v := m.clock(), m.view.Load()
	m.mu.Lock()
	caches := maps.Clone(m.caches)
	m.mu.Unlock()
	seen := 0
	for key, it := range m.entries.All() {
		if seen++; seen%sweepPart == 0 {
			if ctx.Err() != nil {
				return
			}
			runtime.Gosched()
		}
		c := caches[key.cache] // nil: made since
		if c != nil && (!it.valid(c, v) || it.expired(now)) {
			m.remove(key, it)
		}
	}
}

// remove removes an item, unless another one has taken its place.
func (m *Memory) remove(key entryKey, it *item) {
	m.entries.Compute(key, func(now *item, found bool) (*item, otter.ComputeOp) {
		if found && now == it {
			return nil, otter.InvalidateOp
		}
		return nil, otter.CancelOp
	})
}
