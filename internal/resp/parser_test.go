package resp

import (
	"errors"
	"reflect"
	"strings"
	"testing"

	"github.com/howdah/howdah/internal/test/seed"
)

// outcome is what a stream of commands came to.
type outcome struct {
	Commands [][]string
	Err      error
	Rest     int // bytes of an incomplete command
}

// feed does what an event loop does: it appends the stream to its buffer piece
// by piece, parses as long as there are commands, and discards what was
// consumed. The buffer moves with each piece. size gives the next piece's size.
func feed(t testing.TB, p *Parser, stream []byte, size func() int) (got outcome) {
	t.Helper()
	var buf []byte
	need := 0
	for len(stream) > 0 {
		piece := min(max(size(), 1), len(stream))
		buf = append(append([]byte(nil), buf...), stream[:piece]...)
		stream = stream[piece:]
		for first := true; ; first = false {
			args, n, err := p.Parse(buf)
			if n < 0 || n > len(buf) {
				t.Fatalf("consumed %d of %d bytes", n, len(buf))
			}
			buf = buf[n:]
			if err != nil {
				if _, _, again := p.Parse(buf); again != err {
					t.Fatalf("error %v became %v", err, again)
				}
				got.Err = err
				return got
			}
			if len(args) == 0 {
				if n > 0 && len(buf) > 0 {
					continue
				}
				if len(buf) > 0 && p.Need() < 1 {
					t.Fatalf("Need() = %d for an incomplete command", p.Need())
				}
				need -= piece
				if !first || need < 1 {
					need = p.Need()
				} else if need != p.Need() {
					t.Fatalf("Need() = %d, want %d", p.Need(), need)
				}
				break
			}
			if first && piece < need {
				t.Fatalf("a command was complete after %d bytes, Need() said %d", piece, need)
			}
			need = 0
			var words []string
			for _, arg := range args {
				if len(arg) != cap(arg) {
					t.Fatal("append to an argument would write into the buffer")
				}
				words = append(words, string(arg))
			}
			got.Commands = append(got.Commands, words)
		}
	}
	got.Rest = len(buf)
	return got
}

func whole() int { return 1 << 30 }

func newTestParser(authenticated bool) *Parser {
	p := NewParser(Limits{})
	p.SetAuthenticated(authenticated)
	return p
}

