package server

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/url"
	"os"
	"time"

	"github.com/howdah/howdah"
	"github.com/howdah/howdah/session"
)

// Config says what [Run] serves. The zero value of every field is its default.
type Config struct {
	// DatabaseURL is a PostgreSQL URL or key=value string. "" means an
	// embedded PostgreSQL, kept in DataDir.
	DatabaseURL string

	// DataDir and CacheDir are where the embedded PostgreSQL keeps its data
	// and its downloaded programs. DataDir is required without DatabaseURL.
	DataDir, CacheDir string

	// Migrate brings the schema of DatabaseURL up to date before serving. That
	// of the embedded PostgreSQL always is.
	Migrate bool

	// RedisAddr and HTTPAddr are host:port to listen on. "" means: not at all.
	RedisAddr, HTTPAddr string

	// Password is asked of Redis clients, Token of HTTP clients (as bearer).
	// "" means that none is asked for, which is refused on an address that is
	// not loopback.
	Password, Token string

	// SessionToken is asked of HTTP clients that create, list or revoke
	// sessions. "" means that nobody may. It is not to be the Token, and does
	// not replace it: an address that is not loopback needs that as well.
	SessionToken string

	// Sessions are the options of the sessions that HTTP serves. Timeout and
	// Logger are those of this Config.
	Sessions session.Options

	// AllowedHosts are host names that HTTP requests may be addressed to
	// besides localhost and the listener's address; with a Token all are.
	AllowedHosts []string

	// TLSCert and TLSKey are PEM files; with them both listeners speak TLS
	// only. With TLSClientCA, a PEM file too, clients must show a certificate
	// that it signed.
	TLSCert, TLSKey, TLSClientCA string

	// MaxClients bounds Redis connections. Default 10000.
	MaxClients int

	// MaxClientsMemory bounds what all Redis connections together hold in
	// memory, in bytes: input, requests, values and unread replies, beside 64
	// KiB for each connection. At the bound connections are not read from, and
	// large commands are refused. Default: a quarter of the memory of the
	// machine or of its cgroup.
	MaxClientsMemory int64

	// MaxRequestBytes bounds a value, and with it one argument of a Redis
	// command and the body of an HTTP request. Default
	// howdah.DefaultMaxValueBytes.
	MaxRequestBytes int

	// IdleTimeout closes Redis connections that send nothing, and take nothing
	// of a reply, for so long.
	// Default 0: never, as Redis does.
	IdleTimeout time.Duration

	// AuthTimeout closes Redis connections that have not given the password, so
	// long after they came or said RESET.
	// Default 10 s.
	AuthTimeout time.Duration

	// StallTimeout closes Redis connections that take nothing of a reply for
	// so long. Default 60 s.
	StallTimeout time.Duration

	// Timeout, MaxConns, Pooler and MaxReplicationLag are those of
	// howdah.Options.
	Timeout  time.Duration
	MaxConns int
	Pooler   string

	MaxReplicationLag int64 // bytes

	// ShutdownTimeout bounds how long Run takes to return once its context is
	// done. Default 10 s.
	ShutdownTimeout time.Duration

	// Version is told by INFO, /metrics and the log. Default "dev".
	Version string

	// Goroutines drives plain Redis connections by two goroutines each even
	// where there is an event loop.
	Goroutines bool

	// FollowLoad lets Run set GOMAXPROCS, for the whole process: one processor
	// while that does the work, which serves Redis clients best, and up to
	// what it was before where HTTP or TLS needs more.
	FollowLoad bool

	// Logger hears what happens. Default: nobody.
	Logger *slog.Logger

	// Progress receives the progress of a download, for people. Default: none.
	Progress io.Writer

	// Ready, if set, is called once, when everything is listening.
	Ready func(Addresses)
}

// Addresses are where a server listens; nil where it does not.
type Addresses struct {
	Redis, HTTP net.Addr
}

