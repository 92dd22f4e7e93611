package resp

import (
	"math"
	"testing"
)

func TestAppend(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name   string
		encode func(Proto) []byte
		resp2  string
		resp3  string // "" = as resp2
	}{
		{"simple", func(Proto) []byte { return AppendSimple(nil, "a\r\nb") }, "+a  b\r\n", ""},
		{"error", func(Proto) []byte { return AppendError(nil, "ERR a\n-ERR b\r") }, "-ERR a -ERR b \r\n", ""},
		{"zero", func(Proto) []byte { return AppendInt(nil, 0) }, Zero, ""},
		{"nine", func(Proto) []byte { return AppendInt(nil, 9) }, ":9\r\n", ""},
		{"ten", func(Proto) []byte { return AppendInt(nil, 10) }, ":10\r\n", ""},
		{"lowest", func(Proto) []byte { return AppendInt(nil, math.MinInt64) }, ":-9223372036854775808\r\n", ""},
		{"bulk", func(Proto) []byte { return AppendBulk(nil, []byte("a\r\nb")) }, "$4\r\na\r\nb\r\n", ""},
		{"nil bulk", func(Proto) []byte { return AppendBulk(nil, nil) }, EmptyBulk, ""},
		{"bulk string", func(Proto) []byte { return AppendBulkString(nil, "ab") }, "$2\r\nab\r\n", ""},
		{"bulk int", func(Proto) []byte { return AppendBulkInt(nil, math.MinInt64) }, "$20\r\n-9223372036854775808\r\n", ""},
		{"null", func(p Proto) []byte { return AppendNull(nil, p) }, "$-1\r\n", "_\r\n"},
		{"null array", func(p Proto) []byte { return AppendNullArray(nil, p) }, "*-1\r\n", "_\r\n"},
		{"array", func(Proto) []byte { return AppendArray(nil, 0) }, EmptyArray, ""},
		{"map", func(p Proto) []byte { return AppendMap(nil, p, 3) }, "*6\r\n", "%3\r\n"},
		{"set", func(p Proto) []byte { return AppendSet(nil, p, 3) }, "*3\r\n", "~3\r\n"},
		{"push", func(p Proto) []byte { return AppendPush(nil, p, 3) }, "*3\r\n", ">3\r\n"},
		{"double", func(p Proto) []byte { return AppendDouble(nil, p, 0.1) }, "$19\r\n0.10000000000000001\r\n", ",0.10000000000000001\r\n"},
		{"whole double", func(p Proto) []byte { return AppendDouble(nil, p, 100) }, "$3\r\n100\r\n", ",100\r\n"},
		{"large double", func(p Proto) []byte { return AppendDouble(nil, p, 1e17) }, "$5\r\n1e+17\r\n", ",1e+17\r\n"},
		{"negative zero", func(p Proto) []byte { return AppendDouble(nil, p, math.Copysign(0, -1)) }, "$2\r\n-0\r\n", ",-0\r\n"},
		{"infinity", func(p Proto) []byte { return AppendDouble(nil, p, math.Inf(1)) }, "$3\r\ninf\r\n", ",inf\r\n"},
		{"negative infinity", func(p Proto) []byte { return AppendDouble(nil, p, math.Inf(-1)) }, "$4\r\n-inf\r\n", ",-inf\r\n"},
		{"not a number", func(p Proto) []byte { return AppendDouble(nil, p, math.NaN()) }, "$3\r\nnan\r\n", ",nan\r\n"},
		{"true", func(p Proto) []byte { return AppendBool(nil, p, true) }, One, "#t\r\n"},
		{"false", func(p Proto) []byte { return AppendBool(nil, p, false) }, Zero, "#f\r\n"},
		{"verbatim", func(p Proto) []byte { return AppendVerbatim(nil, p, "a\nb") }, "$3\r\na\nb\r\n", "=7\r\ntxt:a\nb\r\n"},
		{"big number", func(p Proto) []byte { return AppendBigNumber(nil, p, "-12") }, "$3\r\n-12\r\n", "(-12\r\n"},
		{"command", func(Proto) []byte { return AppendCommand(nil, "GET", "") }, "*2\r\n$3\r\nGET\r\n$0\r\n\r\n", ""},
		{"command of bytes", func(Proto) []byte { return AppendCommand(nil, []byte("PING")) }, "*1\r\n$4\r\nPING\r\n", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			want3 := tt.resp3
			if want3 == "" {
				want3 = tt.resp2
			}
			if got := string(tt.encode(RESP2)); got != tt.resp2 {
				t.Errorf("RESP2: got %q, want %q", got, tt.resp2)
			}
			if got := string(tt.encode(RESP3)); got != want3 {
				t.Errorf("RESP3: got %q, want %q", got, want3)
			}
		})
	}
}

func TestAppendKeepsDst(t *testing.T) {
	t.Parallel()
	got := AppendError(AppendSimple([]byte("\r\n"), "a"), "b")
	if want := "\r\n+a\r\n-b\r\n"; string(got) != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestAppendAllocatesNothing(t *testing.T) {
	dst := make([]byte, 0, 1024)
	value := []byte("value")
	n := testing.AllocsPerRun(100, func() {
		b := AppendInt(dst, 1<<40)
		b = AppendBulk(b, value)
		b = AppendBulkString(b, "value")
		b = AppendBulkInt(b, -1<<40)
		b = AppendError(b, "ERR no")
		b = AppendDouble(b, RESP2, 0.1)
		b = AppendDouble(b, RESP3, 0.1)
		b = AppendMap(b, RESP3, 300)
		dst = append(b, OK...)[:0]
	})
	if n != 0 {
		t.Errorf("%v allocations", n)
	}
}
