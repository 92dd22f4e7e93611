package leaks

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

// A goroutine that stays is found, and one that ends is not.
func TestFind(t *testing.T) {
	before := goleak.IgnoreCurrent()
	end := make(chan struct{})
	go func() { <-end }()
	require.ErrorContains(t, find(time.Millisecond, before), "unexpected goroutine")
	go func() { time.AfterFunc(time.Millisecond, func() { close(end) }) }()
	Await(t, before)
}