// streams is every shape of input, good and bad. The peers test sends the same
// to Redis.
var streams = []struct {
	name   string
	stream string
	want   outcome
}{
	{"empty", "", outcome{}},
	{"multibulk", "*1\r\n$4\r\nPING\r\n", outcome{Commands: [][]string{{"PING"}}}},
	{"pipeline", "*1\r\n$4\r\nPING\r\n*2\r\n$4\r\nECHO\r\n$2\r\nhi\r\n", outcome{Commands: [][]string{{"PING"}, {"ECHO", "hi"}}}},
	{"binary", "*2\r\n$4\r\nECHO\r\n$7\r\n\x00\r\n\xff*1\n\r\n", outcome{Commands: [][]string{{"ECHO", "\x00\r\n\xff*1\n"}}}},
	{"empty argument", "*2\r\n$4\r\nECHO\r\n$0\r\n\r\n", outcome{Commands: [][]string{{"ECHO", ""}}}},
	{"incomplete count", "*1", outcome{Rest: 2}},
	{"incomplete count line", "*1\r", outcome{Rest: 3}},
	{"incomplete argument", "*1\r\n$4\r\nPIN", outcome{Rest: 11}},
	{"incomplete argument end", "*1\r\n$4\r\nPING\r", outcome{Rest: 13}},
	{"incomplete inline", "PING", outcome{Rest: 4}},
	{"command and a piece", "PING\r\n*1\r\n", outcome{Commands: [][]string{{"PING"}}, Rest: 4}},
	{"huge length that does not come", "*2\r\n$4\r\nECHO\r\n$536870912\r\n", outcome{Rest: 26}},
	{"huge count that does not come", "*1048576\r\n", outcome{Rest: 10}},

	{"zero count", "*0\r\n*1\r\n$4\r\nPING\r\n", outcome{Commands: [][]string{{"PING"}}}},
	{"minus one count", "*-1\r\nPING\r\n", outcome{Commands: [][]string{{"PING"}}}},
	{"lowest count", "*-9223372036854775808\r\nPING\r\n", outcome{Commands: [][]string{{"PING"}}}},
	{"below the lowest count", "*-9223372036854775809\r\nPING\r\n", outcome{Err: ErrMultibulkLength}},
	{"minus zero count", "*-0\r\n", outcome{Err: ErrMultibulkLength}},
	{"plus zero count", "*+0\r\n", outcome{Err: ErrMultibulkLength}},
	{"plus count", "*+1\r\n", outcome{Err: ErrMultibulkLength}},
	{"leading zero count", "*01\r\n", outcome{Err: ErrMultibulkLength}},
	{"space count", "* 1\r\n", outcome{Err: ErrMultibulkLength}},
	{"space after count", "*1 \r\n", outcome{Err: ErrMultibulkLength}},
	{"no count", "*\r\n", outcome{Err: ErrMultibulkLength}},
	{"only minus", "*-\r\n", outcome{Err: ErrMultibulkLength}},
	{"word count", "*x\r\n", outcome{Err: ErrMultibulkLength}},
	{"line feed in count", "*1\n\r\n", outcome{Err: ErrMultibulkLength}},
	{"too many arguments", "*2147483648\r\n", outcome{Err: ErrMultibulkLength}},
	{"count above 64 bits", "*18446744073709551617\r\n", outcome{Err: ErrMultibulkLength}},
	{"count above int64", "*9223372036854775808\r\n", outcome{Err: ErrMultibulkLength}},
	{"bad count after a command", "PING\r\n*x\r\n", outcome{Commands: [][]string{{"PING"}}, Err: ErrMultibulkLength}},

	{"no dollar", "*1\r\n:4\r\nPING\r\n", outcome{Err: ProtocolError("expected '$', got ':'")}},
	{"no dollar, CR", "*1\r\n\r\n", outcome{Err: ProtocolError("expected '$', got '\r'")}},
	{"no dollar, LF", "*1\r\n\n\r\n", outcome{Err: ProtocolError("expected '$', got '\n'")}},
	{"no dollar, high byte", "*1\r\n\xff\r\n", outcome{Err: ProtocolError("expected '$', got '\xff'")}},
	{"no dollar yet", "*1\r\nPING", outcome{Rest: 8}},
	{"argument too short", "*2\r\n$4\r\nECHO\r\n$1\r\nhi\r\n\r\n", outcome{Commands: [][]string{{"ECHO", "h"}}, Err: nil, Rest: 0}},
	{"no length", "*1\r\n$\r\n", outcome{Err: ErrBulkLength}},
	{"negative length", "*1\r\n$-1\r\n", outcome{Err: ErrBulkLength}},
	{"lowest length", "*1\r\n$-9223372036854775808\r\n", outcome{Err: ErrBulkLength}},
	{"minus zero length", "*1\r\n$-0\r\n", outcome{Err: ErrBulkLength}},
	{"plus length", "*1\r\n$+4\r\nPING\r\n", outcome{Err: ErrBulkLength}},
	{"leading zero length", "*1\r\n$04\r\nPING\r\n", outcome{Err: ErrBulkLength}},
	{"space length", "*1\r\n$ 4\r\nPING\r\n", outcome{Err: ErrBulkLength}},
	{"hexadecimal length", "*1\r\n$0x4\r\nPING\r\n", outcome{Err: ErrBulkLength}},
	{"length above the limit", "*1\r\n$536870913\r\n", outcome{Err: ErrBulkLength}},
	{"length above int64", "*1\r\n$9223372036854775808\r\n", outcome{Err: ErrBulkLength}},
	{"length near int64", "*1\r\n$9223372036854775807\r\n", outcome{Err: ErrBulkLength}},
	{"any two bytes end lines and arguments", "*1\rX$4\r\nPINGXX*1\r\n$4\r\nPING\r\n", outcome{Commands: [][]string{{"PING"}, {"PING"}}}},

	{"count line at its limit", "*" + strings.Repeat("1", 65535) + "\r\n", outcome{Err: ErrMultibulkLength}},
	{"endless count", "*" + strings.Repeat("1", 70000), outcome{Err: ErrMultibulkHeader}},
	{"endless length", "*1\r\n$" + strings.Repeat("1", 70000), outcome{Err: ErrBulkHeader}},
	{"endless word", strings.Repeat("a", 70000), outcome{Err: ErrInlineLength}},
	{"almost endless word", strings.Repeat("a", 65536), outcome{Rest: 65536}},

	{"inline", "PING\r\n", outcome{Commands: [][]string{{"PING"}}}},
	{"inline with LF", "PING\n", outcome{Commands: [][]string{{"PING"}}}},
	{"empty lines", "\r\n\n  \r\n\t\v\f\r\nPING\r\n", outcome{Commands: [][]string{{"PING"}}}},
	{"empty lines only", "\r\n\r\n", outcome{}},
	{"spaces", " \t ECHO \v a \r\n", outcome{Commands: [][]string{{"ECHO", "a"}}}},
	{"vertical tab inside", "ECHO a\vb\fc\n", outcome{Commands: [][]string{{"ECHO", "a\vb\fc"}}}},
	{"CR inside", "ECHO\ra\r\r\n", outcome{Commands: [][]string{{"ECHO", "a"}}}},
	{"double quotes", `ECHO "a b"` + "\r\n", outcome{Commands: [][]string{{"ECHO", "a b"}}}},
	{"empty quotes", `ECHO ""` + "\r\n" + `ECHO ''` + "\r\n", outcome{Commands: [][]string{{"ECHO", ""}, {"ECHO", ""}}}},
	{"escapes", `ECHO "\x00\xfF\n\r\t\b\a\"\\\q\x0g\x"` + "\r\n", outcome{Commands: [][]string{{"ECHO", "\x00\xff\n\r\t\b\a\"\\qx0gx"}}}},
	{"single quotes", `ECHO 'a \n\x00"\' b'` + "\r\n", outcome{Commands: [][]string{{"ECHO", `a \n\x00"' b`}}}},
	{"backslash outside", `ECHO a\nb` + "\r\n", outcome{Commands: [][]string{{"ECHO", `a\nb`}}}},
	{"quotes at the end of a word", `ECHO a"b c"` + "\r\n" + `ECHO a'b c'` + "\r\n", outcome{Commands: [][]string{{"ECHO", "ab c"}, {"ECHO", "ab c"}}}},
	{"text behind quotes", `ECHO "a"b` + "\r\n", outcome{Err: ErrUnbalancedQuotes}},
	{"text behind single quotes", `ECHO 'a'b` + "\r\n", outcome{Err: ErrUnbalancedQuotes}},
	{"vertical tab behind quotes", "PING\r\nECHO \"a\"\v\r\n", outcome{Commands: [][]string{{"PING"}, {"ECHO", "a"}}}},
	{"open quotes", "ECHO \"a\r\nPING\r\n", outcome{Err: ErrUnbalancedQuotes}},
	{"open single quotes", "ECHO 'a\r\n", outcome{Err: ErrUnbalancedQuotes}},
	{"escaped end", `ECHO "a\"` + "\r\n", outcome{Err: ErrUnbalancedQuotes}},
	{"backslash at the end", `ECHO "a\` + "\r\n", outcome{Err: ErrUnbalancedQuotes}},
	{"escaped single end", `ECHO 'a\'` + "\r\n", outcome{Err: ErrUnbalancedQuotes}},
	{"half an escape", `ECHO "\x4` + "\r\n", outcome{Err: ErrUnbalancedQuotes}},

	{"POST", "POST / HTTP/1.1\r\n\r\n", outcome{Err: ErrHTTP}},
	{"post as multibulk", "*1\r\n$4\r\npost\r\n", outcome{Err: ErrHTTP}},
	{"Host", "hOST: x\r\nPING\r\n", outcome{Err: ErrHTTP}},
	{"POST as an argument", "ECHO POST\r\nECHO Host:\r\n", outcome{Commands: [][]string{{"ECHO", "POST"}, {"ECHO", "Host:"}}}},
}

// differs are streams that Redis reads in another way, with the reason.
var differs = []struct {
	name   string
	stream string
	want   outcome
}{
	// Redis's strchr ends at NUL: it waits until the line is 64 KiB long.
	{"NUL in count", "*1\x00\r\n", outcome{Err: ErrMultibulkLength}},
	{"NUL in length", "*1\r\n$4\x00\r\n", outcome{Err: ErrBulkLength}},
	{"NUL in inline", "ECHO a\x00b\r\n", outcome{Commands: [][]string{{"ECHO", "a\x00b"}}}},
	// Redis 7.0 takes 2,147,483,647 arguments.
	{"one argument too many", "*1048577\r\n", outcome{Err: ErrMultibulkLength}},
	// Redis takes a line above the limit if it arrives in one read.
	{"inline at its limit", strings.Repeat("a", 65536) + "\n", outcome{Commands: [][]string{{strings.Repeat("a", 65536)}}}},
	{"inline above its limit", strings.Repeat("a", 65537) + "\n", outcome{Err: ErrInlineLength}},
	{"count line above its limit", "*" + strings.Repeat("1", 65536) + "\r\n", outcome{Err: ErrMultibulkHeader}},
	// GET has too few arguments for Redis, which is not the parser's affair.
	{"HTTP GET", "GET / HTTP/1.1\r\nHost: x\r\n\r\n", outcome{Commands: [][]string{{"GET", "/", "HTTP/1.1"}}, Err: ErrHTTP}},
}

func TestParse(t *testing.T) {
	t.Parallel()
	for _, tt := range append(streams, differs...) {
		t.Run(tt.name, func(t *testing.T) {
			got := feed(t, newTestParser(true), []byte(tt.stream), whole)
			if !reflect.DeepEqual(got, tt.want) {
				t.Errorf("got %+v\nwant %+v", got, tt.want)
			}
		})
	}
}

// However a stream is cut, the same comes out.
func TestParseFragmented(t *testing.T) {
	t.Parallel()
	for _, tt := range append(streams, differs...) {
		t.Run(tt.name, func(t *testing.T) {
			check := func(how string, size func() int) {
				t.Helper()
				if got := feed(t, newTestParser(true), []byte(tt.stream), size); !reflect.DeepEqual(got, tt.want) {
					t.Errorf("%s: got %+v\nwant %+v", how, got, tt.want)
				}
			}
			if len(tt.stream) > 1000 { // the test's buffer moves with each piece
				check("1,000 bytes at a time", func() int { return 1000 })
				return
			}
			check("byte by byte", func() int { return 1 })
			for cut := 1; cut < len(tt.stream); cut++ {
				sizes := []int{cut, len(tt.stream)}
				check("in two", func() int { s := sizes[0]; sizes = sizes[1:]; return s })
			}
		})
	}
}

func TestParseRandomStreams(t *testing.T) {
	t.Parallel()
	random := seed.Rand(t)
	for range 200 {
		var want outcome
		var stream []byte
		for range 1 + random.IntN(8) {
			args := make([]string, 1+random.IntN(6))
			for i := range args {
				b := make([]byte, random.IntN(40))
				for j := range b {
					b[j] = "ab\r\n*$1\x00\xff "[random.IntN(10)]
				}
				args[i] = string(b)
			}
			args[0] = "c" + args[0]
			stream = AppendCommand(stream, args...)
			want.Commands = append(want.Commands, args)
			stream = append(stream, []string{"", "\r\n", "*0\r\n", " \n"}[random.IntN(4)]...)
		}
		got := feed(t, newTestParser(true), stream, func() int { return random.IntN(30) })
		if !reflect.DeepEqual(got, want) {
			t.Fatalf("got %+v\nwant %+v", got, want)
		}
	}
}

func TestUnauthenticated(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name   string
		stream string
		want   error
	}{
		{"10 arguments", "*10\r\n", nil},
		{"11 arguments", "*11\r\n", ErrUnauthMultibulkLength},
		{"too many in any case", "*2147483648\r\n", ErrMultibulkLength},
		{"16 KiB", "*1\r\n$16384\r\n", nil},
		{"above 16 KiB", "*1\r\n$16385\r\n", ErrUnauthBulkLength},
		{"too long in any case", "*1\r\n$536870913\r\n", ErrBulkLength},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := feed(t, newTestParser(false), []byte(tt.stream), whole); got.Err != tt.want {
				t.Errorf("got %v, want %v", got.Err, tt.want)
			}
		})
	}

	p := newTestParser(false)
	p.Parse([]byte("AUTH x\r\n"))
	p.SetAuthenticated(true)
	if got := feed(t, p, []byte("*11\r\n$16385\r\n"), whole); got.Err != nil {
		t.Errorf("limits before AUTH hold after it: %v", got.Err)
	}
}

