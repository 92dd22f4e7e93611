package server

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/howdah/howdah/internal/core"
	"github.com/howdah/howdah/internal/figures"
	"github.com/howdah/howdah/internal/httpapi"
	"github.com/howdah/howdah/internal/pipeline"
	"github.com/howdah/howdah/internal/redisapi"
	"github.com/howdah/howdah/session"
)

// Run serves until ctx is done, then answers what it has accepted, closes
// everything it opened and returns nil. It returns an error if it cannot
// start, if what it serves from fails for good, or if it had to cut
// connections off because Config.ShutdownTimeout ran out. Of a Config that
// nothing can be served by, it is a ConfigError.
func Run(ctx context.Context, config Config) error {
	if err := config.complete(); err != nil {
		return err
	}
	s := &server{config: config, failed: make(chan error, 4)}
	err := s.start(ctx)
	if err == nil {
		select {
		case <-ctx.Done():
			config.Logger.Info("shutting down", "timeout", config.ShutdownTimeout)
		case err = <-s.failed:
		}
	} else if ctx.Err() != nil {
		err = nil // told to stop while still starting
	}
	if err = errors.Join(err, s.stop()); err == nil {
		config.Logger.Info("stopped")
	}
	return err
}

// server is what Run has started, in the order of the fields; stop goes the
// other way and copes with what is missing.
type server struct {
	config Config

	redisListener, httpListener, consoleListener net.Listener

	database *database
	memory   *pipeline.Budget // of Redis clients
	engine   *redisapi.Engine
	redis    *driver
	sessions *keeper
	health   *health
	figures  *figures.Figures
	http     *http.Server
	console  *http.Server // nil unless it has a listener of its own

	work      sync.WaitGroup
	stopSweep context.CancelFunc
	failed    chan error // what ends Run without being asked
}

func (s *server) start(ctx context.Context) error {
	// Addresses first: a port in use is found before a database is started.
	if err := s.listen(ctx); err != nil {
		return err
	}
	var err error
	if s.database, err = openDatabase(ctx, &s.config); err != nil {
		return err
	}
	if done := s.database.ended(); done != nil {
		s.work.Go(func() {
			<-done
			s.fail(errors.New("the embedded PostgreSQL has ended; its last messages are in the log above"))
		})
	}
	s.memory = pipeline.NewBudget(s.config.MaxClientsMemory)
	if err := s.serveRedis(); err != nil {
		return err
	}
	if err := s.serveHTTP(); err != nil {
		return err
	}
	s.announce()
	return nil
}

func (s *server) listen(ctx context.Context) error {
	c := &s.config
	tls, err := c.tls()
	if err != nil {
		return &ConfigError{err}
	}
	if c.RedisAddr != "" {
		spec := listenerSpec{addr: c.RedisAddr, addrOption: c.option("redis-addr"), secret: c.Password, secretOption: c.option("password-file"), tls: tls}
		if s.redisListener, err = spec.listen(ctx); err != nil {
			return err
		}
	}
	if c.HTTPAddr != "" {
		spec := listenerSpec{addr: c.HTTPAddr, addrOption: c.option("http-addr"), secret: c.Token, secretOption: c.option("token-file"), tls: tls}
		if s.httpListener, err = spec.listen(ctx); err != nil {
			return err
		}
		if c.Console.Addr != "" && c.consoleOn() {
			spec.addr, spec.addrOption = c.Console.Addr, c.option("console-addr")
			if s.consoleListener, err = spec.listen(ctx); err != nil {
				return err
			}
		}
	}
	return nil
}

func (s *server) serveHTTP() error {
	if s.httpListener == nil {
		return nil
	}
	c := &s.config
	options := c.Sessions
	options.Timeout, options.Logger = c.Timeout, c.Logger
	manager, err := session.New(s.database.db, &options)
	if err != nil {
		return err
	}
	s.sessions = keepSessions(manager)
	var redis httpapi.RedisClients
	if s.engine != nil {
		redis = s.engine
	}
	s.showFigures()
	api := httpapi.New(httpapi.Options{
		Redis:         redis,
		DB:            (*core.DB)(s.database.db),
		Figures:       s.figures,
		Token:         c.Token,
		AllowedHosts:  c.AllowedHosts,
		Sessions:      manager,
		SessionToken:  c.SessionToken,
		MaxValueBytes: c.MaxRequestBytes,
		Near:          c.Near.on() && s.database.embedded != nil,
		Logger:        c.Logger,
	})
	metrics, counted := newCollector(s.database.db, c.MetricsCaches), newHTTPMetrics()
	metrics.version, metrics.engine, metrics.redis, metrics.sessions, metrics.http = c.Version, s.engine, s.redis, manager, api
	metrics.observed, metrics.cost = s.figures, c.MetricsCost
	began := time.Now()
	s.health = &health{
		ping:     s.database.db.Ping,
		degraded: func() string { return degradation((*core.DB)(s.database.db).Stats(), metrics.states.read(), began) },
	}
	pages := s.newConsole(api, s.figures, manager)
	s.serveConsole(pages)
	if s.console != nil {
		pages = nil
	}
	s.http = newHTTPServer(api, pages, s.health, newRegistry(metrics, counted), counted, s.memory, c.Logger)
	s.work.Go(func() {
		if err := s.http.Serve(s.limited(s.httpListener)); !errors.Is(err, http.ErrServerClosed) {
			s.fail(fmt.Errorf("the HTTP listener failed: %w", err))
		}
	})
	return nil
}

