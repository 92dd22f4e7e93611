package service

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"strings"

	"github.com/redis/go-redis/v9"

	"github.com/howdah/howdah/bench/internal/machine"
)

// Server is anything that listens on an address.
type Server struct {
	Addr    string // of a Redis that was given: its URL
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

// CheckRedisURL says what is wrong with the URL of a Redis.
func CheckRedisURL(redisURL string) error {
	_, err := redis.ParseURL(redisURL)
	u, _ := url.Parse(redisURL)
	if err != nil || u.Scheme == "unix" || u.Hostname() == "" { // the error may hold a password
		return errors.New("give a URL such as redis://user:password@host:6379/0")
	}
	return nil
}

// UseRedis takes a server that is there. Its CPU is not measured. Clients are
// given the whole URL: it may name a user, a database, or TLS.
func UseRedis(ctx context.Context, redisURL string) (*Server, error) {
	o, err := redis.ParseURL(redisURL)
	if err != nil {
		return nil, err
	}
	c := redis.NewClient(o)
	defer c.Close()
	info, err := c.Info(ctx, "server").Result()
	if err != nil {
		return nil, fmt.Errorf("the Redis of --redis-url: %w", err)
	}
	_, version, _ := strings.Cut(info, "redis_version:")
	version, _, _ = strings.Cut(version, "\r\n")
	return &Server{Addr: redisURL, Version: version + ", as given by --redis-url"}, nil
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
