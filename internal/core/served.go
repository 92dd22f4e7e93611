package core

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/jackc/pgx/v5"

	"github.com/howdah/howdah/internal/fault"
	"github.com/howdah/howdah/schema"
)

// Server is one of those that hold the partitions of a database, or its coordinator.
type Server struct {
	Number     int    // by Citus; 0: the coordinator
	Address    string // host:port, as the others reach it
	Partitions []int  // that it holds, in order
	DB         *DB    // with the connections to it, for figures: it knows no other server
}

// Servers are the servers of a database that Citus spreads over several, the coordinator
// first, by the map that was read last. It asks nothing. nil: there is one server.
func (db *DB) Servers() []Server {
	s := db.servers()
	if s == nil {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.known
}

// addressOf is where other servers reach the coordinator.
func addressOf(ctx context.Context, db *DB) (string, error) {
	rows, err := db.engines.Query(ctx, schema.Query("coordinator"))
	if err != nil {
		return "", fault.From(err, false, false)
	}
	var host string
	var port int
	_, err = pgx.ForEachRow(rows, []any{&host, &port}, func() error { return nil })
	return fmt.Sprintf("%s:%d", host, port), fault.From(err, false, false)
}

// note remembers who holds what, and gives each server its share of the memory for entries.
// s.mu is held.
func (s *servers) note(places []place, route []*DB) {
	known := []Server{{Address: s.address, DB: s.home}}
	for _, p := range places {
		if p.Partition >= len(route) {
			continue
		}
		at := slices.IndexFunc(known, func(of Server) bool { return of.Number == p.Server })
		if at < 0 {
			at = len(known)
			known = append(known, Server{Number: p.Server, DB: route[p.Partition]})
		}
		known[at].Address = fmt.Sprintf("%s:%d", p.Host, p.Port)
		known[at].Partitions = append(known[at].Partitions, p.Partition)
	}
	slices.SortFunc(known, func(a, b Server) int { return cmp.Compare(a.Number, b.Number) })
	s.known = known
	for _, of := range known {
		if memory := of.DB.Near(); memory != nil {
			memory.Resize(s.home.opts.Near.Bytes * int64(len(of.Partitions)) / int64(len(route)))
		}
	}
}
