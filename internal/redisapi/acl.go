package redisapi

import (
	"bytes"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"

	"github.com/howdah/howdah/internal/resp"
)

const (
	noteUsers = "There is one user, `default`, with the password of `howdah serve --password-file`. " +
		"What the server may do is decided by its PostgreSQL role."

	errNoUserFile = refusal("ERR This Redis instance is not configured to use an ACL file. " +
		"You may want to specify users via the ACL SETUSER command " +
		"and then issue a CONFIG REWRITE (assuming you have a Redis configuration file set) " +
		"in order to store users in the Redis configuration.")
	whereUsersAre = "there is one user, default: its password is that of howdah serve --password-file, " +
		"and what the server may do is decided by its PostgreSQL role"
)

// aclCategories are those of ACL CAT, in the order of Redis.
var aclCategories = strings.Fields("keyspace read write set sortedset list hash string bitmap hyperloglog geo stream pubsub " +
	"admin fast slow blocking dangerous connection transaction scripting")

func aclCommands() []*Command {
	const anybody, flags = "noscript loading stale", "admin noscript loading stale"
	sub := serverCommand
	return []*Command{{
		Name: "acl", Arity: -2, Group: "server", Since: "6.0.0",
		Summary: "Returns about users", Complexity: "Depends on the subcommand", Note: noteUsers,
		Sub: []*Command{
			sub("whoami", 2, anybody, "", "", "6.0.0", "Returns default, the one user", func(_ *Conn, _ [][]byte, reply []byte) []byte {
				return resp.AppendBulkString(reply, onlyUser)
			}),
			sub("users", 2, flags, "", "", "6.0.0", "Returns the names of the users", aclUsers),
			sub("list", 2, flags, "", "", "6.0.0", "Returns the rules of the users", aclList),
			sub("getuser", 3, flags, "", "username", "6.0.0", "Returns the rules of a user", aclGetUser),
			sub("cat", -2, anybody, "", "[categoryname]", "6.0.0", "Returns the categories of commands, or the commands of one", aclCat),
			sub("dryrun", -4, flags, "", "username command [arg [arg ...]]", "7.0.0", "Tells whether a user may run a command", aclDryRun),
			sub("genpass", -2, anybody, "", "[bits]", "6.0.0", "Returns a random password", aclGenPass),
			sub("setuser", -3, flags, "", "username [rule [rule ...]]", "6.0.0",
				"Accepts what holds already, refuses what would change a user", aclSetUser),
			sub("deluser", -3, flags, "", "username [username ...]", "6.0.0", "Returns 0, and refuses to remove default", aclDelUser),
			withNote(sub("log", -2, flags, "", "[count | RESET]", "6.0.0", "Returns no entries", aclLog),
				"Wrong passwords are in the log and in the metrics of the server."),
			sub("load", 2, flags, "", "", "6.0.0", "Refused: there is no file of users", fail(string(errNoUserFile))),
			sub("save", 2, flags, "", "", "6.0.0", "Refused: there is no file of users", fail(string(errNoUserFile))),
			aclHelp(),
		},
	}}
}

// withNote gives a subcommand a note of its own.
func withNote(cmd *Command, note string) *Command {
	cmd.Note = note
	return cmd
}

func aclHelp() *Command {
	return help("6.0.0", "", "ACL",
		"CAT [<category>]", "    List all commands that belong to <category>, or all command categories", "    when no category is specified.",
		"DELUSER <username> [<username> ...]", "    Return 0: there is no user beside default.",
		"DRYRUN <username> <command> [<arg> ...]", "    Returns whether the user can execute the given command without executing the command.",
		"GETUSER <username>", "    Get the user's details.",
		"GENPASS [<bits>]", "    Generate a secure 256-bit user password. The optional `bits` argument can",
		"    be used to specify a different size.",
		"LIST", "    Show users details in config file format.",
		"LOAD", "    Refused: there is no file of users.",
		"LOG [<count> | RESET]", "    Return no entries.",
		"SAVE", "    Refused: there is no file of users.",
		"SETUSER <username> <attribute> [<attribute> ...]", "    Accept what holds already.",
		"USERS", "    List all the registered usernames.",
		"WHOAMI", "    Return the current connection username.")
}

// onlyUser is the one user that there is.
const onlyUser = "default"

// secret is the rule for the password of the user. As in Redis that is a hash; every client that may ask
// has given the password itself.
func (e *Engine) secret() string {
	if e.options.Password == "" {
		return "nopass"
	}
	return "#" + hex.EncodeToString(e.password[:])
}

func aclUsers(_ *Conn, _ [][]byte, reply []byte) []byte {
	return resp.AppendBulkString(resp.AppendArray(reply, 1), onlyUser)
}

func aclList(c *Conn, _ [][]byte, reply []byte) []byte {
	return resp.AppendBulkString(resp.AppendArray(reply, 1), "user "+onlyUser+" on "+c.engine.secret()+" ~* &* +@all")
}

