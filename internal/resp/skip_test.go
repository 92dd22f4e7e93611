package resp

import (
	"bytes"
	"strings"
	"testing"

	"github.com/howdah/howdah/internal/test/seed"
)

// A command that is passed over is consumed as it comes, and the next one is
// read as if it had not been there, however the bytes are cut.
func TestSkip(t *testing.T) {
	t.Parallel()
	r := seed.Rand(t)
	for range 2000 {
		large := make([]string, 2+r.IntN(4))
		for i := range large {
			large[i] = strings.Repeat("v", r.IntN(300))
		}
		unwanted := AppendCommand(nil, large...)
		input := append(bytes.Clone(unwanted), AppendCommand(nil, "GET", "k")...)
		p := NewParser(Limits{})
		p.SetAuthenticated(true)
		have := 1 + r.IntN(len(unwanted)-1)
		if args, n, err := p.Parse(input[:have]); len(args) > 0 || n > 0 || err != nil {
			t.Fatalf("%q, %d, %v", args, n, err)
		}
		skips := p.Skip()
		if p.Skip() && skips {
			t.Fatal("skipped twice")
		}
		if !skips { // the number of arguments has not come
			if have > bytes.IndexByte(unwanted, '\n')+1 {
				t.Fatalf("%q cannot be skipped", unwanted[:have])
			}
			continue
		}
		var got [][]byte
		at := 0
		for have < len(input) {
			have = min(len(input), have+1+r.IntN(50))
			args, n, err := p.Parse(input[at:have])
			if err != nil {
				t.Fatal(err)
			}
			if at += n; at < len(unwanted) && have-at > 20 {
				t.Fatalf("%d bytes are kept of a command that is not wanted", have-at)
			}
			if len(args) > 0 {
				got = args
			}
		}
		if at != len(input) || len(got) != 2 || string(got[0]) != "GET" || string(got[1]) != "k" {
			t.Fatalf("consumed %d of %d, got %q", at, len(input), got)
		}
	}
}

// What is passed over may be wrong as well.
func TestSkipMeetsProtocolError(t *testing.T) {
	t.Parallel()
	p := NewParser(Limits{})
	p.SetAuthenticated(true)
	input := []byte("*3\r\n$3\r\nSET\r\n$1000\r\n")
	p.Parse(input)
	if !p.Skip() {
		t.Fatal("cannot be skipped")
	}
	input = append(input, strings.Repeat("v", 1000)+"\r\n!oops\r\n"...)
	_, n, err := p.Parse(input)
	if _, ok := err.(ProtocolError); !ok || n > len(input) {
		t.Fatalf("%d, %v", n, err)
	}
}
