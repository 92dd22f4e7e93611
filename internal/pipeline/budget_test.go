package pipeline

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
)

// However many connections take as much as they may, something is left for the
// next one, and the bound is not exceeded.
func TestBudgetIsShared(t *testing.T) {
	t.Parallel()
	const limit = 1 << 30
	b := NewBudget(limit)
	accounts := make([]Account, 20)
	for i := range accounts {
		accounts[i] = NewAccount(b)
	}
	for range 10 {
		for i := range accounts {
			accounts[i].Set(b.share())
		}
	}
	require.LessOrEqual(t, b.Used(), int64(limit))
	require.False(t, b.Exceeded())
	require.Greater(t, b.share(), Free)
	require.True(t, b.fits(Free, Free), "small requests always fit")
	require.False(t, b.fits(limit/2, limit/2))
	for i := range accounts {
		accounts[i].Set(0)
	}
	require.Zero(t, b.Used())
	require.True(t, b.fits(limit/2, limit/2))
	require.False(t, b.fits(limit, limit/2+1))
	require.True(t, b.fits(limit, 0), "nothing is missing")

	accounts[0].Set(limit + step)
	require.True(t, b.Exceeded())
	require.Equal(t, Free, b.share())
}

func TestAccountChargesWhatMatters(t *testing.T) {
	t.Parallel()
	b := NewBudget(1 << 30)
	a := NewAccount(b)
	a.Set(Free)
	require.Zero(t, b.Used(), "small connections are free")
	a.Set(Free + 1)
	require.EqualValues(t, Free+1, b.Used())
	a.Set(Free + step)
	require.EqualValues(t, Free+1, b.Used(), "a small change is not charged")
	a.Set(Free + step + 1)
	require.EqualValues(t, Free+step+1, b.Used())
	require.Zero(t, b.Released())
	a.Set(Free)
	require.Zero(t, b.Used())
	require.EqualValues(t, Free+step+1, b.Released())
}

func TestNoBudget(t *testing.T) {
	t.Parallel()
	var b *Budget
	a := NewAccount(b)
	a.Set(math.MaxInt)
	require.False(t, b.Exceeded())
	require.True(t, b.fits(math.MaxInt, math.MaxInt/2))
	require.Equal(t, math.MaxInt/connectionPart, b.share())
}
