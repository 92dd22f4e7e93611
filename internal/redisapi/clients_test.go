package redisapi

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

// TestGoRedis uses go-redis with its default settings, which speaks RESP3. A machine that is slow makes it repeat
// nothing.
func TestGoRedis(t *testing.T) {
	t.Parallel()
	s := serve(t, Options{Password: "secret"})
	client := redis.NewClient(&redis.Options{Addr: s.addr(), Password: "secret", DB: 4, ClientName: "test", ReadTimeout: patience, MaxRetries: -1})
	defer client.Close()
	ctx := context.Background()
	check := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	check(client.Ping(ctx).Err())
	check(client.Set(ctx, "k", "v", time.Hour).Err())
	if value, err := client.Get(ctx, "k").Result(); err != nil || value != "v" {
		t.Errorf("Get: %q, %v", value, err)
	}
	if _, err := client.Get(ctx, "absent").Result(); !errors.Is(err, redis.Nil) {
		t.Errorf("Get of an absent key: %v", err)
	}
	if ttl, err := client.TTL(ctx, "k").Result(); err != nil || ttl > time.Hour || ttl < time.Hour-5*time.Second {
		t.Errorf("TTL: %v, %v", ttl, err)
	}
	pipe := client.TxPipeline()
	incr := pipe.Incr(ctx, "n")
	pipe.Expire(ctx, "n", time.Minute)
	_, err := pipe.Exec(ctx)
	check(err)
	if incr.Val() != 1 {
		t.Errorf("Incr: %d", incr.Val())
	}
	err = client.Watch(ctx, func(tx *redis.Tx) error {
		_, err := tx.TxPipelined(ctx, func(pipe redis.Pipeliner) error {
			check(client.Set(ctx, "n", "7", 0).Err())
			return pipe.Set(ctx, "n", "8", 0).Err()
		})
		return err
	}, "n")
	if !errors.Is(err, redis.TxFailedErr) {
		t.Errorf("Watch: %v", err)
	}
	iter := client.Scan(ctx, 0, "*", 10).Iterator()
	keys := 0
	for iter.Next(ctx) {
		keys++
	}
	check(iter.Err())
	if keys != 2 {
		t.Errorf("Scan found %d keys, want 2", keys)
	}
	if info, err := client.Command(ctx).Result(); err != nil || info["get"] == nil || info["get"].FirstKeyPos != 1 || !info["get"].ReadOnly {
		t.Errorf("Command: %v, %v", info["get"], err)
	}
	if config, err := client.ConfigGet(ctx, "max*").Result(); err != nil || config["maxmemory"] != "0" {
		t.Errorf("ConfigGet: %v, %v", config, err)
	}
	check(client.Info(ctx).Err())
	check(client.ClientList(ctx).Err())
	check(client.SlowLogGet(ctx, 5).Err())
	check(client.FlushDB(ctx).Err())
}
