package values

import (
	"fmt"
	"testing"
)

// TestXXH3 compares with the hashes of another implementation, at the lengths
// where the algorithm changes.
func TestXXH3(t *testing.T) {
	t.Parallel()
	b := make([]byte, 5000)
	for i := range b {
		b[i] = byte(i*7 + i/256)
	}
	for _, test := range []struct {
		length int
		want   uint64
	}{
		{0, 0x2d06800538d394c2}, {1, 0xc44bdff4074eecdb}, {2, 0x9093381c8763d62e}, {3, 0xc3489259e968ad9e},
		{4, 0xd3d60c1519014e89}, {7, 0x0ffc4827844c63a6}, {8, 0xb88dee77f6bf6980}, {9, 0x03688dcad730d826},
		{15, 0x2e52bc81c6a30fa3}, {16, 0x9da23836adf2be1e}, {17, 0xf34c3c9cf5a112d1}, {31, 0x1c67766271b95c64},
		{32, 0x99cb9ad0f1a11fbe}, {33, 0xc077b45492d29cde}, {64, 0x6efb76ff16f37561}, {96, 0x764d2d5db92942df},
		{127, 0x92113fc28f4b970c}, {128, 0x65f3c2c00fa93185}, {129, 0x28065c6ec25f5b25}, {130, 0xefd194879b822f04},
		{144, 0x600e8d345ff9620d}, {200, 0x7c64f3b17285e96a}, {239, 0x6ce0b13191e635ea}, {240, 0x4917a75c0ef8eed7},
		{241, 0x541b19226f0052e8}, {256, 0xff5a1cefade75bb9}, {500, 0x07ba3894901451a8}, {1023, 0x3d31fcc1037648a4},
		{1024, 0x71bee625238addb4}, {1025, 0xd9b414f4e1bbf7ad}, {1088, 0xb74e423e955e509d}, {1089, 0x6acaa6909cdbe786},
		{2047, 0xf5244ce3725df412}, {2048, 0x3293e8238bd8f743}, {2049, 0x922549b11c04c2eb}, {4096, 0x5c722d9ceb6f9064},
		{4097, 0x60561862892d5819}, {5000, 0xed0146266d138bd8},
	} {
		if got := xxh3(b[:test.length]); got != test.want {
			t.Errorf("%d bytes: %016x, want %016x", test.length, got, test.want)
		}
	}
	// The example of DIGEST in Redis's documentation.
	if got := fmt.Sprintf("%016x", xxh3([]byte("Hello world"))); got != "b6acb9d84a38ff74" {
		t.Errorf("digest %s", got)
	}
}
