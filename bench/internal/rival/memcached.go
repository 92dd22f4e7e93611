package rival

import (
	"context"
	"time"

	"github.com/bradfitz/gomemcache/memcache"
)

// MemcachedName is gomemcache in the report.
const MemcachedName = "gomemcache"

type memcached struct{ client *memcache.Client }

// NewMemcached uses gomemcache, which opens a connection for each call that is
// under way. idle of them are kept, which its documentation wants above the
// number of callers; its default, 2, would connect anew for nearly every call.
func NewMemcached(addr string, idle int) Rival {
	client := memcache.New(addr)
	client.MaxIdleConns = idle
	client.Timeout = 10 * time.Second // which a saturated machine does not meet
	return &memcached{client}
}

func (r *memcached) Name() string { return MemcachedName }

func (r *memcached) Get(_ context.Context, key string) ([]byte, error) {
	item, err := r.client.Get(key)
	if err != nil {
		return nil, err
	}
	return item.Value, nil
}

func (r *memcached) Set(_ context.Context, key string, value []byte) error {
	return r.client.Set(&memcache.Item{Key: key, Value: value})
}

func (r *memcached) Close() error { return r.client.Close() }
