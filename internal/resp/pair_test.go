package resp

import (
	"strings"
	"testing"
)

func TestCutPair(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		in   string
		arg  string
		size int
	}{
		{"*2\r\n$3\r\nGET\r\n$1\r\nk\r\n", "k", 20},
		{"*2\r\n$3\r\ngEt\r\n$0\r\n\r\nmore", "", 19},
		{"*2\r\n$3\r\nget\r\n$10\r\n0123456789\r\n*2\r\n", "0123456789", 30},
		{"*2\r\n$3\r\nget\r\n$11\r\n0123456789a\r\n", "", 0}, // longer than wanted
		{"*2\r\n$3\r\nget\r\n$01\r\nk\r\n", "", 0},
		{"*2\r\n$3\r\nget\r\n$-1\r\n\r\n\r\n", "", 0},
		{"*2\r\n$3\r\nget\r\n$\r\n\r\n\r\n", "", 0},
		{"*2\r\n$3\r\nget\r\n$99999999999999999999\r\nk\r\n", "", 0},
		{"*2\r\n$3\r\nset\r\n$1\r\nk\r\n", "", 0},
		{"*2\r\n$4\r\nget\r\n$1\r\nk\r\n", "", 0},
		{"*3\r\n$3\r\nget\r\n$1\r\nk\r\n", "", 0},
		{"get k\r\n*2\r\n$3\r\nget\r\n", "", 0},
	} {
		arg, size := CutPair([]byte(tt.in), "get", 10)
		if string(arg) != tt.arg || size != tt.size {
			t.Errorf("%q: %q, %d", tt.in, arg, size)
		}
		for end := range size {
			if _, n := CutPair([]byte(tt.in[:end]), "get", 10); n != 0 {
				t.Errorf("%q: %d bytes of it are no command", tt.in, end)
			}
		}
	}
}

// FuzzCutPair: what CutPair reads, a Parser reads as the same command of the same
// size.
func FuzzCutPair(f *testing.F) {
	f.Add("*2\r\n$3\r\nGET\r\n$1\r\nk\r\n")
	f.Add("*2\r\n$3\r\nGET\r\n$0\r\n\r\n")
	f.Add("*2\r\n$3\r\nGET\r\n$12\r\n0123456789ab\r\nmore")
	f.Fuzz(func(t *testing.T, in string) {
		arg, size := CutPair([]byte(in), "get", 100)
		if size == 0 {
			return
		}
		args, n, err := newTestParser(true).Parse([]byte(in))
		if err != nil || n != size || len(args) != 2 || !strings.EqualFold(string(args[0]), "get") || string(args[1]) != string(arg) {
			t.Fatalf("CutPair: %q, %d; Parse: %q, %d, %v", arg, size, args, n, err)
		}
	})
}
