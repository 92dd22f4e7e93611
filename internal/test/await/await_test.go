package await

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/howdah/howdah/internal/test/bubble"
)

// failing is a test that notes its failure.
type failing struct {
	testing.TB
	said string
}

func (*failing) Helper() {}

func (f *failing) Fatalf(format string, args ...any) { f.said = fmt.Sprintf(format, args...) }

func TestConditionThatComes(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		asked := 0
		True(t, "the third time", func() bool { asked++; return asked == 3 })
		require.Equal(t, 3, asked)
	})
}

func TestConditionThatNeverComes(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		began, f := time.Now(), &failing{TB: t}
		True(f, "a miracle", func() bool { return false })
		require.Equal(t, "never: a miracle", f.said)
		require.Equal(t, Limit, bubble.Since(began))
	})
}

func TestContextEndsTheWait(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		require.False(t, Until(ctx, func() bool { return false }))
		require.Error(t, ctx.Err())
		require.True(t, Until(ctx, func() bool { return true }), "what is true needs no time")
	})
}
