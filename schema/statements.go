package schema

import (
	"cmp"
	"embed"
	"fmt"
	"path"
	"regexp"
	"strings"
	"sync"
)

//go:embed statements/*.sql queries/*.sql
var statements embed.FS

// The pieces that the statements share. Statements run with the search_path of
// the application, in which others may be able to create operators: arguments
// have the very types of PostgreSQL's own, so that none fits better.
//
// {live} is the row in the slot being a
// live entry of the key that is written; {dead} is the slot being free for a
// write that must not replace an entry; {writable} is whether a write may take
// the slot where the entry is not live; {entry} is whether a row is that of an entry which
// nothing keeps once it has expired: not the row of an absent key, nor one with a stale
// life or a lease.
var pieces = map[bool]*strings.Replacer{
	false: replacer(map[string]string{
		"{where_writable}": "",
		"{and_writable}":   "",
		"{writable}":       "true",
		"{dead}":           "NOT (t.key = excluded.key AND t.expires_at > statement_timestamp())",
	}),
	true: replacer(map[string]string{
		"{where_writable}": "WHERE t.key = excluded.key OR t.expires_at <= statement_timestamp()",
		"{and_writable}":   "AND (t.key = excluded.key OR t.expires_at <= statement_timestamp())",
		"{writable}":       "t.expires_at <= statement_timestamp()",
		"{dead}":           "t.expires_at <= statement_timestamp()",
	}),
}

func replacer(own map[string]string) *strings.Replacer {
	pairs := []string{
		"{live}", "t.key = excluded.key AND t.expires_at > statement_timestamp()",
		"{entry}", "(t.expires_at > '-infinity' AND t.stale_seconds = 0 AND t.leased_until = '-infinity')",
		// A scalar subquery is evaluated once a statement, not once a row.
		"{clock}", "(SELECT (extract(epoch FROM statement_timestamp()) * 1000000::numeric)::bigint)",
		// The version of a new claim. A claim that waited has an old timestamp, perhaps
		// that of a claim whose row was removed meanwhile, so the last bits are those of
		// its transaction: a token must not be given twice. It is nine years (2^48
		// microseconds) earlier than the clock: nor may it be the version that a value
		// of the key had moments ago, which is the token of a load of that value.
		// Within a transaction that has written before, its own timestamps differ.
		"{token}", "(SELECT CASE WHEN pg_catalog.pg_current_xact_id_if_assigned() IS NULL" +
			" THEN (c.t & -1024::bigint) + (pg_catalog.pg_current_xact_id()::text::bigint & 1023::bigint) ELSE c.t END - 281474976710656::bigint" +
			" FROM (SELECT (extract(epoch FROM statement_timestamp()) * 1000000::numeric)::bigint) AS c (t))",
		// What belonged to the value that is replaced: excluded has what the
		// INSERT gives to these columns, and their defaults if it names none.
		"{fresh}", "kind = excluded.kind, stale_seconds = excluded.stale_seconds, leased_until = excluded.leased_until",
		// When reads are noted: the end of the minute, in minutes since 1970.
		"{this_minute}", "(ceil(extract(epoch FROM statement_timestamp()) / 60::numeric))::integer",
	}
	for k, v := range own {
		pairs = append(pairs, k, v)
	}
	return strings.NewReplacer(pairs...)
}

// An expiry travels as microseconds: from now on if positive, since the Unix
// epoch if negative (with the sign turned), none if NULL. %s is the unit of
// what counts from now on.
const expiry = `coalesce(CASE WHEN u.e < 0
                              THEN timestamptz 'epoch' - u.e::float8 * interval '1 microsecond'
                              ELSE statement_timestamp() + u.e::float8 * %s
                         END, 'infinity')`

// Table is what the statements of a cache are made for.
type Table struct {
	Name string // of its table, as the query "settings" answers it
	Tags string // of the table of its tags; "": as Name, where that is no shard
	// Source is the table that the statement "transfer" reads, as TableName
	// returns it. The others have none.
	Source string
	MaxTTL int64 // the longest TTL in microseconds. 0: any
	// Jitter is by how many per cent, at most, the TTL of a value is shortened
	// at random. 0: not at all.
	Jitter int
	// RefuseCollision says that a write may not evict another live key that
	// has the same hash (durability class sync).
	RefuseCollision bool
	// Log is the id of the cache if its writes are noted in the change log. 0:
	// they are not, and the statements hold no trace of it.
	Log int32
	// LogKeys says that the change log has the keys too, beside their hashes.
	LogKeys bool
	// Shard is the number of the table in Citus, if it is a shard. 0: it is none, and the
	// statements hold no trace of it.
	Shard int64
	// Origin is noted with the keys: which process writes, and tells its own clients
	// itself. 0: none.
	Origin int64
}

