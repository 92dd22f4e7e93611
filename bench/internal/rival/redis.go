package rival

import (
	"context"
	"fmt"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"
	"github.com/redis/rueidis"
)

// GoRedisName is go-redis in the report.
const GoRedisName = "go-redis"

// RueidisName is rueidis in the report.
const RueidisName = "rueidis"

type goRedis struct{ client *redis.Client }

// NewGoRedis uses go-redis with a pool of connections: one command a round
// trip. poolSize 0 is its default, 10 a core.
func NewGoRedis(addr string, poolSize int) Rival {
	return &goRedis{redis.NewClient(&redis.Options{
		Addr: addr, PoolSize: poolSize,
		// Not known to plain servers; asking would only add a warning.
		MaintNotificationsConfig: &maintnotifications.Config{Mode: maintnotifications.ModeDisabled},
	})}
}

func (r *goRedis) Name() string { return GoRedisName }

// PoolSize is how many connections it uses at most.
func (r *goRedis) PoolSize() int { return r.client.Options().PoolSize }

func (r *goRedis) Get(ctx context.Context, key string) ([]byte, error) {
	return r.client.Get(ctx, key).Bytes()
}

func (r *goRedis) Set(ctx context.Context, key string, value []byte) error {
	return r.client.Set(ctx, key, value, 0).Err()
}

func (r *goRedis) Close() error { return r.client.Close() }

type ruedis struct{ client rueidis.Client }

// NewRueidis uses rueidis, which sends the commands of many goroutines
// together (auto-pipelining). Its client-side cache is off: every read is
// answered by the server.
func NewRueidis(addr string) (Rival, error) {
	client, err := rueidis.NewClient(rueidis.ClientOption{InitAddress: []string{addr}, DisableCache: true, ForceSingleClient: true})
	if err != nil {
		return nil, fmt.Errorf("rueidis: %w", err)
	}
	return &ruedis{client}, nil
}

func (r *ruedis) Name() string { return RueidisName }

func (r *ruedis) Get(ctx context.Context, key string) ([]byte, error) {
	return r.client.Do(ctx, r.client.B().Get().Key(key).Build()).AsBytes()
}

func (r *ruedis) Set(ctx context.Context, key string, value []byte) error {
	return r.client.Do(ctx, r.client.B().Set().Key(key).Value(rueidis.BinaryString(value)).Build()).Error()
}

func (r *ruedis) Close() error { r.client.Close(); return nil }
