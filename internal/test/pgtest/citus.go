//go:build citus

package pgtest

import (
	"context"
	"fmt"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/howdah/howdah/internal/cluster"
	"github.com/howdah/howdah/internal/embedded"
	"github.com/howdah/howdah/migrate"
	"github.com/jackc/pgx/v5"
)

// Citus is a cluster of one test's own. Each node is a Server, to be killed,
// started again, replicated and promoted as any other. A missing engine fails
// the test.
type Citus struct {
	t        testing.TB
	nodes    []*Server // the coordinator first
	roles    []string  // of Role
	settings []string
}

// StartCitus starts a coordinator and workers. Database "howdah" has the
// extension on all nodes, and is empty otherwise; its owner is the same
// everywhere. The servers do without fsync. Settings are as of Own, for all
// nodes, those that AddNode adds included.
func StartCitus(t testing.TB, workers int, settings ...string) *Citus {
	t.Helper()
	requireCitus(t)
	c := &Citus{t: t, settings: append([]string{
		"fsync", "off",
		"shared_preload_libraries", "citus",
		"citus.node_conninfo", "sslmode=disable",
		"max_prepared_transactions", "200", // each statement for several nodes takes one
		"wal_level", "logical", // for moves while others write
		"max_worker_processes", "16", // a standby needs as many as its primary
	}, settings...)}
	coordinator := c.start(func() (*Server, error) { return ownServer(t, c.settings, "") })
	host, port := Address(coordinator)
	coordinator.exec(fmt.Sprintf("SELECT citus_set_coordinator_host('%s', %d)", host, port))
	for range workers {
		c.AddNode()
	}
	return c
}

// Coordinator is the node on which tables are made and moved.
func (c *Citus) Coordinator() *Server { return c.nodes[0] }

// Nodes are the coordinator and the workers, in the order in which they came.
func (c *Citus) Nodes() []*Server { return c.nodes }

// AddNode starts a server and makes it a worker. It holds no partition until
// one is moved there.
func (c *Citus) AddNode() *Server {
	c.t.Helper()
	node := c.StartNode()
	host, port := Address(node)
	c.Coordinator().exec(fmt.Sprintf("SELECT citus_add_node('%s', %d)", host, port))
	c.authorise(node, c.roles...) // a node that is added gets the roles that there are
	return node
}

// StartNode starts a server that could be a worker, and leaves it to the test
// to add it.
func (c *Citus) StartNode() *Server {
	c.t.Helper()
	return c.start(func() (*Server, error) { return ownServer(c.t, c.settings, c.Coordinator().dir) })
}

func (c *Citus) start(own func() (*Server, error)) *Server {
	c.t.Helper()
	node, err := own()
	if err != nil {
		c.t.Fatalf("pgtest: PostgreSQL does not start with the Citus engine, which needs 15.20 or newer "+
			"(apt-get update && apt-get install postgresql-15): %v", err)
	}
	c.nodes = append(c.nodes, node)
	node.exec("CREATE EXTENSION citus")
	c.authorise(node, embedded.SuperRole, embedded.Role)
	return node
}

// Role makes a role on all nodes, which may log in and nothing more.
func (c *Citus) Role(name string) {
	c.t.Helper()
	role := pgx.Identifier{name}.Sanitize()
	password, _ := parse(c.Coordinator().URL()).User.Password()
	c.Coordinator().exec(fmt.Sprintf("CREATE ROLE %s LOGIN PASSWORD '%s'", role, password))
	c.roles = append(c.roles, name)
	for _, node := range c.nodes {
		c.authorise(node, name)
	}
}

// authorise tells a node the password with which roles connect to the others.
func (c *Citus) authorise(node *Server, roles ...string) {
	c.t.Helper()
	password, _ := parse(node.URL()).User.Password()
	for _, role := range roles {
		node.exec(fmt.Sprintf("INSERT INTO pg_dist_authinfo (nodeid, rolename, authinfo) VALUES (0, '%s', 'password=%s')", role, password))
	}
}

// Replace makes a server, such as a promoted standby, the node that another
// one was.
func (c *Citus) Replace(former, by *Server) {
	c.t.Helper()
	host, port := Address(by)
	c.Coordinator().exec(fmt.Sprintf("SELECT citus_update_node(%d, '%s', %d)", c.NodeID(former), host, port))
	for i, node := range c.nodes {
		if node == former {
			c.nodes[i] = by
		}
	}
}

