//go:build peers

package backendtest

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/howdah/howdah/internal/test/await"
)

// Peer is a server of another make that a test has started.
type Peer struct {
	Addr    string
	Process *os.Process
	output  output
	exited  chan struct{} // closed when it has
}

// StartRedis starts an empty redis-server that the test's end stops. Further
// arguments are settings, as on its command line.
func StartRedis(t testing.TB, args ...string) *Peer {
	t.Helper()
	dir := t.TempDir()
	return Start(t, "redis-server", Says("Ready to accept connections"), func(port string) []string {
		return append([]string{"--port", port, "--bind", "127.0.0.1", "--save", "", "--dir", dir}, args...)
	})
}

// StartMemcached starts an empty memcached that the test's end stops.
func StartMemcached(t testing.TB, args ...string) *Peer {
	t.Helper()
	return Start(t, "memcached", (*Peer).isMemcached, func(port string) []string {
		return append([]string{"-l", "127.0.0.1", "-p", port, "-U", "0", "-u", "nobody"}, args...)
	})
}

// Start starts a server on a free port of this machine. The test's end stops it. Serves
// tells whether it serves the port: it is not enough that somebody does, for another
// process may take the port before the server does. Then the server ends, and is
// started on another port.
func Start(t testing.TB, program string, serves func(*Peer) bool, args func(port string) []string) *Peer {
	t.Helper()
	const tries = 5
	for try := 1; ; try++ {
		addr, port := freePort(t)
		peer := launch(t, program, args(port)...)
		peer.Addr = addr
		if peer.await(t, serves) {
			return peer
		}
		if try == tries {
			t.Fatalf("%s ended at once, %d times: %s", program, tries, &peer.output)
		}
	}
}

// Says tells whether a server has said so.
func Says(words string) func(*Peer) bool {
	return func(p *Peer) bool { return strings.Contains(p.output.String(), words) }
}

// isMemcached tells whether it is this process that answers: memcached says nothing
// when it listens.
func (p *Peer) isMemcached() bool {
	conn, err := net.Dial("tcp", p.Addr)
	if err != nil {
		return false
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(time.Second)) // whoever it is may not answer
	_, _ = fmt.Fprint(conn, "stats\r\n")
	line, _ := bufio.NewReader(conn).ReadString('\n')
	return line == fmt.Sprintf("STAT pid %d\r\n", p.Process.Pid)
}

func freePort(t testing.TB) (addr, port string) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	addr = listener.Addr().String()
	return addr, addr[strings.LastIndexByte(addr, ':')+1:]
}

func launch(t testing.TB, program string, args ...string) *Peer {
	t.Helper()
	peer := &Peer{exited: make(chan struct{})}
	command := exec.Command(program, args...)
	command.Stdout, command.Stderr = &peer.output, &peer.output
	if err := command.Start(); err != nil {
		t.Fatalf("%s could not be started; install it, this test compares with the real server: %v", program, err)
	}
	peer.Process = command.Process
	go func() {
		_ = command.Wait()
		close(peer.exited)
	}()
	t.Cleanup(func() {
		_ = peer.Process.Kill()
		<-peer.exited
	})
	return peer
}

// await returns true once the server serves, and false if it has ended.
func (p *Peer) await(t testing.TB, serves func(*Peer) bool) bool {
	t.Helper()
	t.Helper()
	exited := false
	if !await.Until(context.Background(), func() bool {
		select {
		case <-p.exited:
			exited = true
			return true
		default:
			return serves(p)
		}
	}) {
		t.Fatalf("nothing serves on %s: %s", p.Addr, &p.output)
	}
	return !exited
}

// output is what a process has said so far.
type output struct {
	mu   sync.Mutex
	text strings.Builder
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.Write(p)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}
