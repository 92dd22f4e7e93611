package server

import (
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/url"
	"os"
	"time"

	"github.com/howdah/howdah"
	"github.com/howdah/howdah/internal/embedded"
	"github.com/howdah/howdah/internal/observe"
	"github.com/howdah/howdah/internal/pgurl"
	"github.com/howdah/howdah/session"
)

// DefaultMetricsCaches is the default of Config.MetricsCaches.
const DefaultMetricsCaches = 64

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

	// Console are the pages for people.
	Console Console

	// AllowedHosts are host names that HTTP requests may be addressed to
	// besides localhost and the listener's address; with a Token all are.
	AllowedHosts []string

	// TLSCert and TLSKey are PEM files; with them both listeners speak TLS
	// only. With TLSClientCA, a PEM file too, clients must show a certificate
	// that it signed.
	TLSCert, TLSKey, TLSClientCA string

	// RedisCluster shows the server to Redis clients as a cluster of one node, which has
	// all slots. Clients that find that out by themselves then keep to its rules.
	RedisCluster bool

	// RedisAnnounce is the host:port that RedisCluster tells clients to connect to. Default:
	// the address that each has connected to, as the server sees it.
	RedisAnnounce string

	// RedisVersion is the version of Redis that HELLO and INFO report to Redis clients, some
	// of which refuse an older one. It changes nothing else. Default 7.0.15, of which the
	// replies are.
	RedisVersion string

	// NoScripts refuses Lua scripts of Redis clients.
	NoScripts bool

	// MaxClients bounds the Redis connections, and those of each listener for HTTP.
	// Default 10000.
	MaxClients int

	// MaxClientsMemory bounds what all Redis connections together hold in
	// memory, in bytes: input, requests, values and unread replies, beside 64
	// KiB for each connection, and the bodies of HTTP requests. At the bound connections are not read from, and
	// large commands are refused. Default: a quarter of the memory of the
	// machine or of its cgroup.
	MaxClientsMemory int64

	// MaxRequestBytes bounds a value, and with it one argument of a Redis
	// command and the body of an HTTP request. Default
	// howdah.DefaultMaxValueBytes.
	MaxRequestBytes int

	// IdleTimeout closes Redis connections that send nothing, and take nothing
	// of a reply, for so long. Subscribers to channels may be silent.
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

	// ListenURL is that of howdah.Options. Default: the database URL, unless there
	// is a Pooler.
	ListenURL string

	MaxReplicationLag int64 // bytes

	// MetricsCost shows in the metrics what Howdah takes of the database beside the
	// application, which is measured each minute while somebody scrapes them. It needs
	// the extension pg_stat_statements.
	MetricsCost bool

	// Near are the entries that the server keeps in memory.
	Near Near

	// SlowCall is from which duration on a call is noted as slow, for SLOWLOG and /v1/slow,
	// and in the log at most once a second. Default 0: none is, until CONFIG SET
	// slowlog-log-slower-than says otherwise.
	SlowCall time.Duration

	// NoMonitor refuses Redis clients MONITOR, which shows them the commands and the keys of
	// all others, without values and without the secrets in keys. Default: they may use it.
	NoMonitor bool

	// Removals is how many removals of entries are remembered, with who made them. Default
	// 4096; negative: none.
	Removals int

	// PrefixSample counts one read in so many by the prefix of its key. It is rounded up
	// to a power of two. Default 64; negative: none is counted.
	PrefixSample int

	// MetricsCaches is how many caches have series of their own in /metrics. The
	// others are added up. Default 64.
	MetricsCaches int

	// MetricsPrefixes are prefixes of keys whose reads have series of their own in /metrics,
	// for each cache. A key counts for the longest that it begins with. At most
	// observe.MaxNamed; default: none.
	MetricsPrefixes []string

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

	// OptionName is what messages call an option, given its name here in lower
	// case with hyphens, such as "redis-addr"; a command line adds what its flags
	// begin with. Default: the name as it is.
	OptionName func(name string) string

	// Logger takes what happens. Default: none.
	Logger *slog.Logger

	// Progress is told what the start does, before each step that may take long.
	// Default: nobody is.
	Progress func(embedded.Progress)

	// Ready, if set, is called once, when everything is listening.
	Ready func(Addresses)
}

// Addresses are where a server listens; nil where it does not.
type Addresses struct {
	Redis, HTTP, Console net.Addr // Console: if it has a listener of its own
	ConsoleURL           string   // of the pages for people; "": there are none
}

// option is what an option is called where it is set, for messages.
func (c *Config) option(name string) string {
	if c.OptionName == nil {
		return name
	}
	return c.OptionName(name)
}

// ConfigError is an error of Run that the Config alone gives: nothing was tried.
type ConfigError struct{ err error }

// Error is one sentence that says what to set instead.
func (e *ConfigError) Error() string { return e.err.Error() }

// Unwrap gives the cause.
func (e *ConfigError) Unwrap() error { return e.err }

// complete checks c and fills in its defaults. Its errors are ConfigErrors.
func (c *Config) complete() error {
	if err := c.checkAll(); err != nil {
		return &ConfigError{err}
	}
	c.setDefaults()
	return nil
}

// checkAll finds what is wrong with c, the URLs and the sessions included.
func (c *Config) checkAll() error {
	if err := c.check(); err != nil {
		return err
	}
	if c.DatabaseURL != "" {
		if err := checkDatabaseURL(c.option("database-url"), c.DatabaseURL); err != nil {
			return err
		}
	}
	if c.ListenURL != "" {
		if err := checkDatabaseURL(c.option("listen-url"), c.ListenURL); err != nil {
			return err
		}
	}
	for _, url := range c.Sessions.ReadURLs {
		if err := checkDatabaseURL(c.option("read-url"), url); err != nil {
			return err
		}
	}
	return c.Sessions.Validate()
}

