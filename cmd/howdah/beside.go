package main

import (
	"context"
	"net"
	"strconv"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/howdah/howdah/internal/cluster"
	"github.com/howdah/howdah/internal/stat"
)

// beside keeps a connection to each server that a database is spread over, beside the one
// that is asked first. The zero value has none.
type beside struct {
	mu    sync.Mutex
	conns map[string]*pgx.Conn // by address; those that are not in use
}

// servers are those of the database of conn, nil if it is on one.
func (b *beside) servers(ctx context.Context, conn *pgx.Conn) ([]stat.Server, error) {
	places, err := cluster.Places(ctx, conn)
	if err != nil {
		return nil, err
	}
	var servers []stat.Server
	for _, p := range places {
		of := stat.Server{Number: p.Number, Address: net.JoinHostPort(p.Host, strconv.Itoa(p.Port)), Partitions: p.Partitions}
		if !p.Self {
			config := cluster.At(conn.Config(), p.Host, p.Port)
			of.Connect = func(ctx context.Context) (*pgx.Conn, func(), error) { return b.connect(ctx, of.Address, config) }
		}
		servers = append(servers, of)
	}
	return servers, nil
}

// connect lends a connection to a server.
func (b *beside) connect(ctx context.Context, address string, config *pgx.ConnConfig) (conn *pgx.Conn, release func(), err error) {
	b.mu.Lock()
	conn = b.conns[address]
	delete(b.conns, address)
	b.mu.Unlock()
	if conn == nil || conn.IsClosed() {
		if conn, err = pgx.ConnectConfig(ctx, config); err != nil {
			return nil, nil, err
		}
	}
	return conn, func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		if b.conns == nil {
			b.conns = make(map[string]*pgx.Conn)
		}
		b.conns[address] = conn
	}, nil
}

// close ends the connections.
func (b *beside) close() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, conn := range b.conns {
		_ = conn.Close(ctx)
	}
}
