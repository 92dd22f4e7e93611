package handover

import (
	"net"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/howdah/howdah/internal/resp"
)

// fakeServer lets clients use a store.
type fakeServer struct {
	name     string
	store    *store
	listener net.Listener

	mu   sync.Mutex
	open map[net.Conn]bool
	work sync.WaitGroup
}

func startFake(t *testing.T, name string, s *store) *fakeServer {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	f := &fakeServer{name: name, store: s, listener: listener, open: make(map[net.Conn]bool)}
	f.work.Go(f.accept)
	t.Cleanup(func() {
		listener.Close()
		f.mu.Lock()
		for conn := range f.open {
			conn.Close()
		}
		f.mu.Unlock()
		f.work.Wait()
	})
	return f
}

func (f *fakeServer) Name() string { return f.name }
func (f *fakeServer) Addr() string { return f.listener.Addr().String() }

func (f *fakeServer) accept() {
	for {
		conn, err := f.listener.Accept()
		if err != nil {
			return
		}
		f.mu.Lock()
		f.open[conn] = true
		f.mu.Unlock()
		f.work.Go(func() { f.talk(conn) })
	}
}

// talk serves one connection. A goroutine reads its commands, so that a client that leaves
// while it waits is noticed.
func (f *fakeServer) talk(conn net.Conn) {
	commands, done := make(chan []string), make(chan struct{})
	defer func() {
		conn.Close()
		close(done)
		f.mu.Lock()
		delete(f.open, conn)
		f.mu.Unlock()
	}()
	f.work.Go(func() { readCommands(conn, commands, done) })
	for words := range commands {
		reply, w := f.store.command(conn, words)
		if w != nil {
			select {
			case reply = <-w.reply:
			case <-commands: // closed: the client has left
				f.store.leave(w)
				return
			}
			if reply == nil {
				reply = resp.AppendNullArray(nil, resp.RESP2)
			}
		}
		if _, err := conn.Write(reply); err != nil {
			return
		}
	}
}

// readCommands passes on what a client sends, and closes commands when it leaves.
func readCommands(conn net.Conn, commands chan<- []string, done <-chan struct{}) {
	defer close(commands)
	parser, buf, room := resp.NewParser(resp.Limits{}), []byte(nil), make([]byte, 4096)
	parser.SetAuthenticated(true)
	for {
		args, n, err := parser.Parse(buf)
		if err != nil {
			return
		}
		if args != nil {
			words := make([]string, len(args))
			for i, a := range args {
				words[i] = string(a)
			}
			buf = buf[n:]
			select {
			case commands <- words:
			case <-done:
				return
			}
			continue
		}
		buf = buf[n:]
		got, err := conn.Read(room)
		if err != nil {
			return
		}
		buf = append(buf, room[:got]...)
	}
}
