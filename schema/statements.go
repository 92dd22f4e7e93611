package schema

import (
	"embed"
	"fmt"
	"strings"
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
// the slot where the entry is not live.
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
		// A scalar subquery is evaluated once a statement, not once a row.
		"{clock}", "(SELECT (extract(epoch FROM statement_timestamp()) * 1000000::numeric)::bigint)",
		// When reads are noted: the end of the minute, in minutes since 1970.
		"{this_minute}", "(ceil(extract(epoch FROM statement_timestamp()) / 60))::integer",
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
	Name string // of its table, as TableName returns it
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

// Statement returns the text of statements/<name>.sql for one cache's table.
// It panics if there is no such file.
func Statement(name string, t Table) string {
	sql := strings.NewReplacer("{table}", t.Name, "{source}", t.Source,
		"{expiry}", t.expiry(true), "{exact_expiry}", t.expiry(false)).Replace(text("statements/" + name))
	return pieces[t.RefuseCollision].Replace(sql)
}

// Query returns the text of queries/<name>.sql: what is asked of no table of a
// cache. It panics if there is no such file.
func Query(name string) string { return text("queries/" + name) }

// TableName returns the quoted name of a cache's table.
func TableName(cache string) string {
	return `howdah."cache_` + strings.ReplaceAll(cache, `"`, `""`) + `"`
}

func text(file string) string {
	sql, err := statements.ReadFile(file + ".sql")
	if err != nil {
		panic(err)
	}
	return string(sql)
}
