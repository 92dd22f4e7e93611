package redisapi

import (
	"github.com/howdah/howdah/internal/core"
	"github.com/howdah/howdah/internal/pubsub"
	"github.com/howdah/howdah/internal/resp"
)

func pubsubCommand() *Command {
	sub := func(name string, arity int, since, syntax, summary, complexity string, now func(*Conn, [][]byte, []byte) []byte) *Command {
		return &Command{Name: name, Arity: arity, Flags: "pubsub loading stale", Since: since, Syntax: syntax, Summary: summary, Complexity: complexity,
			Note: "Of this server.", now: now}
	}
	return &Command{
		Name: "pubsub", Arity: -2, Group: "pubsub", Since: "2.8.0", Summary: "Returns channels and numbers of subscribers", Complexity: "Depends on the subcommand",
		Sub: []*Command{
			sub("channels", -2, "2.8.0", "[pattern]", "Returns the channels that have subscribers", "O(N) where N is the number of channels", channelsOf(pubsub.Channel)),
			sub("numsub", -2, "2.8.0", "[channel [channel ...]]", "Returns the numbers of subscribers of channels", "O(N) where N is the number of channels", subscribersOf(pubsub.Channel)),
			sub("numpat", 2, "2.8.0", "", "Returns the number of different patterns that clients have subscribed to", "O(1)", patternCount),
			sub("shardchannels", -2, "7.0.0", "[pattern]", "Returns the shard channels that have subscribers", "O(N) where N is the number of channels", channelsOf(pubsub.Shard)),
			sub("shardnumsub", -2, "7.0.0", "[shardchannel [shardchannel ...]]", "Returns the numbers of subscribers of shard channels", "O(N) where N is the number of channels", subscribersOf(pubsub.Shard)),
			help("6.2.0", "", "PUBSUB",
				"CHANNELS [<pattern>]", "    Return the currently active channels matching a <pattern> (default: '*').",
				"NUMPAT", "    Return number of subscriptions to patterns.",
				"NUMSUB [<channel> ...]", "    Return the number of subscribers for the specified channels, excluding", "    pattern subscriptions(default: no channels).",
				"SHARDCHANNELS [<pattern>]", "    Return the currently active shard level channels matching a <pattern> (default: '*').",
				"SHARDNUMSUB [<shardchannel> ...]", "    Return the number of subscribers for the specified shard level channel(s)"),
		},
	}
}

func channelsOf(kind pubsub.Kind) func(*Conn, [][]byte, []byte) []byte {
	return func(c *Conn, args [][]byte, reply []byte) []byte {
		if len(args) > 3 {
			return resp.AppendError(reply, string(wrongUse("PUBSUB", args[1])))
		}
		var pattern []byte
		if len(args) == 3 {
			if pattern = args[2]; len(pattern) > core.MaxPatternBytes {
				return resp.AppendError(reply, string(errLongChannelPattern))
			}
		}
		names := c.engine.options.DB.Hub().Names(kind, pattern)
		reply = resp.AppendArray(reply, len(names))
		for _, name := range names {
			reply = resp.AppendBulkString(reply, name)
		}
		return reply
	}
}

func subscribersOf(kind pubsub.Kind) func(*Conn, [][]byte, []byte) []byte {
	return func(c *Conn, args [][]byte, reply []byte) []byte {
		reply = resp.AppendArray(reply, 2*len(args[2:]))
		for _, name := range args[2:] {
			reply = resp.AppendBulk(reply, name)
			reply = resp.AppendInt(reply, int64(c.engine.options.DB.Hub().Subscribers(kind, name)))
		}
		return reply
	}
}

func patternCount(c *Conn, _ [][]byte, reply []byte) []byte {
	return resp.AppendInt(reply, int64(c.engine.options.DB.Hub().Stats().Names[pubsub.Pattern]))
}
