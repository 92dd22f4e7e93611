package lua

import (
	"context"
	"strconv"
	"sync"
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

// TestProgramsAreShared runs one program in many goroutines at once.
func TestProgramsAreShared(t *testing.T) {
	t.Parallel()
	p, err := Compile("user_script", []byte(`local t = {} for i = 1, 50 do t["k"..i] = i end
		local s = 0 for k, v in pairs(t) do s = s + v end
		local co = coroutine.wrap(function() for i = 1, 3 do coroutine.yield(i) end end)
		return KEYS[1] .. s .. co() .. co() .. select(2, pcall(error, "x"))`))
	if err != nil {
		t.Fatal(err)
	}
	var group sync.WaitGroup
	for g := range 8 {
		group.Go(func() {
			for i := range 100 {
				key := strconv.Itoa(g*1000 + i)
				reply, err := p.Run(context.Background(), &Run{Keys: [][]byte{[]byte(key)}, Protocol: 2})
				if err != nil {
					t.Error(err)
					return
				}
				want := key + "127512x"
				if got := string(reply); got != "$"+strconv.Itoa(len(want))+"\r\n"+want+"\r\n" {
					t.Errorf("%q", got)
					return
				}
			}
		})
	}
	group.Wait()
}

// FuzzRun compiles and runs any source: it ends, and never panics.
func FuzzRun(f *testing.F) {
	for _, s := range hostile {
		f.Add(s)
	}
	f.Add(`local a, b = 1, {} for i, v in ipairs({1,2}) do b[i] = v .. a end return b`)
	f.Add(`return coroutine.wrap(function(...) return select("#", ...) end)(1, 2)`)
	f.Fuzz(func(t *testing.T, source string) {
		p, err := Compile("user_script", []byte(source))
		if err != nil {
			return
		}
		if _, err := p.Run(context.Background(), &Run{Protocol: 3, Limits: Limits{Steps: 20000, Memory: 8 << 20}}); err != nil {
			if s := err.Error(); len(s) > 13 && s[:13] == "lua: internal" {
				t.Fatalf("%q: %v", source, err)
			}
		}
	})
}

// lockHost answers like a key that holds "token".
type lockHost struct{ bigHost }

func (lockHost) Call(args [][]byte, _ int, dst []byte) ([]byte, error) {
	if string(args[0]) == "get" {
		return append(dst, "$5\r\ntoken\r\n"...), nil
	}
	return append(dst, ":1\r\n"...), nil
}

const compareAndExpire = `if redis.call("get",KEYS[1])==ARGV[1] then return redis.call("pexpire",KEYS[1],ARGV[2]) else return 0 end`

func BenchmarkCompareAndExpire(b *testing.B) {
	p, err := Compile("user_script", []byte(compareAndExpire))
	if err != nil {
		b.Fatal(err)
	}
	r := &Run{Keys: [][]byte{[]byte("lock:1")}, Args: [][]byte{[]byte("token"), []byte("30000")}, Host: lockHost{}, Protocol: 2}
	b.ReportAllocs()
	for b.Loop() {
		if reply, err := p.Run(context.Background(), r); err != nil || string(reply) != ":1\r\n" {
			b.Fatal(string(reply), err)
		}
	}
}

func BenchmarkLoop(b *testing.B) {
	p, err := Compile("user_script", []byte(`local s = 0 for i = 1, 1e6 do s = s + i % 7 end return s`))
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := p.Run(context.Background(), &Run{}); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkCalls(b *testing.B) {
	p, err := Compile("user_script", []byte(`local function f(n) if n < 2 then return n end return f(n-1) + f(n-2) end return f(22)`))
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := p.Run(context.Background(), &Run{}); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkCompile(b *testing.B) {
	for b.Loop() {
		if _, err := Compile("user_script", []byte(compareAndExpire)); err != nil {
			b.Fatal(err)
		}
	}
}
