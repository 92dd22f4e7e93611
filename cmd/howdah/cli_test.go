package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/howdah/howdah/internal/test/pgtest"
)

func TestCLI(t *testing.T) {
	t.Parallel()
	p := serve(t, nil, "--database-url", pgtest.New(t))
	do := func(stdin string, args ...string) result {
		return execute(t, stdin, []string{"HOWDAH_SERVER=" + p.redis}, append([]string{"cli"}, args...)...)
	}
	require.Equal(t, result{out: "OK\n"}, do("", "SET", "greeting", "hello"))
	require.Equal(t, result{out: "hello\n"}, do("", "GET", "greeting"))
	require.Equal(t, result{out: "\"hello\"\n"}, do("", "--no-raw", "get", "greeting"))
	require.Equal(t, result{out: "\"hello\"\n"}, do("", "--json", "get", "greeting"))
	require.Equal(t, result{out: "\n"}, do("", "get", "none"))
	require.Equal(t, result{out: "(nil)\n"}, do("", "--no-raw", "get", "none"))
	require.Equal(t, result{out: "2\n"}, do("", "HSET", "h", "a", "1", "-b", "2"), "what stands behind the command is the server's")
	require.Equal(t, result{out: "-1\n"}, do("", "--", "TTL", "greeting"))
	require.Equal(t, result{out: "{\"a\":\"1\",\"-b\":\"2\"}\n"}, do("", "--output", "json", "HGETALL", "h"))
	require.Equal(t, result{out: "1) \"a\"\n2) \"1\"\n3) \"-b\"\n4) \"2\"\n"}, do("", "--no-raw", "HGETALL", "h"))
	require.Equal(t, result{out: "1# \"a\" => \"1\"\n2# \"-b\" => \"2\"\n"}, do("", "--no-raw", "-3", "HGETALL", "h"))

	r := do("", "GET")
	require.Equal(t, exitFailed, r.code)
	require.Equal(t, "ERR wrong number of arguments for 'get' command\n\n", r.out)
	r = do("", "--json", "GET")
	require.Equal(t, exitFailed, r.code)
	require.Equal(t, "{\"error\":\"ERR wrong number of arguments for 'get' command\"}\n", r.out)
	require.Equal(t, result{out: "1\n2\n3\n"}, do("", "-r", "3", "-i", "0.001", "INCR", "n"))

	require.Equal(t, result{out: "OK\n"}, do("two\nlines \x00\n", "-x", "SET", "page"))
	require.Equal(t, "two\nlines \x00\n", execute(t, "", nil, "get", "page", "--server", p.redis).out)

	require.Equal(t, result{out: "OK\n"}, do("", "-n", "3", "SET", "k", "three"))
	require.Equal(t, result{out: "three\n"}, do("", "-u", "redis://"+p.redis+"/3", "GET", "k"))
	require.Equal(t, exitUsage, do("", "-u", "redis://"+p.redis+"/3", "-n", "4", "GET", "k").code)

	for _, version := range []string{"-3=false", "-3"} {
		r = do("UNSUBSCRIBE a b\nPUNSUBSCRIBE\nPING\n", version, "--no-raw")
		require.Equal(t, result{out: "1) \"unsubscribe\"\n2) \"a\"\n3) (integer) 0\n1) \"unsubscribe\"\n2) \"b\"\n3) (integer) 0\n1) \"punsubscribe\"\n2) (nil)\n3) (integer) 0\nPONG\n"}, r)
	}

	// Lines of a pipe.
	r = do("SET a \"x y\"\n\n2 APPEND a z\nGET a\nNOSUCH\nGET a\nexit\nGET a\n", "--no-raw")
	require.Equal(t, exitFailed, r.code, "a reply was an error")
	require.Regexp(t, `^OK\n\(integer\) 4\n\(integer\) 5\n"x yzz"\n\(error\) ERR unknown command .*\n"x yzz"\n$`, r.out)
	require.Equal(t, result{out: "x yzz\n"}, do("GET a"), "without an end of line")

	for _, wrong := range [][]string{
		{"--raw", "--no-raw", "PING"}, {"--raw", "--json", "PING"}, {"-x"}, {"--pipe", "PING"}, {"-r", "2"}, {"-r", "0", "PING"}, {"-i", "-1", "PING"},
		{"--cacert", "x", "PING"}, {"--tls", "--cert", "x", "PING"}, {"--tls", "--cacert", "/none", "PING"}, {"-n", "-1", "PING"}, {"--askpass", "PING"},
		{"-u", "http://x", "PING"}, {"--pipe", "-3"}, {"--nothing"},
	} {
		r := do("", wrong...)
		require.Equal(t, exitUsage, r.code, "%v: %s", wrong, r.err)
		require.Empty(t, r.out)
	}
	r = do("", "-u", "127.0.0.1:1", "PING")
	require.Equal(t, exitFailed, r.code)
	require.Contains(t, r.err, "cannot connect to 127.0.0.1:1")
}

