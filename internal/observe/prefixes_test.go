package observe

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
)

func TestPrefixOf(t *testing.T) {
	t.Parallel()
	for key, want := range map[string]string{
		"":                              "",
		"plain":                         "",
		"user:1":                        "user:",
		"user:1:name":                   "user:",
		"page/a:b":                      "page/",
		":x":                            ":",
		strings.Repeat("k", 63) + ":x":  strings.Repeat("k", 63) + ":",
		strings.Repeat("k", 64) + ":x":  "",
		"\xff\x00/x":                    "\xff\x00/",
		"https://example.org/index.htm": "https:",
	} {
		if got := string(prefixOf([]byte(key))); got != want {
			t.Errorf("the prefix of %q is %q, want %q", key, got, want)
		}
	}
}

// With few prefixes and every read counted, the figures are exact.
func TestPrefixesAreExactWhileTheyAreFew(t *testing.T) {
	t.Parallel()
	p := NewPrefixes(1)
	r := p.Cache("db0")
	for n := range MaxPrefixes {
		for range n + 1 {
			r.Note(fmt.Appendf(nil, "p%02d:key", n), n%2 == 0)
		}
	}
	top := p.Top("db0")
	if top.Reads != MaxPrefixes*(MaxPrefixes+1)/2 || len(top.Prefixes) != MaxPrefixes {
		t.Fatalf("%d reads of %d prefixes", top.Reads, len(top.Prefixes))
	}
	for i, got := range top.Prefixes {
		n := MaxPrefixes - 1 - i
		want := Prefix{Prefix: fmt.Sprintf("p%02d:", n)}
		if n%2 == 0 {
			want.Hits = uint64(n + 1)
		} else {
			want.Misses = uint64(n + 1)
		}
		if got != want {
			t.Fatalf("place %d: %+v, want %+v", i, got, want)
		}
	}
}

// A prefix with more than a hundredth of the reads is found among thousands that come
// once, and what is said of it is within its bounds.
func TestFrequentPrefixesStay(t *testing.T) {
	t.Parallel()
	p := NewPrefixes(1)
	r := p.Cache("db0")
	random := rand.New(rand.NewPCG(1, 2))
	reads := map[string]uint64{}
	const total = 100_000
	for n := range total {
		prefix := fmt.Sprintf("once%d:", n)
		if roll := random.IntN(100); roll < 20 {
			prefix = fmt.Sprintf("hot%d:", roll/2) // ten prefixes of 2 % each
		}
		reads[prefix]++
		r.Note([]byte(prefix+"x"), true)
	}
	found := map[string]Prefix{}
	var sum uint64
	for _, got := range p.Top("db0").Prefixes {
		found[got.Prefix] = got
		sum += got.Hits + got.Misses + got.Uncounted
		if certain := got.Hits + got.Misses; certain > reads[got.Prefix] || certain+got.Uncounted < reads[got.Prefix] {
			t.Errorf("%+v, but there were %d reads", got, reads[got.Prefix])
		}
	}
	if sum != total {
		t.Errorf("the counts add up to %d, not to %d", sum, total)
	}
	for n := range 10 {
		if _, ok := found[fmt.Sprintf("hot%d:", n)]; !ok {
			t.Errorf("hot%d: is not among them", n)
		}
	}
}

// The sample is of single reads and of those that come together, and is scaled.
func TestPrefixesOfASample(t *testing.T) {
	t.Parallel()
	p := NewPrefixes(50)
	r := p.Cache("db0")
	const batch, batches = 30, 20_000
	for range batches {
		r.NoteAll(batch, func(i int) ([]byte, bool) { return []byte("many:x"), i%3 > 0 })
		r.Note([]byte("one:x"), false)
	}
	top := p.Top("db0")
	if top.Sample != 64 {
		t.Fatalf("the sample is 1 in %d", top.Sample)
	}
	near := func(what string, got, want uint64) {
		if got < want*9/10 || got > want*11/10 {
			t.Errorf("%s: %d, want about %d", what, got, want)
		}
	}
	near("reads", top.Reads, batches*(batch+1))
	near("hits", top.Prefixes[0].Hits, batches*batch*2/3)
	near("misses", top.Prefixes[0].Misses, batches*batch/3)
	if got := top.Prefixes[1]; got.Prefix != "one:" || got.Hits != 0 || got.Misses == 0 {
		t.Errorf("%+v", got)
	}
}

func TestPrefixesThatAreOff(t *testing.T) {
	t.Parallel()
	p := NewPrefixes(0)
	r := p.Cache("db0")
	r.Note([]byte("a:b"), true)
	r.NoteAll(3, func(int) ([]byte, bool) { panic("was asked") })
	if top := p.Top("db0"); top.Prefixes != nil || top.Sample != 0 {
		t.Errorf("%+v", top)
	}
	if top := NewPrefixes(1).Top("never read"); top.Prefixes == nil || len(top.Prefixes) > 0 {
		t.Errorf("%+v", top)
	}
}

func TestPrefixesOfManyReaders(t *testing.T) {
	t.Parallel()
	p := NewPrefixes(1)
	const readers, each = 8, 5000
	var work sync.WaitGroup
	for n := range readers {
		work.Go(func() {
			for i := range each {
				p.Cache("db0").Note(fmt.Appendf(nil, "p%d:", (n*each+i)%500), true)
				if i%1000 == 0 {
					p.Top("db0")
				}
			}
		})
	}
	work.Wait()
	if top := p.Top("db0"); top.Reads != readers*each || len(top.Prefixes) != MaxPrefixes {
		t.Errorf("%d reads of %d prefixes", top.Reads, len(top.Prefixes))
	}
}

func BenchmarkPrefixes(b *testing.B) {
	for _, sample := range []int{16, 64} {
		for _, prefixes := range []int{20, 5000} {
			keys := make([][]byte, prefixes)
			for i := range keys {
				keys[i] = fmt.Appendf(nil, "prefix%d:key", i)
			}
			b.Run(fmt.Sprintf("1in%d/prefixes=%d", sample, prefixes), func(b *testing.B) {
				r := NewPrefixes(sample).Cache("db0")
				b.RunParallel(func(pb *testing.PB) {
					for i := 0; pb.Next(); i++ {
						r.Note(keys[i%prefixes], true)
					}
				})
			})
			b.Run(fmt.Sprintf("1in%d/prefixes=%d/batch", sample, prefixes), func(b *testing.B) {
				r := NewPrefixes(sample).Cache("db0")
				b.RunParallel(func(pb *testing.PB) {
					for i := 0; pb.Next(); i++ {
						if i%32 == 31 {
							r.NoteAll(32, func(j int) ([]byte, bool) { return keys[(i+j)%prefixes], true })
						}
					}
				})
			})
		}
	}
}
