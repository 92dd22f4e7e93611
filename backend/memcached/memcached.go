// Package memcached is a store in one or several Memcached servers, through
// the gomemcache client. Several servers share the keys by their hash.
//
// Memcached holds less than the other stores: see MaxKeyBytes,
// ErrUnsupportedKey, Options.MaxValueBytes and Set. What it cannot hold is
// refused before anything is sent, never changed to fit.
package memcached

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/bradfitz/gomemcache/memcache"
	"golang.org/x/sync/errgroup"

	"github.com/howdah/howdah"
	"github.com/howdah/howdah/backend/internal/remote"
)

const (
	// MaxKeyBytes is the longest key that Memcached takes.
	MaxKeyBytes = 250

	// DefaultMaxValueBytes is the longest value by default: 1 MiB less 512
	// bytes, because a server's item of 1 MiB holds the key and a header too.
	DefaultMaxValueBytes = 1<<20 - itemOverhead

	// itemOverhead is more than a header and the longest key need.
	itemOverhead = 512

	// maxRequestKeys is how many keys one request of GetMany names.
	maxRequestKeys = 1000

	// parallelSets is how many items of SetMany are under way at once: the
	// protocol stores them one by one.
	parallelSets = 8
)

// ErrUnsupportedKey says that Memcached's protocol cannot carry a key: it is
// empty, longer than 250 bytes (the error is howdah.ErrKeyTooLong too), or
// holds a space or a control character. Nothing was sent.
var ErrUnsupportedKey = errors.New("memcached: key cannot be stored")

// Options tune a Store. The zero value of every field is its default.
type Options struct {
	// DefaultTTL is used where a TTL of 0 is asked for. Default: none.
	DefaultTTL time.Duration

	// MaxValueBytes bounds a value. Default DefaultMaxValueBytes; raise it
	// for servers that were started with a larger -I.
	MaxValueBytes int
}

// Store is a howdah.Backend in Memcached. It is safe for concurrent use.
type Store struct {
	client        *memcache.Client
	owned         bool // Close closes client
	defaultTTL    time.Duration
	maxValueBytes int
	closed        atomic.Bool
}

var _ howdah.Backend = (*Store)(nil)

// New uses a client of the application's own; nil options are the defaults.
// Close does not close it.
func New(client *memcache.Client, opts *Options) (*Store, error) {
	var o Options
	if opts != nil {
		o = *opts
	}
	if o.DefaultTTL < 0 || o.MaxValueBytes < 0 {
		return nil, errors.New("memcached: a limit or TTL is negative; leave it 0 for the default")
	}
	if o.DefaultTTL == 0 {
		o.DefaultTTL = howdah.NoExpiry
	}
	if o.MaxValueBytes == 0 {
		o.MaxValueBytes = DefaultMaxValueBytes
	}
	return &Store{client: client, defaultTTL: o.DefaultTTL, maxValueBytes: o.MaxValueBytes}, nil
}

// Open uses the servers of memcached://host:port[,host:port...] and asks each
// for an answer. The port is 11211 if it is left out. The URL may carry the
// parameters default_ttl and timeout (Go durations; the timeout bounds each
// exchange, by default 500ms), max_value_bytes and max_idle_conns (for each
// server, by default 8).
func Open(ctx context.Context, rawURL string) (*Store, error) {
	servers, query, err := splitURL(rawURL)
	if err != nil {
		return nil, err
	}
	var opts Options
	timeout, idle := memcache.DefaultTimeout, parallelSets
	for name, values := range query {
		var err error
		switch value := values[len(values)-1]; name {
		case "default_ttl":
			opts.DefaultTTL, err = positiveDuration(value)
		case "timeout":
			timeout, err = positiveDuration(value)
		case "max_value_bytes":
			opts.MaxValueBytes, err = positiveInt(value)
		case "max_idle_conns":
			idle, err = positiveInt(value)
		default:
			err = errors.New("is not known; use default_ttl, timeout, max_value_bytes or max_idle_conns")
		}
		if err != nil {
			return nil, fmt.Errorf("memcached: URL parameter %s %w", name, err)
		}
	}
	selector := new(memcache.ServerList)
	if err := selector.SetServers(servers...); err != nil {
		return nil, fmt.Errorf("%w: memcached: %w", howdah.ErrUnavailable, err)
	}
	client := memcache.NewFromSelector(selector)
	client.Timeout = timeout
	client.MaxIdleConns = idle
	store, err := New(client, &opts)
	if err != nil {
		return nil, err
	}
	store.owned = true
	_, err = remote.Call(ctx, func() (struct{}, error) { return struct{}{}, client.Ping() })
	if err != nil {
		_ = store.Close()
		return nil, failure(remote.Read, err)
	}
	return store, nil
}