func aclGetUser(c *Conn, args [][]byte, reply []byte) []byte {
	if string(args[2]) != onlyUser {
		return resp.AppendNull(reply, c.proto)
	}
	flags, passwords := []string{"on"}, []string{}
	if hash, has := strings.CutPrefix(c.engine.secret(), "#"); has {
		passwords = append(passwords, hash)
	} else {
		flags = append(flags, "nopass")
	}
	reply = resp.AppendMap(reply, c.proto, 6)
	reply = resp.AppendBulkString(reply, "flags")
	reply = resp.AppendSet(reply, c.proto, len(flags))
	for _, flag := range flags {
		reply = resp.AppendBulkString(reply, flag)
	}
	reply = resp.AppendBulkString(reply, "passwords")
	reply = appendTexts(resp.AppendArray(reply, len(passwords)), passwords...)
	reply = appendField(reply, "commands", "+@all")
	reply = appendField(reply, "keys", "~*")
	reply = appendField(reply, "channels", "&*")
	return resp.AppendArray(resp.AppendBulkString(reply, "selectors"), 0)
}

func aclCat(c *Conn, args [][]byte, reply []byte) []byte {
	switch len(args) {
	case 2:
		return appendTexts(resp.AppendArray(reply, len(aclCategories)), aclCategories...)
	case 3:
	default:
		return resp.AppendError(reply, string(wrongUse("ACL", args[1])))
	}
	category := strings.ToLower(string(args[2]))
	if !slices.Contains(aclCategories, category) {
		return resp.AppendError(reply, "ERR Unknown category '"+string(cString(args[2], 128))+"'")
	}
	var names []string
	c.engine.commands.each(func(cmd *Command) {
		if slices.Contains(cmd.categories(), "@"+category) {
			names = append(names, cmd.fullName)
		}
	})
	return appendTexts(resp.AppendArray(reply, len(names)), names...)
}

func aclDryRun(c *Conn, args [][]byte, reply []byte) []byte {
	if string(args[2]) != onlyUser {
		return resp.AppendError(reply, "ERR User '"+string(cString(args[2], len(args[2])))+"' not found")
	}
	cmd, err := c.engine.commands.find(args[3:])
	switch {
	case err != nil:
		return resp.AppendError(reply, "ERR Command '"+string(cString(args[3], len(args[3])))+"' not found")
	case !cmd.takes(len(args) - 3):
		return resp.AppendError(reply, string(wrongArity(cmd.fullName)))
	}
	return append(reply, resp.OK...)
}

// maxPasswordBits bounds the password of ACL GENPASS, as in Redis.
const maxPasswordBits = 4096

func aclGenPass(_ *Conn, args [][]byte, reply []byte) []byte {
	bits := int64(256)
	switch len(args) {
	case 2:
	case 3:
		var err error
		if bits, err = parseInt(args[2]); err != nil {
			return resp.AppendError(reply, err.Error())
		}
		if bits <= 0 || bits > maxPasswordBits {
			return resp.AppendError(reply, "ERR ACL GENPASS argument must be the number of bits for the output password, "+
				"a positive number up to 4096")
		}
	default:
		return resp.AppendError(reply, string(wrongUse("ACL", args[1])))
	}
	var random [maxPasswordBits / 8]byte
	rand.Read(random[:]) // never fails
	return resp.AppendBulkString(reply, hex.EncodeToString(random[:])[:(bits+3)/4])
}

// aclSetUser accepts the rules that hold already: programs that set up a Redis when they start send them.
func aclSetUser(c *Conn, args [][]byte, reply []byte) []byte {
	if string(args[2]) != onlyUser {
		return resp.AppendError(reply, "ERR "+whereUsersAre)
	}
	for _, rule := range args[3:] {
		if !c.engine.holds(rule) {
			return resp.AppendError(reply, "ERR Error in ACL SETUSER modifier '"+shownRule(rule)+"': "+whereUsersAre)
		}
	}
	return append(reply, resp.OK...)
}

// holds reports whether a rule says of the user what is so.
func (e *Engine) holds(rule []byte) bool {
	switch strings.ToLower(string(rule)) {
	case "on", "~*", "allkeys", "&*", "allchannels", "+@all", "allcommands":
		return true
	case "nopass":
		return e.options.Password == ""
	}
	if password, given := bytes.CutPrefix(rule, []byte(">")); given {
		return e.options.Password != "" && sha256.Sum256(password) == e.password
	}
	return e.options.Password != "" && string(rule) == e.secret()
}

// shownRule is a rule as an error may show it: without a password.
func shownRule(rule []byte) string {
	if len(rule) > 0 && strings.ContainsRune("><#!", rune(rule[0])) {
		return string(rule[:1]) + "***"
	}
	return string(cString(rule, 128))
}

func aclDelUser(_ *Conn, args [][]byte, reply []byte) []byte {
	for _, name := range args[2:] {
		if string(name) == onlyUser {
			return resp.AppendError(reply, "ERR The 'default' user cannot be removed")
		}
	}
	return append(reply, resp.Zero...)
}

func aclLog(_ *Conn, args [][]byte, reply []byte) []byte {
	switch {
	case len(args) > 3:
		return resp.AppendError(reply, string(wrongUse("ACL", args[1])))
	case len(args) == 3 && is(args[2], "RESET"):
		return append(reply, resp.OK...)
	case len(args) == 3:
		if _, err := parseInt(args[2]); err != nil {
			return resp.AppendError(reply, err.Error())
		}
	}
	return append(reply, resp.EmptyArray...)
}
