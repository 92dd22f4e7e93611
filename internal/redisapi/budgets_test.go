package redisapi

import (
	"context"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/howdah/howdah/internal/resp"
	"github.com/howdah/howdah/internal/test/pgtest"
)

// shownSetting is what CONFIG GET answers of a setting.
func shownSetting(name, value string) string { return "*2\r\n" + bulk(name) + bulk(value) }

// TestBudgetByConfigSet: maxmemory and maxmemory-policy are those of the cache, for all servers.
func TestBudgetByConfigSet(t *testing.T) {
	t.Parallel()
	url := pgtest.New(t)
	c, other := dial(t, serveURL(t, url, Options{}).addr()), dial(t, serveURL(t, url, Options{}).addr())
	db, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close(context.Background())
	inPostgres := func(cache string, maxBytes int64, eviction string) {
		t.Helper()
		var bytes int64
		var policy string
		if err := db.QueryRow(t.Context(),
			"SELECT coalesce(max_bytes, 0), eviction FROM howdah_internal.cache WHERE name = $1", cache).Scan(&bytes, &policy); err != nil {
			t.Fatal(err)
		}
		if bytes != maxBytes || policy != eviction {
			t.Errorf("cache %s: %d bytes, %s; want %d, %s", cache, bytes, policy, maxBytes, eviction)
		}
	}
	c.want(resp.OK, "SELECT", "1")
	c.want(resp.OK, "SELECT", "0")
	c.want(shownSetting("maxmemory", "0"), "CONFIG", "GET", "maxmemory")
	c.want(resp.OK, "CONFIG", "SET", "maxmemory", "100mb", "hz", "20", "MAXMEMORY-POLICY", "noeviction")
	inPostgres("db0", 100<<20, "noeviction")
	other.want(shownSetting("maxmemory", "104857600"), "CONFIG", "GET", "maxmemory")
	other.want(shownSetting("maxmemory-policy", "noeviction"), "CONFIG", "GET", "maxmemory-policy")
	fields := infoFields(t, c.do("INFO", "memory"))
	if fields["maxmemory"] != "104857600" || fields["maxmemory_human"] != "100.00M" || fields["maxmemory_policy"] != "noeviction" {
		t.Errorf("INFO memory: %s, %s, %s", fields["maxmemory"], fields["maxmemory_human"], fields["maxmemory_policy"])
	}

	c.want(resp.OK, "SELECT", "1") // has a budget of its own
	c.want(shownSetting("maxmemory", "0"), "CONFIG", "GET", "maxmemory")
	c.want(resp.OK, "CONFIG", "SET", "maxmemory", "1gb")
	inPostgres("db1", 1<<30, "allkeys-lru")
	require.Equal(t, "allkeys-lru", infoFields(t, c.do("INFO", "memory"))["maxmemory_policy"])
	inPostgres("db0", 100<<20, "noeviction")

	if refused := c.do("CONFIG", "SET", "maxmemory", "2gb", "maxclients", "5"); !strings.HasPrefix(refused, "-ERR CONFIG SET failed") {
		t.Errorf("%q", refused)
	}
	c.want(resp.OK, "MULTI")
	c.want(resp.Queued, "CONFIG", "SET", "maxmemory", "2gb")
	c.want(resp.Queued, "CONFIG", "SET", "maxmemory", "1gb")
	c.want(resp.Queued, "CONFIG", "GET", "maxmemory")
	c.want("*3\r\n-"+string(errBudgetInMulti)+"\r\n+OK\r\n"+shownSetting("maxmemory", "1073741824"), "EXEC")
	inPostgres("db1", 1<<30, "allkeys-lru")
	c.want(resp.OK, "CONFIG", "SET", "maxmemory", "0")
	inPostgres("db1", 0, "allkeys-lru")
}

// TestBudgetOfAnotherOwner: a server whose role may not change caches says how it is done.
func TestBudgetOfAnotherOwner(t *testing.T) {
	t.Parallel()
	c := dial(t, serveURL(t, limitedURL(t, pgtest.New(t), "budgets"), Options{}).addr())
	c.want(resp.OK, "CONFIG", "SET", "maxmemory", "0", "maxmemory-policy", "allkeys-lru")
	c.want("-ERR CONFIG SET failed (possibly related to argument 'maxmemory-policy') - the database role may not change the cache db0; "+
		"run howdah caches alter db0 --max-bytes 104857600 --eviction noeviction as the owner of the schema\r\n",
		"CONFIG", "SET", "hz", "99", "maxmemory", "100mb", "maxmemory-policy", "noeviction")
	c.want(shownSetting("maxmemory", "0"), "CONFIG", "GET", "maxmemory")
	c.want(shownSetting("hz", "10"), "CONFIG", "GET", "hz")
}