func TestCLIPassword(t *testing.T) {
	t.Parallel()
	cert, key := certificate(t)
	p := serve(t, []string{"HOWDAH_PASSWORD=hunter2"}, "--database-url", pgtest.New(t), "--tls-cert", cert, "--tls-key", key)
	file := filepath.Join(t.TempDir(), "password")
	require.NoError(t, os.WriteFile(file, []byte("hunter2\n"), 0o600))
	ping := func(env []string, args ...string) result {
		return execute(t, "", env, append(append([]string{"cli", "--cacert", cert}, args...), "PING")...)
	}
	tls := []string{"-u", p.redis, "--tls"}
	pong := result{out: "PONG\n"}
	require.Equal(t, pong, ping([]string{"HOWDAH_PASSWORD=hunter2"}, tls...))
	require.Equal(t, pong, ping([]string{"REDISCLI_AUTH=hunter2"}, tls...))
	require.Equal(t, pong, ping(nil, append(tls, "--password-file", file)...))
	require.Equal(t, pong, ping(nil, "-u", "rediss://:hunter2@"+p.redis))
	require.Equal(t, pong, execute(t, "", nil, "cli", "-u", "rediss://:hunter2@"+p.redis, "--insecure", "PING"))
	r := ping(nil, tls...)
	require.Equal(t, exitFailed, r.code)
	require.Contains(t, r.out, "NOAUTH")
	r = ping([]string{"HOWDAH_PASSWORD=wrong"}, tls...)
	require.Equal(t, exitFailed, r.code)
	require.Contains(t, r.err, "the server refused the password: WRONGPASS")
	r = execute(t, "", nil, "cli", "-u", p.redis, "--tls", "PING")
	require.Equal(t, exitFailed, r.code)
	require.Contains(t, r.err, "certificate")

	// The process list does not show the password of a URL.
	for i, flag := range [][]string{{"-u", "rediss://:hunter2@" + p.redis}, {"-urediss://:hunter2@" + p.redis}, {"--server=rediss://:hunter2@" + p.redis}} {
		key := fmt.Sprintf("waits:%d", i)
		waiting := exec.Command(os.Args[0], append(append([]string{"cli", "--insecure"}, flag...), "-r", "-1", "-i", "100", "SET", key, "v")...)
		waiting.Env = cleanEnvironment()
		require.NoError(t, waiting.Start())
		require.Eventually(t, func() bool {
			r := execute(t, "", []string{"HOWDAH_PASSWORD=hunter2"}, "cli", "-u", p.redis, "--tls", "--insecure", "EXISTS", key)
			return r.out == "1\n"
		}, time.Minute, time.Millisecond)
		title, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", waiting.Process.Pid))
		if err == nil {
			require.Contains(t, string(title), key)
			require.NotContains(t, string(title), "hunter2")
		}
		require.NoError(t, waiting.Process.Kill())
		_ = waiting.Wait()
	}
}

// Mass insertion takes RESP and lines, and counts replies and errors.
func TestCLIPipe(t *testing.T) {
	t.Parallel()
	p := serve(t, nil, "--database-url", pgtest.New(t))
	do := func(stdin string, args ...string) result {
		return execute(t, stdin, []string{"HOWDAH_SERVER=" + p.redis}, append([]string{"cli"}, args...)...)
	}
	var commands strings.Builder
	for i := range 10_000 {
		key := fmt.Sprintf("key:%d", i)
		fmt.Fprintf(&commands, "*3\r\n$3\r\nSET\r\n$%d\r\n%s\r\n$1\r\nv\r\n", len(key), key)
	}
	waiting := "All data transferred. Waiting for the last reply...\n"
	require.Equal(t, result{out: waiting + "Last reply received from server.\nerrors: 0, replies: 10000\n"}, do(commands.String(), "--pipe"))
	require.Equal(t, result{out: "10000\n"}, do("", "DBSIZE"))

	r := do("SET a 1\r\nNOSUCH\nINCR a", "--pipe")
	require.Equal(t, exitFailed, r.code)
	require.Equal(t, waiting+"Last reply received from server.\nerrors: 1, replies: 3\n", r.out)
	require.Contains(t, r.err, "ERR unknown command 'NOSUCH'")
	require.Equal(t, result{out: "2\n"}, do("", "GET", "a"))

	r = do("SET a 1\r\n", "--pipe", "--json")
	require.Equal(t, result{out: "{\"replies\":1,\"errors\":0}\n"}, r)
	r = do(strings.Repeat("NOSUCH\n", 30), "--pipe")
	require.Equal(t, 21, strings.Count(r.err, "\n"))
	require.Contains(t, r.err, "... and 10 errors more")
	r = do("*1\r\n$x\r\nPING\r\n", "--pipe")
	require.Equal(t, exitFailed, r.code)
	require.Contains(t, r.err, "Protocol error")
}

// What is published comes until a signal.
func TestCLISubscribe(t *testing.T) {
	t.Parallel()
	p := serve(t, nil, "--database-url", pgtest.New(t))
	var out bytes.Buffer
	read, write, err := os.Pipe()
	require.NoError(t, err)
	subscriber := exec.Command(os.Args[0], "cli", "-u", p.redis, "--json", "SUBSCRIBE", "news")
	subscriber.Env, subscriber.Stdout = cleanEnvironment(), write
	require.NoError(t, subscriber.Start())
	t.Cleanup(func() { _ = subscriber.Process.Kill() })
	require.NoError(t, write.Close())
	line := func() string {
		for !bytes.Contains(out.Bytes(), []byte("\n")) {
			buf := make([]byte, 1024)
			require.NoError(t, read.SetReadDeadline(time.Now().Add(30*time.Second)))
			n, err := read.Read(buf)
			require.NoError(t, err)
			out.Write(buf[:n])
		}
		text, err := out.ReadString('\n')
		require.NoError(t, err)
		return text
	}
	require.Equal(t, "[\"subscribe\",\"news\",1]\n", line())
	require.Equal(t, "1\n", execute(t, "", nil, "cli", "-u", p.redis, "PUBLISH", "news", "rain").out)
	require.Equal(t, "[\"message\",\"news\",\"rain\"]\n", line())
	require.NoError(t, subscriber.Process.Signal(syscall.SIGTERM))
	require.Error(t, subscriber.Wait())
	require.Equal(t, exitFailed, subscriber.ProcessState.ExitCode())
}
