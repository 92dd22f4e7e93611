package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
	"unicode"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/howdah/howdah/internal/test/pgtest"
)

// typed writes to the program's terminal.
func (m *terminal) typed(text string) {
	_, err := m.master.WriteString(text)
	require.NoError(m.t, err)
}

// rendered is what a terminal makes of output, without an end to its height or
// width: lines, with the cursor's moves obeyed.
func rendered(output string) string {
	lines, row, column := [][]rune{nil}, 0, 0
	for rest := []rune(output); len(rest) > 0; {
		c := rest[0]
		rest = rest[1:]
		switch {
		case c == '\r':
			column = 0
		case c == '\n':
			if row++; row == len(lines) {
				lines = append(lines, nil)
			}
		case c == '\x1b' && len(rest) > 1 && rest[0] == '[':
			end := slices.IndexFunc(rest[1:], unicode.IsLetter) + 1
			n := 1
			if number, err := strconv.Atoi(string(rest[1:end])); err == nil {
				n = number
			}
			switch rest[end] {
			case 'A':
				row = max(0, row-n)
			case 'B':
				row = min(len(lines)-1, row+n)
			case 'C':
				column += n
			case 'D':
				column = max(0, column-n)
			case 'K':
				lines[row] = lines[row][:min(column, len(lines[row]))]
			}
			rest = rest[end+1:]
		default:
			for len(lines[row]) <= column {
				lines[row] = append(lines[row], ' ')
			}
			lines[row][column] = c
			column++
		}
	}
	text := make([]string, len(lines))
	for i, line := range lines {
		text[i] = string(line)
	}
	return strings.Join(text, "\n")
}

// shows waits until what the terminal shows matches a pattern.
func (m *terminal) shows(pattern string) {
	m.t.Helper()
	expression := regexp.MustCompile(pattern)
	require.Eventually(m.t, func() bool { return expression.MatchString(rendered(m.output())) }, time.Minute, 10*time.Millisecond,
		"awaited: %s\nthe terminal shows: %s", pattern, lazily(func() string { return rendered(m.output()) }))
}

// reserve returns an address that is free for servers which are told to listen on it, and
// nobody else gets before the test's end. A socket that is bound and does not listen holds it.
func reserve(t *testing.T) (addr string) {
	t.Helper()
	socket, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	require.NoError(t, err)
	t.Cleanup(func() { _ = unix.Close(socket) })
	require.NoError(t, unix.SetsockoptInt(socket, unix.SOL_SOCKET, unix.SO_REUSEADDR, 1))
	require.NoError(t, unix.Bind(socket, &unix.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}))
	name, err := unix.Getsockname(socket)
	require.NoError(t, err)
	return fmt.Sprintf("127.0.0.1:%d", name.(*unix.SockaddrInet4).Port)
}

// lazily is text that is made when it is printed.
type lazily func() string

func (l lazily) String() string { return l() }

