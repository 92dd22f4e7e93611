// Package tracking knows which clients keep copies of which keys, and tells them
// when a key has changed: it is the table behind CLIENT TRACKING. It knows no SQL and
// no protocol. A [Table] learns of changes from three sides:
//
//   - from the writes of this process (Changed, with the client that wrote);
//   - from the change log of PostgreSQL, which brings those of all others (Changed,
//     Missed);
//   - from the clock: an entry that a client has read expires (Expires, Tick).
//
// A key is known by the hash that the change log has of it. The hash does not depend on
// the cache, so a change of a key in one database also ends the copies of the same key
// in another one, as in Redis. In return it does not matter that a cache gets another
// table and another number while it is read.
//
// # Claim
//
// Let a client be answered a value of a key that it tracks, and let W be a write of the
// key that is not in the answer. Then the client is sent an invalidation of the key
// behind that answer: at once if W was made by this process, within the bound B of
// package near after W was acknowledged otherwise. While the log cannot be read, it
// is sent an invalidation of everything after one second, or B if that is longer.
//
// Callers keep two rules:
//
//	R1  Track is called before the read begins: before it is sent to PostgreSQL, and
//	    before memory is asked.
//	R2  When the answer has its place among the replies, the registration is either
//	    still there, or an invalidation is sent behind the answer. A reply that has its
//	    place before Track keeps this rule by itself, because each invalidation goes
//	    behind all replies that have their place. For others, Tracks is asked afterwards.
//
// A registration ends with the first invalidation of its key. By R2 it is enough to show
// that Changed or Missed is called for W after Track, at time r.
//
//  1. W was made by this process. Changed is called when the answer of PostgreSQL is
//     known, before the writer is answered. If that was before r, the read began after
//     W was committed and sees it: from PostgreSQL because a primary acknowledges a
//     transaction after its snapshots show it, from memory because memory was invalidated
//     before Changed was called.
//  2. W was made elsewhere, and PostgreSQL answered the read by a snapshot S, taken after
//     r. W is not visible in S. Each poll of the log reports exactly the transactions that
//     became visible since the poll before it, or everything (see package near). The
//     first poll whose snapshot shows W was therefore taken after S, hence after r, and
//     its changes are applied later still.
//  3. W was made elsewhere, and memory answered the read, with an entry that does not
//     have W. The read found the slot of the key before the poll that reports W had
//     invalidated it, or the entry would not have been valid. That poll calls Changed
//     after it has invalidated all slots and has stored its view. The read looked at the
//     slot after r, so Changed is called after r. This is why near tells of changes
//     last: a poll that told first and invalidated then would leave a moment in which a
//     client registers, and reads from memory what the poll is about to end.
//
// It is not enough that W's row is polled while the value in memory is younger than B:
// a registration after the poll would never be told. Case 3 excludes that, because after the
// poll memory does not have the value any more.
//
// The outcome of a write may be unknown. Then Changed is called when that is known, and
// again when its row of the log is polled, if it was made.
//
// Rows of this process come back by the log, except those that near recognizes as its
// own. A client that has read the key again in between gets one invalidation more than
// it needs.
package tracking
