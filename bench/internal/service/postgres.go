package service

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/howdah/howdah/bench/internal/machine"
	"github.com/howdah/howdah/internal/embedded"
	"github.com/howdah/howdah/migrate"
)

// stock are PostgreSQL's own defaults, where the private server that howdah
// runs on a laptop has others.
var stock = map[string]string{
	"shared_buffers":     "128MB",
	"max_connections":    "100",
	"max_wal_size":       "1GB",
	"min_wal_size":       "80MB",
	"jit":                "on",
	"autovacuum_naptime": "60s",
}

// PostgresServer is a PostgreSQL with the Howdah schema in it.
type PostgresServer struct {
	// URL is by TCP, as Redis and Memcached are reached; SocketURL by the Unix
	// socket. For a server that we did not start both are what was given.
	URL, SocketURL string
	Version        string
	Settings       string // for the reader
	Process        machine.Process
	own            *embedded.Server
}

// StartPostgres runs an installed PostgreSQL as its distribution built it,
// with PostgreSQL's stock settings, in a directory of its own. settings win
// over the stock ones.
func StartPostgres(ctx context.Context, dir string, settings map[string]string) (*PostgresServer, error) {
	path, err := Postgres.Find()
	if err != nil {
		return nil, err
	}
	all := map[string]string{}
	for name, value := range stock {
		all[name] = value
	}
	described := "stock"
	for _, name := range slices.Sorted(maps.Keys(settings)) {
		all[name] = settings[name]
		described += ", " + name + "=" + settings[name]
	}
	own, err := embedded.Start(ctx, embedded.Config{
		DataDir: filepath.Join(dir, "postgres"), BinDir: filepath.Dir(path), Listen: "127.0.0.1:0", Settings: all,
	})
	if err != nil {
		return nil, err
	}
	s := &PostgresServer{own: own, SocketURL: own.URL(), URL: overTCP(own.URL(), own.TCPAddr()), Settings: described}
	pid, err := postmaster(own.DataDir())
	if err == nil {
		s.Process = machine.Process{PID: pid}
		err = s.install(ctx)
	}
	if err != nil {
		own.Stop(context.WithoutCancel(ctx))
		return nil, err
	}
	return s, nil
}

// UsePostgres takes a server that is there. Its CPU is not measured.
func UsePostgres(ctx context.Context, url string) (*PostgresServer, error) {
	s := &PostgresServer{URL: url, SocketURL: url, Settings: "as given by --database-url"}
	return s, s.install(ctx)
}

// install brings the schema in and asks for the version.
func (s *PostgresServer) install(ctx context.Context) error {
	conn, err := pgx.Connect(ctx, s.URL)
	if err != nil {
		return err
	}
	defer conn.Close(ctx)
	if err := conn.QueryRow(ctx, "SELECT current_setting('server_version')").Scan(&s.Version); err != nil {
		return err
	}
	_, err = migrate.Up(ctx, conn, migrate.Options{})
	return err
}

// SuperURL connects to the same database as the superuser, by the Unix
// socket; "" for a server that we did not start.
func (s *PostgresServer) SuperURL() string {
	if s.own == nil {
		return ""
	}
	return strings.Replace(s.own.SuperURL(), "/"+embedded.SuperRole+"?", "/"+embedded.Database+"?", 1)
}

// Through is the URL of the same database by way of another address, such as
// that of a pooler.
func (s *PostgresServer) Through(addr string) string {
	return overTCP(s.SocketURL, addr)
}

// Stop ends the server if we started it.
func (s *PostgresServer) Stop() error {
	if s.own == nil {
		return nil
	}
	return s.own.Stop(context.Background())
}

// overTCP turns the URL of a Unix socket into one of TCP.
func overTCP(url, addr string) string {
	head, _, _ := strings.Cut(url, "?")
	return strings.Replace(head, "@/", "@"+addr+"/", 1) + "?sslmode=disable"
}

// postmaster reads the process id of a running cluster.
func postmaster(dataDir string) (int, error) {
	path := filepath.Join(dataDir, "pg", "postmaster.pid")
	text, err := os.ReadFile(path)
	if err != nil {
		return 0, err
	}
	line, _, _ := strings.Cut(string(text), "\n")
	pid, err := strconv.Atoi(strings.TrimSpace(line))
	if err != nil {
		return 0, fmt.Errorf("%s does not begin with a process id: %w", path, err)
	}
	return pid, nil
}
