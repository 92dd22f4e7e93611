package tracking

import (
	"sync/atomic"
	"time"
)

// sweepPause is the time between two shards that are swept: the registrations of a
// client are freed within 7 seconds after it has left, and a full table costs little.
const sweepPause = 100 * time.Millisecond

// sweeping is where the table stands with freeing what clients leave behind.
type sweeping struct {
	left atomic.Uint64 // how many clients have left
	next int           // the shard to be swept next; of Tick, as at
	at   time.Time     // when the last one was swept
}

// Leave ends the tracking for good, and has the registrations of the client freed. It may
// be called of a client that does not track.
func (c *Client) Leave() {
	c.End()
	t := c.table
	t.mu.Lock()
	defer t.mu.Unlock()
	if c.left.Swap(true) {
		return
	}
	t.sweeping.left.Add(1)
	if !c.held {
		return
	}
	if t.holders--; t.holders > 0 {
		return
	}
	for i := range t.shards { // no registration is of use any more
		t.clear(&t.shards[i])
	}
}

// sweep frees what clients have left behind in one shard, if it is time for that. Calls do
// not overlap.
func (t *Table) sweep(now time.Time) {
	w := &t.sweeping
	if since := now.Sub(w.at); since >= 0 && since < sweepPause {
		return
	}
	s := &t.shards[w.next]
	w.next, w.at = (w.next+1)%shards, now
	left := w.left.Load()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.swept == left {
		return
	}
	s.swept = left
	for _, e := range s.entries {
		t.sweepEntry(s, e)
	}
}

func (t *Table) sweepEntry(s *shard, e *entry) {
	kept := 0
	for _, i := range e.items {
		if !i.client.left.Load() {
			e.items[kept] = i
			kept++
		}
	}
	switch gone := len(e.items) - kept; {
	case gone == 0:
	case kept == 0:
		t.take(s, e)
	default:
		clear(e.items[kept:])
		e.items = e.items[:kept:kept]
		if e.index != nil {
			e.makeIndex()
		}
		e.bytes -= int64(gone) * itemOverhead
		t.items.Add(-int64(gone))
		t.bytes.Add(-int64(gone) * itemOverhead)
	}
}
