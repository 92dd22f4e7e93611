// Package coalesce lets many concurrent callers share the statements and the
// connections of one pool. It knows no SQL and no protocol: it decides which
// operations ([Op]) go together, and when; Options.Run carries a batch of them
// out.
//
// # Tables
//
// One [Coalescer] serves one pool, and any number of tables. A [Table] is a
// space of keys: what has to do with keys (order, merging, suspicion), the
// bound of its queue and its counters are its own. Flights are shared: one
// takes what waits for any table.
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
// In a lane the tables take turns. A turn is an even share of a flight, at
// least an eighth of it, so that one with a long queue delays the few ops of
// another by about a flight. Within a table it is first come, first served.
//
// A lone caller of Do is its own flight, on its own goroutine, for its own op
// alone; once it has its answer it never works for others. All other flights
// are on goroutines that end when their lane has nothing left. While nothing is
// called, there is no goroutine.
//
// # Late flights
//
// A flight may take long: a large value, a lock, a connection that hangs. While
// others wait, a flight of reads or writes that is in the air for more than a
// few milliseconds, and for much longer than is typical of its lane, loses its
// slot, and another may start beside it; a timer sees to it if no op does.
// Options.MaxFlights bounds all of them. So that trouble stays where it is,
// flights that replace late ones leave room for one in each other lane, and no
// table is in more flights of a lane than one beyond the number of its slots.
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
// # Answers beside writes
//
// What a Set leaves under its key is known without asking (Op.Echo). Reads that
// wait right behind it when a flight takes it, and ask for nothing else, end with it
// (Flight.Acknowledge): each acts right after the Set, which was sent after they
// came, and is answered with what the Set stored. If the Set fails, they run as
// other reads do. So do reads that come while the Set is in flight: it may have
// taken effect before they came, and a write of somebody else, which they must see,
// after it.
//
// A queued Set also takes a later one into its place over such reads. SET a, GET,
// SET b, GET then go as one write of b. All four act at one instant, in their
// order: the first GET is answered with a, the second one with b. Two cases need
// care.
//
//   - SET a leaves while it is queued. The first GET came before SET b, and nothing
//     answers it any more. It must read before SET b writes, so the group steps
//     back behind it (Op.orphaned, Coalescer.stepBack).
//   - The outcome of the group is unknown. The first GET can no longer run: it might
//     read b, which was written after it. It fails as the group does
//     (Options.Unknown). The second one runs.
//
// # Leaving
//
// Every caller may leave, because its context ended or its deadline passed,
// without harm to its neighbours. A queued op is withdrawn: it had no effect.
// Between Take and Sent, Run is reading the bytes of the caller, which
// therefore waits for that instant. After Sent it returns, with the outcome
// unknown, and the flight goes on (Op.Left). Ops whose deadline has passed are
// never sent. Deadlines of asynchronous ops that no flight comes to take are
// handled by the timer, armed only while there are any.
//
// There is one exception. A caller whose op is in a flight that waits for a
// lock (see below) is told more than "unknown" if it waits for the answer,
// which is due soon. So a passed deadline, that of its context included, makes
// it leave only with the answer, at the latest after Options.Grace. A caller
// whose context was cancelled does not wait.
//
// # Foreign locks
//
// An op that met a lock of somebody else (Flight.Blocked) is tried again in a
// lane apart, alone, and for about a second whatever else wants its keys goes
// there too: it delays only those that want the same key. Those that have
// been tried least go first, and wait the shortest (Flight.Tries): they may
// have met a lock that passes, the others wait for one that lasts.
//
// Where the whole table is locked (Flight.TableBlocked), all its ops go to a
// fourth lane, reads only if a read was blocked: batches of that table alone,
// one flight at a time. They come back to the shared lanes when one of them has
// succeeded, or about a second after the last one was blocked. Both lanes have
// few slots, and the tables take turns: a lock on one table does not delay
// another that is not locked.
//
// Whatever leaves at its deadline while it waits behind such a lock, queued or
// not, gets an error that matches ErrBlocked.
//
// # States
//
// All state is guarded by one mutex, held for a few hundred nanoseconds and
// never during Run or a callback. An op is
//
//	idle ── Do, Start ──> queued ── Take ──> taken ── Complete ──> idle
//	                        ^                  │
//	                        └─ Blocked, TableBlocked
//
// where queued means: in the list waiting until its keys are granted, then in
// the feed of its table for a lane; and taken: in the list of open ops of a
// flight. The keys are held from queued to idle. Everything that ends an op
// goes through finished, which informs the callers after the mutex is released.
// A lone flight has its op to itself, and touches the mutex only at its ends.
package coalesce
