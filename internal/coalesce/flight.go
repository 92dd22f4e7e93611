package coalesce

// Flight is one execution of Options.Run. Its methods are for Run alone, on
// one goroutine at a time, and not after Run has returned.
//
// The order is: acquire a connection, Take, encode, Sent, read the answers,
// then Complete, Acknowledge, Blocked or TableBlocked for each op. A Run that
// cannot get a connection still calls Take and completes what it got with the
// error.
//
// There are two implementations: shared, and lone for an op that has no
// company.
type Flight interface {
	// Kind tells the lane: Read, Write, Alone or Isolated.
	Kind() Kind

	// Lone tells whether the flight is for one caller of Do alone, and on its
	// goroutine. Its Kind is Read or Write.
	Lone() bool

	// Deadline is the instant, on the clock of Now, from which no caller waits
	// for the batch that Take returned, but for Options.Grace; 0 means never.
	// Run should not outlast it, but for the time that it takes to learn of a
	// lock.
	Deadline() int64

	// Tries tells, after Take, how often the op of a flight of Kind Alone has
	// been tried so before, up to Patient; and Patient if no other op waits
	// for the lane. The fewer, the shorter should it wait for a lock. For
	// other flights it means nothing.
	Tries() int

	// Take returns the ops that this flight is to run: everything that may go
	// now, of all Tables, within MaxKeys and MaxBytes; a single op for Kind
	// Alone, ops of a single Table for Kind Isolated. It may be empty, if the
	// callers have left meanwhile. It is to be called once, as late as
	// possible; the slice is valid until Run returns and may be changed.
	//
	// Ops of one Table come in one run, or in a few if its queue is long. In a
	// flight of Kind Write or Isolated no key of a Table that is written
	// appears twice; keys that are read may, if ops differ in Class or name
	// several keys.
	Take() []*Op

	// Sent says that Run has copied what it needs of the callers' bytes: a
	// caller that wants to leave may now return while the flight goes on for
	// the others.
	Sent()

	// Retake prepares another attempt at ops that Take returned and that had
	// no effect, in the same flight (a failed batch that is split, say): it
	// takes away those whose callers have left or whose deadline has passed
	// and returns the others, which wait again for Sent. The slice is filtered
	// in place.
	Retake(ops []*Op) []*Op

	// Complete ends an op that Take returned, with its followers: their
	// callers get err and what Run has stored in their Calls; their keys are
	// free for the next. Run must not touch the op afterwards. done callbacks
	// run inside. To store nothing for callers that have left, see Op.Left. A Set
	// that took effect is ended by Acknowledge instead.
	Complete(op *Op, err error)

	// Acknowledge is Complete without an error for a Set that took effect. It
	// also ends reads behind the Set, with Echo, that wait for it: they act right
	// after it, and are answered with what it stored, without a statement. Those
	// that came between two Sets of a group are answered with what the older one
	// stored: all act at one instant, in their order. known says that what op
	// itself stored is still there, as far as can be known; reads behind it are
	// not answered otherwise, nor if op's caller has left. See
	// Options.Acknowledged.
	Acknowledge(op *Op, known bool)

	// Blocked says that op met a lock held by somebody else and had no effect.
	// It is run again in a flight of its own, until its deadline; its keys are
	// suspect and kept out of shared batches until an op on them succeeds or
	// about a second has passed. Reads are kept out only if it was a read that
	// was blocked: plain reads wait for no row lock. Run must not touch the op
	// afterwards.
	Blocked(op *Op)

	// TableBlocked says that ops had no effect because somebody else has
	// locked their whole Table. They are run again, until their deadlines,
	// together with all other ops of the Table in flights of Kind Isolated,
	// one at a time; until one of them succeeds or about a second has passed
	// without another call. Reads of the Table are isolated only if one of ops
	// is a read. Run must not touch the ops afterwards.
	TableBlocked(ops ...*Op)
}

// Patient is from how many tries on an op may wait for a lock as long as it
// takes.
const Patient = 5