// A long double of x86 has 64 significant bits. {long_double x} rounds x to them,
// half to even: with the power of two that makes its mantissa an integer of 64
// bits. The exponent is that of x as a double, which may be rounded up to the
// next one, hence the second step. It ends at 1e-20, where 17 decimals see no
// difference; numbers from 2^64 on keep every digit.
//
// OFFSET 0 keeps the planner from merging the steps, which would calculate each
// of them as often as the later ones use it.
const longDouble = `(SELECT CASE WHEN abs(i.x) < 18446744073709551616
        THEN round(%[2]s, i.k) / i.power
        ELSE i.x END
    FROM (SELECT s.x, p.k, p.power, s.x * p.power AS i
        FROM (SELECT b.x, 1086 - (get_byte(b.b, 0) & 127) * 16 - get_byte(b.b, 1) / 16 AS k
            FROM (SELECT a.x, float8send(least(greatest(abs(a.x), 1e-20), 18446744073709551615)::float8) AS b
                FROM (SELECT %[1]s AS x OFFSET 0) AS a OFFSET 0) AS b OFFSET 0) AS s
        CROSS JOIN LATERAL (SELECT r.k, 2::numeric ^ r.k::numeric AS power
            FROM (SELECT s.k + CASE WHEN abs(s.x) * 2::numeric ^ s.k::numeric < 9223372036854775808::numeric THEN 1 ELSE 0 END AS k
                OFFSET 0) AS r OFFSET 0) AS p OFFSET 0) AS i)`

// {decimal x} is x as text, with 17 decimals at most, rounded half to even.
const decimal = `(SELECT trim_scale(round(%[2]s * 1e-17, 17))::text
    FROM (SELECT %[1]s * 1e17 AS i OFFSET 0) AS i)`

// halfToEven is the integer next to i.i; round alone rounds half away from zero.
const halfToEven = `CASE WHEN abs(i.i - trunc(i.i)) = 0.5 THEN 2::numeric * round(i.i * 0.5) ELSE round(i.i) END`

// numbers are the pieces that take an argument.
var numbers = regexp.MustCompile(`\{(long_double|decimal) ([^}]+)\}`)

// number is the expression for a piece of numbers.
func number(piece string) string {
	match := numbers.FindStringSubmatch(piece)
	text := longDouble
	if match[1] == "decimal" {
		text = decimal
	}
	return fmt.Sprintf(text, match[2], halfToEven)
}

// expiry is the expression of an expiry. A TTL that comes with a value
// (spread) is subject to jitter, the maximum of the cache included; one that
// is set by itself, or a time of day, is exact.
func (t Table) expiry(spread bool) string {
	unit := "interval '1 microsecond'"
	if spread && t.Jitter > 0 {
		unit = fmt.Sprintf("(1::float8 - %d::float8 / 100::float8 * random()) * interval '1 microsecond'", t.Jitter)
	}
	e := fmt.Sprintf(expiry, unit)
	if t.MaxTTL > 0 {
		e = fmt.Sprintf("least(%s, statement_timestamp() + %d::float8 * %s)", e, t.MaxTTL, unit)
	}
	return e
}

// logLine is a line that a statement has only for a cache with a change log, keyLine one
// that it has only where the log has keys.
var (
	logLine = regexp.MustCompile(`(?m)^\{log\}(.*\n)`)
	keyLine = regexp.MustCompile(`(?m)^\{keys\}(.*\n)`)
)

// noted are the pieces of such lines: what writes down the hashes and keys that a
// statement changes. {note $1 $2} are arrays of them, {note_one $1 $2} one of each, and
// {note_rows put.hash put.key} those that a part of the statement answers: of verbs that
// often change nothing, which then write nothing down. {note_expired} is note_rows for what
// this process does not tell its clients itself. More than 1,000 hashes are NULL, all of
// the cache.
var noted = regexp.MustCompile(`\{(note|note_one|note_rows|note_expired) ([$.\w]+) ([$.\w]+)\}`)

