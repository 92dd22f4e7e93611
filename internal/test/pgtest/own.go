package pgtest

import (
	"context"
	"strings"
	"sync"
	"testing"

	"github.com/howdah/howdah/internal/embedded"
	"github.com/howdah/howdah/internal/test/await"
)

// Server is a server of one test's own, with PostgreSQL's normal durability:
// to be stopped, killed and started again, backed up and replicated. Its
// methods fail the test, and return when what they are for has happened.
type Server struct {
	t        testing.TB
	dir      string
	listen   string // of the first start, port included
	settings map[string]string
	name     string // of a standby

	mu     sync.Mutex
	server *embedded.Server // the latest, running or not
}

// Own starts a server. It and its data are removed at the end of the test.
// Settings are pairs of a name and a value, as in "wal_level", "logical".
func Own(t testing.TB, settings ...string) *Server {
	t.Helper()
	s, err := ownServer(t, settings, "")
	if err != nil {
		t.Fatalf("pgtest: %v", err)
	}
	return s
}

// ownServer starts a server whose roles have the password of those in the data
// directory "like"; "": one of their own.
func ownServer(t testing.TB, settings []string, like string) (*Server, error) {
	t.Helper()
	s := &Server{t: t, settings: map[string]string{
		"shared_buffers":  "64MB",
		"max_connections": "200",
	}}
	s.set(settings)
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	dir, err := directory.newDataDir(ctx)
	if err != nil {
		return nil, err
	}
	if like != "" {
		if err := copyPassword(like, dir); err != nil {
			return nil, err
		}
	}
	server, err := startNew(ctx, dir, s.settings)
	if err != nil {
		_ = embedded.Remove(ctx, dir)
		return nil, err
	}
	s.begin(server)
	return s, nil
}

func (s *Server) set(settings []string) {
	s.t.Helper()
	if len(settings)%2 != 0 {
		s.t.Fatal("pgtest: settings are pairs of name and value")
	}
	for i := 0; i < len(settings); i += 2 {
		s.settings[settings[i]] = settings[i+1]
	}
}

// begin takes charge of a server that has started for the first time.
func (s *Server) begin(server *embedded.Server) {
	s.server, s.dir, s.listen = server, server.DataDir(), server.TCPAddr()
	s.t.Cleanup(s.remove)
}

func (s *Server) must(err error) {
	s.t.Helper()
	if err != nil {
		s.t.Fatalf("pgtest: %v", err)
	}
}

// URL connects by the Unix socket to database "howdah", which is empty at
// first, as its owner, who is not a superuser. It stays the same over
// restarts. See TCP and SuperURL for others.
func (s *Server) URL() string { return s.current().URL() }

// SuperURL connects to database "howdah" as the superuser.
func (s *Server) SuperURL() string { return SuperURL(s.URL()) }

// Major is the major version of the server.
func (s *Server) Major() int { return s.current().Major() }

// NewURL is URL after the schema was installed there.
func (s *Server) NewURL() string {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	s.must(applySchema(ctx, s.URL(), 0))
	return s.URL()
}

// Stop shuts the server down: mode is "smart", "fast" or "immediate".
func (s *Server) Stop(mode string) {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	s.must(s.current().Shutdown(ctx, embedded.Mode(mode)))
}

// Start starts the stopped server again, on the same socket and port. It waits for the port:
// any connection on this machine may have it for a while.
func (s *Server) Start() {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	var server *embedded.Server
	var err error
	await.Until(ctx, func() bool {
		server, err = startIn(ctx, s.dir, s.listen, s.settings)
		return !isPortTaken(err)
	})
	s.must(err)
	s.mu.Lock()
	s.server = server
	s.mu.Unlock()
}

func isPortTaken(err error) bool {
	return err != nil && strings.Contains(err.Error(), "could not bind")
}

func (s *Server) current() *embedded.Server {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.server
}

func (s *Server) remove() {
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	if err := s.current().Shutdown(ctx, embedded.Immediate); err != nil {
		s.t.Errorf("pgtest: %v", err)
	}
	if err := embedded.Remove(ctx, s.dir); err != nil {
		s.t.Errorf("pgtest: %v", err)
	}
}

// Discard removes the data of a server that does not run and will not run again, as in a
// test that would otherwise leave many.
func (s *Server) Discard() {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	s.must(embedded.Remove(ctx, s.dir))
}
