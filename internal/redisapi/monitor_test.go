package redisapi

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/howdah/howdah"
	"github.com/howdah/howdah/internal/resp"
	"github.com/howdah/howdah/internal/test/pgtest"
)

// monitorForm is what clients take a line of MONITOR apart by.
var monitorForm = regexp.MustCompile(`^\+\d+\.\d{6} \[(\d+) (\S+:\d+)\] (.*)\r\n$`)

// lines reads lines of MONITOR up to that of a command, and returns their commands.
func (c *testClient) lines(last string) (commands []string) {
	c.t.Helper()
	for {
		match := monitorForm.FindStringSubmatch(c.reply())
		if match == nil {
			c.t.Fatal("a line has another form")
		}
		commands = append(commands, match[3])
		if match[3] == last {
			return commands
		}
	}
}

// TestMonitorShowsNoValues: whatever is secret is so in every command that takes one.
func TestMonitorShowsNoValues(t *testing.T) {
	t.Parallel()
	s := serveWith(t, pgtest.New(t), howdah.Options{MaskKeys: []string{"invite:"}}, Options{Password: "SECRET"})
	watcher := dial(t, s.addr())
	watcher.want("-NOAUTH Authentication required.\r\n", "MONITOR")
	watcher.want(resp.OK, "AUTH", "SECRET")
	watcher.want(resp.OK, "MONITOR")
	c := dial(t, s.addr())
	for _, line := range [][2]string{
		{`AUTH SECRET`, `"AUTH" "(redacted)"`},
		{`AUTH default WRONGSECRET`, `"AUTH" "(redacted)" "(redacted)"`},
		{`HELLO 2 AUTH default SECRET SETNAME SECRET`, `"HELLO" "(redacted)" "(redacted)" "(redacted)" "(redacted)" "(redacted)" "(redacted)"`},
		{`set k SECRET EX 60`, `"set" "k" "(6 bytes)" "(2 bytes)" "(2 bytes)"`},
		{`SET sess:SECRET SECRET`, `"SET" "sess:***" "(6 bytes)"`},
		{`SET invite:SECRET 1`, `"SET" "invite:***" "(1 bytes)"`},
		{`MSET a SECRET token:SECRET SECRET`, `"MSET" "a" "(6 bytes)" "token:***" "(6 bytes)"`},
		{`MGET a b`, `"MGET" "a" "b"`},
		{`GETSET k SECRET`, `"GETSET" "k" "(6 bytes)"`},
		{`HSET h SECRET SECRET`, `"HSET" "h" "(6 bytes)" "(6 bytes)"`},
		{`ZADD z 1 SECRET`, `"ZADD" "z" "(1 bytes)" "(6 bytes)"`},
		{`EVAL SECRET 1 k SECRET`, `"EVAL" "(6 bytes)" "(1 bytes)" "k" "(6 bytes)"`},
		{`EVAL SECRET 9 SECRET SECRET`, `"EVAL" "(6 bytes)" "(1 bytes)" "(6 bytes)" "(6 bytes)"`},
		{`EVAL SECRET 0 SECRET`, `"EVAL" "(6 bytes)" "(1 bytes)" "(6 bytes)"`},
		{`FCALL f 1 k SECRET`, `"FCALL" "(1 bytes)" "(1 bytes)" "k" "(6 bytes)"`},
		{`SCAN 0 MATCH SECRET`, `"SCAN" "(1 bytes)" "(5 bytes)" "(6 bytes)"`},
		{`PUBLISH SECRET SECRET`, `"PUBLISH" "(6 bytes)" "(6 bytes)"`},
		{`ECHO SECRET`, `"ECHO" "(6 bytes)"`},
		{`CLIENT SETNAME SECRET`, `"CLIENT" "SETNAME" "(6 bytes)"`},
		{`OBJECT ENCODING k`, `"OBJECT" "ENCODING" "k"`},
		{`HOWDAH.FRESH GET k`, `"HOWDAH.FRESH" "(3 bytes)" "k"`},
		{`SET "a\x00\xff\"\\\n" SECRET`, `"SET" "a\x00\xff\"\\\n" "(6 bytes)"`},
		{`MULTI`, `"MULTI"`},
		{`SET q SECRET`, `"SET" "q" "(6 bytes)"`},
		{`DISCARD`, `"DISCARD"`},
	} {
		c.send([]byte(line[0] + "\r\n"))
		c.reply()
		got := watcher.reply()
		if match := monitorForm.FindStringSubmatch(got); match == nil || match[1] != "0" || match[2] != c.conn.LocalAddr().String() || match[3] != line[1] {
			t.Errorf("%s is shown as %q", line[0], got)
		}
	}
	c.do("CONFIG", "GET", "maxmemory") // those of an administrator are not shown, as in Redis
	c.do("NOSUCH", "SECRET")
	c.do("GET")
	c.do("SELECT", "3")
	c.do("PING")
	if got := fmt.Sprint(watcher.lines(`"PING"`)); got != `["SELECT" "(1 bytes)" "PING"]` {
		t.Errorf("%s", got)
	}
}

