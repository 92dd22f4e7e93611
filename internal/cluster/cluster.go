// Package cluster keeps the servers alike that Citus spreads a database over: each has the
// whole schema for itself, and the same caches, with the same partitions. Citus keeps their
// tables, on one server each; the coordinator is home to all the rest.
//
// What changes a cache is one transaction on the coordinator, and then one on each other
// server that makes its settings those of the coordinator. Whatever ends in between is
// repaired by the next change, or by Prepare.
package cluster

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/howdah/howdah/internal/fault"
	"github.com/howdah/howdah/schema"
)

// ErrUnfit says that a server, or Citus on it, is not as it must be. The error that wraps it
// is a sentence that says what to do.
var ErrUnfit = errors.New("unfit server")

// unfit is an error with a sentence of its own.
type unfit struct{ sentence string }

func (u *unfit) Error() string { return u.sentence }
func (u *unfit) Unwrap() error { return ErrUnfit }

func unfitf(format string, args ...any) error { return &unfit{fmt.Sprintf(format, args...)} }

// Server is one that Citus knows.
type Server struct {
	Number int // by Citus; 0: the coordinator
	Host   string
	Port   int
	Holds  bool // it may hold partitions

	id     int
	synced bool // it has heard of all changes
	self   bool // it answered
	conn   *pgx.Conn
}

// Address is the host and the port by which Citus knows the server.
func (s *Server) Address() string { return net.JoinHostPort(s.Host, strconv.Itoa(s.Port)) }

// Cluster are the servers of a database, as its coordinator names them.
type Cluster struct {
	config  *pgx.ConnConfig // of the coordinator, as the caller named it
	version string          // of Citus
	owner   string          // of the schema howdah; "": there is none
	mayOwn  bool            // the role may act as the owner
	role    string
	servers []*Server // the coordinator first
}

// Open connects to the coordinator. Close ends it. Errors: ErrUnfit, if it is not a
// coordinator, or its Citus is too old; or the database's own.
func Open(ctx context.Context, config *pgx.ConnConfig) (*Cluster, error) {
	c := &Cluster{config: config}
	conn, err := connect(ctx, config)
	if err != nil {
		return nil, fault.From(err, false, false)
	}
	if err := c.look(ctx, conn); err != nil {
		_ = conn.Close(context.WithoutCancel(ctx))
		return nil, err
	}
	return c, nil
}

// connect makes a connection whose changes stay on its server.
func connect(ctx context.Context, config *pgx.ConnConfig) (*pgx.Conn, error) {
	config = config.Copy()
	config.DefaultQueryExecMode = pgx.QueryExecModeExec
	conn, err := pgx.ConnectConfig(ctx, config)
	if err != nil {
		return nil, err
	}
	if err := run(ctx, conn, schema.Query("cluster_local")); err != nil {
		_ = conn.Close(context.WithoutCancel(ctx))
		return nil, err
	}
	return conn, nil
}

// readState reads what the coordinator is, and as whom it is asked.
func (c *Cluster) readState(ctx context.Context, conn *pgx.Conn) error {
	return conn.QueryRow(ctx, schema.Query("cluster_citus")).Scan(&c.version, &c.owner, &c.mayOwn, &c.role)
}

// look finds out what the coordinator knows.
func (c *Cluster) look(ctx context.Context, conn *pgx.Conn) error {
	if err := c.readState(ctx, conn); err != nil {
		return err
	}
	if err := CheckVersion(c.version); err != nil {
		return err
	}
	rows, err := conn.Query(ctx, schema.Query("cluster_servers"))
	if err != nil {
		return err
	}
	c.servers, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (*Server, error) {
		var s Server
		return &s, row.Scan(&s.Number, &s.id, &s.Host, &s.Port, &s.Holds, &s.synced, &s.self)
	})
	if err != nil {
		return err
	}
	if len(c.servers) == 0 || c.servers[0].Number != 0 {
		return unfitf("Citus does not know the coordinator by a name that others can reach: " +
			"as a superuser run SELECT citus_set_coordinator_host('HOST', PORT) there")
	}
	if !c.servers[0].self {
		return unfitf("this server is not the coordinator: connect to %s", c.servers[0].Address())
	}
	c.servers[0].conn = conn
	return nil
}

// CheckVersion tells whether Citus is there, by the version of its extension, and whether
// it is new enough: 12.0 is. Error: ErrUnfit.
func CheckVersion(version string) error {
	if version == "" {
		return unfitf("Citus is not there: install it on all servers, and run CREATE EXTENSION citus in the database as a superuser")
	}
	major, _, _ := strings.Cut(version, ".")
	if number, err := strconv.Atoi(major); err != nil || number < 12 {
		return unfitf("Citus %s is too old: upgrade it to 12.0 or newer on all servers", version)
	}
	return nil
}

