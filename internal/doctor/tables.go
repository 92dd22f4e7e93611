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

// shown is the name by which people know it: that of the view of a cache.
func (t *table) shown() string {
	if t.cache != nil {
		return "howdah." + quote("cache_"+t.cache.Name)
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

// cache is a row of howdah_internal.cache.
type cache struct {
	Name, Durability string
	ID               int32 // in the name of its table
	MaxBytes         int64 // 0: none
	MaxEntries       int64
	Fillfactor       int
	PrefixIndex      bool
	Eviction         string
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

// candidates are the tables of the schema howdah, and those outside it that
// have a column for a payload. Extensions' tables are not the user's, and what
// repairs a table does not repair a partition.
const candidates = `
	WITH candidate AS (
	    SELECT c.* FROM pg_class AS c
	    JOIN pg_namespace AS n ON n.oid = c.relnamespace
	    WHERE c.relkind = 'r' AND c.relpersistence <> 't'
	      AND NOT EXISTS (SELECT FROM pg_inherits AS i WHERE i.inhrelid = c.oid)
	      AND n.nspname NOT LIKE 'pg\_%' AND n.nspname <> 'information_schema'
	      AND CASE WHEN n.nspname = 'howdah' THEN c.relname = 'session'
	               WHEN n.nspname = 'howdah_internal' THEN c.relname LIKE 'cache\_%'
	               ELSE EXISTS (SELECT FROM pg_attribute AS a
	                            WHERE a.attrelid = c.oid AND a.attnum > 0 AND a.attname ~* $1) END
	      AND NOT EXISTS (SELECT FROM pg_depend AS d
	                      WHERE d.classid = 'pg_class'::regclass AND d.objid = c.oid AND d.deptype = 'e')
	)`

func (r *reader) tables() error {
	relations, err := rows[relation](r, "tables", candidates+`
		SELECT c.oid, n.nspname::text, c.relname::text, c.relpersistence::text,
		       coalesce(c.reloptions, '{}'), coalesce(t.reloptions, '{}'), c.reltuples::float8,
		       greatest(age(nullif(c.relfrozenxid, '0')), age(nullif(t.relfrozenxid, '0')), 0)::bigint,
		       coalesce(pg_table_size(c.oid) - coalesce(pg_total_relation_size(t.oid), 0), 0), coalesce(pg_indexes_size(c.oid), 0),
		       coalesce(pg_total_relation_size(t.oid), 0), pg_has_role(c.relowner, 'USAGE'),
		       coalesce(s.seq_scan, 0), coalesce(s.idx_scan, 0),
		       coalesce(s.n_tup_ins, 0), coalesce(s.n_tup_upd, 0), coalesce(s.n_tup_hot_upd, 0), coalesce(s.n_tup_del, 0),
		       coalesce(s.n_live_tup, 0), coalesce(s.n_dead_tup, 0),
		       coalesce(s.last_analyze, s.last_autoanalyze) IS NOT NULL OR c.reltuples >= 0,
		       coalesce(io.heap_blks_read, 0), coalesce(io.heap_blks_hit, 0)
		FROM candidate AS c
		JOIN pg_namespace AS n ON n.oid = c.relnamespace
		LEFT JOIN pg_class AS t ON t.oid = c.reltoastrelid
		LEFT JOIN pg_stat_all_tables AS s ON s.relid = c.oid
		LEFT JOIN pg_statio_all_tables AS io ON io.relid = c.oid
		ORDER BY n.nspname NOT IN ('howdah', 'howdah_internal'), n.nspname DESC, c.relname`, payloadNames.String())
	if err != nil {
		return err
	}
	columns, err := rows[column](r, "columns", candidates+`
		SELECT c.oid, a.attnum, a.attname::text, format_type(a.atttypid, NULL), format_type(a.atttypid, a.atttypmod), a.attnotnull,
		       coalesce(quote_ident(qn.nspname) || '.' || quote_ident(q.relname), ''),
		       coalesce(CASE WHEN has_sequence_privilege(q.oid, 'SELECT, USAGE') THEN pg_sequence_last_value(q.oid) END, 0)
		FROM candidate AS c
		JOIN pg_attribute AS a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
		-- The sequence of a serial or identity column depends on the column.
		LEFT JOIN (pg_depend AS d
		           JOIN pg_class AS q ON q.oid = d.objid AND q.relkind = 'S'
		           JOIN pg_namespace AS qn ON qn.oid = q.relnamespace)
		       ON d.classid = 'pg_class'::regclass AND d.refclassid = 'pg_class'::regclass
		      AND d.refobjid = c.oid AND d.refobjsubid = a.attnum AND d.deptype IN ('a', 'i')
		ORDER BY c.oid, a.attnum`, payloadNames.String())
	if err != nil {
		return err
	}
	indexes, err := rows[index](r, "indexes", candidates+`
		SELECT c.oid, ic.relname::text, '', am.amname::text, i.indisunique, i.indisprimary,
		       i.indisreplident OR EXISTS (SELECT FROM pg_constraint AS k WHERE k.conindid = ic.oid), i.indisvalid,
		       pg_relation_size(ic.oid), coalesce(s.idx_scan, 0),
		       ARRAY(SELECT k FROM unnest(i.indkey::smallint[]) AS k WHERE k > 0
		             UNION
		             SELECT d.refobjsubid::smallint FROM pg_depend AS d
		             WHERE d.classid = 'pg_class'::regclass AND d.objid = ic.oid
		               AND d.refclassid = 'pg_class'::regclass AND d.refobjid = c.oid AND d.refobjsubid > 0
		             ORDER BY 1),
		       concat_ws(' ', am.amname, i.indnkeyatts, i.indkey, i.indclass, i.indcollation, i.indoption,
		                 pg_get_expr(i.indexprs, i.indrelid), pg_get_expr(i.indpred, i.indrelid)),
		       ic.oid
		FROM candidate AS c
		JOIN pg_index AS i ON i.indrelid = c.oid
		JOIN pg_class AS ic ON ic.oid = i.indexrelid
		JOIN pg_am AS am ON am.oid = ic.relam
		LEFT JOIN pg_stat_all_indexes AS s ON s.indexrelid = ic.oid
		ORDER BY c.oid, ic.oid`, payloadNames.String())
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
	caches, err := rows[cache](r, "the table howdah_internal.cache", `
		SELECT name, durability, id, coalesce(max_bytes, 0), coalesce(max_entries, 0), fillfactor, prefix_index, eviction
		FROM howdah_internal.cache ORDER BY name`)
	if err != nil {
		return err
	}
	for i, c := range caches {
		at := slices.IndexFunc(r.db.tables, func(t *table) bool { return t.Schema+"."+t.Name == schema.TableName(c.ID) })
		if at < 0 {
			r.db.missing = append(r.db.missing, c.Name)
		} else {
			r.db.tables[at].cache = &caches[i]
		}
	}
	return nil
}
