// Package redis is a store in Redis, Valkey, or another server that speaks
// their protocol, through the go-redis client.
package redis

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/howdah/howdah"
	"github.com/howdah/howdah/backend/internal/remote"
)

// A pipeline is cut where it reaches one of these, so that no request holds
// the server or the client's buffers for long.
const (
	pipelineCommands = 1000
	pipelineBytes    = 4 << 20
)

// Options tune a Store. The zero value of every field is its default.
type Options struct {
	// DefaultTTL is used where a TTL of 0 is asked for. Default: none.
	DefaultTTL time.Duration

	// MaxValueBytes bounds a value. Default howdah.DefaultMaxValueBytes, so
	// that what fits here fits PostgreSQL too; Redis itself takes 512 MiB.
	MaxValueBytes int
}

// Store is a howdah.Backend in Redis. It is safe for concurrent use.
type Store struct {
	client        goredis.UniversalClient
	owned         bool // Close closes client
	defaultTTL    time.Duration
	maxValueBytes int
	closed        atomic.Bool
}

var _ howdah.Backend = (*Store)(nil)

// New uses a client of the application's own, a single server's, Sentinel's
// or a cluster's; nil options are the defaults. Close does not close it.
func New(client goredis.UniversalClient, opts *Options) (*Store, error) {
	var o Options
	if opts != nil {
		o = *opts
	}
	if o.DefaultTTL < 0 || o.MaxValueBytes < 0 {
		return nil, errors.New("redis: a limit or TTL is negative; leave it 0 for the default")
	}
	if o.DefaultTTL == 0 {
		o.DefaultTTL = howdah.NoExpiry
	}
	if o.MaxValueBytes == 0 {
		o.MaxValueBytes = howdah.DefaultMaxValueBytes
	}
	return &Store{client: client, defaultTTL: o.DefaultTTL, maxValueBytes: o.MaxValueBytes}, nil
}

// Open connects to redis://[user:password@]host:port/database, or rediss://
// for TLS, and asks the server for an answer. The URL may carry the
// parameters default_ttl (a Go duration), max_value_bytes, and those of
// go-redis: pool_size, dial_timeout, read_timeout and the like.
func Open(ctx context.Context, rawURL string) (*Store, error) {
	u, err := url.Parse(rawURL)
	if err != nil {
		return nil, errors.New("redis: the URL cannot be read; write redis://host:6379/0")
	}
	opts, err := takeOptions(u)
	if err != nil {
		return nil, err
	}
	settings, err := goredis.ParseURL(u.String())
	if err != nil {
		return nil, fmt.Errorf("redis: %w", err)
	}
	settings.ContextTimeoutEnabled = true
	settings.DialerRetries = 1 // a server that is away is reported at once; max_retries still holds
	client := goredis.NewClient(settings)
	store, err := New(client, opts)
	if err != nil {
		_ = client.Close()
		return nil, err
	}
	store.owned = true
	_, err = remote.Call(ctx, func() (string, error) { return client.Ping(ctx).Result() })
	if err != nil {
		_ = store.Close()
		return nil, failure(remote.Read, err)
	}
	return store, nil
}

// takeOptions removes our own parameters from the URL, because go-redis
// refuses those it does not know.
func takeOptions(u *url.URL) (*Options, error) {
	var opts Options
	var err error
	query := u.Query()
	if s := query.Get("default_ttl"); s != "" {
		if opts.DefaultTTL, err = time.ParseDuration(s); err != nil || opts.DefaultTTL <= 0 {
			return nil, fmt.Errorf("redis: default_ttl=%q is not a positive duration such as 10m", s)
		}
	}
	if s := query.Get("max_value_bytes"); s != "" {
		if opts.MaxValueBytes, err = strconv.Atoi(s); err != nil || opts.MaxValueBytes <= 0 {
			return nil, fmt.Errorf("redis: max_value_bytes=%q is not a positive number of bytes", s)
		}
	}
	query.Del("default_ttl")
	query.Del("max_value_bytes")
	u.RawQuery = query.Encode()
	return &opts, nil
}

// MaxValueBytes is the longest value that the store takes.
func (s *Store) MaxValueBytes() int { return s.maxValueBytes }

// Get implements howdah.Backend.
func (s *Store) Get(ctx context.Context, key string) ([]byte, error) {
	if err := s.ready(ctx, key); err != nil {
		return nil, err
	}
	value, err := remote.Call(ctx, func() (string, error) { return s.client.Get(ctx, key).Result() })
	if errors.Is(err, goredis.Nil) {
		return nil, howdah.ErrMiss
	}
	if err != nil {
		return nil, failure(remote.Read, err)
	}
	// A copy: the client's own Bytes would alias a string, which is not the
	// caller's to change.
	return []byte(value), nil
}

// Set implements howdah.Backend. Redis counts in milliseconds: a TTL is
// rounded up to the next.
func (s *Store) Set(ctx context.Context, key string, value []byte, ttl time.Duration) error {
	return s.SetMany(ctx, []howdah.Item{{Key: key, Value: value}}, ttl)
}

