package resp

import (
	"bufio"
	"bytes"
	"io"
	"reflect"
	"runtime"
	"strings"
	"testing"
)

// atMost fails when work allocates more than factor bytes for each byte of input
// and some for the test itself. Others may allocate meanwhile, so it has three
// tries.
func atMost(t *testing.T, factor, input int, work func()) {
	t.Helper()
	limit := uint64(factor*input + 256<<10)
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

// FuzzParse feeds any stream whole and in pieces, whose sizes are the bytes of
// cuts in turn: the same comes out, at a cost in proportion to the input, and
// encoded again it is the same.
func FuzzParse(f *testing.F) {
	for i, tt := range append(streams, differs...) {
		if len(tt.stream) < 1000 {
			f.Add([]byte(tt.stream), []byte{1}, i%3 > 0)
		}
	}
	f.Fuzz(func(t *testing.T, stream, cuts []byte, authenticated bool) {
		whole := feed(t, newTestParser(authenticated), stream, whole)
		next := 0
		pieces := feed(t, newTestParser(authenticated), stream, func() int {
			if len(cuts) == 0 {
				return 1
			}
			next++
			return int(cuts[next%len(cuts)])
		})
		if !reflect.DeepEqual(whole, pieces) {
			t.Fatalf("whole: %+v\npieces: %+v", whole, pieces)
		}

		// An argument takes at least two bytes of input, and 24 bytes in a
		// slice that doubles.
		atMost(t, 64, len(stream), func() {
			p := newTestParser(authenticated)
			for buf := stream; ; {
				_, n, err := p.Parse(buf)
				if err != nil || n == 0 {
					break
				}
				buf = buf[n:]
			}
		})

		var again []byte
		for _, args := range whole.Commands {
			again = AppendCommand(again, args...)
		}
		got := feed(t, newTestParser(true), again, func() int { return 7 })
		if !reflect.DeepEqual(got, outcome{Commands: whole.Commands}) {
			t.Fatalf("got %+v\nwant %+v", got, whole.Commands)
		}
	})
}

// FuzzInline reads any line, and writes any word in quotes.
func FuzzInline(f *testing.F) {
	for _, tt := range append(streams, differs...) {
		line, _, _ := strings.Cut(tt.stream, "\n")
		if len(line) < 1000 {
			f.Add(line)
		}
	}
	f.Fuzz(func(t *testing.T, line string) {
		if len(line) > 10_000 {
			return
		}
		if first, _, _ := strings.Cut(line, "\n"); !strings.HasPrefix(first, "*") {
			got := feed(t, newTestParser(false), []byte(first+"\n"), whole)
			if got.Rest != 0 || len(got.Commands) > 1 {
				t.Fatalf("%q: %+v", first, got)
			}
			if strings.ContainsAny(first, `'"`) == false && got.Err != ErrHTTP {
				words := strings.FieldsFunc(first, func(r rune) bool { return r == ' ' || r == '\t' || r == '\r' })
				if n := len(words); got.Err != nil || n > 0 && !strings.ContainsAny(first, "\v\f") && !reflect.DeepEqual(got.Commands, [][]string{words}) {
					t.Fatalf("%q: %+v, want %q", first, got, words)
				}
			}
		}

		const hex = "0123456789abcdef"
		escaped := []byte(`"`)
		for _, c := range []byte(line) {
			escaped = append(escaped, '\\', 'x', hex[c>>4], hex[c&15])
		}
		single := "'" + strings.ReplaceAll(line, "'", `\'`) + "'"
		if strings.ContainsAny(line, "\\\n") { // cannot be said in single quotes
			single = string(escaped) + `"`
		}
		got := feed(t, newTestParser(false), []byte("ECHO "+string(escaped)+"\" "+single+"\r\n"), whole)
		if want := (outcome{Commands: [][]string{{"ECHO", line, line}}}); !reflect.DeepEqual(got, want) {
			t.Fatalf("got %+v\nwant %+v", got, want)
		}
	})
}

// FuzzReply reads any stream at a cost in proportion to it; what was read is the
// same when it is encoded and read again.
func FuzzReply(f *testing.F) {
	for _, s := range []string{
		"+OK\r\n", "-ERR x\r\n", ":-1\r\n", ":+0\r\n", ":-0\r\n", ":007\r\n", "$3\r\na\r\n\r\n", "$-1\r\n", "$-2\r\n", "$536870912\r\n",
		"$0\r\n\r\n", "*-1\r\n", "*268435456\r\n", "*2\r\n+a\r\n*1\r\n_\r\n", "%1\r\n+a\r\n#t\r\n", "~1\r\n#f\r\n", ">1\r\n,1.5\r\n",
		",nan\r\n", ",1e999\r\n", "(123\r\n", "=5\r\ntxt:a\r\n", "!5\r\nERR x\r\n", "|1\r\n+a\r\n+b\r\n+OK\r\n", "_\r\n",
		strings.Repeat("*1\r\n", 40), strings.Repeat("*9\r\n", 31), "+a\x00b\r\n", "+a\rb\r\n", "+a\nb\r\n",
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, stream []byte) {
		var replies []Reply
		atMost(t, 256, len(stream), func() {
			replies = nil
			r := bufio.NewReaderSize(bytes.NewReader(stream), 16)
			for {
				reply, err := ReadReply(r)
				if err != nil {
					return
				}
				replies = append(replies, reply)
			}
		})
		var b []byte
		for _, reply := range replies {
			b = appendReply(b, reply)
		}
		r := bufio.NewReader(bytes.NewReader(b))
		for _, want := range replies {
			got, err := ReadReply(r)
			if err != nil || string(appendReply(nil, got)) != string(appendReply(nil, want)) {
				t.Fatalf("got %+v, %v\nwant %+v", got, err, want)
			}
		}
		if _, err := ReadReply(r); err != io.EOF {
			t.Fatalf("got %v behind the last reply", err)
		}
	})
}

// appendReply writes a reply in RESP3.
func appendReply(dst []byte, r Reply) []byte {
	switch r.Kind {
	case Simple:
		return AppendSimple(dst, string(r.Str))
	case Error:
		return AppendError(dst, string(r.Str))
	case Integer:
		return AppendInt(dst, r.Int)
	case Bulk:
		return AppendBulk(dst, r.Str)
	case Null:
		return AppendNull(dst, RESP3)
	case Double:
		return AppendDouble(dst, RESP3, r.Float)
	case Boolean:
		return AppendBool(dst, RESP3, r.Int == 1)
	case Verbatim:
		return AppendVerbatim(dst, RESP3, string(r.Str))
	case BigNumber:
		return AppendBigNumber(dst, RESP3, string(r.Str))
	case Array:
		dst = AppendArray(dst, len(r.Elems))
	case Map:
		dst = AppendMap(dst, RESP3, len(r.Elems)/2)
	case Set:
		dst = AppendSet(dst, RESP3, len(r.Elems))
	case Push:
		dst = AppendPush(dst, RESP3, len(r.Elems))
	default:
		panic("reply of unknown kind " + string(r.Kind))
	}
	for _, elem := range r.Elems {
		dst = appendReply(dst, elem)
	}
	return dst
}
