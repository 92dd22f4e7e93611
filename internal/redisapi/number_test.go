package redisapi

import (
	"strings"
	"testing"

	"github.com/howdah/howdah/internal/resp"
)

// A number that is too large or too small for a long double is refused, as
// redis-server 7.0 does, before it is written out in decimal.
func TestRangeOfFloats(t *testing.T) {
	t.Parallel()
	zeros := func(n int) string { return strings.Repeat("0", n) }
	ones := func(n int) string { return strings.Repeat("1", n) }
	for _, number := range []string{
		"1", "-1.5", "0.8", "0x1p16383", "0x1p-16445", "-0x1.8p-16446", "1e4932", "-1e4932", "1e-4950", "4e-4951", "0e-20000", "-0e99999999999999999999",
		"0x0p-20000", "0." + zeros(4000) + "1", "0." + zeros(4000) + "1e4001", ones(4932), zeros(5118) + "1",
		"1" + zeros(5000) + "e-5000", "1" + zeros(5000) + "e-9000", "0." + zeros(5000) + "e-99999",
	} {
		if got, err := parseDecimal([]byte(number)); err != nil || len(got) > 1000 {
			t.Errorf("%.30s (%d bytes): %d bytes, %v", number, len(number), len(got), err)
		}
	}
	for _, number := range []string{
		"0x1p2000000000", "0x1p-2000000000", "0x1p99999999999999999999", "0x1p16384", "0x1.ffffffffffffffffp16383", "0x1p-16447",
		"2e4932", "1e-4951", "-1e-5000", "1e-20000", "1e2000000000", "1e-2000000000", "1e99999999999999999999",
		"0." + zeros(5000) + "1", "0." + ones(20000), ones(5119), ones(6000), ones(140_000), zeros(5119) + "1", "", "+", ".", "e5", "0x", "0x1p", "1p5",
	} {
		if got, err := parseDecimal([]byte(number)); err != errNotFloat {
			t.Errorf("%.30s (%d bytes): %.30s, %v", number, len(number), got, err)
		}
	}
}

// A number that is refused does not end the transaction, and PostgreSQL accepts
// the numbers that are not refused.
func TestFloatsInTransaction(t *testing.T) {
	t.Parallel()
	c := dial(t, serve(t, Options{}).addr())
	c.want(resp.OK, "MULTI")
	for _, number := range []string{"1e-20000", "4e-4951", "0e-20000", "1" + strings.Repeat("0", 5000) + "e-9000", "0x1p-16445", "1e00001", "-1e4931"} {
		c.want(resp.Queued, "INCRBYFLOAT", "k", number)
	}
	const refused, zero = "-ERR value is not a valid float\r\n", "$1\r\n0\r\n"
	c.want("*7\r\n"+refused+zero+zero+zero+zero+bulk("10")+bulk("-"+strings.Repeat("9", 4930)+"0"), "EXEC")
}
