//go:build peers

package redisapi

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"

	"github.com/howdah/howdah/internal/resp"
	"github.com/howdah/howdah/internal/test/seed"
)

// decimalNumber returns a number below 2^64 with up to 21 decimals, sometimes with
// an exponent, sometimes one whose last bit decides how it is rounded.
func decimalNumber(random *rand.Rand) string {
	digits := func(n int) string {
		b := make([]byte, n)
		for i := range b {
			b[i] = byte('0' + random.IntN(10))
		}
		return string(b)
	}
	sign := []string{"", "-"}[random.IntN(2)]
	switch random.IntN(12) {
	case 0: // prices
		return sign + fmt.Sprintf("%d.%02d", random.IntN(100_000), random.IntN(100))
	case 1: // integers
		return sign + strconv.FormatUint(random.Uint64()>>random.IntN(64), 10)
	case 2: // halves of the last decimal
		return sign + strconv.FormatFloat(float64(random.IntN(1<<20))/(1<<18), 'f', -1, 64)
	case 3: // powers of two, and what is next to them
		power := new(strings.Builder)
		fmt.Fprintf(power, "%.0f", float64(uint64(1)<<random.IntN(64)))
		return sign + power.String() + "." + []string{"", "0000000000000001", "00000000000000005"}[random.IntN(3)]
	case 4:
		return sign + []string{"0.99999999999999999", "1023.99999999999999", "18446744073709551615", "9223372036854775807.5", "1.00000000000000001"}[random.IntN(5)]
	case 5:
		return sign + fmt.Sprintf("%d.%se%d", random.IntN(10), digits(1+random.IntN(18)), random.IntN(39)-21)
	}
	return sign + digits(1+random.IntN(8)) + "." + digits(random.IntN(22))
}

// TestIncrementFloatOfRedis adds random numbers, and adds to sums, in
// redis-server and in Howdah. Howdah keeps every digit of numbers from 2^64 on:
// sums that depend on such a number are not compared.
func TestIncrementFloatOfRedis(t *testing.T) {
	t.Parallel()
	random := seed.Rand(t)
	redis, howdah := dial(t, startRedis(t)), dial(t, serve(t, Options{}).addr())
	larger := make(map[string]bool) // by key
	compared := 0
	for range 60 {
		var commands [][]string
		for i := range 100 {
			key := strconv.Itoa(i)
			if random.IntN(3) > 0 {
				commands = append(commands, []string{"SET", key, decimalNumber(random)})
			}
			commands = append(commands, []string{"INCRBYFLOAT", key, decimalNumber(random)})
		}
		for _, c := range []*testClient{redis, howdah} {
			var data []byte
			for _, args := range commands {
				data = resp.AppendCommand(data, args...)
			}
			c.send(data)
		}
		for _, args := range commands {
			want, got, key := redis.reply(), howdah.reply(), args[1]
			if args[0] == "SET" {
				larger[key] = false
				continue
			}
			_, sum, _ := strings.Cut(want, "\r\n")
			larger[key] = larger[key] || from2To64(args[2]) || from2To64(strings.TrimSpace(sum))
			if larger[key] {
				continue
			}
			compared++
			if want != got {
				t.Errorf("%q: %q, Redis %q", args, got, want)
			}
		}
	}
	if compared < 4000 {
		t.Errorf("only %d sums were compared", compared)
	}
}

func from2To64(number string) bool {
	f, err := strconv.ParseFloat(number, 64)
	return err == nil && math.Abs(f) >= 1<<64
}
