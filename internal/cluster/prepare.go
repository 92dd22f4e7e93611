package cluster

import (
	"context"
	"errors"
	"log/slog"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/howdah/howdah/internal/fault"
	"github.com/howdah/howdah/migrate"
	"github.com/howdah/howdah/schema"
)

// Options tune Prepare.
type Options struct {
	// Logger hears of every step. Default: none.
	Logger *slog.Logger

	// Partitions is as in migrate.Options; 0: as many as there are.
	Partitions int

	// RuntimeRole is a role that is granted what applications need, on all servers. "":
	// none besides those that have it.
	RuntimeRole string
}

// Prepared is what Prepare did on one server.
type Prepared struct {
	Server
	migrate.Result
}

// Result is what Prepare did.
type Result struct {
	Servers    []Prepared // the coordinator first
	Partitions int
	Changed    int // rows of settings that differed on other servers
}

// Prepare makes all servers ready for the partitions of a database, and gives Citus their
// tables. It brings the schema of each to the version of this program. Run again it
// repairs what was interrupted, and does nothing where there is nothing to do.
//
// Errors: ErrUnfit, fault.ErrUnavailable if a server does not answer, those of migrate.Up, or
// the database's own.
func Prepare(ctx context.Context, config *pgx.ConnConfig, opts Options) (Result, error) {
	c, err := Open(ctx, config)
	if err != nil {
		return Result{}, err
	}
	defer c.Close()
	if err := c.prepare(ctx); err != nil {
		return Result{}, err
	}
	status, err := migrate.ReadStatus(ctx, c.home())
	if err != nil && !errors.Is(err, migrate.ErrTooNew) {
		return Result{}, err
	}
	if status.Partitions == 0 && opts.Partitions == 0 {
		return Result{}, unfitf("the keys of this database are not divided: say into how many partitions, with --partitions; 16 is a good number")
	}
	if len(status.Watches) > 0 {
		if err := c.unwatched(ctx, c.servers[0]); err != nil {
			return Result{}, err
		}
	}
	if opts.RuntimeRole != "" {
		if err := migrate.CheckRole(ctx, c.home(), opts.RuntimeRole); err != nil {
			return Result{}, err
		}
	}
	result, err := c.migrate(ctx, opts)
	if err != nil {
		return Result{}, err
	}
	change := change{here: func(conn *pgx.Conn) error {
		err := exec(ctx, "cluster_remake")(conn)
		if err == nil && opts.RuntimeRole != "" {
			err = exec(ctx, "grant_runtime", opts.RuntimeRole, false)(conn)
		}
		return err
	}}
	for _, fn := range []func() error{
		func() error { return c.steps(ctx, "cluster_schemas") },
		func() error { return c.makeHome(ctx, change) },
	} {
		if err := c.retry(ctx, func() error { return c.transact(ctx, c.home(), fn) }); err != nil {
			return Result{}, err
		}
	}
	result.Changed, err = c.spread(ctx, nil)
	return result, err
}

// migrate brings the schema of all servers up to date, and gives them the seed and the
// partitions of the coordinator.
func (c *Cluster) migrate(ctx context.Context, opts Options) (Result, error) {
	done, err := migrate.Up(ctx, c.home(), migrate.Options{Logger: opts.Logger, Partitions: opts.Partitions})
	if err != nil {
		return Result{}, err
	}
	result := Result{Servers: []Prepared{{*c.servers[0], done}}, Partitions: done.Partitions}
	if err := c.readState(ctx, c.home()); err != nil { // there is an owner now
		return Result{}, err
	}
	m, err := c.common(ctx)
	if err != nil {
		return Result{}, err
	}
	for _, s := range c.servers[1:] {
		done, err := c.join(ctx, s, m, opts.Logger)
		if err != nil {
			return Result{}, err
		}
		result.Servers = append(result.Servers, Prepared{*s, done})
	}
	return result, nil
}

// join migrates a server and gives it the seed and the partitions of the coordinator.
func (c *Cluster) join(ctx context.Context, s *Server, m common, logger *slog.Logger) (migrate.Result, error) {
	// Whoever connects, the schema has the same owner everywhere.
	if err := run(ctx, s.conn, "SET ROLE "+pgx.Identifier{c.owner}.Sanitize()); err != nil {
		if fault.State(err) == "22023" {
			return migrate.Result{}, unfitf("server %s has no role %q, who owns the schema: make it there with CREATE ROLE, and let it create schemas in the database", s.Address(), c.owner)
		}
		return migrate.Result{}, failed(s, err)
	}
	done, err := migrate.Up(ctx, s.conn, migrate.Options{Logger: logger})
	if err != nil {
		return done, failed(s, err)
	}
	if err := c.unwatched(ctx, s); err != nil {
		return done, err
	}
	return done, c.adopt(ctx, s, m)
}

// unwatched tells whether a server has no watches of tables: their triggers could not reach
// entries on other servers, and would fail the statements that change the tables. Error: ErrUnfit.
func (c *Cluster) unwatched(ctx context.Context, s *Server) error {
	rows, err := s.conn.Query(ctx, schema.Query("cluster_watches"))
	if err != nil {
		return failed(s, err)
	}
	var watches, statements []string
	var watch, statement string
	_, err = pgx.ForEachRow(rows, []any{&watch, &statement}, func() error {
		watches, statements = append(watches, watch), append(statements, statement)
		return nil
	})
	if err != nil {
		return failed(s, err)
	}
	if len(watches) > 0 {
		return unfitf("server %s watches tables, whose entries may be on other servers: %s; end that with %s",
			s.Address(), strings.Join(watches, ", "), strings.Join(statements, "; "))
	}
	return nil
}
