package service

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/howdah/howdah/bench/internal/machine"
	"github.com/howdah/howdah/internal/cluster"
	"github.com/howdah/howdah/internal/embedded"
)

// binDirOfTests names the folder of a PostgreSQL as the tests know it.
const binDirOfTests = "HOWDAH_TEST_PG_BINDIR"

// findCitus returns the path of the engine, in the PostgreSQL of the tests or an installed one.
func findCitus() (string, error) {
	dirs, _ := filepath.Glob("/usr/lib/postgresql/*/bin")
	slices.SortFunc(dirs, func(a, b string) int { return major(b) - major(a) })
	if dir := os.Getenv(binDirOfTests); dir != "" {
		dirs = slices.Insert(dirs, 0, dir)
	}
	for _, dir := range dirs {
		path := filepath.Join(filepath.Dir(dir), "lib", Citus.Name)
		if _, err := os.Stat(path); err == nil {
			return path, nil
		}
	}
	return "", &MissingError{Citus}
}

// CitusBinDir is the folder of the programs of the PostgreSQL that has the engine.
func CitusBinDir() (string, error) {
	path, err := Citus.Find()
	return filepath.Join(filepath.Dir(filepath.Dir(path)), "bin"), err
}

// CitusServers are servers that Citus has spread the partitions of a database over. The
// first is the coordinator, which holds its share of them.
type CitusServers struct {
	URL       string // of the coordinator, by TCP
	Version   string
	Processes []machine.Process
	servers   []*embedded.Server
}

// citusSettings are those of a server of Citus beside PostgreSQL's own.
var citusSettings = map[string]string{
	"shared_preload_libraries":  "citus",
	"citus.node_conninfo":       "sslmode=disable",
	"max_prepared_transactions": "100",
	// Leave the processors to what is measured.
	"citus.stat_statements_track":        "none",
	"citus.enable_statistics_collection": "off",
}

// StartCitus starts servers with PostgreSQL's stock settings in directories of their own,
// and divides a database over them.
func StartCitus(ctx context.Context, dir string, servers, partitions int) (*CitusServers, error) {
	binDir, err := CitusBinDir()
	if err != nil {
		return nil, err
	}
	c := &CitusServers{}
	for i := range servers {
		if err := c.start(ctx, binDir, filepath.Join(dir, fmt.Sprintf("citus-%d", i))); err != nil {
			return nil, fmt.Errorf("server %d of Citus: %w", i+1, c.failed(err))
		}
	}
	if err := c.join(ctx, partitions); err != nil {
		return nil, c.failed(err)
	}
	return c, nil
}

// failed ends what runs.
func (c *CitusServers) failed(err error) error {
	c.Stop()
	return err
}

// Stop ends all servers.
func (c *CitusServers) Stop() (first error) {
	for _, s := range c.servers {
		if err := s.Stop(context.Background()); err != nil && first == nil {
			first = err
		}
	}
	return first
}

// start starts one server, whose roles have the password of those of the first.
func (c *CitusServers) start(ctx context.Context, binDir, dir string) error {
	all := map[string]string{}
	for _, settings := range []map[string]string{stock, citusSettings} {
		for name, value := range settings {
			all[name] = value
		}
	}
	if len(c.servers) > 0 {
		if err := os.Mkdir(dir, 0o700); err != nil {
			return err
		}
		password, err := os.ReadFile(filepath.Join(c.servers[0].DataDir(), "password"))
		if err == nil {
			err = errors.Join(
				os.WriteFile(filepath.Join(dir, "password"), password, 0o600),
				os.WriteFile(filepath.Join(dir, "lock"), nil, 0o600)) // makes it a data directory
		}
		if err != nil {
			return err
		}
	}
	s, err := embedded.Start(ctx, embedded.Config{DataDir: dir, BinDir: binDir, Listen: "127.0.0.1:0", Settings: all})
	if err != nil {
		return err
	}
	c.servers = append(c.servers, s)
	pid, err := postmaster(s.DataDir())
	c.Processes = append(c.Processes, machine.Process{PID: pid})
	return err
}

// join makes the servers one cluster, and gives it the partitions.
func (c *CitusServers) join(ctx context.Context, partitions int) error {
	home := c.servers[0]
	c.URL = overTCP(home.URL(), home.TCPAddr())
	config, err := pgx.ParseConfig(c.URL)
	if err != nil {
		return err
	}
	for _, s := range c.servers {
		if err := execute(ctx, superURL(s), "CREATE EXTENSION citus"); err != nil {
			return err
		}
		for _, role := range []string{embedded.SuperRole, embedded.Role} {
			err := execute(ctx, superURL(s), "INSERT INTO pg_dist_authinfo VALUES (0, $1, $2)", role, "password="+config.Password)
			if err != nil {
				return err
			}
		}
	}
	for i, s := range c.servers {
		host, port, err := net.SplitHostPort(s.TCPAddr())
		if err != nil {
			return err
		}
		statements := []string{fmt.Sprintf("SELECT citus_add_node('%s', %s)", host, port)}
		if i == 0 {
			statements = []string{
				fmt.Sprintf("SELECT citus_set_coordinator_host('%s', %s)", host, port),
				fmt.Sprintf("SELECT citus_set_node_property('%s', %s, 'shouldhaveshards', true)", host, port),
			}
		}
		for _, sql := range statements {
			if err := execute(ctx, superURL(home), sql); err != nil {
				return err
			}
		}
	}
	if _, err := cluster.Prepare(ctx, config, cluster.Options{Partitions: partitions}); err != nil {
		return err
	}
	conn, err := pgx.ConnectConfig(ctx, config)
	if err != nil {
		return err
	}
	defer conn.Close(ctx)
	return conn.QueryRow(ctx, "SELECT current_setting('server_version') || ', ' || citus_version()").Scan(&c.Version)
}

// superURL connects to the database of a server as the superuser.
func superURL(s *embedded.Server) string {
	return strings.Replace(s.SuperURL(), "/"+embedded.SuperRole+"?", "/"+embedded.Database+"?", 1)
}
