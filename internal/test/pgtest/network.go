package pgtest

import (
	"bytes"
	"context"
	"io"
	"net"
	"net/url"
	"os"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"
)

// SlowNetwork stands between clients and PostgreSQL. It keeps back the next bytes of a client
// that hold a mark, and what follows them, until the test lets them arrive: a client may have
// given its connection up by then.
type SlowNetwork struct {
	URL  string     // of the database, through the network
	Held chan *Held // gets what was kept back

	t        testing.TB
	database string // its URL past the network
	server   string

	mu    sync.Mutex
	marks []string
}

// Held is what was kept back of one connection.
type Held struct {
	network        *SlowNetwork
	bytes          []byte
	client, server net.Conn
	ended          chan struct{} // closed when the server has ended the connection
}

// StartSlowNetwork puts a network before a database, until the end of the test.
func StartSlowNetwork(t testing.TB, databaseURL string) *SlowNetwork {
	t.Helper()
	u, err := url.Parse(TCP(databaseURL))
	if err != nil {
		t.Fatal(err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { listener.Close() })
	n := &SlowNetwork{t: t, database: databaseURL, server: u.Host, Held: make(chan *Held, 1)}
	u.Host = listener.Addr().String()
	n.URL = u.String()
	go func() {
		for {
			client, err := listener.Accept()
			if err != nil {
				return
			}
			go n.carry(client)
		}
	}()
	return n
}

// Hold keeps back the next bytes that hold the last mark, after some that hold those before it.
func (n *SlowNetwork) Hold(marks ...string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.marks = marks
}

// holds reports whether bytes are to be kept back.
func (n *SlowNetwork) holds(data []byte) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	if len(n.marks) == 0 || !bytes.Contains(data, []byte(n.marks[0])) {
		return false
	}
	n.marks = n.marks[1:]
	return len(n.marks) == 0
}

func (n *SlowNetwork) carry(client net.Conn) {
	server, err := net.Dial("tcp", n.server)
	if err != nil {
		client.Close()
		return
	}
	h := &Held{network: n, client: client, server: server, ended: make(chan struct{})}
	go func() {
		defer close(h.ended)
		io.Copy(client, server)
		io.Copy(io.Discard, server) // the client may be gone
		server.Close()
		client.Close()
	}()
	buffer := make([]byte, 1<<16)
	for {
		size, err := client.Read(buffer)
		if n.holds(buffer[:size]) {
			h.bytes = bytes.Clone(buffer[:size])
			n.Held <- h
			return
		}
		if _, writeErr := server.Write(buffer[:size]); err != nil || writeErr != nil {
			server.(*net.TCPConn).CloseWrite()
			return
		}
	}
}

// Lose ends the connection for its client, as when a network breaks between the two.
func (h *Held) Lose() { h.client.Close() }

// Send sends what was kept back to the server.
func (h *Held) Send() {
	h.server.Write(h.bytes) // fails where the server has ended the connection
	h.bytes = nil
}

// Arrive is Send, and waits until the server has done what it was sent.
func (h *Held) Arrive() {
	h.Send()
	h.server.(*net.TCPConn).CloseWrite()
	<-h.ended
}

// Backend is the process of PostgreSQL at the other end.
func (h *Held) Backend() *os.Process {
	t := h.network.t
	t.Helper()
	conn, err := pgx.Connect(t.Context(), h.network.database)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.Background())
	var pid int
	port := h.server.LocalAddr().(*net.TCPAddr).Port
	if err := conn.QueryRow(t.Context(), "SELECT pid FROM pg_stat_activity WHERE client_port = $1", port).Scan(&pid); err != nil {
		t.Fatal(err)
	}
	process, err := os.FindProcess(pid)
	if err != nil {
		t.Fatal(err)
	}
	return process
}
