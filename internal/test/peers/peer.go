//go:build peers

package peers

import (
	"context"
	"net"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/howdah/howdah/internal/test/await"
)

// patience bounds everything that is waited for. It is reached only by a server that
// fails.
const patience = 2 * time.Minute

// Peer is a server of another make that a test has started.
type Peer struct {
	Addr    string // host and port
	Socket  string // its Unix socket, of those that have one
	Process *os.Process

	program string
	serves  func(*Peer) bool
	args    func(port string) []string
	output  *output
	exited  chan struct{} // closed when it has
}

// Start starts a server on a free port of this machine. The test's end stops it. Serves
// tells whether it serves the port: it is not enough that somebody does, for another
// process may take the port before the server does. Then the server ends, and is
// started on another port.
func Start(t testing.TB, program string, serves func(*Peer) bool, args func(port string) []string) *Peer {
	t.Helper()
	peer := &Peer{program: program, serves: serves, args: args}
	const tries = 5
	for try := 1; ; try++ {
		peer.Addr = freeAddr(t)
		if peer.start(t) {
			return peer
		}
		if try == tries {
			t.Fatalf("%s ended at once, %d times: %s", program, tries, peer.output)
		}
	}
}

// Restart stops the server as a service manager does, and starts it on the same
// address, without the data that it had. It waits for the port: any connection on this
// machine may have it for a while.
func (p *Peer) Restart(t testing.TB) {
	t.Helper()
	if err := p.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	p.awaitExit(t)
	if !await.Until(context.Background(), func() bool { return p.start(t) }) {
		t.Fatalf("%s does not start again on %s: %s", p.program, p.Addr, p.output)
	}
}

func (p *Peer) awaitExit(t testing.TB) {
	t.Helper()
	select {
	case <-p.exited:
	case <-time.After(patience):
		t.Fatalf("%s does not stop: %s", p.program, p.output)
	}
}

// Says tells whether a server has said so.
func Says(words string) func(*Peer) bool {
	return func(p *Peer) bool { return strings.Contains(p.output.String(), words) }
}

func freeAddr(t testing.TB) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	return listener.Addr().String()
}

// start starts the process. It returns true once that serves, and false if it has ended.
func (p *Peer) start(t testing.TB) bool {
	t.Helper()
	_, port, err := net.SplitHostPort(p.Addr)
	if err != nil {
		t.Fatal(err)
	}
	output, exited := new(output), make(chan struct{})
	command := exec.Command(p.program, p.args(port)...)
	command.Stdout, command.Stderr = output, output
	if err := command.Start(); err != nil {
		t.Fatalf("%s could not be started; install it, this test needs the real server: %v", p.program, err)
	}
	p.Process, p.output, p.exited = command.Process, output, exited
	go func() {
		_ = command.Wait()
		close(exited)
	}()
	t.Cleanup(func() {
		_ = command.Process.Kill()
		<-exited
	})
	return p.await(t)
}

func (p *Peer) await(t testing.TB) bool {
	t.Helper()
	exited := false
	if !await.Until(context.Background(), func() bool {
		select {
		case <-p.exited:
			exited = true
			return true
		default:
			return p.serves(p)
		}
	}) {
		t.Fatalf("nothing serves on %s: %s", p.Addr, p.output)
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
