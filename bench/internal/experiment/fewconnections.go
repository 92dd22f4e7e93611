package experiment

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/redis/go-redis/v9"

	"github.com/howdah/howdah/bench/internal/measure"
	"github.com/howdah/howdah/bench/internal/result"
	"github.com/howdah/howdah/bench/internal/rival"
	"github.com/howdah/howdah/bench/internal/service"
	"github.com/howdah/howdah/bench/internal/workload"
)

// fewConnections asks what a server makes of fewer connections to PostgreSQL
// than it asks for.
func fewConnections() Experiment {
	return Experiment{
		Name:  "few-connections",
		Title: "64 clients of howdah serve, whose role may have 2 connections to PostgreSQL",
		Needs: []service.Program{service.Postgres},
		Quick: 20 * time.Second, Full: 45 * time.Second,
		Run:   runFewConnections,
		Judge: fewVerdict,
	}
}

const (
	fewGroup, fewCase = "80 % GET, 20 % SET", "64 clients"
	fewClients        = 64
	fewLimit          = 2
	fewFailed         = "failed commands"
)

func runFewConnections(ctx context.Context, b *Bench, r *result.Result) error {
	pg, err := b.Postgres(ctx)
	if err != nil {
		return err
	}
	if pg.SuperURL() == "" {
		return errors.New("the role of --database-url would be limited to 2 connections: run few-connections without it")
	}
	super, err := b.sql(ctx)
	if err != nil {
		return err
	}
	u, err := url.Parse(pg.URL)
	if err != nil {
		return err
	}
	limit := fmt.Sprintf("ALTER ROLE %s CONNECTION LIMIT %d", pgx.Identifier{u.User.Username()}.Sanitize(), fewLimit)
	if err := super.run(ctx, limit); err != nil {
		return err
	}
	server, err := b.Serve(ctx)
	if err != nil {
		return err
	}
	spec := b.Workload
	spec.Keys = min(spec.Keys, 10_000)
	loader := rival.NewGoRedis(server.Addr, fewLimit) // repeats what is refused
	defer loader.Close()
	if err := rival.Load(ctx, loader, spec); err != nil {
		return err
	}
	clients := redis.NewClient(&redis.Options{Addr: server.Addr, PoolSize: fewClients, MaxRetries: -1, ReadTimeout: 30 * time.Second})
	defer clients.Close()
	r.Set("limit", fmt.Sprintf("ALTER ROLE ... CONNECTION LIMIT %d before howdah serve starts, which asks for more", fewLimit))
	return b.turns(1, func(int) error {
		var failed atomic.Int64
		sources := workload.NewSources(spec, fewClients)
		s, err := measure.Closed(ctx, measure.Load{
			Workers: fewClients, Duration: 4 * b.Duration,
			Do: func(ctx context.Context, w int) error {
				i := sources[w].Next()
				var err error
				if sources[w].Chance(0.8) {
					err = clients.Get(ctx, workload.Key(i)).Err()
				} else {
					err = clients.Set(ctx, workload.Key(i), sources[w].Value(i), 0).Err()
				}
				if err != nil {
					failed.Add(1)
				}
				return nil
			},
		})
		if err != nil {
			return err
		}
		share := 100 * float64(failed.Load()) / float64(s.Requests)
		r.Add(fewGroup, fewCase, servedHowdah, fewFailed, "%", share)
		addClosed(r, fewGroup, fewCase, servedHowdah, s)
		b.Progress("%.2f %% of %d commands failed, %.0f/s", share, s.Requests, s.Rate())
		return nil
	})
}

func fewVerdict(r *result.Result, _ []*result.Result) []result.Verdict {
	failed, _ := r.Find(fewGroup, fewCase, servedHowdah, fewFailed)
	return []result.Verdict{{
		Claim: "Fewer connections than asked for are used, not failed on", Source: "Howdah's own promise",
		Ours: fmt.Sprintf("%.2f %% of the commands failed, at %.0f/s, with %d connections for %d clients",
			failed.Median(), r.Value(fewGroup, fewCase, servedHowdah, throughput), fewLimit, fewClients),
		Bar:      "no command fails",
		Word:     result.AtMost(failed.Rounds, 0),
		Sentence: "A command waits for a connection that PostgreSQL grants; a connection that PostgreSQL refuses must not fail it.",
	}}
}
