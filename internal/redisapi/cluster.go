package redisapi

import (
	"fmt"
	"strings"

	"github.com/howdah/howdah/internal/resp"
)

const (
	errClusterDisabled = refusal("ERR This instance has cluster support disabled")
	errSlot            = refusal("ERR Invalid slot")
	errSlotOrNumber    = refusal("ERR Invalid slot or number of keys")
	errKeysBySlot      = refusal("ERR keys are not kept by slot here: use DBSIZE, or SCAN and CLUSTER KEYSLOT")
)

// clusterCommands are those that clients of a Redis cluster need: the server is a cluster of
// one node if it is set to be one.
func clusterCommands() []*Command {
	accepted := func(name, flags, summary string) *Command {
		return &Command{Name: name, Arity: 1, Flags: flags, Group: "cluster", ACL: "connection", Since: "3.0.0", Summary: summary, Complexity: "O(1)",
			Note: noteCluster, now: inCluster(fixed(resp.OK))}
	}
	cluster := &Command{Name: "cluster", Arity: -2, Group: "cluster", Since: "3.0.0", Summary: "Describes the cluster", Complexity: "Depends on the subcommand",
		Note: noteCluster, Sub: append(clusterAnswers(), clusterChanges()...)}
	for _, sub := range cluster.Sub {
		sub.now = inCluster(sub.now)
	}
	return []*Command{
		cluster,
		accepted("readonly", "loading stale fast", "Accepted: the server answers every read"),
		accepted("readwrite", "loading stale fast", "Accepted: the server answers every read"),
		accepted("asking", "fast", "Accepted: no slot is on its way to another node"),
	}
}

const noteCluster = "With `--redis-cluster` ([cluster.md](cluster.md))."

// inCluster runs a command if the server is set to be a cluster.
func inCluster(now func(*Conn, [][]byte, []byte) []byte) func(*Conn, [][]byte, []byte) []byte {
	return func(c *Conn, args [][]byte, reply []byte) []byte {
		if !c.engine.options.Cluster.Enabled {
			return resp.AppendError(reply, string(errClusterDisabled))
		}
		return now(c, args, reply)
	}
}

// clusterAnswers are the subcommands that change nothing.
func clusterAnswers() []*Command {
	const changing = "nondeterministic_output"
	sub := func(name string, arity int, tips, syntax, since, summary string, now func(*Conn, [][]byte, []byte) []byte) *Command {
		return serverCommand(name, arity, "stale", tips, syntax, since, summary, now)
	}
	admin := func(cmd *Command) *Command {
		cmd.Flags = "admin " + cmd.Flags
		return cmd
	}
	return []*Command{
		sub("info", 2, changing, "", "3.0.0", "Returns the state of the cluster", clusterInfo),
		sub("nodes", 2, changing, "", "3.0.0", "Returns the nodes of the cluster, as lines", clusterNodes),
		sub("slots", 2, changing, "", "3.0.0", "Returns which node has which slots", clusterSlots),
		sub("shards", 2, changing, "", "7.0.0", "Returns which nodes have which slots", clusterShards),
		sub("links", 2, changing, "", "7.0.0", "Returns no connections: there is no other node", fixed(resp.EmptyArray)),
		sub("myid", 2, "", "", "3.0.0", "Returns the name of the node", func(c *Conn, _ [][]byte, reply []byte) []byte {
			return resp.AppendBulkString(reply, c.node().id)
		}),
		sub("myshardid", 2, changing, "", "7.2.0", "Returns the name of the node's shard", func(c *Conn, _ [][]byte, reply []byte) []byte {
			return resp.AppendBulkString(reply, c.node().shard)
		}),
		sub("keyslot", 3, "", "key", "3.0.0", "Returns the slot of a key", func(_ *Conn, args [][]byte, reply []byte) []byte {
			return resp.AppendInt(reply, int64(slotOf(args[2])))
		}),
		sub("countkeysinslot", 3, "", "slot", "3.0.0", "Refused: keys are not kept by slot", countKeysInSlot),
		sub("getkeysinslot", 4, changing, "slot count", "3.0.0", "Refused: keys are not kept by slot", getKeysInSlot),
		admin(sub("replicas", 3, changing, "node-id", "5.0.0", "Returns no replicas: PostgreSQL has them", ofNode(resp.EmptyArray))),
		admin(sub("slaves", 3, changing, "node-id", "3.0.0", "Returns no replicas: PostgreSQL has them", ofNode(resp.EmptyArray))),
		admin(sub("count-failure-reports", 3, changing, "node-id", "3.0.0", "Returns 0: no other node reports failures", ofNode(resp.Zero))),
		help("5.0.0", "", "CLUSTER",
			"COUNT-FAILURE-REPORTS <node-id>", "    Return 0.",
			"COUNTKEYSINSLOT <slot>", "    Refused: keys are not kept by slot.",
			"GETKEYSINSLOT <slot> <count>", "    Refused: keys are not kept by slot.",
			"INFO", "    Return information about the cluster.",
			"KEYSLOT <key>", "    Return the hash slot for <key>.",
			"LINKS", "    Return no links: there is one node.",
			"MYID", "    Return the node id.",
			"MYSHARDID", "    Return the id of the node's shard.",
			"NODES", "    Return the one node. Output format:", "    <id> <ip:port> <flags> <master> <pings> <pongs> <epoch> <link> <slot> ...",
			"REPLICAS <node-id>", "    Return no replicas: there is one node.",
			"SHARDS", "    Return information about slot range mappings and the nodes associated with them.",
			"SLOTS", "    Return information about slots range mappings."),
	}
}

