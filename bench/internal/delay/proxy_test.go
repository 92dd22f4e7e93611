package delay

import (
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/howdah/howdah/internal/test/seed"
)

// echo answers with what it is sent.
func echo(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() { io.Copy(c, c); c.Close() }()
		}
	}()
	return l.Addr().String()
}

func TestEveryByteArrivesInOrderAndLater(t *testing.T) {
	for _, delay := range []time.Duration{0, 100 * time.Microsecond, 20 * time.Millisecond} {
		t.Run(delay.String(), func(t *testing.T) {
			p, err := Listen("tcp", echo(t), delay)
			if err != nil {
				t.Fatal(err)
			}
			defer p.Close()
			seed := seed.Of(t)
			var wg sync.WaitGroup
			const clients, size = 8, 300_000
			for i := range clients {
				wg.Go(func() {
					c, err := net.Dial("tcp", p.Addr())
					if err != nil {
						t.Error(err)
						return
					}
					defer c.Close()
					sent := make([]byte, size)
					rng := rand.New(rand.NewPCG(seed, uint64(i)))
					for j := range sent {
						sent[j] = byte(rng.Uint32())
					}
					start := time.Now()
					go func() { c.Write(sent); c.(*net.TCPConn).CloseWrite() }()
					got, err := io.ReadAll(c)
					if took := time.Since(start); took < 2*delay {
						t.Errorf("a round trip took %v, less than twice %v", took, delay)
					}
					if err != nil || !bytes.Equal(got, sent) {
						t.Errorf("%d of %d bytes came back, %v", len(got), len(sent), err)
					}
				})
			}
			wg.Wait()
			if n := p.Passed(); n != 2*clients*size {
				t.Errorf("%d bytes were counted, not %d", n, 2*clients*size)
			}
		})
	}
}

// A slow network is not a narrow one: what is sent at once is under way at
// once.
func TestDelaysDoNotAddUp(t *testing.T) {
	const delay, messages = 50 * time.Millisecond, 400
	p, err := Listen("tcp", echo(t), delay)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	c, err := net.Dial("tcp", p.Addr())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	start := time.Now()
	go func() {
		for range messages {
			c.Write([]byte("message."))
			time.Sleep(50 * time.Microsecond) // so that they are chunks of their own
		}
	}()
	if _, err := io.ReadFull(c, make([]byte, messages*8)); err != nil {
		t.Fatal(err)
	}
	if took := time.Since(start); took > messages*delay/2 {
		t.Errorf("%d messages took %v: they waited for each other", messages, took)
	}
}

func TestCloseEndsConnections(t *testing.T) {
	p, err := Listen("tcp", echo(t), time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	c, err := net.Dial("tcp", p.Addr())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	ended := make(chan error, 1)
	go func() { _, err := c.Read(make([]byte, 1)); ended <- err }()
	if err := p.Close(); err != nil {
		t.Error(err)
	}
	select {
	case err := <-ended:
		if err == nil {
			t.Error("a byte came from nowhere")
		}
	case <-time.After(10 * time.Second):
		t.Error("the connection is still open")
	}
}

func TestServerThatIsAway(t *testing.T) {
	p, err := Listen("tcp", "127.0.0.1:1", time.Millisecond)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	c, err := net.Dial("tcp", p.Addr())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	c.SetReadDeadline(time.Now().Add(time.Minute))
	if _, err := c.Read(make([]byte, 1)); err == nil || errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("an answer from nobody, or no end: %v", err)
	}
}
