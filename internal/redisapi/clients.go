package redisapi

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/howdah/howdah/internal/pubsub"
	"github.com/howdah/howdah/internal/resp"
)

const errClientName = "ERR Client names cannot contain spaces, newlines or special characters."

func clientCommands() []*Command {
	sub := func(name string, arity int, since, syntax, summary string, now func(*Conn, [][]byte, []byte) []byte) *Command {
		return &Command{Name: name, Arity: arity, Flags: "noscript loading stale", ACL: "connection", Since: since,
			Syntax: syntax, Summary: summary, Complexity: "O(1)", now: now}
	}
	admin := func(cmd *Command) *Command {
		cmd.Flags = "admin " + cmd.Flags
		return cmd
	}
	list := admin(sub("list", -2, "2.4.0", "[TYPE type] [ID client-id [client-id ...]]", "Returns a line about every connection of this server", clientList))
	list.Tips, list.Complexity = "nondeterministic_output", "O(N) where N is the number of connections"
	info := sub("info", 2, "6.2.0", "", "Returns a line about the connection", clientInfo)
	info.Tips = "nondeterministic_output"
	kill := admin(sub("kill", -3, "2.4.0", "addr:port | [ID client-id] [TYPE type] [ADDR addr:port] [LADDR addr:port] [USER username] [SKIPME yes/no]", "Closes connections", clientKill))
	kill.Complexity = "O(N) where N is the number of connections"
	reply := sub("reply", 3, "3.2.0", "ON | OFF | SKIP", "Switches replies off and on", clientReply)
	reply.Note = "Refused inside MULTI."
	tracking := trackingCommands()
	pause := admin(sub("pause", -3, "2.9.50", "timeout [WRITE | ALL]", "Holds the commands that come, for some milliseconds or until CLIENT UNPAUSE", clientPause))
	pause.Note = "On this server only: other servers of the database go on. As in Redis, a pause of ALL holds CLIENT UNPAUSE too."
	return []*Command{{
		Name: "client", Arity: -2, Group: "connection", Since: "2.4.0",
		Summary: "Manages connections", Complexity: "Depends on the subcommand",
		Sub: []*Command{
			sub("id", 2, "5.0.0", "", "Returns the number of the connection", func(c *Conn, _ [][]byte, reply []byte) []byte {
				return resp.AppendInt(reply, c.id)
			}),
			sub("getname", 2, "2.6.9", "", "Returns the name of the connection", clientGetName),
			sub("setname", 3, "2.6.9", "connection-name", "Names the connection", clientSetName),
			sub("setinfo", 4, "7.2.0", "LIB-NAME libname | LIB-VER libver", "Notes the client's library", clientSetInfo),
			info, list, kill, reply,
			admin(sub("no-evict", 3, "7.0.0", "ON | OFF", "Accepted; connections are never evicted", clientSwitch)),
			sub("no-touch", 3, "7.2.0", "ON | OFF", "Accepted; reads touch nothing", clientSwitch),
			tracking[0], tracking[1], tracking[2], tracking[3],
			admin(sub("unblock", -3, "5.0.0", "client-id [TIMEOUT | ERROR]", "Ends the command for which a client of this server waits", clientUnblock)),
			pause,
			admin(sub("unpause", 2, "6.2.0", "", "Ends a pause", clientUnpause)),
			help("5.0.0", "connection", "CLIENT",
				"CACHING (YES|NO)", "    Say whether the keys of the next command are tracked, in the modes OPTIN and OPTOUT.",
				"GETNAME", "    Return the name of the connection.",
				"GETREDIR", "    Return the connection that gets the invalidations.",
				"ID", "    Return the number of the connection.",
				"INFO", "    Return a line about the connection.",
				"KILL <ip:port>", "    Close the connection from <ip:port>.",
				"KILL <option> <value> [<option> <value> [...]]", "    Close connections: ID, TYPE, ADDR, LADDR, USER, SKIPME.",
				"LIST [TYPE <type>] [ID <id> ...]", "    Return a line about every connection.",
				"NO-EVICT (ON|OFF)", "    Accepted.",
				"NO-TOUCH (ON|OFF)", "    Accepted.",
				"PAUSE <timeout> [WRITE|ALL]", "    Hold commands, or those that write, for some milliseconds.",
				"REPLY (ON|OFF|SKIP)", "    Switch replies off and on.",
				"SETINFO <LIB-NAME|LIB-VER> <value>", "    Note the client's library.",
				"SETNAME <name>", "    Name the connection.",
				"TRACKING (ON|OFF) [REDIRECT <id>] [OPTIN] [OPTOUT] [NOLOOP]", "    Tell the client when keys change that it has read.",
				"TRACKINGINFO", "    Return what CLIENT TRACKING has set.",
				"UNBLOCK <clientid> [TIMEOUT|ERROR]", "    End the command for which a client waits.",
				"UNPAUSE", "    End a pause."),
		},
	}}
}

