package values_test

import (
	"strings"
	"testing"

	"github.com/howdah/howdah/internal/resp"
	"github.com/howdah/howdah/internal/values"
)

// A dialogue is a list of commands with their replies, in the notation of
// show. "sleep n" lets n milliseconds pass.
type dialogue [][2]string

func (d dialogue) run(t *testing.T, s *store) {
	t.Helper()
	for _, step := range d {
		words := strings.Fields(step[0])
		if words[0] == "sleep" {
			var n int64
			for _, c := range words[1] {
				n = 10*n + int64(c-'0')
			}
			s.now += n
			continue
		}
		for i, word := range words {
			words[i] = strings.Trim(word, "'")
		}
		if got := show(s.do(words...)); got != step[1] {
			t.Errorf("%s\n got %s\nwant %s", step[0], got, step[1])
		}
	}
}

// show writes a reply on one line: arrays in brackets, strings as they are.
func show(raw string) string {
	r, err := resp.ReadReply(reader(raw))
	if err != nil {
		return raw
	}
	return showReply(r)
}

func showReply(r resp.Reply) string {
	switch r.Kind {
	case resp.Null:
		return "nil"
	case resp.Error:
		return "-" + string(r.Str)
	case resp.Integer:
		return formatInt(r.Int)
	case resp.Array, resp.Map, resp.Set:
		texts := make([]string, len(r.Elems))
		for i, elem := range r.Elems {
			texts[i] = showReply(elem)
		}
		return "[" + strings.Join(texts, " ") + "]"
	}
	return string(r.Str)
}

func TestFieldExpiry(t *testing.T) {
	t.Parallel()
	s := newStore(t, 1)
	s.now = 1_700_000_000_500
	dialogue{
		{"HSET h a 1 b 2 c 3", "3"},
		{"HEXPIRE h 10 FIELDS 2 a x", "[1 -2]"},
		{"HTTL h FIELDS 3 a b x", "[10 -1 -2]"},
		{"HPTTL h FIELDS 1 a", "[10000]"},
		{"HEXPIRETIME h FIELDS 1 a", "[1700000011]"},
		{"HPEXPIRETIME h FIELDS 1 a", "[1700000010500]"},
		{"HEXPIRE h 5 NX FIELDS 2 a b", "[0 1]"},
		{"HEXPIRE h 5 XX FIELDS 2 a c", "[1 0]"},
		{"HEXPIRE h 4 GT FIELDS 2 a c", "[0 0]"},
		{"HEXPIRE h 4 LT FIELDS 2 a c", "[1 1]"},
		{"HPEXPIRE h 7000 gt FIELDS 1 a", "[1]"},
		{"HTTL h FIELDS 3 a b c", "[7 5 4]"},
		{"sleep 4000", ""},
		{"HGETALL h", "[a 1 b 2]"},
		{"HLEN h", "2"},
		{"HGET h c", "nil"},
		{"HPERSIST h FIELDS 3 a c x", "[1 -2 -2]"},
		{"HPERSIST h FIELDS 1 a", "[-1]"},
		{"HSET h b 22", "0"},
		{"HTTL h FIELDS 1 b", "[-1]"}, // a new value has no expiry
		{"HINCRBY h b 1", "23"},
		{"HEXPIREAT h 1 FIELDS 1 a", "[2]"},
		{"HPEXPIREAT h 1700000009000 FIELDS 1 b", "[1]"},
		{"HINCRBY h b 1", "24"},
		{"HPEXPIRETIME h FIELDS 1 b", "[1700000009000]"}, // an increment keeps the expiry
		{"HEXPIRE h 0 FIELDS 1 b", "[2]"},
		{"HLEN h", "0"},
		{"HTTL h FIELDS 2 a b", "[-2 -2]"},
		{"HEXPIRE h 1 FIELDS 1 a", "[-2]"},
		{"HEXPIRE h -1 FIELDS 1 a", "-ERR invalid expire time, must be >= 0"},
		{"HEXPIRE h x FIELDS 1 a", "-ERR value is not an integer or out of range"},
		{"HEXPIRE h 9223372036854775807 FIELDS 1 a", "-ERR invalid expire time in 'hexpire' command"},
		{"HPEXPIREAT h 70368744177663 FIELDS 1 a", "[-2]"},
		{"HPEXPIREAT h 70368744177664 FIELDS 1 a", "-ERR invalid expire time in 'hpexpireat' command"},
		{"HEXPIRE h 1 FIELD 1 a", "-ERR Mandatory argument FIELDS is missing or not at the right position"},
		{"HEXPIRE h 1 FIELDS 0 a", "-ERR Parameter `numFields` should be greater than 0"},
		{"HEXPIRE h 1 FIELDS 2 a", "-ERR The `numfields` parameter must match the number of arguments"},
		{"HTTL h FIELDS 0 a", "-ERR Number of fields must be a positive integer"},
		{"HTTL h FIELDS 1", "-ERR wrong number of arguments for 'httl' command"},
		{"SADD s x", "1"},
		{"HTTL s FIELDS 1 a", "-WRONGTYPE Operation against a key holding the wrong kind of value"},
	}.run(t, s)
	if e := s.Entry([]byte("h")); e.Value != nil || !e.Changed && e.Value != nil {
		t.Errorf("the empty hash is still there: %v", e)
	}
}

