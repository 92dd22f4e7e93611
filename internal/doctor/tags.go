package doctor

import (
	"fmt"

	"github.com/howdah/howdah/schema"
)

// tagTable is what is known of the table of a cache's tags.
type tagTable struct {
	Cache        string
	ID           int32
	Due, Persist string // p: logged, u: unlogged; "": the table is missing
}

func (r *reader) tags() (err error) {
	if !r.db.installed || r.db.schemaErr != nil {
		return nil
	}
	r.db.tagTables, err = rows[tagTable](r, "the tags", schema.Query("doctor_tags"))
	return err
}

func tagChecks() []check {
	return []check{
		{
			id: "tags-missing", severity: Error, finds: "a cache has no table for its tags",
			why:     "Every write with tags, every invalidation of a tag, FLUSHALL and changes of the cache fail. A dump that was restored in part leaves caches like that.",
			repairs: "a statement that makes the table",
			judge:   eachTagTable(tagsMissing),
		},
		{
			id: "tags-durability", severity: Error, finds: "the tags of a cache are of another durability than its entries",
			why:     "After a crash entries without their tags remain, and no invalidation finds them.",
			repairs: "`ALTER TABLE ... SET LOGGED`, or `SET UNLOGGED`",
			judge:   eachTagTable(tagsDurability),
		},
	}
}

func eachTagTable(judge func(*tagTable) *trouble) func(*database) []trouble {
	return func(db *database) (found []trouble) {
		for i := range db.tagTables {
			if tr := judge(&db.tagTables[i]); tr != nil {
				tr.object = fmt.Sprintf("howdah_internal.tag_%d", db.tagTables[i].ID)
				found = append(found, *tr)
			}
		}
		return found
	}
}

func tagsMissing(t *tagTable) *trouble {
	if t.Persist != "" {
		return nil
	}
	return &trouble{
		evidence: fmt.Sprintf("cache %s, whose number is %d", t.Cache, t.ID),
		repair: []string{
			fmt.Sprintf("SELECT howdah_internal._create_tags(c) FROM howdah_internal.cache AS c WHERE c.id = %d", t.ID),
			fmt.Sprintf("SELECT howdah_internal._grant_cache(c, r.role) FROM howdah_internal.cache AS c, howdah.runtime_role AS r WHERE c.id = %d", t.ID),
		},
		note: "Flush the cache after it: its entries have lost their tags.",
	}
}

func tagsDurability(t *tagTable) *trouble {
	if t.Persist == "" || t.Persist == t.Due {
		return nil
	}
	return &trouble{
		evidence: fmt.Sprintf("relpersistence of the tags of cache %s is %s, and should be %s", t.Cache, t.Persist, t.Due),
		repair: []string{fmt.Sprintf("ALTER TABLE howdah_internal.tag_%d SET %s", t.ID,
			map[string]string{"p": "LOGGED", "u": "UNLOGGED"}[t.Due])},
		note: rewrites,
	}
}
