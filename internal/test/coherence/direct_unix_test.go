//go:build unix

package coherence

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/howdah/howdah/internal/near"
	"github.com/howdah/howdah/schema"
)

// mutant is a fault in how a direct store uses memory. Each breaks one of the
// reasons why hits are not older than the bound.
type mutant string

const (
	sound         mutant = ""
	withoutXip    mutant = "polls do not ask for transactions that were open at the last one"
	lateToken     mutant = "the token is taken after the answer"
	withoutFloor  mutant = "the floor of the change log is not looked at"
	withoutLife   mutant = "the incarnation of the log and the start of the server are not looked at"
	withoutLease  mutant = "the lease does not end"
	withoutBump   mutant = "own writes do not bump"
	withoutStrand mutant = "prepared transactions that are older than the log are not looked at"
	withoutLog    mutant = "a write leaves no row in the change log"
	formerID      mutant = "a write logs under the id that the cache had at first"

	// Faults of the database.
	withoutFunctionLog mutant = "SQL functions leave no row in the change log"
	withoutCacheLog    mutant = "what changes all of a cache leaves no row in the change log"
)

// direct reads and writes with the statements of the library and its memory,
// one statement for each call: what the library does, less what makes it fast,
// and open to mutants.
type direct struct {
	pool   *pgxpool.Pool
	memory *near.Memory
	mutant mutant

	mu     sync.Mutex
	tables map[string]cacheTable
	first  map[string]int32  // ids, for formerID
	hashes map[string]int64  // of keys
	polled time.Time         // when the last poll was sent, for withoutLease
	life   *near.Answer      // the first answer, for withoutLife
	before func(name string) // a test waits here; may be nil
}

// cacheTable is what a direct store knows of a cache.
type cacheTable struct {
	schema.Table
	id      int32
	durable bool
}

func openDirect(ctx context.Context, url string, bound time.Duration, m mutant) (*direct, error) {
	pool, err := pgxpool.New(ctx, url)
	if err != nil {
		return nil, err
	}
	d := &direct{pool: pool, mutant: m, tables: map[string]cacheTable{}, first: map[string]int32{}, hashes: map[string]int64{}}
	options := near.Options{Bound: bound, Bytes: 16 << 20, Poll: d.poll}
	if m == withoutLease {
		options.Now = d.atPoll
	}
	d.memory, err = near.New(options)
	return d, err
}

// atPoll is a clock that stands still between polls: no lease ends.
func (d *direct) atPoll() time.Time {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.polled.IsZero() {
		d.polled = time.Now()
	}
	return d.polled
}

// poll asks for the changes since a cursor.
func (d *direct) poll(ctx context.Context, since near.Cursor) (near.Answer, error) {
	sent := time.Now()
	d.wait("poll")
	xip := make([]string, len(since.Xip))
	for i, xid := range since.Xip {
		xip[i] = strconv.FormatUint(xid, 10)
	}
	if d.mutant == withoutXip {
		xip = nil
	}
	rows, err := d.pool.Query(ctx, schema.Query("poll"), strconv.FormatUint(since.Xmax, 10), xip, false)
	if err != nil {
		return near.Answer{}, err
	}
	var a near.Answer
	var incarnation *[16]byte
	var cache *int32
	var hashes []int64
	var xid *uint64
	var keys [][]byte // not wanted
	var origin *int64
	n := 0
	_, err = pgx.ForEachRow(rows, []any{&a.Snapshot, &a.Start, &incarnation, &a.Tick, &a.Floor, &a.Stranded, &cache, &hashes, &xid, &keys, &origin}, func() error {
		if incarnation != nil {
			a.Lit, a.Incarnation = true, *incarnation
		}
		if cache != nil {
			a.Changes = append(a.Changes, near.Change{Xid: *xid, Cache: *cache, Hashes: slices.Clone(hashes)})
		}
		n++
		return nil
	})
	if err != nil {
		return a, err
	}
	a.Overflow = n > 5000
	d.mu.Lock()
	defer d.mu.Unlock()
	d.polled = sent
	d.mutate(&a)
	if !a.Lit {
		_, err = d.pool.Exec(ctx, schema.Query("light_log"))
	}
	return a, err
}

// mutate falsifies an answer.
func (d *direct) mutate(a *near.Answer) {
	switch d.mutant {
	case withoutFloor:
		a.Floor = 0
	case withoutStrand:
		a.Stranded = false
	case withoutLife:
		if d.life == nil {
			first := *a
			d.life = &first
		}
		a.Lit, a.Incarnation, a.Start = true, d.life.Incarnation, d.life.Start
	}
}

