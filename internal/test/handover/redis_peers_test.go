//go:build peers

package handover

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/howdah/howdah/internal/test/peers"
)

// fixed is a node that stays where it is.
type fixed struct{ name, addr string }

func (f fixed) Name() string { return f.name }
func (f fixed) Addr() string { return f.addr }

// TestRedis: redis-server keeps the promises by which Howdah is judged.
func TestRedis(t *testing.T) {
	t.Parallel()
	r := newRun(t, fixed{"redis-server", peers.Redis(t).Addr})
	r.groups = true
	v := r.fire(3000)
	v.check(t)
	require.Greater(t, v.Compared, 100)
}
