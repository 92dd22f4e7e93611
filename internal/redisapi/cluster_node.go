package redisapi

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"net"
	"strconv"
	"strings"
)

// Cluster says how the server shows itself to clients of a Redis cluster. The zero value: not at
// all, as a Redis that is not in cluster mode.
type Cluster struct {
	// Enabled makes the server a cluster of one node, which has all slots.
	Enabled bool

	// Announce is the host:port by which clients reach the server. Default: the address
	// that each has connected to, as the server sees it.
	Announce string

	// TLS says that the port is one of TLS.
	TLS bool
}

// CheckAnnounce checks an address for Cluster.Announce. The error is the end of a sentence
// whose subject is the address.
func CheckAnnounce(address string) error {
	host, port, err := net.SplitHostPort(address)
	if err == nil {
		var number uint64
		if number, err = strconv.ParseUint(port, 10, 16); err == nil && number > 0 && isAnnounceable(host) {
			return nil
		}
	}
	return errors.New("is not an address that clients can connect to: write host:port, such as cache.example.com:6379")
}

// isAnnounceable reports whether a host can be part of CLUSTER NODES, and be connected to.
func isAnnounceable(host string) bool {
	if ip := net.ParseIP(host); ip != nil {
		return !ip.IsUnspecified()
	}
	return host != "" && len(host) <= 253 && strings.Trim(strings.ToLower(host), "abcdefghijklmnopqrstuvwxyz0123456789.-_") == ""
}

// mode is the word of HELLO and INFO.
func (e *Engine) mode() string {
	if e.options.Cluster.Enabled {
		return "cluster"
	}
	return "standalone"
}

// node is the one node of the cluster, as a client is shown it.
type node struct {
	host      string
	port      int64
	id, shard string // 40 hexadecimal digits each
}

// node returns the node with the address that the client is to use. Its names depend on
// nothing else: they stay the same when the server is started again, and servers that announce one
// address, that of a load balancer, are one node.
func (c *Conn) node() node {
	address := c.engine.options.Cluster.Announce
	if address == "" {
		address = c.info.LocalAddr
	}
	host, port, _ := net.SplitHostPort(address) // of a connection without such an address: empty
	number, _ := strconv.ParseInt(port, 10, 64)
	return node{host: host, port: number, id: nodeName("node", host, port), shard: nodeName("shard", host, port)}
}

func nodeName(words ...string) string {
	sum := sha256.Sum256([]byte(strings.Join(words, " ")))
	return hex.EncodeToString(sum[:20])
}
