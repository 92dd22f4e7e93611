//go:build peers

package backendtest

import (
	"net"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"
)

// Peer is a server of another make that a test has started.
type Peer struct {
	Addr    string
	Process *os.Process
}

// StartRedis starts an empty redis-server that the test's end stops. Further
// arguments are settings, as on its command line.
func StartRedis(t testing.TB, args ...string) *Peer {
	t.Helper()
	addr, port := freePort(t)
	return start(t, addr, "redis-server", append([]string{
		"--port", port, "--bind", "127.0.0.1", "--save", "", "--dir", t.TempDir(),
	}, args...)...)
}

// StartMemcached starts an empty memcached that the test's end stops.
func StartMemcached(t testing.TB, args ...string) *Peer {
	t.Helper()
	addr, port := freePort(t)
	return start(t, addr, "memcached", append([]string{
		"-l", "127.0.0.1", "-p", port, "-U", "0", "-u", "nobody",
	}, args...)...)
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

func start(t testing.TB, addr, program string, args ...string) *Peer {
	t.Helper()
	var output strings.Builder
	command := exec.Command(program, args...)
	command.Stdout, command.Stderr = &output, &output
	if err := command.Start(); err != nil {
		t.Fatalf("%s could not be started; install it, this test compares with the real server: %v", program, err)
	}
	exited := make(chan struct{})
	go func() {
		_ = command.Wait()
		close(exited)
	}()
	t.Cleanup(func() {
		_ = command.Process.Kill()
		<-exited
	})
	for deadline := time.Now().Add(patience); ; time.Sleep(5 * time.Millisecond) {
		conn, err := net.Dial("tcp", addr)
		if err == nil {
			_ = conn.Close()
			return &Peer{Addr: addr, Process: command.Process}
		}
		select {
		case <-exited:
			t.Fatalf("%s ended at once: %s", program, &output)
		default:
		}
		if time.Now().After(deadline) {
			t.Fatalf("%s does not answer on %s: %v", program, addr, err)
		}
	}
}