// log makes of the lines about the change log what the cache calls for.
func (t Table) log(sql string) string {
	if t.Log == 0 {
		return keyLine.ReplaceAllString(logLine.ReplaceAllString(sql, ""), "")
	}
	sql = logLine.ReplaceAllString(sql, "$1")
	if t.LogKeys {
		sql = keyLine.ReplaceAllString(sql, "$1")
	} else {
		sql = keyLine.ReplaceAllString(sql, "")
	}
	return noted.ReplaceAllStringFunc(sql, func(piece string) string {
		match := noted.FindStringSubmatch(piece)
		return t.note(match[1], match[2], match[3])
	})
}

// andHere is the condition of a read of a shard that the shard is on this server, by the
// snapshot of the read; it raises HW099 otherwise. PostgreSQL evaluates it once a statement.
func (t Table) andHere() string {
	if t.Shard == 0 {
		return ""
	}
	return fmt.Sprintf(" AND (SELECT howdah_internal._present(%d))", t.Shard)
}

// placement is the number of the copy of a shard on this server, by the snapshot of the
// statement. Another server has another one, and so has a copy that comes back.
func (t Table) placement() string {
	return fmt.Sprintf("(howdah_internal._placements(ARRAY[%d::bigint]))[1]", t.Shard)
}

// snapshot is what a claim sees, as text. In a shard it begins with the placement, for the
// numbers of transactions are those of one server.
func (t Table) snapshot() string {
	if t.Shard == 0 {
		return "pg_catalog.pg_current_snapshot()::text"
	}
	return fmt.Sprintf("pg_catalog.format('%%s@%%s', %s, pg_catalog.pg_current_snapshot())", t.placement())
}

// andUnmoved is the condition of fulfil_tagged that a shard was not moved since the claim.
// The guard has locked the shard before.
func (t Table) andUnmoved() string {
	if t.Shard == 0 {
		return ""
	}
	return " AND u.h <> ALL (ARRAY(SELECT p.h FROM unnest($7::bigint[], $10::bigint[]) AS p (h, placement)" +
		fmt.Sprintf(" WHERE p.placement <> (SELECT %s)))", t.placement())
}

// maxLoggedKeys bounds the keys of a row of the change log, in bytes. Where they take more
// the row has an empty array: any key may have changed. As in howdah_internal._log.
const maxLoggedKeys = 65536

// note is the statement that writes a row of the change log.
func (t Table) note(form, hash, key string) string {
	var hashes, keys, from string
	switch form {
	case "note":
		few := fmt.Sprintf("CASE WHEN pg_catalog.cardinality(%s::bigint[]) <= 1000 THEN ", hash)
		hashes = few + hash + "::bigint[] END"
		keys = few + fmt.Sprintf("CASE WHEN pg_catalog.pg_column_size(%[1]s::bytea[]) <= %[2]d THEN %[1]s::bytea[] ELSE '{}' END END", key, maxLoggedKeys)
	case "note_one":
		hashes, keys = fmt.Sprintf("ARRAY[%s::bigint]", hash), fmt.Sprintf("ARRAY[%s::bytea]", key)
	case "note_rows", "note_expired":
		source, _, _ := strings.Cut(hash, ".")
		hashes = fmt.Sprintf("CASE WHEN count(*) <= 1000 THEN pg_catalog.array_agg(%s) END", hash)
		keys = fmt.Sprintf("CASE WHEN count(*) <= 1000 THEN CASE WHEN sum(octet_length(%[1]s)) <= %[2]d THEN pg_catalog.array_agg(%[1]s) ELSE '{}' END END", key, maxLoggedKeys)
		from = fmt.Sprintf(" FROM %s HAVING count(*) > 0", source)
	}
	columns, values := "cache, hashes", fmt.Sprintf("%d, %s", t.Log, hashes)
	if t.LogKeys {
		columns, values = columns+", keys", values+", "+keys
		if t.Origin != 0 && form != "note_expired" {
			columns, values = columns+", origin", fmt.Sprintf("%s, %d", values, t.Origin)
		}
	}
	return fmt.Sprintf("INSERT INTO howdah_internal.change (%s) SELECT %s%s", columns, values, from)
}

