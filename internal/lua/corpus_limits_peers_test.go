//go:build peers

package lua_test

import (
	"fmt"
	"strings"
)

// limitCorpus goes to the limits of the stack of a builtin, with each number of arguments
// that a builtin may have.
func limitCorpus() (list []string) {
	for n := 7990; n <= 8001; n++ {
		for _, call := range []string{"unpack(t)", "unpack(t,1)", "unpack(t,1,N)", "unpack(t,1,N,4,5)", "unpack(t,2)", "unpack({},-N,-1)"} {
			list = append(list, fmt.Sprintf("local t={} for i=1,N do t[i]=i end return select('#',%s)", call))
		}
		list = append(list,
			"local t={} for i=1,N do t[i]=65 end return #string.char(unpack(t))",
			"local t={} for i=1,N do t[i]=i end local function f(...) local a={...} return #a+select('#',...) end return f(unpack(t))",
			"local t={} for i=1,N do t[i]='x' end return #redis.call('mget',unpack(t))",
			"local t={} for i=1,N do t[i]='x' end return #table.concat({unpack(t)})",
			"local t={} for i=1,N do t[i]=1 end return #struct.pack(string.rep('b',N),unpack(t))",
			"return select('#',string.byte(string.rep('x',N),1,-1))", "return select('#',string.byte(string.rep('x',N),1,-1,4))",
			"return select('#',struct.unpack(string.rep('b',N),string.rep('a',N)))", "return select('#',struct.unpack(string.rep('b',N),string.rep('a',N),1,2))",
			"return select('#',struct.unpack(string.rep('b',N)..'x',string.rep('a',N)))",
			`return select('#',cmsgpack.unpack(string.rep('\1',N)))`, `return select('#',cmsgpack.unpack(string.rep('\1',N),2,3))`,
			`return select('#',cmsgpack.unpack_limit(string.rep('\1',9000),N,0))`, `return select('#',cmsgpack.unpack_limit(string.rep('\1',N),N))`)
		for i, script := range list {
			list[i] = strings.ReplaceAll(script, "N", fmt.Sprint(n))
		}
	}
	for n := 3990; n <= 4001; n++ {
		for _, v := range []string{"1", "'a'", "{}", "{1}", "{{1}}", "{{{1}}}", "{a=1}", "{a={b=1}}", "{[{}]=1}", "{a={{b=1}}}"} {
			list = append(list, fmt.Sprintf("local t={} for i=1,%d do t[i]=%s end return #cmsgpack.pack(unpack(t))", n, v))
		}
	}
	return list
}

// lineCorpus has errors in statements over several lines.
var lineCorpus = []string{
	"for k,v in\n 3\n do end",
	"local g=3 for k,v in\n g\n do end",
	"local t={} for k,v in\n t.x, 1,\n 2\n do\n local a=1\n end",
	"for\n k\n in\n\n 3\n do\n end",
	"for k,v in next, 5 do end",
	"for k,v in\nnext,\n 5 do end",
	"for k in string.gmatch do end",
	"for k in ipairs do end",
	"for k in\npairs(5)\ndo end",
	"local f=function() error('x') end for k in\n f\n do end",
	"local f=function() error('x',2) end for k in\n f\n do end",
	"for k in\n (function() error('x',2) end) do end",
	"local t=setmetatable({},{__call=function(s,a,b) error('in call',2) end}) for k in\nt\ndo end",
	"for i=1,\n'x'\n do end",
	"for i\n=\n'x',1 do end",
	"for i=1,2,\n'y'\n do end",
	"for i=1,2,'y'\n\n do\n end",
	"local t\n t.x\n=\n5",
	"local t\n t.x,\nt.y\n=\n5,\n6",
	"local t=3\n t[1]\n=\n5\n",
	"local t={}\nt[\nnil\n]=\n1",
	"local t={}\nt\n.x\n.y\n=\n1",
	"string\n.x\n=\n1",
	"x\n=\n1",
	"local t = {\n[nil]\n=\n1}",
	"local t = {\n[nil]=1,\n2}",
	"local t = {\n1,\n[nil]=\n'x'\n\n}",
	"local s='a'\ns:\nfoo(\n1)",
	"local s\ns:\nfoo(\n1)",
	"local s='a'\ns\n:foo{\n1}",
	"local s={}\ns\n.x\n.y{\n1}",
	"local s={foo=function(x) error('x',2) end}\ns:\nfoo(\n1)",
	"local s={foo=function(x) error('x',2) end}\ns:foo{\n1\n}",
	"local f\nf'a'",
	"local f\nf{\n}",
	"local t={}\nfunction\nt.a.b\n()\nend",
	"local t\nfunction\nt.a\n()\nend",
	"return\n{}\n..\n1",
}

