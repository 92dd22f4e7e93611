package httpapi

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// A full cache refuses what needs room with 507, and nothing else.
func TestFullCache(t *testing.T) {
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
