package lua

import (
	"crypto/sha1"
	"encoding/hex"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

func (m *machine) redisLibrary() *table {
	t := m.library(map[string]builtin{
		"call": redisCall, "pcall": redisPcall, "error_reply": redisErrorReply, "status_reply": redisStatusReply,
		"sha1hex": redisSHA1, "log": redisLog, "setresp": redisSetResp, "acl_check_cmd": redisACLCheck,
		"replicate_commands": func(th *thread, _ []value) []value { return th.one(trueValue) },
		"set_repl":           redisSetRepl,
		"breakpoint":         func(th *thread, _ []value) []value { return th.one(falseValue) },
		"debug":              func(*thread, []value) []value { return nil },
	})
	for name, n := range map[string]float64{
		"REPL_NONE": 0, "REPL_AOF": 1, "REPL_SLAVE": 2, "REPL_REPLICA": 2, "REPL_ALL": 3,
	} {
		t.setString(name, number(n))
	}
	m.addVersion(t)
	return t
}

// loadingLibrary is the table redis that a library sees while it is loaded.
func (m *machine) loadingLibrary() *table {
	t := m.library(map[string]builtin{"log": redisLog, "register_function": redisRegisterFunction})
	m.addVersion(t)
	m.protect(t)
	return t
}

func (m *machine) addVersion(t *table) {
	for name, n := range map[string]float64{
		"LOG_DEBUG": 0, "LOG_VERBOSE": 1, "LOG_NOTICE": 2, "LOG_WARNING": 3, "REDIS_VERSION_NUM": 0x0007000f,
	} {
		t.setString(name, number(n))
	}
	t.setString("REDIS_VERSION", str("7.0.15"))
}

// countedError is the field of errors that commands have given: Redis counts them there.
const countedError = "ignore_error_stats_update"

// errorTable is an error as redis.pcall returns it and redis.call raises it.
func (m *machine) errorTable(message string, counted bool) value {
	t := m.newTable(0, 2)
	t.setString("err", m.newString(message))
	if counted {
		t.setString(countedError, trueValue)
	}
	return value{o: t}
}

// fault is an error of a function of the table redis.
func (th *thread) fault(format string, args ...any) {
	th.throw(th.m.errorTable("ERR "+fmt.Sprintf(format, args...), false))
}

func redisCall(th *thread, args []value) []value  { return th.command(args, true) }
func redisPcall(th *thread, args []value) []value { return th.command(args, false) }

// command runs a command. raise says what becomes of an error.
func (th *thread) command(args []value, raise bool) []value {
	m := th.m
	if m.run.Host == nil {
		return th.answerError("ERR redis.call/pcall can only be called inside a script invocation", raise)
	}
	if len(args) == 0 {
		return th.answerError("ERR Please specify at least one argument for this redis lib call", raise)
	}
	words, ok := m.commandWords(args)
	if !ok {
		return th.answerError("ERR Lua redis lib command arguments must be strings or integers", raise)
	}
	m.ticks(16)
	reply, err := m.run.Host.Call(words, m.protocol, m.scratch.reply[:0])
	if err != nil {
		m.end(err)
	}
	m.scratch.reply = reply
	m.charge(len(reply))
	m.ticks(len(reply) / 64)
	v, rest, err := m.readReply(reply, 0)
	if err != nil || len(rest) > 0 {
		m.end(fmt.Errorf("lua: the host gave no reply in RESP: %q", reply[:min(len(reply), 64)]))
	}
	if t, ok := v.o.(*table); ok && raise && reply[0] == '-' {
		th.throw(value{o: t})
	}
	return th.one(v)
}

func (th *thread) answerError(message string, raise bool) []value {
	v := th.m.errorTable(message, false)
	if raise {
		th.throw(v)
	}
	return th.one(v)
}

// maxScratch is how large a buffer may be that is kept between commands.
const maxScratch = 64 << 10

// commandWords writes the arguments of a command into buffers of the machine.
func (m *machine) commandWords(args []value) (words [][]byte, ok bool) {
	if cap(m.scratch.reply) > maxScratch {
		m.scratch.reply = nil
	}
	text := m.scratch.text[:0]
	size := 0
	for _, a := range args {
		switch o := a.o.(type) {
		case string:
			size += len(o)
		case numberTag:
			size += 32
		default:
			return nil, false
		}
	}
	if cap(text) < size {
		m.charge(size)
		text = make([]byte, 0, max(size, 256))
	}
	words = m.scratch.args[:0]
	for _, a := range args {
		from := len(text)
		if s, ok := a.o.(string); ok {
			text = append(text, s...)
		} else {
			text = appendArgument(text, a.n)
		}
		words = append(words, text[from:len(text):len(text)])
	}
	if cap(text) <= maxScratch {
		m.scratch.text = text
	}
	m.scratch.args = words
	return words, true
}

// appendArgument writes a number as an argument of a command: whole numbers
// without exponent, others by "%.17g". Minus zero is "-0".
func appendArgument(dst []byte, n float64) []byte {
	isMinusZero := n == 0 && math.Signbit(n)
	if n > -math.MaxInt64/2 && n < math.MaxInt64/2 && n == math.Trunc(n) && !isMinusZero {
		return strconv.AppendInt(dst, int64(n), 10)
	}
	return append(dst, formatG(n, 17)...)
}

// singleString makes the table that redis.error_reply and status_reply return.
func (th *thread) singleString(args []value, field string) []value {
	s, ok := arg(args, 0).o.(string)
	if !ok || len(args) != 1 {
		return th.one(th.m.errorTable("ERR wrong number or type of arguments", false))
	}
	if field == "err" {
		s = errorText(s)
	}
	t := th.m.newTable(0, 1)
	t.setString(field, th.m.newString(s))
	return th.one(value{o: t})
}

// errorText is the message of an error reply with its code: that is ERR where
// there is no space.
func errorText(s string) string {
	s = strings.Trim(strings.TrimPrefix(cString(s), "-"), "\r\n")
	if strings.Contains(s, " ") {
		return s
	}
	return "ERR " + s
}

func redisErrorReply(th *thread, args []value) []value  { return th.singleString(args, "err") }
func redisStatusReply(th *thread, args []value) []value { return th.singleString(args, "ok") }

func redisSHA1(th *thread, args []value) []value {
	if len(args) != 1 {
		th.fault("wrong number of arguments")
	}
	s, _ := args[0].text()
	th.m.ticks(len(s) / 64)
	sum := sha1.Sum([]byte(s))
	return th.one(str(hex.EncodeToString(sum[:])))
}

func redisLog(th *thread, args []value) []value {
	if len(args) < 2 {
		th.fault("redis.log() requires two arguments or more.")
	}
	n, ok := args[0].toNumber()
	if !ok {
		th.fault("First argument must be a number (log level).")
	}
	level := castInt(n)
	if level < 0 || level > 3 {
		th.fault("Invalid debug level.")
	}
	var parts []string
	for _, a := range args[1:] {
		if s, ok := a.text(); ok {
			th.m.charge(len(s))
			parts = append(parts, s)
		}
	}
	if th.m.run.Host != nil {
		th.m.run.Host.Log(level, strings.Join(parts, " "))
	}
	return nil
}

func redisSetResp(th *thread, args []value) []value {
	if len(args) != 1 {
		th.fault("redis.setresp() requires one argument.")
	}
	n, _ := args[0].toNumber()
	protocol := castInt(n)
	if protocol != 2 && protocol != 3 {
		th.fault("RESP version must be 2 or 3.")
	}
	th.m.protocol = protocol
	return nil
}

func redisSetRepl(th *thread, args []value) []value {
	if len(args) != 1 {
		th.fault("redis.set_repl() requires two arguments.")
	}
	n, _ := args[0].toNumber()
	if castInt(n)&^3 != 0 {
		th.fault("Invalid replication flags. Use REPL_AOF, REPL_REPLICA, REPL_ALL or REPL_NONE.")
	}
	return nil
}

func redisACLCheck(th *thread, args []value) []value {
	if len(args) == 0 {
		th.fault("Please specify at least one argument for this redis lib call")
	}
	words, ok := th.m.commandWords(args)
	if !ok {
		th.fault("redis.acl_check_cmd() require at least one argument")
	}
	allowed, known := false, false
	if th.m.run.Host != nil {
		allowed, known = th.m.run.Host.Allowed(words)
	}
	if !known {
		th.fault("Invalid command passed to redis.acl_check_cmd()")
	}
	return th.one(boolean(allowed))
}
