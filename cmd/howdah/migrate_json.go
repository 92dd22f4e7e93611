package main

import (
	"github.com/howdah/howdah/internal/cluster"
	"github.com/howdah/howdah/migrate"
)

// migratedJSON is what "howdah migrate" did.
type migratedJSON struct {
	From              int      `json:"from"` // schema version before; 0: there was none
	To                int      `json:"to"`
	Applied           []string `json:"applied"` // names of migrations
	FunctionsReplaced bool     `json:"functions_replaced"`
	Partitions        int      `json:"partitions"`             // of each cache now; 0: none
	RuntimeRole       string   `json:"runtime_role,omitempty"` // that was granted the use of the caches

	Server string `json:"server,omitempty"` // with --citus: the address
	Number *int   `json:"number,omitempty"` // with --citus: 0 for the coordinator
}

// removedJSON is what "howdah migrate --uninstall" removed.
type removedJSON struct {
	Database string   `json:"database"`
	Caches   []string `json:"caches"`
}

// objectJSON is an object that --uninstall would remove.
type objectJSON struct {
	Kind string `json:"kind"`
	Name string `json:"name"`
}

// statusJSON is what "howdah migrate --status" prints.
type statusJSON struct {
	Version          int           `json:"version"` // 0: not installed
	Latest           int           `json:"latest"`
	Applied          []appliedJSON `json:"applied"`
	Pending          []string      `json:"pending"`
	Functions        int           `json:"functions"`
	FunctionsCurrent bool          `json:"functions_current"`
	Caches           []string      `json:"caches"`
	Partitions       int           `json:"partitions"` // of each cache; 0: none
	Watches          []string      `json:"watches"`
}

type appliedJSON struct {
	Version int    `json:"version"`
	Name    string `json:"name"`
	At      string `json:"at"`
}

func statusOf(s migrate.Status) statusJSON {
	applied := make([]appliedJSON, len(s.Applied))
	for i, a := range s.Applied {
		applied[i] = appliedJSON{a.Version, a.Name, a.At}
	}
	return statusJSON{
		Version: s.Version, Latest: s.Latest, Applied: applied, Pending: append([]string{}, s.Pending...),
		Functions: s.Functions, FunctionsCurrent: s.FunctionsCurrent,
		Caches: append([]string{}, s.Caches...), Partitions: s.Partitions, Watches: append([]string{}, s.Watches...),
	}
}

// spreadJSON is what "howdah migrate --citus --status" prints: the status of the coordinator,
// and all servers.
type spreadJSON struct {
	statusJSON
	Servers []serverStatusJSON `json:"servers"`
}

// serverStatusJSON is one server of it.
type serverStatusJSON struct {
	Number           int    `json:"number"` // 0 for the coordinator
	Address          string `json:"address"`
	Role             string `json:"role"`    // coordinator or worker
	Version          int    `json:"version"` // of the schema; 0: not installed, or not known
	FunctionsCurrent bool   `json:"functions_current"`
	Partitions       []int  `json:"partitions"` // that it holds
	Problem          string `json:"problem"`    // "": it fits
}

func spreadOf(all []cluster.Status) spreadJSON {
	spread := spreadJSON{statusJSON: statusOf(all[0].Schema), Servers: []serverStatusJSON{}}
	for i := range all {
		s := &all[i]
		spread.Servers = append(spread.Servers, serverStatusJSON{
			s.Number, s.Address(), roleText(s.Number), s.Schema.Version, s.Schema.FunctionsCurrent, s.Partitions, s.Problem,
		})
	}
	return spread
}
