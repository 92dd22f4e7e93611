package rival

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"strings"
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

// MemcachedStat asks a server for one of its statistics, which gomemcache does
// not read.
func MemcachedStat(addr, name string) (string, error) {
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		return "", err
	}
	defer conn.Close()
	if _, err := conn.Write([]byte("stats\r\n")); err != nil {
		return "", err
	}
	lines := bufio.NewScanner(conn)
	for lines.Scan() && lines.Text() != "END" {
		if value, ok := strings.CutPrefix(lines.Text(), "STAT "+name+" "); ok {
			return value, nil
		}
	}
	return "", fmt.Errorf("memcached at %s does not tell %q", addr, name)
}
