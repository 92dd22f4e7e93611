// Package coalesce lets many concurrent callers share one set-based
// statement. It knows no SQL and no protocol: it decides which operations
// ([Op]) go together, and when; Options.Run carries a batch of them out.
//
// # Lanes and flights
//
// One call of Run is a [Flight]. Reads and writes have a lane each, with a
// fixed number of flights at once. An op that finds a free slot starts at
// once, without waiting for company; only beside a small flight that will land
// soon, very few wait for the landing. Batches come about because ops queue
// while all flights are in the air, and because Run binds late: it gets its
// connection first and only then calls Take, which gives it all that may go by
// then.
//
// A lone caller of Do is its own flight, on its own goroutine, for its own op
// alone; once it has its answer it never works for others. All other flights
// are on goroutines that end when their lane has nothing left. While nobody
// calls, there is no goroutine.
//
// # Order
//
// Each key has a FIFO queue of the ops that name it and are not done (see
// keyQueue). An op may go when every one of its keys is granted: a read when
// no write is ahead of it, anything else when nothing is. So ops on one key
// act in the order in which they were submitted, as far as order matters; a
// key is in one write flight or any number of read flights; ops on different
// keys never wait for each other. An op enters all of its queues in one step
// under the mutex, so that no two ops can wait for each other, and none is
// overtaken for ever. Exclusive holds keys in the same queues, without a
// flight.
//
// Queued Sets of one key merge (the last one wins), and so do equal reads:
// they hold one place, and share one outcome.
//
// # Leaving
//
// Every caller may leave, because its context ended or its deadline passed,
// without harm to its neighbours. A queued op is withdrawn: it had no effect.
// Between Take and Sent, Run is reading the bytes of the caller, which
// therefore waits for that instant. After Sent it returns, with the outcome
// unknown, and the flight goes on. Ops whose deadline has passed are never
// sent. Deadlines of asynchronous ops that no flight comes to take are seen
// to by one timer, armed only while there are any.
//
// # Foreign locks
//
// An op that met a lock of somebody else (Flight.Blocked) is tried again in a
// lane apart, alone, and for about a second whatever else wants its keys goes
// there too: it delays nobody but those who want the same key. Those that have
// been tried least go first, and wait the shortest (Flight.Tries): they may
// have met a lock that passes, the others wait for one that lasts.
//
// # States
//
// All state is guarded by one mutex, held for a few hundred nanoseconds and
// never during Run or a callback. An op is
//
//	idle ── Do, Start ──> queued ── Take ──> taken ── Complete ──> idle
//	                        ^                  │
//	                        └───── Blocked ────┘
//
// where queued means: in the list waiting until its keys are granted, then in
// the ready list of a lane; and taken: in the list of open ops of a flight.
// The keys are held from queued to idle. Everything that ends an op goes
// through finished, which tells the callers after the mutex is released.
package coalesce
