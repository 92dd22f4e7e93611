// Package pgtest gives every test a fresh PostgreSQL database. No database is
// a failure, never a skip.
//
// One server per test process is started at first use, with durability off.
// Its databases are copies of a template that already holds the schema, and
// are dropped at the end of their test. Tests of crashes, backups and
// replication get servers of their own, with PostgreSQL's normal durability.
//
// The data is in memory (/dev/shm) where 2 GiB are free there, else under /tmp.
//
// The PostgreSQL is an installed one. HOWDAH_TEST_PG_VERSION=14 to 18 takes
// the pinned binaries of that version instead (downloaded once, then cached),
// and HOWDAH_TEST_PG_BINDIR those of a directory. With the build tag citus there
// are clusters of several servers (StartCitus); they need PostgreSQL 15 with the
// Citus engine.
//
// The shared server has two goroutines of its own until Main stops it. A test
// that looks for leaked ones, and is not parallel, calls New first and then
//
//	defer leaks.Await(t, goleak.IgnoreCurrent())
//
// Where all tests of a package are parallel, TestMain looks for them at the end of all, with
// Run and leaks.Exit.
//
// Tests in packages that this one imports (migrate, schema) must be external
// test packages, such as migrate_test.
package pgtest

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/howdah/howdah/internal/embedded"
	"github.com/howdah/howdah/internal/test/await"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// Main is the body of TestMain: it runs the tests, calls the functions that end
// what the tests share beside the server, stops the server and exits.
func Main(m *testing.M, end ...func()) { os.Exit(Run(m, end...)) }

// Run is Main for a TestMain that looks at what is left over: it returns the code with
// which to exit.
func Run(m *testing.M, end ...func()) (code int) {
	code = m.Run()
	for _, f := range end {
		f()
	}
	if err := errors.Join(shared.stop(), directory.remove()); err != nil {
		fmt.Fprintln(os.Stderr, "pgtest:", err)
		code = max(code, 1)
	}
	return code
}

// New makes a database that holds the schema and returns its URL. It is owned
// by the URL's role, which is not a superuser, and is dropped at the end of
// the test, sessions and all.
func New(t testing.TB) string {
	t.Helper()
	return shared.database(t, template, 0)
}

// Divided is New for a database whose caches are divided into partitions: 2, 4, 8, 16, 32
// or 64 of them.
func Divided(t testing.TB, partitions int) string {
	t.Helper()
	return shared.database(t, fmt.Sprintf("%s_%d", template, partitions), partitions)
}

// Empty makes a database without the schema and returns its URL.
func Empty(t testing.TB) string {
	t.Helper()
	return shared.database(t, "", 0)
}

// TCP turns a URL of this package into one that connects by TCP, for
// pgbouncer and whatever else cannot use the Unix socket.
func TCP(databaseURL string) string {
	u := parse(databaseURL)
	q := u.Query()
	u.Host = "127.0.0.1:" + q.Get("port")
	q.Del("host")
	q.Del("port")
	u.RawQuery = q.Encode()
	return u.String()
}

// SuperURL turns a URL of this package into one that connects to the same
// database as the superuser.
func SuperURL(databaseURL string) string {
	u := parse(databaseURL)
	password, _ := u.User.Password() // one password for all roles
	u.User = url.UserPassword(embedded.SuperRole, password)
	return u.String()
}

func withDatabase(databaseURL, name string) string {
	u := parse(databaseURL)
	u.Path = "/" + name
	return u.String()
}

func parse(databaseURL string) *url.URL {
	u, err := url.Parse(databaseURL)
	if err != nil || u.Scheme != "postgres" {
		panic(fmt.Sprintf("pgtest: %q is not a URL that New, Empty or Own returned", databaseURL))
	}
	return u
}

// sharedServer is the one server of the test process.
type sharedServer struct {
	once   sync.Once
	server *embedded.Server
	err    error

	templates sync.Map // by name: func() error, which makes the template at its first call

	names atomic.Int64
}

var shared sharedServer

const template = "template_schema"

// limit bounds every step of this package; a machine under load is slow.
const limit = 2 * time.Minute

