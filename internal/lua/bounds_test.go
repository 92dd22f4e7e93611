package lua

import (
	"context"
	"errors"
	"runtime"
	"testing"
	"time"
)

// hostile scripts never end, or take all memory that there is.
var hostile = map[string]string{
	"loop":             `while true do end`,
	"repeat":           `repeat until false`,
	"for":              `for i=1,1e15 do end`,
	"pcall":            `while true do pcall(function() while true do end end) end`,
	"xpcall":           `local function f() while true do end end xpcall(f, f)`,
	"pcall of pcall":   `local function f() pcall(f) f() end while true do pcall(f) end`,
	"tail calls":       `local function f() return f() end f()`,
	"pattern":          `return string.find(string.rep("a",40), string.rep("a?",40)..string.rep("a",40))`,
	"pattern most":     `return string.find(string.rep("a",200000), ".*.*.*.*b")`,
	"gsub":             `return string.gsub(string.rep("a",3000), "a*a*a*a*b", "")`,
	"gmatch":           `for w in string.gmatch(string.rep("(",100000), "%b()") do end return string.find(string.rep("(",1000000), ".-.-%b()x")`,
	"rep":              `return #string.rep("x", 512*1024*1024)`,
	"rep of rep":       `local t={} for i=1,1000 do t[i]=string.rep("x"..i,1024*1024) end`,
	"doubling":         `local s="x" while true do s=s..s end`,
	"doubling format":  `local s="x" while true do s=string.format("%s%s",s,s) end`,
	"doubling concat":  `local s="x" while true do s=table.concat({s,s}) end`,
	"doubling gsub":    `local s=string.rep("x",100) while true do s=string.gsub(s,".","%0%0") end`,
	"doubling upper":   `local t={} local s=string.rep("x",1e6) while true do t[#t+1]=s:upper() end`,
	"doubling reverse": `local t={} local s=string.rep("x",1e6) while true do t[#t+1]=s:reverse() end`,
	"doubling sub":     `local t={} local s=string.rep("x",1e6) while true do t[#t+1]=s:sub(2) end`,
	"array":            `local t={} for i=1,1e12 do t[i]=i end`,
	"hash":             `local t={} for i=1,1e12 do t["k"..i]=i end`,
	"far index":        `local t={} for i=1,1e9 do local u={} u[2^26]=1 t[i]=u end`,
	"tables":           `local t={} while true do t={t} end`,
	"closures":         `local f while true do local g=f f=function() return g end end`,
	"coroutines":       `local t={} while true do t[#t+1]=coroutine.wrap(function() coroutine.yield() end) t[#t]() end`,
	"dead coroutines":  `while true do coroutine.wrap(function() end)() end`,
	"nested coroutine": `local function f() coroutine.wrap(f)() end while true do pcall(f) end`,
	"load":             `local i=0 while true do i=i+1 loadstring("return "..string.rep("1+",1000).."1") end`,
	"load reader":      `load(function() return 1 end)`,
	"json":             `local t={} for i=1,1000 do t[i]=string.rep("\1",1000) end while true do cjson.encode(t) end`,
	"json bomb":        `local t={string.rep("\1",60000)} for i=1,1000 do t[#t+1]=t[1] end local u={} for i=1,1000 do u[i]=t end return #cjson.encode(u)`,
	"json decode":      `local s="["..string.rep("[],",1e6).."1]" local t={} while true do t[#t+1]=cjson.decode(s) end`,
	"msgpack bomb":     `local t={} for i=1,1000 do t[i]=string.rep("x",60000) end local u={} for i=1,1000 do u[i]=t end return #cmsgpack.pack(u)`,
	"msgpack unpack":   `local s=string.rep("\144",1e6) local t={} while true do t[#t+1]={cmsgpack.unpack_limit(s,7000)} end`,
	"struct":           `local t={} while true do t[#t+1]=struct.pack("c0",string.rep("x",1e6)) end`,
	"sort":             `local t={} for i=1,1e5 do t[i]=i%7 end while true do table.sort(t,function(a,b) return a<b end) end`,
	"insert":           `local t={} for i=1,1e12 do table.insert(t,1,i) end`,
	"unpack":           `local t={} while true do t={unpack(t,1,7000)} end`,
	"varargs":          `local function f(...) return f(1,...) end f()`,
	"arg":              `local function f(...) return f(arg,...) end f()`,
	"metatable":        `local t t=setmetatable({},{__index=function(_,k) return t[k] end}) while true do pcall(function() return t.x end) end`,
	"reply":            `local t={string.rep("x",1e6)} for i=1,1000 do t[i]=t[1] end local u={} for i=1,1000 do u[i]=t end return u`,
	"replies":          `while true do redis.call("big") end`,
	"sha":              `local s=string.rep("x",1e7) while true do redis.sha1hex(s) end`,
	"tostring":         `local t=setmetatable({},{}) getmetatable(t).__tostring=function() return tostring(t) end while true do pcall(tostring,t) end`,
	"concat meta":      `local m={} m.__concat=function(a,b) return a..b end local t=setmetatable({},m) while true do pcall(function() return t.."x" end) end`,
	"next":             `local t={} for i=1,1e5 do t[i]=i end while true do for k in next,t do end end`,
	"maxn":             `local t={} for i=1,1e5 do t[i]=i end while true do table.maxn(t) end`,
}

