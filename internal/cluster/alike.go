package cluster

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/howdah/howdah/schema"
)

// common is what all servers have in common, as the coordinator has it.
type common struct {
	seed       []byte
	partitions int
	caches     string // rows, in JSON
	roles      []string
}

func (c *Cluster) common(ctx context.Context) (m common, err error) {
	err = c.home().QueryRow(ctx, schema.Query("cluster_rows")).Scan(&m.seed, &m.partitions, &m.caches, &m.roles)
	return m, err
}

// spread makes all other servers as the coordinator is, and tells how many rows of
// settings differed.
func (c *Cluster) spread(ctx context.Context, emptied []string) (changed int, err error) {
	m, err := c.common(ctx)
	if err != nil {
		return 0, err
	}
	if emptied == nil {
		emptied = []string{}
	}
	for _, s := range c.servers[1:] {
		n, err := c.follow(ctx, s, m, emptied)
		if err != nil {
			return changed, failed(s, err)
		}
		changed += n
	}
	return changed, c.keepToast(ctx, c.servers...)
}

// keepToast gives the tables of partitions on servers the storage parameters that Citus leaves
// out when it takes tables and when it moves them.
func (c *Cluster) keepToast(ctx context.Context, servers ...*Server) error {
	for _, s := range servers {
		err := c.transact(ctx, s.conn, func() error {
			return runAll(ctx, s.conn, []string{schema.Query("cluster_shards"), schema.Query("cluster_toast")})
		})
		if err != nil {
			return failed(s, err)
		}
	}
	return nil
}

// follow gives a server the caches and roles of the coordinator.
func (c *Cluster) follow(ctx context.Context, s *Server, m common, emptied []string) (changed int, err error) {
	err = c.transact(ctx, s.conn, func() error {
		if err := s.conn.QueryRow(ctx, schema.Query("cluster_follow"), m.caches, emptied).Scan(&changed); err != nil {
			return err
		}
		for _, query := range []string{"cluster_roles", "cluster_revoke"} {
			if _, err := s.conn.Exec(ctx, schema.Query(query), m.roles); err != nil {
				return err
			}
		}
		return nil
	})
	return changed, err
}

// adopt gives a server the seed and the partitions of the coordinator. Error: ErrUnfit, if
// it has entries or sessions of its own.
func (c *Cluster) adopt(ctx context.Context, s *Server, m common) error {
	err := c.transact(ctx, s.conn, func() error {
		_, err := s.conn.Exec(ctx, schema.Query("cluster_adopt"), m.seed, m.partitions)
		return err
	})
	var pgErr *pgconn.PgError
	if errors.As(err, &pgErr) && pgErr.Code == "55000" {
		return unfitf("server %s cannot join: %s %s", s.Address(), pgErr.Message, pgErr.Hint)
	}
	return failed(s, err)
}

// failed names the server of an error.
func failed(s *Server, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("server %s: %w", s.Address(), err)
}

// exec is a function that runs a query with arguments, for a change.
func exec(ctx context.Context, query string, args ...any) func(*pgx.Conn) error {
	return func(conn *pgx.Conn) error {
		_, err := conn.Exec(ctx, schema.Query(query), args...)
		return err
	}
}
