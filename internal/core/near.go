package core

import (
	"context"
	"strconv"
	"time"
	"unsafe"

	"github.com/jackc/pgx/v5"

	"github.com/howdah/howdah/internal/engine"
	"github.com/howdah/howdah/internal/fault"
	"github.com/howdah/howdah/internal/near"
	"github.com/howdah/howdah/internal/tracking"
	"github.com/howdah/howdah/schema"
)

// NearOptions are those of the entries in memory. Package howdah documents the
// fields.
type NearOptions struct {
	Bound   time.Duration
	Bytes   int64
	Exclude []string
}

// defaultNearBytes is NearOptions.Bytes if it is 0.
const defaultNearBytes = 64 << 20

// newFollower makes what follows the change log, and keeps hot entries in memory if the
// options ask for that. set is the engines by which it polls the log, once they are made.
func newFollower(o Options, set **engine.Set, table *tracking.Table) (*near.Memory, error) {
	bound, bytes := o.Near.Bound, o.Near.Bytes
	if bound == 0 {
		bound, bytes = trackingBound, 0
	}
	kept := placements{}
	return near.New(near.Options{
		Bound:    bound,
		Bytes:    bytes,
		Listener: listener{table},
		Logger:   o.Logger,
		Poll: func(ctx context.Context, since near.Cursor) (near.Answer, error) {
			answer, err := poll(ctx, *set, since, kept)
			return answer, fault.From(err, false, false)
		},
	})
}

// wakeFollowers has the change logs of all servers read, because a client begins to track.
func (db *DB) wakeFollowers() {
	for _, server := range db.all() {
		server.follower.Wake()
	}
}

// poll asks the change log what has changed since a snapshot.
func poll(ctx context.Context, set *engine.Set, since near.Cursor, kept placements) (near.Answer, error) {
	conn, err := set.Acquire(ctx)
	if err != nil {
		return near.Answer{}, err
	}
	defer conn.Release()
	xip := make([]string, len(since.Xip))
	for i, xid := range since.Xip {
		xip[i] = strconv.FormatUint(xid, 10)
	}
	rows, err := conn.Query(ctx, schema.Query("poll"), strconv.FormatUint(since.Xmax, 10), xip, set.Tracking.Broadcasts())
	if err != nil {
		return near.Answer{}, err
	}
	answer, err := readPoll(rows, set)
	if err == nil {
		err = kept.check(ctx, conn, set, &answer)
	}
	if err == nil && !answer.Lit {
		_, err = conn.Exec(ctx, schema.Query("light_log"))
	}
	return answer, err
}

// readPoll reads the answer of the query "poll".
func readPoll(rows pgx.Rows, set *engine.Set) (near.Answer, error) {
	var answer near.Answer
	var incarnation *[16]byte
	var tick, floor *int64
	var cache *int32
	var hashes []int64
	var xid *uint64
	var keys [][]byte
	var origin *int64
	total, size := 0, 0
	_, err := pgx.ForEachRow(rows, []any{
		&answer.Snapshot, &answer.Start, &incarnation, &tick, &floor, &answer.Stranded, &cache, &hashes, &xid, &keys, &origin,
	}, func() error {
		if answer.Lit = incarnation != nil; answer.Lit {
			answer.Incarnation, answer.Tick, answer.Floor = *incarnation, *tick, *floor
		}
		if cache != nil {
			total += len(hashes)
			for _, key := range keys {
				size += len(key)
			}
			if size > maxKeyBytes {
				keys = keys[:0]
			}
			own := origin != nil && set.Wrote(*origin) || hashes == nil && set.Flushed(*xid)
			answer.Changes = append(answer.Changes, near.Change{Xid: *xid, Cache: *cache, Hashes: hashes, Keys: keys, Own: own})
			hashes, keys = nil, nil
		}
		return nil
	})
	answer.Overflow = len(answer.Changes) > maxChanges || total > maxHashes
	return answer, err
}

// maxChanges is how many rows of the log the query "poll" returns at most, of
// each of its two parts; with one more, memory drops everything.
const maxChanges = 5000

// maxHashes is how many hashes a poll may bring before memory drops everything,
// which is quicker.
const maxHashes = 1_000_000

// maxKeyBytes is how many bytes of keys a poll may bring before clients that are told of
// them are told to drop everything.
const maxKeyBytes = 16 << 20

// SetMemoryUnused lets Stats show no entries in memory until a cache that keeps some is used.
func (db *DB) SetMemoryUnused() {
	for _, server := range db.all() {
		if memory := server.Near(); memory != nil {
			memory.SetUnused()
		}
	}
}

// Near returns the entries in memory, nil if Options.Near is off.
func (db *DB) Near() *near.Memory { return db.engines.Memory }

// Fresh returns the same cache, whose reads always ask PostgreSQL.
func (c *Cache) Fresh() *Cache {
	d := c.derive()
	d.fresh = true
	return d
}

// Recall answers gets from memory, as engine.Engine.RecallBatch says. A cache that is
// bound to a transaction, or always fresh, has nothing in memory.
func (c *Cache) Recall(keys [][]byte, entries *[near.Batch]near.Entry, room int) (hits uint32, run int) {
	if c.isDivided() {
		return c.recallDivided(keys, entries, room)
	}
	if e := c.ready(); e != nil && c.tx == nil && !c.fresh {
		return e.RecallBatch(keys, entries, room)
	}
	return 0, 0
}

// recallDivided is Recall for the keys at the beginning that are of one partition.
func (c *Cache) recallDivided(keys [][]byte, entries *[near.Batch]near.Entry, room int) (hits uint32, run int) {
	if len(keys) == 0 {
		return 0, 0
	}
	number := c.db.partitions.of(keys[0])
	same := 1
	for same < len(keys) && c.db.partitions.of(keys[same]) == number {
		same++
	}
	if e := c.readyPart(number); e != nil && c.tx == nil && !c.fresh {
		return e.RecallBatch(keys[:same], entries, room)
	}
	return 0, 0
}

// RecallOne answers a get from memory, if it can. The entry's value must not be
// modified.
func (c *Cache) RecallOne(key string) (near.Entry, bool) {
	name := unsafe.Slice(unsafe.StringData(key), len(key)) // is not modified, and not kept
	if e := c.readyFor(name); e != nil && c.tx == nil && !c.fresh {
		return e.RecallOne(name)
	}
	return near.Entry{}, false
}

func prefixes(texts []string) [][]byte {
	var all [][]byte
	for _, text := range texts {
		all = append(all, []byte(text))
	}
	return all
}
