//go:build clients

package server

import (
	"context"
	"fmt"
	"net"
	"testing"
	"time"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/require"
)

// clusters runs redis-cli and rueidis against a server that is a cluster; the cluster clients of
// other languages run with those languages.
func (c *clients) clusters(t *testing.T) {
	t.Run("rueidis", func(t *testing.T) { checkRueidisCluster(t, c.cluster, c.one) })
	t.Run("redis-cli", func(t *testing.T) {
		host, port, err := net.SplitHostPort(c.cluster)
		require.NoError(t, err)
		c.run(t, t.TempDir(), nil, "redis-cli", "-e", "-c", "-h", host, "-p", port, "MSET", "a", "1", "b", "2")
		c.run(t, t.TempDir(), nil, "redis-cli", "--cluster", "check", c.cluster)
	})
}

// checkRueidisCluster runs rueidis with its default settings: it finds the cluster by itself. With
// the address of a server that is no cluster it has no rules of slots.
func checkRueidisCluster(t *testing.T, cluster, plain string) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	connect := func(address string) rueidis.Client {
		c, err := rueidis.NewClient(rueidis.ClientOption{InitAddress: []string{address}})
		require.NoError(t, err)
		t.Cleanup(c.Close)
		return c
	}
	c, single := connect(cluster), connect(plain)
	require.Equal(t, rueidis.ClientModeCluster, c.Mode())
	require.Equal(t, rueidis.ClientModeStandalone, single.Mode())
	require.Contains(t, c.Nodes(), cluster)
	var sets, gets rueidis.Commands
	for i := range 200 {
		key := fmt.Sprint("rueidis:", i)
		sets = append(sets, c.B().Set().Key(key).Value(fmt.Sprint(i)).ExSeconds(60).Build())
		gets = append(gets, c.B().Get().Key(key).Build())
	}
	for _, r := range c.DoMulti(ctx, sets...) {
		require.NoError(t, r.Error())
	}
	for i, r := range c.DoMulti(ctx, gets...) {
		value, err := r.ToString()
		require.NoError(t, err)
		require.Equal(t, fmt.Sprint(i), value)
	}
	err := c.Dedicated(func(d rueidis.DedicatedClient) error {
		for _, r := range d.DoMulti(ctx, d.B().Multi().Build(), d.B().Set().Key("{r}a").Value("1").Build(), d.B().Incr().Key("{r}a").Build(), d.B().Exec().Build()) {
			if err := r.Error(); err != nil {
				return err
			}
		}
		return nil
	})
	require.NoError(t, err)
	crossing := func(client rueidis.Client) func() {
		return func() {
			client.Dedicated(func(d rueidis.DedicatedClient) error {
				d.DoMulti(ctx, d.B().Get().Key("a").Build(), d.B().Get().Key("b").Build())
				return nil
			})
		}
	}
	require.Panics(t, crossing(c), "rueidis itself refuses several slots on one connection of a cluster")
	require.NotPanics(t, crossing(single))
	becomes(ctx, t, c, "{r}a", "2") // by way of its memory
}
