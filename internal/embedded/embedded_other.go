//go:build !unix

package embedded

import (
	"context"
	"errors"
	"runtime"
)

// Server is not there on this platform: a private PostgreSQL rests on Unix
// sockets, accounts and signals.
type Server struct{}

// Start returns an error.
func Start(context.Context, Config) (*Server, error) {
	return nil, errors.New("a private PostgreSQL cannot be run on " + runtime.GOOS + ": use one of your own, and give its URL")
}

// URL is never called, since Start gives no Server.
func (*Server) URL() string { return "" }

// Major is never called.
func (*Server) Major() int { return 0 }

// Done is never called.
func (*Server) Done() <-chan struct{} { return nil }

// Stop is never called.
func (*Server) Stop(context.Context) error { return nil }

// Location is not there on this platform, as Server is not.
type Location struct{}

// Running returns ErrNotRunning.
func Running(string) (*Location, error) { return nil, ErrNotRunning }

// URL is never called, since Running gives no Location.
func (*Location) URL() string { return "" }

// SuperURL is never called.
func (*Location) SuperURL() string { return "" }
