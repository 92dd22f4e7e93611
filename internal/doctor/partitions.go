package doctor

import (
	"fmt"
	"slices"
	"strings"

	"github.com/howdah/howdah/schema"
)

// partitions is what is known of the partitions of a cache.
type partitions struct {
	Number  int    // that it should have
	Cache   string // "": the database has no caches
	Missing []int
	Differ  []string // settings that are not the same in all of them
	First   []string // and what they are in the first one; "": none
}

func (r *reader) partitions() (err error) {
	if !r.db.installed || r.db.schemaErr != nil {
		return nil // an older schema has none
	}
	r.db.partitions, err = rows[partitions](r, "the partitions", schema.Query("doctor_partitions"))
	return err
}

// divided is into how many partitions the keys of each cache are divided, 0 if they are
// not.
func (db *database) divided() int {
	if len(db.partitions) == 0 {
		return 0
	}
	return db.partitions[0].Number
}

func partitionChecks() []check {
	return []check{
		{
			id: "partition-missing", severity: Error, finds: "a cache has not all partitions of the database",
			why:     "Every call for a key of a partition that is missing fails. A dump that was restored in part leaves caches like that.",
			repairs: "statements that make the partition, empty, as the others are",
			judge:   eachDivided(partitionMissing),
		},
		{
			id: "partition-settings", severity: Warning, finds: "the partitions of a cache differ in their settings",
			why:     "What the cache does with an entry depends on the partition of its key.",
			repairs: "`howdah.alter_cache`, with what the first partition has",
			judge:   eachDivided(partitionSettings),
		},
	}
}

func eachDivided(judge func(*partitions) *trouble) func(*database) []trouble {
	return func(db *database) (found []trouble) {
		for i := range db.partitions {
			if tr := judge(&db.partitions[i]); tr != nil {
				tr.object = "cache " + db.partitions[i].Cache
				found = append(found, *tr)
			}
		}
		return found
	}
}

func partitionMissing(p *partitions) *trouble {
	if p.Cache == "" || len(p.Missing) == 0 {
		return nil
	}
	tr := &trouble{evidence: fmt.Sprintf("howdah_internal.cache does not list %s of its %d partitions: %s", number(int64(len(p.Missing))), p.Number, numbers(p.Missing))}
	if len(p.Missing) == p.Number {
		tr.evidence += "; the cache itself is listed, as in a database without partitions"
		tr.note = "Remove its row from howdah_internal.cache, and make the cache again with howdah.create_cache."
		return tr
	}
	for _, missing := range p.Missing {
		tr.repair = append(tr.repair, fmt.Sprintf(`SELECT howdah_internal._create_part(jsonb_populate_record(c, '{"id": null, "name": "%s/%02d", "partition": %d}'))
FROM howdah_internal.cache AS c WHERE c.whole = %s ORDER BY c.partition LIMIT 1`, p.Cache, missing, missing, literal(p.Cache)))
	}
	tr.repair = append(tr.repair,
		fmt.Sprintf("SELECT howdah_internal._create_view(c) FROM howdah_internal.cache AS c WHERE c.whole = %s ORDER BY c.partition LIMIT 1", literal(p.Cache)),
		fmt.Sprintf("SELECT howdah_internal._grant_cache(c, r.role) FROM howdah_internal.cache AS c, howdah.runtime_role AS r WHERE c.whole = %s", literal(p.Cache)))
	tr.note = "Entries that were in it are gone."
	return tr
}

// numbers lists partitions.
func numbers(list []int) string {
	text := make([]string, len(list))
	for i, n := range list {
		text[i] = fmt.Sprintf("%02d", n)
	}
	return strings.Join(text, ", ")
}

func partitionSettings(p *partitions) *trouble {
	if len(p.Differ) == 0 {
		return nil
	}
	var given, reset []string
	for i, name := range p.Differ {
		switch {
		case p.First[i] == "":
			reset = append(reset, name)
		case slices.Contains([]string{"durability", "default_ttl", "max_ttl", "eviction"}, name):
			given = append(given, fmt.Sprintf("%s => %s", name, literal(p.First[i])))
		default: // a number, true or false
			given = append(given, fmt.Sprintf("%s => %s", name, p.First[i]))
		}
	}
	if reset != nil {
		given = append(given, fmt.Sprintf("reset => %s", literal("{"+strings.Join(reset, ",")+"}")))
	}
	return &trouble{
		evidence: "its partitions differ in " + strings.Join(p.Differ, ", "),
		repair:   []string{fmt.Sprintf("SELECT howdah.alter_cache(%s, %s)", literal(p.Cache), strings.Join(given, ", "))},
		note:     "It gives all of them the settings of the first, and the whole budget in equal shares. Other values will do as well.",
	}
}
