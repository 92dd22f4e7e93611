package redisapi

import (
	"github.com/howdah/howdah/internal/core"
	"github.com/howdah/howdah/internal/pubsub"
	"github.com/howdah/howdah/internal/resp"
)

func messageCommands() []*Command {
	const flags = "pubsub noscript loading stale"
	const multi = "Inside MULTI it takes effect when EXEC has ended."
	channels := []KeySpec{{Index: 1, Last: -1, Step: 1, Flags: notKey}}
	return []*Command{
		{Name: "subscribe", Arity: -2, Flags: flags, Group: "pubsub", Since: "2.0.0", Syntax: "channel [channel ...]",
			Summary: "Takes the messages of channels", Complexity: "O(N) where N is the number of channels", Note: multi, begins: true, subscribesTo: pubsub.Channel, subscribes: subscribe(pubsub.Channel)},
		{Name: "unsubscribe", Arity: -1, Flags: flags, Group: "pubsub", Since: "2.0.0", Syntax: "[channel [channel ...]]",
			Summary: "Takes the messages of channels no more", Complexity: "O(N) where N is the number of channels",
			Note: "Without channels: all, in the order of their names. " + multi, subscribes: unsubscribe(pubsub.Channel)},
		{Name: "psubscribe", Arity: -2, Flags: flags, Group: "pubsub", Since: "2.0.0", Syntax: "pattern [pattern ...]",
			Summary: "Takes the messages of all channels that match a pattern", Complexity: "O(N) where N is the number of patterns", Note: multi, begins: true, subscribesTo: pubsub.Pattern, subscribes: subscribe(pubsub.Pattern)},
		{Name: "punsubscribe", Arity: -1, Flags: flags, Group: "pubsub", Since: "2.0.0", Syntax: "[pattern [pattern ...]]",
			Summary: "Takes the messages for patterns no more", Complexity: "O(N) where N is the number of patterns",
			Note: "Without patterns: all. " + multi, subscribes: unsubscribe(pubsub.Pattern)},
		{Name: "ssubscribe", Arity: -2, Flags: flags, Keys: channels, Group: "pubsub", Since: "7.0.0", Syntax: "shardchannel [shardchannel ...]",
			Summary: "Takes the messages of shard channels", Complexity: "O(N) where N is the number of channels", begins: true, subscribesTo: pubsub.Shard, subscribes: subscribe(pubsub.Shard)},
		{Name: "sunsubscribe", Arity: -1, Flags: flags, Keys: channels, Group: "pubsub", Since: "7.0.0", Syntax: "[shardchannel [shardchannel ...]]",
			Summary: "Takes the messages of shard channels no more", Complexity: "O(N) where N is the number of channels",
			Note: "Without channels: all.", subscribes: unsubscribe(pubsub.Shard)},
		{Name: "publish", Arity: 3, Flags: "pubsub loading stale fast", Group: "pubsub", Since: "2.0.0", Syntax: "channel message",
			Summary: "Sends a message to the subscribers of a channel", Complexity: "O(N+M) where N is the number of subscribers and M that of all patterns",
			Note: notePublish, run: publish, free: needsNoDatabase, publishes: true},
		{Name: "spublish", Arity: 3, Flags: "pubsub loading stale fast", Keys: []KeySpec{{Index: 1, Step: 1, Flags: notKey}}, Group: "pubsub", Since: "7.0.0",
			Syntax: "shardchannel message", Summary: "Sends a message to the subscribers of a shard channel", Complexity: "O(N) where N is the number of subscribers",
			Note: notePublish, run: publish, free: needsNoDatabase, publishes: true},
		pubsubCommand(),
	}
}

const notePublish = "Inside MULTI and in scripts the message is part of the commit; the reply counts the subscribers before it."

// notKey is the flag of arguments that Redis routes by as if they were keys.
const notKey = "not_key"

// needsNoDatabase is for commands that are run only to be in their turn.
func needsNoDatabase(*Engine, [][]byte) bool { return true }

const (
	errLongChannel        = refusal("ERR channel is longer than 66560 bytes; use a shorter one")
	errLongChannelPattern = refusal("ERR pattern is longer than 1024 bytes; use a shorter one")
	errManySubscriptions  = refusal("ERR the connection has too many subscriptions; unsubscribe first")
	errShardInMulti       = refusal("ERR SSUBSCRIBE isn't allowed for a DENY BLOCKING client")
)

// The first words of confirmations, by kind.
var (
	subscribeWords   = [pubsub.Kinds]string{"subscribe", "psubscribe", "ssubscribe"}
	unsubscribeWords = [pubsub.Kinds]string{"unsubscribe", "punsubscribe", "sunsubscribe"}
)

// subscribe returns what runs SUBSCRIBE, PSUBSCRIBE or SSUBSCRIBE.
func subscribe(kind pubsub.Kind) func(*subscriptions, resp.Proto, [][]byte, []byte) []byte {
	return func(s *subscriptions, proto resp.Proto, args [][]byte, reply []byte) []byte {
		if err := s.check(kind, args[1:]); err != nil {
			return resp.AppendError(reply, err.Error())
		}
		for _, name := range args[1:] {
			s.add(kind, name)
			reply = appendConfirmation(reply, proto, subscribeWords[kind], name, s.shown(kind))
		}
		return reply
	}
}

