package redisapi

import (
	"fmt"
	"net"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/howdah/howdah/internal/resp"
)

func TestSlots(t *testing.T) {
	t.Parallel()
	require.Equal(t, uint16(0x31c3), crc16([]byte("123456789")), "the check value of CRC-16/XMODEM")
	require.Zero(t, crc16(nil))
	for key, same := range map[string]string{
		"{user1000}.following": "user1000", "foo{bar}{zap}": "bar", "foo{{bar}}zap": "{bar",
	} {
		require.Equal(t, slotOf([]byte(same)), slotOf([]byte(key)), key)
	}
	for _, key := range []string{"foo{}{bar}", "a}{b", "{a", "{}", "a{}"} {
		require.Equal(t, int(crc16([]byte(key))%slots), slotOf([]byte(key)), "%s is its own slot", key)
	}
	require.Less(t, slotOf([]byte("\xff\xff")), slots)
}

// The address of the node is that by which the client came, or that which is announced; its
// name depends on the address alone.
func TestNodeOfCluster(t *testing.T) {
	t.Parallel()
	on := Cluster{Enabled: true}
	shown := func(options Cluster, local string) (id, replies string) {
		e := serve(t, Options{Cluster: options}).engine
		c := e.Connect(Info{RemoteAddr: "192.0.2.9:1", LocalAddr: local}, func() {})
		defer c.Close()
		for _, sub := range []string{"MYID", "SLOTS", "NODES"} {
			c.Feed(resp.AppendCommand(nil, "CLUSTER", sub))
		}
		replies, _ = output(c)
		return replies[len("$40\r\n"):][:40], replies
	}
	for _, c := range []struct {
		options    Cluster
		local      string
		host, port string
	}{
		{on, "192.0.2.1:6379", "192.0.2.1", "6379"},
		{on, "[2001:db8::1]:7000", "2001:db8::1", "7000"},
		{Cluster{Enabled: true, Announce: "cache.example.com:7001"}, "192.0.2.1:6379", "cache.example.com", "7001"},
		{Cluster{Enabled: true, Announce: "[2001:db8::2]:65535"}, "192.0.2.1:6379", "2001:db8::2", "65535"},
	} {
		id, replies := shown(c.options, c.local)
		require.Regexp(t, "^[0-9a-f]{40}$", id)
		require.Contains(t, replies, c.host+"\r\n:"+c.port+"\r\n"+bulk(id))
		require.Contains(t, replies, fmt.Sprintf("%s %s:%s@0 myself,master - 0 0 0 connected 0-16383\n", id, c.host, c.port))
		again, _ := shown(c.options, c.local)
		require.Equal(t, id, again, "after a restart")
		other, _ := shown(on, "192.0.2.77:1")
		require.NotEqual(t, id, other)
	}
}

// A cluster whose port is one of TLS shows that port as one of TLS.
func TestShardsWithTLS(t *testing.T) {
	t.Parallel()
	s := serve(t, Options{Cluster: Cluster{Enabled: true, TLS: true}})
	_, port, err := net.SplitHostPort(s.addr())
	require.NoError(t, err)
	shards := dial(t, s.addr()).do("CLUSTER", "SHARDS")
	require.Contains(t, shards, bulk("tls-port")+":"+port+"\r\n")
	require.NotContains(t, shards, bulk("port"))
}

// Commands that name the node take the name that others show.
func TestNameOfNode(t *testing.T) {
	t.Parallel()
	c := dial(t, serve(t, Options{Cluster: Cluster{Enabled: true}}).addr())
	id := unbulk(c.do("CLUSTER", "MYID"))
	c.want("*0\r\n", "CLUSTER", "REPLICAS", id)
	c.want("*0\r\n", "CLUSTER", "SLAVES", id)
	c.want(":0\r\n", "CLUSTER", "COUNT-FAILURE-REPORTS", id)
	require.Regexp(t, "^[0-9a-f]{40}$", unbulk(c.do("CLUSTER", "MYSHARDID")))
	require.Contains(t, c.do("CLUSTER", "HELP"), "MYSHARDID")
	c.want(resp.OK, "MULTI")
	c.want("+QUEUED\r\n", "CLUSTER", "KEYSLOT", "a")
	c.want("+QUEUED\r\n", "READONLY")
	c.want("*2\r\n:15495\r\n+OK\r\n", "EXEC")
}

func TestAnnounce(t *testing.T) {
	t.Parallel()
	for _, address := range []string{"h:1", "cache.example.com:6379", "192.0.2.1:65535", "[::1]:6379", "my_host-1:80"} {
		require.NoError(t, CheckAnnounce(address), address)
	}
	for _, address := range []string{
		"", "h", ":6379", "h:", "h:0", "h:65536", "h:-1", "h:redis", "0.0.0.0:6379", "[::]:6379", "::1:6379", "a b:1", "a,b:1", "a@b:1",
		"redis://h:6379", "h:6379\n", strings.Repeat("h", 254) + ":1",
	} {
		require.ErrorContains(t, CheckAnnounce(address), "write host:port", address)
	}
	_, err := New(Options{DB: serve(t, Options{}).engine.options.DB, Cluster: Cluster{Announce: "h"}})
	require.ErrorContains(t, err, `Options.Cluster.Announce "h" is not an address`)
}
