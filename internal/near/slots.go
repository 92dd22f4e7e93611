package near

import "sync/atomic"

// A slot is what memory knows of the keys whose hashes lead to it, in one word:
//
//	63       33 32      31        0
//	[  token  ][parked][ answers  ]
//	[       mark      ]
//
// The token changes with every invalidation. Parked is set while an open
// transaction of this process has written one of the keys. An entry carries
// the mark that its slot had before its read was sent, and is valid only while
// the slot has it still. Answers counts the reads that were answered.
//
// Two keys that share a slot invalidate each other's entries, which costs a
// read. The token wraps after 2^31 invalidations of a slot; by then the
// sweeper has removed every entry that carries the old one.
const (
	slotBits  = 20
	slotCount = 1 << slotBits
	oneToken  = 1 << 33
	parkedBit = 1 << 32
)

// state is the word of a slot.
type state uint64

func (s state) mark() uint32    { return uint32(s >> 32) }
func (s state) parked() bool    { return s&parkedBit != 0 }
func (s state) answers() uint32 { return uint32(s) }

// answered is the state after one more answer.
func (s state) answered() state { return s&^0xffffffff | state(s.answers()+1) }

// bumped is the state after one more invalidation.
func (s state) bumped() state { return s + oneToken }

type slots [slotCount]atomic.Uint64

// slotOf spreads the caches, so that keys that stand in several of them do not
// share a slot.
func slotOf(cache int32, hash int64) uint32 {
	const odd = 0x9e3779b97f4a7c15
	return uint32((uint64(hash) ^ uint64(uint32(cache))*odd) % slotCount)
}

func (s *slots) load(slot uint32) state { return state(s[slot].Load()) }
func (s *slots) bump(slot uint32)       { s[slot].Add(oneToken) }
func (s *slots) park(slot uint32)       { s[slot].Or(parkedBit) }
func (s *slots) unpark(slot uint32)     { s[slot].And(^uint64(parkedBit)) }

func (s *slots) swap(slot uint32, old, next state) bool {
	return s[slot].CompareAndSwap(uint64(old), uint64(next))
}
