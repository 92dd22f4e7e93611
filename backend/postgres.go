package backend

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"

	"github.com/howdah/howdah"
)

// Postgres is the store that Open makes of a PostgreSQL URL: one cache, and
// the connections it came with. The embedded Cache has the verbs that other
// stores lack; DB leads to the other caches.
type Postgres struct {
	*howdah.Cache
	DB            *howdah.DB
	maxValueBytes int
}

var _ howdah.Backend = (*Postgres)(nil)

// Close closes the connections. It may be called twice.
func (p *Postgres) Close() error { return p.DB.Close() }

func openPostgres(ctx context.Context, rawURL string, opts *howdah.Options) (*Postgres, error) {
	name, databaseURL, err := takeCache(rawURL)
	if err != nil {
		return nil, err
	}
	db, err := howdah.Open(ctx, databaseURL, opts)
	if err != nil {
		return nil, err
	}
	store := &Postgres{Cache: db.Cache(name), DB: db, maxValueBytes: howdah.DefaultMaxValueBytes}
	if opts != nil && opts.MaxValueBytes > 0 {
		store.maxValueBytes = opts.MaxValueBytes
	}
	// Any read tells whether the cache is there and may be read.
	if _, err := store.Stat(ctx, ""); err != nil && !errors.Is(err, howdah.ErrMiss) {
		_ = db.Close()
		return nil, fmt.Errorf("backend: cache %q: %w", name, err)
	}
	return store, nil
}

// takeCache removes the parameter cache from the URL, because the database
// would take it for a setting of its own. The rest is left as it is: a URL
// that names several hosts is not one to net/url.
func takeCache(rawURL string) (name, databaseURL string, err error) {
	base, parameters, _ := strings.Cut(rawURL, "?")
	query, err := url.ParseQuery(parameters)
	if err != nil {
		return "", "", errors.New("backend: the parameters of the URL cannot be read; write ?name=value&name=value")
	}
	if !query.Has("cache") {
		return DefaultCache, rawURL, nil
	}
	name = query.Get("cache")
	if name == "" {
		return "", "", errors.New("backend: cache= in the URL is empty; name a cache or leave it out for db0")
	}
	query.Del("cache")
	if len(query) > 0 {
		base += "?" + query.Encode()
	}
	return name, base, nil
}
