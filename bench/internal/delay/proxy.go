// Package delay is a TCP proxy that makes a network slower than it is.
package delay

import (
	"errors"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"time"
)

// Proxy passes bytes on, each after a delay. It holds back nothing else: what
// was sent together arrives together, and any amount may be under way.
type Proxy struct {
	delay    time.Duration
	network  string
	target   string
	listener net.Listener
	passed   atomic.Int64
	wg       sync.WaitGroup

	mu     sync.Mutex
	conns  map[net.Conn]bool
	closed bool
}

// Listen starts a proxy on a free loopback port. Every byte arrives delay
// later, in each direction: a round trip takes twice that. target is an
// address of a network that net.Dial knows.
func Listen(network, target string, delay time.Duration) (*Proxy, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	p := &Proxy{delay: delay, network: network, target: target, listener: l, conns: map[net.Conn]bool{}}
	p.wg.Go(p.accept)
	return p, nil
}

// Addr is where the proxy listens.
func (p *Proxy) Addr() string { return p.listener.Addr().String() }

// Passed is how many bytes went through, both ways.
func (p *Proxy) Passed() int64 { return p.passed.Load() }

// Close ends the proxy and its connections, and waits for them: for up to the
// delay, if something is under way.
func (p *Proxy) Close() error {
	p.mu.Lock()
	p.closed = true
	for c := range p.conns {
		c.Close()
	}
	p.mu.Unlock()
	err := p.listener.Close()
	p.wg.Wait()
	return err
}

func (p *Proxy) accept() {
	for {
		client, err := p.listener.Accept()
		if err != nil {
			return // closed
		}
		server, err := net.Dial(p.network, p.target)
		if err != nil {
			client.Close()
			continue
		}
		if !p.keep(client, server) {
			return
		}
		p.wg.Go(func() {
			var both sync.WaitGroup
			both.Go(func() { p.pass(server, client) })
			both.Go(func() { p.pass(client, server) })
			both.Wait()
			p.drop(client, server)
		})
	}
}

// keep remembers connections for Close, unless it was called already.
func (p *Proxy) keep(conns ...net.Conn) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range conns {
		if p.closed {
			c.Close()
		} else {
			p.conns[c] = true
		}
	}
	return !p.closed
}

func (p *Proxy) drop(conns ...net.Conn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range conns {
		c.Close()
		delete(p.conns, c)
	}
}

// chunk is what one read found, and when it is to arrive.
type chunk struct {
	bytes []byte
	due   time.Time
}

const (
	chunkSize = 64 << 10
	underWay  = 4096 // chunks; beyond it the sender waits, as TCP would make it
)

// pass moves bytes one way until either side ends.
func (p *Proxy) pass(to, from net.Conn) {
	if p.delay == 0 {
		io.Copy(countingWriter{to, &p.passed}, from)
		halfClose(to)
		return
	}
	queue := make(chan chunk, underWay)
	var writer sync.WaitGroup
	writer.Go(func() { p.deliver(to, from, queue) })
	buffer := make([]byte, chunkSize)
	for {
		n, err := from.Read(buffer)
		if n > 0 {
			queue <- chunk{append([]byte(nil), buffer[:n]...), time.Now().Add(p.delay)}
		}
		if err != nil {
			break
		}
	}
	close(queue)
	writer.Wait()
	halfClose(to)
}

// deliver writes chunks when they are due. When the receiver is gone it stops
// the sender, and lets what is left go by.
func (p *Proxy) deliver(to, from net.Conn, queue <-chan chunk) {
	alarm, err := newAlarm()
	if err == nil {
		defer alarm.close()
	}
	for c := range queue {
		if err != nil {
			continue
		}
		if err = alarm.until(c.due); err == nil {
			_, err = to.Write(c.bytes)
		}
		if err != nil {
			from.Close()
			continue
		}
		p.passed.Add(int64(len(c.bytes)))
	}
	if err != nil {
		from.Close()
	}
}

type countingWriter struct {
	to    io.Writer
	count *atomic.Int64
}

func (w countingWriter) Write(b []byte) (int, error) {
	n, err := w.to.Write(b)
	w.count.Add(int64(n))
	return n, err
}

// halfClose tells the receiver that nothing more comes, and leaves the other
// direction open.
func halfClose(c net.Conn) {
	if half, ok := c.(interface{ CloseWrite() error }); ok {
		if err := half.CloseWrite(); err == nil || errors.Is(err, net.ErrClosed) {
			return
		}
	}
	c.Close()
}
