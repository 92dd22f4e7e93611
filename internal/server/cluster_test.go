package server

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/howdah/howdah/internal/test/pgtest"
)

// cluster is a go-redis cluster client.
func (s *running) cluster() *redis.ClusterClient {
	c := redis.NewClusterClient(&redis.ClusterOptions{
		Addrs: []string{s.Redis.String()}, Password: s.config.Password, TLSConfig: s.tls,
		DialTimeout: patience, ReadTimeout: patience, WriteTimeout: patience,
	})
	s.t.Cleanup(func() { c.Close() })
	return c
}

// TestGoRedisCluster runs the cluster client of go-redis, over plain connections and over TLS, and the
// ordinary client beside it.
func TestGoRedisCluster(t *testing.T) {
	t.Parallel()
	certs := newCertificates(t)
	test := func(t *testing.T, configure func(*Config)) {
		s := start(t, func(c *Config) {
			c.RedisCluster, c.Password = true, "secret"
			configure(c)
		})
		if s.config.TLSCert != "" {
			s.tls = &tls.Config{RootCAs: certs.pool, ServerName: "localhost"}
		}
		c := s.cluster()
		checkCluster(t, c)
		checkClusterSlots(t, c)
		checkClusterMessages(t, c)
		shards, err := c.ClusterShards(t.Context()).Result()
		require.NoError(t, err)
		node := shards[0].Nodes[0]
		require.Equal(t, s.Redis.String(), fmt.Sprintf("%s:%d", node.IP, node.Port+node.TLSPort))
		require.Equal(t, s.config.TLSCert != "", node.TLSPort != 0)

		plain := s.client() // the rules of a cluster are not the server's
		require.NoError(t, plain.MSet(t.Context(), "a", 1, "b", 2).Err())
		got, err := plain.TxPipelined(t.Context(), func(p redis.Pipeliner) error {
			p.Incr(t.Context(), "a")
			p.Incr(t.Context(), "b")
			return nil
		})
		require.NoError(t, err)
		require.Equal(t, int64(3), got[1].(*redis.IntCmd).Val())
	}
	drivers(t, test)
	t.Run("tls", func(t *testing.T) {
		test(t, func(c *Config) { c.TLSCert, c.TLSKey = certs.cert, certs.key })
	})
}

// Clients of a Redis Cluster use a database in partitions: keys of several slots are one
// command, and a transaction is of one partition.
func TestGoRedisClusterDivided(t *testing.T) {
	t.Parallel()
	s := start(t, func(c *Config) { c.RedisCluster, c.DatabaseURL = true, pgtest.Divided(t, 8) })
	c := s.cluster()
	checkCluster(t, c)
	checkClusterSlots(t, c)
	checkClusterMessages(t, c)

	const number = 50
	ctx, plain := t.Context(), s.client()
	var keys []string
	var want []any
	pairs := map[string]any{}
	for i := range number {
		keys, want = append(keys, fmt.Sprint("many:", i)), append(want, fmt.Sprint(i))
		pairs[keys[i]] = i
	}
	require.NoError(t, c.MSet(ctx, pairs).Err())
	require.Equal(t, want, c.MGet(ctx, keys...).Val())
	require.Equal(t, int64(number), c.Exists(ctx, keys...).Val())
	_, err := plain.TxPipelined(ctx, func(p redis.Pipeliner) error {
		for _, key := range keys {
			p.Incr(ctx, key)
		}
		return nil
	})
	require.ErrorContains(t, err, "CROSSSLOT")
	require.ErrorContains(t, c.MSetNX(ctx, pairs).Err(), "CROSSSLOT")
	require.ErrorContains(t, c.Eval(ctx, "return 1", keys).Err(), "CROSSSLOT")
	require.Equal(t, want, c.MGet(ctx, keys...).Val(), "nothing was done")
	require.Equal(t, int64(number), c.Del(ctx, keys...).Val())
}