func (c *Config) setDefaults() {
	c.Near.complete(c.DatabaseURL == "")
	setDefault(&c.MaxClients, 10000)
	setDefault(&c.Removals, observe.DefaultRemovals)
	setDefault(&c.PrefixSample, observe.DefaultSample)
	setDefault(&c.MetricsCaches, DefaultMetricsCaches)
	setDefault(&c.MaxRequestBytes, howdah.DefaultMaxValueBytes)
	if c.MaxClientsMemory == 0 {
		c.MaxClientsMemory = availableMemory(os.DirFS("/")) / memoryPart
	}
	setDefault(&c.AuthTimeout, 10*time.Second)
	setDefault(&c.StallTimeout, 60*time.Second)
	setDefault(&c.ShutdownTimeout, 10*time.Second)
	setDefault(&c.Version, "dev")
	if c.Progress == nil {
		c.Progress = func(embedded.Progress) {}
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
}

func setDefault[T comparable](field *T, value T) {
	var zero T
	if *field == zero {
		*field = value
	}
}

// check finds what is missing, out of range or in contradiction.
func (c *Config) check() error {
	name := c.option
	switch {
	case c.RedisAddr == "" && c.HTTPAddr == "":
		return fmt.Errorf("nothing to serve: give %s or %s an address", name("redis-addr"), name("http-addr"))
	case c.DatabaseURL == "" && c.DataDir == "":
		return fmt.Errorf("no database: give %s a PostgreSQL URL, or %s a directory for an embedded PostgreSQL", name("database-url"), name("data-dir"))
	case (c.TLSCert == "") != (c.TLSKey == ""):
		return fmt.Errorf("%s and %s belong together: give both or none", name("tls-cert"), name("tls-key"))
	case c.TLSClientCA != "" && c.TLSCert == "":
		return fmt.Errorf("%s needs %s and %s", name("tls-client-ca"), name("tls-cert"), name("tls-key"))
	case c.SessionToken != "" && c.SessionToken == c.Token:
		return fmt.Errorf("%s and %s are the same: whoever may use the caches could be any user; make two tokens", name("session-token"), name("token"))
	case c.SessionToken != "" && c.HTTPAddr == "":
		return fmt.Errorf("%s is for HTTP, which is off: give %s an address, or leave the token out", name("session-token"), name("http-addr"))
	case len(c.Sessions.ReadURLs) > 0 && c.HTTPAddr == "":
		return fmt.Errorf("%s is for the sessions that HTTP serves, which is off: give %s an address, or leave it out", name("read-url"), name("http-addr"))
	case c.MetricsCaches < 0:
		return fmt.Errorf("%s must be at least 1", name("metrics-caches"))
	case c.MaxClients < 0:
		return fmt.Errorf("%s must not be negative", name("max-clients"))
	case c.MaxClientsMemory < 0 || 0 < c.MaxClientsMemory && c.MaxClientsMemory < 1<<20:
		return fmt.Errorf("%s must be at least 1 MiB, or 0 for the default", name("max-clients-memory"))
	case c.MaxRequestBytes < 0 || c.MaxRequestBytes > 512<<20:
		return fmt.Errorf("%s must be between 1 and 536870912 (512 MiB)", name("max-request-bytes"))
	case c.IdleTimeout < 0 || c.AuthTimeout < 0 || c.StallTimeout < 0 || c.Timeout < 0 || c.ShutdownTimeout < 0:
		return errors.New("a timeout must not be negative")
	case c.SlowCall < 0:
		return fmt.Errorf("%s must not be negative; 0 turns it off", name("slow-call"))
	case c.Removals > maxRemovals:
		return fmt.Errorf("%s must not be more than %d: they are kept in memory", name("removals"), maxRemovals)
	case c.MaxConns < 0 || c.MaxConns == 1:
		return fmt.Errorf("%s must be at least 2", name("max-conns"))
	case c.Pooler != "" && c.Pooler != "transaction":
		return fmt.Errorf("%s %q is unknown: use \"transaction\", or leave it out for a direct connection or a pooler in session mode", name("pooler"), c.Pooler)
	}
	if err := c.checkPrefixes(name); err != nil {
		return err
	}
	if err := c.checkRedis(name); err != nil {
		return err
	}
	if err := c.Console.check(c, name); err != nil {
		return err
	}
	return c.Near.check(name)
}

// checkPrefixes finds what is wrong with MetricsPrefixes.
func (c *Config) checkPrefixes(name func(string) string) error {
	if len(c.MetricsPrefixes) > 0 && c.HTTPAddr == "" {
		return fmt.Errorf("%s is for the metrics, which HTTP serves: give %s an address, or leave it out", name("metrics-prefixes"), name("http-addr"))
	}
	if _, err := observe.NewNamed(c.MetricsPrefixes); err != nil {
		return fmt.Errorf("%s %w", name("metrics-prefixes"), err)
	}
	return nil
}

// maxRemovals bounds Config.Removals: each takes some 300 bytes, and its key.
const maxRemovals = 1_000_000

// checkDatabaseURL finds what people mistake for a PostgreSQL URL. The error
// never repeats the URL, which may hold a password.
func checkDatabaseURL(option, text string) error {
	u, err := url.Parse(text)
	if err == nil && u.Scheme != "" && u.Opaque == "" && u.Scheme != "postgres" && u.Scheme != "postgresql" {
		return fmt.Errorf("%s must begin with postgres://, not with %s://", option, u.Scheme)
	}
	if _, err := pgurl.Config(text); err != nil {
		return fmt.Errorf("%s is not valid (want postgres://user@host:5432/database): %w", option, err)
	}
	return nil
}
