//go:build peers

package values_test

import (
	"flag"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/howdah/howdah/internal/resp"
	"github.com/howdah/howdah/internal/test/grammar"
	"github.com/howdah/howdah/internal/test/long"
	"github.com/howdah/howdah/internal/test/seed"
)

var (
	streamLength = flag.Int("commands", long.Or(6_000, 30_000), "commands of each family that are compared with redis-server")
	streamSeed   = flag.Uint64("seed", 0, "repeats a stream; 0: as HOWDAH_SEED says")
)

// TestStreams runs random commands of each family against redis-server and
// against the functions, and compares the replies and what is stored.
func TestStreams(t *testing.T) {
	t.Parallel()
	for _, family := range grammar.Families() {
		t.Run(family.Name, func(t *testing.T) {
			seed := seed.Or(t, *streamSeed)
			dial := startRedis(t)
			s := &stream{
				grammar: &grammar.Grammar{Rand: rand.New(rand.NewPCG(seed, 0)), Family: family},
				store:   newStore(t, seed),
				clients: [2]*client{dial(resp.RESP2), dial(resp.RESP3)},
				events:  listen(dial(resp.RESP2), wantedOf(family.Name)),
			}
			s.store.wants = s.events.wants
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
	grammar *grammar.Grammar
	store   *store
	clients [2]*client
	events  *listener
}

// prepare makes keys of all kinds, for WRONGTYPE.
func (s *stream) prepare(t *testing.T) {
	for _, words := range grammar.Prepare() {
		s.clients[0].do(words...)
		s.store.do(words...)
	}
}

func (s *stream) batch(t *testing.T) {
	client := s.clients[s.grammar.IntN(2)]
	lines := make([][]string, streamBatch)
	for i := range lines {
		lines[i] = s.grammar.Line()
	}
	s.store.now = time.Now().UnixMilli()
	for i, want := range client.pipeline(lines) {
		got := s.store.run(client.proto, lines[i]...)
		if !s.grammar.Family.Same(got, want) {
			t.Errorf("RESP%d %q\n  got %q\nredis %q", client.proto, lines[i], got, want)
			if strings.HasPrefix(want, "-") != strings.HasPrefix(got, "-") {
				t.FailNow()
			}
		}
	}
	s.events.compare(t, client, s.store.events)
	s.store.events = nil
	s.store.reload()
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
		same := grammar.Family{HyperLogLog: kind == "string", Unordered: kind != "list"}
		if got, want := s.store.do(read...), c.do(read...); !same.Same(got, want) {
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