// bigHost answers every command with a large bulk string.
type bigHost struct{ reply []byte }

func (h bigHost) Call(_ [][]byte, _ int, dst []byte) ([]byte, error) {
	return append(dst, h.reply...), nil
}
func (h bigHost) Allowed([][]byte) (bool, bool) { return true, true }
func (h bigHost) Log(int, string)               {}

// TestHostileScriptsEnd runs scripts that would not end. Each is stopped by its
// memory or by its context, and neither it nor the next run harms the process.
func TestHostileScriptsEnd(t *testing.T) {
	body := make([]byte, 1<<20)
	host := bigHost{append(append([]byte("$1048576\r\n"), body...), "\r\n"...)}
	for name, source := range hostile {
		t.Run(name, func(t *testing.T) {
			p, err := Compile("user_script", []byte(source))
			if err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithTimeout(context.Background(), 60*time.Millisecond)
			defer cancel()
			peak := watchHeap(t)
			reply, err := p.Run(ctx, &Run{Protocol: 2, Host: host})
			if most := peak(); most > 8*DefaultMemory {
				t.Errorf("the heap grew by %d MiB", most>>20)
			}
			switch {
			case errors.Is(err, context.DeadlineExceeded), errors.Is(err, ErrMemory):
			case err != nil:
				t.Fatalf("the run ended with %v", err)
			default:
				t.Fatalf("the run gave a reply: %.200q", reply)
			}
			if got := eval(t, "return 1"); got != ":1\r\n" {
				t.Fatalf("a run after it gives %q", got)
			}
		})
	}
}

// watchHeap samples by how many bytes the heap grows, until peak is called.
func watchHeap(t *testing.T) (peak func() uint64) {
	t.Helper()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	before := m.HeapAlloc
	stop, done := make(chan struct{}), make(chan uint64)
	go func() {
		var most uint64
		tick := time.NewTicker(5 * time.Millisecond)
		defer tick.Stop()
		for {
			var m runtime.MemStats
			runtime.ReadMemStats(&m)
			most = max(most, m.HeapAlloc)
			select {
			case <-stop:
				done <- most - min(before, most)
				return
			case <-tick.C:
			}
		}
	}()
	return func() uint64 { close(stop); return <-done }
}

// TestStepsEndRuns bounds runs without a clock.
func TestStepsEndRuns(t *testing.T) {
	t.Parallel()
	p, err := Compile("user_script", []byte(`while true do pcall(error, "x") end`))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.Run(context.Background(), &Run{Limits: Limits{Steps: 100000}}); !errors.Is(err, ErrSteps) {
		t.Fatalf("got %v", err)
	}
}

// abandoning gives up the run at a command.
type abandoning struct {
	bigHost
	at  int
	err error
}

func (h *abandoning) Call(args [][]byte, protocol int, dst []byte) ([]byte, error) {
	if h.at--; h.at < 0 {
		return nil, h.err
	}
	return append(dst, ":7\r\n"...), nil
}

