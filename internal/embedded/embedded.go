//go:build unix

package embedded

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"

	"github.com/jackc/pgx/v5/pgconn"
)

// Server is a running PostgreSQL. Its methods are safe for concurrent use.
type Server struct {
	dataDir   string
	socketDir string
	port      int
	tcp       string // host:port, "" without TCP
	password  string // "" without TCP
	version   int
	log       *slog.Logger

	cmd      *exec.Cmd
	watchdog *watchdog
	output   *output
	lock     *lock
	exited   chan struct{}
	exitErr  error // set before exited is closed
	stopOnce sync.Once
}

// Start makes the cluster if DataDir is empty, starts PostgreSQL and returns
// when it accepts connections. A server left behind by an earlier crash of
// the program is stopped first. ctx bounds the start (download, creation and
// crash recovery included), not the life of the server.
//
// A few goroutines live until the server has exited: they wait for it and
// read its messages.
func Start(ctx context.Context, c Config) (*Server, error) {
	if err := c.complete(); err != nil {
		return nil, err
	}
	who, err := chooseAccount(c.Logger)
	if err != nil {
		return nil, err
	}
	held, err := claimDataDir(c.DataDir, who)
	if err != nil {
		return nil, err
	}
	s, err := start(ctx, c, who, held)
	if err != nil {
		held.release()
		return nil, err
	}
	return s, nil
}

func start(ctx context.Context, c Config, who account, held *lock) (*Server, error) {
	pgdata := filepath.Join(c.DataDir, clusterName)
	major, err := clusterMajor(pgdata)
	if err != nil {
		return nil, err
	}
	if major != 0 && major < OldestMajor {
		return nil, fmt.Errorf("data directory %s was made by PostgreSQL %d, which is not supported: choose an empty data directory", c.DataDir, major)
	}
	if want, _ := c.major(); want != 0 && major != 0 && want != major {
		return nil, wrongMajor(c.DataDir, major, want)
	}
	bin, err := binaries(ctx, c, major)
	if err != nil {
		return nil, err
	}
	if major != 0 && major != bin.major {
		return nil, wrongMajor(c.DataDir, major, bin.major)
	}
	if err := who.canReach(bin.dir); err != nil {
		return nil, err
	}
	if err := stopOrphan(ctx, pgdata, c.Logger); err != nil {
		return nil, err
	}
	s := &Server{dataDir: c.DataDir, version: bin.major, log: c.Logger, lock: held}
	if s.socketDir, err = makeSocketDir(c.DataDir, who); err != nil {
		return nil, err
	}
	if c.Listen != "" {
		if s.password, err = readPassword(c.DataDir); err != nil {
			return nil, err
		}
	}
	if major == 0 {
		if err := createCluster(ctx, bin, c, who); err != nil {
			return nil, err
		}
	}
	if err := writeConfiguration(pgdata, who); err != nil {
		return nil, err
	}
	c.Progress(Progress{Doing: fmt.Sprintf("starting PostgreSQL %d of %s", bin.major, bin.dir)})
	if err := s.launch(ctx, bin, c, who); err != nil {
		return nil, err
	}
	if err := s.prepare(ctx); err != nil {
		s.kill()
		if refused := (*pgconn.PgError)(nil); errors.As(err, &refused) && refused.Code == "53100" { // disk_full
			err = full(c.DataDir)
		}
		return nil, err
	}
	return s, nil
}

func wrongMajor(dir string, is, run int) error {
	return fmt.Errorf("data directory %s was made by PostgreSQL %d and cannot be used by PostgreSQL %d: run PostgreSQL %d, or choose an empty data directory",
		dir, is, run, is)
}

// URL connects to database "howdah" as its owner, by the Unix socket.
func (s *Server) URL() string { return s.url(Role, Database) }

// SuperURL connects to database "postgres" as the superuser, by the Unix
// socket: for tests and for checks of the server's health.
func (s *Server) SuperURL() string { return s.url(SuperRole, "postgres") }

// TCPAddr is the host and port that the server listens on, "" without TCP.
// The roles' password is part of URL and SuperURL.
func (s *Server) TCPAddr() string { return s.tcp }

// Major is the major version of the running PostgreSQL.
func (s *Server) Major() int { return s.version }

// DataDir is the directory that the server keeps its data in.
func (s *Server) DataDir() string { return s.dataDir }

// Done is closed when PostgreSQL has exited, for whatever reason.
func (s *Server) Done() <-chan struct{} { return s.exited }

func (s *Server) url(role, database string) string {
	return socketURL(s.socketDir, s.port, role, s.password, database)
}

// socketURL is a database URL that goes by a Unix socket.
func socketURL(dir string, port int, role, password, database string) string {
	u := url.URL{Scheme: "postgres", User: url.User(role), Path: "/" + database}
	if password != "" {
		u.User = url.UserPassword(role, password)
	}
	q := url.Values{}
	q.Set("host", dir)
	q.Set("port", strconv.Itoa(port))
	q.Set("sslmode", "disable")
	u.RawQuery = q.Encode()
	return u.String()
}
