package main

import (
	"errors"
	"io"
	"log/slog"
	"os"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/howdah/howdah"
	"github.com/howdah/howdah/internal/embedded"
	"github.com/howdah/howdah/internal/observe"
	"github.com/howdah/howdah/internal/server"
)

// serveSettings are the flags of "howdah serve".
type serveSettings struct {
	config                  server.Config
	passwordFile, tokenFile string
	sessionTokenFile        string
	viewerTokenFile         string
	logLevel, logFormat     string

	idle, auth, timeout, shutdown durationFlag
	slow                          durationFlag
	monitor                       bool
	request, memory, nearBytes    sizeFlag
	near                          boundFlag
	removals, prefixSample        int
	sessions                      *sessionSettings
	screen                        *startScreen
}

func newServe() *cobra.Command {
	s := &serveSettings{
		auth:     durationFlag(10 * time.Second),
		timeout:  durationFlag(500 * time.Millisecond),
		shutdown: durationFlag(10 * time.Second),
		slow:     durationFlag(100 * time.Millisecond),
		request:  sizeFlag(howdah.DefaultMaxValueBytes),

		nearBytes: sizeFlag(server.DefaultNearBytes),
		sessions:  newSessionSettings(),
	}
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Serve caches to Redis clients and over HTTP",
		Long: `Serve caches to Redis clients and over HTTP.

Without --database-url it runs an embedded PostgreSQL, kept in --data-dir;
"howdah url" prints how to reach that. With --database-url, prepare the database
first with "howdah migrate", or add --migrate.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			config, err := s.complete(cmd.ErrOrStderr())
			if err != nil {
				return err
			}
			publish(&config, config.Logger, s.screen)
			ctx, stop := untilSignal(cmd.Context(), config.Logger)
			defer stop()
			err = server.Run(ctx, config)
			s.screen.end()
			if wrong := (*server.ConfigError)(nil); errors.As(err, &wrong) {
				return usageError{err}
			}
			return err
		},
	}
	f := cmd.Flags()
	f.SortFlags = false
	s.addListeners(f)
	s.addLimits(f)
	s.addNear(f)
	s.addConsole(f)
	s.addSlow(f)
	f.IntVar(&s.removals, "removals", observe.DefaultRemovals, "removals of entries that are remembered, with who made them, for /v1/removals; 0: none")
	f.IntVar(&s.prefixSample, "prefix-sample", observe.DefaultSample, "count one read in so many by the prefix of its key, for /v1/caches/{cache}/prefixes; 0: none")
	s.sessions.add(f)
	f.BoolVar(&s.config.MetricsCost, "metrics-cost", false, "show in the metrics which share of the work of PostgreSQL Howdah takes; needs the extension pg_stat_statements")
	f.StringVar(&s.logLevel, "log-level", "info", "least level that is logged: debug, info, warn or error")
	f.StringVar(&s.logFormat, "log-format", "auto", `format of the log on standard error: text, json, or "auto": short lines for people on a terminal, else text`)
	f.Var(&s.shutdown, "shutdown-timeout", "longest time that a shutdown may take")
	f.VisitAll(func(flag *pflag.Flag) { fromEnvironment(f, flag.Name) })
	return cmd
}

// addListeners adds the flags that say what is served, where, and to whom.
func (s *serveSettings) addListeners(f *pflag.FlagSet) {
	c := &s.config
	f.StringVar(&c.DatabaseURL, "database-url", "", "PostgreSQL to serve from (default: an embedded one)")
	f.BoolVar(&c.Migrate, "migrate", false, "bring the schema of --database-url up to date first")
	f.StringVar(&c.DataDir, "data-dir", "", "data directory of the embedded PostgreSQL (default "+defaultDir(embedded.DefaultDataDir)+")")
	f.StringVar(&c.CacheDir, "cache-dir", "", "directory for downloads (default "+defaultDir(embedded.DefaultCacheDir)+")")
	f.StringVar(&c.RedisAddr, "redis-addr", "127.0.0.1:6379", `address for Redis clients; "off": no listener`)
	f.BoolVar(&c.RedisCluster, "redis-cluster", false, "let clients of a Redis cluster connect: the server is a cluster of one node, which has all slots")
	f.StringVar(&c.RedisAnnounce, "redis-announce", "", "with --redis-cluster: host:port that clients are told to connect to (default: the address they have connected to, as the server sees it)")
	f.StringVar(&c.RedisVersion, "redis-version", "", "version of Redis that clients are told, some of which refuse an older one; it changes nothing else (default 7.0.15)")
	f.StringVar(&c.HTTPAddr, "http-addr", "127.0.0.1:8080", `address for HTTP clients; "off": no listener`)
	f.StringVar(&c.Password, "password", "", "password that Redis clients must give; prefer --password-file or the environment")
	f.StringVar(&s.passwordFile, "password-file", "", "file that holds the password")
	f.StringVar(&c.Token, "token", "", "bearer token that HTTP clients must send; prefer --token-file or the environment")
	f.StringVar(&s.tokenFile, "token-file", "", "file that holds the token")
	f.StringVar(&c.SessionToken, "session-token", "", "bearer token that starts, lists and revokes sessions over HTTP; prefer --session-token-file or the environment")
	f.StringVar(&s.sessionTokenFile, "session-token-file", "", "file that holds the session token; without a session token these requests are refused")
	f.StringSliceVar(&c.AllowedHosts, "allowed-hosts", nil, "more host names, separated by commas, that HTTP requests may be addressed to (default: localhost and loopback addresses; any with a token)")
	f.StringVar(&c.TLSCert, "tls-cert", "", "certificate file (PEM); both listeners then accept TLS only")
	f.StringVar(&c.TLSKey, "tls-key", "", "private key file of --tls-cert (PEM)")
	f.StringVar(&c.TLSClientCA, "tls-client-ca", "", "certificate authority file (PEM); clients of both listeners must show a certificate that it signed")
}

// addLimits adds the flags that bound what clients and the database may take.
func (s *serveSettings) addLimits(f *pflag.FlagSet) {
	c := &s.config
	f.BoolVar(&c.NoScripts, "no-scripts", false, "refuse Lua scripts of Redis clients (EVAL, EVALSHA, SCRIPT LOAD, FCALL, FUNCTION LOAD)")
	f.IntVar(&c.MaxClients, "max-clients", 10000, "most Redis connections at a time, and most HTTP connections of each listener")
	f.Var(&s.memory, "max-clients-memory", "most memory that all Redis connections and HTTP bodies together may hold (default: a quarter of the machine's or the container's)")
	f.Var(&s.request, "max-request-bytes", "size limit of a value, of a Redis argument and of an HTTP body")
	f.Var(&s.idle, "idle-timeout", "close a Redis connection after this time without a request; 0: never (default: never)")
	f.Var(&s.auth, "auth-timeout", "close a Redis connection that has not given the password after this time")
	f.Var(&s.timeout, "timeout", "answer every request within this time, with an error if need be")
	addReplicationLag(f, &c.MaxReplicationLag)
	f.IntVar(&c.MaxConns, "max-conns", 8, "most connections to PostgreSQL")
	f.StringVar(&c.Pooler, "pooler", "", `"transaction" if a pooler such as pgbouncer is in between`)
	f.StringSliceVar(&c.MetricsPrefixes, "metrics-prefixes", nil, "prefixes of keys, separated by commas, whose reads and misses have series of their own in /metrics; at most 20")
	f.IntVar(&c.MetricsCaches, "metrics-caches", server.DefaultMetricsCaches, `caches that have series of their own in /metrics; further ones are added up as "(other)"`)
	f.StringVar(&c.ListenURL, "listen-url", "", "with --pooler: the same PostgreSQL past the pooler, for one connection that is notified of messages (default: they are polled for)")
}

// addNear adds the flags of the entries that are kept in memory.
func (s *serveSettings) addNear(f *pflag.FlagSet) {
	f.Var(&s.near, "near", `keep hot entries in memory, and let them be at most so old, 10ms to 10s; "off": ask PostgreSQL for every read (default 100ms; only caches with a change log are kept, see "howdah migrate --near")`)
	f.Var(&s.nearBytes, "near-bytes", "most memory that the entries of --near may take")
	f.StringSliceVar(&s.config.Near.Exclude, "near-exclude", nil, "prefixes of keys, separated by commas, that are never kept in memory; may be given more than once")
}

// complete returns what the server runs by. Its log goes to w.
func (s *serveSettings) complete(w io.Writer) (c server.Config, err error) {
	if err = s.check(); err != nil {
		return c, err
	}
	if err = s.completeConsole(); err != nil {
		return c, err
	}
	c = s.config
	if c.DatabaseURL == "" { // else no directory is needed: containers have no home
		if c.DataDir, err = orDefault(c.DataDir, embedded.DefaultDataDir); err != nil {
			return c, err
		}
		if c.CacheDir, err = orDefault(c.CacheDir, embedded.DefaultCacheDir); err != nil {
			return c, err
		}
	}
	if c.Password, err = secret("password", c.Password, s.passwordFile); err != nil {
		return c, err
	}
	if c.Token, err = secret("token", c.Token, s.tokenFile); err != nil {
		return c, err
	}
	if c.SessionToken, err = secret("session-token", c.SessionToken, s.sessionTokenFile); err != nil {
		return c, err
	}
	if s.screen, err = newStartScreen(w, s.logLevel, s.logFormat); err != nil {
		return c, err
	}
	c.Logger = s.screen.log
	if c.Sessions, err = s.sessions.options(); err != nil {
		return c, err
	}
	c.RedisAddr, c.HTTPAddr, c.Console.Addr = listenAddress(c.RedisAddr), listenAddress(c.HTTPAddr), listenAddress(c.Console.Addr)
	c.IdleTimeout, c.AuthTimeout = time.Duration(s.idle), time.Duration(s.auth)
	c.Timeout, c.ShutdownTimeout = time.Duration(s.timeout), time.Duration(s.shutdown)
	c.SlowCall, c.NoMonitor = time.Duration(s.slow), !s.monitor
	c.MaxRequestBytes, c.MaxClientsMemory = int(s.request), int64(s.memory)
	c.Near.Bound, c.Near.Bytes = time.Duration(s.near), int64(s.nearBytes)
	c.Removals, c.PrefixSample = orNone(s.removals), orNone(s.prefixSample)
	c.OptionName = func(name string) string { return "--" + name }
	c.Version = version()
	c.FollowLoad = os.Getenv("GOMAXPROCS") == "" // else the administrator has decided
	c.Progress = s.screen.progress
	return c, nil
}

// check finds numbers that mean nothing. 0 is a default in a Config, and a mistake here unless
// the help of the flag says otherwise.
func (s *serveSettings) check() error {
	c := &s.config
	for _, f := range []struct {
		flag  string
		value time.Duration
	}{{"timeout", time.Duration(s.timeout)}, {"auth-timeout", time.Duration(s.auth)}, {"shutdown-timeout", time.Duration(s.shutdown)}} {
		if f.value == 0 {
			return usagef("--%s must be above zero", f.flag)
		}
	}
	switch {
	case c.MaxConns < 2:
		return usagef("--max-conns must be at least 2")
	case c.MaxClients < 1:
		return usagef("--max-clients must be at least 1; --redis-addr off lets no Redis client in")
	case c.MetricsCaches < 1:
		return usagef("--metrics-caches must be at least 1")
	case s.removals < 0:
		return usagef("--removals must not be negative; 0: none")
	case s.prefixSample < 0:
		return usagef("--prefix-sample must not be negative; 0: none")
	}
	return checkReplicationLag(c.MaxReplicationLag)
}

// orNone is a number of the command line for a Config, where 0 is its default.
func orNone(n int) int {
	if n == 0 {
		return -1
	}
	return n
}

// orDefault finds a directory where none was given.
func orDefault(dir string, find func() (string, error)) (string, error) {
	if dir != "" {
		return dir, nil
	}
	return find()
}

// defaultDir is a default directory for the help text.
func defaultDir(find func() (string, error)) string {
	dir, err := find()
	if err != nil {
		return "none"
	}
	return dir
}

// newStartScreen makes the log, and what is shown beside it.
func newStartScreen(w io.Writer, level, format string) (*startScreen, error) {
	var l slog.Level
	if err := l.UnmarshalText([]byte(level)); err != nil {
		return nil, usagef("--log-level %q is unknown: use debug, info, warn or error", level)
	}
	options := &slog.HandlerOptions{Level: l}
	s := &startScreen{out: w}
	switch {
	case format == "auto" && isTerminal(w):
		s.people = newPeopleLog(w, l)
		s.log = slog.New(s.people)
	case format == "auto", format == "text":
		s.log = slog.New(slog.NewTextHandler(w, options))
	case format == "json":
		s.log = slog.New(slog.NewJSONHandler(w, options))
	default:
		return nil, usagef("--log-format %q is unknown: use auto, text or json", format)
	}
	return s, nil
}
