package statement

import (
	"cmp"
	"context"
	"fmt"
	"hash/fnv"
	"math"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/howdah/howdah/internal/fault"
	"github.com/howdah/howdah/internal/pgwire"
	"github.com/howdah/howdah/internal/verb"
	"github.com/howdah/howdah/schema"
)

var validName = regexp.MustCompile(`^[a-z][a-z0-9_]{0,47}$`)

// PartitionName is the name under which the settings of a partition of a cache stand.
func PartitionName(cache string, number int) string { return fmt.Sprintf("%s/%02d", cache, number) }

// CacheOf is the cache that the settings of this name belong to.
func CacheOf(name string) string {
	cache, _, _ := strings.Cut(name, "/")
	return cache
}

// CheckName refuses names that PostgreSQL would refuse, and those that it could
// not even read. Error: ErrInvalidName.
func CheckName(name string) error {
	if !validName.MatchString(name) {
		return fmt.Errorf("%w: %q must be lower-case letters, digits and underscores, begin with a letter, and be at most 48 long", fault.ErrInvalidName, name)
	}
	return nil
}

var validPartition = regexp.MustCompile(`^[a-z][a-z0-9_]{0,47}/[0-6][0-9]$`)

// CheckPartitionName is CheckName for the name of a partition of a cache.
func CheckPartitionName(name string) error {
	if !validPartition.MatchString(name) {
		return CheckName(CacheOf(name))
	}
	return nil
}

// Table is what the statements of one cache are made from: a snapshot of its
// settings.
type Table struct {
	Cache      string // its name, or that of the partition
	ID         int32  // in the name of its table
	Features   []string
	Durability string
	DefaultTTL int64 // microseconds, 0: none
	MaxTTL     int64 // microseconds, 0: none
	Jitter     int   // per cent
	Full       bool  // over its budget, and may evict nothing
	Strict     bool  // it has a budget, and policy noeviction
	Near       bool  // its writes are noted in the change log
	LogKeys    bool  // with their keys
	Loaded     time.Time

	// Of a shard of Citus; zero values otherwise.
	Relation    string // the name of its table
	TagRelation string // and of that of its tags
	Shard       int64  // its number

	refused error // why this program may not use the cache; nil: it may

	texts *texts
	// anonymous is the same table, whose writes do not say in the log who has made them.
	// nil: they never do.
	anonymous *Table
}

// texts are the statements of a table, each made when it is first needed.
type texts struct {
	shape schema.Table
	forms []atomic.Pointer[pgwire.Statement]
}

// Unknown is a table whose settings were not read yet.
func Unknown(cache string) *Table { return &Table{Cache: cache} }

// Known reports whether the settings were ever read.
func (t *Table) Known() bool { return t.Durability != "" }

// AsOf is the table as if it had been loaded at another time.
func (t *Table) AsOf(loaded time.Time) *Table {
	other := *t
	other.Loaded = loaded
	return &other
}

// Sync reports whether the cache is of the class that refuses to evict another
// key over a hash collision.
func (t *Table) Sync() bool { return t.Durability == "sync" }

// Name is the quoted name of the table in PostgreSQL.
func (t *Table) Name() string { return cmp.Or(t.Relation, schema.TableName(t.ID)) }

// Log is the cache's id in the change log, 0 if it has none.
func (t *Table) Log() int32 {
	if t.Near {
		return t.ID
	}
	return 0
}

// LoggedKeys is Log, 0 also if the log has no keys.
func (t *Table) LoggedKeys() int32 {
	if t.LogKeys {
		return t.Log()
	}
	return 0
}

// Anonymous is the table for writes of which this process does not tell its clients
// itself, because it does not see the end of their transaction.
func (t *Table) Anonymous() *Table {
	if t.anonymous != nil {
		return t.anonymous
	}
	return t
}

// Shape is what statements outside of calls are made for.
func (t *Table) Shape() schema.Table {
	if t.texts == nil {
		return schema.Table{Name: t.Name(), Tags: t.TagRelation, Shard: t.Shard}
	}
	return t.texts.shape
}

// Querier is a connection, a pool or a transaction.
type Querier interface {
	Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error)
}

