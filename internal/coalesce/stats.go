package coalesce

import "math/bits"

// KeyBuckets is the number of buckets of Stats.Keys.
const KeyBuckets = 17

// Stats are counts since New, except Queued and QueuedBytes.
type Stats struct {
	Reads, Writes, Alone uint64 // flights that took something, per lane
	// Keys is the histogram of the keys in a batch, of all lanes: bucket 0
	// counts batches of one, bucket i those of up to 2^i keys, the last one
	// everything larger.
	Keys        [KeyBuckets]uint64
	KeysTotal   uint64 // keys in all batches
	Merged      uint64 // ops that shared the place of an equal one
	Blocked     uint64 // calls of Flight.Blocked
	Expired     uint64 // deadlines that passed before the op was sent
	Cancelled   uint64 // callers that left otherwise, or after it was sent
	Overloaded  uint64 // ops refused because the queue was full
	Panics      uint64 // panics in Run
	Queued      int    // ops queued now
	QueuedBytes int    // what they count towards MaxQueueBytes
}

// Stats returns a copy of the counters.
func (c *Coalescer) Stats() Stats {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := c.stats
	s.Queued, s.QueuedBytes = c.queuedOps, c.queuedBytes
	return s
}

func (s *Stats) batch(kind Kind, keys int) {
	switch kind {
	case Read:
		s.Reads++
	case Alone:
		s.Alone++
	default:
		s.Writes++
	}
	s.Keys[min(bits.Len(uint(keys-1)), KeyBuckets-1)]++
	s.KeysTotal += uint64(keys)
}