// checkCluster does what applications do.
func checkCluster(t *testing.T, c *redis.ClusterClient) {
	ctx := t.Context()
	for i := range 200 {
		require.NoError(t, c.Set(ctx, fmt.Sprint("key:", i), i, time.Minute).Err())
	}
	got, err := c.Pipelined(ctx, func(p redis.Pipeliner) error {
		for i := range 200 {
			p.Get(ctx, fmt.Sprint("key:", i))
		}
		return nil
	})
	require.NoError(t, err)
	for i, cmd := range got {
		require.Equal(t, fmt.Sprint(i), cmd.(*redis.StringCmd).Val())
	}
	require.NoError(t, c.HSet(ctx, "h", "f", "v").Err())
	require.Equal(t, "v", c.HGet(ctx, "h", "f").Val())
	require.NoError(t, c.ForEachMaster(ctx, func(ctx context.Context, master *redis.Client) error { return master.Ping(ctx).Err() }))
	size, err := c.DBSize(ctx).Result()
	require.NoError(t, err)
	require.Equal(t, int64(201), size)
	script := redis.NewScript("return redis.call('INCRBY', KEYS[1], ARGV[1])")
	require.Equal(t, int64(5), script.Run(ctx, c, []string{"n"}, 5).Val())
	require.NoError(t, c.Watch(ctx, func(tx *redis.Tx) error {
		_, err := tx.TxPipelined(ctx, func(p redis.Pipeliner) error {
			p.Incr(ctx, "n")
			return nil
		})
		return err
	}, "n"))
	require.Equal(t, "6", c.Get(ctx, "n").Val())
	popped := make(chan string, 1)
	go func() { popped <- strings.Join(c.BLPop(ctx, patience, "{q}1", "{q}2").Val(), " ") }()
	require.NoError(t, c.RPush(ctx, "{q}2", "v").Err())
	require.Equal(t, "{q}2 v", <-popped)
}

// checkClusterSlots uses several slots at once: the server answers what the client sends.
func checkClusterSlots(t *testing.T, c *redis.ClusterClient) {
	ctx := t.Context()
	require.NotEqual(t, c.ClusterKeySlot(ctx, "a").Val(), c.ClusterKeySlot(ctx, "b").Val())
	require.NoError(t, c.MSet(ctx, "a", 1, "b", 2).Err())
	require.Equal(t, []any{"1", "2"}, c.MGet(ctx, "a", "b").Val())
	require.Equal(t, int64(2), c.Exists(ctx, "a", "b").Val())
	_, err := c.TxPipelined(ctx, func(p redis.Pipeliner) error {
		p.Incr(ctx, "a")
		p.Incr(ctx, "b")
		return nil
	})
	require.ErrorIs(t, err, redis.ErrCrossSlot, "the client itself refuses")
	_, err = c.TxPipelined(ctx, func(p redis.Pipeliner) error {
		p.Incr(ctx, "{a}1")
		p.Incr(ctx, "{a}2")
		return nil
	})
	require.NoError(t, err)
	require.Equal(t, int64(2), c.Del(ctx, "a", "b").Val())
}

// checkClusterMessages takes messages of a channel, a pattern and a shard channel.
func checkClusterMessages(t *testing.T, c *redis.ClusterClient) {
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	for _, kind := range []struct {
		subscribed *redis.PubSub
		channel    string
		publish    func(ctx context.Context, channel string, message any) *redis.IntCmd
	}{
		{c.Subscribe(ctx, "one"), "one", c.Publish},
		{c.PSubscribe(ctx, "m*"), "many", c.Publish},
		{c.SSubscribe(ctx, "one"), "one", c.SPublish}, // the channel above is another
	} {
		_, err := kind.subscribed.Receive(ctx) // the confirmation
		require.NoError(t, err)
		require.Equal(t, int64(1), kind.publish(ctx, kind.channel, "m").Val())
		m, err := kind.subscribed.ReceiveMessage(ctx)
		require.NoError(t, err)
		require.Equal(t, "m", m.Payload)
		require.NoError(t, kind.subscribed.Close())
	}
}

// A client that reaches the server only through another address, as behind NAT, is told that
// address, and uses it for all that follows.
func TestClusterAnnounce(t *testing.T) {
	t.Parallel()
	gate, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	s := start(t, func(c *Config) { c.RedisCluster, c.RedisAnnounce = true, gate.Addr().String() })
	forward(t, gate, s.Redis.String())
	for _, seed := range []string{gate.Addr().String(), s.Redis.String()} {
		c := redis.NewClusterClient(&redis.ClusterOptions{
			Addrs: []string{seed}, DialTimeout: patience, ReadTimeout: patience, WriteTimeout: patience,
		})
		t.Cleanup(func() { c.Close() })
		require.NoError(t, c.Set(t.Context(), "k", "v", 0).Err())
		require.NoError(t, c.ForEachMaster(t.Context(), func(_ context.Context, master *redis.Client) error {
			if got := master.Options().Addr; got != gate.Addr().String() {
				return fmt.Errorf("the client uses %s", got)
			}
			return nil
		}))
	}
}

// forward hands the connections of a listener on to an address until the test ends.
func forward(t *testing.T, from net.Listener, to string) {
	var work sync.WaitGroup
	pipe := func(dst, src net.Conn) {
		io.Copy(dst, src)
		dst.Close()
		src.Close()
	}
	work.Go(func() {
		for {
			client, err := from.Accept()
			if err != nil {
				return
			}
			server, err := net.Dial("tcp", to)
			if err != nil {
				client.Close()
				return
			}
			work.Go(func() { pipe(server, client) })
			work.Go(func() { pipe(client, server) })
		}
	})
	t.Cleanup(func() {
		from.Close()
		work.Wait()
	})
}
