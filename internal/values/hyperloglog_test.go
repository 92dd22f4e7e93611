package values_test

import (
	"math"
	"strconv"
	"testing"

	"github.com/howdah/howdah/internal/values"
)

// FuzzHyperLogLog runs the commands over any bytes: a reply or an error comes out.
func FuzzHyperLogLog(f *testing.F) {
	s := newStore(&testing.T{}, 1)
	s.words("PFADD k a b c d e f")
	f.Add([]byte(s.Entry([]byte("k")).Value.(values.String)), "x")
	f.Add([]byte("HYLL\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x80\x7f\xff"), "x")
	f.Add([]byte("HYLL\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x80\x7f"), "y")
	f.Add([]byte("HYLL\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x80\x7f\xff\xff"), "y")
	f.Fuzz(func(t *testing.T, data []byte, element string) {
		s := newStore(t, 1)
		for _, line := range [][]string{{"PFCOUNT", "k"}, {"PFADD", "k", element, "b"}, {"PFMERGE", "d", "k"}, {"PFMERGE", "k", "d"}, {"PFCOUNT", "d", "k"}} {
			if s.Entry([]byte("k")).Value == nil {
				s.do("SET", "k", string(data))
			}
			s.do(line...)
		}
	})
}

func TestHyperLogLogEstimates(t *testing.T) {
	t.Parallel()
	s := newStore(t, 1)
	for i := range 20_000 {
		s.do("PFADD", "k", strconv.Itoa(i))
		if i == 99 || i == 999 || i == 19_999 {
			n, _ := strconv.Atoi(show(s.words("PFCOUNT k")))
			if off := math.Abs(float64(n)/float64(i+1) - 1); off > 0.03 {
				t.Errorf("%d elements are counted as %d", i+1, n)
			}
		}
	}
}
