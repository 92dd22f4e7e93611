package server

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/howdah/howdah/internal/test/seed"
)

// Whatever is read in and taken out, in whatever pieces, the bytes and their
// order stay, and no more memory is held than twice the bytes and a read.
func TestInbound(t *testing.T) {
	t.Parallel()
	r := seed.Rand(t)
	var (
		b    inbound
		want []byte
	)
	for range 2000 {
		piece := randomBytes(r, r.IntN(3000))
		if r.IntN(50) == 0 {
			piece = randomBytes(r, r.IntN(500_000))
		}
		if r.IntN(2) == 0 {
			b.append(piece, r.IntN(1_000_000))
		} else {
			piece = piece[:copy(b.room(64<<20), piece)]
			b.extend(len(piece))
		}
		want = append(want, piece...)
		n := r.IntN(len(want) + 1)
		if r.IntN(10) == 0 {
			n = len(want)
		}
		b.discard(n)
		want = want[n:]
		require.True(t, bytes.Equal(want, b.bytes()))
		require.Equal(t, len(want), b.len())
	}
	b.discard(b.len())
	require.Nil(t, b.buf, "an empty buffer holds no memory")
}

func TestInboundGrowsByDoubling(t *testing.T) {
	var b inbound
	allocations := testing.AllocsPerRun(1, func() {
		b = inbound{}
		for range 64 << 20 / minRead {
			b.extend(min(minRead, len(b.room(64<<20))))
		}
	})
	require.Less(t, allocations, 15.0, "64 MiB in reads of 64 KiB")
}
