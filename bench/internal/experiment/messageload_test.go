package experiment

import (
	"bufio"
	"errors"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// A subscriber accepts the messages of each publisher once, in order, and nothing else.
func TestSubscribersCheckMessages(t *testing.T) {
	at := "1767225600000000000 "
	for _, c := range []struct {
		messages []string
		want     string // of the error of the last; "": none
	}{
		{[]string{at + "0 0 ..", at + "1 0 ..", at + "0 1 .."}, ""},
		{[]string{at + "0 0 ..", at + "0 2 .."}, "message 2 of publisher 0 came, and 1 was due"},
		{[]string{at + "0 0 ..", at + "0 0 .."}, "message 0 of publisher 0 came, and 1 was due"},
		{[]string{at + "2 0 .."}, "is from no publisher"},
		{[]string{"hello"}, "is not a message of ours"},
	} {
		s := &subscriber{next: make([]int64, 2), measured: new(atomic.Int64)}
		var err error
		for _, m := range c.messages {
			if err != nil {
				t.Fatal(err)
			}
			err = s.note(m)
		}
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q: %v", c.messages, err)
		}
	}
}

// fakePublishing is a server that passes on each message, but for those that drop says.
func fakePublishing(t *testing.T, drop func(n int) bool) (addr string) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	subscribed := make(chan net.Conn, 1)
	serve := func(conn net.Conn) {
		defer conn.Close()
		in, n := bufio.NewReader(conn), 0
		var to net.Conn
		for {
			words, err := readCommand(in)
			if err != nil {
				return
			}
			if words[0] == "SUBSCRIBE" {
				conn.Write(append(appendBulk([]byte("*3\r\n$9\r\nsubscribe\r\n"), words[1]), ":1\r\n"...))
				subscribed <- conn
				continue
			}
			if to == nil {
				to = <-subscribed
			}
			if n++; !drop(n) {
				to.Write(appendBulk(appendBulk([]byte("*3\r\n$7\r\nmessage\r\n"), words[1]), words[2]))
			}
			conn.Write([]byte(":1\r\n"))
		}
	}
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go serve(conn)
		}
	}()
	t.Cleanup(func() { listener.Close() })
	return listener.Addr().String()
}

// readCommand reads an array of bulk strings.
func readCommand(in *bufio.Reader) (words []string, err error) {
	line, err := in.ReadString('\n')
	if err != nil || len(line) < 2 {
		return nil, errors.Join(err, errors.New("no command"))
	}
	for range line[1] - '0' {
		if _, err := in.ReadString('\n'); err != nil {
			return nil, err
		}
		word, err := in.ReadString('\n')
		if err != nil {
			return nil, err
		}
		words = append(words, strings.TrimSpace(word))
	}
	return words, nil
}

// A load finds every message, and finds out the server that loses one.
func TestMessageLoad(t *testing.T) {
	of := func(drop func(int) bool) (delivered, error) {
		addr := fakePublishing(t, drop)
		l := messageLoad{to: addr, from: addr, channel: "c", publishers: 1, subscribers: 1, warmup: time.Millisecond, duration: 500 * time.Millisecond}
		return l.run(t.Context(), newMeter())
	}
	d, err := of(func(int) bool { return false })
	if err != nil {
		t.Fatal(err)
	}
	if d.messages == 0 || d.delivery.TotalCount() == 0 || d.delivery.TotalCount() > d.messages {
		t.Errorf("%d messages, %d measured", d.messages, d.delivery.TotalCount())
	}
	addr := fakePublishing(t, func(int) bool { return false })
	l := messageLoad{to: addr, from: addr, channel: "c", publishers: 1, subscribers: 1, duration: 50 * time.Millisecond, rate: 100, mayLag: true}
	began := time.Now()
	d, err = l.run(t.Context(), newMeter())
	took := time.Since(began)
	if most := 12 + int64(took/(10*time.Millisecond)); err != nil || d.messages == 0 || d.messages > most { // 10 may make up for a pause
		t.Errorf("100 messages/s: %d in %v, %v", d.messages, took, err)
	}
	// One more comes, and no others, which nobody would read.
	if _, err := of(func(n int) bool { return n != 2 }); err == nil || !strings.Contains(err.Error(), "message 1 of publisher 0 came, and 0 was due") {
		t.Errorf("a lost message: %v", err)
	}
}
