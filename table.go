package howdah

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"regexp"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/howdah/howdah/schema"
)

// tableRefresh is how long the settings of a cache are believed: a change by
// alter_cache reaches every process within this time and one call.
const tableRefresh = 5 * time.Second

// fullRefresh is the same for a cache that refuses writes.
const fullRefresh = time.Second

var validName = regexp.MustCompile(`^[a-z][a-z0-9_]{0,47}$`)

// table is what the statements of one cache are made from: a snapshot of its
// row in howdah.cache.
type table struct {
	name       string
	id         int32 // in the name of the physical table
	durability string
	defaultTTL int64 // microseconds, 0: none
	maxTTL     int64 // microseconds, 0: none
	jitter     int   // per cent
	full       bool  // over its budget, and may evict nothing
	loaded     time.Time
	statements [statementCount]statement
}

// statement is one prepared statement of one cache.
type statement struct {
	name string // on the wire; a function of the text
	sql  string
}

// statementID names a file of schema/statements.
type statementID uint8

const (
	stmtGet statementID = iota
	stmtGetEntry
	stmtStat
	stmtSet
	stmtSetVersion
	stmtSetKeep
	stmtAdd
	stmtAddAll
	stmtReplace
	stmtExchange
	stmtDelete
	stmtGetDelete
	stmtExpire
	stmtGetExpire
	stmtIncrement
	stmtIncrementFloat
	stmtAppend
	stmtSetRange
	stmtLocked
	stmtGetOne
	stmtSetOne
	statementCount
)

var statementFiles = [statementCount]string{
	"get", "get_entry", "stat", "set", "set_version", "set_keep", "add", "add_all", "replace",
	"exchange", "delete", "get_delete", "expire", "get_expire", "increment", "increment_float",
	"append", "set_range", "locked", "get_one", "set_one",
}

// sync tells whether the cache is of the class that refuses to evict another
// key over a hash collision.
func (t *table) sync() bool { return t.durability == "sync" }

// querier is a connection, a pool or a transaction.
type querier interface {
	QueryRow(ctx context.Context, sql string, args ...any) pgx.Row
}

// loadTable reads the settings of a cache. old, if any, keeps its statements
// where they are still the same.
func loadTable(ctx context.Context, q querier, name string, old *table) (*table, error) {
	t := &table{name: name}
	var features []string
	err := q.QueryRow(ctx, schema.Query("settings"), name).Scan(&t.id, &features, &t.durability, &t.defaultTTL, &t.maxTTL, &t.jitter, &t.full)
	if errors.Is(err, pgx.ErrNoRows) {
		return nil, fmt.Errorf("%w: %q; make it with SELECT howdah.create_cache('%s')", ErrCacheNotFound, name, name)
	}
	if err != nil {
		return nil, err
	}
	if feature := schema.Unknown(features); feature != "" {
		return nil, fmt.Errorf("%w: cache %q uses %q, which this program does not know: upgrade the program", ErrSchemaTooNew, name, feature)
	}
	t.loaded = time.Now()
	if old != nil && old.id == t.id && old.sync() == t.sync() && old.maxTTL == t.maxTTL && old.jitter == t.jitter {
		t.statements = old.statements
		return t, nil
	}
	shape := schema.Table{Name: schema.TableName(t.id), MaxTTL: t.maxTTL, Jitter: t.jitter, RefuseCollision: t.sync()}
	for id, file := range statementFiles {
		sql := schema.Statement(file, shape)
		h := fnv.New64a()
		h.Write([]byte(sql))
		t.statements[id] = statement{name: fmt.Sprintf("howdah_%s_%x", file, h.Sum64()), sql: sql}
	}
	return t, nil
}

// expiry is an Expiry as the statements take it: microseconds from now, or
// since the epoch with the sign turned, or null for none.
func (t *table) expiry(e Expiry) (v int64, null bool) {
	switch e.kind {
	case expiryNone:
		return 0, true
	case expiryIn:
		if e.value <= 0 {
			return -1, false // 1970: past
		}
		return e.value, false
	case expiryAt:
		return min(-1, -e.value), false
	default:
		return t.defaultTTL, t.defaultTTL == 0
	}
}

func (r *request) statement() statement { return r.table.statements[r.stmt] }
