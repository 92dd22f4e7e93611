package howdah

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/howdah/howdah/schema"
)

const (
	// flushInterval is how often what was read is noted in the rows.
	flushInterval = 5 * time.Second

	// maxReads bounds the keys noted between two flushes, for each cache: with
	// more, those that are read first, which the often read are likely to be.
	maxReads = 8192

	// flushRows bounds one statement of a flush.
	flushRows = 1000
)

// reads counts reads by the hash of their key, in memory. No read writes.
type reads struct {
	policy string

	mu     sync.Mutex
	counts map[int64]int32
}

// note counts the keys of a request that were there.
func (n *reads) note(r *request) {
	switch r.stmt {
	case stmtStat, stmtDelete, stmtGetDelete, stmtExpire, stmtLocked:
		return
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, row := range r.rows {
		found := row.call.Status == StatusOK
		if row.call.Entries != nil {
			found = row.call.Entries[row.index].Found
		}
		if !found {
			continue
		}
		if count, ok := n.counts[row.hash]; ok {
			n.counts[row.hash] = count + 1
		} else if len(n.counts) < maxReads {
			n.counts[row.hash] = 1
		}
	}
}

// take empties the notes; the rows come in the order of their hashes.
func (n *reads) take() (hashes []int64, counts []int32) {
	n.mu.Lock()
	taken := n.counts
	n.counts = make(map[int64]int32)
	n.mu.Unlock()
	for hash := range taken {
		hashes = append(hashes, hash)
	}
	slices.Sort(hashes)
	for _, hash := range hashes {
		counts = append(counts, taken[hash])
	}
	return hashes, counts
}

// applyBudgets tells the engines what upkeep saw: whose reads are to be
// noted, and who is full. nil ends all noting.
func (db *DB) applyBudgets(budgets map[string]budget, used map[string]Upkeep) {
	db.mu.RLock()
	defer db.mu.RUnlock()
	for name, e := range db.engines {
		b := budgets[name]
		counted := b.limited() && (strings.HasSuffix(b.policy, "-lru") || strings.HasSuffix(b.policy, "-lfu"))
		switch old := e.reads.Load(); {
		case !counted:
			e.reads.Store(nil)
		case old == nil || old.policy != b.policy:
			e.reads.Store(&reads{policy: b.policy, counts: make(map[int64]int32)})
		}
		e.pressure.expect(b, used[name].Entries, used[name].Size)
		if budgets != nil && b.full != e.table.Load().full {
			e.forget()
		}
	}
}

// rowsWritten is how many rows this process has written to each cache.
func (db *DB) rowsWritten() map[string]int64 {
	db.mu.RLock()
	defer db.mu.RUnlock()
	rows := make(map[string]int64, len(db.engines))
	for name, e := range db.engines {
		rows[name] = e.pressure.rows.Load()
	}
	return rows
}

// press tells the engine of a cache what a round found that began when seen
// rows had been written.
func (db *DB) press(r Upkeep, b budget, seen int64) {
	db.mu.RLock()
	defer db.mu.RUnlock()
	if e := db.engines[r.Cache]; e != nil {
		e.pressure.seen.Store(seen)
		e.pressure.bound(b, b.share(r), e.pressure.expect(b, r.Entries, r.Size), r.Evicted > 0)
	}
}

// releaseWriters lets all writers go on: nobody is there to wait for.
func (db *DB) releaseWriters() {
	db.mu.RLock()
	defer db.mu.RUnlock()
	for _, e := range db.engines {
		e.pressure.allow.Store(0)
	}
}

// flushReads writes to the rows when, and how often, they were read. It
// returns the first error; what could not be written is forgotten, for it is
// only a hint.
func (db *DB) flushReads(ctx context.Context) error {
	db.mu.RLock()
	engines := make([]*engine, 0, len(db.engines))
	for _, e := range db.engines {
		engines = append(engines, e)
	}
	db.mu.RUnlock()
	var first error
	for _, e := range engines {
		n := e.reads.Load()
		if n == nil {
			continue
		}
		hashes, counts := n.take()
		for len(hashes) > 0 {
			chunk := min(flushRows, len(hashes))
			first = cmp.Or(first, e.flushReads(ctx, n.policy, hashes[:chunk], counts[:chunk]))
			hashes, counts = hashes[chunk:], counts[chunk:]
		}
	}
	return first
}

func (e *engine) flushReads(ctx context.Context, policy string, hashes []int64, counts []int32) error {
	note := "note_recency"
	if strings.HasSuffix(policy, "-lfu") {
		note = "note_frequency"
	}
	ctx, cancel := context.WithTimeout(ctx, upkeepTimeout)
	defer cancel()
	err := e.db.unsynced(ctx, func(tx pgx.Tx) error {
		_, err := tx.Exec(ctx, schema.Statement(note, schema.Table{Name: e.tableName()}), hashes, counts)
		return err
	})
	switch sqlState(err) {
	case "42P01", "55P03": // dropped, or being altered
		return nil
	}
	return schemaFailure(err)
}
