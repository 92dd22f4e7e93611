package coalesce

import (
	"iter"
	"sync/atomic"
)

// Kind says how an op shares its keys with others; of a Flight, which lane it
// serves.
type Kind uint8

const (
	// Read shares its keys with other reads. Queued reads of the same single
	// key and Class merge. Of a Flight: a batch of reads.
	Read Kind = iota
	// Set is a write whose effect does not depend on what it overwrites.
	// Queued Sets of the same single key and Class merge: the last one wins
	// and all get its result. Flights of Sets and Writes have Kind Write.
	Set
	// Write is any other write; it never merges. Of a Flight: a batch of
	// Sets and Writes.
	Write
	// Alone is the Kind of a Flight that carries one op, on a key that was
	// locked by somebody else a moment ago.
	Alone
	// Isolated is the Kind of a Flight that carries ops of one Table, reads
	// and writes, which was locked as a whole by somebody else a moment ago.
	Isolated

	exclusive // Table.Exclusive and Hold: holds keys as a write does, and never flies
)

// Op is one call that waits to share a statement. It is meant to be embedded
// in the caller's own structure. The exported fields are set before Do or
// Start and must not change until the op is done; then the Op may be reused
// (unless the error matches ErrSent, see there). It must not be copied while
// in use.
type Op struct {
	// Table is where the Keys are. It must be set, to a Table of the Coalescer
	// that runs the op.
	Table *Table
	// Keys identify what the op touches. Equal numbers are the same key of the
	// Table. It may be empty (no order at all) and may name a key twice.
	Keys []uint64
	// Key0 may back Keys; see SetKey.
	Key0 [1]uint64
	Kind Kind
	// Class separates ops that must not merge though their Kind and key are
	// equal: reads that ask for different things, for instance.
	Class uint8
	// Echo, of a Set: what it leaves under its key is known without asking. Of a
	// Read: it asks for nothing else. Such a Read that waits behind such a Set of
	// the same single key may be answered with it; see Flight.Acknowledge.
	Echo bool
	// Held says that another op holds the Keys (see Hold), so that this one need not
	// wait for them. It is never refused, and never merges.
	Held bool
	// Bytes is the op's share of Options.MaxBytes and MaxQueueBytes.
	Bytes int
	// Deadline is the instant, on the clock of Now, from which the caller no
	// longer wants the answer; 0 means never.
	Deadline int64
	// Call is the caller's own.
	Call any

	// Everything below belongs to the Coalescer and is guarded by its mutex,
	// except w and done: whoever finishes the op reads them (see finish).

	state   opState
	leaving leaving // how the caller of Do wants to leave its flight
	blocked bool    // Flight.Blocked was called for it
	tries   int8    // flights of its own that met a lock, up to Patient
	echoed  bool    // see Echoed
	waiting int     // keys that are not granted yet
	order   uint64  // its number among all ops, by admission
	nodes   []node
	node0   [1]node // backs nodes for a single key
	many    []node  // backs nodes for several; kept for reuse

	// A group of merged ops is a list from its leader, the newest, to the
	// oldest. Only the leader is in a key queue and an opList. The group does
	// not change while it is taken: Run reads it without the mutex.
	newer, follower *Op

	list       *opList // the list that holds the op, through prev and next
	prev, next *Op
	flight     *shared // set while taken by one

	left uint32           // atomic: see Left
	w    *waiter          // Do: what to wake; nil after the caller left
	done func(*Op, error) // Start: whom to call
	err  error
}

// leaving says how the caller of a taken op wants to stop waiting.
type leaving uint8

const (
	staying           leaving = iota
	leavingWhenSent           // as soon as Run has read its bytes
	leavingUnanswered         // as soon as the flight learns that the op is blocked
)

type opState uint8

const (
	idle   opState = iota // the caller's
	queued                // in a key queue and a list, or merged with one that is
	taken                 // in a flight (or holding its keys, for exclusive)
)

// Left tells a Run that has the op, leader or follower, whether its caller has
// left it to the flight, and so will never look at results stored in its Call.
// The caller may leave at any moment, also just after Left returned false.
func (op *Op) Left() bool { return atomic.LoadUint32(&op.left) != 0 }

// SetKey makes the op one of a single key, without allocation.
func (op *Op) SetKey(key uint64) {
	op.Key0[0] = key
	op.Keys = op.Key0[:1]
}

// Followers iterates over the ops that merged with op, which Take returned.
// They have the same key and share its outcome; Complete(op) completes them
// all. Call it before Complete.
func (op *Op) Followers() iter.Seq[*Op] {
	return func(yield func(*Op) bool) {
		for o := op.follower; o != nil; o = o.follower {
			if !yield(o) {
				return
			}
		}
	}
}

// Follower is Followers as a linked list: it gives the next op of the merged
// group, or nil at its end.
func (op *Op) Follower() *Op { return op.follower }

// Echoed tells a Run that has op, a follower of a Set, whether reads that wait
// for the outcome will be answered with what op stored, and not with what its
// leader did. The caller of op may leave before, so Run copies it before Sent.
func (op *Op) Echoed() bool { return op.echoed }

// keyCount is the op's share of Options.MaxKeys.
func (op *Op) keyCount() int { return max(1, len(op.Keys)) }

// queueCost is the op's share of Options.MaxQueueBytes. The constant stands
// for the structures around it, so that ops without bytes are bounded too.
func (op *Op) queueCost() int { return op.Bytes + 8*len(op.Keys) + 256 }

func (op *Op) expired(now int64) bool { return op.Deadline != 0 && op.Deadline <= now }

// mergeable says whether ops of this kind merge at all.
func (op *Op) mergeable() bool { return op.Kind <= Set && len(op.Keys) == 1 && !op.Held }

// abandoned says that the caller left after the op was sent.
func (op *Op) abandoned() bool { return op.w == nil && op.done == nil }
