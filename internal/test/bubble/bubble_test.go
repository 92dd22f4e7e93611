package bubble

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

func TestTimePassesInABubble(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		Pass(time.Hour)
		require.Equal(t, time.Hour, Since(began))
	})
}

func TestOutsideItPanics(t *testing.T) {
	t.Parallel()
	require.Panics(t, func() { Pass(time.Nanosecond) })
	require.Panics(t, func() { Since(time.Now()) })
}
