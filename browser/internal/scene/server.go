// Package scene sets up what the console is looked at with: a server, and data such as a shop
// has, with hot prefixes, many clients, removals, a slow call and mistakes.
package scene

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/howdah/howdah/internal/server"
)

// Server is a Howdah server that runs in this process.
type Server struct {
	URL   string // of HTTP, without a slash at its end
	Redis string // host:port

	cancel context.CancelFunc
	ended  chan error
}

// Serve starts a server on free ports of 127.0.0.1. Stop ends it.
func Serve(ctx context.Context, config server.Config) (*Server, error) {
	config.RedisAddr, config.HTTPAddr = "127.0.0.1:0", "127.0.0.1:0"
	config.Timeout, config.ShutdownTimeout = 20*time.Second, 20*time.Second
	ready := make(chan server.Addresses, 1)
	config.Ready = func(a server.Addresses) { ready <- a }
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	s := &Server{cancel: cancel, ended: make(chan error, 1)}
	go func() { s.ended <- server.Run(ctx, config) }()
	select {
	case a := <-ready:
		s.URL, s.Redis = "http://"+a.HTTP.String(), a.Redis.String()
		return s, nil
	case err := <-s.ended:
		cancel()
		return nil, fmt.Errorf("the server does not start: %w", err)
	case <-time.After(time.Minute):
		cancel()
		return nil, errors.Join(errors.New("the server was not ready within a minute"), <-s.ended)
	}
}

// Stop ends the server and returns what went wrong.
func (s *Server) Stop() error {
	s.cancel()
	return <-s.ended
}