// Statement returns the text of statements/<name>.sql for one cache's table.
// It panics if there is no such file.
func Statement(name string, t Table) string {
	sql := strings.NewReplacer("{table}", t.Name, "{source}", t.Source,
		"{tags}", t.tags(), "{cache}", idOf(t.Name), "{source_cache}", idOf(t.Source),
		"{and_here}", t.andHere(), "{snapshot}", t.snapshot(), "{and_unmoved}", t.andUnmoved(), "{expiry}", t.expiry(true), "{exact_expiry}", t.expiry(false)).Replace(t.log(text("statements/" + name)))
	return pieces[t.RefuseCollision].Replace(numbers.ReplaceAllStringFunc(sql, number))
}

// Query returns the text of queries/<name>.sql: what is asked of no table of a
// cache. It panics if there is no such file.
func Query(name string) string { return columns.Replace(text("queries/" + name)) }

// columns are what several queries answer.
var columns = strings.NewReplacer(
	// The row of session s, whether it lives, whether the row does not cover a use
	// now, and how long the session has left.
	"{session}", `s.id,
       s.secret_hash,
       coalesce(s.user_id, ''),
       s.payload,
       s.version,
       s.created_at,
       s.last_seen_at,
       greatest(s.idle_expires_at, s.created_at),
       s.absolute_expires_at,
       s.idle_expires_at > statement_timestamp(),
       howdah_internal._session_due(s, statement_timestamp()),
       greatest(s.idle_expires_at, s.created_at) - statement_timestamp()`,
	// What people may see of a session.
	"{listed_session}", `id::text,
       coalesce(user_id, ''),
       created_at,
       last_seen_at,
       expires_at,
       absolute_expires_at,
       ip,
       coalesce(user_agent, ''),
       payload_bytes`,
)

// TableName returns the name of the table of the cache with this id, where it is no
// shard of Citus. A cache that was dropped and made again has
// another: statements for the former table fail with 42P01.
func TableName(id int32) string { return fmt.Sprintf("howdah_internal.cache_%d", id) }

// tags is the name of the table of the cache's tags.
func (t Table) tags() string { return cmp.Or(t.Tags, strings.Replace(t.Name, ".cache_", ".tag_", 1)) }

// numbered finds the id in the name of a cache's table: of a shard it is not the last part.
var numbered = regexp.MustCompile(`cache_(\d+)`)

// idOf is the id in the name of a cache's table.
func idOf(table string) string {
	if match := numbered.FindStringSubmatch(table); match != nil {
		return match[1]
	}
	return ""
}

// Unknown returns the first of a cache's features that this program does not
// know, "" if it knows them all. A program must refuse a cache with a feature
// that it does not know: its statements would pass over what the feature needs.
func Unknown(features []string) string {
	for _, feature := range features {
		if feature != Near && feature != LogKeys && feature != Kinds {
			return feature
		}
	}
	return ""
}

// Near is the feature of a cache whose writes are noted in the change log, so that
// programs may keep its entries in their memory.
const Near = "near"

// LogKeys is the feature of a cache whose change log has the keys too, for clients that
// are told of all keys with a prefix. It goes with Near.
const LogKeys = "log_keys"

// Kinds is the feature of a cache whose entries may be collections, which is every one.
const Kinds = "kinds"

func text(file string) string {
	sql, ok := texts()[file]
	if !ok {
		panic(fmt.Sprintf("schema: there is no file %s.sql", file))
	}
	return sql
}

// texts are the statements and queries by their files, without endings. They are
// read once: reading an embedded file copies it, and sessions ask with each call.
var texts = sync.OnceValue(func() map[string]string {
	all := map[string]string{}
	for _, folder := range []string{"statements", "queries"} {
		entries, err := statements.ReadDir(folder)
		if err != nil {
			panic(err)
		}
		for _, entry := range entries {
			file := path.Join(folder, entry.Name())
			sql, err := statements.ReadFile(file)
			if err != nil {
				panic(err)
			}
			all[strings.TrimSuffix(file, ".sql")] = string(sql)
		}
	}
	return all
})
