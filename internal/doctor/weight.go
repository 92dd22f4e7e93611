package doctor

import (
	"cmp"
	"strings"
)

// Harm is what a finding does if it stays. Among findings of one severity the greater harm
// comes first, so that the first finding of a report is where to begin.
type Harm string

// The harms, the greatest first.
const (
	Loss      Harm = "loss"      // data is lost, or answers are wrong
	Intrusion Harm = "intrusion" // somebody can do what they may not
	Outage    Harm = "outage"    // calls fail, or will fail, or the database will stop
	Growth    Harm = "growth"    // something grows without end
	Slowness  Harm = "slowness"  // calls take longer than they must
	Waste     Harm = "waste"     // space or processor time is spent for nothing
)

// harms has the harm of each check, by its id, the greatest first.
var harms = []struct {
	harm   Harm
	says   string // after "it": for people
	checks string
}{
	{Loss, "loses data or makes answers wrong", `fsync-off full-page-writes-off cache-durability-drift watch-disabled watch-powerless
		watch-fails no-unique-key synchronous-commit-off sessions-commit-off unlogged-sessions timestamp-without-zone
		unlogged-replicated tags-durability lru-null-last-read lru-order-nulls`},
	{Intrusion, "lets somebody do what they may not", `sequential-session-id runtime-role-superuser cache-grant-broad runtime-role-owner runtime-role-gone`},
	{Outage, "makes calls fail, or will", `schema-version cache-table-missing cache-primary-key tags-missing partition-missing partition-settings
		partition-unplaced server-unfit citus-version server-storage database-xid-age xid-age connections-exhausted integer-id
		varchar-limit rebalance-mode citus-worker schema-absent not-checked`},
	{Growth, "lets something grow without end", `autovacuum-off track-counts-off autovacuum-off-table idle-replication-slot upkeep-missing
		over-budget expiry-backlog prepared-transaction idle-in-transaction long-transaction standby-feedback log-untrimmed log-large
		autovacuum-workers-busy autovacuum-naptime dead-rows bloat never-analysed autovacuum-default`},
	{Slowness, "makes calls slower than they must be", `log-stranded log-slow-polls messages-polled shared-buffers-small low-hit-ratio
		cache-index-breaks-hot low-hot-ratio cache-prefix-index-missing cache-settings-drift unbounded-delete
		unbounded-delete-procedure write-per-read expiry-index last-read-index fillfactor-full json-payload jit-on`},
	{Waste, "spends space or processor time for nothing", `cache-extra-index duplicate-index invalid-index toast-large log-unread watch-costly
		watch-cache-gone watch-table-gone cache-unregistered`},
}

// harmOf returns the harm of a check and its place among all: a smaller one comes first.
func harmOf(id string) (h Harm, place int) {
	for _, group := range harms {
		for check := range strings.FieldsSeq(group.checks) {
			place++
			if check == id {
				return group.harm, place
			}
		}
	}
	return Waste, place + 1
}

// says is the harm in words, after "it".
func (h Harm) says() string {
	for _, group := range harms {
		if group.harm == h {
			return group.says
		}
	}
	return ""
}

// heavier orders findings: by severity, what is Howdah's or the server's before tables that an
// application made by hand, by harm, and by the place of the check.
func heavier(a, b Finding) int {
	_, placeOfA := harmOf(a.ID)
	_, placeOfB := harmOf(b.ID)
	return cmp.Or(
		cmp.Compare(a.Severity.rank(), b.Severity.rank()),
		cmp.Compare(rankOf(a.handMade), rankOf(b.handMade)),
		cmp.Compare(placeOfA, placeOfB),
		cmp.Compare(a.Object, b.Object))
}

func rankOf(handMade bool) int {
	if handMade {
		return 1
	}
	return 0
}

// Begin says in a sentence where to begin, "" if there are fewer than two findings that are more
// than information.
func (r *Report) Begin() string {
	if r.Count(Error)+r.Count(Warning) < 2 {
		return ""
	}
	f := r.Findings[0]
	return "Begin with " + f.ID + " of " + f.Object + ": it " + f.Harm.says() + "."
}
