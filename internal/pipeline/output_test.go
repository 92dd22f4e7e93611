package pipeline

import (
	"bytes"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/howdah/howdah/internal/test/seed"
)

func randomBytes(r *rand.Rand, n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(r.Uint32())
	}
	return b
}

// fixed is a reply of which the text around a value is known.
type fixed struct {
	Place
	head, value, tail []byte
	mute              bool
}

func (f *fixed) Hold(v *Values) { v.Hold(f.value) }
func (f *fixed) Drop(v *Values) { v.Drop(f.value) }
func (f *fixed) Release()       {}

func (f *fixed) Encode(dst []byte, out *Output) []byte {
	start := len(dst)
	dst = append(dst, f.head...)
	if len(f.value) < Large {
		dst = append(dst, f.value...)
	} else {
		out.Insert(len(dst), f.value)
	}
	dst = append(dst, f.tail...)
	if f.mute {
		return dst[:start]
	}
	return dst
}

// Whatever is put in and written, in whatever pieces, the bytes and their order
// stay.
func TestOutput(t *testing.T) {
	t.Parallel()
	r := seed.Rand(t)
	var out Output
	var want []byte
	room := make([][]byte, 0, 7)
	for range 5000 {
		switch r.IntN(8) {
		case 0:
			piece := randomBytes(r, r.IntN(100))
			out.Append(piece)
			want = append(want, piece...)
		case 1:
			piece := randomBytes(r, r.IntN(2*Large))
			out.AppendOwned(piece)
			want = append(want, piece...)
		case 2:
			f := &fixed{head: randomBytes(r, 1+r.IntN(20)), value: randomBytes(r, r.IntN(3*Large)), tail: randomBytes(r, 2), mute: r.IntN(4) == 0}
			out.encode(f)
			if !f.mute {
				want = append(append(append(want, f.head...), f.value...), f.tail...)
			}
		case 3:
			var other Output
			other.AppendOwned(randomBytes(r, Large+r.IntN(100)))
			other.Append(randomBytes(r, r.IntN(50)))
			want = append(want, other.Bytes()...)
			out.Move(&other)
			require.Zero(t, other.Len())
			require.LessOrEqual(t, other.Held(), keepSmall, "what was moved is not held any more")
		case 4:
			var rest Output
			rest.Keep(&out)
			require.Zero(t, out.Len())
			out = rest
		default:
			limit := 1 + r.IntN(4*Large)
			segments := out.Segments(room, limit)
			piece := bytes.Join(segments, nil)
			require.LessOrEqual(t, len(piece), limit)
			require.True(t, bytes.HasPrefix(want, piece), "a segment differs")
			require.Equal(t, len(want) == 0, len(piece) == 0)
			n := r.IntN(len(piece) + 1)
			if r.IntN(20) == 0 {
				n = out.Len()
			}
			out.Discard(n)
			want = want[n:]
		}
		require.Equal(t, len(want), out.Len())
		if r.IntN(20) == 0 {
			require.True(t, bytes.Equal(want, out.Bytes()))
		}
	}
	out.Discard(out.Len())
	require.Zero(t, out.values.Bytes(), "everything was written")
	require.Empty(t, out.Segments(room, 1))
	out.Release()
	require.Zero(t, out.Held())
}

// A value that many replies refer to is held once, until the last is written.
func TestOutputHoldsSharedValueOnce(t *testing.T) {
	t.Parallel()
	value := make([]byte, 1<<20)
	var out Output
	for range 20_000 {
		out.encode(&fixed{head: []byte("$1048576\r\n"), value: value, tail: []byte("\r\n")})
	}
	reply := len("$1048576\r\n") + len(value) + len("\r\n")
	require.Equal(t, 20_000*reply, out.Len())
	require.Less(t, out.Held(), 2<<20)
	out.Discard(19_999 * reply)
	require.GreaterOrEqual(t, out.Held(), 1<<20)
	out.Discard(reply)
	require.LessOrEqual(t, out.Held(), keepText)
}

func TestOutputKeepsSmallRestByCopy(t *testing.T) {
	t.Parallel()
	var from, rest Output
	from.Append(bytes.Repeat([]byte("x"), 1000))
	from.Append([]byte("rest"))
	from.Discard(1000)
	rest.Keep(&from)
	require.NotZero(t, cap(from.text), "the buffer stays")
	from.Append(bytes.Repeat([]byte("y"), 1004))
	require.Equal(t, "rest", string(rest.Bytes()))
}

func TestValues(t *testing.T) {
	t.Parallel()
	var v Values
	small, large, other := make([]byte, 10), make([]byte, Large), make([]byte, Large)
	for range 3 {
		v.Hold(small)
		v.Hold(large)
		v.HoldSize(7)
	}
	v.Hold(other)
	require.Equal(t, 3*10+2*Large+3*7, v.Bytes())
	v.Drop(large)
	v.Drop(large)
	require.Equal(t, 3*10+2*Large+3*7, v.Bytes())
	v.Drop(large)
	v.Drop(other)
	for range 3 {
		v.Drop(small)
		v.DropSize(7)
	}
	require.Zero(t, v.Bytes())
	require.Empty(t, v.uses)
}
