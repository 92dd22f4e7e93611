package lua

import (
	"context"
	"testing"
)

func eval(t testing.TB, source string) string {
	t.Helper()
	p, err := Compile("user_script", []byte(source))
	if err != nil {
		return "-" + err.Error()
	}
	reply, err := p.Run(context.Background(), &Run{Protocol: 2})
	if err != nil {
		return "!" + err.Error()
	}
	return string(reply)
}

func TestSmoke(t *testing.T) {
	for _, s := range []string{
		`return 1`, `return {1,2,"x"}`, `local a,b=1,2 return a+b`, `local t={} for i=1,10 do t[i]=i*i end return t`,
		`local function f(n) if n<2 then return n end return f(n-1)+f(n-2) end return f(20)`,
		`return {pcall(function() error("x") end)}`, `return {string.find("hello world","o w")}`,
		`local s="" for k,v in pairs({a=1,b=2,c=3}) do s=s..k..v end return s`,
		`return cjson.encode({a=1,b={1,2,3}})`, `return {coroutine.wrap(function(a) local b=coroutine.yield(a+1) return b*2 end)(1)}`,
		`local f=coroutine.wrap(function(a) local b=coroutine.yield(a+1) return b*2 end) return {f(1),f(21)}`,
		`local a a.b=1`, `return nosuch`, `x=1`, `return string.format("%5.2f|%d|%s", 1.5, 3, "x")`,
	} {
		t.Logf("%s\n   -> %q", s, eval(t, s))
	}
}
