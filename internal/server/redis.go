package server

import (
	"context"
	"fmt"

	"github.com/howdah/howdah/internal/core"
	"github.com/howdah/howdah/internal/redisapi"
)

// redisDoor is what a driver knows of Redis's protocol. The text is Redis's own,
// which clients know.
func redisDoor(engine *redisapi.Engine) door {
	return door{
		name:    "redis",
		tooMany: []byte("-ERR max number of clients reached\r\n"),
		connect: func(remote, local string, fd int, wake func()) Protocol {
			return engine.Connect(redisapi.Info{RemoteAddr: remote, LocalAddr: local, FD: fd}, wake)
		},
	}
}

// checkRedis checks what Redis clients are told of the server.
func (c *Config) checkRedis(name func(string) string) error {
	switch {
	case c.RedisCluster && c.RedisAddr == "":
		return fmt.Errorf("%s is for Redis clients, whose listener is off: give %s an address, or leave it out", name("redis-cluster"), name("redis-addr"))
	case c.RedisAnnounce != "" && !c.RedisCluster:
		return fmt.Errorf("%s is for %s, which is not given: give both, or leave the address out", name("redis-announce"), name("redis-cluster"))
	case c.RedisAnnounce != "":
		if err := redisapi.CheckAnnounce(c.RedisAnnounce); err != nil {
			return fmt.Errorf("%s %q %w", name("redis-announce"), c.RedisAnnounce, err)
		}
	}
	if c.RedisVersion == "" {
		return nil
	}
	if err := redisapi.CheckRedisVersion(c.RedisVersion); err != nil {
		return fmt.Errorf("%s %q %w", name("redis-version"), c.RedisVersion, err)
	}
	return nil
}

func (s *server) serveRedis() error {
	if s.redisListener == nil {
		return nil
	}
	c := &s.config
	var err error
	s.engine, err = redisapi.New(redisapi.Options{
		DB:         (*core.DB)(s.database.db),
		Password:   c.Password,
		MaxBulk:    c.MaxRequestBytes,
		MaxClients: c.MaxClients,
		Memory:     s.memory,
		NoScripts:  c.NoScripts,
		NoMonitor:  c.NoMonitor,
		Cluster:    redisapi.Cluster{Enabled: c.RedisCluster, Announce: c.RedisAnnounce, TLS: c.TLSCert != ""},
		Version:    c.Version,
		Logger:     c.Logger,

		RedisVersion: c.RedisVersion,
		IdleTimeout:  c.IdleTimeout,
	})
	if err != nil {
		return err
	}
	limits := connLimits{
		maxClients:   c.MaxClients,
		idleTimeout:  s.engine.IdleTimeout,
		keepAlive:    s.engine.KeepAlive,
		authTimeout:  c.AuthTimeout,
		stallTimeout: c.StallTimeout,
		memory:       s.memory,
	}
	if s.redis, err = newDriver(redisDoor(s.engine), limits, !c.Goroutines, c.Logger); err != nil {
		return err
	}
	s.work.Go(func() { s.redis.serve(s.redisListener) })
	ctx, cancel := context.WithCancel(context.Background())
	s.stopSweep = cancel
	s.work.Go(func() { s.redis.sweep(ctx) })
	if c.FollowLoad && !c.Goroutines {
		s.work.Go(func() { followLoad(ctx, c.Logger) })
	}
	return nil
}
