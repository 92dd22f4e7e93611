//go:build peers

package values_test

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/howdah/howdah/internal/resp"
	"github.com/howdah/howdah/internal/test/grammar"
	"github.com/howdah/howdah/internal/test/seed"
	"github.com/howdah/howdah/internal/values"
)

// TestDumps hands random values of all kinds to redis-server and back, in the
// encodings that Redis has for small and for large ones.
func TestDumps(t *testing.T) {
	t.Parallel()
	seed := seed.Of(t)
	small := []string{"--hash-max-listpack-entries", "0", "--zset-max-listpack-entries", "0", "--set-max-intset-entries", "4", "--list-max-listpack-size", "3"}
	for name, settings := range map[string][]string{"listpacks": nil, "tables": small} {
		t.Run(name, func(t *testing.T) {
			c := startRedis(t, settings...)(resp.RESP2)
			s := newStore(t, seed)
			g := rand.New(rand.NewPCG(seed, 2))
			for range 500 {
				lines := makeValue(g)
				c.pipeline(lines)
				for _, line := range lines {
					s.do(line...)
				}
				read := reading[s.Entry([]byte("k")).Value.Kind()]
				want := c.do(read...)
				payload := bulk(t, c.do("DUMP", "k"))
				if got := s.do("RESTORE", "k", "0", payload, "REPLACE"); got != resp.OK {
					t.Fatalf("%q of %q: %s", payload, lines, got)
				}
				if got := s.do(read...); grammar.Sorted(got) != grammar.Sorted(want) {
					t.Fatalf("%q\n  got %q\nredis %q", lines, got, want)
				}
				if got := c.do("RESTORE", "k", "0", bulk(t, s.do("DUMP", "k")), "REPLACE"); got != resp.OK {
					t.Fatalf("redis-server refuses %q: %s", lines, got)
				}
				if got := c.do(read...); grammar.Sorted(got) != grammar.Sorted(want) {
					t.Fatalf("%q\nbefore %q\n after %q", lines, want, got)
				}
			}
		})
	}
}

var reading = map[values.Kind][]string{
	values.KindString: {"GET", "k"}, values.KindHash: {"HGETALL", "k"}, values.KindSet: {"SMEMBERS", "k"},
	values.KindList: {"LRANGE", "k", "0", "-1"}, values.KindSortedSet: {"ZRANGE", "k", "0", "-1", "WITHSCORES"},
}

// makeValue returns commands that give the key k a random value.
func makeValue(g *rand.Rand) [][]string {
	element := func() string {
		switch g.IntN(6) {
		case 0:
			return fmt.Sprint(g.IntN(300) - 150)
		case 1:
			return fmt.Sprint(int64(g.Uint64()) >> g.IntN(64))
		case 2:
			return strings.Repeat("abc", g.IntN(200))
		case 3:
			return strings.Repeat("x", g.IntN(5000))
		default:
			return fmt.Sprintf("element-%d", g.IntN(1000))
		}
	}
	lines := [][]string{{"DEL", "k"}}
	n := 1 + g.IntN(40)
	kind := g.IntN(6)
	for range n {
		switch kind {
		case 0:
			lines = append(lines, []string{"SET", "k", element()})
		case 1:
			lines = append(lines, []string{"HSET", "k", element(), element()})
		case 2:
			lines = append(lines, []string{"SADD", "k", element()})
		case 3:
			lines = append(lines, []string{"SADD", "k", fmt.Sprint(int64(g.Uint64()) >> (8 * (n % 8)))})
		case 4:
			lines = append(lines, []string{"RPUSH", "k", element()})
		default:
			scores := []string{"1", "-1.5", "inf", "-inf", "0.1", fmt.Sprint(g.IntN(100000)), "1e300"}
			lines = append(lines, []string{"ZADD", "k", scores[g.IntN(len(scores))], element()})
		}
	}
	return lines
}

func bulk(t *testing.T, raw string) string {
	t.Helper()
	r, err := resp.ReadReply(reader(raw))
	if err != nil || r.Kind != resp.Bulk {
		t.Fatalf("%q: %v", raw, err)
	}
	return string(r.Str)
}

