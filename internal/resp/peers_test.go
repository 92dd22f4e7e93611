//go:build peers

package resp

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"math"
	"net"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/howdah/howdah/internal/test/peers"
	"github.com/howdah/howdah/internal/test/seed"
)

// patience is how long redis-server may take for a reply on a busy machine.
const patience = time.Minute

// startRedis runs redis-server on a socket of its own for the time of the test.
func startRedis(t *testing.T, settings ...string) (dial func() *net.UnixConn) {
	t.Helper()
	address := &net.UnixAddr{Name: peers.Redis(t, settings...).Socket, Net: "unix"}
	return func() *net.UnixConn {
		conn, err := net.DialUnix("unix", nil, address)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { conn.Close() })
		conn.SetDeadline(time.Now().Add(patience))
		return conn
	}
}

// answer is a server of PING and ECHO on our codec. It returns what a client
// sees of it, how many bytes wait for the rest of their command, and whether it
// closes the connection.
func answer(stream []byte, password bool) (out []byte, rest int, closes bool) {
	p := newTestParser(!password)
	for {
		args, n, err := p.Parse(stream)
		stream = stream[n:]
		switch err := err.(type) {
		case nil:
		case ProtocolError:
			return AppendProtocolError(out, err), 0, true
		default:
			return nil, 0, true
		}
		switch name := strings.ToUpper(string(bytes.Join(args, []byte(" ")))); {
		case name == "":
			if n == 0 {
				return out, len(stream), false
			}
		case password:
			out = AppendError(out, "NOAUTH Authentication required.")
		case name == "PING":
			out = append(out, Pong...)
		case len(args) == 2 && strings.HasPrefix(name, "ECHO "):
			out = AppendBulk(out, args[1])
		default:
			panic("not a command of this test: " + name)
		}
	}
}

// Redis gives byte by byte the same answers to every stream of the tables, and
// closes the connection in the same cases.
func TestRedisParsesAlike(t *testing.T) {
	t.Parallel()
	open := startRedis(t)
	closed := startRedis(t, "--requirepass", "secret")
	for _, tt := range streams {
		t.Run(tt.name, func(t *testing.T) { compare(t, open, tt.stream, false) })
		t.Run(tt.name+", before AUTH", func(t *testing.T) { compare(t, closed, tt.stream, true) })
	}
	for _, stream := range []string{
		"*10\r\n", "*11\r\n", "*11\r\n$4\r\nPING\r\n", "*2147483648\r\n", "*1\r\n$16384\r\n", "*1\r\n$16385\r\n", "*1\r\n$536870913\r\n",
		"PING a b c d e f g h i j k l m n\r\n",
	} {
		t.Run(fmt.Sprintf("%q before AUTH", stream), func(t *testing.T) { compare(t, closed, stream, true) })
	}
}

func compare(t *testing.T, dial func() *net.UnixConn, stream string, password bool) {
	want, rest, closes := answer([]byte(stream), password)
	conn := dial()
	if _, err := io.WriteString(conn, stream); err != nil && !closes {
		t.Fatal(err)
	}
	if !closes {
		// Another command is answered if one may begin here, because the
		// connection is still open.
		if rest == 0 {
			io.WriteString(conn, "PING\r\n")
			want, _, _ = answer([]byte(stream+"PING\r\n"), password)
		}
		conn.CloseWrite()
	}
	// A connection that Redis closes with bytes unread ends in a reset, which
	// comes behind the answer on a Unix socket.
	got, err := io.ReadAll(conn)
	if timeout, ok := err.(net.Error); ok && timeout.Timeout() {
		t.Fatalf("Redis answers %q and does not close, we answer %q and close", got, want)
	}
	if string(got) != string(want) {
		t.Errorf("Redis answers %q, we %q; we close: %v", got, want, closes)
	}
}

