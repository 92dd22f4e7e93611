package doctor

import (
	"regexp"
	"slices"
	"strings"

	"github.com/howdah/howdah/schema"
)

// table is a Howdah table, or one that looks like a cache or a session store.
type table struct {
	relation
	quoted  string
	columns []column
	indexes []index
	cache   *cache  // its settings; nil: not one of howdah_internal.cache
	sample  *sample // nil: it was not sampled

	// What the columns are for; nil: there is none.
	key, payload, expiry, lastRead *column
	sessions                       bool // it holds sessions
}

func (t *table) ours() bool { return t.Schema == "howdah" || t.Schema == "howdah_internal" }

// shown is the name by which people know it: that of the view of a cache, with the
// number of the partition that it is.
func (t *table) shown() string {
	if t.cache != nil && t.cache.Partition != "" {
		return t.whole() + ", partition " + t.cache.Partition
	}
	return t.whole()
}

// whole is shown for the cache that it is a partition of.
func (t *table) whole() string {
	if t.cache != nil {
		return "howdah." + quote("cache_"+t.cache.Whole)
	}
	return t.quoted
}

// known reports whether it is a cache that is registered, or the sessions.
func (t *table) known() bool { return t.cache != nil || t.ours() && t.sessions }

// upkept is the name by which upkeep knows it.
func (t *table) upkept() string {
	if t.cache != nil {
		return t.cache.Name
	}
	return "howdah." + t.Name
}

// relation is what PostgreSQL knows of a table.
type relation struct {
	OID                               uint32
	Schema, Name                      string
	Persistence                       string   // p: permanent, u: unlogged, t: temporary
	Options, ToastOptions             []string // as name=value
	Rows                              float64  // estimated, -1: never analysed
	XIDAge                            int64
	HeapBytes, IndexBytes, ToastBytes int64
	Mine                              bool // this role may act as the owner

	// Statistics since they were last reset.
	SeqScans, IndexScans            int64
	Inserted, Updated, HOT, Deleted int64
	Live, Dead                      int64
	Analysed                        bool
	BlocksRead, BlocksHit           int64
}

func (t *relation) bytes() int64 { return t.HeapBytes + t.IndexBytes + t.ToastBytes }

type column struct {
	OID      uint32
	Number   int16
	Name     string
	Type     string // without modifiers, as in format_type
	Full     string // with them
	NotNull  bool
	Sequence string // of a serial or identity column, quoted; else ""
	LastID   int64  // the last value of the sequence, 0 if not known
}

type index struct {
	OID        uint32
	Name       string
	Quoted     string
	Method     string
	Unique     bool
	Primary    bool
	Constraint bool // a constraint, or replication, stands on it
	Valid      bool
	Bytes      int64
	Scans      int64
	Columns    []int16 // every column it depends on, also by expression or predicate
	Signature  string  // equal for indexes that can stand in for each other
	ID         uint32
}

// cache is a row of howdah_internal.cache: a cache, or a partition of one.
type cache struct {
	Name, Durability string // upkeep knows it by this name
	ID               int32  // in the name of its table
	MaxBytes         int64  // 0: none
	MaxEntries       int64
	Fillfactor       int
	PrefixIndex      bool
	Eviction         string
	Whole            string // the name of the cache
	Partition        string // as in its name; "": it is no partition
	Placed           bool   // by Citus: its tables may be on another server
}

// The names by which hand-made tables are recognised.
var (
	keyNames      = regexp.MustCompile(`^(id|k|key|cache_key|name|hash|sid|token|uuid|session|session_(id|key|token))$`)
	payloadNames  = regexp.MustCompile(`^(v|val|value|data|payload|content|contents|body|blob|sess|session_data|attributes|info)$`)
	expiryNames   = regexp.MustCompile(`^(ttl|valid_until|valid_to|expir(e|es|y|ed|ation|ing)(_?(at|on|ts|time|date|timestamp|datetime))?|expiredate)$`)
	lastReadNames = regexp.MustCompile(`^(last_?(read|used|access|accessed|hit|seen)(_?(at|on|ts|time|timestamp))?|accessed_at|read_at)$`)
	tableNames    = regexp.MustCompile(`(^|_)(cache|caches|cached|sessions?)(_|$|\d)|cache$|^cache`)
	sessionNames  = regexp.MustCompile(`(^|_)(session|sessions|sess)(_|$)`)
	sessionExpiry = regexp.MustCompile(`^idle_expires_at$`) // of Howdah's own
	sessionKeys   = regexp.MustCompile(`^(sid|session|session_(id|key|token))$`)
	expiryTypes   = []string{"timestamp with time zone", "timestamp without time zone", "date", "integer", "bigint", "numeric", "double precision"}
)

