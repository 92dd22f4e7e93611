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
	"github.com/howdah/howdah/internal/httpapi"
	"github.com/howdah/howdah/internal/pipeline"
	"github.com/howdah/howdah/internal/redisapi"
	"github.com/howdah/howdah/session"
)

// Run serves until ctx is done, then answers what it has accepted, closes
// everything it opened and returns nil. It returns an error if it cannot
// start, if what it serves from fails for good, or if it had to cut
// connections off because Config.ShutdownTimeout ran out.
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

	redisListener, httpListener net.Listener

	database *database
	memory   *pipeline.Budget // of Redis clients
	engine   *redisapi.Engine
	redis    *driver
	sessions *keeper
	health   *health
	http     *http.Server

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
		return err
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
	s.health = &health{
		ping:     s.database.db.Ping,
		degraded: func() string { return degradation((*core.DB)(s.database.db).Stats()) },
	}
	api := httpapi.New(httpapi.Options{
		DB:            (*core.DB)(s.database.db),
		Token:         c.Token,
		AllowedHosts:  c.AllowedHosts,
		Sessions:      manager,
		SessionToken:  c.SessionToken,
		MaxValueBytes: c.MaxRequestBytes,
		Near:          c.Near.on() && s.database.embedded != nil,
		Logger:        c.Logger,
	})
	registry := newRegistry(&collector{
		db: s.database.db, engine: s.engine, redis: s.redis, version: c.Version, sessions: manager,
		states: cacheStates{db: (*core.DB)(s.database.db)}, shown: make(map[string]bool),
	})
	s.http = newHTTPServer(api, s.health, registry, c.Logger)
	s.work.Go(func() {
		if err := s.http.Serve(s.httpListener); !errors.Is(err, http.ErrServerClosed) {
			s.fail(fmt.Errorf("the HTTP listener failed: %w", err))
		}
	})
	return nil
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
	s.config.Near.announce(&s.config)
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
	if s.redisListener != nil {
		_ = s.redisListener.Close()
	}
	if s.http == nil && s.httpListener != nil { // else Shutdown closes it
		_ = s.httpListener.Close()
	}
	if s.stopSweep != nil {
		s.stopSweep()
	}
	var doors sync.WaitGroup
	var redisErr, httpErr error
	if s.redis != nil {
		doors.Go(func() { redisErr = s.redis.shutdown(ctx) })
	}
	if s.http != nil {
		doors.Go(func() {
			if httpErr = s.http.Shutdown(ctx); httpErr != nil {
				_ = s.http.Close()
			}
		})
	}
	doors.Wait()
	if s.engine != nil {
		s.engine.Close()
	}
	var err error
	if errors.Is(redisErr, context.DeadlineExceeded) || errors.Is(httpErr, context.DeadlineExceeded) {
		err = fmt.Errorf("shutdown took longer than %v: the requests still unanswered were cut off; raise %s if they matter", total, s.config.option("shutdown-timeout"))
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