// splitURL reads the list of servers by hand: a host with two ports is not a
// URL to net/url.
func splitURL(rawURL string) (servers []string, query url.Values, err error) {
	rest, ok := strings.CutPrefix(rawURL, "memcached://")
	if !ok {
		return nil, nil, errors.New("memcached: the URL must begin with memcached://")
	}
	hosts, parameters, _ := strings.Cut(rest, "?")
	hosts = strings.TrimSuffix(hosts, "/")
	if strings.ContainsAny(hosts, "/@") || hosts == "" {
		return nil, nil, errors.New("memcached: write memcached://host:11211 or memcached://host:11211,host:11211, without user, password or path")
	}
	for host := range strings.SplitSeq(hosts, ",") {
		if _, _, err := net.SplitHostPort(host); err != nil {
			host = net.JoinHostPort(strings.Trim(host, "[]"), "11211")
		}
		if strings.HasPrefix(host, ":") {
			return nil, nil, errors.New("memcached: a server in the URL has no host name")
		}
		servers = append(servers, host)
	}
	query, err = url.ParseQuery(parameters)
	if err != nil {
		return nil, nil, errors.New("memcached: the parameters of the URL cannot be read; write ?name=value&name=value")
	}
	return servers, query, nil
}

func positiveDuration(s string) (time.Duration, error) {
	d, err := time.ParseDuration(s)
	if err != nil || d <= 0 {
		return 0, fmt.Errorf("is %q, not a positive duration such as 10m", s)
	}
	return d, nil
}

func positiveInt(s string) (int, error) {
	n, err := strconv.Atoi(s)
	if err != nil || n <= 0 {
		return 0, fmt.Errorf("is %q, not a positive number", s)
	}
	return n, nil
}

// MaxValueBytes is the longest value that the store takes.
func (s *Store) MaxValueBytes() int { return s.maxValueBytes }

// Get implements howdah.Backend.
func (s *Store) Get(ctx context.Context, key string) ([]byte, error) {
	if err := s.ready(ctx, key); err != nil {
		return nil, err
	}
	item, err := remote.Call(ctx, func() (*memcache.Item, error) { return s.client.Get(key) })
	if errors.Is(err, memcache.ErrCacheMiss) {
		return nil, howdah.ErrMiss
	}
	if err != nil {
		return nil, failure(remote.Read, err)
	}
	return item.Value, nil
}

// Set implements howdah.Backend. A TTL is rounded up to whole seconds, and
// the server's clock ticks once a second: an entry lives up to one second
// less. A TTL over 30 days becomes a point in time by this machine's clock;
// one beyond 2038-01-19 is refused with howdah.ErrInvalidTTL.
func (s *Store) Set(ctx context.Context, key string, value []byte, ttl time.Duration) error {
	return s.SetMany(ctx, []howdah.Item{{Key: key, Value: value}}, ttl)
}

// Delete implements howdah.Backend.
func (s *Store) Delete(ctx context.Context, key string) error {
	if err := s.ready(ctx, key); err != nil {
		return err
	}
	_, err := remote.Call(ctx, func() (struct{}, error) { return struct{}{}, s.client.Delete(key) })
	if errors.Is(err, memcache.ErrCacheMiss) {
		return nil
	}
	return failure(remote.Write, err)
}

// GetMany implements howdah.Backend, with requests of 1,000 keys.
func (s *Store) GetMany(ctx context.Context, keys []string) (map[string][]byte, error) {
	if err := s.ready(ctx, keys...); err != nil {
		return nil, err
	}
	keys = distinct(keys)
	found, err := remote.Call(ctx, func() (map[string][]byte, error) {
		found := make(map[string][]byte, len(keys))
		for len(keys) > 0 && ctx.Err() == nil {
			n := min(len(keys), maxRequestKeys)
			items, err := s.client.GetMulti(keys[:n])
			if err != nil {
				return nil, err
			}
			for key, item := range items {
				found[key] = item.Value
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

// SetMany implements howdah.Backend, several items at a time. Nothing is sent
// if one item is refused; if a server fails, some may have been stored.
func (s *Store) SetMany(ctx context.Context, items []howdah.Item, ttl time.Duration) error {
	if err := s.ready(ctx); err != nil {
		return err
	}
	if ttl == 0 {
		ttl = s.defaultTTL
	}
	expiration, err := expirationAt(time.Now(), ttl)
	if err != nil {
		return err
	}
	last := make(map[string][]byte, len(items))
	for _, item := range items {
		if err := checkKey(item.Key); err != nil {
			return err
		}
		if len(item.Value) > s.maxValueBytes {
			return fmt.Errorf("%w: %d bytes, at most %d", howdah.ErrValueTooLarge, len(item.Value), s.maxValueBytes)
		}
		last[item.Key] = item.Value
	}
	stored := make([]*memcache.Item, 0, len(last))
	for key, value := range last { // a copy of the value: see remote.Call
		stored = append(stored, &memcache.Item{Key: key, Value: bytes.Clone(value), Expiration: expiration})
	}
	_, err = remote.Call(ctx, func() (struct{}, error) { return struct{}{}, s.store(ctx, stored) })
	return failure(remote.Write, err)
}

func (s *Store) store(ctx context.Context, items []*memcache.Item) error {
	if len(items) == 1 {
		return s.client.Set(items[0])
	}
	group, failed := errgroup.WithContext(ctx)
	group.SetLimit(parallelSets)
	for _, item := range items {
		if failed.Err() != nil {
			break
		}
		group.Go(func() error { return s.client.Set(item) })
	}
	if err := group.Wait(); err != nil {
		return err
	}
	return ctx.Err()
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

func distinct(keys []string) []string {
	seen := make(map[string]bool, len(keys))
	kept := make([]string, 0, len(keys))
	for _, key := range keys {
		if !seen[key] {
			seen[key] = true
			kept = append(kept, key)
		}
	}
	return kept
}