// TestExpiredFieldsSurviveThePackedForm checks that an expiry is stored, and that
// the packed form becomes plain again without one.
func TestExpiredFieldsSurviveThePackedForm(t *testing.T) {
	t.Parallel()
	s := newStore(t, 1)
	dialogue{{"HSET h a 1 b 2", "2"}, {"HPEXPIRE h 1000 FIELDS 1 a", "[1]"}}.run(t, s)
	h := s.Entry([]byte("h")).Value.(*values.Hash)
	if got := values.Encode(nil, h)[0]; got != 2 {
		t.Errorf("format %d with an expiry", got)
	}
	if got := h.LastExpiry(); got != 0 {
		t.Errorf("last expiry %d, although b has none", got)
	}
	s.reload()
	dialogue{{"HPTTL h FIELDS 2 a b", "[1000 -1]"}, {"HPEXPIRE h 3000 FIELDS 1 b", "[1]"}}.run(t, s)
	if got := s.Entry([]byte("h")).Value.(*values.Hash).LastExpiry(); got != s.now+3000 {
		t.Errorf("last expiry %d, now %d", got, s.now)
	}
	s.reload()
	dialogue{{"sleep 2999", ""}, {"HGETALL h", "[b 2]"}, {"HPERSIST h FIELDS 1 b", "[1]"}, {"sleep 1", ""}, {"HGETALL h", "[b 2]"}}.run(t, s)
	if got := values.Encode(nil, s.Entry([]byte("h")).Value)[0]; got != 1 {
		t.Errorf("format %d without an expiry", got)
	}
}

// TestHashOfExpiredFields checks that a hash whose fields have all expired is as
// good as absent: SET may follow, a new hash has no expiry of the old one.
func TestHashOfExpiredFields(t *testing.T) {
	t.Parallel()
	s := newStore(t, 1)
	dialogue{
		{"HSET h a 1", "1"}, {"HPEXPIRE h 10 FIELDS 1 a", "[1]"}, {"sleep 10", ""},
		{"SADD h x", "1"}, {"SMEMBERS h", "[x]"},
		{"HSET g a 1", "1"}, {"HPEXPIRE g 10 FIELDS 1 a", "[1]"}, {"sleep 10", ""},
		{"HSETNX g a 2", "1"}, {"HTTL g FIELDS 1 a", "[-1]"},
	}.run(t, s)
}

