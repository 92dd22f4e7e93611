package cluster

import (
	"context"

	"github.com/jackc/pgx/v5"

	"github.com/howdah/howdah/schema"
)

// Place is a server that has a part of a database.
type Place struct {
	Number     int // by Citus; 0: the coordinator
	Host       string
	Port       int
	Partitions []int // that it holds, in order
	Self       bool  // it is the one that was asked
}

// Places asks a server which ones have a part of its database: the coordinator, those that hold
// partitions, and itself. nil: Citus has placed nothing. Any role that uses the caches may ask.
// Errors: the database's own.
func Places(ctx context.Context, conn *pgx.Conn) ([]Place, error) {
	rows, err := conn.Query(ctx, schema.Query("places"))
	if err != nil {
		return nil, err
	}
	held := map[int][]int{}
	var partition, server, port int
	var host string
	_, err = pgx.ForEachRow(rows, []any{&partition, &server, &host, &port}, func() error {
		held[server] = append(held[server], partition)
		return nil
	})
	if err != nil || len(held) == 0 {
		return nil, err
	}
	if rows, err = conn.Query(ctx, schema.Query("cluster_servers")); err != nil {
		return nil, err
	}
	var places []Place
	var p Place
	var id int
	var may, synced bool
	_, err = pgx.ForEachRow(rows, []any{&p.Number, &id, &p.Host, &p.Port, &may, &synced, &p.Self}, func() error {
		if p.Partitions = held[p.Number]; p.Number == 0 || p.Self || len(p.Partitions) > 0 {
			places = append(places, p)
		}
		return nil
	})
	return places, err
}
