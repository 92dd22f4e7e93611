package doctor

import (
	"fmt"
	"time"
)

// seconds writes a duration for people.
func seconds(s float64) string { return (time.Duration(s) * time.Second).String() }

// pinned says what the holder of an old snapshot does, where that is known.
func pinned(age int64) string {
	if age == 0 {
		return ""
	}
	return fmt.Sprintf(", keeps every row that died in the last %s", count(age, "transaction", "transactions"))
}

const holdsDeadRows = "VACUUM may not remove a row that a snapshot could still see. While an old one is held, every update of a cache leaves a dead row for good: tables grow, reads slow down."

// sessionTrouble is what to do about a session.
func sessionTrouble(s session, evidence, note string) trouble {
	return trouble{
		object: fmt.Sprintf("session %d (%s)", s.PID, s.Who), evidence: evidence,
		repair: []string{fmt.Sprintf("SELECT pg_terminate_backend(%d)", s.PID)}, note: note,
	}
}

func holderChecks() []check {
	return []check{
		{
			id: "idle-in-transaction", severity: Warning, finds: "a session idles in an open transaction",
			why:     holdsDeadRows + " The row locks of the transaction stay as well.",
			repairs: "`pg_terminate_backend`, and `ALTER DATABASE ... SET idle_in_transaction_session_timeout`",
			judge:   idleInTransaction,
		},
		{
			id: "long-transaction", severity: Warning, finds: "a transaction has been running for long",
			why:     holdsDeadRows,
			repairs: "`pg_terminate_backend`",
			judge:   longTransaction,
		},
		{
			id: "prepared-transaction", severity: Warning, finds: "a prepared transaction was left behind",
			why:     holdsDeadRows + " A prepared transaction survives even a restart.",
			repairs: "`ROLLBACK PREPARED`",
			judge:   preparedTransaction,
		},
		{
			id: "idle-replication-slot", severity: Warning, finds: "a replication slot that no client reads",
			why:     "It keeps WAL until the disk is full, and if it holds an xmin, dead rows too.",
			repairs: "`pg_drop_replication_slot`",
			judge:   idleReplicationSlot,
		},
		{
			id: "standby-feedback", severity: Warning, finds: "a standby with hot_standby_feedback holds an old snapshot",
			why:     holdsDeadRows,
			repairs: "on the standby: `ALTER SYSTEM SET hot_standby_feedback = off`, or end the query",
			judge:   standbyFeedback,
		},
	}
}

func idleInTransaction(db *database) (found []trouble) {
	for _, s := range db.sessions {
		if len(s.State) < len("idle in transaction") || s.State[:19] != "idle in transaction" || s.IdleFor < db.opts.LongTransaction.Seconds() {
			continue
		}
		tr := sessionTrouble(s, fmt.Sprintf("%s for %s%s", s.State, seconds(s.IdleFor), pinned(s.XminAge)),
			"Ending the session rolls its transaction back.")
		if db.value("idle_in_transaction_session_timeout") == 0 && s.Here {
			tr.evidence += "; idle_in_transaction_session_timeout = 0"
			tr.repair = append(tr.repair, fmt.Sprintf("ALTER DATABASE %s SET idle_in_transaction_session_timeout = '1min'", quote(db.name)))
			tr.note += " The timeout ends such sessions from now on; it needs the owner of the database, and holds for new sessions."
		}
		found = append(found, tr)
	}
	return found
}

func longTransaction(db *database) (found []trouble) {
	for _, s := range db.sessions {
		if s.State != "active" || s.OpenFor < db.opts.LongTransaction.Seconds() || s.XminAge == 0 {
			continue
		}
		found = append(found, sessionTrouble(s, "its transaction began "+seconds(s.OpenFor)+" ago"+pinned(s.XminAge),
			"Reports and dumps belong on a standby without hot_standby_feedback, or the caches into an instance of their own."))
	}
	return found
}

func preparedTransaction(db *database) (found []trouble) {
	for _, p := range db.prepared {
		if p.Age < db.opts.LongTransaction.Seconds() {
			continue
		}
		found = append(found, trouble{
			object: "prepared transaction " + p.GID, evidence: fmt.Sprintf("prepared %s ago by %s in database %s", seconds(p.Age), p.Owner, p.Database),
			repair: []string{"ROLLBACK PREPARED " + literal(p.GID)},
			note:   fmt.Sprintf("Run it in database %s as %s or a superuser. If its transaction manager decided to commit, use COMMIT PREPARED.", p.Database, p.Owner),
		})
	}
	return found
}

func idleReplicationSlot(db *database) (found []trouble) {
	for _, s := range db.slots {
		if s.Active || s.Retained == 0 && s.XminAge == 0 {
			continue
		}
		found = append(found, trouble{
			object: "replication slot " + s.Name, evidence: fmt.Sprintf("%s slot, inactive, retains %s of WAL%s", s.Type, size(s.Retained), pinned(s.XminAge)),
			repair: []string{fmt.Sprintf("SELECT pg_drop_replication_slot(%s)", literal(s.Name))},
			note:   "Only if its reader will not come back: it then has to be set up again. max_slot_wal_keep_size bounds what a slot can retain.",
		})
	}
	return found
}

func standbyFeedback(db *database) (found []trouble) {
	for _, s := range db.standbys {
		if s.XminAge < 10*db.opts.MinRows {
			continue
		}
		found = append(found, trouble{
			object: "standby " + s.Name, evidence: "runs a query with an old snapshot" + pinned(s.XminAge),
			note: "On the standby, end the long query, or run: ALTER SYSTEM SET hot_standby_feedback = off; SELECT pg_reload_conf(); long queries there may then be cancelled.",
		})
	}
	return found
}
