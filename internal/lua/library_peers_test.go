//go:build peers

package lua_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/howdah/howdah/internal/lua"
)

// libraries are sources for FUNCTION LOAD; each function f of them is called.
var libraries = []string{
	"return 1",
	"#!lua",
	"#!lua\nreturn 1",
	"#!lua nam=x\nreturn 1",
	"#!lua name=a-b\nreturn 1",
	"#!lua name=\nreturn 1",
	"#!lua name=a name=b\nreturn 1",
	"#!js name=a\nreturn 1",
	"#!lua name=\"a\"\nredis.register_function('f', function() return 1 end)",
	"#!lua 'name=a'\nredis.register_function('f', function() return 1 end)",
	"#!\"lua\" NAME=a\nredis.register_function('f', function() return 1 end)",
	"#!lua name=\"\\x61\"\nredis.register_function('f', function() return 1 end)",
	"#!lua name=\"a\nreturn 1",
	"#!lua name=\"a\"b\nreturn 1",
	"#!lua name=\"a b\"\nreturn 1",
	"#!lua ''\nreturn 1",
	"#!lua name=a \"\"\nreturn 1",
	"#!lua name=a\nreturn 1 +",
	"#!lua name=a\nreturn 1",
	"#!lua name=a\nerror('x')",
	"#!lua name=a\nerror({err='X y'})",
	"#!lua name=a\nx = 1",
	"#!lua name=a\nlocal a = nosuch",
	"#!lua name=a\nlocal a = KEYS",
	"#!lua name=a\nredis.call('get','x')",
	"#!lua name=a\nlocal t = redis.nosuch",
	"#!lua name=a\nredis.setresp(3)",
	"#!lua name=a\nstring.x = 1",
	"#!lua name=a\nredis.register_function()",
	"#!lua name=a\nredis.register_function(1, 2)",
	"#!lua name=a\nredis.register_function('f', 2)",
	"#!lua name=a\nredis.register_function('f', function() end, 3)",
	"#!lua name=a\nredis.register_function(1)",
	"#!lua name=a\nredis.register_function('f-g', function() end)",
	"#!lua name=a\nredis.register_function('', function() end)",
	"#!lua name=a\nredis.register_function('f', function() end) redis.register_function('f', function() end)",
	"#!lua name=a\nredis.register_function{}",
	"#!lua name=a\nredis.register_function{function_name='f'}",
	"#!lua name=a\nredis.register_function{callback=function() end}",
	"#!lua name=a\nredis.register_function{function_name=1}",
	"#!lua name=a\nredis.register_function{callback=1}",
	"#!lua name=a\nredis.register_function{description=1}",
	"#!lua name=a\nredis.register_function{flags=1}",
	"#!lua name=a\nredis.register_function{flags={'foo'}}",
	"#!lua name=a\nredis.register_function{flags={1}}",
	"#!lua name=a\nredis.register_function{nosuch=1}",
	"#!lua name=a\nredis.register_function{1}",
	"#!lua name=a\nredis.register_function{function_name='f', callback=function() return 1 end, description='d', flags={'no-writes','allow-oom','allow-stale','no-cluster','allow-cross-slot-keys'}}",
	"#!lua name=a\nredis.register_function('f', function(keys, args) return {keys, args, #keys} end)",
	"#!lua name=a\nlocal function add(a, b) return a + b end\nredis.register_function('f', function(keys, args) return add(args[1], 1) end)",
	"#!lua name=a\nredis.register_function('f', function() return redis.call('incr', 'x') end)",
	"#!lua name=a\nredis.register_function('f', function() return redis.call('nosuch') end)",
	"#!lua name=a\nredis.register_function('f', function() error('bad') end)",
	"#!lua name=a\nredis.register_function('f', function() error({err='BAD thing'}) end)",
	"#!lua name=a\nredis.register_function('f', function()\n local a\n return a.b\nend)",
	"#!lua name=a\nredis.register_function('f', function() return KEYS end)",
	"#!lua name=a\nredis.register_function('f', function() x = 1 end)",
	"#!lua name=a\nredis.register_function('f', function() redis.register_function('g', function() end) end)",
	"#!lua name=a\nredis.register_function('f', function() return redis.pcall('nosuch') end)",
	"#!lua name=a\nredis.register_function('f', function() return cjson.encode({1}) end)",
	"#!lua name=a\x00b\nreturn 1",
	"#!lua name=a\nerror('x\\0y')",
	"#!lua name=a\nerror({err='X y\\0z'})",
	"#!lua name=a\nlocal x = nosuch['a\\0b']",
	"#!lua name=a\nredis.register_function('f\\0g', function() end)",
	"#!lua name=a\nredis.register_function{function_name='f', callback=function() return 'a\\0b' end, description='d\\0e'}",
	"#!lua name=a\nredis.register_function{function_name='f', callback=function() end, flags={'no-writes\\0'}}",
	"#!lua name=a\nredis.register_function{function_name='f', ['callback\\0']=function() end}",
	"#!lua name=a\nlocal r = redis.error_reply('x') redis.register_function('f', function() return r end)",
}

// TestLibrariesEqualRedis loads each library here and there, and calls f.
func TestLibrariesEqualRedis(t *testing.T) {
	t.Parallel()
	server := startRedis(t)
	peer, host := server.dial(t, 2), newProxy(t, server)
	for _, source := range libraries {
		peer.do("FUNCTION", "FLUSH")
		peer.do("FLUSHALL")
		want := peer.do("FUNCTION", "LOAD", source)
		if strings.HasPrefix(want, "$") {
			want += peer.do("FUNCTION", "LIST") + peer.do("FCALL", "f", "2", "k1", "k2", "5")
		}
		peer.do("FLUSHALL")
		if got := loadAndCall(host, source); got != want {
			t.Errorf("%s\n got %q\nwant %q", source, got, want)
		}
	}
}

func bulk(s string) string { return fmt.Sprintf("$%d\r\n%s\r\n", len(s), s) }

func loadAndCall(host lua.Host, source string) string {
	l, err := lua.LoadLibrary(context.Background(), []byte(source), lua.Limits{})
	if err != nil {
		return "-" + err.Error() + "\r\n"
	}
	out := bulk(l.Name()) + "*1\r\n*6\r\n" + bulk("library_name") + bulk(l.Name()) + bulk("engine") + bulk("LUA") +
		bulk("functions") + fmt.Sprintf("*%d\r\n", len(l.Functions()))
	for _, f := range l.Functions() {
		out += "*6\r\n" + bulk("name") + bulk(f.Name) + bulk("description")
		if f.HasDescription {
			out += bulk(f.Description)
		} else {
			out += "$-1\r\n"
		}
		out += bulk("flags") + fmt.Sprintf("*%d\r\n", len(f.Flags.Names()))
		for _, name := range f.Flags.Names() {
			out += "+" + name + "\r\n"
		}
	}
	r := &lua.Run{Host: host, Protocol: 2, Keys: [][]byte{[]byte("k1"), []byte("k2")}, Args: [][]byte{[]byte("5")}}
	reply, err := l.Call(context.Background(), "f", r)
	if err != nil {
		return out + "! " + err.Error()
	}
	return out + string(reply)
}
