package redisapi

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/howdah/howdah/internal/resp"
	"github.com/howdah/howdah/internal/test/await"
)

// A scene is a file of what several clients do, some of which wait, and what redis-server
// 7.0 answered, recorded by "go test -tags peers -run Scenes -update":
//
//	=== name            a scene; it runs in RESP2 and in RESP3, on an empty server
//	1 BLPOP k 0         client 1 sends a command, written as an inline command
//	1 = "*2..."         what client 1 is answered to the first command without an answer
//	1 =2 "..."          the same in RESP2, and in RESP3, where they differ
//	1 =3 "..."
//	blocked 1           wait until so many clients are blocked
//	1 sends GET a | GET b    several commands at once
//	unblock 1 ERROR     CLIENT UNBLOCK of client 1 by client 0
type scene struct {
	name  string
	lines []*sceneLine
}

type sceneLine struct {
	text    string
	answers map[string]string // by "", "2" and "3"
}

const scenesPath = "testdata/scenes"

func readScenes(t *testing.T, path string) (scenes []*scene) {
	t.Helper()
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for number, text := range strings.Split(strings.TrimSuffix(string(content), "\n"), "\n") {
		if name, ok := strings.CutPrefix(text, "=== "); ok {
			scenes = append(scenes, &scene{name: name})
			continue
		}
		s := scenes[len(scenes)-1]
		words := strings.SplitN(text, " ", 3)
		if len(words) < 2 || !strings.HasPrefix(words[1], "=") {
			s.lines = append(s.lines, &sceneLine{text: text})
			continue
		}
		last := s.lines[len(s.lines)-1]
		if last.text != words[0]+" =" {
			last = &sceneLine{text: words[0] + " =", answers: map[string]string{}}
			s.lines = append(s.lines, last)
		}
		if len(words) < 3 {
			continue // to be recorded
		}
		answer, err := strconv.Unquote(words[2])
		if err != nil {
			t.Fatalf("%s:%d: %v", path, number+1, err)
		}
		if _, again := last.answers[words[1][1:]]; again {
			last = &sceneLine{text: words[0] + " =", answers: map[string]string{}}
			s.lines = append(s.lines, last)
		}
		last.answers[words[1][1:]] = answer
	}
	return scenes
}

// stage is the clients of a scene on one server.
type stage struct {
	t       *testing.T
	addr    string
	proto   int
	clients map[string]*testClient
	ids     map[string]string
}

func newStage(t *testing.T, addr string, proto int) *stage {
	return &stage{t, addr, proto, map[string]*testClient{}, map[string]string{}}
}

func (s *stage) client(name string) *testClient {
	c := s.clients[name]
	if c == nil {
		c = dial(s.t, s.addr)
		c.do("HELLO", strconv.Itoa(s.proto))
		s.clients[name], s.ids[name] = c, strings.Trim(c.do("CLIENT", "ID"), ":\r\n")
	}
	return c
}

// play does what a scene says and returns the answers, in the order of their lines.
func (s *stage) play(sc *scene) (answers []string) {
	s.t.Helper()
	at := 0
	defer func() {
		if s.t.Failed() {
			s.t.Logf("scene %q, line %d: %s", sc.name, at+1, sc.lines[at].text)
		}
	}()
	for number, line := range sc.lines {
		at = number
		words := strings.SplitN(line.text, " ", 2)
		c := func() *testClient { return s.client(words[0]) }
		switch {
		case words[0] == "blocked":
			n, _ := strconv.Atoi(words[1])
			s.awaitBlocked(n)
		case words[0] == "unblock":
			args := strings.Fields(words[1])
			args[0] = s.ids[args[0]]
			answers = append(answers, s.client("0").do(append([]string{"CLIENT", "UNBLOCK"}, args...)...))
		case words[1] == "=":
			answers = append(answers, c().reply())
		case words[1] == "closes":
			c().conn.Close()
			delete(s.clients, words[0])
		case strings.HasPrefix(words[1], "sends "):
			var data []byte
			for _, part := range strings.Split(words[1][len("sends "):], " | ") {
				data = append(data, part+"\r\n"...)
			}
			c().send(data)
		default:
			c().send([]byte(words[1] + "\r\n"))
		}
	}
	return answers
}

// awaitBlocked waits until so many clients are blocked.
func (s *stage) awaitBlocked(n int) {
	s.t.Helper()
	want := fmt.Sprintf("blocked_clients:%d\r\n", n)
	await.True(s.t, want, func() bool { return strings.Contains(s.client("watcher").do("INFO", "clients"), want) })
}

// answered returns the lines of a scene that are answers.
func (sc *scene) answered() (lines []*sceneLine) {
	for _, line := range sc.lines {
		if line.answers != nil || strings.HasPrefix(line.text, "unblock ") {
			lines = append(lines, line)
		}
	}
	return lines
}

// TestScenes plays what clients of redis-server have done, and expects its answers.
func TestScenes(t *testing.T) {
	t.Parallel()
	eachScene(t, func(t *testing.T, sc *scene, proto int) {
		t.Parallel() // clients wait much of the time
		sc.compare(t, proto, newStage(t, serve(t, Options{}).addr(), proto).play(sc))
	})
}

func eachScene(t *testing.T, visit func(*testing.T, *scene, int)) {
	paths, err := filepath.Glob(scenesPath + "/*.txt")
	if err != nil || len(paths) == 0 {
		t.Fatal("no scenes", err)
	}
	for _, path := range paths {
		for _, sc := range readScenes(t, path) {
			for _, proto := range []int{2, 3} {
				t.Run(fmt.Sprintf("%s/%s/RESP%d", strings.TrimSuffix(filepath.Base(path), ".txt"), sc.name, proto), func(t *testing.T) { visit(t, sc, proto) })
			}
		}
	}
}

func (sc *scene) compare(t *testing.T, proto int, answers []string) {
	t.Helper()
	for i, line := range sc.answered() {
		if strings.HasPrefix(line.text, "unblock ") {
			if answers[i] != resp.One {
				t.Errorf("%s: %q", line.text, answers[i])
			}
			continue
		}
		want, ok := line.answers[strconv.Itoa(proto)]
		if !ok {
			want = line.answers[""]
		}
		if answers[i] != want {
			t.Errorf("answer %d, to client %s\n got %q\nwant %q", i+1, line.text, answers[i], want)
		}
	}
}
