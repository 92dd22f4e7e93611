package main

import (
	"bufio"
	"encoding/json"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/howdah/howdah/internal/test/pgtest"
)

// follow starts a command that prints until it is interrupted, and returns what reads its
// next line and what ends it.
func follow(t *testing.T, env []string, args ...string) (next func() string, end func()) {
	t.Helper()
	cmd := exec.Command(os.Args[0], args...)
	cmd.Env = append(cleanEnvironment(), env...)
	cmd.Stderr = os.Stderr
	stdout, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	t.Cleanup(func() { _ = cmd.Process.Kill() })
	lines := bufio.NewScanner(stdout)
	next = func() string {
		require.True(t, lines.Scan(), "%v ended: %v", args, lines.Err())
		return lines.Text()
	}
	return next, func() {
		require.NoError(t, cmd.Process.Signal(os.Interrupt))
		for lines.Scan() { // Wait closes the pipe
		}
		require.NoError(t, cmd.Wait())
	}
}

func TestSlowCommand(t *testing.T) {
	t.Parallel()
	p := serve(t, []string{"HOWDAH_CONSOLE_MASK=invite:"}, "--database-url", pgtest.New(t), "--slow-call", "1ns")
	env := []string{"HOWDAH_SERVER=redis://" + p.redis}
	run := func(args ...string) string {
		t.Helper()
		r := execute(t, "", env, args...)
		require.Equal(t, 0, r.code, r.err)
		return r.out
	}
	run("set", "user:1", "VALUE")
	run("set", "sess:SECRET", "VALUE")
	run("set", "invite:SECRET", "VALUE")
	run("del", "user:1", "user:2")
	lines := slices.DeleteFunc(strings.Split(strings.TrimSpace(run("slow")), "\n"), func(line string) bool {
		return strings.Contains(line, " info ") // each command asks first what answers it
	})
	require.Len(t, lines, 5)
	require.Regexp(t, `^TIME +TOOK +QUEUED +STATEMENT +BLOCKED +CACHE +COMMAND +KEY +CLIENT$`, lines[0])
	require.Regexp(t, `^20\S+ \S+ +\d+\.\dms +\S+ +\d+\.\dms +- +db0 +set +"user:1" +RESP 127\.0\.0\.1:\d+$`, lines[1])
	require.Contains(t, lines[2], `"sess:***"`)
	require.Contains(t, lines[3], `"invite:***"`)
	require.Contains(t, lines[4], `"user:1" and 1 more`)
	last := jsonLines(t, run("slow", "-n", "4", "--output", "json"))
	require.Len(t, last, 4)
	last = slices.DeleteFunc(last, func(call map[string]any) bool { return call["command"] == "info" })
	require.Equal(t, "del", last[0]["command"])
	require.Equal(t, "write", last[0]["op"])
	require.InDelta(t, last[0]["duration_us"], last[0]["queued_us"].(float64)+last[0]["statement_us"].(float64), 2)
	next, end := follow(t, env, "slow", "--follow", "--output", "json")
	require.Equal(t, 1, execute(t, "", env, "get", "user:3").code)
	var call slowJSON
	for call.Command != "get" {
		require.NoError(t, json.Unmarshal([]byte(next()), &call))
	}
	require.Equal(t, "get", call.Command)
	require.Equal(t, "user:3", call.Key)
	require.Equal(t, "read", call.Op)
	end()
	require.NoError(t, p.cmd.Process.Signal(syscall.SIGTERM))
	require.Zero(t, p.wait(), p.log.String())
	require.NotContains(t, p.log.String(), "SECRET")
}

func TestMonitorCommand(t *testing.T) {
	t.Parallel()
	url := pgtest.New(t)
	p := serve(t, nil, "--database-url", url, "--monitor=false")
	r := execute(t, "", nil, "monitor", "--server", "redis://"+p.redis)
	require.Equal(t, 1, r.code)
	require.Equal(t, "howdah: MONITOR is off on this server, which runs with --monitor=false\n", r.err)

	p = serve(t, nil, "--database-url", url)
	env := []string{"HOWDAH_SERVER=redis://" + p.redis}
	for _, format := range []string{"text", "json"} {
		next, end := follow(t, env, "monitor", "--output", format)
		shown := make(chan string, 1)
		go func() {
			line := next()
			for strings.Contains(line, `"INFO"`) { // each command asks first what answers it
				line = next()
			}
			shown <- line
		}()
		line := ""
		for line == "" { // until the server shows commands, it has none
			require.Equal(t, 0, execute(t, "", env, "set", "a b", "VALUE").code)
			select {
			case line = <-shown:
			default:
			}
		}
		require.NotContains(t, line, "VALUE")
		if format == "text" {
			require.Regexp(t, `^\d+\.\d{6} \[0 127\.0\.0\.1:\d+\] "SET" "a b" "\(5 bytes\)"$`, line)
		} else {
			var got monitorJSON
			require.NoError(t, json.Unmarshal([]byte(line), &got), line)
			require.Equal(t, []string{"SET", "a b", "(5 bytes)"}, got.Command)
		}
		end()
	}
}

func TestReadMonitorLine(t *testing.T) {
	t.Parallel()
	line, err := readMonitorLine([]byte(`1339518083.107412 [3 [::1]:60866] "get" "a\x00] \"b"`))
	require.NoError(t, err)
	require.Equal(t, 3, line.Database)
	require.Equal(t, "[::1]:60866", line.Client)
	require.Equal(t, int64(1339518083107412), line.Time.UnixMicro())
	require.Equal(t, []string{"get", "a\x00] \"b"}, line.Command)
	line, err = readMonitorLine([]byte(`1339518083.107412 [0 howdah:0] "howdah.dropped" "12"`))
	require.NoError(t, err)
	require.Equal(t, 12, line.Dropped)
	for _, text := range []string{"", "OK", "1.2 [0 a:1]", "x.2 [0 a:1] \"get\"", "1.2 [x a:1] \"get\"", "1.2 [0] \"get\"", strings.Repeat("[", 5)} {
		_, err := readMonitorLine([]byte(text))
		require.Error(t, err, text)
	}
}
