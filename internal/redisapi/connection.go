package redisapi

import (
	"crypto/sha256"
	"crypto/subtle"

	"github.com/howdah/howdah/internal/resp"
)

func connectionCommands() []*Command {
	return []*Command{
		{Name: "hello", Arity: -1, Flags: "noscript loading stale fast no_auth allow_busy", Group: "connection", ACL: "connection", Since: "6.0.0",
			Summary: "Chooses the protocol, and authenticates", Complexity: "O(1)",
			Syntax: "[protover [AUTH username password] [SETNAME clientname]]", now: hello},
		{Name: "auth", Arity: -2, Flags: "noscript loading stale fast no_auth allow_busy", Group: "connection", ACL: "connection", Since: "1.0.0",
			Summary: "Authenticates", Complexity: "O(1)", Syntax: "[username] password",
			Note: "The one user is default. After failures the answers to wrong passwords are delayed.", now: auth},
		{Name: "ping", Arity: -1, Flags: "fast", Group: "connection", ACL: "connection", Since: "1.0.0", Tips: "request_policy:all_shards response_policy:all_succeeded",
			Summary: "Returns PONG, or the message", Complexity: "O(1)", Syntax: "[message]",
			Note: "Says nothing about PostgreSQL; /readyz does.", now: ping},
		{Name: "echo", Arity: 2, Flags: "loading stale fast", Group: "connection", ACL: "connection", Since: "1.0.0",
			Summary: "Returns the message", Complexity: "O(1)", Syntax: "message", now: echo},
		{Name: "select", Arity: 2, Flags: "loading stale fast", Group: "connection", ACL: "connection", Since: "1.0.0",
			Summary: "Chooses the database, 0 to 15", Complexity: "O(1)", Syntax: "index",
			Note: "Database n is the cache dbn. One that does not exist is created, if the database role may call howdah.create_database.", run: selectDatabase, free: isKnown},
		{Name: "quit", Arity: -1, Flags: "noscript loading stale fast no_auth allow_busy", Group: "connection", ACL: "connection", Since: "1.0.0",
			Summary: "Closes the connection after all replies", Complexity: "O(1)", now: quit},
		{Name: "reset", Arity: 1, Flags: "noscript loading stale fast no_auth allow_busy", Group: "connection", ACL: "connection", Since: "6.2.0",
			Summary: "Makes the connection as new", Complexity: "O(1)", now: reset},
	}
}

const errWrongPassword = refusal("WRONGPASS invalid username-password pair or user is disabled.")

// passes compares user and password. The time it takes does not depend on how
// many bytes of the password are right.
func (e *Engine) passes(user, password []byte) bool {
	if string(user) != "default" {
		return false
	}
	if e.options.Password == "" {
		return true
	}
	sum := sha256.Sum256(password)
	return subtle.ConstantTimeCompare(sum[:], e.password[:]) == 1
}

func (c *Conn) setAuthenticated(yes bool) {
	c.set(func(s *session) { s.authenticated = yes })
	c.parser.SetAuthenticated(yes)
}

func auth(c *Conn, args [][]byte, reply []byte) []byte {
	user, password := []byte("default"), args[1]
	switch {
	case len(args) > 3:
		return resp.AppendError(reply, string(errSyntax))
	case len(args) == 3:
		user, password = args[1], args[2]
	case c.engine.options.Password == "":
		return resp.AppendError(reply, "ERR AUTH <password> called without any password configured for the default user. Are you sure your configuration is correct?")
	}
	if !c.engine.passes(user, password) {
		return c.wrongPassword(reply)
	}
	c.setAuthenticated(true)
	return append(reply, resp.OK...)
}

func hello(c *Conn, args [][]byte, reply []byte) []byte {
	proto := int64(0)
	if len(args) > 1 {
		var err error
		if proto, err = parseInt(args[1]); err != nil {
			return resp.AppendError(reply, "ERR Protocol version is not an integer or out of range")
		}
		if proto < 2 || proto > 3 {
			return resp.AppendError(reply, "NOPROTO unsupported protocol version")
		}
	}
	for i := 2; i < len(args); i++ {
		switch more := len(args) - 1 - i; {
		case is(args[i], "AUTH") && more >= 2:
			if !c.engine.passes(args[i+1], args[i+2]) {
				return c.wrongPassword(reply)
			}
			c.setAuthenticated(true)
			i += 2
		case is(args[i], "SETNAME") && more >= 1:
			if !isPrintable(args[i+1]) {
				return resp.AppendError(reply, errClientName)
			}
			name := string(args[i+1])
			c.set(func(s *session) { s.name = name })
			i++
		default:
			return resp.AppendError(reply, "ERR Syntax error in HELLO option '"+string(cString(args[i], len(args[i])))+"'")
		}
	}
	if !c.authenticated {
		return resp.AppendError(reply, "NOAUTH HELLO must be called with the client already authenticated, "+
			"otherwise the HELLO AUTH <user> <pass> option can be used to authenticate the client "+
			"and select the RESP protocol version at the same time")
	}
	if proto != 0 {
		c.set(func(s *session) { s.proto = resp.Proto(proto) })
	}
	reply = resp.AppendMap(reply, c.proto, 7)
	for _, pair := range [][2]string{{"server", "redis"}, {"version", c.engine.options.RedisVersion}} {
		reply = resp.AppendBulkString(reply, pair[0])
		reply = resp.AppendBulkString(reply, pair[1])
	}
	reply = resp.AppendBulkString(reply, "proto")
	reply = resp.AppendInt(reply, int64(c.proto))
	reply = resp.AppendBulkString(reply, "id")
	reply = resp.AppendInt(reply, c.id)
	for _, pair := range [][2]string{{"mode", c.engine.mode()}, {"role", "master"}} {
		reply = resp.AppendBulkString(reply, pair[0])
		reply = resp.AppendBulkString(reply, pair[1])
	}
	reply = resp.AppendBulkString(reply, "modules")
	return append(reply, resp.EmptyArray...)
}

func ping(c *Conn, args [][]byte, reply []byte) []byte {
	switch {
	case len(args) > 2:
		return resp.AppendError(reply, wrongArity("ping").Error())
	case c.onlySubscribes():
		reply = resp.AppendBulkString(resp.AppendArray(reply, 2), "pong")
		if len(args) == 1 {
			return resp.AppendBulkString(reply, "")
		}
	case len(args) == 1:
		return append(reply, resp.Pong...)
	}
	return resp.AppendBulk(reply, args[1])
}

func echo(_ *Conn, args [][]byte, reply []byte) []byte { return resp.AppendBulk(reply, args[1]) }

func quit(c *Conn, _ [][]byte, reply []byte) []byte {
	c.hangUp()
	return append(reply, resp.OK...)
}

func reset(c *Conn, _ [][]byte, reply []byte) []byte {
	c.endTracking()
	c.endSubscriptions()
	c.engine.monitors.remove(c)
	c.set(func(s *session) { s.reset(c.engine) })
	c.parser.SetAuthenticated(c.authenticated)
	return append(reply, "+RESET\r\n"...)
}
