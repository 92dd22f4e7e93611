package doctor

import (
	"context"
	"fmt"
	"slices"

	"github.com/howdah/howdah/schema"
)

// Server is one of those that Citus spreads a database over.
type Server struct {
	Address string
	Problem string // why it does not fit, and what to do; "": it fits
	Lacking int    // tables of partitions without the storage parameters for values out of line
}

// citus is what is known of Citus in the database.
type citus struct {
	Version string // "": it is not there
	Placed  bool   // it places partitions
	Number  int    // of partitions; 0: none

	places  places
	servers []Server
}

// places are those of partitions.
type places struct {
	Partitions  []int
	Coordinator bool // this is the coordinator
	WrongMode   bool // Citus moves shards in a way that never ends
}

func (r *reader) citus() error {
	if !r.db.installed || r.db.schemaErr != nil {
		return nil // an older schema has no partitions
	}
	found, err := rows[struct {
		Version string
		Placed  bool
		Number  int
	}](r, "Citus", schema.Query("doctor_citus"))
	if err != nil || len(found) == 0 || !found[0].Placed {
		return err
	}
	c := &citus{Version: found[0].Version, Placed: true, Number: found[0].Number}
	r.db.citus = c
	if c.Version == "" {
		return nil
	}
	of, err := rows[places](r, "the places of the partitions", schema.Query("doctor_places"))
	if err != nil || len(of) == 0 {
		return err
	}
	c.places = of[0]
	if c.places.Coordinator && r.opts.Servers != nil {
		if c.servers, err = r.opts.Servers(r.ctx); err != nil && context.Cause(r.ctx) == nil {
			r.db.unchecked = append(r.db.unchecked, unchecked{what: "the servers of Citus", reason: err.Error()})
			err = nil
		}
	}
	return err
}

func serverChecks() []check {
	return []check{
		{
			id: "server-unfit", severity: Error, finds: "a server of Citus does not answer, or has another schema, seed or settings than the coordinator",
			why:     "Calls for keys of the partitions there fail, or find nothing.",
			repairs: "`howdah migrate --citus`",
			judge:   serverUnfit,
		},
		{
			id: "partition-unplaced", severity: Error, finds: "Citus has no place for a partition",
			why:     "No program can open the database.",
			repairs: "`howdah migrate --citus`",
			judge:   overCitus(partitionUnplaced),
		},
		{
			id: "citus-version", severity: Error, finds: "partitions are placed, and Citus is gone or older than 12.0",
			why:     "Only since 12.0 Citus keeps all tables of a partition on one server.",
			repairs: "none by a statement: install Citus 12.0 or newer on all servers",
			judge:   overCitus(citusVersion),
		},
		{
			id: "citus-worker", severity: Info, finds: "the server that was examined is not the coordinator of Citus",
			why:     "The other servers, and the caches as a whole, are seen from the coordinator.",
			repairs: "none: connect to the coordinator",
			judge:   overCitus(citusWorker),
		},
		{
			id: "server-storage", severity: Warning, finds: "tables of partitions lack storage parameters for values out of line",
			why:     "Citus leaves them out when it moves a partition by itself; with stock settings dead values of large entries pile up.",
			repairs: "`howdah migrate --citus`; `howdah rebalance` sets them after each move",
			judge:   serverStorage,
		},
		{
			id: "rebalance-mode", severity: Warning, finds: "Citus rebalances in another way than `block_writes`",
			why:     "UNLOGGED tables move in no other way: it fails and tries again for ever, and no other rebalancing begins.",
			repairs: "`citus_rebalance_stop()`, then `howdah rebalance`",
			judge:   overCitus(rebalanceMode),
		},
	}
}

func overCitus(judge func(*citus) *trouble) func(*database) []trouble {
	return func(db *database) []trouble {
		if db.citus == nil {
			return nil
		}
		if tr := judge(db.citus); tr != nil {
			return []trouble{*tr}
		}
		return nil
	}
}

func serverUnfit(db *database) (found []trouble) {
	if db.citus == nil {
		return nil
	}
	for _, s := range db.citus.servers {
		if s.Problem != "" {
			found = append(found, trouble{object: "server " + s.Address, evidence: s.Problem,
				note: "howdah migrate --citus makes all servers alike; a server that is away must come back first."})
		}
	}
	return found
}

func serverStorage(db *database) (found []trouble) {
	if db.citus == nil {
		return nil
	}
	for _, s := range db.citus.servers {
		if s.Lacking > 0 {
			found = append(found, trouble{object: "server " + s.Address, evidence: number(int64(s.Lacking)) + " of its tables lack storage parameters for values out of line (toast.*)",
				note: "howdah migrate --citus sets them again; no caller waits. Move partitions by howdah rebalance, which does so too."})
		}
	}
	return found
}

func partitionUnplaced(c *citus) *trouble {
	var missing []int
	for number := range c.Number {
		if !slices.Contains(c.places.Partitions, number) {
			missing = append(missing, number)
		}
	}
	if len(missing) == 0 || c.Version == "" {
		return nil
	}
	return &trouble{object: "partitions", evidence: fmt.Sprintf("Citus has no place for %s of %d partitions: %s", number(int64(len(missing))), c.Number, numbers(missing)),
		note: "Run howdah migrate --citus, which gives them places. Where the schema of a partition was dropped, it is made again, empty."}
}

func citusVersion(c *citus) *trouble {
	var major int
	if _, err := fmt.Sscanf(c.Version, "%d.", &major); err == nil && major >= 12 {
		return nil
	}
	evidence := "the extension citus is gone"
	if c.Version != "" {
		evidence = "the extension citus has version " + c.Version
	}
	return &trouble{object: "citus", evidence: evidence, note: "Install Citus 12.0 or newer on all servers, and run ALTER EXTENSION citus UPDATE on each as a superuser."}
}

func citusWorker(c *citus) *trouble {
	if c.Version == "" || c.places.Coordinator {
		return nil
	}
	return &trouble{object: "citus", evidence: "this is a worker", note: "howdah servers, on the coordinator, lists all servers."}
}

func rebalanceMode(c *citus) *trouble {
	if !c.places.WrongMode {
		return nil
	}
	return &trouble{object: "citus", evidence: "a rebalancing with mode auto or force_logical is under way",
		repair: []string{"SELECT citus_rebalance_stop()"}, note: "Then run howdah rebalance."}
}
