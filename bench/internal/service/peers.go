package service

import (
	"context"
	"net"
	"net/url"

	"github.com/howdah/howdah/bench/internal/machine"
)

// Server is anything that listens on an address.
type Server struct {
	Addr    string
	Version string
	Process machine.Process
	own     *process
}

// Stop ends the server if we started it.
func (s *Server) Stop() error {
	if s.own != nil {
		s.own.stop()
	}
	return nil
}

// StartRedis runs a redis-server without persistence, unless args ask for it:
// later ones win.
func StartRedis(ctx context.Context, dir string, args ...string) (*Server, error) {
	return start(ctx, Redis, func(port string) []string {
		return append([]string{"--port", port, "--bind", "127.0.0.1", "--dir", dir, "--save", "", "--appendonly", "no", "--loglevel", "warning"}, args...)
	})
}

// UseRedis takes a server that is there. Its CPU is not measured.
func UseRedis(redisURL string) (*Server, error) {
	u, err := url.Parse(redisURL)
	if err != nil {
		return nil, err
	}
	return &Server{Addr: u.Host, Version: "as given by --redis-url"}, nil
}

// StartMemcached runs a memcached of 1 GiB for up to 4,096 connections.
func StartMemcached(ctx context.Context) (*Server, error) {
	return start(ctx, Memcached, func(port string) []string {
		return []string{"-l", "127.0.0.1", "-p", port, "-U", "0", "-m", "1024", "-c", "4096", "-u", "nobody"}
	})
}

func start(ctx context.Context, p Program, args func(port string) []string) (*Server, error) {
	path, err := p.Find()
	if err != nil {
		return nil, err
	}
	addr, err := freeAddr()
	if err != nil {
		return nil, err
	}
	_, port, _ := net.SplitHostPort(addr)
	own, err := launch(ctx, addr, path, args(port)...)
	if err != nil {
		return nil, err
	}
	return &Server{Addr: addr, Version: p.Version(), Process: machine.Process{PID: own.cmd.Process.Pid}, own: own}, nil
}