// The encoders write what Redis writes for each type of RESP, in both versions.
func TestRedisEncodesAlike(t *testing.T) {
	t.Parallel()
	dial := startRedis(t, "--enable-debug-command", "yes")
	tests := []struct {
		name string
		want func(Proto) []byte
	}{
		{"string", func(Proto) []byte { return AppendBulkString(nil, "Hello World") }},
		{"integer", func(Proto) []byte { return AppendInt(nil, 12345) }},
		{"double", func(p Proto) []byte { return AppendDouble(nil, p, 3.141) }},
		{"null", func(p Proto) []byte { return AppendNull(nil, p) }},
		{"array", func(Proto) []byte { return appendCount(AppendArray(nil, 3)) }},
		{"set", func(p Proto) []byte { return appendCount(AppendSet(nil, p, 3)) }},
		{"map", func(p Proto) []byte {
			b := AppendMap(nil, p, 3)
			for i := range 3 {
				b = AppendInt(b, int64(i))
				b = AppendBool(b, p, i == 1)
			}
			return b
		}},
		{"verbatim", func(p Proto) []byte { return AppendVerbatim(nil, p, "This is a verbatim\nstring") }},
		{"bignum", func(p Proto) []byte { return AppendBigNumber(nil, p, "1234567999999999999999999999999999999") }},
		{"true", func(p Proto) []byte { return AppendBool(nil, p, true) }},
		{"false", func(p Proto) []byte { return AppendBool(nil, p, false) }},
	}
	for _, proto := range []Proto{RESP2, RESP3} {
		conn := dial()
		r := bufio.NewReader(conn)
		hello(t, conn, r, proto)
		for _, tt := range tests {
			want := tt.want(proto)
			conn.Write(AppendCommand(nil, "DEBUG", "PROTOCOL", tt.name))
			if got := receive(t, conn, r); string(got) != string(want) {
				t.Errorf("RESP%d %s: Redis writes %q, we %q", proto, tt.name, got, want)
			}
		}
		conn.Write(AppendCommand(nil, "EVAL", "return redis.error_reply('ERR a\\r\\nb')", "0"))
		if got, want := receive(t, conn, r), AppendError(nil, "ERR a\r\nb"); string(got) != string(want) {
			t.Errorf("error: Redis writes %q, we %q", got, want)
		}
		conn.Write(AppendCommand(nil, "BLPOP", "missing", "0.001"))
		if got, want := receive(t, conn, r), AppendNullArray(nil, proto); string(got) != string(want) {
			t.Errorf("null array: Redis writes %q, we %q", got, want)
		}
	}
}

// Doubles of every size look as Redis writes them.
func TestRedisFormatsDoublesAlike(t *testing.T) {
	t.Parallel()
	random := seed.Rand(t)
	numbers := []float64{0, 1, -1, 0.1, 100, 1e15, 1e16, 1e17, 1e18, 1e-4, 1e-5, 12345678901234567890, math.Pi,
		math.MaxFloat64, math.SmallestNonzeroFloat64, math.Inf(1), math.Inf(-1), math.Copysign(0, -1)}
	for len(numbers) < 3000 {
		if f := math.Float64frombits(random.Uint64()); !math.IsNaN(f) {
			numbers = append(numbers, f, float64(random.IntN(1e9)), random.NormFloat64())
		}
	}
	// A listpack would keep the score as a string or an integer.
	dial := startRedis(t, "--zset-max-listpack-entries", "0")
	for _, proto := range []Proto{RESP2, RESP3} {
		conn := dial()
		r := bufio.NewReader(conn)
		hello(t, conn, r, proto)
		for _, f := range numbers {
			conn.Write(AppendCommand(nil, "DEL", "z"))
			receive(t, conn, r)
			conn.Write(AppendCommand(nil, "ZADD", "z", strconv.FormatFloat(f, 'g', -1, 64), "member"))
			receive(t, conn, r)
			conn.Write(AppendCommand(nil, "ZSCORE", "z", "member"))
			if got, want := receive(t, conn, r), AppendDouble(nil, proto, f); string(got) != string(want) {
				t.Errorf("RESP%d %v: Redis writes %q, we %q", proto, f, got, want)
			}
		}
	}
}

func appendCount(dst []byte) []byte {
	for i := range 3 {
		dst = AppendInt(dst, int64(i))
	}
	return dst
}

func hello(t *testing.T, conn net.Conn, r *bufio.Reader, proto Proto) {
	t.Helper()
	conn.Write(AppendCommand(nil, "HELLO", strconv.Itoa(int(proto))))
	reply, err := ReadReply(r)
	if want := map[Proto]Kind{RESP2: Array, RESP3: Map}[proto]; err != nil || reply.Kind != want {
		t.Fatalf("HELLO %d: %v, %v", proto, reply, err)
	}
}

// receive returns the bytes of the next reply: all that come before the answer to
// an ECHO sent behind.
func receive(t *testing.T, conn net.Conn, r *bufio.Reader) (got []byte) {
	t.Helper()
	conn.SetDeadline(time.Now().Add(patience))
	const end = "--end of the reply--"
	marker := AppendBulkString(nil, end)
	conn.Write(AppendCommand(nil, "ECHO", end))
	for !bytes.HasSuffix(got, marker) {
		c, err := r.ReadByte()
		if err != nil {
			t.Fatalf("%v after %q", err, got)
		}
		got = append(got, c)
	}
	return got[:len(got)-len(marker)]
}