// NodeID is the number that Citus knows a node by.
func (c *Citus) NodeID(node *Server) (id int) {
	c.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	conn := c.Coordinator().connect(ctx)
	defer conn.Close(ctx)
	host, port := Address(node)
	c.Coordinator().must(conn.QueryRow(ctx, "SELECT nodeid FROM pg_dist_node WHERE nodename = $1 AND nodeport = $2", host, port).Scan(&id))
	return id
}

// Migrate installs the schema on all nodes, on each for itself.
func (c *Citus) Migrate() {
	c.t.Helper()
	for _, node := range c.nodes {
		c.MigrateNode(node)
	}
}

// Divide installs the schema on all nodes, divides the caches into so many partitions, and
// has Citus place them; what applications need is granted to the roles of Role. Run again
// it makes nodes that were added alike.
func (c *Citus) Divide(partitions int) {
	c.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	config, err := pgx.ParseConfig(c.Coordinator().URL())
	c.Coordinator().must(err)
	_, err = cluster.Prepare(ctx, config, cluster.Options{Partitions: partitions})
	for _, role := range c.roles {
		if err == nil {
			_, err = cluster.Prepare(ctx, config, cluster.Options{RuntimeRole: role})
		}
	}
	c.Coordinator().must(err)
}

// Move moves a partition to a node, while others write.
func (c *Citus) Move(partition int, to *Server) {
	c.t.Helper()
	host, port := Address(to)
	c.Coordinator().exec(fmt.Sprintf("SELECT citus_schema_move('howdah_p%02d', '%s', %d, 'block_writes')", partition, host, port))
}

// Holder is the node that has a partition.
func (c *Citus) Holder(partition int) *Server {
	c.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	conn := c.Coordinator().connect(ctx)
	defer conn.Close(ctx)
	var at int
	c.Coordinator().must(conn.QueryRow(ctx, "SELECT port FROM howdah_internal._places() WHERE partition = $1", partition).Scan(&at))
	for _, node := range c.nodes {
		if _, port := Address(node); port == at {
			return node
		}
	}
	c.t.Fatalf("pgtest: no node has partition %d", partition)
	return nil
}

// Exec runs statements on each node alone, as a superuser.
func (c *Citus) Exec(statements ...string) {
	c.t.Helper()
	for _, node := range c.nodes {
		node.exec(append([]string{"SET citus.enable_ddl_propagation = off"}, statements...)...)
	}
}

// MigrateNode installs the schema on one node.
func (c *Citus) MigrateNode(node *Server) {
	c.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	conn, err := pgx.Connect(ctx, LocalURL(node.URL()))
	node.must(err)
	defer conn.Close(ctx)
	_, err = migrate.Up(ctx, conn, migrate.Options{})
	node.must(err)
}

// LocalURL turns a URL of a node into one whose connections make and change
// objects on that node alone.
func LocalURL(databaseURL string) string {
	return withParameter(databaseURL, "citus.enable_ddl_propagation", "off")
}

// AsRole turns a URL of a node into one that connects as another role of Citus.Role.
func AsRole(databaseURL, role string) string {
	u := parse(databaseURL)
	password, _ := u.User.Password()
	u.User = url.UserPassword(role, password)
	return u.String()
}

func withParameter(databaseURL, name, value string) string {
	u := parse(databaseURL)
	q := u.Query()
	q.Set(name, value)
	u.RawQuery = q.Encode()
	return u.String()
}

// Address is where clients and other nodes reach a node.
func Address(s *Server) (host string, port int) {
	host, text, err := net.SplitHostPort(s.listen)
	s.must(err)
	port, err = strconv.Atoi(text)
	s.must(err)
	return host, port
}

// requireCitus fails the test if the PostgreSQL of the tests has no engine.
func requireCitus(t testing.TB) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	binDir, err := postgres.find(ctx)
	if err != nil {
		t.Fatalf("pgtest: %v", err)
	}
	library := filepath.Join(filepath.Dir(binDir), "lib", "citus.so")
	if _, err := os.Stat(library); err != nil {
		t.Fatalf("pgtest: %s is not there: unpack the archive of the Citus engine (the one that HOWDAH_CITUS_ENGINE names for .ci/run) "+
			"with: tar -xzf ARCHIVE --no-overwrite-dir -C /", library)
	}
}