func TestLimits(t *testing.T) {
	t.Parallel()
	limits := Limits{MaxArgs: 2, MaxBulk: 5, MaxInline: 10, MaxCommand: 24, UnauthArgs: 1, UnauthBulk: 4}
	tests := []struct {
		stream string
		want   error
	}{
		{"*2\r\n", nil},
		{"*3\r\n", ErrMultibulkLength},
		{"*1\r\n$5\r\n", nil},
		{"*1\r\n$6\r\n", ErrBulkLength},
		{"*2\r\n$5\r\nhello\r\n$3\r\n", nil}, // 4 + 4+5+2 + 4+3+2 = 24 bytes
		{"*2\r\n$5\r\nhello\r\n$4\r\n", ErrCommandSize},
		{"aaaaaaaaaa\n", nil},
		{"aaaaaaaaaaa", ErrInlineLength},
	}
	for _, tt := range tests {
		p := NewParser(limits)
		p.SetAuthenticated(true)
		if got := feed(t, p, []byte(tt.stream), whole); got.Err != tt.want {
			t.Errorf("%q: got %v, want %v", tt.stream, got.Err, tt.want)
		}
	}
	if got := feed(t, NewParser(limits), []byte("*2\r\n"), whole); got.Err != ErrUnauthMultibulkLength {
		t.Errorf("got %v", got.Err)
	}
}

