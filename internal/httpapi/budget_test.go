package httpapi

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/howdah/howdah/internal/test/pgtest"
)

// A full cache refuses what needs room with 507, and nothing else.
func TestFullCache(t *testing.T) {
	t.Parallel()
	c := serve(t, nil)
	c.json("POST", "/v1/caches", `{"name":"full","eviction":"noeviction","max_entries":2}`).want(t, 201)
	_, err := c.db.Pool().Exec(t.Context(), "SELECT howdah.set('full', k::text::bytea, '1') FROM generate_series(1, 3) AS k")
	require.NoError(t, err)
	_, err = c.db.Pool().Exec(t.Context(), "SELECT howdah.maintain('full')") // says that it is full
	require.NoError(t, err)
	for _, path := range []string{entryPath("full", "1"), entryPath("full", "new")} {
		c.do("PUT", path, "2").problem(t, 507, "out-of-memory")
	}
	require.Equal(t, "1", c.do("GET", entryPath("full", "1"), "").want(t, 200).body)
	c.do("DELETE", entryPath("full", "1"), "").want(t, 204)
}

// A class change that cannot get its lock says so, and changes nothing.
func TestCacheInUse(t *testing.T) {
	t.Parallel()
	c := serve(t, nil)
	c.json("POST", "/v1/caches", `{"name":"held"}`).want(t, 201)
	tx, err := c.db.Pool().Begin(t.Context())
	require.NoError(t, err)
	defer tx.Rollback(t.Context())
	_, err = tx.Exec(t.Context(), "SELECT FROM "+pgtest.Table(t, tx, "held"))
	require.NoError(t, err)
	c.json("PATCH", "/v1/caches/held", `{"durability":"sync"}`).problem(t, 409, "cache-in-use")
	c.do("DELETE", "/v1/caches/held", "").problem(t, 409, "cache-in-use")
	require.NoError(t, tx.Rollback(t.Context()))
	require.Contains(t, c.do("GET", "/v1/caches/held", "").want(t, 200).body, `"durability":"unlogged"`)
	require.Contains(t, c.json("PATCH", "/v1/caches/held", `{"durability":"sync"}`).want(t, 200).body, `"durability":"sync"`)
}