// Load reads the settings of caches, by name. Those that do not exist are not in
// the map: see Missing. One that this program may not use is in it, and not Known. Origin is what the writes of this process say in a change log
// that has keys.
func Load(ctx context.Context, q Querier, origin int64, caches ...string) (map[string]*Table, error) {
	rows, err := q.Query(ctx, schema.Query("settings"), caches)
	if err != nil {
		return nil, err
	}
	tables := make(map[string]*Table, len(caches))
	var t Table
	_, err = pgx.ForEachRow(rows, []any{&t.Cache, &t.ID, &t.Features, &t.Durability, &t.DefaultTTL, &t.MaxTTL, &t.Jitter, &t.Full, &t.Strict, &t.Relation, &t.TagRelation, &t.Shard}, func() error {
		loaded := t
		if feature := schema.Unknown(t.Features); feature != "" {
			refused := Unknown(t.Cache)
			refused.refused = fmt.Errorf("%w: cache %q uses %q, which this program does not know: upgrade the program", fault.ErrSchemaTooNew, t.Cache, feature)
			tables[t.Cache] = refused
			return nil
		}
		loaded.Loaded = time.Now()
		loaded.Near = slices.Contains(t.Features, schema.Near)
		loaded.LogKeys = slices.Contains(t.Features, schema.LogKeys)
		shape := schema.Table{Name: loaded.Name(), Tags: t.TagRelation, Shard: t.Shard, MaxTTL: t.MaxTTL, Jitter: t.Jitter, RefuseCollision: loaded.Sync(), Log: loaded.Log(), LogKeys: loaded.LogKeys}
		loaded.texts = newTexts(shape)
		if loaded.LogKeys {
			anonymous := loaded
			loaded.anonymous = &anonymous
			shape.Origin = origin
			loaded.texts = newTexts(shape)
		}
		tables[t.Cache] = &loaded
		return nil
	})
	return tables, err
}

func newTexts(shape schema.Table) *texts {
	return &texts{shape: shape, forms: make([]atomic.Pointer[pgwire.Statement], len(forms))}
}

// LoadOne is Load for one cache. Errors: ErrCacheNotFound and ErrSchemaTooNew too.
func LoadOne(ctx context.Context, q Querier, origin int64, cache string) (*Table, error) {
	tables, err := Load(ctx, q, origin, cache)
	if err != nil {
		return nil, err
	}
	t := tables[cache]
	if t == nil {
		return nil, Missing(cache)
	}
	return t, t.refused
}

// Unusable is the error of calls on a table that is not Known after its settings were read.
func (t *Table) Unusable() error {
	if t.refused != nil {
		return t.refused
	}
	return Missing(t.Cache)
}

// Missing is the error of a cache that does not exist.
func Missing(cache string) error {
	cache = CacheOf(cache)
	return fmt.Errorf("%w: %q; make it with SELECT howdah.create_cache('%s')", fault.ErrCacheNotFound, cache, cache)
}

// Reuse keeps the statements of an older table where they are still the same.
func (t *Table) Reuse(old *Table) *Table {
	if old.texts != nil && t.texts != nil && old.texts.shape == t.texts.shape {
		t.texts = old.texts
		if t.anonymous != nil && old.anonymous != nil {
			t.anonymous.texts = old.anonymous.texts
		}
	}
	return t
}

// statement returns the text of a form for this table.
func (t *Table) statement(f *Form) pgwire.Statement {
	slot := &t.texts.forms[f.index]
	if s := slot.Load(); s != nil {
		return *s
	}
	sql := schema.Statement(f.File, t.texts.shape)
	h := fnv.New64a()
	h.Write([]byte(sql))
	s := &pgwire.Statement{Name: fmt.Sprintf("howdah_%s_%x", f.File, h.Sum64()), SQL: sql}
	slot.Store(s)
	return *s
}

// Life is the shortest time for which an entry that is stored now can live, if it
// is not to expire at an instant; ever: it does not expire.
func (t *Table) Life(e verb.Expiry) (life time.Duration, ever bool) {
	v, never := t.expiry(e)
	switch {
	case never && t.MaxTTL == 0:
		return 0, true
	case never, t.MaxTTL > 0 && t.MaxTTL < v:
		v = t.MaxTTL
	}
	v = min(v, math.MaxInt64/1000)
	return time.Duration(v-v/100*int64(t.Jitter)-int64(t.Jitter)) * time.Microsecond, false
}

// expiry is an Expiry as the statements take it: microseconds from now, or
// since the epoch with the sign turned, or null for none.
func (t *Table) expiry(e verb.Expiry) (v int64, null bool) {
	switch e.Kind {
	case verb.Never:
		return 0, true
	case verb.In:
		if e.Value <= 0 {
			return -1, false // 1970: past
		}
		return e.Value, false
	case verb.At:
		return min(-1, -e.Value), false
	default:
		return t.DefaultTTL, t.DefaultTTL == 0
	}
}