func TestNeed(t *testing.T) {
	t.Parallel()
	p := newTestParser(true)
	steps := []struct {
		buf  string
		need int
	}{
		{"", 1}, {"*", 1}, {"*2\r", 1}, {"*2\r\n", 1}, {"*2\r\n$4", 1}, {"*2\r\n$4\r\n", 6},
		{"*2\r\n$4\r\nEC", 4}, {"*2\r\n$4\r\nECHO\r", 1}, {"*2\r\n$4\r\nECHO\r\n$100\r\n", 102},
	}
	for _, step := range steps {
		if args, n, err := p.Parse([]byte(step.buf)); args != nil || n != 0 || err != nil {
			t.Fatalf("%q: %q, %d, %v", step.buf, args, n, err)
		}
		if p.Need() != step.need {
			t.Errorf("%q: Need() = %d, want %d", step.buf, p.Need(), step.need)
		}
	}
}

// A command that arrives byte by byte costs as many steps as it has bytes. If
// each call began again, this would take hours.
func TestParseIsLinear(t *testing.T) {
	t.Parallel()
	long := make([]string, 200_000)
	for i := range long {
		long[i] = "x"
	}
	for _, stream := range [][]byte{
		AppendCommand(nil, long...),
		AppendCommand(nil, "ECHO", strings.Repeat("x", 4<<20)),
		[]byte("ECHO " + strings.Repeat("x", 4<<20) + "\r\n"),
	} {
		p := NewParser(Limits{MaxInline: 8 << 20})
		p.SetAuthenticated(true)
		for end := 1; end < len(stream); end++ {
			if args, n, err := p.Parse(stream[:end]); args != nil || n != 0 || err != nil {
				t.Fatalf("after %d bytes: %q, %d, %v", end, args, n, err)
			}
		}
		if args, n, err := p.Parse(stream); len(args) == 0 || n != len(stream) || err != nil {
			t.Fatalf("%d args, %d, %v", len(args), n, err)
		}
	}
}

