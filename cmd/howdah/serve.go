package main

import (
	"context"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"golang.org/x/term"

	"github.com/howdah/howdah"
	"github.com/howdah/howdah/internal/embedded"
	"github.com/howdah/howdah/internal/server"
)

func newServe() *cobra.Command {
	var (
		config                  server.Config
		passwordFile, tokenFile string
		sessionTokenFile        string
		logLevel, logFormat     string

		idle     durationFlag
		auth     = durationFlag(10 * time.Second)
		timeout  = durationFlag(500 * time.Millisecond)
		shutdown = durationFlag(10 * time.Second)
		request  = sizeFlag(howdah.DefaultMaxValueBytes)
		sessions = newSessionSettings()
	)
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Serve caches to Redis clients and over HTTP",
		Long: `Serve caches to Redis clients and over HTTP.

Without --database-url it runs an embedded PostgreSQL, kept in --data-dir. With
it, the database must have been prepared with "howdah migrate", or be by
--migrate.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			var err error
			if config.DatabaseURL == "" {
				if config.DataDir, err = orDefault(config.DataDir, embedded.DefaultDataDir); err != nil {
					return err
				}
				if config.CacheDir, err = orDefault(config.CacheDir, embedded.DefaultCacheDir); err != nil {
					return err
				}
			}
			if config.Password, err = secret("password", config.Password, passwordFile); err != nil {
				return err
			}
			if config.Token, err = secret("token", config.Token, tokenFile); err != nil {
				return err
			}
			if config.SessionToken, err = secret("session-token", config.SessionToken, sessionTokenFile); err != nil {
				return err
			}
			if config.Logger, err = newLogger(cmd.ErrOrStderr(), logLevel, logFormat); err != nil {
				return err
			}
			config.RedisAddr = listenAddress(config.RedisAddr)
			config.HTTPAddr = listenAddress(config.HTTPAddr)
			config.IdleTimeout = time.Duration(idle)
			config.AuthTimeout = time.Duration(auth)
			config.Timeout = time.Duration(timeout)
			config.ShutdownTimeout = time.Duration(shutdown)
			config.MaxRequestBytes = int(request)
			if config.Sessions, err = sessions.options(); err != nil {
				return err
			}
			config.Version = version()
			config.FollowLoad = os.Getenv("GOMAXPROCS") == "" // else the administrator has decided
			if term.IsTerminal(int(os.Stderr.Fd())) {
				config.Progress = os.Stderr
			}
			ctx, stop := untilSignal(cmd.Context(), config.Logger)
			defer stop()
			return server.Run(ctx, config)
		},
	}
	f := cmd.Flags()
	f.SortFlags = false
	f.StringVar(&config.DatabaseURL, "database-url", "", "PostgreSQL to serve from; without it an embedded one is run")
	f.BoolVar(&config.Migrate, "migrate", false, "bring the schema of --database-url up to date first")
	f.StringVar(&config.DataDir, "data-dir", "", "where the embedded PostgreSQL keeps its data (default "+defaultDir(embedded.DefaultDataDir)+")")
	f.StringVar(&config.CacheDir, "cache-dir", "", "where downloads are kept (default "+defaultDir(embedded.DefaultCacheDir)+")")
	f.StringVar(&config.RedisAddr, "redis-addr", "127.0.0.1:6379", `listen here for Redis clients; "off" for not at all`)
	f.StringVar(&config.HTTPAddr, "http-addr", "127.0.0.1:8080", `listen here for HTTP; "off" for not at all`)
	f.StringVar(&config.Password, "password", "", "password for Redis clients; better --password-file or the environment")
	f.StringVar(&passwordFile, "password-file", "", "file that holds the password")
	f.StringVar(&config.Token, "token", "", "bearer token for HTTP clients; better --token-file or the environment")
	f.StringVar(&tokenFile, "token-file", "", "file that holds the token")
	f.StringVar(&config.SessionToken, "session-token", "", "bearer token for starting, listing and revoking sessions over HTTP; better --session-token-file or the environment")
	f.StringVar(&sessionTokenFile, "session-token-file", "", "file that holds the session token; without one these requests are refused")
	f.StringSliceVar(&config.AllowedHosts, "allowed-hosts", nil, "host names, separated by commas, that HTTP requests may be addressed to besides localhost; with a token any, if none is given")
	f.StringVar(&config.TLSCert, "tls-cert", "", "certificate (PEM); with it both listeners speak TLS only")
	f.StringVar(&config.TLSKey, "tls-key", "", "private key of --tls-cert (PEM)")
	f.StringVar(&config.TLSClientCA, "tls-client-ca", "", "authority (PEM) whose certificate clients of both listeners must show")
	f.IntVar(&config.MaxClients, "max-clients", 10000, "Redis connections at once; 0 is the default")
	f.Var(&request, "max-request-bytes", "largest value, Redis argument and HTTP body")
	f.Var(&idle, "idle-timeout", "close Redis connections that are silent for so long; 0 for never")
	f.Var(&auth, "auth-timeout", "close Redis connections that do not give the password in time")
	f.Var(&timeout, "timeout", "answer every request within this time, if with an error")
	f.Int64Var(&config.MaxReplicationLag, "max-replication-lag", 64<<20, "bytes that a standby or slot may be behind before expiry slows down; -1: any")
	f.IntVar(&config.MaxConns, "max-conns", 8, "PostgreSQL connections at once; 0 is the default")
	f.StringVar(&config.Pooler, "pooler", "", `"transaction" if a pooler in transaction mode, such as pgbouncer, is in between`)
	sessions.add(f)
	f.StringVar(&logLevel, "log-level", "info", "debug, info, warn or error")
	f.StringVar(&logFormat, "log-format", "text", "text or json, on standard error")
	f.Var(&shutdown, "shutdown-timeout", "how long a shutdown may take")
	f.VisitAll(func(flag *pflag.Flag) { fromEnvironment(f, flag.Name) })
	return cmd
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

func newLogger(w io.Writer, level, format string) (*slog.Logger, error) {
	var l slog.Level
	if err := l.UnmarshalText([]byte(level)); err != nil {
		return nil, usagef("--log-level %q is unknown: use debug, info, warn or error", level)
	}
	options := &slog.HandlerOptions{Level: l}
	switch format {
	case "text":
		return slog.New(slog.NewTextHandler(w, options)), nil
	case "json":
		return slog.New(slog.NewJSONHandler(w, options)), nil
	}
	return nil, usagef("--log-format %q is unknown: use text or json", format)
}

// untilSignal returns a context that ends with the first SIGINT or SIGTERM.
// The second ends the program at once.
func untilSignal(parent context.Context, log *slog.Logger) (context.Context, func()) {
	ctx, cancel := context.WithCancel(parent)
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM)
	done := make(chan struct{})
	go func() {
		for range 2 {
			select {
			case <-done:
				return
			case <-signals:
			}
			if ctx.Err() != nil {
				log.Error("second signal: exiting at once")
				os.Exit(exitFailed)
			}
			cancel()
		}
	}()
	return ctx, func() { signal.Stop(signals); close(done); cancel() }
}
