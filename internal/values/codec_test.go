package values_test

import (
	"bytes"
	"errors"
	"runtime"
	"testing"

	"github.com/howdah/howdah/internal/values"
)

var kinds = []values.Kind{values.KindHash, values.KindList, values.KindSet, values.KindSortedSet}

// FuzzDecode feeds any bytes: a value or an error comes out, at a cost in
// proportion to the bytes, and a value survives being packed again.
func FuzzDecode(f *testing.F) {
	s := newStore(&testing.T{}, 1)
	for _, line := range []string{
		"HSET hash a 1 bb 22", "HSETEX hex EX 100 FIELDS 1 a 1", "RPUSH list a  b c", "SADD set x y z", "ZADD zset 1 a -inf b inf c",
	} {
		s.words(line)
	}
	for _, e := range s.entries {
		f.Add(byte(e.Value.Kind()), values.Encode(nil, e.Value))
	}
	f.Add(byte(values.KindHash), []byte{1, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1})
	f.Add(byte(values.KindSet), []byte{1, 0x80})
	f.Fuzz(func(t *testing.T, kind byte, data []byte) {
		var v values.Value
		var err error
		atMost(t, 128, len(data), func() { v, err = values.Decode(values.Kind(kind%6), data) })
		if err != nil {
			if !errors.Is(err, values.ErrCorrupt) {
				t.Fatal(err)
			}
			return
		}
		again := values.Encode(nil, v)
		w, err := values.Decode(v.Kind(), again)
		if err != nil || w.Len() != v.Len() || !bytes.Equal(again, values.Encode(nil, w)) {
			t.Fatalf("%q became %q: %v", data, again, err)
		}
	})
}

// atMost fails when work allocates more than factor bytes for each byte of input
// and some for the test itself. Others may allocate meanwhile, so it has three
// tries.
func atMost(t *testing.T, factor, input int, work func()) {
	t.Helper()
	limit := uint64(factor*input + 64<<10)
	var before, after runtime.MemStats
	for range 3 {
		runtime.ReadMemStats(&before)
		work()
		runtime.ReadMemStats(&after)
		if after.TotalAlloc-before.TotalAlloc <= limit {
			return
		}
	}
	t.Fatalf("%d bytes of input allocate %d bytes", input, after.TotalAlloc-before.TotalAlloc)
}

func TestDecodeRefuses(t *testing.T) {
	for _, kind := range kinds {
		for _, data := range []string{"", "\x01", "\x00", "\x03\x01a", "\x01\x05a", "\x01\xff"} {
			if v, err := values.Decode(kind, []byte(data)); !errors.Is(err, values.ErrCorrupt) {
				t.Errorf("%v %q: %v, %v", kind, data, v, err)
			}
		}
	}
	for name, data := range map[string]string{
		"NaN":          "\x01\x7f\xf8\x00\x00\x00\x00\x00\x01\x01a",
		"out of order": "\x01\x3f\xf0\x00\x00\x00\x00\x00\x00\x01b" + "\x3f\xf0\x00\x00\x00\x00\x00\x00\x01a",
		"cut":          "\x01\x3f\xf0\x00",
	} {
		if _, err := values.Decode(values.KindSortedSet, []byte(data)); !errors.Is(err, values.ErrCorrupt) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if v, err := values.Decode(values.KindString, nil); err != nil || v.Len() != 0 {
		t.Error(v, err)
	}
}
