package doctor

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/howdah/howdah/schema"
)

// statement is an entry of pg_stat_statements.
type statement struct {
	UserID, DatabaseID uint32
	QueryID            int64
	Query              string
	Calls, Rows        int64
	LongestMS          float64
}

// procedure is a function or procedure of the user that deletes.
type procedure struct {
	Name       string // quoted, with the types of its arguments
	Body       string
	Definition string // CREATE OR REPLACE ...
	MayCommit  bool   // a PL/pgSQL procedure that may end its transaction
}

var (
	deletes = regexp.MustCompile(`(?is)\bdelete\s+from\s+(?:only\s+)?([\w".]+)`)
	byTime  = regexp.MustCompile(`(?is)\bwhere\b[^;]*\b(ttl|valid_\w+|expir\w*|(inserted|created|updated)_?at|last_\w+)"?\s*<`)
	bounded = regexp.MustCompile(`(?i)\b(limit|ctid|skip\s+locked)\b`)
	// A whole DELETE statement of a procedure.
	wholeDelete = regexp.MustCompile(`(?is)\bdelete\s+from\s+([\w".]+)\s+where\s+([^;]*);`)
	// Eviction order by last read; what follows decides.
	evictionOrder = regexp.MustCompile(`(?is)\border\s+by\s+("?\w+"?\.)?"?last_?(read|used|access|seen)\w*"?(\s+asc)?(\s+nulls\s+first)?`)
)

// unbounded reports whether a statement deletes all that is old at once, and from
// which table.
func unbounded(sql string) (table string, yes bool) {
	m := deletes.FindStringSubmatch(sql)
	if m == nil || !byTime.MatchString(sql) || bounded.MatchString(sql) {
		return "", false
	}
	return m[1], true
}

// named finds a table by the name that a statement uses.
func (db *database) named(name string) *table {
	name = strings.ReplaceAll(strings.ToLower(name), `"`, "")
	for _, t := range db.tables {
		if name == strings.ToLower(t.Name) || name == strings.ToLower(t.Schema+"."+t.Name) {
			return t
		}
	}
	return nil
}

func (r *reader) statements() error {
	list, err := rows[string1](r, "pg_stat_statements", schema.Query("doctor_statements_schema"))
	if err != nil {
		return err
	}
	for _, extension := range list {
		if r.db.statements, err = rows[statement](r, "pg_stat_statements", strings.ReplaceAll(schema.Query("doctor_statements"), "{schema}", extension.Text)); err != nil {
			return err
		}
	}
	r.db.procedures, err = rows[procedure](r, "procedures", schema.Query("doctor_procedures"))
	return err
}

// string1 is a row of one text.
type string1 struct{ Text string }

const deletesAll = "All that has expired goes in one transaction: it locks all these rows, holds a snapshot as long as it runs, fills WAL and leaves its dead rows at once. Two nodes that do it together deadlock or wait for each other."

func statementChecks() []check {
	return []check{
		{
			id: "unbounded-delete", severity: Warning, finds: "a DELETE of everything that is old, seen by pg_stat_statements", why: deletesAll,
			repairs: "delete in chunks; a block that does so once is given",
			judge:   unboundedDelete,
		},
		{
			id: "unbounded-delete-procedure", severity: Warning, finds: "a procedure or function that deletes everything that is old at once", why: deletesAll,
			repairs: "`CREATE OR REPLACE PROCEDURE` with a loop over chunks",
			judge:   unboundedDeleteProcedure,
		},
		{
			id: "lru-order-nulls", severity: Warning, finds: "a procedure evicts in the order of the last read, and NULL comes last",
			why:     "What was never read is never evicted, and the least recently read goes although it was read.",
			repairs: "`CREATE OR REPLACE` with `NULLS FIRST`",
			judge:   lruOrderNulls,
		},
	}
}

func unboundedDelete(db *database) (found []trouble) {
	for _, s := range db.statements {
		name, yes := unbounded(s.Query)
		if !yes {
			continue
		}
		tr := trouble{
			object:   "statement " + fmt.Sprint(s.QueryID),
			evidence: fmt.Sprintf("%s; %s, %s deleted, the longest took %.0f ms", oneLine(s.Query), count(s.Calls, "call", "calls"), count(s.Rows, "row", "rows"), s.LongestMS),
			note:     "Replace it in the application by the first statement, or by DELETE ... WHERE ctid = ANY (ARRAY(SELECT ctid FROM ... WHERE ... LIMIT 5000)) until nothing is left. pg_stat_statements remembers the old one until it is reset, which needs a superuser.",
		}
		if t := db.named(name); t != nil && t.expiry != nil {
			tr.repair = append(tr.repair, t.reap())
		}
		tr.repair = append(tr.repair, fmt.Sprintf("SELECT pg_stat_statements_reset(%d, %d, %d)", s.UserID, s.DatabaseID, s.QueryID))
		found = append(found, tr)
	}
	return found
}

func unboundedDeleteProcedure(db *database) (found []trouble) {
	for _, p := range db.procedures {
		name, yes := unbounded(p.Body)
		if !yes || db.named(name) == nil {
			continue
		}
		tr := trouble{
			object: p.Name, evidence: oneLine(deletes.FindString(p.Body)) + " ... without LIMIT",
			note: "Delete in chunks of 1,000 to 5,000 rows and commit after each, in a procedure that is called outside a transaction block.",
		}
		if p.MayCommit && wholeDelete.MatchString(p.Definition) {
			tr.repair = []string{wholeDelete.ReplaceAllString(p.Definition, `LOOP
        DELETE FROM ${1} WHERE ctid = ANY (ARRAY(SELECT ctid FROM ${1} WHERE ${2} LIMIT 5000));
        EXIT WHEN NOT FOUND;
        COMMIT;
    END LOOP;`)}
		}
		found = append(found, tr)
	}
	return found
}

func lruOrderNulls(db *database) (found []trouble) {
	for _, p := range db.procedures {
		order := evictionOrder.FindString(p.Body)
		m := deletes.FindStringSubmatch(p.Body)
		if order == "" || m == nil || strings.HasSuffix(strings.ToLower(order), "first") {
			continue
		}
		t := db.named(m[1])
		if t == nil || t.lastRead == nil || t.lastRead.NotNull {
			continue
		}
		found = append(found, trouble{
			object: p.Name, evidence: fmt.Sprintf("%s, and %s of %s may be NULL", oneLine(order), t.lastRead.Name, t.quoted),
			repair: []string{evictionOrder.ReplaceAllString(p.Definition, "${0} NULLS FIRST")},
		})
	}
	return found
}

// oneLine shortens a statement to what fits a line.
func oneLine(sql string) string {
	text := strings.Join(strings.Fields(sql), " ")
	if runes := []rune(text); len(runes) > 160 {
		text = string(slices.Concat(runes[:157], []rune("...")))
	}
	return text
}