// check refuses names that are too long, and more than a connection may hold.
func (s *subscriptions) check(kind pubsub.Kind, names [][]byte) error {
	if kind == pubsub.Shard && s.conn == nil {
		return errShardInMulti
	}
	size := s.bytes
	for _, name := range names {
		switch {
		case kind == pubsub.Pattern && len(name) > core.MaxPatternBytes:
			return errLongChannelPattern
		case len(name) > core.MaxChannelBytes:
			return errLongChannel
		}
		size += subscriptionOverhead + len(name)
	}
	if s.total > 0 && size > s.most {
		return errManySubscriptions
	}
	return nil
}

// unsubscribe returns what runs UNSUBSCRIBE, PUNSUBSCRIBE or SUNSUBSCRIBE.
func unsubscribe(kind pubsub.Kind) func(*subscriptions, resp.Proto, [][]byte, []byte) []byte {
	return func(s *subscriptions, proto resp.Proto, args [][]byte, reply []byte) []byte {
		word := unsubscribeWords[kind]
		if len(args) > 1 {
			for _, name := range args[1:] {
				s.remove(kind, string(name))
				reply = appendConfirmation(reply, proto, word, name, s.shown(kind))
			}
			return reply
		}
		names := s.sorted(kind)
		for _, name := range names {
			s.remove(kind, name)
			reply = appendConfirmation(reply, proto, word, []byte(name), s.shown(kind))
		}
		if len(names) == 0 {
			reply = appendConfirmation(reply, proto, word, nil, s.shown(kind))
		}
		return reply
	}
}

// appendConfirmation appends the reply to one name; nil: there was none.
func appendConfirmation(reply []byte, proto resp.Proto, word string, name []byte, left int64) []byte {
	reply = resp.AppendPush(reply, proto, 3)
	reply = resp.AppendBulkString(reply, word)
	if name == nil {
		reply = resp.AppendNull(reply, proto)
	} else {
		reply = resp.AppendBulk(reply, name)
	}
	return resp.AppendInt(reply, left)
}

// newPublication makes that of PUBLISH or SPUBLISH, without a copy of the arguments.
func newPublication(cmd *Command, args [][]byte) (core.Publication, error) {
	p := core.Publication{Kind: pubsub.Channel, Channel: args[1], Payload: args[2]}
	if cmd.Name == "spublish" {
		p.Kind = pubsub.Shard
	}
	if len(p.Channel) > core.MaxChannelBytes {
		return p, errLongChannel
	}
	return p, nil
}

// publishNow runs PUBLISH where every earlier command of the connection but PUBLISH has ended: a
// subscriber that takes the message finds what they have written. Where other servers may
// want the message, it is sent behind the back of the event loop.
func (c *Conn) publishNow(cmd *Command, args [][]byte) {
	p, err := newPublication(cmd, args)
	if err != nil {
		c.answerPublish(cmd, 0, err)
		return
	}
	db := c.engine.options.DB
	if db.Alone(p.Kind) {
		c.answerPublish(cmd, db.Hub().Publish(p.Kind, p.Channel, p.Payload), nil)
		return
	}
	r := newRequest(c, cmd, nil)
	r.mute, r.started = c.muted, c.engine.clock()
	r.reply = func(dst []byte, r *request) []byte { return resp.AppendInt(dst, r.to) }
	w := &publishing{request: r}
	receivers, pending, err := db.Send(p.Kind, p.Channel, p.Payload, w.end)
	if !pending {
		r.Release()
		c.answerPublish(cmd, receivers, err)
		return
	}
	c.publishing.Add(1)
	if c.pipe.Start(r, len(p.Channel)+len(p.Payload)) {
		w.step()
	}
}

func (c *Conn) answerPublish(cmd *Command, receivers int, err error) {
	c.scratch = shrink(c.scratch, keepReplies)
	if err != nil {
		c.scratch = resp.AppendError(c.scratch, c.engine.errorText(err, true))
	} else {
		c.scratch = resp.AppendInt(c.scratch, int64(receivers))
	}
	c.answer(cmd, c.scratch)
}

// publish runs PUBLISH in a task. In EXEC the message waits for the commit.
func publish(t *task, args [][]byte) error {
	e := t.conn.engine
	cmd, err := e.commands.find(args)
	if err != nil {
		return err
	}
	p, err := newPublication(cmd, args)
	if err != nil {
		return err
	}
	var receivers int
	if t.multi {
		t.messages = append(t.messages, p)
		receivers = e.options.DB.Receivers(p.Kind, p.Channel)
	} else if receivers, err = e.options.DB.Publish(t.ctx, p.Kind, p.Channel, p.Payload); err != nil {
		return err
	}
	t.out = resp.AppendInt(t.out, int64(receivers))
	return nil
}
