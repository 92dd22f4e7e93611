// Package relay stands between a process and its PostgreSQL in tests, and holds back what a
// test wants to be late or lost: a statement on its way there, or the answer to one.
package relay

import (
	"bytes"
	"net"
	"net/url"
	"sync"
	"testing"
)

// Relay passes the connections of a process on to PostgreSQL.
type Relay struct {
	t        testing.TB
	listener net.Listener
	target   string
	url      string

	mu   sync.Mutex
	held []*Held // that have not caught anything yet
	all  []net.Conn
}

// Held is what a relay holds back of one connection.
type Held struct {
	before  []byte // what the client has sent before
	text    []byte
	answers bool // what the client has sent is passed on, and nothing comes back
	caught  chan struct{}
	release chan struct{}
	once    sync.Once
	client  net.Conn // when it is caught
}

// New starts a relay to the server of a URL over TCP, until the end of the test.
func New(t testing.TB, databaseURL string) *Relay {
	t.Helper()
	u, err := url.Parse(databaseURL)
	if err != nil {
		t.Fatal(err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	r := &Relay{t: t, listener: listener, target: u.Host}
	u.Host = listener.Addr().String()
	r.url = u.String()
	var work sync.WaitGroup
	work.Go(func() { r.accept(&work) })
	t.Cleanup(func() {
		listener.Close()
		r.mu.Lock()
		for _, conn := range r.all {
			conn.Close()
		}
		r.mu.Unlock()
		work.Wait()
	})
	return r
}

// URL is that of the database through the relay.
func (r *Relay) URL() string { return r.url }

// Commit is the message of a transaction that ends.
const Commit = "Q\x00\x00\x00\x0bcommit\x00"

// Hold holds what a client sends on a connection from the next piece on that contains text,
// on a connection on which before was sent. The server gets it after Release, also if the
// client has left.
func (r *Relay) Hold(before, text string) *Held { return r.add(before, text, false) }

// Hush passes such a piece on, and nothing that the server answers on this connection from
// then on.
func (r *Relay) Hush(before, text string) *Held { return r.add(before, text, true) }

func (r *Relay) add(before, text string, answers bool) *Held {
	h := &Held{before: []byte(before), text: []byte(text), answers: answers, caught: make(chan struct{}), release: make(chan struct{})}
	r.t.Cleanup(h.Release)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.held = append(r.held, h)
	return h
}

// Await returns when something is held.
func (h *Held) Await() { <-h.caught }

// Cut ends the client's connection, when something is held of it, and leaves the server's.
func (h *Held) Cut() {
	<-h.caught
	h.client.Close()
}

// Release passes on what was held. It may be called again.
func (h *Held) Release() { h.once.Do(func() { close(h.release) }) }

// catch returns who holds the last piece of what a client has sent, nil if it is to be
// passed on.
func (r *Relay) catch(client net.Conn, sent, piece []byte) *Held {
	r.mu.Lock()
	defer r.mu.Unlock()
	for i, h := range r.held {
		if bytes.Contains(sent, h.before) && bytes.Contains(piece, h.text) {
			r.held = append(r.held[:i:i], r.held[i+1:]...)
			h.client = client
			close(h.caught)
			return h
		}
	}
	return nil
}

func (r *Relay) accept(work *sync.WaitGroup) {
	for {
		client, err := r.listener.Accept()
		if err != nil {
			return
		}
		server, err := net.Dial("tcp", r.target)
		if err != nil {
			client.Close()
			continue
		}
		r.mu.Lock()
		r.all = append(r.all, client, server)
		r.mu.Unlock()
		hushed := make(chan struct{})
		work.Go(func() { r.send(server, client, hushed) })
		work.Go(func() { r.answer(client, server, hushed) })
	}
}

// send passes on what the client sends.
func (r *Relay) send(server, client net.Conn, hushed chan struct{}) {
	var sent []byte
	caught := false
	buffer := make([]byte, 64<<10)
	for {
		n, err := client.Read(buffer)
		if err != nil {
			if !caught { // else the server does not learn of it, as over a network that was cut
				server.Close()
			}
			return
		}
		sent = append(sent, buffer[:n]...)
		h := r.catch(client, sent, buffer[:n])
		caught = caught || h != nil
		switch {
		case h != nil && h.answers:
			close(hushed)
		case h != nil:
			<-h.release
		}
		if _, err := server.Write(buffer[:n]); err != nil {
			return
		}
	}
}

// answer passes on what the server answers.
func (r *Relay) answer(client, server net.Conn, hushed chan struct{}) {
	buffer := make([]byte, 64<<10)
	for {
		n, err := server.Read(buffer)
		select {
		case <-hushed:
			if err != nil {
				return // the client learns nothing of the end
			}
			continue
		default:
		}
		if err != nil {
			client.Close()
			return
		}
		if _, err := client.Write(buffer[:n]); err != nil {
			continue // a server that works on for a client that has left
		}
	}
}
