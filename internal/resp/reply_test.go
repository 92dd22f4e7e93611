package resp

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"math"
	"reflect"
	"strings"
	"testing"
)

func read(stream string) (Reply, error) {
	return ReadReply(bufio.NewReader(strings.NewReader(stream)))
}

func text(kind Kind, s string) Reply { return Reply{Kind: kind, Str: []byte(s)} }

func integer(n int64, s string) Reply { return Reply{Kind: Integer, Int: n, Str: []byte(s)} }

func TestReadReply(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 300_000)
	tests := []struct {
		stream string
		want   Reply
	}{
		{"+OK\r\n", text(Simple, "OK")},
		{"+\r\n", text(Simple, "")},
		{"+" + long + "\r\n", text(Simple, long)},
		{"-ERR no\r\n", text(Error, "ERR no")},
		{"!6\r\nERR no\r\n", text(Error, "ERR no")},
		{":-12\r\n", integer(-12, "-12")},
		{"$4\r\na\r\nb\r\n", text(Bulk, "a\r\nb")},
		{"$0\r\n\r\n", text(Bulk, "")},
		{"$300000\r\n" + long + "\r\n", text(Bulk, long)},
		{"$-1\r\n", Reply{Kind: Null}},
		{"*-1\r\n", Reply{Kind: Null}},
		{"_\r\n", Reply{Kind: Null}},
		{"*0\r\n", Reply{Kind: Array, Elems: []Reply{}}},
		{"*2\r\n*1\r\n:1\r\n_\r\n", Reply{Kind: Array, Elems: []Reply{
			{Kind: Array, Elems: []Reply{integer(1, "1")}}, {Kind: Null}}}},
		{"%1\r\n+a\r\n:1\r\n", Reply{Kind: Map, Elems: []Reply{text(Simple, "a"), integer(1, "1")}}},
		{"~1\r\n+a\r\n", Reply{Kind: Set, Elems: []Reply{text(Simple, "a")}}},
		{">1\r\n+a\r\n", Reply{Kind: Push, Elems: []Reply{text(Simple, "a")}}},
		{",1.5\r\n", Reply{Kind: Double, Float: 1.5, Str: []byte("1.5")}},
		{",-inf\r\n", Reply{Kind: Double, Float: math.Inf(-1), Str: []byte("-inf")}},
		{"#t\r\n", Reply{Kind: Boolean, Int: 1, Str: []byte("t")}},
		{"#f\r\n", Reply{Kind: Boolean, Str: []byte("f")}},
		{"=7\r\ntxt:a\nb\r\n", text(Verbatim, "a\nb")},
		{"(-12345678901234567890\r\n", text(BigNumber, "-12345678901234567890")},
		{"|1\r\n+ttl\r\n:1\r\n+OK\r\n", text(Simple, "OK")},
		{"|0\r\n|1\r\n+a\r\n*1\r\n+b\r\n+OK\r\n", text(Simple, "OK")},
		{"*1\r\n|1\r\n+a\r\n+b\r\n+OK\r\n", Reply{Kind: Array, Elems: []Reply{text(Simple, "OK")}}},
		{strings.Repeat("*1\r\n", maxReplyDepth-1) + ":1\r\n", nest(integer(1, "1"), maxReplyDepth-1)},
	}
	for _, tt := range tests {
		r := bufio.NewReader(strings.NewReader(tt.stream + "+next\r\n"))
		got, err := ReadReply(r)
		if err != nil || !reflect.DeepEqual(got, tt.want) {
			t.Errorf("%.60q: got %.200v, %v\nwant %.200v", tt.stream, got, err, tt.want)
		}
		if next, err := ReadReply(r); err != nil || string(next.Str) != "next" {
			t.Errorf("%.60q: the reply behind it is %v, %v", tt.stream, next, err)
		}
		for cut := range min(len(tt.stream), 100) {
			want := io.ErrUnexpectedEOF
			if cut == 0 {
				want = io.EOF
			}
			if got, err := read(tt.stream[:cut]); err != want {
				t.Errorf("%.60q cut after %d bytes: got %v, %v", tt.stream, cut, got, err)
			}
		}
	}
}

func nest(r Reply, depth int) Reply {
	for range depth {
		r = Reply{Kind: Array, Elems: []Reply{r}}
	}
	return r
}

