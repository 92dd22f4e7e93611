//go:build peers

package lua_test

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"

	"github.com/howdah/howdah/internal/test/seed"
)

var scripts = flag.Int("scripts", 3000, "how many random scripts to compare with redis-server")

// generator writes random scripts that end.
type generator struct {
	*rand.Rand
	depth int
}

func (g *generator) pick(list ...string) string { return list[g.IntN(len(list))] }

func (g *generator) literal() string {
	return g.pick("nil", "true", "false", "0", "1", "-1", "2", "3.5", "1e15", "1e300", "0.1", "100", "123456789012", "1/0", "-1/0",
		`""`, `"a"`, `"abc"`, `"10"`, `"0x1F"`, `" 5 "`, `"x\0y"`, `"\255\1"`, `"%d+"`, `"(%w)(.-)"`, "{}", "{1,2,3}", "{a=1,b=\"x\"}",
		"{1,nil,3}", "{{1},{2}}", "a", "b", "c", "t", "s", "f", "KEYS[1]", "#ARGV", "cjson.null", "-0", "(0 * -1)",
		"select(2, math.randomseed(3), math.random(9))")
}

func (g *generator) expression() string {
	if g.depth++; g.depth > 4 || g.IntN(4) == 0 {
		g.depth--
		return g.literal()
	}
	defer func() { g.depth-- }()
	switch g.IntN(12) {
	case 0, 1, 2:
		return "(" + g.expression() + g.pick(" + ", " - ", " * ", " / ", " % ", " ^ ", " .. ", " == ", " ~= ", " < ", " <= ", " and ", " or ") + g.expression() + ")"
	case 3:
		return g.pick("-", "not ", "#") + "(" + g.expression() + ")"
	case 4:
		return "t[" + g.expression() + "]"
	case 5:
		return "(" + g.expression() + ")" + g.pick(".a", ".b.c", "[1]", ":len()", ":x()", ":upper()", `:rep(2)`)
	case 6:
		return fmt.Sprintf("select(2, pcall(function() return %s end))", g.expression())
	case 7:
		return fmt.Sprintf("{%s, %s, k=%s}", g.expression(), g.expression(), g.expression())
	case 8:
		return fmt.Sprintf("f(%s, %s)", g.expression(), g.expression())
	}
	return g.callLibrary()
}

func (g *generator) callLibrary() string {
	name := g.pick("tostring", "tonumber", "type", "select", "unpack", "rawget", "rawequal", "next", "assert", "string.sub", "string.byte",
		"string.char", "string.rep", "string.find", "string.match", "string.gsub", "string.format", "string.len", "string.reverse",
		"table.concat", "table.getn", "table.maxn", "table.remove", "math.floor", "math.ceil", "math.max", "math.min", "math.abs", "math.fmod",
		"math.modf", "math.frexp", "math.sqrt", "bit.band", "bit.bor", "bit.lshift", "bit.tohex", "bit.bnot", "cjson.encode", "cjson.decode",
		"cmsgpack.pack", "cmsgpack.unpack", "struct.pack", "struct.unpack", "struct.size", "redis.error_reply", "redis.status_reply",
		"redis.sha1hex", "redis.call", "redis.pcall", "string.format", "cjson.encode", "string.gsub")
	args := make([]string, g.IntN(4))
	for i := range args {
		args[i] = g.expression()
	}
	switch name {
	case "string.format":
		args = append([]string{g.pick(`"%d"`, `"%5.1f|%s"`, `"%s"`, `"%q"`, `"%x %X"`, `"%g"`, `"%-8s|"`, `"%05d"`, `"%c"`, `"%e"`, `"%.3s"`, `"%i%%"`)}, args...)
	case "struct.pack", "struct.unpack", "struct.size":
		args = append([]string{g.pick(`"b"`, `">I2"`, `"<i4"`, `"s"`, `"c3"`, `"d"`, `"f"`, `"!4 bi4"`, `"Bc0"`, `"L"`, `"y"`)}, args...)
	case "string.find", "string.match", "string.gsub":
		args = append([]string{`"hello world 123"`, g.pick(`"o"`, `"(%w+)"`, `"%d+"`, `"^h"`, `"()l"`, `".-o"`, `"[a-e]+"`, `"%s*$"`, `"%b()"`, `"(h)(e)%1"`, `"["`, `"%"`, `"(a"`)}, args...)
	case "cjson.decode":
		args = append([]string{g.pick(`"[1,2]"`, `'{"a":1,"b":[true,null]}'`, `"[1,"`, `"nul"`, `'"\\u00e9"'`, `"1e5"`, `""`, `"{}"`)}, args[:g.IntN(len(args)+1)]...)
	case "redis.call", "redis.pcall":
		args = append([]string{g.pick(`"echo"`, `"echo"`, `"set"`, `"get"`, `"incr"`, `"rpush"`, `"lrange"`, `"nosuch"`, `"hset"`)}, args...)
	case "string.rep":
		return "string.rep(" + g.pick("s", `"ab"`, "a") + "," + g.pick("3", "0", "-1", "b", `"2"`) + ")"
	case "string.char", "unpack", "struct", "string.byte":
		return name + "(" + g.pick("t", "65", "s", "a", "{1,2,3}", "{}") + ")"
	}
	return name + "(" + strings.Join(args, ", ") + ")"
}

