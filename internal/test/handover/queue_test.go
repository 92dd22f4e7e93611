package handover

import (
	"fmt"
	"strconv"

	"github.com/howdah/howdah/internal/resp"
)

// queue is a key from which elements come in the order in which they were pushed.
type queue struct {
	key  string
	kind *kind
}

// kind is a pair of commands.
type kind struct {
	name  string
	push  string // RPUSH, LPUSH, ZADD
	pop   string // the command that waits
	moves bool
	most  int // elements that one pop may take
}

var kinds = []*kind{
	{name: "left", push: "RPUSH", pop: "BLPOP", most: 1},
	{name: "right", push: "LPUSH", pop: "BRPOP", most: 1},
	{name: "move", push: "LPUSH", pop: "BLMOVE", moves: true, most: 1},
	{name: "several", push: "RPUSH", pop: "BLMPOP", most: 2},
	{name: "sorted", push: "ZADD", pop: "BZPOPMIN", most: 1},
	{name: "moved", push: "LPUSH", pop: "BRPOPLPUSH", moves: true, most: 1},
	{name: "highest", push: "ZADD", pop: "BZPOPMAX", most: 1},
	{name: "some sorted", push: "ZADD", pop: "BZMPOP", most: 2},
}

// pushWords is the command that pushes elements.
func (q queue) pushWords(elements []string, number func() int64) []string {
	return append([]string{q.kind.push, q.key}, q.pushed(elements, number)...)
}

// pushed is what that command has behind the key. A sorted set has elements by a number
// that increases, or decreases where the highest is popped first.
func (q queue) pushed(elements []string, number func() int64) (words []string) {
	for _, e := range elements {
		if q.kind.push == "ZADD" {
			n := number()
			if q.kind.pop == "BZPOPMAX" {
				n = -n
			}
			words = append(words, strconv.FormatInt(n, 10))
		}
		words = append(words, e)
	}
	return words
}

// scriptWords is a script that pushes one element to each of two queues of a kind.
func scriptWords(queues []queue, elements []string, number func() int64) []string {
	const script = "local n = (#ARGV - 1) / 2 redis.call(ARGV[1], KEYS[1], unpack(ARGV, 2, n + 1)) return redis.call(ARGV[1], KEYS[2], unpack(ARGV, n + 2))"
	words := []string{"EVAL", script, "2", queues[0].key, queues[1].key, queues[0].kind.push}
	for i, q := range queues {
		words = append(words, q.pushed(elements[i:i+1], number)...)
	}
	return words
}

// popWords is the command that waits for at most so many elements of some keys, and so many
// seconds.
func (k *kind) popWords(keys []string, to string, most int, seconds string) []string {
	switch k.pop {
	case "BLMOVE":
		return []string{k.pop, keys[0], to, "RIGHT", "LEFT", seconds}
	case "BRPOPLPUSH":
		return []string{k.pop, keys[0], to, seconds}
	case "BLMPOP", "BZMPOP":
		end := map[string]string{"BLMPOP": "LEFT", "BZMPOP": "MIN"}[k.pop]
		return append(append([]string{k.pop, seconds, strconv.Itoa(len(keys))}, keys...), end, "COUNT", strconv.Itoa(most))
	}
	return append(append([]string{k.pop}, keys...), seconds)
}

// popped is what a reply to a pop says.
func (k *kind) popped(reply resp.Reply, keys []string) (key string, elements []string, err error) {
	if k.moves {
		return keys[0], []string{string(reply.Str)}, nil
	}
	if reply.Kind != resp.Array || len(reply.Elems) < 2 {
		return "", nil, fmt.Errorf("%s answered %+v", k.pop, reply)
	}
	list := reply.Elems[1:2]
	if k.pop == "BLMPOP" || k.pop == "BZMPOP" {
		list = reply.Elems[1].Elems
	}
	for _, e := range list {
		if k.pop == "BZMPOP" && len(e.Elems) > 0 {
			e = e.Elems[0] // beside its score
		}
		elements = append(elements, string(e.Str))
	}
	return string(reply.Elems[0].Str), elements, nil
}

// allWords reads a whole key.
func (q queue) allWords() []string {
	if q.kind.push == "ZADD" {
		return []string{"ZRANGE", q.key, "0", "-1"}
	}
	return []string{"LRANGE", q.key, "0", "-1"}
}
