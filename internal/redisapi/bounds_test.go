package redisapi

import (
	"fmt"
	"slices"
	"testing"

	"github.com/howdah/howdah/internal/resp"
)

// numbered are n arguments behind a command's name.
func numbered(name, prefix string, n int) []string {
	args := []string{name}
	for i := range n {
		args = append(args, fmt.Sprint(prefix, i))
	}
	return args
}

// What a connection watches is bounded, and watching a key again is free.
func TestWatchedKeysAreBounded(t *testing.T) {
	s := serve(t, Options{MaxPendingBytes: 64 << 10})
	c := dial(t, s.addr())
	for range 3 {
		c.want(resp.OK, numbered("WATCH", "a", 500)...) // 33 KB
	}
	refused := "-" + string(errWatchTooBig) + "\r\n"
	c.want(refused, numbered("WATCH", "b", 500)...)
	c.want(resp.OK, "WATCH", "b0")
	c.want(resp.OK, "SET", "a499", "changed")
	c.want(resp.OK, "MULTI")
	c.want(resp.Queued, "GET", "k")
	c.want("*-1\r\n", "EXEC")
	c.want(resp.OK, numbered("WATCH", "b", 5000)...) // alone, one command may be larger
	c.want(refused, "WATCH", "a0")
	c.want(resp.OK, "UNWATCH")
	c.want(resp.OK, "WATCH", "a0")
}

// Many small arguments count for the memory that they take.
func TestSmallArgumentsCount(t *testing.T) {
	s := serve(t, Options{MaxPendingBytes: 64 << 10})
	c := dial(t, s.addr())
	c.want(resp.OK, "MULTI")
	c.want(resp.Queued, append([]string{"DEL"}, make([]string, 5000)...)...) // alone it may
	c.want("-"+string(errQueueTooBig)+"\r\n", "DEL", "")
	c.want("-EXECABORT Transaction discarded because of previous errors.\r\n", "EXEC")
	c.want(resp.OK, "MULTI")
	for range 500 {
		c.want(resp.Queued, "PING")
	}
	c.want("-"+string(errQueueTooBig)+"\r\n", append([]string{"DEL"}, make([]string, 1000)...)...)
	c.want(resp.OK, "DISCARD")

	// A pipeline of them waits as one of large arguments does.
	mget := resp.AppendCommand(nil, append([]string{"MGET"}, make([]string, 1000)...)...)
	conn := s.engine.Connect(Info{}, func() {})
	defer conn.Close()
	if input := slices.Repeat(mget, 10); conn.Feed(input) > 4*len(mget) {
		t.Error("more was begun than may be held")
	}
}
