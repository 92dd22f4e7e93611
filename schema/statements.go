package schema

import (
	"embed"
	"fmt"
	"strings"
)

//go:embed statements/*.sql
var statements embed.FS

// The pieces that the statements share. {live} is the row in the slot being a
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
		"{clock}", "(SELECT (extract(epoch FROM statement_timestamp()) * 1000000)::bigint)",
	}
	for k, v := range own {
		pairs = append(pairs, k, v)
	}
	return strings.NewReplacer(pairs...)
}

// An expiry travels as microseconds: from now on if positive, since the Unix
// epoch if negative (with the sign turned), none if NULL.
const expiry = `coalesce(CASE WHEN u.e < 0
                              THEN timestamptz 'epoch' - u.e * interval '1 microsecond'
                              ELSE statement_timestamp() + u.e * interval '1 microsecond'
                         END, 'infinity')`

// Statement returns the text of statements/<name>.sql for one cache's table:
// table is its quoted name, maxTTL its longest TTL in microseconds (0: none),
// and refuseCollision whether a write may not evict another live key that has
// the same hash (durability class sync). It panics if there is no such file.
func Statement(name, table string, maxTTL int64, refuseCollision bool) string {
	text, err := statements.ReadFile("statements/" + name + ".sql")
	if err != nil {
		panic(err)
	}
	bounded := expiry
	if maxTTL > 0 {
		bounded = fmt.Sprintf("least(%s, statement_timestamp() + %d * interval '1 microsecond')", expiry, maxTTL)
	}
	sql := strings.NewReplacer("{table}", table, "{expiry}", bounded).Replace(string(text))
	return pieces[refuseCollision].Replace(sql)
}