// table returns what the store knows of a cache, and asks where it knows
// nothing.
func (d *direct) table(ctx context.Context, cache string) (cacheTable, error) {
	d.mu.Lock()
	t, known := d.tables[cache]
	d.mu.Unlock()
	if known {
		return t, nil
	}
	var class string
	var logged bool
	err := d.pool.QueryRow(ctx, "SELECT id, durability, 'near' = ANY (features) FROM howdah_internal.cache WHERE name = $1", cache).
		Scan(&t.id, &class, &logged)
	if err != nil {
		return t, err
	}
	t.Name, t.durable, t.RefuseCollision = schema.TableName(t.id), class != "unlogged", class == "sync"
	if logged {
		t.Log = t.id
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if _, known := d.first[cache]; !known {
		d.first[cache] = t.id
	}
	d.tables[cache] = t
	return t, nil
}

// forget makes the next call ask for the table again, if this one is gone.
func (d *direct) forget(cache string, err error) {
	if isState(err, "42P01") {
		d.mu.Lock()
		delete(d.tables, cache)
		d.mu.Unlock()
	}
}

func (d *direct) hash(ctx context.Context, key string) (hash int64, err error) {
	d.mu.Lock()
	hash, known := d.hashes[key]
	d.mu.Unlock()
	if known {
		return hash, nil
	}
	if err := d.pool.QueryRow(ctx, "SELECT howdah.key_hash($1::bytea)", []byte(key)).Scan(&hash); err != nil {
		return 0, err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.hashes[key] = hash
	return hash, nil
}

// get answers from memory or, if that cannot, from PostgreSQL.
func (d *direct) get(ctx context.Context, cache, key string) (int64, Source, error) {
	t, err := d.table(ctx, cache)
	if err != nil {
		return 0, Unknown, err
	}
	hash, err := d.hash(ctx, key)
	if err != nil {
		return 0, Unknown, err
	}
	memory := d.memory.Cache(t.id, t.durable)
	if e, ok := memory.Get([]byte(key)); ok {
		value, err := entryValue(e)
		return value, Memory, err
	}
	token := memory.Begin(hash)
	e, start, err := d.ask(ctx, t, hash, key)
	if err != nil {
		d.forget(cache, err)
		return 0, Unknown, err
	}
	d.wait("answered")
	if d.mutant == lateToken {
		token = memory.Begin(hash)
	}
	if t.Log != 0 {
		memory.Fill(token, []byte(key), e, start)
	}
	value, err := entryValue(e)
	return value, Database, err
}

func (d *direct) wait(name string) {
	if d.before != nil {
		d.before(name)
	}
}

func entryValue(e near.Entry) (int64, error) {
	if e.Absent {
		return Absent, nil
	}
	return ParseValue(e.Value)
}

// ask reads an entry as memory needs it.
func (d *direct) ask(ctx context.Context, t cacheTable, hash int64, key string) (e near.Entry, start int64, err error) {
	rows, err := d.pool.Query(ctx, schema.Statement("get_near", t.Table), []int64{hash})
	if err != nil {
		return e, 0, err
	}
	e.Absent = true
	var found *int64
	var name, value []byte
	var version *int64
	var kind *int32
	var expires, at pgtype.Timestamptz
	_, err = pgx.ForEachRow(rows, []any{&found, &name, &value, &version, &kind, &expires, &at}, func() error {
		switch {
		case found == nil:
			start = at.Time.UnixMicro()
		case bytes.Equal(name, []byte(key)):
			e = near.Entry{Value: bytes.Clone(value), Version: *version, Kind: int16(*kind)}
		}
		return nil
	})
	if err == nil && start == 0 {
		err = errors.New("get_near does not say when the server was started")
	}
	return e, start, err
}

// put stores a value, or removes the key.
func (d *direct) put(ctx context.Context, cache, key string, value int64) error {
	t, err := d.table(ctx, cache)
	if err != nil {
		return err
	}
	hash, err := d.hash(ctx, key)
	if err != nil {
		return err
	}
	switch {
	case d.mutant == withoutLog:
		t.Log = 0
	case d.mutant == formerID && t.Log != 0:
		d.mu.Lock()
		t.Log = d.first[cache]
		d.mu.Unlock()
	}
	memory := d.memory.Cache(t.id, t.durable)
	if d.mutant != withoutBump {
		memory.Bump(hash)
		defer memory.Bump(hash)
	}
	if value == Absent {
		_, err = d.pool.Exec(ctx, schema.Statement("delete", t.Table), []int64{hash}, [][]byte{[]byte(key)})
	} else {
		_, err = d.pool.Exec(ctx, schema.Statement("set_one", t.Table), hash, []byte(key), FormatValue(value), nil)
	}
	d.forget(cache, err)
	return err
}

// directReads is reads for a direct program.
func (a *actor) directReads(ctx context.Context) {
	var reads []Read
	for a.pause(ctx, a.Pace) {
		for range 16 {
			if r, ok := a.directRead(ctx, a.key()); ok {
				reads = append(reads, r)
			}
		}
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.report.Reads = append(a.report.Reads, reads...)
}

func (a *actor) directRead(ctx context.Context, key int) (r Read, ok bool) {
	ctx, cancel := within(ctx, callTimeout)
	defer cancel()
	r = Read{Process: a.Process, Key: key, Begin: now()}
	var err error
	r.Value, r.Source, err = a.direct.get(ctx, a.Caches[a.cacheOf(key)], KeyName(key))
	r.End = now()
	return r, a.answered(err)
}

// directWrites is library for a direct program.
func (a *actor) directWrites(ctx context.Context) {
	for a.pause(ctx, short) {
		w := a.store(a.key())
		if a.rng.IntN(4) == 0 {
			w = a.remove(w.Key)
		}
		a.attempt(func() error {
			ctx, cancel := within(ctx, callTimeout)
			defer cancel()
			return a.direct.put(ctx, a.Caches[w.Cache], KeyName(w.Key), w.Value)
		}, w)
	}
}