func clientGetName(c *Conn, _ [][]byte, reply []byte) []byte {
	if c.name == "" {
		return resp.AppendNull(reply, c.proto)
	}
	return resp.AppendBulkString(reply, c.name)
}

func clientSetName(c *Conn, args [][]byte, reply []byte) []byte {
	if !isPrintable(args[2]) {
		return resp.AppendError(reply, errClientName)
	}
	name := string(args[2])
	c.set(func(s *session) { s.name = name })
	return append(reply, resp.OK...)
}

func clientSetInfo(c *Conn, args [][]byte, reply []byte) []byte {
	value := string(args[3])
	name, version := is(args[2], "LIB-NAME"), is(args[2], "LIB-VER")
	if !name && !version {
		return resp.AppendError(reply, "ERR Unrecognized option '"+string(cString(args[2], 128))+"'")
	}
	if !isPrintable(args[3]) {
		return resp.AppendError(reply, "ERR "+strings.ToLower(string(args[2]))+" cannot contain spaces, newlines or special characters.")
	}
	c.set(func(s *session) {
		if name {
			s.library = value
		} else {
			s.libraryVer = value
		}
	})
	return append(reply, resp.OK...)
}

func clientSwitch(_ *Conn, args [][]byte, reply []byte) []byte {
	if !is(args[2], "ON") && !is(args[2], "OFF") {
		return resp.AppendError(reply, string(errSyntax))
	}
	return append(reply, resp.OK...)
}

func clientReply(c *Conn, args [][]byte, reply []byte) []byte {
	if c.pipe.Exclusively() {
		return resp.AppendError(reply, "ERR CLIENT REPLY is not allowed in transactions")
	}
	switch {
	case is(args[2], "ON"):
		c.set(func(s *session) { s.silent, s.skipNext, s.muted = false, false, false })
		return append(reply, resp.OK...)
	case is(args[2], "OFF"):
		c.set(func(s *session) { s.silent, s.muted = true, true })
	case is(args[2], "SKIP"):
		c.set(func(s *session) { s.skipNext, s.muted = true, true })
	default:
		return resp.AppendError(reply, string(errSyntax))
	}
	return reply
}

func clientInfo(c *Conn, args [][]byte, reply []byte) []byte {
	return resp.AppendVerbatim(reply, c.proto, c.describe(args)+"\n")
}

