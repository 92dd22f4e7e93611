package redisapi

import (
	"strings"

	"github.com/howdah/howdah/internal/resp"
)

// clientFilter is what CLIENT KILL asks for; zero values match all.
type clientFilter struct {
	id          int64
	addr, laddr string
	class       string
	skipMe      bool
}

// clientKill runs CLIENT KILL, in its old form (one address) and its new form
// (filters).
func clientKill(c *Conn, args [][]byte, reply []byte) []byte {
	if len(args) == 3 {
		if c.killMatching(clientFilter{addr: string(args[2])}) == 0 {
			return resp.AppendError(reply, "ERR No such client")
		}
		return append(reply, resp.OK...)
	}
	filter, err := parseClientFilter(args[2:])
	if err != nil {
		return resp.AppendError(reply, err.Error())
	}
	return resp.AppendInt(reply, c.killMatching(filter))
}

func parseClientFilter(args [][]byte) (f clientFilter, err error) {
	f.skipMe = true
	if len(args)%2 != 0 {
		return f, errSyntax
	}
	for i := 0; i < len(args); i += 2 {
		value := string(args[i+1])
		switch {
		case is(args[i], "ID"):
			if f.id, err = parseInt(args[i+1]); err != nil || f.id < 1 {
				return f, refusal("ERR client-id should be greater than 0")
			}
		case is(args[i], "TYPE"):
			class, ok := clientType(args[i+1])
			if !ok {
				return f, refusal(unknownClientType(args[i+1]))
			}
			f.class = class
		case is(args[i], "ADDR"):
			f.addr = value
		case is(args[i], "LADDR"):
			f.laddr = value
		case is(args[i], "USER"):
			if value != "default" {
				return f, refusal("ERR No such user '" + value + "'")
			}
		case is(args[i], "SKIPME") && (strings.EqualFold(value, "yes") || strings.EqualFold(value, "no")):
			f.skipMe = strings.EqualFold(value, "yes")
		default:
			return f, errSyntax
		}
	}
	return f, nil
}

func (f *clientFilter) matches(c *Conn) bool {
	return (f.class == "" || f.class == c.class()) &&
		(f.id == 0 || f.id == c.id) &&
		(f.addr == "" || f.addr == c.info.RemoteAddr) &&
		(f.laddr == "" || f.laddr == c.info.LocalAddr)
}

// killMatching closes the connections that match. The caller's own connection
// closes after its reply.
func (c *Conn) killMatching(f clientFilter) (killed int64) {
	for _, other := range c.engine.connections() {
		if !f.matches(other) || f.skipMe && other == c {
			continue
		}
		killed++
		if other == c {
			c.hangUp()
		} else {
			other.kill()
		}
	}
	return killed
}

// kill makes the server close the connection, even if replies are pending.
func (c *Conn) kill() { c.pipe.Kill() }
