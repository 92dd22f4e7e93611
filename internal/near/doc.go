// Package near holds entries of caches in the memory of a process, and serves
// them with a stated bound of staleness. It knows no SQL: Options.Poll asks
// PostgreSQL, and the caller reads and writes.
//
// # Claim
//
// Let B be Options.Bound. If Get serves a value, and a write of the key was
// acknowledged to its writer at least B before Get was called, then the value is
// that of the write or a newer one. Further, in one process, for all of its
// callers together:
//
//   - Read your writes: after a write was acknowledged, Get serves its value or a
//     newer one.
//   - Monotonic reads: after a read of a key was answered, by memory or by
//     PostgreSQL, Get serves the same value or a newer one.
//
// An expired or absent entry is a value here like any other.
//
// # Algorithm
//
// Each statement that changes entries writes one row into a change log, in the
// same transaction: its xid, the cache, the hashes of the keys. Run polls the log
// every B/3 while somebody reads, or waits for a change. A poll is one statement, so all that it sees is
// one snapshot.
//
//	poll:      sent := clock                      before the poll is sent
//	           ask for changes since the cursor
//	           drop everything if the cursor is worth nothing, see below
//	           else bump the slot of each hash    invalidates its entries
//	           cursor := snapshot of this poll
//	           lease := sent + B                  last
//	Get:       load the lease                     first
//	           find the entry, compare it with its slot and the generations
//	           serve it if clock < lease          last
//	Begin:     load the slot and the generations  before the read is sent
//	Fill:      keep the answer with what Begin loaded, if no other answer of the
//	           slot was given since; count the answer in the slot in the same step
//	Bump:      bump the slot                      around each write of this process
//	Wrote:     bump the slot and keep the value   in place of the second Bump
//
// A slot is a counter that keys share by hash; there are 2^20. An invalidation
// increments it and touches no entry, so it is cheap, needs no key, and is also
// seen by a read that is on its way. The sweeper removes entries that are not
// valid any more.
//
// # Bound
//
// The proof needs six invariants.
//
//	I1  A change and its row of the log become visible together: they are of one
//	    transaction.
//	I2  A poll reports exactly the rows that are visible in its snapshot and not
//	    in that of the poll before.
//	I3  Slots and generations change before the lease is stored.
//	I4  An entry carries the slot and the generations from before its read was
//	    sent.
//	I5  An entry is valid only if its read was answered by the server, and in the
//	    life of the change log, that the last poll met.
//	I6  A poll that may lack rows, because they were trimmed or are too many,
//	    drops everything.
//
// Let Get be called at time t and serve an entry under the lease of a poll P, sent
// at s. Let a write W of the key be acknowledged at a, with a <= t-B.
//
//  1. The clock was before the lease, and it was read after t, so t < s+B, thus
//     s > t-B >= a. P was sent after W was acknowledged. A primary acknowledges a
//     transaction after it has left the list of running ones [1], so W is visible
//     in the snapshot of P.
//  2. By I1 and I2, exactly one poll Q, which is P or an earlier one, reported the
//     row of W, or else dropped everything (I6). By I3 it had bumped the slot when
//     P's lease was stored, and Get loaded the slot after the lease.
//  3. The entry is valid, so it carries the slot as it is now. By I4 its read was
//     sent after Q bumped it, hence after the snapshot of Q was taken, and by I5 on
//     the same server. Snapshots of one primary only grow, so W was visible to the
//     read: its answer is the value of W or a newer one. QED
//
// I2 holds because a transaction that is not visible in a snapshot either has an
// xid from the snapshot's xmax on, or is in its list of running ones. The cursor
// is these two: a poll asks for rows with xid >= xmax or xid in xip, and PostgreSQL
// leaves out what is not visible yet. The list is complete on a primary: it has the
// top-level xids, also of prepared transactions, and a row of the log carries the
// top-level xid [2]. So a transaction that is open for an hour delays nothing.
//
// A cursor is worth nothing, and everything is dropped by another generation,
//
//   - at the first poll: reads that are on their way may miss what it does not
//     report;
//   - if the log has another incarnation, a random number that a crash removes with
//     the log, or the server another start: xids may have been given again;
//   - if the log has no state row: it is not written, or a crash emptied it;
//   - if its floor is above the tick of the poll before. Each trim counts a tick
//     and notes its snapshot, and removes only rows that the snapshot of the floor
//     sees. A poll that saw that tick has seen those rows, or began after them;
//   - if there are more changes than a poll reports.
//
// The rows of a prepared transaction are lost in a crash, while its writes to a
// durable cache are not. Answer.Stranded says that there may be such: durable
// caches are not served then, and begin anew afterwards.
//
// # Clock
//
// A lease is over when it is over by the monotonic or by the wall clock: the
// first one stands still while a machine sleeps, the second one may be set back.
// If no clock of a virtual machine moves, time does not pass for it, and the bound
// holds in its own time. An entry expires by the clock of this process, at the time
// that it had left when its read was sent; if the clock of the database is set
// forward, it is served longer by that step.
//
// GetBatch serves many requests with one reading, made after all of them were
// received, which are the calls of the claim. Step 1 needs no more than that the
// reading is after the request, and step 2 that the lease was loaded before the
// slot; when the item was looked up matters to neither. A reading from before a
// request was received, such as one for a round of an event loop that still reads
// from its sockets, would serve it beyond the bound by as much as it is older.
//
// # Writes of this process
//
// Bump is called twice for a write. After the second call, before the writer is
// answered, only reads that began later can be kept, and they see the write: read
// your writes. The first call lets a request that is behind the write on a
// connection miss, so that it waits its turn behind the write. It must not come
// before the write has its place in the order of the calls of its key: a read that
// begins after Bump and takes the place before the write would be kept with the old
// value, until the write is answered.
//
// If the outcome of a write is unknown, it may be made later. Its row in the log
// then invalidates the entry as that of a foreign write.
//
// # What this process wrote
//
// A write that succeeded says what it left under its key, as a read of the key does
// that was sent with the write and answered with it. Wrote keeps that. Its token was
// loaded before the write was sent, and its entry carries the mark after its own
// bump, which one atomic step gives if nothing else changed the mark since the token.
// The entry is the value as of the bump of any row before, and the proof above holds
// with one change: where the snapshot of Q sees W, and the write is sent after Q
// bumped the slot, W was committed before the write was, so the write is newer.
//
//   - A write behind it in line: its first Bump may be older than the token, and then
//     does not end the entry; a request behind that write on a connection would be
//     served what the write replaces. So the value is not kept if another write of
//     the key has its place in line already. One that takes its place later bumps
//     later, which either refuses Wrote or ends its entry.
//   - Answers in between: a read may be answered after the write left its place in
//     line and before Wrote, with a newer foreign value. It counts in the slot, so
//     Wrote does not keep an older one.
//   - A refused Wrote is a Bump.
//
// The row that the write leaves in the log would end the entry at the next poll. Own
// lets that poll pass over it. A poll bumps for a row of W so that every entry that
// is served after it was read after W. For a write of this process whose answer came,
// its own second bump does that: it came before the writer was told, so before every
// Get that the claim is about; and an entry with a later mark was read by a request
// that was sent after the write was answered, or is what the write left. Rows of
// others in the same slot, in the same poll too, bump as ever. The row is recognized
// by its xid and cache: one statement writes the entries of a cache in a transaction
// of shared statements. An xid means something within one incarnation of one server,
// so a drop of everything forgets all that Own noted, and Own notes nothing for a
// token of an older generation. A crash between the last poll and the next one may
// give an xid again whose commit was lost: then the row that is passed over is of a
// write that was lost, too.
//
// A write that does not know its keys cannot bump them. CatchUp polls at once
// instead, and the writer is answered when a poll that was sent after the write was
// answered has been applied: by the proof above, with B = 0 for that moment, nothing
// older is served then.
//
// A write in a transaction of the application becomes visible when the application
// commits, and nobody tells. Its slot is parked before the write is sent: nothing
// is served or kept there until a poll that was sent after the xid was known finds
// it finished. If it does not know its keys, all of the cache is parked. The poll that finds
// it finished has bumped what it changed, so the other entries may be served again;
// what was read meanwhile has removed its own.
//
// # Overlapping reads
//
// Two reads of a key overlap, and a write is made between their snapshots. If the
// answer of the older one is kept after the caller of the newer one was answered,
// hits go backwards. A lock per key would exclude it, or a table of reads. Here
// every answer counts in its slot, kept or not, in the same atomic step that
// decides about keeping it. It is kept only if the count is that of Begin, so no
// answer was given in between:
//
//   - Callers that were answered before Begin saw what this read sees, or an older
//     value: its snapshot is later.
//   - Callers that are answered after Fill with something else remove the entry.
//   - Callers that were answered in between changed the count, and this answer is
//     not kept.
//
// Under that rule alone a hot key would never be kept: when a change has
// invalidated it, reads of it overlap without end, and each refuses the next. So an
// answer that is not kept stays as a record of what callers were told. A read is
// kept also if the record of its key says that all answers since its Begin were
// equal to its own. If the record was evicted, only the count decides.
//
// A read that bypasses memory, or whose answer shall not be kept, calls Bump before
// its caller is answered, for the same reason.
//
// # Goroutines
//
// Run polls on the goroutine of its caller, starts one that sweeps, and ends it
// before it returns. All else happens on the goroutines of the callers, evictions
// included. A Memory needs no closing.
//
// # Sources
//
// [1]: PostgreSQL, src/backend/access/transam/README, "Interlocking Transaction
// Begin, Transaction End, and Snapshots"; CommitTransaction in xact.c calls
// ProcArrayEndTransaction before it returns to the client. [2]: PostgreSQL,
// documentation of pg_current_snapshot and of pg_snapshot's components; procarray.c
// on prepared transactions. Leases: Gray and Cheriton, "Leases: an efficient
// fault-tolerant mechanism for distributed file cache consistency", 1989. Tokens
// against stale sets: Nishtala et al., "Scaling Memcache at Facebook", 2013; the
// race that they close, in a client of our time: github.com/redis/lettuce, issue
// 3481. Eviction: otter, after Einziger, Friedman and Manes, "TinyLFU: a highly
// efficient cache admission policy", 2017.
package near
