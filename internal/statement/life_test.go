package statement

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/howdah/howdah/internal/verb"
)

func TestLife(t *testing.T) {
	t.Parallel()
	const second = int64(1_000_000)
	for name, test := range map[string]struct {
		table  Table
		expiry verb.Expiry
		want   time.Duration
		ever   bool
	}{
		"none":                     {Table{}, verb.Expiry{}, 0, true},
		"never":                    {Table{DefaultTTL: second}, verb.ExpireNever(), 0, true},
		"never, with a maximum":    {Table{MaxTTL: second}, verb.ExpireNever(), time.Second, false},
		"default":                  {Table{DefaultTTL: second}, verb.Expiry{}, time.Second, false},
		"given":                    {Table{DefaultTTL: second}, verb.ExpireIn(time.Minute), time.Minute, false},
		"more than the maximum":    {Table{MaxTTL: second}, verb.ExpireIn(time.Minute), time.Second, false},
		"with jitter":              {Table{Jitter: 10}, verb.ExpireIn(100 * time.Second), 90*time.Second - 10*time.Microsecond, false},
		"the longest, with jitter": {Table{Jitter: 100}, verb.Expiry{Kind: verb.In, Value: math.MaxInt64}, (math.MaxInt64/1000%100 - 100) * time.Microsecond, false},
	} {
		t.Run(name, func(t *testing.T) {
			life, ever := test.table.Life(test.expiry)
			require.Equal(t, test.ever, ever)
			require.Equal(t, test.want, life)
		})
	}
}