// recognise finds out what the columns are for, and says whether the table is
// one for the doctor: a key and a payload, with an expiry or a name that says so.
func (t *table) recognise() bool {
	first := func(names *regexp.Regexp, types ...string) *column {
		for i, c := range t.columns {
			if names.MatchString(plain(c.Name)) && (types == nil || slices.Contains(types, c.Type)) {
				return &t.columns[i]
			}
		}
		return nil
	}
	t.payload = first(payloadNames)
	t.expiry = first(expiryNames, expiryTypes...)
	t.lastRead = first(lastReadNames, expiryTypes...)
	t.key = t.findKey()
	if t.ours() {
		if t.Name == "session" {
			t.sessions, t.expiry = true, first(sessionExpiry)
		}
		return true
	}
	t.sessions = sessionNames.MatchString(plain(t.Name)) || t.key != nil && sessionKeys.MatchString(plain(t.key.Name))
	named := tableNames.MatchString(plain(t.Name))
	return t.key != nil && t.payload != nil && (named || t.sessions || t.expiry != nil)
}

// plain is a name as it would be without quotes.
func plain(name string) string {
	return strings.NewReplacer(" ", "_", "-", "_").Replace(strings.ToLower(name))
}

// findKey prefers a key that is not a number: caches often have an id too.
func (t *table) findKey() *column {
	var key *column
	for i := range t.columns {
		c := &t.columns[i]
		if keyNames.MatchString(plain(c.Name)) && (key == nil || key.number() && !c.number()) {
			key = c
		}
	}
	return key
}

func (c *column) number() bool {
	return c.Type == "integer" || c.Type == "bigint" || c.Type == "smallint"
}

// uniquelyIndexed reports whether a unique index covers just this column.
func (t *table) uniquelyIndexed(c *column) bool {
	return slices.ContainsFunc(t.indexes, func(ix index) bool {
		return ix.Unique && ix.Valid && slices.Equal(ix.Columns, []int16{c.Number})
	})
}

func (r *reader) tables() error {
	candidates := schema.Query("doctor_candidates")
	relations, err := rows[relation](r, "tables", candidates+schema.Query("doctor_relations"), payloadNames.String())
	if err != nil {
		return err
	}
	columns, err := rows[column](r, "columns", candidates+schema.Query("doctor_columns"), payloadNames.String())
	if err != nil {
		return err
	}
	indexes, err := rows[index](r, "indexes", candidates+schema.Query("doctor_indexes"), payloadNames.String())
	if err != nil {
		return err
	}
	for _, rel := range relations {
		t := &table{relation: rel, quoted: quote(rel.Schema) + "." + quote(rel.Name)}
		for _, c := range columns {
			if c.OID == t.OID {
				t.columns = append(t.columns, c)
			}
		}
		for _, ix := range indexes {
			if ix.OID == t.OID {
				ix.Quoted = quote(t.Schema) + "." + quote(ix.Name)
				t.indexes = append(t.indexes, ix)
			}
		}
		if t.recognise() {
			r.db.tables = append(r.db.tables, t)
		}
	}
	if err := r.registry(); err != nil {
		return err
	}
	r.db.tables, err = limitTo(r.db.tables, r.opts.Cache)
	return err
}

// registry reads what howdah_internal.cache says about the tables.
func (r *reader) registry() error {
	if !r.db.installed {
		return nil
	}
	caches, err := rows[cache](r, "the table howdah_internal.cache", schema.Query("doctor_caches"))
	if err != nil {
		return err
	}
	for i, c := range caches {
		at := slices.IndexFunc(r.db.tables, func(t *table) bool { return t.Schema+"."+t.Name == schema.TableName(c.ID) })
		if at < 0 && c.Placed {
			continue
		}
		if at < 0 {
			r.db.missing = append(r.db.missing, c.Name)
		} else {
			r.db.tables[at].cache = &caches[i]
		}
	}
	return nil
}
