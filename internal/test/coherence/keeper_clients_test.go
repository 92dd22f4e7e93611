//go:build clients && unix

package coherence

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// keeper is a client of Redis that keeps copies of what it has read, and reads at random.
type keeper struct {
	name     string
	process  int
	database int    // its keys are those of this cache
	home     *home  // of the server that it reads from
	fault    mutant // for which its reads break a rule

	mu    sync.Mutex
	runs  []copies
	reads atomic.Int64
	hits  atomic.Int64
	own   int64 // hits, as the client itself counts them
	fails int64 // reads that failed
}

// copies are reads one after another of a key that had the same answer from the same
// source. For the rules the first and the last are enough: fences only grow.
type copies struct {
	key         int
	value       int64
	hit         bool
	first, last moment
}

// moment is when a read began and ended, and when the last command that was answered
// before had been sent: all messages that the server had sent by then had come, by the
// same connection.
type moment struct{ begin, end, fence int64 }

// note takes in a run of n reads.
func (k *keeper) note(c copies, n int64) {
	k.reads.Add(n)
	if c.hit {
		k.hits.Add(n)
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.runs = append(k.runs, c)
}

// judged returns the reads as the judge takes them.
func (k *keeper) judged() (reads []Read) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, c := range k.runs {
		source := Unknown
		if c.hit {
			source = Memory
		}
		for _, m := range slices.Compact([]moment{c.first, c.last}) {
			reads = append(reads, Read{
				Process: k.process, Key: c.key, Value: c.value, Begin: m.begin, End: m.end, Source: source,
				Server: k.home.process, Told: k.home.witness.told(m.fence), Fence: m.fence,
			})
		}
	}
	return reads
}

// reader is a keeper in another language. Its program is given the address, the number of the database
// and how many keys there are, and prints lines:
//
//	clock <nanoseconds>                        the answer to each line of its input
//	read <key> <value> <hit> <reads> <begin> <end> <fence> <begin> <end> <fence>
//	end <hits> <failed reads>                  when its input has ended
type reader struct {
	*keeper
	t      *testing.T
	cmd    *exec.Cmd
	input  io.WriteCloser
	clocks chan int64
	ended  chan struct{}
	errors bytes.Buffer
}

func (k *keeper) start(t *testing.T, env []string, name string, args ...string) *reader {
	t.Helper()
	p := &reader{keeper: k, t: t, clocks: make(chan int64), ended: make(chan struct{})}
	p.cmd = exec.Command(name, slices.Concat(args, []string{k.home.relay.addr(), strconv.Itoa(k.database), strconv.Itoa(keysOfRun)})...)
	p.cmd.Env = append(os.Environ(), env...)
	p.cmd.Stderr = &p.errors
	var err error
	p.input, err = p.cmd.StdinPipe()
	require.NoError(t, err)
	output, err := p.cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, p.cmd.Start())
	t.Cleanup(func() {
		if p.cmd.ProcessState == nil {
			p.cmd.Process.Kill()
			p.cmd.Wait()
		}
	})
	go p.listen(output)
	p.compareClocks()
	return p
}

// compareClocks makes sure that the program has the clock of this process.
func (p *reader) compareClocks() {
	p.t.Helper()
	before := now()
	_, err := io.WriteString(p.input, "clock\n")
	require.NoError(p.t, err)
	select {
	case clock := <-p.clocks:
		require.Greater(p.t, clock, before, "%s has another clock", p.name)
		require.Less(p.t, clock, now(), "%s has another clock", p.name)
	case <-p.ended:
		p.t.Fatalf("%s has ended:\n%s", p.name, p.errors.String())
	case <-time.After(someTime):
		p.t.Fatalf("%s does not tell its clock", p.name)
	}
}

func (p *reader) listen(output io.Reader) {
	defer close(p.ended)
	lines := bufio.NewScanner(output)
	for lines.Scan() {
		if err := p.line(lines.Text()); err != nil {
			p.t.Errorf("%s: %q: %v", p.name, lines.Text(), err)
		}
	}
}

func (p *reader) line(text string) error {
	kind, numbers, _ := strings.Cut(text, " ")
	var c copies
	var n, hit int64
	var err error
	switch kind {
	case "clock":
		if _, err = fmt.Sscan(numbers, &n); err == nil {
			p.clocks <- n
		}
	case "read":
		_, err = fmt.Sscan(numbers, &c.key, &c.value, &hit, &n,
			&c.first.begin, &c.first.end, &c.first.fence, &c.last.begin, &c.last.end, &c.last.fence)
		c.hit = hit == 1
		p.note(c, n)
	case "end":
		_, err = fmt.Sscan(numbers, &p.own, &p.fails)
	default:
		err = fmt.Errorf("not a line of a reader")
	}
	return err
}

// finish ends the program.
func (p *reader) finish() {
	p.t.Helper()
	p.input.Close()
	select {
	case <-p.ended:
	case <-time.After(someTime):
		p.t.Fatalf("%s did not end within a minute; it said:\n%s", p.name, p.lastWords())
	}
	require.NoError(p.t, p.cmd.Wait(), "%s: %s", p.name, &p.errors)
}

// lastWords ends the program and returns what it wrote to its standard error: for Python
// and Java that is the stack of each thread, which says what a reader waits for.
func (p *reader) lastWords() string {
	if err := p.cmd.Process.Signal(syscall.SIGQUIT); err != nil {
		return err.Error()
	}
	select {
	case <-p.ended:
	case <-time.After(time.Second):
	}
	p.cmd.Process.Kill()
	p.cmd.Wait()
	return p.errors.String()
}

// withoutInvalidations swallows the messages of a server that end copies.
type withoutInvalidations struct {
	client net.Conn
	rest   []byte // what may be the beginning of one
}

// Write implements io.Writer.
func (w *withoutInvalidations) Write(p []byte) (int, error) {
	data := append(w.rest, p...)
	var passed []byte
	for {
		i := bytes.IndexByte(data, '>')
		if i < 0 {
			passed, data = append(passed, data...), nil
			break
		}
		n, complete := invalidation(data[i:])
		passed, data = append(passed, data[:i]...), data[i:]
		if n > 0 && !complete {
			break
		}
		if n == 0 {
			passed, n = append(passed, '>'), 1
		}
		data = data[n:]
	}
	w.rest = bytes.Clone(data)
	_, err := w.client.Write(passed)
	return len(p), err
}

// invalidation returns how long the message is with which data begins, 0 if there is none.
func invalidation(data []byte) (n int, complete bool) {
	const head = ">2\r\n$10\r\ninvalidate\r\n"
	if len(data) < len(head) {
		if strings.HasPrefix(head, string(data)) {
			return len(data), false
		}
		return 0, false
	}
	if string(data[:len(head)]) != head {
		return 0, false
	}
	lines := 3 // *1, $8, the key
	if len(data) > len(head) && data[len(head)] == '_' {
		lines = 1
	}
	n = len(head)
	for range lines {
		end := bytes.Index(data[n:], []byte("\r\n"))
		if end < 0 {
			return len(data), false
		}
		n += end + 2
	}
	return n, true
}
