package rival

import (
	"context"
	"fmt"
	"net/url"
	"strings"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"
	"github.com/redis/rueidis"
)

// GoRedisName is go-redis in the report.
const GoRedisName = "go-redis"

// RueidisName is rueidis in the report.
const RueidisName = "rueidis"

// RedisOptions are what go-redis needs to reach a target: an address, or a URL
// with a user, a password, the number of a database, or TLS. A URL has been
// checked when the command line was read.
func RedisOptions(target string) *redis.Options {
	if !strings.Contains(target, "://") {
		return &redis.Options{Addr: target}
	}
	o, err := redis.ParseURL(target)
	if err != nil {
		return &redis.Options{Addr: target}
	}
	return o
}

// RedisThrough is a target by way of another address, such as a proxy's.
func RedisThrough(target, addr string) string {
	u, err := url.Parse(target)
	if err != nil || u.Host == "" {
		return addr
	}
	u.Host = addr
	return u.String()
}

type goRedis struct{ client *redis.Client }

// NewGoRedis uses go-redis with a pool of connections: one command a round
// trip. poolSize 0 is its default, 10 a core. The target is an address or a URL.
func NewGoRedis(target string, poolSize int) Rival {
	o := RedisOptions(target)
	if poolSize > 0 {
		o.PoolSize = poolSize
	}
	// Not known to plain servers; asking would only add a warning.
	o.MaintNotificationsConfig = &maintnotifications.Config{Mode: maintnotifications.ModeDisabled}
	return &goRedis{redis.NewClient(o)}
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
func NewRueidis(target string) (Rival, error) {
	client, err := newRueidis(target, true)
	if err != nil {
		return nil, err
	}
	return &ruedis{client}, nil
}

func newRueidis(target string, withoutCache bool) (rueidis.Client, error) {
	o := RedisOptions(target)
	client, err := rueidis.NewClient(rueidis.ClientOption{
		InitAddress: []string{o.Addr}, Username: o.Username, Password: o.Password, SelectDB: o.DB, TLSConfig: o.TLSConfig,
		DisableCache: withoutCache, ForceSingleClient: true,
	})
	if err != nil {
		return nil, fmt.Errorf("rueidis: %w", err)
	}
	return client, nil
}

func (r *ruedis) Name() string { return RueidisName }

func (r *ruedis) Get(ctx context.Context, key string) ([]byte, error) {
	return r.client.Do(ctx, r.client.B().Get().Key(key).Build()).AsBytes()
}

func (r *ruedis) Set(ctx context.Context, key string, value []byte) error {
	return r.client.Do(ctx, r.client.B().Set().Key(key).Value(rueidis.BinaryString(value)).Build()).Error()
}

func (r *ruedis) Close() error { r.client.Close(); return nil }
