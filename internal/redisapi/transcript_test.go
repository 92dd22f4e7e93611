package redisapi

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/howdah/howdah/internal/resp"
)

// A transcript is a file of commands and the replies that redis-server 7.0
// gave to them, recorded by "go test -tags peers -run Transcripts -update":
//
//	SET k "a b"              a command, written as an inline command
//	@2 GET k                 a command on connection 2
//	= "+OK\r\n"              its reply
//	2= "$-1\r\n"             its reply in RESP2 and in RESP3, where they differ
//	3= "_\r\n"
//	why Howdah ...           why Howdah answers otherwise, and
//	howdah= "-ERR ..."       what
//	mask [0-9]+              what has to differ in the reply of the next command
//	@2 <                     nothing is sent: another reply or a message is read
//
// The same file is run in RESP2 and in RESP3, on empty databases; files whose
// names begin with "auth" on servers with the password "secret", and those with
// "cluster" on clusters of one node.
type transcript struct {
	path  string
	steps []*step
}

type step struct {
	before     []string // comments and empty lines
	connection int
	line       string
	args       []string
	mask       string
	why        string
	replies    map[string]string // by the word before "=": "", 2, 3, howdah, howdah2, howdah3
}

func readTranscript(t *testing.T, path string) *transcript {
	t.Helper()
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	reply := regexp.MustCompile(`^(howdah)?([23]?)= (".*")$`)
	tr := &transcript{path: path}
	next := &step{}
	for number, line := range strings.Split(strings.TrimSuffix(string(content), "\n"), "\n") {
		var last *step
		if len(tr.steps) > 0 {
			last = tr.steps[len(tr.steps)-1]
		}
		switch match := reply.FindStringSubmatch(line); {
		case match != nil:
			text, err := strconv.Unquote(match[3])
			if err != nil {
				t.Fatalf("%s:%d: %v", path, number+1, err)
			}
			last.replies[match[1]+match[2]] = text
		case line == "" || line[0] == '#':
			next.before = append(next.before, line)
		case strings.HasPrefix(line, "mask "):
			next.mask = line[len("mask "):]
		case strings.HasPrefix(line, "why "):
			last.why = line[len("why "):]
		default:
			next.line, next.replies = line, make(map[string]string)
			command := line
			if line[0] == '@' {
				next.connection = int(line[1] - '0')
				command = line[3:]
			}
			parser := resp.NewParser(resp.Limits{})
			parser.SetAuthenticated(true)
			args, _, err := parser.Parse([]byte(command + "\r\n"))
			if err != nil {
				t.Fatalf("%s:%d: %v", path, number+1, err)
			}
			for _, arg := range args {
				next.args = append(next.args, string(arg))
			}
			tr.steps = append(tr.steps, next)
			next = &step{}
		}
	}
	return tr
}

// play sends the commands of a transcript and returns the replies.
func (tr *transcript) play(t *testing.T, addr string, proto int) []string {
	t.Helper()
	clients := make(map[int]*testClient)
	var replies []string
	for _, s := range tr.steps {
		c := clients[s.connection]
		if c == nil {
			c = dial(t, addr)
			if tr.password() == "" {
				c.do("HELLO", strconv.Itoa(proto))
			}
			clients[s.connection] = c
		}
		var reply string
		if s.line == "<" || strings.HasSuffix(s.line, " <") {
			reply = c.reply()
		} else {
			reply = c.do(s.args...)
		}
		if s.mask != "" {
			reply = regexp.MustCompile(s.mask).ReplaceAllString(reply, "<...>")
		}
		replies = append(replies, reply)
	}
	return replies
}

func (tr *transcript) password() string {
	if strings.HasPrefix(filepath.Base(tr.path), "auth") {
		return "secret"
	}
	return ""
}

func (tr *transcript) inCluster() bool { return strings.HasPrefix(filepath.Base(tr.path), "cluster") }

// options are those of Howdah.
func (tr *transcript) options() Options {
	return Options{Password: tr.password(), Cluster: Cluster{Enabled: tr.inCluster()}}
}

// compare compares replies with those recorded for a server, "" or "howdah".
func (tr *transcript) compare(t *testing.T, server string, proto int, replies []string) {
	t.Helper()
	for i, s := range tr.steps {
		want, ok := "", false
		for _, name := range []string{fmt.Sprint(server, proto), server, fmt.Sprint(proto), ""} {
			if want, ok = s.replies[name]; ok {
				break
			}
		}
		if !ok {
			t.Errorf("%s: %s: no reply is recorded", tr.path, s.line)
		} else if replies[i] != want && !(s.args[0] == "TTL" && sameLife(want, replies[i], 5)) {
			t.Errorf("%s: %s (RESP%d)\n got %q\nwant %q", tr.path, s.line, proto, replies[i], want)
		}
		if server == "howdah" && s.differs() && s.why == "" {
			t.Errorf("%s: %s: the difference has no reason (why ...)", tr.path, s.line)
		}
	}
}

// sameLife reports whether two replies say that a key lives for about the same time: TTL is
// rounded, and time passes from the command that began the life.
func sameLife(want, got string, tolerance int64) bool {
	a, errA := strconv.ParseInt(strings.TrimSpace(want[1:]), 10, 64)
	b, errB := strconv.ParseInt(strings.TrimSpace(got[1:]), 10, 64)
	return errA == nil && errB == nil && a > 0 && b > 0 && max(a-b, b-a) <= tolerance
}

// wantLife compares the TTL of a key with the seconds that it had a moment ago.
func (c *testClient) wantLife(seconds int64, key string) {
	c.t.Helper()
	if reply := c.do("TTL", key); !sameLife(string(resp.AppendInt(nil, seconds)), reply, 5) {
		c.t.Fatalf("%q lives for %q, and not for %d seconds", key, reply, seconds)
	}
}

func (s *step) differs() bool {
	for name := range s.replies {
		if strings.HasPrefix(name, "howdah") {
			return true
		}
	}
	return false
}

func transcripts(t *testing.T) []string {
	t.Helper()
	paths, err := filepath.Glob("testdata/transcripts/*.txt")
	if err != nil || len(paths) == 0 {
		t.Fatal("no transcripts", err)
	}
	return paths
}

// TestTranscripts plays what redis-server was asked, and expects its answers.
func TestTranscripts(t *testing.T) {
	t.Parallel()
	for _, path := range transcripts(t) {
		for _, proto := range []int{2, 3} {
			t.Run(fmt.Sprintf("%s/RESP%d", strings.TrimSuffix(filepath.Base(path), ".txt"), proto), func(t *testing.T) {
				tr := readTranscript(t, path)
				s := serve(t, tr.options())
				tr.compare(t, "howdah", proto, tr.play(t, s.addr(), proto))
			})
		}
	}
}
