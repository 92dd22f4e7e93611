package httpapi

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// asks sends a GET for a lease and checks its state.
func (c *client) asks(t *testing.T, path, state string, status int) answer {
	t.Helper()
	got := c.do("GET", path, "", "Prefer: respond-async, lease=100").want(t, status)
	require.Equal(t, state, got.header.Get("Lease-State"))
	require.Equal(t, "lease", got.header.Get("Preference-Applied"))
	return got
}

func TestLeases(t *testing.T) {
	t.Parallel()
	c := serve(t, nil)
	k := entryPath("db0", "k")
	won := c.asks(t, k, "won", 404)
	won.problem(t, 404, "key-not-found")
	require.Regexp(t, `^(\d\d|100)\.\d{3}$`, won.header.Get("Lease-Left"))
	lease := "If-Lease: " + won.header.Get("Lease")
	lost := c.asks(t, k, "lost", 404)
	require.Empty(t, lost.header.Get("Lease"))
	require.Equal(t, "1", lost.header.Get("Retry-After"))
	c.do("GET", k, "").want(t, 404)
	c.do("HEAD", k, "", "Prefer: lease=10").want(t, 404)

	c.do("PUT", k, "v", "If-Lease: 1").problem(t, 412, "precondition-failed")
	stored := c.do("PUT", k+"?ttl=1h", "v", lease).want(t, 204)
	c.do("PUT", k, "late", lease).want(t, 412)
	hit := c.asks(t, k, "hit", 200)
	require.Equal(t, "v", hit.body)
	require.Equal(t, stored.header.Get("ETag"), hit.header.Get("ETag"))
	require.Regexp(t, `^(35\d\d|3600)\.\d{3}$`, hit.header.Get("Howdah-TTL"))
	require.Empty(t, hit.header.Get("Lease"))
	c.do("GET", k, "", "Prefer: lease=10", "If-None-Match: "+hit.header.Get("ETag")).want(t, 304)

	// Stale: one loads, all are served.
	s := entryPath("db0", "s")
	lease = "If-Lease: " + c.asks(t, s, "won", 404).header.Get("Lease")
	c.do("PUT", s+"?ttl=1ms&stale=1h", "old", lease).want(t, 204)
	require.Eventually(t, func() bool { return c.do("GET", s, "").status == 404 }, time.Minute, time.Millisecond)
	stale := c.asks(t, s, "stale", 200)
	require.Equal(t, "old", stale.body)
	require.Regexp(t, `^-\d+\.\d{3}$`, stale.header.Get("Howdah-TTL"))
	require.NotEmpty(t, stale.header.Get("Lease"))
	require.Empty(t, c.asks(t, s, "stale", 200).header.Get("Lease"))
	lease = "If-Lease: " + stale.header.Get("Lease")
	c.do("DELETE", s, "", lease).want(t, 204)
	c.do("DELETE", s, "", lease).problem(t, 412, "precondition-failed")
	require.NotEmpty(t, c.asks(t, s, "stale", 200).header.Get("Lease"), "the lease was ended, the value is there")

	// Nothing to load, and an invalidation.
	a := entryPath("db0", "a")
	lease = "If-Lease: " + c.asks(t, a, "won", 404).header.Get("Lease")
	c.do("PUT", a+"?ttl=1h&absent=true", "", lease).want(t, 204)
	require.Regexp(t, `^(35\d\d|3600)\.\d{3}$`, c.asks(t, a, "absent", 404).header.Get("Lease-Left"))
	c.do("DELETE", a, "").want(t, 404)
	lease = "If-Lease: " + c.asks(t, a, "won", 404).header.Get("Lease")
	c.do("DELETE", a, "").want(t, 404)
	c.do("PUT", a, "old", lease).want(t, 412)

	for _, prefer := range []string{"lease", "lease=", "lease=0", "lease=-1", "lease=none", "lease=x"} {
		c.do("GET", k, "", "Prefer: "+prefer).problem(t, 400, "bad-request")
	}
	c.do("PUT", k, "v", "If-Lease: x").problem(t, 400, "bad-request")
	c.do("PUT", k, "v", "If-Lease: 1", "If-Match: *").problem(t, 400, "bad-request")
	c.do("DELETE", k, "", "If-Lease: x").problem(t, 400, "bad-request")
	c.do("PUT", k+"?stale=1h", "v").problem(t, 400, "bad-request")
	c.do("PUT", k+"?stale=x", "v", "If-Lease: 1").problem(t, 400, "invalid-ttl")
	c.do("PUT", k+"?absent=perhaps", "v", "If-Lease: 1").problem(t, 400, "bad-request")
	c.do("PUT", k+"?absent=true", "v", "If-Lease: 1").problem(t, 400, "invalid-ttl")
	c.do("POST", k+"/increment", "", "If-Lease: 1").problem(t, 400, "bad-request")
}
