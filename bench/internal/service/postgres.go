package service

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

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
	// socket. For a server that we did not start both are what was given, with
	// a search_path of its own.
	URL, SocketURL string
	Version        string
	Settings       string // for the reader
	Process        machine.Process
	own            *embedded.Server
	given          bool
}

// StartPostgres runs an installed PostgreSQL as its distribution built it,
// with PostgreSQL's stock settings, in a directory of its own. settings win
// over the stock ones.
func StartPostgres(ctx context.Context, dir string, settings map[string]string) (*PostgresServer, error) {
	path, err := Postgres.Find()
	if err != nil {
		return nil, err
	}
	return startPostgres(ctx, filepath.Dir(path), dir, settings)
}

// StartPostgresBeside is StartPostgres with the PostgreSQL that has the Citus engine, which it
// does not load: for what is compared with servers of Citus.
func StartPostgresBeside(ctx context.Context, dir string) (*PostgresServer, error) {
	binDir, err := CitusBinDir()
	if err != nil {
		return nil, err
	}
	return startPostgres(ctx, binDir, dir, nil)
}

func startPostgres(ctx context.Context, binDir, dir string, settings map[string]string) (*PostgresServer, error) {
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
		DataDir: filepath.Join(dir, "postgres"), BinDir: binDir, Listen: "127.0.0.1:0", Settings: all,
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

// Divided makes one more database on the server, whose caches are divided into partitions,
// and returns its URL. It goes with the server, which must be one that we started.
func (s *PostgresServer) Divided(ctx context.Context, partitions int) (string, error) {
	const name = "divided"
	if s.own == nil {
		return "", errors.New("a server that was given by a URL gets no second database: leave --database-url out")
	}
	if err := execute(ctx, s.SuperURL(), "CREATE DATABASE "+name+" OWNER "+embedded.Role); err != nil {
		return "", err
	}
	url := strings.Replace(s.URL, "/"+embedded.Database+"?", "/"+name+"?", 1)
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		return "", err
	}
	defer conn.Close(ctx)
	_, err = migrate.Up(ctx, conn, migrate.Options{Partitions: partitions})
	return url, err
}

// execute runs one statement.
func execute(ctx context.Context, url, sql string, args ...any) error {
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		return err
	}
	defer conn.Close(ctx)
	_, err = conn.Exec(ctx, sql, args...)
	return err
}

// CheckDatabaseURL says what is wrong with the URL of a database.
func CheckDatabaseURL(databaseURL string) error {
	if !strings.HasPrefix(databaseURL, "postgres://") && !strings.HasPrefix(databaseURL, "postgresql://") {
		return errors.New("give a URL such as postgres://user:password@host:5432/database")
	}
	_, err := pgx.ParseConfig(databaseURL) // its error leaves the password out
	return err
}

// benchSchema holds every table that is not Howdah's own in a database that
// was given: those of the harness have names that an application may use too.
const benchSchema = "howdah_bench"

// UsePostgres takes a server that is there. Its CPU is not measured. Howdah is
// installed, and goes again with Stop. A database that holds a Howdah already
// is refused: experiments empty its sessions and overwrite its caches.
func UsePostgres(ctx context.Context, databaseURL string) (*PostgresServer, error) {
	inSchema, err := WithOptions(databaseURL, "-csearch_path="+benchSchema)
	if err != nil {
		return nil, err
	}
	s := &PostgresServer{URL: inSchema, SocketURL: inSchema, Settings: "as given by --database-url", given: true}
	conn, err := pgx.Connect(ctx, s.URL)
	if err != nil {
		return nil, err
	}
	defer conn.Close(ctx)
	var used bool
	err = conn.QueryRow(ctx, `SELECT to_regnamespace('howdah') IS NOT NULL AND to_regnamespace($1) IS NULL`, benchSchema).Scan(&used)
	if err != nil {
		return nil, err
	}
	if used {
		return nil, errors.New("the database of --database-url holds a Howdah, whose sessions and caches would be overwritten: give an empty database")
	}
	if _, err := conn.Exec(ctx, `CREATE SCHEMA IF NOT EXISTS `+benchSchema); err != nil {
		return nil, err
	}
	if err := s.install(ctx); err != nil {
		return nil, errors.Join(err, s.Stop())
	}
	return s, nil
}

// WithOptions adds settings of the sessions to a URL, as both pgx and libpq
// read them.
func WithOptions(databaseURL, options string) (string, error) {
	u, err := url.Parse(databaseURL)
	if err != nil || options == "" {
		return databaseURL, err
	}
	q := u.Query()
	q.Set("options", strings.TrimSpace(q.Get("options")+" "+options))
	u.RawQuery = strings.ReplaceAll(q.Encode(), "+", "%20") // libpq knows no "+"
	return u.String(), nil
}

// uninstall leaves a database that was given as it was.
func (s *PostgresServer) uninstall() error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	conn, err := pgx.Connect(ctx, s.URL)
	if err != nil {
		return err
	}
	defer conn.Close(ctx)
	_, err = conn.Exec(ctx, `SET client_min_messages = warning; SET lock_timeout = '10s';
		DROP SCHEMA IF EXISTS howdah, howdah_internal, bench_scs, `+benchSchema+` CASCADE`)
	return err
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
	return superURL(s.own)
}

// Through is the URL of the same database by way of another address, such as
// that of a pooler.
func (s *PostgresServer) Through(addr string) string {
	return overTCP(s.SocketURL, addr)
}

// Stop ends the server if we started it, and cleans up if we did not.
func (s *PostgresServer) Stop() error {
	if s.given {
		return s.uninstall()
	}
	if s.own == nil {
		return nil
	}
	return s.own.Stop(context.Background())
}

// overTCP turns the URL of a Unix socket into one of TCP.
func overTCP(socketURL, addr string) string {
	head, _, _ := strings.Cut(socketURL, "?")
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