// Delete implements howdah.Backend.
func (s *Store) Delete(ctx context.Context, key string) error {
	if err := s.ready(ctx, key); err != nil {
		return err
	}
	_, err := remote.Call(ctx, func() (int64, error) { return s.client.Del(ctx, key).Result() })
	return failure(remote.Write, err)
}

// GetMany implements howdah.Backend. It is a pipeline of GETs rather than one
// MGET, so that it works on a cluster; other callers' writes may fall between.
func (s *Store) GetMany(ctx context.Context, keys []string) (map[string][]byte, error) {
	if err := s.ready(ctx, keys...); err != nil {
		return nil, err
	}
	keys = append([]string(nil), keys...) // see remote.Call
	found, err := remote.Call(ctx, func() (map[string][]byte, error) {
		found := make(map[string][]byte, len(keys))
		for len(keys) > 0 && ctx.Err() == nil {
			n := min(len(keys), pipelineCommands)
			answers, err := s.client.Pipelined(ctx, func(p goredis.Pipeliner) error {
				for _, key := range keys[:n] {
					p.Get(ctx, key)
				}
				return nil
			})
			if err != nil && !errors.Is(err, goredis.Nil) {
				return nil, err
			}
			for i, answer := range answers {
				value, err := answer.(*goredis.StringCmd).Result()
				if err == nil {
					found[keys[i]] = []byte(value)
				} else if !errors.Is(err, goredis.Nil) {
					return nil, err
				}
			}
			keys = keys[n:]
		}
		return found, ctx.Err()
	})
	if err != nil {
		return nil, failure(remote.Read, err)
	}
	return found, nil
}

// SetMany implements howdah.Backend, as pipelines of SETs. Nothing is sent if
// one item is refused; if the connection fails, some may have been stored.
func (s *Store) SetMany(ctx context.Context, items []howdah.Item, ttl time.Duration) error {
	if err := s.ready(ctx); err != nil {
		return err
	}
	switch {
	case ttl < 0:
		return fmt.Errorf("%w: %v is negative; use 0 for the default or howdah.NoExpiry", howdah.ErrInvalidTTL, ttl)
	case ttl == 0:
		ttl = s.defaultTTL
	}
	commands := make([][]any, len(items))
	for i, item := range items {
		if err := s.check(item); err != nil {
			return err
		}
		commands[i] = setCommand(item, ttl)
	}
	_, err := remote.Call(ctx, func() (struct{}, error) {
		for len(commands) > 0 && ctx.Err() == nil {
			n := pipelineLength(commands)
			_, err := s.client.Pipelined(ctx, func(p goredis.Pipeliner) error {
				for _, command := range commands[:n] {
					p.Do(ctx, command...)
				}
				return nil
			})
			if err != nil {
				return struct{}{}, err
			}
			commands = commands[n:]
		}
		return struct{}{}, ctx.Err()
	})
	return failure(remote.Write, err)
}

// setCommand copies the value: see remote.Call.
func setCommand(item howdah.Item, ttl time.Duration) []any {
	command := []any{"SET", item.Key, string(item.Value)}
	if ttl == howdah.NoExpiry {
		return command
	}
	milliseconds := int64(ttl / time.Millisecond)
	if ttl%time.Millisecond > 0 {
		milliseconds++
	}
	return append(command, "PX", milliseconds)
}

// pipelineLength is how many of the commands go together, at least one.
func pipelineLength(commands [][]any) int {
	bytes := 0
	for n, command := range commands {
		bytes += len(command[1].(string)) + len(command[2].(string))
		if n > 0 && (n == pipelineCommands || bytes > pipelineBytes) {
			return n
		}
	}
	return len(commands)
}

// Close closes the client if Open made it. It may be called twice.
func (s *Store) Close() error {
	if s.closed.CompareAndSwap(false, true) && s.owned {
		return s.client.Close()
	}
	return nil
}

func (s *Store) ready(ctx context.Context, keys ...string) error {
	if s.closed.Load() {
		return howdah.ErrClosed
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	for _, key := range keys {
		if err := checkKey(key); err != nil {
			return err
		}
	}
	return nil
}

func checkKey(key string) error {
	if len(key) > howdah.MaxKeyBytes {
		return fmt.Errorf("%w: %d bytes, at most %d", howdah.ErrKeyTooLong, len(key), howdah.MaxKeyBytes)
	}
	return nil
}

func (s *Store) check(item howdah.Item) error {
	if err := checkKey(item.Key); err != nil {
		return err
	}
	if len(item.Value) > s.maxValueBytes {
		return fmt.Errorf("%w: %d bytes, at most %d", howdah.ErrValueTooLarge, len(item.Value), s.maxValueBytes)
	}
	return nil
}

func failure(direction remote.Direction, err error) error {
	switch {
	case err == nil, errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return err
	case errors.Is(err, goredis.ErrClosed):
		return howdah.ErrClosed
	case errors.Is(err, goredis.ErrPoolTimeout):
		return fmt.Errorf("%w: redis: %w", howdah.ErrOverloaded, err)
	case strings.HasPrefix(err.Error(), "OOM "):
		return fmt.Errorf("%w: redis: %w", howdah.ErrCacheFull, err)
	}
	return remote.Failure("redis", direction, err)
}
