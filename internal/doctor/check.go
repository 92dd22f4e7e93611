package doctor

import (
	"fmt"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"
)

// check looks for one kind of trouble in the facts.
type check struct {
	id       string
	severity Severity
	finds    string // what it finds, for the documentation
	why      string
	repairs  string // what its repair is, for the documentation
	judge    func(*database) []trouble
}

// trouble is what a check found about one object.
type trouble struct {
	object   string
	evidence string
	repair   []string
	note     string
	severity Severity // "": that of the check
	settings bool     // the repair changes settings of the whole cache
	handMade bool     // it is about a table that is not Howdah's
}

// checks are all checks, by family.
func checks() []check {
	return slices.Concat(settingsChecks(), holderChecks(), cacheChecks(), privilegeChecks(),
		upkeepChecks(), nearChecks(), watchChecks(), tagChecks(), partitionChecks(), serverChecks(), messageChecks(), healthChecks(), handMadeChecks(), statementChecks(), selfChecks())
}

// Checks returns the severity of every check, by its ID. A finding may be more or less
// severe than its check.
func Checks() map[string]Severity {
	all := make(map[string]Severity)
	for _, c := range checks() {
		all[c.id] = c.severity
	}
	return all
}

// selfChecks are about the examination itself.
func selfChecks() []check {
	return []check{{
		id: "not-checked", severity: Info,
		finds:   "something that this role may not see, or that took too long",
		why:     "What was not looked at is not known to be healthy.",
		repairs: "`GRANT pg_monitor TO role`, or connect as the owner",
		judge: func(db *database) (found []trouble) {
			for _, u := range db.unchecked {
				found = append(found, trouble{object: u.what, evidence: u.reason, repair: u.repair, note: u.note})
			}
			return found
		},
	}}
}

// each judges every Howdah table; eachHandMade every other; eachTable all.
func each(judge func(*database, *table) *trouble) func(*database) []trouble {
	return over(func(t *table) bool { return t.cache != nil }, judge)
}

func eachHandMade(judge func(*database, *table) *trouble) func(*database) []trouble {
	return over(func(t *table) bool { return !t.ours() }, judge)
}

func eachTable(judge func(*database, *table) *trouble) func(*database) []trouble {
	return over(func(*table) bool { return true }, judge)
}

func over(which func(*table) bool, judge func(*database, *table) *trouble) func(*database) []trouble {
	return func(db *database) (found []trouble) {
		for _, t := range db.tables {
			if !which(t) {
				continue
			}
			tr := judge(db, t)
			switch {
			case tr == nil:
				continue
			case tr.settings:
				tr.object = t.whole()
				if t.shown() != tr.object {
					tr.evidence = "partition " + t.cache.Partition + ": " + tr.evidence
				}
			case tr.object == "":
				tr.object = t.shown()
			}
			tr.handMade = !t.ours()
			// One repair is for all partitions of a cache.
			if last := len(found) - 1; last >= 0 && tr.settings && found[last].object == tr.object {
				continue
			}
			found = append(found, *tr)
		}
		return found
	}
}

// indexes judges every index of the tables that are chosen.
func indexes(which func(*table) bool, judge func(*database, *table, *index) *trouble) func(*database) []trouble {
	return func(db *database) (found []trouble) {
		for _, t := range db.tables {
			if !which(t) {
				continue
			}
			for i := range t.indexes {
				ix := &t.indexes[i]
				if tr := judge(db, t, ix); tr != nil {
					tr.object, tr.handMade = ix.Quoted, !t.ours()
					found = append(found, *tr)
				}
			}
		}
		return found
	}
}

// quote quotes an identifier where it must be, as PostgreSQL's quote_ident does.
func quote(name string) string {
	plain := name != "" && strings.Trim(name, "abcdefghijklmnopqrstuvwxyz0123456789_") == "" && (name[0] < '0' || name[0] > '9')
	if plain && !slices.Contains(strings.Fields(keywords), name) {
		return name
	}
	return pgx.Identifier{name}.Sanitize()
}

// keywords are those of PostgreSQL 14 to 18 that cannot name a table or column
// without quotes.
const keywords = `
	all analyse analyze and any array as asc asymmetric authorization binary both case cast check collate
	collation column concurrently constraint create cross current_catalog current_date current_role current_schema
	current_time current_timestamp current_user default deferrable desc distinct do else end except false fetch
	for foreign freeze from full grant group having ilike in initially inner intersect into is isnull join lateral
	leading left like limit localtime localtimestamp natural not notnull null offset on only or order outer
	overlaps placing primary references returning right select session_user similar some symmetric system_user
	table tablesample then to trailing true union unique user using variadic verbose when where window with`

// literal quotes a string.
func literal(s string) string {
	quoted := "'" + strings.ReplaceAll(s, "'", "''") + "'"
	if strings.Contains(s, `\`) {
		return " E" + strings.ReplaceAll(quoted, `\`, `\\`)
	}
	return quoted
}

// size writes bytes for people.
func size(n int64) string {
	unit, value := "bytes", float64(n)
	for _, next := range []string{"KiB", "MiB", "GiB", "TiB"} {
		if value < 1024 {
			break
		}
		value, unit = value/1024, next
	}
	if unit == "bytes" {
		return fmt.Sprintf("%d bytes", n)
	}
	return fmt.Sprintf("%.1f %s", value, unit)
}

// number writes a count with thin groups of three digits.
func number(n int64) string {
	text := fmt.Sprint(n)
	for i := len(text) - 3; i > 0 && text[i-1] != '-'; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}

// percent is part of whole as a percentage.
func percent(part, whole int64) string {
	if whole == 0 {
		return "0 %"
	}
	return fmt.Sprintf("%.0f %%", 100*float64(part)/float64(whole))
}

func count(n int64, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return number(n) + " " + many
}