// clusterChanges are the subcommands that would change the cluster, which is always the same.
func clusterChanges() []*Command {
	const flags = "admin stale no_async_loading"
	var list []*Command
	for _, c := range []struct {
		name   string
		arity  int
		since  string
		syntax string
	}{
		{"addslots", -3, "3.0.0", "slot [slot ...]"},
		{"addslotsrange", -4, "7.0.0", "start-slot end-slot [start-slot end-slot ...]"},
		{"bumpepoch", 2, "3.0.0", ""},
		{"delslots", -3, "3.0.0", "slot [slot ...]"},
		{"delslotsrange", -4, "7.0.0", "start-slot end-slot [start-slot end-slot ...]"},
		{"failover", -2, "3.0.0", "[FORCE | TAKEOVER]"},
		{"flushslots", 2, "3.0.0", ""},
		{"forget", 3, "3.0.0", "node-id"},
		{"meet", -4, "3.0.0", "ip port [cluster_bus_port]"},
		{"replicate", 3, "3.0.0", "node-id"},
		{"reset", -2, "3.0.0", "[HARD | SOFT]"},
		{"saveconfig", 2, "3.0.0", ""},
		{"set-config-epoch", 3, "3.0.0", "config-epoch"},
		{"setslot", -4, "3.0.0", "slot <IMPORTING node-id | MIGRATING node-id | NODE node-id | STABLE>"},
	} {
		text := "ERR CLUSTER " + strings.ToUpper(c.name) + " is refused: this server is a cluster of one node, which has all slots and cannot be changed"
		list = append(list, serverCommand(c.name, c.arity, flags, "", c.syntax, c.since, "Refused: the cluster is one node, which has all slots", fail(text)))
	}
	for _, cmd := range list {
		switch cmd.Name {
		case "bumpepoch":
			cmd.Tips = "nondeterministic_output"
		case "reset":
			cmd.Flags = "admin noscript stale"
		}
	}
	return list
}

func clusterInfo(c *Conn, _ [][]byte, reply []byte) []byte {
	return resp.AppendVerbatim(reply, c.proto, fmt.Sprintf("cluster_state:ok\r\ncluster_slots_assigned:%[1]d\r\ncluster_slots_ok:%[1]d\r\n"+
		"cluster_slots_pfail:0\r\ncluster_slots_fail:0\r\ncluster_known_nodes:1\r\ncluster_size:1\r\ncluster_current_epoch:0\r\ncluster_my_epoch:0\r\n"+
		"cluster_stats_messages_sent:0\r\ncluster_stats_messages_received:0\r\ntotal_cluster_links_buffer_limit_exceeded:0\r\n", slots))
}

// clusterNodes shows 0 as the port of the cluster bus, which there is not.
func clusterNodes(c *Conn, _ [][]byte, reply []byte) []byte {
	n := c.node()
	return resp.AppendVerbatim(reply, c.proto, fmt.Sprintf("%s %s:%d@0 myself,master - 0 0 0 connected 0-%d\n", n.id, n.host, n.port, slots-1))
}

func clusterSlots(c *Conn, _ [][]byte, reply []byte) []byte {
	n := c.node()
	reply = resp.AppendArray(reply, 1)
	reply = resp.AppendArray(reply, 3)
	reply = resp.AppendInt(reply, 0)
	reply = resp.AppendInt(reply, slots-1)
	reply = resp.AppendArray(reply, 4)
	reply = resp.AppendBulkString(reply, n.host)
	reply = resp.AppendInt(reply, n.port)
	reply = resp.AppendBulkString(reply, n.id)
	return resp.AppendMap(reply, c.proto, 0)
}

func clusterShards(c *Conn, _ [][]byte, reply []byte) []byte {
	n := c.node()
	port := "port"
	if c.engine.options.Cluster.TLS {
		port = "tls-port"
	}
	reply = resp.AppendArray(reply, 1)
	reply = resp.AppendMap(reply, c.proto, 2)
	reply = resp.AppendBulkString(reply, "slots")
	reply = resp.AppendArray(reply, 2)
	reply = resp.AppendInt(reply, 0)
	reply = resp.AppendInt(reply, slots-1)
	reply = resp.AppendBulkString(reply, "nodes")
	reply = resp.AppendArray(reply, 1)
	reply = resp.AppendMap(reply, c.proto, 7)
	reply = appendField(reply, "id", n.id)
	reply = resp.AppendInt(resp.AppendBulkString(reply, port), n.port)
	reply = appendField(reply, "ip", n.host)
	reply = appendField(reply, "endpoint", n.host)
	reply = appendField(reply, "role", "master")
	reply = resp.AppendInt(resp.AppendBulkString(reply, "replication-offset"), 0)
	return appendField(reply, "health", "online")
}

// ofNode gives an answer about the node, which the last argument must name.
func ofNode(answer string) func(*Conn, [][]byte, []byte) []byte {
	return func(c *Conn, args [][]byte, reply []byte) []byte {
		if id := args[2]; string(id) != c.node().id {
			return resp.AppendError(reply, "ERR Unknown node "+string(cString(id, len(id))))
		}
		return append(reply, answer...)
	}
}

func countKeysInSlot(_ *Conn, args [][]byte, reply []byte) []byte {
	slot, err := parseInt(args[2])
	switch {
	case err != nil:
	case slot < 0 || slot >= slots:
		err = errSlot
	default:
		err = errKeysBySlot
	}
	return resp.AppendError(reply, err.Error())
}

func getKeysInSlot(_ *Conn, args [][]byte, reply []byte) []byte {
	slot, err := parseInt(args[2])
	var number int64
	if err == nil {
		number, err = parseInt(args[3])
	}
	switch {
	case err != nil:
	case slot < 0 || slot >= slots || number < 0:
		err = errSlotOrNumber
	default:
		err = errKeysBySlot
	}
	return resp.AppendError(reply, err.Error())
}