// TestHostAbandonsRuns gives up runs within pcall, coroutines and callbacks, and
// begins them again: the results are those of a run that nothing disturbed.
func TestHostAbandonsRuns(t *testing.T) {
	source := `local r = {}
		local function add(v) r[#r+1] = v end
		pcall(function() pcall(function() add(redis.call("a")) end) end)
		local w = coroutine.wrap(function() pcall(function() add(redis.pcall("b")) end) coroutine.yield() add(redis.call("c")) end)
		w() w()
		table.sort({3,2,1}, function(a,b) redis.call("d") return a<b end)
		string.gsub("xy", ".", function(c) add(redis.call("e", c)) end)
		xpcall(function() add(redis.call("f")) end, function(e) add("caught") end)
		setmetatable({}, {__index=function() add(redis.call("g")) end}).x()
		return r`
	p, err := Compile("user_script", []byte("pcall(function() "+source+" end) return math.random(1000000)"))
	if err != nil {
		t.Fatal(err)
	}
	gone := errors.New("a key is not loaded")
	want, err := p.Run(context.Background(), &Run{Host: &abandoning{at: 1000}})
	if err != nil {
		t.Fatal(err)
	}
	before := runtime.NumGoroutine()
	for at := range 12 {
		reply, err := p.Run(context.Background(), &Run{Host: &abandoning{at: at, err: gone}})
		if err == nil && string(reply) == string(want) && at > 8 {
			continue
		}
		if err != gone {
			t.Fatalf("abandoned at command %d: %q, %v", at, reply, err)
		}
	}
	again, err := p.Run(context.Background(), &Run{Host: &abandoning{at: 1000}})
	if err != nil || string(again) != string(want) {
		t.Fatalf("again: %q, %v; before %q", again, err, want)
	}
	if after := runtime.NumGoroutine(); after > before {
		t.Fatalf("%d goroutines, %d before", after, before)
	}
}

// TestRunsLeaveNothing runs scripts that try to leave something for the next.
func TestRunsLeaveNothing(t *testing.T) {
	t.Parallel()
	for _, source := range []string{
		`rawset(_G, "x", 1)`, `pcall(rawset, _G, "x", 1)`, `pcall(function() x = 1 end)`, `pcall(function() string.x = 1 end)`,
		`pcall(rawset, string, "x", 1)`, `pcall(table.insert, string, 1)`, `pcall(setmetatable, string, {__index={x=1}})`,
		`pcall(function() getmetatable("").__index.x = 1 end)`, `pcall(function() getmetatable("").x = 1 end)`,
		`cjson.encode_number_precision(3)`, `math.randomseed(99)`, `redis.setresp(3)`, `KEYS[1] = "z" KEYS.x = 1`,
	} {
		eval(t, source)
		check := `return {tostring(rawget(_G,"x")), tostring(string.x), tostring(("").x), cjson.encode(1/3), tostring(math.random()), #KEYS, tostring(KEYS.x), tostring(getmetatable("").x)}`
		want := "*8\r\n$3\r\nnil\r\n$3\r\nnil\r\n$3\r\nnil\r\n$16\r\n0.33333333333333\r\n$16\r\n0.17082803611217\r\n:0\r\n$3\r\nnil\r\n$3\r\nnil\r\n"
		if got := eval(t, check); got != want {
			t.Errorf("after %s: %q", source, got)
		}
	}
}

// TestHostileLibraries loads libraries that take all memory by what they register.
func TestHostileLibraries(t *testing.T) {
	for name, source := range map[string]string{
		"names":        `local s = 'x' for i = 1, 20 do s = s .. s end for i = 1, 1e6 do redis.register_function(s .. i, function() end) end`,
		"descriptions": `local s = 'x' for i = 1, 20 do s = s .. s end for i = 1, 1e6 do redis.register_function{function_name='f' .. i, callback=function() end, description=s .. i} end`,
		"functions":    `for i = 1, 1e9 do redis.register_function('f' .. i, function() end) end`,
	} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
			defer cancel()
			peak := watchHeap(t)
			_, err := LoadLibrary(ctx, []byte("#!lua name=lib\n"+source), Limits{})
			if most := peak(); most > 8*DefaultMemory {
				t.Errorf("the heap grew by %d MiB", most>>20)
			}
			if !errors.Is(err, ErrMemory) {
				t.Errorf("got %v", err)
			}
		})
	}
}
