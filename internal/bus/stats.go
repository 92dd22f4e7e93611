package bus

import "sync/atomic"

// Stats are the figures of a Bus since New.
type Stats struct {
	Sent      uint64 // messages sent to other processes
	Flights   uint64 // statements that did so, or found that no other process wants them
	Received  uint64 // messages of other processes
	Polls     uint64 // questions for messages
	Failures  uint64 // statements that failed
	Waiting   int    // bytes of messages that wait to be sent
	Listening bool   // notifications arrive
}

type counts struct {
	sent, flights, received, polls, failures atomic.Uint64
	listening                                atomic.Bool
}

// Stats returns the present figures.
func (b *Bus) Stats() Stats {
	return Stats{
		Sent: b.counts.sent.Load(), Flights: b.counts.flights.Load(), Received: b.counts.received.Load(),
		Polls: b.counts.polls.Load(), Failures: b.counts.failures.Load(),
		Waiting: b.queue.waiting(), Listening: b.counts.listening.Load(),
	}
}