func (s *sharedServer) start() error {
	s.once.Do(func() {
		ctx, cancel := context.WithTimeout(context.Background(), limit)
		defer cancel()
		s.server, s.err = startServer(ctx, map[string]string{
			"fsync":              "off",
			"full_page_writes":   "off",
			"synchronous_commit": "on",
			"shared_buffers":     "64MB",
			"max_connections":    "200",
		})
	})
	return s.err
}

// database makes a copy of a template that has so many partitions, or without one an empty
// database.
func (s *sharedServer) database(t testing.TB, from string, partitions int) string {
	t.Helper()
	if err := s.start(); err != nil {
		t.Fatalf("pgtest: %v", err)
	}
	if from == "" {
		from = "template1"
	} else if err := s.template(from, partitions); err != nil {
		t.Fatalf("pgtest: the template %s cannot be made: %v", from, err)
	}
	name := fmt.Sprintf("test_%d", s.names.Add(1))
	if err := s.exec(fmt.Sprintf("CREATE DATABASE %s TEMPLATE %s OWNER %s%s", name, from, embedded.Role, s.strategy())); err != nil {
		t.Fatalf("pgtest: %v", err)
	}
	t.Cleanup(func() {
		if err := s.exec(fmt.Sprintf("DROP DATABASE IF EXISTS %s WITH (FORCE)", name)); err != nil {
			t.Errorf("pgtest: %v", err)
		}
	})
	return withDatabase(s.server.URL(), name)
}

// strategy makes PostgreSQL copy the files of a template, as PostgreSQL 14
// always does, rather than write each of their pages to the WAL: that takes
// seven times the CPU time, and a checkpoint costs little without fsync.
func (s *sharedServer) strategy() string {
	if s.server.Major() < 15 {
		return ""
	}
	return " STRATEGY file_copy"
}

// template makes a template, once.
func (s *sharedServer) template(name string, partitions int) error {
	once, _ := s.templates.LoadOrStore(name, sync.OnceValue(func() error { return s.makeTemplate(name, partitions) }))
	return once.(func() error)()
}

func (s *sharedServer) makeTemplate(name string, partitions int) error {
	if err := s.exec(fmt.Sprintf("CREATE DATABASE %s OWNER %s", name, embedded.Role)); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	return applySchema(ctx, withDatabase(s.server.URL(), name), partitions)
}

// exec runs one statement as the superuser, on a connection of its own: no
// test waits for another, and none is left over for goleak to find. PostgreSQL
// waits five seconds for those who leave a database, and exec goes on waiting.
func (s *sharedServer) exec(sql string) error {
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	conn, err := pgx.Connect(ctx, s.server.SuperURL())
	if err != nil {
		return err
	}
	defer conn.Close(ctx)
	await.Until(ctx, func() bool {
		_, err = conn.Exec(ctx, sql)
		pgErr := (*pgconn.PgError)(nil)
		return !errors.As(err, &pgErr) || pgErr.Code != "55006" // object_in_use
	})
	if err != nil {
		return fmt.Errorf("%s: %w", sql, err)
	}
	return nil
}

func (s *sharedServer) stop() error {
	if s.server == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	// Nothing here is worth a checkpoint.
	if err := s.server.Shutdown(ctx, embedded.Immediate); err != nil {
		return err
	}
	return embedded.Remove(ctx, s.server.DataDir())
}

// startServer starts a server in a new directory, with TCP.
func startServer(ctx context.Context, settings map[string]string) (*embedded.Server, error) {
	dir, err := directory.newDataDir(ctx)
	if err != nil {
		return nil, err
	}
	return startNew(ctx, dir, settings)
}

// startNew starts a server with a new cluster in its directory, with TCP.
func startNew(ctx context.Context, dir string, settings map[string]string) (*embedded.Server, error) {
	if err := placeCluster(ctx, dir); err != nil {
		return nil, err
	}
	return startIn(ctx, dir, "127.0.0.1:0", settings)
}

func startIn(ctx context.Context, dir, listen string, settings map[string]string) (*embedded.Server, error) {
	binDir, err := postgres.find(ctx)
	if err != nil {
		return nil, err
	}
	return embedded.Start(ctx, embedded.Config{DataDir: dir, BinDir: binDir, Listen: listen, Settings: settings})
}