func TestHashOptions(t *testing.T) {
	t.Parallel()
	s := newStore(t, 1)
	dialogue{
		{"HSETEX h FNX EX 10 FIELDS 2 a 1 b 2", "1"},
		{"HTTL h FIELDS 2 a b", "[10 10]"},
		{"HSETEX h FNX FIELDS 2 b 3 c 3", "0"},
		{"HGETALL h", "[a 1 b 2]"},
		{"HSETEX h FXX FIELDS 2 b 3 c 3", "0"},
		{"HSETEX h FXX KEEPTTL FIELDS 1 b 3", "1"},
		{"HTTL h FIELDS 1 b", "[10]"},
		{"HSETEX h FIELDS 1 b 4", "1"},
		{"HTTL h FIELDS 1 b", "[-1]"},
		{"HSETEX h FIELDS 1 c 5 PX 1500", "1"},
		{"HPTTL h FIELDS 1 c", "[1500]"},
		{"HSETEX h PXAT 1 FIELDS 1 c 6", "1"}, // in the past
		{"HEXISTS h c", "0"},
		{"HGETEX h FIELDS 2 a x", "[1 nil]"},
		{"HTTL h FIELDS 1 a", "[10]"},
		{"HGETEX h EX 100 FIELDS 2 a b", "[1 4]"},
		{"HTTL h FIELDS 2 a b", "[100 100]"},
		{"HGETEX h PERSIST FIELDS 1 a", "[1]"},
		{"HTTL h FIELDS 1 a", "[-1]"},
		{"HGETEX h EXAT 1 FIELDS 1 a", "[1]"},
		{"HGETDEL h FIELDS 2 a b", "[nil 4]"},
		{"HLEN h", "0"},
		{"HGETDEL h FIELDS 2 a b", "[nil nil]"},
		{"HGETEX h FIELDS 1 a", "[nil]"},
		{"HGETDEL h FIELDS 0 a", "-ERR Number of fields must be a positive integer"},
		{"HGETDEL h FIELDS 2 a", "-ERR The `numfields` parameter must match the number of arguments"},
		{"HGETEX h EX 1 PERSIST FIELDS 1 a", "-ERR Only one of EX, PX, EXAT, PXAT or PERSIST arguments can be specified"},
		{"HGETEX h FIELDS 1 a EX", "-ERR missing expire time"},
		{"HGETEX h FIELDS 0 a", "-ERR invalid number of fields"},
		{"HGETEX h EX 0 FIELDS 1 a", "-ERR invalid expire time in 'hgetex' command"},
		{"HSETEX h EX x FIELDS 1 a 1", "-ERR value is not an integer or out of range"},
		{"HSETEX h FNX FXX FIELDS 1 a 1", "-ERR Only one of FXX or FNX arguments can be specified"},
		{"HSETEX h EX 1 PX 1 FIELDS 1 a 1", "-ERR Only one of EX, PX, EXAT, PXAT or KEEPTTL arguments can be specified"},
		{"HSETEX h EX 1 FIELDS 2 a 1", "-ERR wrong number of arguments"},
		{"HSETEX h PXAT 70368744177664 FIELDS 1 a 1", "-ERR invalid expire time in 'hsetex' command"},
		{"HSETEX h BOGUS FIELDS 1 a 1", "-ERR unknown argument: BOGUS"},
		{"HSETEX h EX 1 FNX EXAT 5", "-ERR Only one of EX, PX, EXAT, PXAT or KEEPTTL arguments can be specified"},
		{"HSETEX h EX 1 FNX fXX a", "-ERR Only one of FXX or FNX arguments can be specified"},
		{"HSETEX h EX 1 KEEPTTL a b", "-ERR Only one of EX, PX, EXAT, PXAT or KEEPTTL arguments can be specified"},
		{"HLEN h", "0"},
	}.run(t, s)
}

