// Package coherence checks what Howdah promises of reads that are answered from
// memory, against real servers:
//
//   - a hit is never older than the bound,
//   - a process reads its own writes,
//   - reads of a process never go backwards,
//   - a client that keeps copies drops what its server tells it to drop, and is told of every change.
//
// Processes write and read at random while PostgreSQL crashes and readers are
// stopped, and note what they saw with the time before and after each call, by
// one clock of the machine. A trigger on the tables of the caches keeps the
// ledger: every change of a key, in the order in which PostgreSQL made them.
// Order puts the two together, and History.Judge says which reads broke a
// promise.
//
// Clients of Redis that keep copies themselves (CLIENT TRACKING) are judged by the same ledger, but by the order of
// events instead of the bound, which no server can keep for a client: what they answer must not be older than what
// their server was seen to have told them. The build tag clients has that run, with clients in several languages.
//
// The order comes from the ledger, and not from versions: a deletion has no
// version, a write in a shared statement is not told its own, and of a write
// whose outcome is unknown only PostgreSQL knows. The trigger draws a number
// while its transaction holds the lock of the row, so the numbers of one key
// increase in the order of its states, and the number disappears with the
// transaction that is rolled back. Each entry also names the value before it:
// a ledger with a gap is refused.
package coherence
