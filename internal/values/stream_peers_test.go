//go:build peers

package values_test

import (
	"bufio"
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/howdah/howdah/internal/resp"
)

var (
	streamLength = flag.Int("commands", 30_000, "commands of each family that are compared with redis-server")
	streamSeed   = flag.Uint64("seed", 0, "repeats a stream; 0: a new one")
)

// TestStreams runs random commands of each family against redis-server and
// against the functions, and compares the replies and what is stored.
func TestStreams(t *testing.T) {
	for _, family := range families {
		t.Run(family.name, func(t *testing.T) {
			seed := *streamSeed
			if seed == 0 {
				seed = uint64(time.Now().UnixNano())
			}
			t.Logf("seed %d", seed)
			dial := startRedis(t)
			s := &stream{
				grammar: &grammar{Rand: rand.New(rand.NewPCG(seed, 0)), family: family},
				store:   newStore(t, seed),
				clients: [2]*client{dial(resp.RESP2), dial(resp.RESP3)},
			}
			s.prepare(t)
			for made := 0; made < *streamLength && !t.Failed(); made += streamBatch {
				s.batch(t)
			}
			s.compareState(t)
		})
	}
}

const streamBatch = 200

type stream struct {
	grammar *grammar
	store   *store
	clients [2]*client
}

// prepare makes keys of all kinds, for WRONGTYPE.
func (s *stream) prepare(t *testing.T) {
	for _, line := range []string{"SADD w0 a b c", "RPUSH w1 a b c", "HSET w2 a 1", "ZADD w3 1 a 2 b", "SET w4 12", "SET w5 x"} {
		words := strings.Fields(line)
		s.clients[0].do(words...)
		s.store.do(words...)
	}
}

func (s *stream) batch(t *testing.T) {
	client := s.clients[s.grammar.IntN(2)]
	lines := make([][]string, streamBatch)
	for i := range lines {
		lines[i] = s.grammar.line()
	}
	s.store.now = time.Now().UnixMilli()
	for i, want := range client.pipeline(lines) {
		got := s.store.run(client.proto, lines[i]...)
		if s.grammar.family.hll {
			got, want = withoutCache(got), withoutCache(want)
		}
		if got != want && (!s.grammar.family.unordered || sorted(got) != sorted(want)) {
			t.Errorf("RESP%d %q\n  got %q\nredis %q", client.proto, lines[i], got, want)
			if strings.HasPrefix(want, "-") != strings.HasPrefix(got, "-") {
				t.FailNow()
			}
		}
	}
	s.store.reload()
}

// withoutCache takes the cached cardinality out of a HyperLogLog: Redis stores it
// when it counts, the functions write nothing then.
func withoutCache(raw string) string {
	if at := strings.Index(raw, "HYLL"); at >= 0 && len(raw) >= at+16 {
		return raw[:at+8] + raw[at+16:]
	}
	return raw
}

// sorted sorts the elements of a reply, for those whose order Redis leaves open.
func sorted(raw string) string {
	r, err := resp.ReadReply(bufio.NewReader(strings.NewReader(raw)))
	if err != nil || r.Kind == resp.Error {
		return raw
	}
	return fmt.Sprintf("%c", r.Kind) + sortedText(r)
}

func sortedText(r resp.Reply) string {
	if len(r.Elems) == 0 {
		return fmt.Sprintf("%c%q%d", r.Kind, r.Str, r.Int)
	}
	texts := make([]string, len(r.Elems))
	for i, elem := range r.Elems {
		texts[i] = sortedText(elem)
	}
	slices.Sort(texts)
	return fmt.Sprint(texts)
}

// compareState reads all keys.
func (s *stream) compareState(t *testing.T) {
	c := s.clients[0]
	for key, e := range s.store.entries {
		kind := "none"
		if e.Value != nil {
			kind = e.Value.Kind().String()
		}
		if got := strings.TrimSpace(c.do("TYPE", key)); got != "+"+kind {
			t.Errorf("%s is %s, redis has %s", key, kind, got)
			continue
		}
		read := map[string][]string{
			"string": {"GET", key}, "hash": {"HGETALL", key}, "set": {"SMEMBERS", key},
			"list": {"LRANGE", key, "0", "-1"}, "zset": {"ZRANGE", key, "0", "-1", "WITHSCORES"},
		}[kind]
		if read == nil {
			continue
		}
		if got, want := withoutCache(s.store.do(read...)), withoutCache(c.do(read...)); got != want && (kind == "list" || sorted(got) != sorted(want)) {
			t.Errorf("%s\n  got %q\nredis %q", key, got, want)
		}
	}
	if got, want := c.do("DBSIZE"), s.store.size(); got != ":"+strconv.Itoa(want)+"\r\n" {
		t.Errorf("%d keys, redis has %s", want, got)
	}
}

func (s *store) size() (n int) {
	for _, e := range s.entries {
		if e.Value != nil {
			n++
		}
	}
	return n
}