// The whole prompt in a terminal: commands, completion, hints, history, a
// transaction, Ctrl-C, a server that goes away and comes back.
func TestCLITerminal(t *testing.T) {
	t.Parallel()
	url := pgtest.New(t)
	p := serve(t, []string{"HOWDAH_PASSWORD=hunter2"}, "--database-url", url, "--redis-addr", reserve(t))
	history := filepath.Join(t.TempDir(), "state", "history")
	m := openTerminal(t, 100, 30, "cli", "-u", p.redis, "--history", history)
	prompt := regexp.QuoteMeta(p.redis)
	m.shows(prompt + `> $`)
	require.Zero(t, m.mode().Lflag&unix.ECHO)
	m.typed("GET k\r")
	m.shows(`\(error\) NOAUTH Authentication required`)
	m.typed("AUTH hunter2\r")
	m.shows(`\nOK\n`)
	m.typed("SET greeting \"hello\\n\"\r")
	m.shows(`"hello\\n"\nOK\n`)
	m.typed("GET greeting\r")
	m.shows(`GET greeting\n"hello\\n"\n`)

	// Tab completes, lists, and shows arguments.
	m.typed("hgeta\t")
	m.shows(`> hgetall $`)
	m.typed("\t")
	m.shows(`HGETALL key\n`)
	m.typed("none\r")
	m.shows(`hgetall none\n\(empty array\)\n`)
	m.typed("GETE\t\t")
	m.shows(`GETEX key \[.*EX seconds.*PERSIST.*\]`)
	m.typed("greeting\r")
	m.typed("client \t")
	m.shows(`GETNAME  GETREDIR`)
	m.typed("i\t")
	m.shows(`client i[dn]?`)
	m.typed("\x15") // the line away
	m.typed("help DEL\r")
	m.shows(`DEL key \[key \.\.\.\]\n  \S`)

	// The line before, but none with a password.
	m.typed("\x1b[A\r")
	m.shows(`(?s)help DEL.*help DEL\n`)

	m.typed("SELECT 2\r")
	m.shows(prompt + `\[2\]> $`)
	m.typed("MULTI\r")
	m.shows(prompt + `\[2\]\(TX\)> $`)
	m.typed("SET a 1\rEXEC\r")
	m.shows(`\n1\) OK\n` + prompt + `\[2\]> $`)

	// Ctrl-C ends a command that waits, not the program.
	m.typed("BLPOP none 0\r")
	m.await(func() bool { return m.mode().Lflag&unix.ISIG != 0 && strings.HasSuffix(m.output(), "0\r\n") })
	m.typed("\x03")
	m.shows(`BLPOP none 0\n(\^C)?\n`)
	m.typed("SUBSCRIBE news\r") // on a new connection, with the password that was typed
	m.shows(`Reading messages\.\.\. \(press Ctrl-C to quit\)\n1\) "subscribe"\n2\) "news"\n3\) \(integer\) 1\n`)
	require.Equal(t, "1\n", execute(t, "", []string{"HOWDAH_PASSWORD=hunter2"}, "cli", "-u", p.redis, "PUBLISH", "news", "rain").out)
	m.shows(`1\) "message"\n2\) "news"\n3\) "rain"\n`)
	m.typed("\x03")
	m.shows(`"rain"\n(\^C)?\n`)

	// The server ends, and another one takes its place.
	require.NoError(t, p.cmd.Process.Signal(syscall.SIGTERM))
	require.Zero(t, p.wait())
	m.typed("PING\r")
	m.shows(`cannot connect to ` + prompt + `: .*\nnot connected> $`)
	serve(t, []string{"HOWDAH_PASSWORD=hunter2"}, "--database-url", url, "--redis-addr", p.redis)
	m.typed("GET a\r")
	m.shows(`\n"1"\n` + prompt + `\[2\]> $`)

	m.typed("exit\r")
	require.NoError(t, m.cmd.Wait())
	require.NotZero(t, m.mode().Lflag&unix.ECHO, "the terminal is as it was")
	content, err := os.ReadFile(history)
	require.NoError(t, err)
	require.Contains(t, string(content), "GET greeting\n")
	require.NotContains(t, string(content), "hunter2")

	// The next session begins with the history of this one.
	m = openTerminal(t, 100, 30, "cli", "-u", p.redis, "--history", history)
	m.shows(prompt + `> $`)
	m.typed("\x1b[A\x1b[A\r")
	m.shows(`> GET a\n`)
	require.NoError(t, m.cmd.Process.Signal(syscall.SIGTERM))
	require.NoError(t, m.cmd.Wait())
	require.NotZero(t, m.mode().Lflag&unix.ECHO)
}

// A password that is asked for is not shown.
func TestCLIAskPassword(t *testing.T) {
	t.Parallel()
	p := serve(t, []string{"HOWDAH_PASSWORD=hunter2"}, "--database-url", pgtest.New(t))
	m := openTerminal(t, 80, 24, "cli", "-u", p.redis, "--askpass", "PING")
	m.shows(`Password: $`)
	m.await(func() bool { return m.mode().Lflag&unix.ECHO == 0 })
	m.typed("hunter2\r")
	m.shows(`PONG\n`)
	require.NoError(t, m.cmd.Wait())
	require.NotContains(t, m.output(), "hunter2")
}