// zeroCorpus has minus zero as an argument, in texts, and as a key, and numbers that no integer holds.
var zeroCorpus = []string{
	"local a=0 a=-a redis.call('set',KEYS[1],a) return redis.call('get',KEYS[1])",
	"return redis.call('echo',0*-1)",
	"return redis.call('echo',tonumber('-0'))",
	"return redis.pcall('incrby',KEYS[1],0*-1)",
	"redis.call('append',KEYS[1],0*-1) return redis.call('get',KEYS[1])",
	"redis.call('hset',KEYS[1],0*-1,0*-1) return redis.call('hgetall',KEYS[1])",
	"redis.call('zadd',KEYS[1],0*-1,0*-1) return redis.call('zrange',KEYS[1],0,-1,'withscores')",
	"redis.call('rpush',KEYS[1],unpack{0*-1,0,-1e-320,1e300,-1e18,1e18,0.1}) return redis.call('lrange',KEYS[1],0,-1)",
	"return {0*-1, tostring(0*-1), (0*-1)..'', string.format('%d %g %s',0*-1,0*-1,0*-1), cjson.encode(0*-1), cmsgpack.pack(0*-1), tostring(1/(0*-1))}",
	"return {double=0*-1}",
	"redis.setresp(3) return {double=0*-1}",
	"local t={} t[0*-1]=5 t[0]=6 local r={} for k,v in pairs(t) do r[#r+1]=tostring(k)..v end return r",
	"return math.ceil(-0.5)..' '..math.fmod(-4,2)..' '..(-4%2)..' '..math.floor(-0.0)..' '..math.abs(-0.0)..' '..math.max(-0.0,0)..' '..tostring(-0.0)",
	"local a,b=0,-0 return {tostring(a),tostring(b),tostring(-0),tostring(0)}",
	"return bit.tohex(0*-1)..bit.tobit(0*-1)..struct.pack('d',0*-1)",
	"return string.format('%x %u %X %o %d', 1e300, 2^64, 1/0, 2^65, 2^64)",
	"return string.format('%x %u %X %o %d', -1e300, 2^63, -1/0, 0/0, 2^64-2048)",
	"local r={} for i,n in ipairs{1e300,1/0,-1/0,0/0,2^63,2^64,2^63+2048,-2^63,-2^64,-1e300,2^64-2048,-1.5,1.5,0*-1} do r[i]=struct.pack('LlI4b',n,n,n,n) end return r",
	"for k,v in ipairs(KEYS), 0 do end",
	"for k,v in ipairs(KEYS), {}, 'x' do end",
}

// shebangCorpus has first lines with words in quotes.
func shebangCorpus() (list []string) {
	for _, line := range []string{
		`#!lua flags="no-writes"`, `#!lua "flags=no-writes"`, `#!lua 'flags=no-writes'`, `#!"lua"`, `"#!lua"`, `#!lua flags="no-writes,allow-oom"`,
		`#!lua flags="a`, `#!lua flags='a`, `#!lua "flags="`, `#!lua flags=,`, `#!lua flags=no-writes,`, `#!lua  flags=no-writes  `, "#!lua\tflags=no-writes",
		"#!lua flags=no-writes\r", "#!lua flags=no-writes\v", "#!lua\v", `#! lua`, `#!`, `#!lua flags="no-writes"x`, `#!lua flags="no-writes""x"`, `#!lua x"y"`,
		`#!lua flags="\x6eo-writes"`, `#!lua flags="\x6go-writes"`, `#!lua flags="no-writes\`, `#!lua flags='\x6eo-writes'`, `#!lua ''`, `#!lua ""`, `#!lua FLAGS=no-writes`,
		`#!LUA`, `#!lua 'a\'b'`, `#!lua "a\"b"`, `#!lua "a\qb"`, `#!lua name=x`,
	} {
		list = append(list, line+"\nreturn 1", line+"\nreturn redis.pcall('ping')")
	}
	return list
}