func TestConditionalStrings(t *testing.T) {
	t.Parallel()
	s := newStore(t, 1)
	dialogue{
		{"SET k v IFEQ x", "nil"}, // an absent key equals nothing
		{"SET k v IFNE x", "OK"},
		{"SET k w IFEQ x", "nil"},
		{"SET k w IFEQ v GET", "v"},
		{"SET k v IFNE w GET", "w"},
		{"GET k", "w"},
		{"SET k hello", "OK"},
		{"DIGEST k", digestOf("hello")},
		{"DIGEST none", "nil"},
		{"SET k v1 IFDEQ " + strings.ToUpper(digestOf("hello")), "OK"},
		{"SET k v2 IFDEQ " + digestOf("hello"), "nil"},
		{"SET k v2 IFDNE " + digestOf("v1"), "nil"},
		{"SET k v2 IFDNE " + digestOf("hello") + " EX 100", "OK"},
		{"SET k v2 IFDEQ 123", "-ERR must be exactly 16 hexadecimal characters"},
		{"SET k v2 IFEQ v2 NX", "-ERR syntax error"},
		{"SET k v2 IFEQ v2 IFNE v3", "-ERR syntax error"},
		{"SET k v2 IFEQ", "-ERR syntax error"},
		{"SADD s x", "1"},
		{"SET s v IFEQ x", "-WRONGTYPE Operation against a key holding the wrong kind of value"},
		{"DIGEST s", "-WRONGTYPE Operation against a key holding the wrong kind of value"},
		{"DELEX k IFEQ v1", "0"},
		{"DELEX k IFNE v2", "0"},
		{"DELEX k IFDEQ " + digestOf("v1"), "0"},
		{"DELEX k IFDNE " + digestOf("v1"), "1"},
		{"GET k", "nil"},
		{"DELEX k IFNE v1", "0"},
		{"DELEX s IFEQ x", "-ERR Key should be of string type if conditions are specified"},
		{"DELEX s IFXX x", "-ERR Key should be of string type if conditions are specified"},
		{"DELIFEQ s x", "-WRONGTYPE Operation against a key holding the wrong kind of value"},
		{"SET k v", "OK"},
		{"DELEX k IFXX x", "-ERR Invalid condition. Use IFEQ, IFNE, IFDEQ, or IFDNE"},
		{"DELEX k IFDEQ x", "-ERR must be exactly 16 hexadecimal characters"},
		{"DELEX k IFEQ v", "1"},
		{"DELEX k IFXX x", "0"},
		{"DELEX s IFEQ", "-ERR wrong number of arguments for 'delex' command"},
		{"DELEX s", "1"},
		{"DELEX s", "0"},
		{"SET k v", "OK"}, {"DELIFEQ k w", "0"}, {"DELIFEQ k v", "1"}, {"DELIFEQ k v", "0"},
	}.run(t, s)
}

func TestMsetex(t *testing.T) {
	t.Parallel()
	s := newStore(t, 1)
	dialogue{
		{"MSETEX 2 a 1 b 2 EX 100", "1"},
		{"MGET a b", "[1 2]"},
		{"MSETEX 2 b 3 c 3 NX", "0"},
		{"MSETEX 2 b 3 c 3 XX", "0"},
		{"MSETEX 2 a 3 b 3 XX KEEPTTL", "1"},
		{"MGET a b c", "[3 3 nil]"},
		{"MSETEX 0 a", "-ERR wrong number of arguments for 'msetex' command"},
		{"MSETEX 0 a 1 b", "-ERR invalid numkeys value"},
		{"MSETEX 2 a 1 b", "-ERR wrong number of key-value pairs"},
		{"MSETEX 1 a 1 NX XX", "-ERR syntax error"},
		{"MSETEX 1 a 1 EX 0", "-ERR invalid expire time in 'msetex' command"},
		{"MSETEX 1 a 1 EX 5 KEEPTTL", "-ERR syntax error"},
		{"SADD s x", "1"},
		{"MSETEX 1 s 1", "1"}, // replaces any type, as SET does
		{"GET s", "1"},
	}.run(t, s)
	if a := s.Entry([]byte("a")); a.ExpiresAt != s.now+100_000 {
		t.Errorf("KEEPTTL left %d, now is %d", a.ExpiresAt, s.now)
	}
}

