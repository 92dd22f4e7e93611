package redisapi

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestServed(t *testing.T) {
	t.Parallel()
	served := Served()
	require.Contains(t, served, "get")
	require.Contains(t, served, "config|get")
	require.NotEmpty(t, served["info"], "a difference")
	require.NotContains(t, served, "xadd", "there are no streams")
	require.NotContains(t, served, "debug", "every command line of it is refused")
}
