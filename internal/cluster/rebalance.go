package cluster

import (
	"context"
	"fmt"
	"net"
	"strconv"

	"github.com/jackc/pgx/v5"

	"github.com/howdah/howdah/schema"
)

// Move is one of a partition from a server to another.
type Move struct {
	Partition int
	From, To  string // addresses
	host      string
	port      int
}

// RebalanceOptions tune Rebalance.
type RebalanceOptions struct {
	// DryRun only plans: each planned move is reported, none is made.
	DryRun bool

	// Drain is the address of a server that is to hold no partition any more, now and
	// later. "": none.
	Drain string

	// Moved hears of each move after it was made, and of how many are left. It is nil or
	// returns soon.
	Moved func(move Move, left int)
}

// Rebalance moves partitions, one after the other, until all servers that may hold some hold
// as much. Who writes to a partition waits while it moves; readers go on. It returns the moves
// that were made, or planned. Errors: ErrUnfit, if Citus or another program moves some already;
// fault.ErrPermission, to drain without being a superuser; or the database's own.
func Rebalance(ctx context.Context, config *pgx.ConnConfig, opts RebalanceOptions) ([]Move, error) {
	c, err := Open(ctx, config)
	if err != nil {
		return nil, err
	}
	defer c.Close()
	if err := c.idle(ctx); err != nil {
		return nil, err
	}
	if !opts.DryRun {
		if err := c.alone(ctx); err != nil {
			return nil, err
		}
	}
	if err := run(ctx, c.home(), schema.Query("cluster_propagate")); err != nil {
		return nil, err
	}
	if opts.Drain != "" {
		return c.drain(ctx, opts)
	}
	if opts.DryRun {
		return c.plan(ctx)
	}
	return c.balance(ctx, opts)
}

// idle tells whether Citus moves nothing by itself. Error: ErrUnfit.
func (c *Cluster) idle(ctx context.Context) error {
	var busy, wrong bool
	if err := c.home().QueryRow(ctx, schema.Query("cluster_background")).Scan(&busy, &wrong); err != nil {
		return err
	}
	switch {
	case wrong:
		return unfitf("Citus is rebalancing in a way that never ends with UNLOGGED tables: run SELECT citus_rebalance_stop() on the coordinator, and this again")
	case busy:
		return unfitf("Citus is rebalancing by itself: wait until SELECT * FROM citus_rebalance_status() says finished, or run SELECT citus_rebalance_stop()")
	}
	return nil
}

// alone keeps other programs from moving partitions until the connection ends. Error: ErrUnfit.
func (c *Cluster) alone(ctx context.Context) error {
	var alone bool
	if err := c.home().QueryRow(ctx, schema.Query("cluster_rebalance_lock")).Scan(&alone); err != nil {
		return err
	}
	if !alone {
		return unfitf("another program moves partitions: wait until it has ended, and run this again if there is something left to move")
	}
	return nil
}

// drain is Rebalance for a server that is to be emptied.
func (c *Cluster) drain(ctx context.Context, opts RebalanceOptions) ([]Move, error) {
	host, text, err := net.SplitHostPort(opts.Drain)
	if err != nil {
		return nil, unfitf("%q is no address: want HOST:PORT, as \"howdah servers\" shows it", opts.Drain)
	}
	port, _ := strconv.Atoi(text)
	s := c.known(host, port)
	if s == nil {
		return nil, unfitf("Citus knows no server %s: \"howdah servers\" lists them", opts.Drain)
	}
	if err := c.mayAdd(ctx); err != nil {
		return nil, err
	}
	set := func() error {
		_, err := c.home().Exec(ctx, schema.Query("cluster_drain"), s.Host, s.Port)
		return err
	}
	if !opts.DryRun {
		if err := set(); err != nil {
			return nil, err
		}
		return c.balance(ctx, opts)
	}
	// As if it were so, for a moment.
	if err := run(ctx, c.home(), "BEGIN"); err != nil {
		return nil, err
	}
	defer run(context.WithoutCancel(ctx), c.home(), "ROLLBACK") //nolint:errcheck // it ends with the connection
	if err := set(); err != nil {
		return nil, err
	}
	return c.plan(ctx)
}

// plan asks Citus for the moves.
func (c *Cluster) plan(ctx context.Context) ([]Move, error) {
	rows, err := c.home().Query(ctx, schema.Query("cluster_plan"))
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, func(row pgx.CollectableRow) (m Move, err error) {
		var from string
		var port int
		err = row.Scan(&m.Partition, &from, &port, &m.host, &m.port)
		m.From, m.To = net.JoinHostPort(from, strconv.Itoa(port)), net.JoinHostPort(m.host, strconv.Itoa(m.port))
		return m, err
	})
}

// balance makes the first move of a plan, and plans again, until there is none.
func (c *Cluster) balance(ctx context.Context, opts RebalanceOptions) (made []Move, err error) {
	const enough = 256 // moves: what else is there to do then, another run does
	for len(made) < enough {
		plan, err := c.plan(ctx)
		if err != nil || len(plan) == 0 {
			return made, err
		}
		next := plan[0]
		if err := c.move(ctx, next); err != nil {
			return made, err
		}
		made = append(made, next)
		if opts.Moved != nil {
			opts.Moved(next, len(plan)-1)
		}
	}
	return made, nil
}

// move makes one move. Who changes caches waits for it, and comes before the next one.
func (c *Cluster) move(ctx context.Context, m Move) error {
	if err := run(ctx, c.home(), schema.Query("cluster_lock")); err != nil {
		return err
	}
	defer run(context.WithoutCancel(ctx), c.home(), schema.Query("cluster_unlock")) //nolint:errcheck // it ends with the connection
	to := c.known(m.host, m.port)
	if to == nil {
		return unfitf("Citus has changed its servers meanwhile: run this again")
	}
	if err := c.reach(ctx, to); err != nil {
		return err
	}
	if _, err := c.home().Exec(ctx, schema.Query("cluster_move"), fmt.Sprintf("howdah_p%02d", m.Partition), m.host, m.port); err != nil {
		return fmt.Errorf("partition %d was not moved to %s: %w", m.Partition, m.To, err)
	}
	return c.keepToast(ctx, to)
}
