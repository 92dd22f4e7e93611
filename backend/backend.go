// Package backend opens a store by its URL, so that an application changes
// between PostgreSQL, Redis, Memcached and memory by configuration.
// CapabilitiesOf tells what the stores do differently.
package backend

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/howdah/howdah"
	"github.com/howdah/howdah/backend/memcached"
	"github.com/howdah/howdah/backend/redis"
)

// DefaultCache is the cache that a PostgreSQL URL without cache= means. It is
// what Redis clients of a Howdah server know as database 0.
const DefaultCache = "db0"

// Options tune Open. The zero value of every field is its default.
type Options struct {
	// Postgres are the options of howdah.Open, for a PostgreSQL URL.
	Postgres *howdah.Options
}

// Open opens the store that the URL names; nil options are the defaults. Open
// asks the store for an answer before it returns, within ctx. Close the store
// when it is no longer used.
//
//	postgres://user@host/database?cache=pages   no cache= means db0; see howdah.Open for the rest
//	redis://user:password@host:6379/0           or rediss:// for TLS; see redis.Open for the parameters
//	memcached://host:11211,host:11211           see memcached.Open for the parameters
//	memory://?max_bytes=67108864                or max_entries=, max_value_bytes=, default_ttl=
//
// The errors are those of howdah.Open and howdah.ErrUnavailable, or one that
// says what is wrong with the URL. No error shows a password.
func Open(ctx context.Context, url string, opts *Options) (howdah.Backend, error) {
	var o Options
	if opts != nil {
		o = *opts
	}
	scheme, _, ok := strings.Cut(url, "://")
	if !ok {
		return nil, errors.New("backend: the URL has no scheme; begin it with postgres://, redis://, rediss://, memcached:// or memory://")
	}
	switch scheme {
	case "postgres", "postgresql":
		return opened(openPostgres(ctx, url, o.Postgres))
	case "redis", "rediss":
		return opened(redis.Open(ctx, url))
	case "memcached":
		return opened(memcached.Open(ctx, url))
	case "memory":
		return opened(openMemory(url))
	}
	return nil, fmt.Errorf("backend: scheme %q is not known; use postgres, redis, rediss, memcached or memory", scheme)
}

// opened keeps a nil pointer from becoming an interface that is not nil.
func opened[S howdah.Backend](store S, err error) (howdah.Backend, error) {
	if err != nil {
		return nil, err
	}
	return store, nil
}
