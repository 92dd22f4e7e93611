package session

import (
	"sync/atomic"
	"time"
)

// Stats counts what a Manager has done since New.
type Stats struct {
	Created int64 // sessions started
	Rotated int64
	Revoked int64 // sessions ended by a call, not by time
	Expired int64 // rows removed by this process's upkeep

	Reads int64 // reads of a session by its token
	Found int64 // of these, reads that found it

	// Why tokens were refused. A wrong secret is one that was rotated away, or
	// a guess.
	Malformed, Unknown, WrongSecret, TimedOut int64
	// Refused is the sum of Unknown, WrongSecret and TimedOut.
	Refused int64

	Covered   int64         // uses that needed no write
	Touched   int64         // rows written for uses
	Skipped   int64         // uses in batches that turned out to need no write
	Flushes   int64         // batches of uses
	FlushTime time.Duration // that they took
	Waiting   int           // uses kept in memory now

	// Live is about how many sessions the table holds, by PostgreSQL's own
	// statistics, which Run asks for every Options.ExpireInterval; -1 if it has
	// not yet.
	Live int64

	// PrimaryReads are the reads that the primary answered: those that no
	// standby could answer, or all of them.
	PrimaryReads int64
	// Doubted are the reads that failed because Options.MissRate was exceeded.
	Doubted  int64
	Standbys []StandbyStats // in the order of Options.ReadURLs
}

// StandbyStats counts what one standby did for a Manager.
type StandbyStats struct {
	Name   string // host:port, of the first host in the URL
	Usable bool   // it is asked now
	// Behind is how old the heartbeat was that it showed to Run when it looked
	// last; negative if it showed none of the last 16.
	Behind time.Duration

	Served    int64 // reads that it answered
	Missed    int64 // it had no such session, and the primary was asked
	Stale     int64 // it was too far behind, and the primary was asked
	Conflicts int64 // its recovery cancelled the read, and the primary was asked
	Failed    int64 // it did not answer, and the primary was asked
}

type counters struct {
	created, rotated, revoked, expired             atomic.Int64
	reads, found, primaryReads, doubted            atomic.Int64
	malformed, unknown, wrongSecret, timedOut      atomic.Int64
	covered, touched, skipped, flushes, flushNanos atomic.Int64
	live                                           atomic.Int64
}

// Stats returns the counters.
func (m *Manager) Stats() Stats {
	m.uses.mu.Lock()
	waiting := len(m.uses.last)
	m.uses.mu.Unlock()
	c := &m.stats
	s := Stats{
		Created: c.created.Load(), Rotated: c.rotated.Load(), Revoked: c.revoked.Load(), Expired: c.expired.Load(),
		Reads: c.reads.Load(), Found: c.found.Load(), PrimaryReads: c.primaryReads.Load(), Doubted: c.doubted.Load(),
		Malformed: c.malformed.Load(), Unknown: c.unknown.Load(), WrongSecret: c.wrongSecret.Load(), TimedOut: c.timedOut.Load(),
		Covered: c.covered.Load(), Touched: c.touched.Load(), Skipped: c.skipped.Load(),
		Flushes: c.flushes.Load(), FlushTime: time.Duration(c.flushNanos.Load()), Waiting: waiting,
		Live: c.live.Load() - 1,
	}
	s.Refused = s.Unknown + s.WrongSecret + s.TimedOut
	if m.standbys != nil {
		for _, standby := range m.standbys.all {
			s.Standbys = append(s.Standbys, standby.stats())
		}
	}
	return s
}