// showFigures makes what is shown of the database, and remembers from now on what this process does. Until it stops
// that costs a look at counters in memory each minute, and no statement.
func (s *server) showFigures() {
	options := figures.Options{DB: (*core.DB)(s.database.db), Process: s.database.process.id}
	if s.redis != nil {
		options.Clients = func() int { return int(s.redis.clients.Load()) }
	}
	s.figures = figures.New(options)
	s.work.Go(func() { s.figures.Record(context.Background()) }) // figures.Close ends it
}

// limited bounds the connections of a listener for HTTP.
func (s *server) limited(listener net.Listener) net.Listener {
	return &limitedListener{Listener: listener, most: int64(s.config.MaxClients), log: s.config.Logger}
}

// announce says, once everything works, where.
func (s *server) announce() {
	var addresses Addresses
	secured := s.config.TLSCert != ""
	if s.redisListener != nil {
		addresses.Redis = s.redisListener.Addr()
		s.config.Logger.Info("ready for Redis clients", "addr", addresses.Redis.String(), "tls", secured, "password", s.config.Password != "")
	}
	if s.httpListener != nil {
		addresses.HTTP = s.httpListener.Addr()
		s.config.Logger.Info("ready for HTTP clients", "addr", addresses.HTTP.String(), "tls", secured, "token", s.config.Token != "", "session_token", s.config.SessionToken != "")
	}
	if s.console != nil {
		addresses.Console = s.consoleListener.Addr()
	}
	if addresses.ConsoleURL = s.config.consoleURL(addresses); addresses.ConsoleURL != "" {
		s.config.Logger.Info("open the console in a browser", "url", addresses.ConsoleURL)
	}
	if s.config.Ready != nil {
		s.config.Ready(addresses)
	}
}

// fail ends Run; only the first reason counts.
func (s *server) fail(err error) {
	select {
	case s.failed <- err:
	default:
	}
}

// databaseShare is the part of the shutdown's time that is kept for the
// embedded PostgreSQL.
const databaseShare = 4

// stop ends what start began, within ShutdownTimeout.
func (s *server) stop() error {
	began := time.Now()
	total := s.config.ShutdownTimeout
	ctx, cancel := context.WithTimeout(context.Background(), total-total/databaseShare)
	defer cancel()

	if s.health != nil {
		s.health.stopping.Store(true)
	}
	cutOff := s.closeDoors(ctx)
	var err error
	if cutOff {
		err = fmt.Errorf("shutdown took longer than %v: the requests still unanswered were cut off; raise %s if they matter", total, s.config.option("shutdown-timeout"))
	}
	if s.figures != nil {
		s.figures.Close()
	}
	if s.sessions != nil {
		ctx, cancel := context.WithDeadline(context.Background(), began.Add(total))
		defer cancel()
		if lost := s.sessions.stop(ctx); lost != nil {
			s.config.Logger.Warn("the last uses of sessions were not written: those sessions end as if they had not been used", "error", lost)
		}
	}
	if s.database != nil {
		ctx, cancel := context.WithDeadline(context.Background(), began.Add(total))
		defer cancel()
		err = errors.Join(err, s.database.close(ctx))
	}
	s.work.Wait()
	return err
}

// closeDoors accepts nothing new, and lets the listeners answer what they have accepted. It
// says whether some of that was cut off.
func (s *server) closeDoors(ctx context.Context) (cutOff bool) {
	if s.redisListener != nil {
		_ = s.redisListener.Close()
	}
	if s.engine != nil {
		s.engine.EndMessages()
	}
	for _, web := range []struct {
		listener net.Listener
		server   *http.Server
	}{{s.httpListener, s.http}, {s.consoleListener, s.console}} {
		if web.listener != nil && web.server == nil { // else Shutdown closes it
			_ = web.listener.Close()
		}
	}
	if s.stopSweep != nil {
		s.stopSweep()
	}
	var doors sync.WaitGroup
	errs := make([]error, 3)
	if s.redis != nil {
		doors.Go(func() { errs[0] = s.redis.shutdown(ctx) })
	}
	for i, web := range []*http.Server{s.http, s.console} {
		if web == nil {
			continue
		}
		doors.Go(func() {
			if errs[i+1] = web.Shutdown(ctx); errs[i+1] != nil {
				_ = web.Close()
			}
		})
	}
	doors.Wait()
	if s.engine != nil {
		s.engine.Close()
	}
	return errors.Is(errors.Join(errs...), context.DeadlineExceeded)
}
