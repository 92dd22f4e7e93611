package experiment

import (
	"bufio"
	"net"
	"testing"

	"github.com/howdah/howdah/bench/internal/workload"
)

// What is sent is what a Redis client sends, and a wrong answer is noticed.
func TestRESPConnection(t *testing.T) {
	spec := workload.Spec{Keys: 2, ValueSize: 8}
	const value = "$8\r\n\x00\x00\x00\x00\x00\x00\x00\x01\r\n"
	const want = "*3\r\n$3\r\nSET\r\n$16\r\nkey:000000000001\r\n" + value + "*2\r\n$3\r\nGET\r\n$16\r\nkey:000000000001\r\n"
	for answer, ok := range map[string]bool{
		"+OK\r\n" + value: true,
		"+OK\r\n$8\r\n\x00\x00\x00\x00\x00\x00\x00\x00\r\n": false, // of another key
		"+OK\r\n$-1\r\n":       false,
		"-ERR\r\n" + value:     false,
		"+OK\r\n$99999999\r\n": false,
		"+OK\r\n$8\r\n\x00":    false,
	} {
		here, there := net.Pipe()
		asked := make(chan string, 1)
		go func() {
			defer there.Close()
			text := make([]byte, 1024)
			n, _ := there.Read(text)
			asked <- string(text[:n])
			there.Write([]byte(answer))
		}()
		c := &respConn{conn: here, in: bufio.NewReaderSize(here, 1<<16), spec: spec, src: workload.NewSources(spec, 1)[0]}
		c.add(1, false)
		c.add(1, true)
		if err := c.exchange(); (err == nil) != ok {
			t.Errorf("%q: %v", answer, err)
		}
		here.Close()
		if got := <-asked; got != want {
			t.Errorf("it sent %q", got)
		}
	}
}
