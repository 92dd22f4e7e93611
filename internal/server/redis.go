package server

import (
	"context"

	"github.com/howdah/howdah/internal/core"
	"github.com/howdah/howdah/internal/pipeline"
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

func (s *server) serveRedis() error {
	if s.redisListener == nil {
		return nil
	}
	c := &s.config
	s.memory = pipeline.NewBudget(c.MaxClientsMemory)
	var err error
	s.engine, err = redisapi.New(redisapi.Options{
		DB:         (*core.DB)(s.database.db),
		Password:   c.Password,
		MaxBulk:    c.MaxRequestBytes,
		MaxClients: c.MaxClients,
		Memory:     s.memory,
		NoScripts:  c.NoScripts,
		Monitor:    c.Monitor,
		Version:    c.Version,
		Logger:     c.Logger,
	})
	if err != nil {
		return err
	}
	limits := connLimits{
		maxClients:   c.MaxClients,
		idleTimeout:  c.IdleTimeout,
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
