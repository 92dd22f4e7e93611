package httpapi

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/howdah/howdah"
	"github.com/howdah/howdah/internal/core"
	"github.com/howdah/howdah/internal/test/pgtest"
)

// serveNear serves a database whose cache near is kept in memory, for so long that
// nothing lapses meanwhile.
func serveNear(t *testing.T) *client {
	t.Helper()
	db, err := howdah.Open(t.Context(), pgtest.New(t), &howdah.Options{
		Timeout: 10 * time.Second, Near: howdah.NearOptions{Bound: 10 * time.Second},
	})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	ctx, cancel := context.WithCancel(context.Background())
	var upkeep sync.WaitGroup
	t.Cleanup(func() { cancel(); upkeep.Wait() })
	upkeep.Go(func() { _ = db.Run(ctx) })
	c := serve(t, func(o *Options) { o.DB, o.Near = (*core.DB)(db), true })
	c.json("POST", "/v1/caches", `{"name":"near"}`).want(t, 201)
	c.json("POST", "/v1/caches", `{"name":"far","near":false}`).want(t, 201)
	return c
}

// An answer from memory has all that one of PostgreSQL has, and says what it is.
func TestReadsFromMemory(t *testing.T) {
	t.Parallel()
	c := serveNear(t)
	k := entryPath("near", "k")
	c.do("PUT", k+"?ttl=1h", "v").want(t, 201)
	get := func(status string, header ...string) (got answer) {
		t.Helper()
		require.Eventually(t, func() bool { // until the change log was polled once
			got = c.do("GET", k, "", header...)
			return got.header.Get("Cache-Status") == status
		}, time.Minute, time.Millisecond, status)
		return got
	}
	memory := get("howdah; hit").want(t, 200)
	fresh := c.do("GET", k, "", "Cache-Control: no-cache").want(t, 200)
	require.Equal(t, "howdah; fwd=request", fresh.header.Get("Cache-Status"))
	require.Equal(t, "v", memory.body)
	require.Equal(t, fresh.body, memory.body)
	for _, name := range []string{"ETag", "Howdah-Version", "Content-Length", "Content-Type"} {
		require.Equal(t, fresh.header.Get(name), memory.header.Get(name), name)
	}
	require.Regexp(t, `^(35\d\d|3600)\.\d{3}$`, memory.header.Get("Howdah-TTL"))
	require.Equal(t, "howdah; fwd=method", c.do("HEAD", k, "").want(t, 200).header.Get("Cache-Status"))
	require.Equal(t, "howdah; fwd=request", c.do("GET", k, "", "If-Match: "+memory.header.Get("ETag")).want(t, 200).header.Get("Cache-Status"))

	tagged := "If-None-Match: " + memory.header.Get("ETag")
	get("howdah; hit", tagged).want(t, 304)
	c.do("PUT", k+"?ttl=none", "w").want(t, 204)
	require.Equal(t, "w", c.do("GET", k, "", tagged).want(t, 200).body, "an own write is seen at once")
	require.Equal(t, "none", get("howdah; hit").header.Get("Howdah-TTL"))

	c.do("DELETE", k, "").want(t, 204)
	c.do("GET", k, "").problem(t, 404, "key-not-found")
	got := get("howdah; hit")
	got.problem(t, 404, "key-not-found")
	require.Equal(t, "howdah; hit", got.header.Get("Cache-Status"), "an absent key is remembered too")

	c.do("PUT", entryPath("far", "k"), "v").want(t, 201)
	for range 3 {
		require.Equal(t, "howdah; fwd=miss", c.do("GET", entryPath("far", "k"), "").want(t, 200).header.Get("Cache-Status"))
	}
}
