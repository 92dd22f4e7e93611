//go:build unix

package coherence

import (
	"io"
	"net"
	"sync"
	"sync/atomic"
)

// relay stands between clients and a server, at an address that stays the same when the
// server gets another one.
type relay struct {
	listener net.Listener
	server   atomic.Pointer[string]          // its address
	wrap     func(client net.Conn) io.Writer // takes what the server sends; nil: the client itself

	mu    sync.Mutex
	isCut bool
	conns map[net.Conn]struct{}
}

// newRelay starts a relay, which lasts until close.
func newRelay(server string, wrap func(client net.Conn) io.Writer) (*relay, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	if wrap == nil {
		wrap = func(client net.Conn) io.Writer { return client }
	}
	r := &relay{listener: listener, wrap: wrap, conns: map[net.Conn]struct{}{}}
	r.server.Store(&server)
	go r.accept()
	return r, nil
}

func (r *relay) addr() string { return r.listener.Addr().String() }

// cut ends all connections, and every new one.
func (r *relay) cut() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.isCut = true
	for conn := range r.conns {
		conn.Close()
	}
}

func (r *relay) close() {
	r.listener.Close()
	r.cut()
}

func (r *relay) accept() {
	for {
		client, err := r.listener.Accept()
		if err != nil {
			return
		}
		go r.join(client)
	}
}

// join carries one connection until either side ends it.
func (r *relay) join(client net.Conn) {
	defer client.Close()
	server, err := net.Dial("tcp", *r.server.Load())
	if err != nil {
		return
	}
	defer server.Close()
	if !r.enter(client) {
		return
	}
	defer r.leave(client)
	go func() {
		io.Copy(server, client)
		server.Close()
		client.Close()
	}()
	io.Copy(r.wrap(client), server)
}

func (r *relay) enter(client net.Conn) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.conns[client] = struct{}{}
	return !r.isCut
}

func (r *relay) leave(client net.Conn) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.conns, client)
}