func TestMonitorShowsSomeArguments(t *testing.T) {
	t.Parallel()
	s := serve(t, Options{})
	watcher, c := dial(t, s.addr()), dial(t, s.addr())
	watcher.want(resp.OK, "MONITOR")
	args := []string{"DEL"}
	for i := range 40 {
		args = append(args, strconv.Itoa(i)+strings.Repeat("k", 100))
	}
	c.do(args...)
	line := watcher.reply()
	if !strings.Contains(line, ` "0`+strings.Repeat("k", 63)+`..." `) || !strings.HasSuffix(line, ` "... (9 more arguments)"`+"\r\n") {
		t.Errorf("%q", line)
	}
}

// TestMonitorIsBounded: in a flood the lines say how many there are besides.
func TestMonitorIsBounded(t *testing.T) {
	t.Parallel()
	s := serve(t, Options{})
	watcher, c := dial(t, s.addr()), dial(t, s.addr())
	watcher.want(resp.OK, "MONITOR")
	const commands = 5000
	var flood []byte
	for range commands {
		flood = resp.AppendCommand(flood, "ECHO", "x")
	}
	c.send(flood)
	for range commands {
		c.reply()
	}
	// A command of a later window is shown, and with it what was dropped.
	done := make(chan struct{})
	var later sync.WaitGroup
	later.Go(func() {
		for {
			select {
			case <-done:
				return
			default:
				c.do("PING")
			}
		}
	})
	shown, dropped := 0, 0
	for shown+dropped < commands {
		line := watcher.reply()
		match := monitorForm.FindStringSubmatch(line)
		if match == nil {
			t.Fatalf("%q", line)
		}
		if n, found := strings.CutPrefix(match[3], `"howdah.dropped" "`); found {
			more, err := strconv.Atoi(strings.TrimSuffix(n, `"`))
			if err != nil {
				t.Fatalf("%q", line)
			}
			dropped += more
		} else {
			shown++
		}
	}
	close(done)
	later.Wait()
	if dropped < commands/10 {
		t.Errorf("%d of %d commands were shown, %d dropped", shown, commands, dropped)
	}
}

func TestMonitorBeginsAndEnds(t *testing.T) {
	t.Parallel()
	off := dial(t, serve(t, Options{NoMonitor: true}).addr())
	off.want("-"+string(errMonitorOff)+"\r\n", "MONITOR")

	s := serve(t, Options{})
	watcher, c := dial(t, s.addr()), dial(t, s.addr())
	watcher.want(resp.OK, "MULTI")
	watcher.want("+QUEUED\r\n", "MONITOR")
	watcher.want("*1\r\n-ERR MONITOR isn't allowed for DENY BLOCKING client\r\n", "EXEC")
	watcher.want(resp.OK, "MONITOR")
	for _, args := range [][]string{{"GET", "k"}, {"SET", "k", "v"}, {"EVAL", "return 1", "0"}, {"PUBLISH", "a", "b"}} {
		watcher.want("-"+string(errMonitors)+"\r\n", args...)
	}
	if list := c.do("CLIENT", "LIST"); !strings.Contains(list, " flags=O ") {
		t.Errorf("%q", list)
	}
	if !slices.ContainsFunc(s.engine.connections(), (*Conn).Subscriber) {
		t.Error("a client that watches is closed for being idle")
	}
	watcher.want("+RESET\r\n", "RESET") // its own line is not shown any more
	watcher.want("$-1\r\n", "GET", "k")
	if s.engine.monitors.any() {
		t.Error("RESET does not end MONITOR")
	}
	watcher.want(resp.OK, "MONITOR")
	watcher.conn.Close()
	for s.engine.monitors.any() {
		c.do("PING")
	}
}
