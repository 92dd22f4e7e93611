package coalesce

import "math/bits"

// KeyBuckets is the number of buckets of TableStats.Keys.
const KeyBuckets = 17

// Stats are counts of all Tables together since New, except Queued and
// QueuedBytes.
type Stats struct {
	Flights            // that took something
	KeysTotal   uint64 // keys that they took
	LateFlights uint64 // flights that lost their slot because they took long
	Panics      uint64 // panics in Run
	Queued      int    // ops queued now
	QueuedBytes int    // what they count towards Options.MaxQueueBytes
}

// TableStats are counts of one Table since NewTable, except Queued and
// QueuedBytes.
type TableStats struct {
	Flights // that took something of the table
	// Keys is the histogram of the keys of the table in such a flight: bucket 0
	// counts flights with one, bucket i those with up to 2^i keys, the last one
	// everything larger.
	Keys        [KeyBuckets]uint64
	KeysTotal   uint64 // keys in all these flights
	Merged      uint64 // ops that shared the place of an equal one
	Echoed      uint64 // reads that were answered with the Set that they waited for
	Blocked     uint64 // ops given to Flight.Blocked and Flight.TableBlocked
	Expired     uint64 // deadlines that passed before the op was sent
	Cancelled   uint64 // callers that left otherwise, or after it was sent
	Overloaded  uint64 // ops refused because a queue was full
	Queued      int    // ops queued now
	QueuedBytes int    // what they count towards TableOptions.MaxQueueBytes
}

// Flights are numbers of flights by lane.
type Flights struct{ Reads, Writes, Alone, Isolated uint64 }

// Stats returns a copy of the counters.
func (c *Coalescer) Stats() Stats {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := c.stats
	s.Queued, s.QueuedBytes = c.queuedOps, c.queuedBytes+c.reserved
	return s
}

// Stats returns a copy of the counters.
func (t *Table) Stats() TableStats {
	t.c.mu.Lock()
	defer t.c.mu.Unlock()
	s := t.stats
	s.Queued, s.QueuedBytes = t.queuedOps, t.queuedBytes+t.reserved
	return s
}

func (f *Flights) count(kind Kind) {
	switch kind {
	case Read:
		f.Reads++
	case Alone:
		f.Alone++
	case Isolated:
		f.Isolated++
	default:
		f.Writes++
	}
}

// took counts a flight.
func (s *Stats) took(kind Kind, keys int) {
	s.count(kind)
	s.KeysTotal += uint64(keys)
}

// took counts a flight with keys of the table.
func (s *TableStats) took(kind Kind, keys int) {
	s.count(kind)
	s.Keys[min(bits.Len(uint(keys-1)), KeyBuckets-1)]++
	s.KeysTotal += uint64(keys)
}
