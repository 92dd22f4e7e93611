package doctor

import (
	"regexp"
	"time"
)

// Step is one statement of a repair, and what to know before it is run.
type Step struct {
	Statement string
	// LockTimeout is how long the statement may wait for a lock; 0: without a
	// bound. All who come after a statement that waits for an exclusive lock on a
	// table wait too, so such a wait is short.
	LockTimeout time.Duration
	// Warning says in a sentence what the statement locks, removes or ends; "" if
	// reads and writes go on and nothing is lost.
	Warning string
	// Atomic says that the statement does all or, if it fails or is stopped, nothing.
	Atomic bool
}

// partial finds statements that commit on their way.
var partial = regexp.MustCompile(`(?is)^(VACUUM|DO)\b|^(CREATE|DROP|REINDEX)\b.*\bCONCURRENTLY\b`)

// The waits for locks.
const (
	tableLockWait = 2 * time.Second
	rowLockWait   = 30 * time.Second
	unboundedWait = 0 // other sessions do not wait behind it
)

// hazard recognises statements by what they begin with or call.
type hazard struct {
	pattern *regexp.Regexp
	wait    time.Duration
	warning string
}

const (
	exclusive = "It locks the table for reads and writes"
	rewrite   = exclusive + ", for about a second for each hundred megabytes if the table has to be rewritten or read."
)

// hazards are in order: the first that matches a statement holds.
func hazards() []hazard {
	h := func(pattern string, wait time.Duration, warning string) hazard {
		return hazard{regexp.MustCompile(`(?is)` + pattern), wait, warning}
	}
	return []hazard{
		h(`^(CREATE|DROP|REINDEX)\b.*\bCONCURRENTLY\b`, unboundedWait, "Reads and writes go on. It waits for transactions that are open now. If it is stopped, an invalid index stays: see invalid-index."),
		h(`^VACUUM \(FULL\b`, tableLockWait, exclusive+" while it is rewritten, which needs as much free disk space again."),
		h(`^(VACUUM|ANALYZE)\b`, unboundedWait, ""),
		h(`^ALTER TABLE \S+ (SET|RESET) \(`, tableLockWait, ""),
		h(`^ALTER TABLE\b`, tableLockWait, rewrite),
		h(`^SELECT howdah\.alter_cache\(.*\b(durability|prefix_index|near|log_keys) =>`, tableLockWait, rewrite),
		h(`^(DROP TABLE\b|SELECT howdah\.drop_cache\()`, tableLockWait, "It removes the table with all that it holds."),
		h(`^SELECT howdah\.flush\(`, tableLockWait, "It removes all entries of the cache."),
		h(`^DROP INDEX\b`, tableLockWait, exclusive+" for a moment."),
		h(`^SELECT pg_terminate_backend\(`, tableLockWait, "It ends the session of another program, and rolls back its open transaction."),
		h(`^ROLLBACK PREPARED\b`, tableLockWait, "It rolls back a prepared transaction: what that has changed is lost."),
		h(`^SELECT pg_drop_replication_slot\(`, tableLockWait, "A standby or subscriber that uses the slot has to be made again."),
		h(`^ALTER SYSTEM\b`, tableLockWait, "It changes the setting for all databases of the server."),
		h(`^(DELETE|UPDATE|DO)\b`, rowLockWait, "It changes or removes rows."),
	}
}

// Steps returns the statements of Repair in their order, each to be run outside
// of a transaction block, with what to know before.
func (f *Finding) Steps() []Step {
	steps := make([]Step, len(f.Repair))
	for i, statement := range f.Repair {
		steps[i] = Step{Statement: statement, LockTimeout: tableLockWait, Atomic: !partial.MatchString(statement)}
		for _, hazard := range hazards() {
			if hazard.pattern.MatchString(statement) {
				steps[i].LockTimeout, steps[i].Warning = hazard.wait, hazard.warning
				break
			}
		}
	}
	return steps
}
