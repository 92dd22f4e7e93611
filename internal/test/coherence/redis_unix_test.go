//go:build unix

package coherence

import (
	"context"
	"encoding/gob"
	"errors"

	"github.com/redis/go-redis/v9"

	"github.com/howdah/howdah/internal/server"
)

// serve is a child process that serves Redis clients.
func (p *program) serve(ctx context.Context, out *gob.Encoder) error {
	config := server.Config{DatabaseURL: p.URL, RedisAddr: "127.0.0.1:0", Timeout: callTimeout}
	if p.Keeps {
		bound(&config, p.Bound)
	}
	config.Ready = func(a server.Addresses) { out.Encode(hello{Addr: a.Redis.String()}) }
	if err := server.Run(ctx, config); err != nil {
		return err
	}
	return out.Encode(p.report)
}

// redis writes and reads through servers. What it writes through one is an own
// write of that one, which all its clients must read from then on.
func (a *actor) redis(ctx context.Context) {
	clients := make([][]*redis.Client, len(a.Servers)) // by server and database
	for i, s := range a.Servers {
		for db := range a.Caches {
			c := redis.NewClient(&redis.Options{Addr: s.Addr, DB: db, MaxRetries: -1, Protocol: 2})
			defer c.Close()
			clients[i] = append(clients[i], c)
		}
	}
	var reads []Read
	for a.pause(ctx, short) {
		i, key := a.rng.IntN(len(clients)), a.key()
		if a.rng.IntN(3) == 0 {
			a.redisWrite(ctx, clients[i][a.cacheOf(key)], a.Servers[i].Process, key)
		}
		for range 8 {
			i, key := a.rng.IntN(len(clients)), a.key()
			if r, ok := a.redisRead(ctx, clients[i][a.cacheOf(key)], a.Servers[i].Process, key); ok {
				reads = append(reads, r)
			}
		}
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.report.Reads = append(a.report.Reads, reads...)
}

func (a *actor) redisRead(ctx context.Context, c *redis.Client, process, key int) (r Read, ok bool) {
	ctx, cancel := within(ctx, callTimeout)
	defer cancel()
	r = Read{Process: process, Key: key, Begin: now()}
	value, err := c.Get(ctx, KeyName(key)).Bytes()
	r.End = now()
	if errors.Is(err, redis.Nil) {
		return r, true
	}
	if err == nil {
		r.Value, err = ParseValue(value)
	}
	return r, a.answered(err)
}

func (a *actor) redisWrite(ctx context.Context, c *redis.Client, process, key int) {
	ctx, cancel := within(ctx, callTimeout)
	defer cancel()
	name, w, d := KeyName(key), a.store(key), a.remove(key)
	w.Process, d.Process = process, process
	value := string(FormatValue(w.Value))
	switch a.rng.IntN(8) {
	default:
		a.attempt(func() error { return c.Set(ctx, name, value, 0).Err() }, w)
	case 0:
		a.attempt(func() error { return c.SetNX(ctx, name, value, 0).Err() }, w)
	case 1:
		a.attempt(func() error { return c.MSet(ctx, name, value).Err() }, w)
	case 2:
		a.attempt(func() error {
			_, err := c.TxPipelined(ctx, func(p redis.Pipeliner) error { return p.Set(ctx, name, value, 0).Err() })
			return err
		}, w)
	case 3:
		a.attempt(func() error { return c.Del(ctx, name).Err() }, d)
	case 4:
		a.attempt(func() error { return c.GetDel(ctx, name).Err() }, d)
	}
}
