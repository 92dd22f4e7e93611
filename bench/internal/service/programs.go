// Package service starts what an experiment measures, on loopback, from the
// programs that are installed: PostgreSQL, Redis, Memcached and howdah itself.
package service

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// Program is one that must be installed.
type Program struct {
	Name    string
	Package string // of Debian and Ubuntu; other systems name it alike
	Module  string // of a program in Go that is in no distribution: its package and version
}

// The programs that experiments use.
var (
	Postgres       = Program{Name: "postgres", Package: "postgresql"}
	PgBench        = Program{Name: "pgbench", Package: "postgresql-contrib"}
	Redis          = Program{Name: "redis-server", Package: "redis-server"}
	RedisBenchmark = Program{Name: "redis-benchmark", Package: "redis-tools"}
	Memcached      = Program{Name: "memcached", Package: "memcached"}
	PgPool         = Program{Name: "pgpool", Package: "pgpool2"}
	Citus          = Program{Name: "citus.so", Package: "postgresql-15-citus"}
	Redka          = Program{Name: "redka", Module: "github.com/nalgeon/redka/cmd/redka@v1.0.0"}
)

// MissingError says which package to install.
type MissingError struct{ Program Program }

func (e *MissingError) Error() string {
	if e.Program.Module != "" {
		return fmt.Sprintf("%s is not installed: go install %s", e.Program.Name, e.Program.Module)
	}
	return fmt.Sprintf("%s is not installed: install the package %s (apt-get install %s)", e.Program.Name, e.Program.Package, e.Program.Package)
}

// Find returns the path of a program: where Debian keeps PostgreSQL's, the
// newest first, where "go install" puts what it builds, or in PATH.
func (p Program) Find() (string, error) {
	if p == Citus {
		return findCitus()
	}
	dirs, _ := filepath.Glob("/usr/lib/postgresql/*/bin")
	slices.SortFunc(dirs, func(a, b string) int { return major(b) - major(a) })
	dirs = append(dirs, "/usr/sbin") // servers that PATH may not name
	if home, err := os.UserHomeDir(); err == nil && p.Module != "" {
		dirs = append(dirs, filepath.Join(home, "go", "bin"))
	}
	for _, dir := range dirs {
		path := filepath.Join(dir, p.Name)
		if info, err := os.Stat(path); err == nil && info.Mode()&0o111 != 0 {
			return path, nil
		}
	}
	if path, err := exec.LookPath(p.Name); err == nil {
		return path, nil
	}
	return "", &MissingError{p}
}

// Version is the first line that the program prints about itself, be it as an
// error, as pgpool-II does.
func (p Program) Version() string {
	path, err := p.Find()
	if err != nil {
		return ""
	}
	out, _ := exec.Command(path, "--version").CombinedOutput()
	line, _, _ := strings.Cut(strings.TrimSpace(string(out)), "\n")
	return line
}

func major(dir string) int {
	n, _ := strconv.Atoi(filepath.Base(filepath.Dir(dir)))
	return n
}

// process is a server that we started.
type process struct {
	cmd    *exec.Cmd
	exited chan struct{}
}

// launch starts a server and waits until it accepts connections.
func launch(ctx context.Context, addr string, path string, args ...string) (*process, error) {
	cmd := exec.Command(path, args...)
	var said tail
	cmd.Stdout, cmd.Stderr = &said, &said
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGTERM}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	p := &process{cmd: cmd, exited: make(chan struct{})}
	go func() { cmd.Wait(); close(p.exited) }()
	for {
		if conn, err := net.DialTimeout("tcp", addr, time.Second); err == nil {
			conn.Close()
			return p, nil
		}
		select {
		case <-p.exited:
			return nil, fmt.Errorf("%s ended: %s", filepath.Base(path), said.String())
		case <-ctx.Done():
			p.stop()
			return nil, fmt.Errorf("%s did not listen on %s: %w", filepath.Base(path), addr, context.Cause(ctx))
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// stop asks the server to end, and after 10 s makes it.
func (p *process) stop() {
	p.cmd.Process.Signal(syscall.SIGTERM)
	select {
	case <-p.exited:
	case <-time.After(10 * time.Second):
		p.cmd.Process.Kill()
		<-p.exited
	}
}

// freeAddr is a loopback address for a server that is told to listen on it. Nobody else
// gets its port as long as this process runs: a socket that is bound and does not listen
// holds it.
func freeAddr() (string, error) {
	socket, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		return "", err
	}
	if err := errors.Join(
		syscall.SetsockoptInt(socket, syscall.SOL_SOCKET, syscall.SO_REUSEADDR, 1),
		syscall.Bind(socket, &syscall.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}),
	); err != nil {
		syscall.Close(socket)
		return "", err
	}
	name, err := syscall.Getsockname(socket)
	if err != nil {
		syscall.Close(socket)
		return "", err
	}
	return fmt.Sprintf("127.0.0.1:%d", name.(*syscall.SockaddrInet4).Port), nil
}