// complete checks c and fills in its defaults.
func (c *Config) complete() error {
	switch {
	case c.RedisAddr == "" && c.HTTPAddr == "":
		return errors.New("nothing to serve: give --redis-addr or --http-addr an address")
	case c.DatabaseURL == "" && c.DataDir == "":
		return errors.New("no database: give --database-url a PostgreSQL URL, or --data-dir a directory for an embedded PostgreSQL")
	case (c.TLSCert == "") != (c.TLSKey == ""):
		return errors.New("--tls-cert and --tls-key belong together: give both or none")
	case c.TLSClientCA != "" && c.TLSCert == "":
		return errors.New("--tls-client-ca needs --tls-cert and --tls-key")
	case c.SessionToken != "" && c.SessionToken == c.Token:
		return errors.New("--session-token and --token are the same: whoever may use the caches could be any user; make two tokens")
	case c.SessionToken != "" && c.HTTPAddr == "":
		return errors.New("--session-token is for HTTP, which is off: give --http-addr an address, or leave the token out")
	case len(c.Sessions.ReadURLs) > 0 && c.HTTPAddr == "":
		return errors.New("--read-url is for the sessions that HTTP serves, which is off: give --http-addr an address, or leave it out")
	case c.MaxClients < 0:
		return errors.New("--max-clients must not be negative")
	case c.MaxClientsMemory < 0 || 0 < c.MaxClientsMemory && c.MaxClientsMemory < 1<<20:
		return errors.New("--max-clients-memory must be at least 1 MiB, or 0 for the default")
	case c.MaxRequestBytes < 0 || c.MaxRequestBytes > 512<<20:
		return errors.New("--max-request-bytes must be between 1 and 536870912 (512 MiB)")
	case c.IdleTimeout < 0 || c.AuthTimeout < 0 || c.StallTimeout < 0 || c.Timeout < 0 || c.ShutdownTimeout < 0:
		return errors.New("a timeout must not be negative")
	case c.MaxConns < 0 || c.MaxConns == 1:
		return errors.New("--max-conns must be at least 2")
	case c.Pooler != "" && c.Pooler != "transaction":
		return fmt.Errorf("--pooler %q is unknown: use \"transaction\", or leave it out for a direct connection or a pooler in session mode", c.Pooler)
	}
	if c.DatabaseURL != "" {
		if err := checkDatabaseURL("--database-url", c.DatabaseURL); err != nil {
			return err
		}
	}
	for _, url := range c.Sessions.ReadURLs {
		if err := checkDatabaseURL("--read-url", url); err != nil {
			return err
		}
	}
	if err := c.Sessions.Validate(); err != nil {
		return err
	}
	if c.MaxClients == 0 {
		c.MaxClients = 10000
	}
	if c.MaxClientsMemory == 0 {
		c.MaxClientsMemory = availableMemory(os.DirFS("/")) / memoryPart
	}
	if c.MaxRequestBytes == 0 {
		c.MaxRequestBytes = howdah.DefaultMaxValueBytes
	}
	if c.AuthTimeout == 0 {
		c.AuthTimeout = 10 * time.Second
	}
	if c.StallTimeout == 0 {
		c.StallTimeout = 60 * time.Second
	}
	if c.ShutdownTimeout == 0 {
		c.ShutdownTimeout = 10 * time.Second
	}
	if c.Version == "" {
		c.Version = "dev"
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	return nil
}

// checkDatabaseURL finds what people mistake for a PostgreSQL URL. The error
// never repeats the URL, which may hold a password.
func checkDatabaseURL(flag, text string) error {
	u, err := url.Parse(text)
	if err != nil || u.Scheme == "" || u.Opaque != "" {
		return nil // a key=value string, or one that the driver explains
	}
	if u.Scheme != "postgres" && u.Scheme != "postgresql" {
		return fmt.Errorf("%s must begin with postgres://, not with %s://", flag, u.Scheme)
	}
	return nil
}
