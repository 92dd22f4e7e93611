//go:build unix

package embedded

import (
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// Location is how to reach a running server by its Unix socket. It needs no
// password, and works for the user who started the program, and for root.
type Location struct {
	socketDir string
	port      int
}

// URL connects to database "howdah" as its owner.
func (l *Location) URL() string { return socketURL(l.socketDir, l.port, Role, "", Database) }

// SuperURL connects to database "postgres" as the superuser.
func (l *Location) SuperURL() string {
	return socketURL(l.socketDir, l.port, SuperRole, "", "postgres")
}

// Running finds the server that another program runs in a data directory.
//
// Errors: ErrNotRunning; others say that the directory cannot be read.
func Running(dataDir string) (*Location, error) {
	dataDir, err := filepath.Abs(dataDir)
	if err != nil {
		return nil, fmt.Errorf("data directory %s: %w", dataDir, err)
	}
	text, err := os.ReadFile(filepath.Join(dataDir, clusterName, "postmaster.pid"))
	switch {
	case errors.Is(err, os.ErrNotExist):
		return nil, notRunning(dataDir)
	case errors.Is(err, os.ErrPermission):
		return nil, fmt.Errorf("data directory %s belongs to another user: run this as that user, or as root", dataDir)
	case err != nil:
		return nil, fmt.Errorf("data directory %s cannot be read: %w", dataDir, err)
	}
	// The lines of the file are those of PostgreSQL's miscadmin.h: the port is
	// the fourth, the socket directory the fifth.
	lines := strings.Split(string(text), "\n")
	if len(lines) < 5 {
		return nil, notRunning(dataDir) // it has only begun to start
	}
	port, err := strconv.Atoi(lines[3])
	if err != nil {
		return nil, notRunning(dataDir)
	}
	at := Location{socketDir: lines[4], port: port}
	// A server that was killed leaves its files, but accepts no connections.
	conn, err := net.Dial("unix", filepath.Join(at.socketDir, fmt.Sprintf(".s.PGSQL.%d", port)))
	if err != nil {
		return nil, notRunning(dataDir)
	}
	_ = conn.Close()
	return &at, nil
}

func notRunning(dataDir string) error {
	return fmt.Errorf("%w in %s", ErrNotRunning, dataDir)
}