func TestIncrex(t *testing.T) {
	t.Parallel()
	s := newStore(t, 1)
	dialogue{
		{"INCREX n", "[1 1]"},
		{"INCREX n BYINT 5 UBOUND 10 EX 100", "[6 5]"},
		{"INCREX n BYINT 5 UBOUND 10", "[6 0]"},
		{"INCREX n BYINT 5 UBOUND 10 SATURATE", "[10 4]"},
		{"INCREX n BYINT -50 LBOUND 0 SATURATE", "[0 -10]"},
		{"INCREX n BYINT -1 LBOUND 0", "[0 0]"},
		{"INCREX new UBOUND 0", "[0 0]"},
		{"GET new", "nil"},
		{"INCREX new UBOUND 0 SATURATE", "[0 0]"},
		{"GET new", "0"},
		{"SET n 9223372036854775800", "OK"},
		{"INCREX n BYINT 100", "[9223372036854775800 0]"},
		{"INCREX n BYINT 100 SATURATE", "[9223372036854775807 7]"},
		{"INCREX f BYFLOAT 1.5", "[1.5 1.5]"},
		{"INCREX f BYFLOAT 1.5 UBOUND 2.5", "[1.5 0]"},
		{"INCREX f BYFLOAT 1.5 UBOUND 2.5 SATURATE", "[2.5 1]"},
		{"INCREX f", "-ERR value is not an integer or out of range"},
		{"INCREX f BYINT 1.5", "-ERR Increment is not an integer or out of range"},
		{"INCREX n BYINT 1 UBOUND 1.5", "-ERR UBOUND is not an integer or out of range"},
		{"INCREX f BYFLOAT x", "-ERR Increment is not a valid float"},
		{"INCREX f BYFLOAT 1 LBOUND x", "-ERR LBOUND is not a valid float"},
		{"INCREX n LBOUND 2 UBOUND 1", "-ERR LBOUND can't be greater than UBOUND"},
		{"INCREX n PERSIST ENX", "-ERR syntax error"},
		{"INCREX n SATURATE SATURATE", "-ERR syntax error"},
		{"SET low -9223372036854775808", "OK"},
		{"INCREX low BYINT -1", "[-9223372036854775808 0]"},
		{"INCREX low LBOUND 9223372036854775807 SATURATE", "-ERR increment or decrement would overflow"},
		{"INCREX past EXAT 100 ENX", "[1 1]"},
		{"EXISTS past", "0"},
		{"INCREX n BYINT 1 BYFLOAT 1", "-ERR syntax error"},
		{"INCREX n ENX", "-ERR ENX flag requires an expiration"},
		{"INCREX n EX 0", "-ERR invalid expire time in 'increx' command"},
		{"SADD s x", "1"},
		{"INCREX s", "-WRONGTYPE Operation against a key holding the wrong kind of value"},
	}.run(t, s)
	s.words("SET w 1")
	for _, step := range []struct {
		line string
		want int64
	}{
		{"INCREX w EX 10 ENX", s.now + 10_000}, {"INCREX w EX 20 ENX", s.now + 10_000}, {"INCREX w", s.now + 10_000},
		{"INCREX w EX 20 UBOUND 0", s.now + 10_000}, {"INCREX w EX 20", s.now + 20_000}, {"INCREX w PERSIST", 0},
	} {
		s.words(step.line)
		if got := s.Entry([]byte("w")).ExpiresAt; got != step.want {
			t.Errorf("%s: expires at %d, want %d", step.line, got, step.want)
		}
	}
}

func TestTimesOfKeys(t *testing.T) {
	t.Parallel()
	s := newStore(t, 1)
	dialogue{
		{"SET k v", "OK"}, {"TTL k", "-1"}, {"EXPIRE k 10", "1"}, {"TTL k", "10"}, {"PTTL k", "10000"},
		{"sleep 500", ""}, {"TTL k", "10"}, {"sleep 1", ""}, {"TTL k", "9"}, {"PTTL k", "9499"},
		{"PEXPIRE k 500 LT", "1"}, {"APPEND k w", "2"}, {"PTTL k", "500"}, {"SET k x KEEPTTL", "OK"}, {"PTTL k", "500"},
		{"RENAME k l", "OK"}, {"COPY l m", "1"}, {"PTTL m", "500"}, {"GETEX l PERSIST", "x"}, {"TTL l", "-1"},
		{"sleep 500", ""}, {"GET m", "nil"}, {"EXISTS l m", "1"},
		{"EXPIRE l 0", "1"}, {"EXISTS l", "0"},
		{"SADD s a", "1"}, {"EXPIRE s 10", "1"}, {"SADD s b", "1"}, {"TTL s", "10"}, {"SINTERSTORE s s", "2"}, {"TTL s", "-1"},
	}.run(t, s)
}

// TestUnmetConditionsComeFirst checks that ZADD looks at NX before it adds: the
// sum of the two infinities would be an error.
func TestUnmetConditionsComeFirst(t *testing.T) {
	t.Parallel()
	s := newStore(t, 1)
	dialogue{
		{"ZADD z inf a", "1"},
		{"ZADD z NX INCR -inf a", "nil"},
		{"ZADD z INCR -inf a", "-ERR resulting score is not a number (NaN)"},
		{"ZADD z XX INCR 1 b", "nil"},
		{"ZSCORE z a", "inf"},
	}.run(t, s)
}
