package handover

import (
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/howdah/howdah/internal/resp"
)

// mutant is a fault of the fake servers.
type mutant string

const (
	sound     mutant = ""
	twice     mutant = "sometimes an element that was delivered stays"
	loses     mutant = "sometimes an element that was popped goes to no client"
	newest    mutant = "the client that has waited least is served first"
	halfMoves mutant = "sometimes a move takes the element and does not put it into its list"
	refuses   mutant = "sometimes a push is refused that was done"
	sleeps    mutant = "a push wakes at most one client, and sometimes none"
)

// often is how often a mutant does it.
const often = 40

// store is the keys of the fake servers, which share it, and who waits for them.
type store struct {
	mutant  mutant
	mu      sync.Mutex
	keys    map[string][]string // lists, and sorted sets by score: their elements were added in order
	waiters []*waiter           // the first has waited longest
	turns   int
}

// waiter is a client that waits.
type waiter struct {
	conn  net.Conn
	pop   pop
	reply chan []byte // nil: its time is over, or it has left
}

// pop is a command that may wait.
type pop struct {
	name string
	keys []string
	to   string // of moves
	most int
}

// fault reports whether a mutant does its fault now.
func (s *store) fault(m mutant) bool {
	if s.mutant != m {
		return false
	}
	s.turns++
	return s.turns%often == 0
}

// take serves a pop if one of its keys holds an element. reply is nil if none does, and
// empty if the element went to no client.
func (s *store) take(p pop) (reply []byte) {
	for _, key := range p.keys {
		held := s.keys[key]
		if len(held) == 0 {
			continue
		}
		i, n := 0, min(p.most, len(held))
		if p.name == "BRPOP" || p.to != "" {
			i = len(held) - 1
		}
		elements := slices.Clone(held[i : i+n])
		if !s.fault(twice) {
			s.keys[key] = slices.Delete(held, i, i+n)
		}
		if s.fault(loses) {
			return []byte{}
		}
		return s.answer(p, key, elements)
	}
	return nil
}

func (s *store) answer(p pop, key string, elements []string) []byte {
	element := elements[0]
	switch p.name {
	case "BLMPOP", "BZMPOP":
		reply := resp.AppendArray(resp.AppendBulkString(resp.AppendArray(nil, 2), key), len(elements))
		for _, e := range elements {
			if p.name == "BZMPOP" {
				reply = resp.AppendBulkString(resp.AppendArray(reply, 2), e)
				e = "1" // its score
			}
			reply = resp.AppendBulkString(reply, e)
		}
		return reply
	case "BLMOVE", "BRPOPLPUSH":
		if !s.fault(halfMoves) {
			s.keys[p.to] = slices.Insert(s.keys[p.to], 0, element)
		}
		return resp.AppendBulkString(nil, element)
	case "BZPOPMIN", "BZPOPMAX":
		reply := resp.AppendBulkString(resp.AppendBulkString(resp.AppendArray(nil, 3), key), element)
		return resp.AppendBulkString(reply, "1")
	}
	return resp.AppendBulkString(resp.AppendBulkString(resp.AppendArray(nil, 2), key), element)
}

// push adds elements and serves who waits.
func (s *store) push(name, key string, elements []string) []byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, e := range elements {
		switch {
		case name == "LPUSH":
			s.keys[key] = slices.Insert(s.keys[key], 0, e)
		case name == "RPUSH":
			s.keys[key] = append(s.keys[key], e)
		case i%2 == 1: // ZADD: behind its score
			s.keys[key] = append(s.keys[key], e)
		}
	}
	reply := resp.AppendInt(nil, int64(len(elements)))
	if !s.fault(sleeps) {
		s.serve()
	}
	if s.fault(refuses) {
		return resp.AppendError(nil, "LOADING the server is not ready")
	}
	return reply
}

// serve serves those who wait, until nobody is left for whom there is an element.
func (s *store) serve() {
	for served := true; served; {
		served = false
		for i := range s.waiters {
			if s.mutant == newest {
				i = len(s.waiters) - 1 - i
			}
			reply := s.take(s.waiters[i].pop)
			if reply == nil {
				continue
			}
			served = s.mutant != sleeps
			if len(reply) > 0 {
				s.waiters[i].reply <- reply
				s.waiters = slices.Delete(s.waiters, i, i+1)
			}
			break
		}
	}
}

// wait serves a pop, at once or later.
func (s *store) wait(conn net.Conn, p pop, seconds float64) *waiter {
	s.mu.Lock()
	defer s.mu.Unlock()
	w := &waiter{conn, p, make(chan []byte, 1)}
	if reply := s.take(p); len(reply) > 0 {
		w.reply <- reply
		return w
	}
	s.waiters = append(s.waiters, w)
	if seconds > 0 {
		time.AfterFunc(time.Duration(seconds*float64(time.Second)), func() { s.leave(w) })
	}
	return w
}

// leave ends a wait without an element.
func (s *store) leave(w *waiter) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if i := slices.Index(s.waiters, w); i >= 0 {
		s.waiters = slices.Delete(s.waiters, i, i+1)
		w.reply <- nil
	}
}

func (s *store) remove(key, element string) []byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	i := slices.Index(s.keys[key], element)
	if i < 0 {
		return resp.AppendInt(nil, 0)
	}
	s.keys[key] = slices.Delete(s.keys[key], i, i+1)
	return resp.AppendInt(nil, 1)
}

func (s *store) all(key string) []byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	reply := resp.AppendArray(nil, len(s.keys[key]))
	for _, e := range s.keys[key] {
		reply = resp.AppendBulkString(reply, e)
	}
	return reply
}

func (s *store) list() []byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	var lines strings.Builder
	for _, w := range s.waiters {
		fmt.Fprintf(&lines, "id=1 addr=%s flags=b\n", w.conn.RemoteAddr())
	}
	return resp.AppendBulkString(nil, lines.String())
}

// command runs one that does not wait, or begins one that does.
func (s *store) command(conn net.Conn, words []string) (reply []byte, w *waiter) {
	last := words[len(words)-1]
	switch name := words[0]; name {
	case "RPUSH", "LPUSH", "ZADD":
		return s.push(name, words[1], words[2:]), nil
	case "BLPOP", "BRPOP", "BZPOPMIN", "BZPOPMAX", "BLMOVE", "BRPOPLPUSH":
		seconds, _ := strconv.ParseFloat(last, 64)
		p := pop{name: name, keys: words[1 : len(words)-1], most: 1}
		if name == "BLMOVE" || name == "BRPOPLPUSH" {
			p.keys, p.to = words[1:2], words[2]
		}
		return nil, s.wait(conn, p, seconds)
	case "BLMPOP", "BZMPOP":
		seconds, _ := strconv.ParseFloat(words[1], 64)
		most, _ := strconv.Atoi(last)
		return nil, s.wait(conn, pop{name: name, keys: words[3 : len(words)-3], most: most}, seconds)
	case "LREM":
		return s.remove(words[1], last), nil
	case "LRANGE", "ZRANGE":
		return s.all(words[1]), nil
	case "CLIENT":
		return s.list(), nil
	}
	return resp.AppendError(nil, "ERR unknown command"), nil
}