func TestReadReplyRefuses(t *testing.T) {
	t.Parallel()
	for _, stream := range []string{
		"\r\n", "\n", "x\r\n", "+a\n", "OK\r\n", "_x\r\n", "#\r\n", "#x\r\n",
		":\r\n", ":x\r\n", ":9223372036854775808\r\n", ",\r\n", ",x\r\n", "(\r\n", "(1.5\r\n", "(--1\r\n",
		"$\r\n", "$x\r\n", "$-2\r\n", "$536870913\r\n", "$9223372036854775807\r\n", "$1\r\nabc", "$?\r\n",
		"=3\r\ntxt\r\n", "=4\r\ntxtx\r\n", "=-1\r\n", "!-1\r\n",
		"*x\r\n", "*-2\r\n", "*268435457\r\n", "%-1\r\n", "~-1\r\n", ">-1\r\n", "|-1\r\n+a\r\n",
		"%9223372036854775807\r\n",
		strings.Repeat("*1\r\n", maxReplyDepth) + ":1\r\n",
		strings.Repeat("|1\r\n", 1000),
		"+" + strings.Repeat("x", maxReplyLine) + "\r\n",
		"+" + strings.Repeat("x", 2*maxReplyLine),
	} {
		if got, err := read(stream); !errors.Is(err, ErrReply) {
			t.Errorf("%.60q: got %.60v, %v", stream, got, err)
		}
	}
}

func TestReplyErr(t *testing.T) {
	t.Parallel()
	if err := text(Error, "ERR no").Err(); err == nil || err.Error() != "ERR no" {
		t.Errorf("got %v", err)
	}
	if err := text(Bulk, "ERR no").Err(); err != nil {
		t.Errorf("got %v", err)
	}
}

// What is encoded is read back, in both versions.
func TestEncodeThenRead(t *testing.T) {
	t.Parallel()
	for _, f := range []float64{0, 0.1, 1.0 / 3, 1e300, -5e-324, math.MaxFloat64, math.Inf(1), math.Inf(-1), math.NaN(), 123456789} {
		for _, proto := range []Proto{RESP2, RESP3} {
			got, err := read(string(AppendDouble(nil, proto, f)))
			if err == nil && proto == RESP2 {
				got, err = read("," + string(got.Str) + "\r\n")
			}
			if err != nil || math.Float64bits(got.Float) != math.Float64bits(f) && !math.IsNaN(f) || math.IsNaN(f) != math.IsNaN(got.Float) {
				t.Errorf("RESP%d %v: got %v, %v", proto, f, got, err)
			}
		}
	}

	var b []byte
	b = AppendArray(b, 11)
	b = append(b, OK...)
	b = AppendError(b, "ERR x")
	b = AppendInt(b, -7)
	b = AppendBulk(b, []byte("\r\n\x00"))
	b = AppendBool(b, RESP3, true)
	b = AppendNullArray(b, RESP3)
	b = AppendVerbatim(b, RESP3, "text")
	b = AppendBigNumber(b, RESP3, "123")
	b = AppendMap(b, RESP3, 1)
	b = AppendBulkString(b, "k")
	b = AppendSet(b, RESP3, 0)
	b = AppendPush(b, RESP3, 1)
	b = AppendBulkInt(b, 5)
	b = AppendMap(b, RESP2, 1)
	b = AppendInt(b, 1)
	b = AppendNull(b, RESP2)
	want := Reply{Kind: Array, Elems: []Reply{
		text(Simple, "OK"), text(Error, "ERR x"), integer(-7, "-7"), text(Bulk, "\r\n\x00"),
		{Kind: Boolean, Int: 1, Str: []byte("t")}, {Kind: Null}, text(Verbatim, "text"), text(BigNumber, "123"),
		{Kind: Map, Elems: []Reply{text(Bulk, "k"), {Kind: Set, Elems: []Reply{}}}},
		{Kind: Push, Elems: []Reply{text(Bulk, "5")}},
		{Kind: Array, Elems: []Reply{integer(1, "1"), {Kind: Null}}},
	}}
	if got, err := ReadReply(bufio.NewReader(bytes.NewReader(b))); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got %v, %v\nwant %v", got, err, want)
	}
}