// TestOldDumps reads the encodings that Redis made before version 7, as
// redis-server reads them.
func TestOldDumps(t *testing.T) {
	t.Parallel()
	c, s := startRedis(t)(resp.RESP2), newStore(t, 1)
	elements := []string{"", "a", strings.Repeat("b", 63), strings.Repeat("c", 64), strings.Repeat("d", 20000), "e", "f", "g"}
	plain, ints := ziplist(elements, nil), ziplist(nil, []int64{0, 12, 13, -1, 127, -128, 32767, -32768, 8388607, -8388608, 2147483647, -2147483648, 1 << 62, -1 << 62})
	for kind, payload := range map[string]string{
		"list of a ziplist":          "\x0a" + rdbText(plain),
		"list of integers":           "\x0a" + rdbText(ints),
		"hash of a ziplist":          "\x0d" + rdbText(plain),
		"sorted set of a ziplist":    "\x0c" + rdbText(ziplist([]string{"a", "1.5", "b", "2", "c", "inf"}, nil)),
		"sorted set with text":       "\x03\x03\x01a\x031.5\x01b\xfe\x01c\xff",
		"quicklist of two ziplists":  "\x0e\x02" + rdbText(plain) + rdbText(ints),
		"quicklist of plain":         "\x12\x01\x01\x05hello",
		"intset":                     "\x0b" + rdbText("\x02\x00\x00\x00\x02\x00\x00\x00\xfe\xff\x05\x00"),
		"string of an integer":       "\x00\xc1\x18\xfc",
		"list of the documentation":  "\x0a\x17\x17\x00\x00\x00\x12\x00\x00\x00\x03\x00\x00\xc0\x01\x00\x04\xc0\x02\x00\x04\xc0\x03\x00\xff",
		"a type that is not known":   "\x63\x00",
		"a list that is cut":         "\x01\x3f\x01a",
		"an empty list":              "\x01\x00",
		"an odd hash of a ziplist":   "\x0d" + rdbText(ziplist([]string{"a"}, nil)),
		"a length that is too large": "\x01\x81\xff\xff\xff\xff\xff\xff\xff\xff",
	} {
		payload = sealed(payload, 9)
		got, want := s.do("RESTORE", "k", "0", payload, "REPLACE"), c.do("RESTORE", "k", "0", payload, "REPLACE")
		if got != want {
			t.Errorf("%s: got %q, redis %q", kind, got, want)
			continue
		}
		if got == resp.OK {
			read := reading[s.Entry([]byte("k")).Value.Kind()]
			if got, want := s.do(read...), c.do(read...); grammar.Sorted(got) != grammar.Sorted(want) {
				t.Errorf("%s\n  got %q\nredis %q", kind, got, want)
			}
		}
	}
}

// ziplist makes a ziplist of texts and then of integers.
func ziplist(texts []string, ints []int64) string {
	var entries [][]byte
	for _, s := range texts {
		var head []byte
		switch {
		case len(s) < 64:
			head = []byte{byte(len(s))}
		case len(s) < 16384:
			head = []byte{0x40 | byte(len(s)>>8), byte(len(s))}
		default:
			head = binary.BigEndian.AppendUint32([]byte{0x80}, uint32(len(s)))
		}
		entries = append(entries, append(head, s...))
	}
	for _, n := range ints {
		b := binary.LittleEndian.AppendUint64(nil, uint64(n))
		switch {
		case 0 <= n && n <= 12:
			entries = append(entries, []byte{0xf1 + byte(n)})
		case n == int64(int8(n)):
			entries = append(entries, append([]byte{0xfe}, b[:1]...))
		case n == int64(int16(n)):
			entries = append(entries, append([]byte{0xc0}, b[:2]...))
		case n == n<<40>>40:
			entries = append(entries, append([]byte{0xf0}, b[:3]...))
		case n == int64(int32(n)):
			entries = append(entries, append([]byte{0xd0}, b[:4]...))
		default:
			entries = append(entries, append([]byte{0xe0}, b...))
		}
	}
	list, tail, before := make([]byte, 10), 10, 0
	for _, entry := range entries {
		tail = len(list)
		if before < 254 {
			list = append(list, byte(before))
		} else {
			list = binary.LittleEndian.AppendUint32(append(list, 0xfe), uint32(before))
		}
		list = append(list, entry...)
		before = len(list) - tail
	}
	list = append(list, 0xff)
	binary.LittleEndian.PutUint32(list, uint32(len(list)))
	binary.LittleEndian.PutUint32(list[4:], uint32(tail))
	binary.LittleEndian.PutUint16(list[8:], uint16(len(entries)))
	return string(list)
}

func rdbText(s string) string {
	return string(binary.BigEndian.AppendUint32([]byte{0x80}, uint32(len(s)))) + s
}

// TestEncoding compares the names of encodings with OBJECT ENCODING, at Redis's
// default thresholds.
func TestEncoding(t *testing.T) {
	t.Parallel()
	seed := seed.Of(t)
	c := startRedis(t, "--hash-max-listpack-entries", "128", "--hash-max-listpack-value", "64",
		"--zset-max-listpack-entries", "128", "--zset-max-listpack-value", "64")(resp.RESP2)
	s := newStore(t, seed)
	g := rand.New(rand.NewPCG(seed, 3))
	seen := map[string]int{}
	for i := range 600 {
		lines := makeValue(g)
		if i%6 == 0 {
			lines = largeValue(g)
		}
		c.pipeline(lines)
		for _, line := range lines {
			s.do(line...)
		}
		want := bulk(t, c.do("OBJECT", "ENCODING", "k"))
		seen[want]++
		if got := values.Encoding(s.Entry([]byte("k")).Value); got != want {
			t.Fatalf("%q is %s, redis has %s", lines, got, want)
		}
	}
	if len(seen) != 8 {
		t.Errorf("the encodings were %v", seen)
	}
}

// largeValue gives the key k short elements, about as many as a threshold.
func largeValue(g *rand.Rand) [][]string {
	lines := [][]string{{"DEL", "k"}}
	kind, n := g.IntN(3), 126+g.IntN(5)
	if kind == 2 {
		n = 510 + g.IntN(5)
	}
	for i := range n {
		e := fmt.Sprint(i)
		lines = append(lines, [][]string{{"HSET", "k", e, e}, {"ZADD", "k", e, e}, {"SADD", "k", e}}[kind])
	}
	return lines
}
