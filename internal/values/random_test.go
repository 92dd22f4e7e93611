package values_test

import (
	"slices"
	"strconv"
	"strings"
	"testing"
)

// TestSampling checks what the commands that choose at random promise: the number
// of elements, that they are different or may repeat, and that each is chosen
// about equally often.
func TestSampling(t *testing.T) {
	t.Parallel()
	s := newStore(t, 7)
	s.words("SADD s a b c d e")
	s.words("HSET h a 1 b 2 c 3 d 4 e 5")
	s.words("ZADD z 1 a 2 b 3 c 4 d 5 e")
	for _, command := range []string{"SRANDMEMBER s", "HRANDFIELD h", "ZRANDMEMBER z"} {
		often := map[string]int{}
		for range 5000 {
			often[show(s.words(command))]++
			two := list(s.words(command + " 2"))
			if len(two) != 2 || two[0] == two[1] {
				t.Fatalf("%s 2: %q", command, two)
			}
			for _, name := range two {
				often[name]++
			}
		}
		for _, name := range []string{"a", "b", "c", "d", "e"} {
			if n := often[name]; n < 2700 || n > 3300 {
				t.Errorf("%s: %s was chosen %d times of 15000", command, name, n)
			}
		}
		if all := list(s.words(command + " 9")); len(slices.Compact(slices.Sorted(slices.Values(all)))) != 5 {
			t.Errorf("%s 9: %q", command, all)
		}
		if many := list(s.words(command + " -1000")); len(many) != 1000 || len(slices.Compact(slices.Sorted(slices.Values(many)))) != 5 {
			t.Errorf("%s -1000: %d elements", command, len(many))
		}
		if got, want := show(s.words(command+" -9223372036854775807")), "-ERR reply is larger than 64 MiB; ask for fewer elements"; got != want {
			t.Errorf("%s: %s", command, got)
		}
	}
	for range 100 {
		pairs := list(s.words("HRANDFIELD h -3 WITHVALUES"))
		for i := 0; i < len(pairs); i += 2 {
			if pairs[i+1] != strconv.Itoa(int(pairs[i][0]-'a')+1) {
				t.Fatalf("%q", pairs)
			}
		}
		if pairs = list(s.words("ZRANDMEMBER z 2 WITHSCORES")); len(pairs) != 4 {
			t.Fatalf("%q", pairs)
		}
	}
}

func TestSpop(t *testing.T) {
	t.Parallel()
	s := newStore(t, 8)
	first := map[string]int{}
	for range 3000 {
		s.words("SADD s a b c d e")
		popped := list(s.words("SPOP s 2"))
		popped = append(popped, show(s.words("SPOP s")))
		first[popped[0]]++
		popped = append(popped, list(s.words("SPOP s 10"))...)
		slices.Sort(popped)
		if strings.Join(popped, "") != "abcde" || s.Entry([]byte("s")).Value != nil {
			t.Fatalf("popped %q", popped)
		}
	}
	for name, n := range first {
		if n < 480 || n > 720 {
			t.Errorf("%s was first %d times of 3000", name, n)
		}
	}
}

// TestScan checks that a scan of a large collection gives every member that is
// there from its beginning to its end, while others come and go.
func TestScan(t *testing.T) {
	t.Parallel()
	s := newStore(t, 9)
	for i := range 1000 {
		n := strconv.Itoa(i)
		s.do("SADD", "s", "stays"+n, "goes"+n)
		s.do("HSET", "h", "stays"+n, "v"+n, "goes"+n, "v")
		s.do("ZADD", "z", n, "stays"+n, n, "goes"+n)
	}
	for _, test := range []struct {
		scan, remove, add string
		width             int
	}{{"SSCAN s", "SREM s", "SADD s", 1}, {"HSCAN h", "HDEL h", "HSET h", 2}, {"ZSCAN z", "ZREM z", "ZADD z 1", 2}} {
		seen, cursor, pages := map[string]int{}, "0", 0
		for {
			r := reply2(t, s.words(test.scan+" "+cursor+" COUNT 50"))
			for i := 0; i < len(r[1].Elems); i += test.width {
				seen[string(r[1].Elems[i].Str)]++
			}
			n := strconv.Itoa(pages)
			s.words(test.remove + " goes" + n)
			if strings.HasPrefix(test.scan, "H") {
				s.words(test.add + " new" + n + " v")
			} else {
				s.words(test.add + " new" + n)
			}
			if cursor = string(r[0].Str); cursor == "0" {
				break
			}
			if pages++; pages > 100 {
				t.Fatalf("%s does not end", test.scan)
			}
		}
		if pages < 30 {
			t.Errorf("%s: %d pages for 2000 members", test.scan, pages)
		}
		for i := range 1000 {
			if n := seen["stays"+strconv.Itoa(i)]; n != 1 {
				t.Fatalf("%s gave a member %d times", test.scan, n)
			}
		}
	}
	if got, want := show(s.words("SSCAN s 0 MATCH "+strings.Repeat("a*", 600))), "-ERR pattern is longer than 1024 bytes; use a shorter one"; got != want {
		t.Error(got)
	}
	if got := list(s.words("HSCAN h 0 COUNT 5000 MATCH stays1 NOVALUES")); got[1] != "[stays1]" {
		t.Errorf("%q", got)
	}
}