// Close ends all connections.
func (c *Cluster) Close() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	for _, s := range c.servers {
		if s.conn != nil {
			_ = s.conn.Close(ctx)
		}
	}
}

func (c *Cluster) home() *pgx.Conn { return c.servers[0].conn }

// reach connects to a server with what the coordinator was reached with.
func (c *Cluster) reach(ctx context.Context, s *Server) error {
	if s.conn != nil {
		return nil
	}
	conn, err := connect(ctx, At(c.config, s.Host, s.Port))
	if err != nil {
		return fault.From(err, false, false)
	}
	s.conn = conn
	return nil
}

// At is how to connect to another server as to the one of config.
func At(config *pgx.ConnConfig, host string, port int) *pgx.ConnConfig {
	config = config.Copy()
	config.Host, config.Port, config.Fallbacks = host, uint16(port), nil
	if tls := config.TLSConfig; tls != nil && tls.ServerName != "" {
		tls.ServerName = host
	}
	return config
}

// prepare connects to all servers, and waits for others that change them.
func (c *Cluster) prepare(ctx context.Context) error {
	if !c.mayOwn {
		return fmt.Errorf("%w: role %q may not change the caches: connect as %q, who owns the schema howdah", fault.ErrPermission, c.role, c.owner)
	}
	for _, s := range c.servers {
		if err := c.reach(ctx, s); err != nil {
			return err
		}
	}
	return run(ctx, c.home(), schema.Query("cluster_lock"))
}

// transact runs fn in a transaction on a server, as the owner of the schema.
func (c *Cluster) transact(ctx context.Context, conn *pgx.Conn, fn func() error) error {
	begin := []string{
		schema.Query("migrate_begin") + schema.Query("cluster_begin"),
		schema.Query("cluster_wait"),
		"SET LOCAL citus.propagate_set_commands = 'none'",
	}
	if c.owner != "" {
		begin = append(begin, "SET LOCAL ROLE "+pgx.Identifier{c.owner}.Sanitize())
	}
	err := runAll(ctx, conn, begin)
	if err == nil {
		err = fn()
	}
	if err == nil {
		return run(ctx, conn, "COMMIT")
	}
	_ = run(context.WithoutCancel(ctx), conn, "ROLLBACK")
	return err
}

// change is one of all servers.
type change struct {
	here       func(*pgx.Conn) error // on the coordinator alone; nil: nothing
	everywhere func(*pgx.Conn) error // by way of Citus; nil: nothing
	emptied    []string              // caches
}

// make makes a change. What a cache lacks since one that was interrupted is made too.
func (c *Cluster) make(ctx context.Context, change change) error {
	err := c.retry(ctx, func() error {
		return c.transact(ctx, c.home(), func() error { return c.makeHome(ctx, change) })
	})
	if err != nil {
		return err
	}
	_, err = c.spread(ctx, change.emptied)
	return err
}

// makeHome is make on the coordinator, in a transaction.
func (c *Cluster) makeHome(ctx context.Context, change change) error {
	conn := c.home()
	if change.here != nil {
		if err := change.here(conn); err != nil {
			return err
		}
	}
	if err := c.steps(ctx, "cluster_steps"); err != nil { // Citus takes tables only by statements that no function makes
		return err
	}
	if change.everywhere != nil {
		if err := change.everywhere(conn); err != nil {
			return err
		}
	}
	return runAll(ctx, conn, []string{schema.Query("cluster_grant"), schema.Query("cluster_here"), schema.Query("cluster_note")})
}

// steps runs the statements that a query gives, for all servers.
func (c *Cluster) steps(ctx context.Context, query string) error {
	rows, err := c.home().Query(ctx, schema.Query(query))
	if err != nil {
		return err
	}
	steps, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		return err
	}
	return runAll(ctx, c.home(), append([]string{schema.Query("cluster_everywhere")}, steps...))
}

// retry runs fn again while a server has not heard of a change of the servers, as after a
// failover; Citus tells it within seconds.
func (c *Cluster) retry(ctx context.Context, fn func() error) error {
	deadline := time.Now().Add(30 * time.Second)
	for {
		err := fn()
		var pgErr *pgconn.PgError
		if !errors.As(err, &pgErr) || pgErr.Code != "55000" || !strings.Contains(pgErr.Message, "out of sync") || time.Now().After(deadline) {
			return err
		}
		select {
		case <-time.After(200 * time.Millisecond):
		case <-ctx.Done():
			return err
		}
	}
}

// runAll executes statements one by one, until one fails.
func runAll(ctx context.Context, conn *pgx.Conn, statements []string) error {
	for _, sql := range statements {
		if err := run(ctx, conn, sql); err != nil {
			return err
		}
	}
	return nil
}

// run executes statements that take no arguments and whose rows do not matter.
func run(ctx context.Context, conn *pgx.Conn, sql string) error {
	return conn.PgConn().Exec(ctx, sql).Close()
}
