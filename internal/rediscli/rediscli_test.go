package rediscli

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/howdah/howdah/internal/resp"
)

// recorder is a server that answers each command with what answer returns; ""
// closes the connection.
type recorder struct {
	mu       sync.Mutex
	commands []string
}

func (r *recorder) seen() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.commands)
}

// answering starts a server and returns a client of it.
func answering(t *testing.T, answer func(args []string) string) (*Client, *recorder) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { listener.Close() })
	r := &recorder{}
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go func() {
				defer conn.Close()
				for reader := bufio.NewReader(conn); ; {
					command, err := resp.ReadReply(reader)
					if err != nil {
						return
					}
					var args []string
					for _, elem := range command.Elems {
						args = append(args, string(elem.Str))
					}
					r.mu.Lock()
					r.commands = append(r.commands, strings.Join(args, " "))
					r.mu.Unlock()
					reply := answer(args)
					if reply == "" {
						return
					}
					if _, err := io.WriteString(conn, reply); err != nil {
						return
					}
				}
			}()
		}
	}()
	client := New(Options{Address: listener.Addr().String()})
	t.Cleanup(client.Close)
	return client, r
}

// What JSON cannot say is still valid JSON, and keeps what can be kept.
func TestJSON(t *testing.T) {
	t.Parallel()
	for sent, want := range map[string]string{
		"-ERR no \"x\"\r\n":                   `{"error":"ERR no \"x\""}`,
		"*2\r\n:1\r\n-ERR a\r\n":              `[1,{"error":"ERR a"}]`,
		"$3\r\na\xffb\r\n":                    `"a` + "\uFFFD" + `b"`,
		",inf\r\n":                            `"inf"`,
		"(123456789012345678901234567890\r\n": `123456789012345678901234567890`,
		"%2\r\n:1\r\n+a\r\n+b\r\n_\r\n":       `{"1":"a","b":null}`,
		"$4\r\n<b>&\r\n":                      `"<b>&"`,
		"*-1\r\n":                             `null`,
		"#f\r\n":                              `false`,
	} {
		reply, err := resp.ReadReply(bufio.NewReader(strings.NewReader(sent)))
		require.NoError(t, err)
		require.Equal(t, want+"\n", string(JSON.Append(nil, reply)))
	}
}

func TestSensitive(t *testing.T) {
	t.Parallel()
	for _, line := range []string{
		"AUTH hunter2", "auth default hunter2", "HELLO 3 AUTH default hunter2", `"AU\x54H" hunter2`, "config set requirepass hunter2",
		"ACL SETUSER ada on >hunter2", "MIGRATE h 1 k 0 9 AUTH2 u p", `AUTH "unclosed`, "5 AUTH hunter2", "CONFIG SET masterauth hunter2",
	} {
		require.True(t, Sensitive(line), line)
	}
	for _, line := range []string{"GET author:1", "SET k v", "", "HELLO 3"} {
		require.False(t, Sensitive(line), line)
	}
}

func TestHistory(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "state", "howdah", "cli_history")
	h, err := OpenHistory(path)
	require.NoError(t, err)
	for _, line := range []string{"GET a", "GET a", " ", "AUTH hunter2", "GET b"} {
		h.Add(line)
	}
	require.Equal(t, []string{"GET b", "GET a"}, []string{h.At(0), h.At(1)})
	require.Equal(t, 2, h.Len())
	h.Close()
	info, err := os.Stat(path)
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o600), info.Mode())
	content, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, "GET a\nGET b\n", string(content))

	// It is bounded, in memory and in the file.
	file, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
	require.NoError(t, err)
	for i := range 2*maxHistory + 1 {
		fmt.Fprintf(file, "GET %d\n", i)
	}
	require.NoError(t, file.Close())
	h, err = OpenHistory(path)
	require.NoError(t, err)
	defer h.Close()
	require.Equal(t, maxHistory, h.Len())
	require.Equal(t, fmt.Sprintf("GET %d", 2*maxHistory), h.At(0))
	content, err = os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, maxHistory, bytes.Count(content, []byte("\n")))

	// A place that cannot be written to is no reason not to work.
	h, err = OpenHistory("/proc/none/history")
	require.Error(t, err)
	h.Add("GET a")
	require.Equal(t, 1, h.Len())
}

