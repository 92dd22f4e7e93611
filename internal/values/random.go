package values

import "math"

// maxReply bounds the replies of commands that may repeat elements, in bytes.
// elementOverhead is what an element costs in memory besides itself.
const (
	maxReply        = 64 << 20
	elementOverhead = 64
)

// sample returns positions chosen among n elements: count different ones, or
// for a negative count -count of them that may repeat. size is the length of an
// element in the reply, about.
func (c *Call) sample(n int, count int64, size int) ([]int, error) {
	if n == 0 || count == 0 {
		return nil, nil
	}
	if count < 0 {
		if -count > int64(maxReply/(size+elementOverhead)) {
			return nil, errLargeReply
		}
		chosen := make([]int, -count)
		for i := range chosen {
			chosen[i] = c.Rand.IntN(n)
		}
		return chosen, nil
	}
	chosen := make([]int, n)
	for i := range chosen {
		chosen[i] = i
	}
	if count >= int64(n) {
		return chosen, nil
	}
	for i := range int(count) {
		j := i + c.Rand.IntN(n-i)
		chosen[i], chosen[j] = chosen[j], chosen[i]
	}
	return chosen[:count], nil
}

// sampleCount reads the arguments of HRANDFIELD and ZRANDMEMBER behind the key: a
// count, and perhaps one word for more than the names.
func sampleCount(args [][]byte, word string) (count int64, with bool, err error) {
	if count, err = symmetric(args[2]); err != nil {
		return 0, false, err
	}
	if len(args) > 4 || len(args) == 4 && !is(args[3], word) {
		return 0, false, ErrSyntax
	}
	if with = len(args) == 4; with && (count < -math.MaxInt64/2 || count > math.MaxInt64/2) {
		return 0, false, errOutOfRange
	}
	return count, with, nil
}
