// Package fetch makes one load of a missing value for all who ask for it at the
// same time, in one process and in several. It knows no SQL and no cache: Store
// asks PostgreSQL. All times are by the clock of this process, except what a Store
// says is left of a lease or a value.
//
// # Claim
//
// Let a change of a key be acknowledged when what invalidates the key in the cache
// was acknowledged: the commit of a transaction that deletes it, or a delete after
// the commit.
//
//  1. No stale value is stored. A value that was loaded before a change is not in
//     the cache after the change was acknowledged.
//  2. No stale value is returned. A Fetch that began after a change was
//     acknowledged returns a value that was loaded after it. The exceptions are
//     those that the caller asks for: Options.Stale and Options.StaleIfError, of
//     values that expired and that nothing has invalidated.
//  3. One load. While a lease lasts, no other Fetch of the key loads and stores, in
//     any process. In one process, no two fetches of a key load at the same time,
//     except beside a load whose Timeout is over, or a refresh of a value that is
//     still served.
//  4. Nobody waits for ever. A Fetch waits in its own process for two loads at
//     most, that which it found and the next. For other processes it waits as long
//     as it sees the same lease; after a few leases that brought no value it
//     loads without storing.
//
// # Algorithm
//
// The fetches of one key that overlap are the callers of one flight. A flight makes
// rounds until all of its callers are answered. Each step of a round has a party:
// the callers who came before the step began. Only they may get its result.
//
//	claim:    party := all who wait          before the claim is sent
//	          a hit answers the party
//	          the lease of another process: the party waits, and the next round
//	          begins after 5 ms, then later and later, up to 50 ms; or, where the
//	          Store tells of changes sooner than that, when it does
//	load:     party += all who came during the claim   before the load begins
//	          late := all who came during the load     before the value is sent
//	fulfil:   stores the value if the token is good
//	          stored: answers the party and late
//	          void:   answers the party; late go another round
//
// A token is what the claim found of the key, and every change of the key makes it
// void. The Store compares it and stores in one step.
//
// # Why it holds
//
// 1: The load began after the claim was answered. If a change was acknowledged
// before the claim, the load saw it. If later, the token is void when the value is
// sent after that, and the value removed by the change when it was stored before.
// A change whose transaction is still open holds the row that the claim needs, or
// the one that fulfil needs, so it counts as before or after, not as neither.
//
// 2: A caller of the party came before the load began, or before the claim was sent
// that found a hit: so did every change that it may know of. A caller among late
// gets the value only if it was stored, and it came before the value was sent: what
// was stored was not void at a moment after it came. Read-your-writes follows,
// whatever the way of the write.
//
// 3: A flight is in the table of its Group as long as it has callers, and only its
// rounds load; a Store gives one lease at a time.
//
// 4: A caller that came during a load belongs to the party of the next one, and is
// answered whether that is void or not.
//
// # Goroutines
//
// Fetch and Refresh start goroutines: one for each round, and one for each load,
// which does not run on a goroutine that answers callers, because a load may ignore
// its context. Close waits for all of them but loads whose Timeout is over.
//
// # Sources
//
// Leases with tokens: Nishtala et al., "Scaling Memcache at Facebook", 2013. Early
// refresh: Vattani, Chierichetti and Lowenstein, "Optimal Probabilistic Cache
// Stampede Prevention", 2015. Stale values: RFC 5861.
package fetch