// An idle connection keeps little, and nothing of the caller's buffer.
func TestParserKeepsLittle(t *testing.T) {
	t.Parallel()
	p := newTestParser(true)
	long := make([]string, 100_000)
	long[0] = "DEL"
	for _, stream := range [][]byte{AppendCommand(nil, long...), []byte(`ECHO "` + strings.Repeat("x", 60000) + "\"\r\n")} {
		if args, _, err := p.Parse(stream); len(args) == 0 || err != nil {
			t.Fatal(err)
		}
		p.Parse(nil)
		if cap(p.args) > keepArgs || cap(p.spans) > keepArgs || cap(p.scratch) > keepScratch {
			t.Errorf("keeps %d args, %d spans, %d bytes", cap(p.args), cap(p.spans), cap(p.scratch))
		}
	}
	p.Parse([]byte("ECHO a\r\n"))
	p.Parse(nil)
	for _, arg := range p.args[:cap(p.args)] {
		if arg != nil {
			t.Error("keeps an argument of the last command")
		}
	}
}

func TestParseAllocatesNothing(t *testing.T) {
	p := newTestParser(true)
	for _, stream := range []string{"*2\r\n$3\r\nGET\r\n$3\r\nkey\r\n", "GET key\r\n", "GET \"key\"\r\n", "\r\n*0\r\nGET key\r\n"} {
		buf := []byte(stream)
		if n := testing.AllocsPerRun(100, func() { p.Parse(buf) }); n != 0 {
			t.Errorf("%q: %v allocations", stream, n)
		}
	}
}

func TestProtocolError(t *testing.T) {
	t.Parallel()
	err := errors.Join(ErrBulkLength)
	var protocol ProtocolError
	if !errors.As(err, &protocol) || !errors.Is(err, ErrBulkLength) {
		t.Error("a ProtocolError is not found by errors.As or errors.Is")
	}
	if got, want := string(AppendProtocolError(nil, protocol)), "-ERR Protocol error: invalid bulk length\r\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
