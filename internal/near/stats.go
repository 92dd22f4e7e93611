package near

import "time"

const (
	// AgeBuckets is the number of buckets of Stats.Ages.
	AgeBuckets = 8
	// PollBuckets is the number of buckets of Stats.PollLatency.
	PollBuckets = 16
)

// PollBucket returns the longest poll that bucket i of Stats.PollLatency
// counts: 125 us for the first, then twice the one before. The last bucket
// counts all that took longer, too.
func PollBucket(i int) time.Duration { return 125 * time.Microsecond << i }

// Stats are counts since New, except Bytes, Entries and Parked.
type Stats struct {
	Hits       uint64 // reads answered from memory
	AbsentHits uint64 // hits that said that there is no entry
	Misses     uint64 // reads that had to ask PostgreSQL
	Lapsed     uint64 // misses with a valid entry in memory, but no lease

	// Ages is the histogram of hits by the age of the lease when they were
	// served: bucket i counts those from i to i+1 eighths of the bound.
	Ages   [AgeBuckets]uint64
	MaxAge time.Duration // age of the oldest hit

	Fills   uint64 // answers kept
	Refused Refusals
	Drops   Drops

	Polls       uint64              // polls that were answered
	FailedPolls uint64              // polls that gave an error
	PollLatency [PollBuckets]uint64 // of polls that were answered; see PollBucket
	Lapses      uint64              // leases that ended while polls were wanted

	Bytes   int64 // used of the budget
	Entries int   // in memory, invalid ones included
	Parked  int   // writes in open transactions of this process
}

// Refusals are answers that were not kept, by reason.
type Refusals struct {
	Overtaken uint64 // a write, or another read with another answer, came between
	Parked    uint64 // an open transaction of this process has written the key
	Unlit     uint64 // no poll has succeeded yet, or there is no change log
	Server    uint64 // the answer came from another server, or the server restarted
	Reset     uint64 // everything was dropped while the answer was on its way
	Stranded  uint64 // see Answer.Stranded
	Large     uint64 // an entry of more than an eighth of the budget
	Expired   uint64 // the entry had expired when its answer came
}

// Drops count how often all entries of memory, or of one cache, were dropped,
// by reason.
type Drops struct {
	Server      uint64 // another start of the server
	Incarnation uint64 // another change log
	Unlit       uint64 // the change log is not there
	Floor       uint64 // changes that this process has not seen were trimmed
	Overflow    uint64 // a poll met more changes than it reports
	Stranded    uint64 // see Answer.Stranded
	Flush       uint64 // one cache was flushed, here or elsewhere
}