// A password that a server does not ask for is no reason not to talk to it.
func TestPasswordThatNobodyAsksFor(t *testing.T) {
	t.Parallel()
	c, _ := answering(t, func(args []string) string {
		if args[0] == "AUTH" {
			return "-ERR AUTH <password> called without any password configured for the default user. Are you sure your configuration is correct?\r\n"
		}
		return "+PONG\r\n"
	})
	c.options.Password = "from the environment"
	reply, err := c.Do(t.Context(), "PING")
	require.NoError(t, err)
	require.Equal(t, "PONG", string(reply.Str))
}

// A command is sent once: whether one that got no reply was executed is not
// known, and the next one makes a new connection.
func TestLostConnection(t *testing.T) {
	t.Parallel()
	c, server := answering(t, func(args []string) string {
		if args[0] == "INCR" {
			return ""
		}
		return "+OK\r\n"
	})
	_, err := c.Do(t.Context(), "INCR", "n")
	require.ErrorIs(t, err, ErrLost)
	require.False(t, c.Connected())
	reply, err := c.Do(t.Context(), "PING")
	require.NoError(t, err)
	require.Equal(t, "OK", string(reply.Str))
	require.Equal(t, []string{"INCR n", "PING"}, server.seen())
}

// A transaction does not go on in another connection: its commands would be
// executed one by one.
func TestLostTransaction(t *testing.T) {
	t.Parallel()
	c, _ := answering(t, func(args []string) string { return "+OK\r\n" })
	var out bytes.Buffer
	s := &Session{Client: c, Out: &out, Err: &out}
	_, err := s.Run(t.Context(), []string{"MULTI"}, Repeat{})
	require.NoError(t, err)
	require.True(t, s.transaction)
	require.NoError(t, c.conn.(*net.TCPConn).CloseRead()) // as if the server had closed it
	_, err = s.Run(t.Context(), []string{"SET", "a", "b"}, Repeat{})
	require.ErrorContains(t, err, "and the transaction with it")
	require.False(t, s.transaction)
	failed, err := s.Run(t.Context(), []string{"SET", "a", "b"}, Repeat{})
	require.NoError(t, err)
	require.False(t, failed)
}

// The database that was selected is selected again.
func TestReconnect(t *testing.T) {
	t.Parallel()
	c, server := answering(t, func(args []string) string {
		if args[0] == "QUIT" {
			return ""
		}
		return "+OK\r\n"
	})
	c.options.Username, c.options.Password = "ada", "hunter2"
	for _, command := range []string{"SELECT 3", "QUIT", "GET k"} {
		_, _ = c.Do(t.Context(), strings.Fields(command)...)
	}
	require.Equal(t, []string{"AUTH ada hunter2", "SELECT 3", "QUIT", "AUTH ada hunter2", "SELECT 3", "GET k"}, server.seen())
	require.Equal(t, 3, c.Database())
}

func TestPipeSilence(t *testing.T) {
	t.Parallel()
	c, _ := answering(t, func(args []string) string {
		if args[0] == "ECHO" {
			return "+QUEUED\r\n" // as after a MULTI without EXEC
		}
		return "-ERR x\r\n"
	})
	piped, err := Pipe(t.Context(), c, strings.NewReader("*1\r\n$4\r\nPING\r\n"), PipeOptions{Timeout: 1})
	require.ErrorContains(t, err, "the reply to the last command did not come")
	require.LessOrEqual(t, piped.Errors, int64(1))
}

func TestCancel(t *testing.T) {
	t.Parallel()
	received := make(chan struct{})
	c, _ := answering(t, func(args []string) string {
		close(received)
		select {} // for ever
	})
	ctx, cancel := context.WithCancelCause(t.Context())
	go func() { <-received; cancel(errors.New("enough")) }()
	_, err := c.Do(ctx, "BLPOP", "list", "0")
	require.ErrorContains(t, err, "enough")
	require.False(t, c.Connected())
}

func TestTable(t *testing.T) {
	t.Parallel()
	table := Table{}
	for _, name := range []string{"GET", "GETDEL", "GETEX", "SET", "CLIENT", "CLIENT LIST", "CLIENT INFO"} {
		table[name] = Command{Name: name}
	}
	require.Equal(t, []string{"GET", "GETDEL", "GETEX"}, table.Candidates([]string{"ge"}))
	require.Equal(t, []string{"INFO", "LIST"}, table.Candidates([]string{"client", ""}))
	require.Empty(t, table.Candidates([]string{"GET", "k", ""}))
	require.Equal(t, "GETDE", commonPrefix([]string{"GETDEL", "GETDEX"}))
	found, ok := table.Find([]string{"client", "list", "id"})
	require.True(t, ok)
	require.Equal(t, "CLIENT LIST", found.Name)
	_, ok = table.Find([]string{"nothing"})
	require.False(t, ok)
}