func clientList(c *Conn, args [][]byte, reply []byte) []byte {
	wanted := func(*Conn) bool { return true }
	switch {
	case len(args) == 2:
	case len(args) == 4 && is(args[2], "TYPE"):
		class, ok := clientType(args[3])
		if !ok {
			return resp.AppendError(reply, unknownClientType(args[3]))
		}
		wanted = func(other *Conn) bool { return other.class() == class }
	case len(args) > 3 && is(args[2], "ID"):
		ids := make(map[int64]bool)
		for _, arg := range args[3:] {
			id, err := parseInt(arg)
			if err != nil || id <= 0 {
				return resp.AppendError(reply, "ERR Invalid client ID")
			}
			ids[id] = true
		}
		wanted = func(other *Conn) bool { return ids[other.id] }
	default:
		return resp.AppendError(reply, string(errSyntax))
	}
	var text strings.Builder
	for _, other := range c.engine.connections() {
		switch {
		case !wanted(other):
		case other == c:
			text.WriteString(c.describe(args) + "\n")
		default:
			text.WriteString(other.describe(nil) + "\n")
		}
	}
	return resp.AppendVerbatim(reply, c.proto, text.String())
}

// clientType returns a type of connections by its name. ok is false for a type that Redis
// does not have.
func clientType(arg []byte) (class string, ok bool) {
	switch class = strings.ToLower(string(arg)); class {
	case "normal", "master", "replica", "slave", "pubsub":
		return class, true
	}
	return "", false
}

// class is the type of the connection, normal or pubsub.
func (c *Conn) class() string {
	if c.subscribes() {
		return "pubsub"
	}
	return "normal"
}

func unknownClientType(arg []byte) string {
	return "ERR Unknown client type '" + string(cString(arg, len(arg))) + "'"
}

// connectionMemory is an estimate of the memory of a connection without its
// input, commands and replies, in bytes.
const connectionMemory = 1 << 10

// describe returns the connection's line in CLIENT LIST. args is the command line
// that the connection is running, or nil if another connection asks. Fields that
// have no meaning here have the value of an idle client of Redis.
func (c *Conn) describe(args [][]byte) string {
	now, load := c.engine.clock(), c.pipe.Load()
	c.mu.Lock()
	defer c.mu.Unlock()
	flags, queued, command, fd := "", -1, "NULL", -1
	subs := c.subs
	if subs == nil {
		subs = new(subscriptions)
	}
	if subs.total > 0 {
		flags = "P"
	}
	if c.multi {
		flags += "x"
		queued = len(c.queue)
	}
	if c.isBlocked() {
		flags += "b"
	}
	if c.tracking.on {
		flags += "t"
	}
	if c.redirectBroken.Load() {
		flags += "R"
	}
	if c.session.tracking.broadcast {
		flags += "B"
	}
	if c.monitoring {
		flags += "O"
	}
	flags = cmp.Or(flags, "N")
	if cmd := c.lastCmd.Load(); cmd != nil {
		command = cmd.fullName
	}
	if c.info.FD > 0 {
		fd = c.info.FD
	}
	running := load.Bytes - load.Ready // of calls in progress
	for _, arg := range args {
		running += len(arg)
	}
	unread := c.unread.Load()
	total := connectionMemory + int(unread) + running + load.Ready + c.queueLen + c.watched.bytes() + c.blockedSize() + subs.bytes
	return fmt.Sprintf("id=%d addr=%s laddr=%s fd=%d name=%s age=%d idle=%d flags=%s db=%d sub=%d psub=%d ssub=%d multi=%d "+
		"qbuf=%d qbuf-free=0 argv-mem=%d multi-mem=%d rbs=0 rbp=0 obl=%d oll=%d omem=%d tot-mem=%d events=r cmd=%s user=default redir=%d resp=%d "+
		"lib-name=%s lib-ver=%s",
		c.id, c.info.RemoteAddr, c.info.LocalAddr, fd, c.name, (now-c.since)/1e9, (now-c.lastSeen.Load())/1e9, flags, c.session.database,
		len(subs.names[pubsub.Channel]), len(subs.names[pubsub.Pattern]), len(subs.names[pubsub.Shard]), queued,
		unread, running, c.queueLen, load.Ready, load.Requests, load.Bytes, total, command, c.session.tracking.target(), c.proto, c.library, c.libraryVer)
}