func (g *generator) statement() string {
	const counts = " do n = n + 1 if n > 9 then break end "
	switch g.IntN(13) {
	case 8:
		return "for k, v in " + g.pick("next, ", "f, ", "t.f, ", "s.gmatch, ", "ipairs(t), ", "pairs(t), ", "") + g.expression() + counts + g.pick("", g.statement()) + " end"
	case 9:
		return "for i = " + g.expression() + ", " + g.expression() + g.pick("", ", "+g.expression()) + counts + "end"
	case 10:
		return "t.a, t[" + g.expression() + "], " + g.pick("a", "t.b", "a.b") + " = " + g.expression() + ", " + g.expression()
	case 11:
		return "local y = " + g.pick("s", "a", "t") + ":" + g.pick("upper", "rep", "x") + "(" + g.expression() + ", " + g.expression() + ")"
	case 0:
		return g.pick("a", "b", "c") + " = " + g.expression()
	case 1:
		return "t[" + g.expression() + "] = " + g.expression()
	case 2:
		return "local " + g.pick("a", "b", "x") + ", c = " + g.expression() + ", " + g.expression()
	case 3:
		return "if " + g.expression() + " then " + g.statement() + " else " + g.statement() + " end"
	case 4:
		return "for i = 1, " + g.pick("3", "#t", "2") + " do t[i] = " + g.expression() + " end"
	case 5:
		return "for k, v in pairs(t) do s = s .. tostring(k) end"
	case 6:
		return "t." + g.pick("a", "b", "x") + " = " + g.expression()
	case 7:
		return "pcall(function() " + g.statement() + " end)"
	}
	return "a, b = " + g.expression() + ", " + g.expression()
}

func (g *generator) script() string {
	var b strings.Builder
	b.WriteString("local a, b, c, s, t, n = 1, \"x\", nil, \"s\", {1, 2, k = 3}, 0\nlocal function f(x, y) return y, x end\n")
	for range g.IntN(6) {
		b.WriteString(g.statement() + "\n")
	}
	b.WriteString("return " + g.pick("", "tostring", "", "cjson.encode") + "(" + g.expression() + ")")
	return g.lines(b.String())
}

// lines breaks some statements into several lines.
func (g *generator) lines(source string) string {
	for _, place := range []string{", ", " = ", " in ", " do ", " .. ", " + ", ":"} {
		parts := strings.Split(source, place)
		for i := range parts[1:] {
			if g.IntN(6) == 0 {
				parts[i+1] = "\n" + parts[i+1]
			}
		}
		source = strings.Join(parts, place)
	}
	return source
}

// addresses tells whether a reply shows an address, which differs between runs:
// as it is, in upper case, or reversed.
func addresses(reply string) bool {
	reply = strings.ToLower(reply)
	for _, kind := range []string{"table: 0x", "function: 0x", "function: builtin", "thread: 0x", "x0 :elbat", "x0 :noitcnuf", "nitliub :noitcnuf", "x0 :daerht"} {
		if strings.Contains(reply, kind) {
			return true
		}
	}
	return false
}

// crashes tells whether redis-server 7.0.15 would end, as it does where an error
// is a table without a text, or never answer: a table that holds itself twice has
// a reply without end.
func crashes(reply string) bool {
	return strings.HasPrefix(reply, "-ERR unknown error") || reply == "! ERR Script used more than 64 MiB"
}

var named = regexp.MustCompile(`(?:global|local|field|upvalue|method) '[^']*' \((a \w+ value)\)`)

// sameButName tells whether two errors differ only in how they name the operand
// that "and" or "or" of constants leaves, or what stands in the place of a generator: Redis
// finds that in its bytecode.
func sameButName(source, got, want string) bool {
	return (strings.Contains(source, " and ") || strings.Contains(source, " or ") || strings.Contains(source, "for k")) &&
		named.ReplaceAllString(got, "$1") == named.ReplaceAllString(want, "$1")
}

// TestRandomScriptsEqualRedis compares the replies of random scripts.
func TestRandomScriptsEqualRedis(t *testing.T) {
	t.Parallel()
	g := &generator{Rand: seed.Rand(t)}
	server := startRedis(t)
	peer, host := server.dial(t, 2), newProxy(t, server)
	failures := 0
	for range *scripts {
		source := g.script()
		peer.do("FLUSHALL")
		got := ours(t, host, 2, source, []string{"k1", "k2"}, []string{"a1", "a2"})
		if crashes(got) {
			continue
		}
		peer.do("FLUSHALL")
		want := peer.do("EVAL", source, "2", "k1", "k2", "a1", "a2")
		if got != want && !addresses(got) && !sameButName(source, got, want) {
			t.Errorf("%s\n got %q\nwant %q", source, got, want)
			if failures++; failures == 15 {
				t.FailNow()
			}
		}
	}
}
